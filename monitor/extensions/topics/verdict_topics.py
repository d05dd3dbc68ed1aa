"""The thread that keeps the broker's picture of all verdicts up to date.

Rules of this file: the data's thread only puts a snapshot into a slot. The thread keeps one
connection with a last will; when it is lost, another is made after growing pauses, and everything
is sent anew. A round sends a bounded number of messages and then lets the connection work.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from monitor.config.settings import Settings, native_topic
from monitor.core.snapshot.snapshot import Snapshot
from monitor.daemon.listeners import Listener, ListenerContext, OpenBroker
from monitor.extensions.topics.home_assistant import (
    OFFLINE,
    ONLINE,
    HomeAssistantDevices,
    ReferenceNumbers,
    status_topic,
)
from monitor.extensions.topics.series import LEVELS, SeriesTopics
from monitor.extensions.topics.settings import Verdicts, verdicts_of
from monitor.http.published import Page
from monitor.http.text_format import Family, counter, gauge
from monitor.mqtt.publish import BrokerPublisher, Retained
from monitor.mqtt.publishing_thread import PublishingThread

SERIES_A_ROUND: Final = 250
_ROUND_SECONDS: Final = 0.25
_STRAY_SECONDS: Final = 10.0  # after connecting, to look for retained topics of no series
_STRAYS_MAX: Final = 10_000
_SILENT_SECONDS: Final = 30.0  # added to three publish intervals; after that "offline"


class VerdictFigures(NamedTuple):
    """Figures of the verdict topics: messages, and series that wait."""

    published: int = 0
    lost: int = 0
    waiting: int = 0
    connected: bool = False


def families(now: VerdictFigures) -> Iterator[Family]:
    """Yield the metrics of published verdicts."""
    yield counter(
        "verdict_messages", "Messages of `verdicts` that the broker acknowledged.", now.published
    )
    yield counter(
        "verdict_messages_lost",
        "Messages of `verdicts` whose connection ended first; all are sent again on the next.",
        now.lost,
    )
    yield gauge(
        "verdict_series_waiting", "Series whose verdict waits to be published.", now.waiting
    )
    yield gauge("verdict_connected", "1 while the connection of `verdicts` is up.", now.connected)


EVERY_FAMILY: Final = tuple(families(VerdictFigures()))


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
            self._series.update(snapshot)
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


class TopicsListener(Listener):
    """Hands each durable snapshot to the thread that publishes verdicts."""

    def __init__(self, settings: Settings) -> None:
        self._settings: Final = settings
        self._topics: VerdictTopics | None = None

    def start(self, connect: OpenBroker) -> None:
        """Begin to publish."""
        self._topics = VerdictTopics(
            verdicts_of(self._settings),
            lambda will: connect("verdicts", will),
            self._settings.publish.interval_seconds,
            references_topic=native_topic(self._settings.sources, "reference"),
        )
        self._topics.start()

    def publish(self, page: Page) -> None:
        """Publish what is new in a page's snapshot soon."""
        if self._topics is not None:
            self._topics.offer(page.snapshot)

    def families(self) -> Iterator[Family]:
        """Yield the metrics of published verdicts."""
        return iter(()) if self._topics is None else families(self._topics.figures())

    def end(self) -> None:
        """Begin to say that the daemon is offline, and to disconnect."""
        if self._topics is not None:
            self._topics.end()

    def stop(self, seconds: float) -> None:
        """Disconnect within ``seconds``."""
        if self._topics is not None:
            self._topics.stop(seconds)


def topics_listener(context: ListenerContext) -> TopicsListener | None:
    """Return the listener, None if the settings have no prefix."""
    has_prefix = verdicts_of(context.settings).prefix is not None
    return TopicsListener(context.settings) if has_prefix else None
