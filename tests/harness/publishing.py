"""A publisher that keeps its own record of what the broker has promised to deliver."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from harness.programs import WAIT_SECONDS
from monitor.mqtt.publish import BrokerPublisher, PublishError

_START: Final = 1_767_225_600.0  # 2026-01-01
_APART_SECONDS: Final = 20.0
SENSORS: Final = tuple(f"s{at}" for at in range(7))


class Said(NamedTuple):
    """One message."""

    topic: str
    payload: bytes


def round_of(number: int, sensors: Sequence[str] = SENSORS) -> list[Said]:
    """Return the messages of one round: a reading and its reference for each sensor."""
    time = datetime.fromtimestamp(_START + _APART_SECONDS * number, UTC).isoformat()
    found = []
    for sensor in sensors:
        error = ((number * 37 + SENSORS.index(sensor) * 11) % 101 - 50) / 50.0
        reading = {"time": time, "value": number + error, "u": 1.0, "seq": number}
        reference = {"time": time, "value": float(number)}
        found.append(Said(f"monitor/{sensor}/x/reading", json.dumps(reading).encode()))
        found.append(Said(f"monitor/{sensor}/x/reference", json.dumps(reference).encode()))
    return found


class Publishing(threading.Thread):
    """Publishes round after round; ``rounds`` counts those that the broker acknowledged in full.

    A round that was cut off is not published again, but parts of it may have arrived. Somebody else
    may send the first ``besides`` rounds as well.
    """

    def __init__(self, port: int, rate: float) -> None:
        super().__init__(daemon=True)
        self._port: Final = port
        self._pause: Final = 1.0 / rate
        self._done = threading.Event()
        self._numbers = itertools.count()
        self.acknowledged: list[int] = []
        self.begun = 0
        self.besides = 0

    @property
    def messages(self) -> int:
        """How many messages the broker has promised to deliver."""
        return len(self.acknowledged) * 2 * len(SENSORS)

    def run(self) -> None:
        while not self._done.is_set():
            try:
                with BrokerPublisher("127.0.0.1", self._port, client_id="publisher") as out:
                    while not self._done.is_set():
                        self._round(out)
            except PublishError:
                time.sleep(0.1)

    def _round(self, out: BrokerPublisher) -> None:
        number = next(self._numbers)
        self.begun = number + 1
        for topic, payload in round_of(number):
            out.publish(topic, payload)
        out.flush()
        self.acknowledged.append(number)
        out.sleep(self._pause)

    def finish(self) -> None:
        """End, once the round under way has come to its end."""
        self._done.set()
        self.join(WAIT_SECONDS)
