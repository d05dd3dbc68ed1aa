"""What publishers send, by a seed: readings, references, revisions, voids, epochs and rubbish."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime

from .broker import Sent

START = 1_767_225_600.0  # 2026-01-01
SENSORS = ("a", "b", "c")
NAMELESS = "d"  # its messages have no time
_RUBBISH = (
    Sent("monitor/a/x/reading", b"{"),
    Sent("monitor/a/x/reading", b""),
    Sent("monitor/b/x/reference", b'{"time": "2026-01-01T00:00:00Z", "value": 1e999}'),
    Sent("monitor/c/x/reading", b'{"time": "2026-01-01T00:00:00Z", "value": 1, "u": -1}'),
    Sent("monitor/c/x/reading", b"\xff" * 40),
    Sent("elsewhere", b"{}"),
)


def story(chance: random.Random) -> Iterator[tuple[float, Sent]]:
    """Yield (event time, message) without end; no message comes before its event."""
    time = START
    while True:
        time += 60.0
        sensor = chance.choice(SENSORS)
        value = chance.gauss(100.0, 10.0)
        yield from _pair(chance, sensor, time, value)
        if chance.random() < 0.1:
            yield time, chance.choice(_RUBBISH)
        if chance.random() < 0.02:
            yield time, _message("event", sensor, time, event="adjusted")


def punctual(number: int) -> Sent:
    """Return a message without a time: it is a reading of when it arrives."""
    return Sent(f"now/{NAMELESS}/x/reading", json.dumps({"v": number, "u": 1.0}).encode())


def _pair(
    chance: random.Random, sensor: str, time: float, value: float
) -> Iterator[tuple[float, Sent]]:
    """Yield a reading, its reference and what becomes of that, in any order."""
    number = int((time - START) / 60.0)
    reference = {"value": value, "u": 0.1, "id": f"{sensor}{number}"}
    found = [
        _message("reading", sensor, time, value=value + chance.gauss(0.0, 1.0), u=1.0, seq=number),
        _message("reference", sensor, time, **reference),
    ]
    if chance.random() < 0.2:
        found.append(
            _message("reference", sensor, time, **{**reference, "value": value + 1.0}, rev=1)
        )
    if chance.random() < 0.1:
        found.append(_message("reference", sensor, time, **reference, rev=2, status="void"))
    chance.shuffle(found)
    for message in found:
        yield time, message


def _message(kind: str, sensor: str, time: float, **fields: object) -> Sent:
    body = {"time": datetime.fromtimestamp(time, UTC).isoformat(), **fields}
    quantity = "" if kind == "event" else "/x"
    return Sent(f"monitor/{sensor}{quantity}/{kind}", json.dumps(body).encode())
