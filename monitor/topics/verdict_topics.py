"""The thread that keeps the broker's picture of all verdicts up to date.

Rules of this file: the data's thread only puts a snapshot into a slot. The thread keeps one
connection with a last will; when it is lost, another is made after growing pauses, and everything
is sent anew. A round sends a bounded number of messages and then lets the connection work.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from monitor.config.sections import Verdicts
from monitor.core.snapshot.snapshot import Snapshot
from monitor.http.telemetry import VerdictFigures
from monitor.mqtt.publish import BrokerPublisher, Retained
from monitor.topics.home_assistant import (
    OFFLINE,
    ONLINE,
    HomeAssistantDevices,
    ReferenceNumbers,
    status_topic,
)
from monitor.topics.publishing_thread import PublishingThread
from monitor.topics.series import LEVELS, SeriesTopics

SERIES_A_ROUND: Final = 250
_ROUND_SECONDS: Final = 0.25
_STRAY_SECONDS: Final = 10.0  # after connecting, to look for retained topics of no series
_STRAYS_MAX: Final = 10_000
_SILENT_SECONDS: Final = 30.0  # added to three publish intervals; after that "offline"


class VerdictTopics(PublishingThread):
    """Publishes the verdicts of the newest snapshot from :meth:`start` to :meth:`stop`."""

    def __init__(
        self,
        settings: Verdicts,
        connect: Callable[[Retained], BrokerPublisher],
        interval_seconds: float,
        *,
        references_topic: str = "",
    ) -> None:
        """``connect`` opens a connection with a last will; nothing connects before the start.

        ``interval_seconds`` is the time between two snapshots; ``references_topic`` is the template
        of the topic to which references typed in Home Assistant are published.
        """
        home = settings.home_assistant
        prefix = settings.prefix or ""  # without a prefix there are no topics
        status = status_topic(prefix)
        will = Retained(status, OFFLINE.encode())
        super().__init__("verdicts", lambda: connect(will))
        self._silent_seconds: Final = _SILENT_SECONDS + 3.0 * interval_seconds
        self._status: Final = status
        self._strays: Final = f"{prefix}/{LEVELS}"
        self._birth: Final = "" if home is None else f"{home.discovery_topic}/status"
        devices = None
        if home is not None:
            numbers = ReferenceNumbers(home.references, references_topic)
            devices = HomeAssistantDevices(prefix, home.discovery_topic, numbers)
        self._series: Final = SeriesTopics(prefix, devices)
        self._slot: Snapshot | None = None
        self._taken: Snapshot | None = None
        self._offered_at = -float("inf")
        self._heard: Final[deque[str]] = deque(maxlen=_STRAYS_MAX)
        self._asked = False
        self._said = ""

    # -- the data's thread --------------------------------------------------------------------

    def offer(self, snapshot: Snapshot) -> None:
        """Publish what is new in ``snapshot`` soon; it replaces one that still waits."""
        self._slot = snapshot
        self._offered_at = time.monotonic()

    def figures(self) -> VerdictFigures:
        """Return how much was published, was lost and waits."""
        return VerdictFigures(self._published, self._lost, self._series.waiting, self._connected)

    # -- the thread of this room --------------------------------------------------------------

    def _rounds(self, broker: BrokerPublisher) -> Iterator[float]:
        self._begin(broker)
        until: float | None = time.monotonic() + _STRAY_SECONDS
        while not self._stopping.is_set():
            self._round(broker)
            yield _ROUND_SECONDS
            if until is not None and time.monotonic() >= until:
                broker.unsubscribe([self._strays])
                until = None
        self._say(broker, OFFLINE)

    def _begin(self, broker: BrokerPublisher) -> None:
        self._said = ""
        self._series.again()
        asked = [f"{self._status}/get", *([self._birth] if self._birth else [])]
        broker.subscribe([*asked, self._strays], self._hear)

    def _hear(self, topic: str, payload: bytes) -> None:
        """Note what arrived; the next round answers it."""
        if topic == self._birth:
            self._asked |= payload == ONLINE.encode()
        elif topic == f"{self._status}/get":
            self._asked = True
        elif payload:
            self._heard.append(topic)

    def _round(self, broker: BrokerPublisher) -> None:
        snapshot = self._slot
        if snapshot is not None and snapshot is not self._taken:
            self._series.take(snapshot)
            self._taken = snapshot
        is_alive = time.monotonic() - self._offered_at <= self._silent_seconds
        self._say(broker, ONLINE if is_alive else OFFLINE)
        if self._asked:
            self._asked, self._said = False, ""
            self._series.again()
        while self._heard and self._taken is not None:
            for message in self._series.stray(self._heard.popleft()):
                broker.publish(*message, retain=True)
        for message in self._series.messages(SERIES_A_ROUND):
            broker.publish(*message, retain=True)

    def _say(self, broker: BrokerPublisher, status: str) -> None:
        if status != self._said:
            broker.publish(self._status, status.encode(), retain=True)
            self._said = status
