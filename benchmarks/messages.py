"""The messages that the benchmarks send: readings of a fleet, a reference to one in twenty."""

from __future__ import annotations

import json
import random

SENSORS = 1000
REFERENCE_EVERY = 20


def readings_and_references(first: int, readings: int) -> list[tuple[str, bytes]]:
    """Return (topic, payload) of so many readings, and references, from second ``first`` on.

    Every sensor sends one reading a second of event time.
    """
    chance = random.Random(first)
    made = []
    for at in range(readings):
        sensor, second = at % SENSORS, first + at // SENSORS
        hour, rest = divmod(second, 3600)
        stamp = f"2026-01-{1 + hour // 24:02}T{hour % 24:02}:{rest // 60:02}:{rest % 60:02}Z"
        body = {"time": stamp, "value": round(chance.gauss(500, 50), 2), "u": 5.0}
        line = json.dumps(body).encode()
        made.append((f"monitor/s{sensor}/mass/reading", line))
        if at // SENSORS % REFERENCE_EVERY == 0:
            made.append((f"monitor/s{sensor}/mass/reference", line))
    return made
