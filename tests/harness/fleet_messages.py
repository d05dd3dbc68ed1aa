"""Messages of a small fleet with what makes state hard: late, revised, void, repeated."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime

from monitor.extensions.cluster.log_records import LogMessage

START = 1_767_225_600
APART = 30.0


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(START + seconds, UTC).isoformat()


def reading(sensor: str, at: int, value: float, received: int) -> LogMessage:
    body = {"time": stamp(at * APART), "value": value, "u": 1.0, "seq": at}
    return LogMessage(received, f"monitor/{sensor}/mass/reading", json.dumps(body).encode())


def reference(subject: str, at: int, value: float, received: int, **more) -> LogMessage:
    body = {"time": stamp(at * APART + 1.0), "value": value, "u": 0.1, **more}
    return LogMessage(received, f"monitor/{subject}/mass/reference", json.dumps(body).encode())


def stream(sensors: list[str], events: int, seed: int = 5) -> list[LogMessage]:
    """Return messages in order of arrival: one sensor is off, some references late and revised."""
    chance = random.Random(seed)
    made: list[tuple[float, LogMessage]] = []
    for at in range(events):
        for number, sensor in enumerate(sensors):
            came = START + int(at * APART) + 2
            truth = chance.uniform(400.0, 600.0)
            bias = 3.0 if number == 0 and at > events // 3 else 0.0
            value = truth + chance.gauss(bias, 1.0)
            made.append((came, reading(sensor, at, value, came)))
            late = came + (chance.choice((700, 2000)) if chance.random() < 0.05 else 1)
            name = {"identity": f"{sensor}-{at}", "rev": 0}
            made.append((late, reference(sensor, at, truth, late, **name)))
            if chance.random() < 0.05:
                later = late + 300
                name["rev"] = 1
                revised = reference(sensor, at, truth + 0.5, later, **name)
                if chance.random() < 0.3:
                    revised = reference(sensor, at, truth, later, **name, status="void")
                made.append((later, revised))
            if chance.random() < 0.02:
                made.append(
                    (came + 5, LogMessage(came + 5, f"monitor/{sensor}/mass/reading", b"{"))
                )
            if chance.random() < 0.01:
                made.append((came + 40, reading(sensor, at, value, came + 40)))
    moved = {"time": stamp(events * APART * 0.6), "event": "moved", "note": ""}
    came = START + int(events * APART * 0.6) + 50
    made.append(
        (came, LogMessage(came, f"monitor/{sensors[-1]}/event", json.dumps(moved).encode()))
    )
    made.sort(key=lambda each: each[0])
    return [message for _, message in made]
