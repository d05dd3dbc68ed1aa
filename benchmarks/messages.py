"""The messages that the benchmarks send: readings of a fleet, a reference to one in twenty."""

from __future__ import annotations

import json
import random

SENSORS = 1000
REFERENCE_EVERY = 20
U = 5.0
U_REF = 0.5


def readings_and_references(
    first: int, readings: int, *, spread: bool = False
) -> list[tuple[str, bytes]]:
    """Return (topic, payload) of so many readings, and references, from second ``first`` on.

    Every sensor sends one reading a second of event time, and is as right as it says. References to
    all sensors come together, or ``spread`` evenly, so that a short stretch has its share of them.
    """
    chance = random.Random(first)
    made = []
    for at in range(readings):
        sensor, second = at % SENSORS, first + at // SENSORS
        hour, rest = divmod(second, 3600)
        stamp = f"2026-01-{1 + hour // 24:02}T{hour % 24:02}:{rest // 60:02}:{rest % 60:02}Z"
        true = chance.gauss(500, 50)
        body = {"time": stamp, "value": round(chance.gauss(true, U), 2), "u": U}
        made.append((f"monitor/s{sensor}/mass/reading", json.dumps(body).encode()))
        if (at // SENSORS + spread * sensor) % REFERENCE_EVERY == 0:
            body = {"time": stamp, "value": round(true, 2), "u": U_REF}
            made.append((f"monitor/s{sensor}/mass/reference", json.dumps(body).encode()))
    return made
