"""Corrected readings at the broker: a message for each reading, in order, at QoS 1.

Rules of this file: the data's thread only adds to a bounded queue. When the queue is full, the
oldest readings are dropped and counted; so are those in flight when the connection is lost, and
those that still wait at the end. A native source can read the messages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from monitor.core.formatting import finite, instant
from monitor.core.registry import SeriesName
from monitor.core.verdict.quality import Quality
from monitor.http.text_format import Family, counter, gauge
from monitor.mqtt.publish import BrokerPublisher, PublishError
from monitor.mqtt.publishing_thread import PublishingThread
from monitor.mqtt.topic_templates import topic_level

WAITING_MAX: Final = 20_000
_AT_ONCE: Final = 500
_ROUND_SECONDS: Final = 0.1


class CorrectedFigures(NamedTuple):
    """Figures of the corrected readings: messages acknowledged, lost, and those that wait."""

    published: int = 0
    dropped: int = 0
    waiting: int = 0
    connected: bool = False


def families(now: CorrectedFigures) -> Iterator[Family]:
    """Yield the metrics of corrected readings."""
    yield counter(
        "corrected_readings", "Corrected readings that the broker acknowledged.", now.published
    )
    yield counter(
        "corrected_readings_dropped",
        "Corrected readings that are lost: too many waited, or their connection ended.",
        now.dropped,
    )
    yield gauge("corrected_readings_waiting", "Corrected readings to be published.", now.waiting)
    yield gauge("corrected_connected", "1 while the connection of `correct` is up.", now.connected)


EVERY_FAMILY: Final = tuple(families(CorrectedFigures()))


class CorrectedReading(NamedTuple):
    """A corrected reading, in its series' unit; ``time`` in s UTC.

    ``lower`` and ``upper`` hold the reference with probability ``p``; ``is_compared`` says whether
    the series has had any pair yet, ``quality`` what its newest verdict says of readings as sent.
    """

    name: SeriesName
    time: float
    value: float
    u: float
    lower: float
    upper: float
    p: float
    is_compared: bool
    quality: Quality


def corrected_message(reading: CorrectedReading) -> bytes:
    """Return the payload of a reading: JSON that a native source can read."""
    fields = {
        "time": instant(reading.time, "microseconds"),
        "value": finite(reading.value),
        "u": finite(reading.u),
        "lower": finite(reading.lower),
        "upper": finite(reading.upper),
        "p": reading.p,
        "unit": reading.name.unit,
        "compared": reading.is_compared,
        "quality": reading.quality,
    }
    stated = {name: each for name, each in fields.items() if each is not None and each != ""}
    return msgspec.json.encode(stated)


def corrected_topic(template: str, name: SeriesName) -> str:
    """Return the topic of a series' corrected readings; ``template`` is that of the settings."""
    sensor, quantity = topic_level(name.sensor), topic_level(name.quantity)
    return template.replace("{sensor}", sensor).replace("{quantity}", quantity)


class CorrectedTopics(PublishingThread):
    """Publishes corrected readings from :meth:`start` to :meth:`stop`."""

    def __init__(
        self, template: str, connect: Callable[[], BrokerPublisher], dropped: int = 0
    ) -> None:
        """``template`` is the topic, with ``{sensor}`` and ``{quantity}``.

        ``dropped`` is how many were dropped with the settings before.
        """
        super().__init__("corrected readings", connect)
        self._template: Final = template
        self._waiting: Final[deque[CorrectedReading]] = deque()
        self._too_many = dropped  # by the data's thread; _lost counts those of this one

    def offer(self, readings: Iterable[CorrectedReading]) -> None:
        """Publish readings soon; the data's thread calls it."""
        self._waiting.extend(readings)
        while len(self._waiting) > WAITING_MAX:
            self._waiting.popleft()
            self._too_many += 1

    def figures(self) -> CorrectedFigures:
        """Return how many were published and dropped, and how many wait."""
        waiting = len(self._waiting)
        dropped = self._too_many + self._lost
        return CorrectedFigures(self._published, dropped, waiting, self._connected)

    def stop(self, seconds: float) -> None:
        """Publish what waits and disconnect, within ``seconds``; what is left is dropped."""
        super().stop(seconds)
        self._too_many += len(self._waiting)
        self._waiting.clear()

    # -- the thread of this file --------------------------------------------------------------

    def _rounds(self, broker: BrokerPublisher) -> Iterator[float]:
        while self._waiting or not self._stopping.is_set():
            self._round(broker)
            yield 0.0 if self._waiting else _ROUND_SECONDS

    def _round(self, broker: BrokerPublisher) -> None:
        for _ in range(min(len(self._waiting), _AT_ONCE)):
            try:
                reading = self._waiting.popleft()
            except IndexError:  # the data's thread dropped it: too many wait
                return
            try:
                broker.publish(
                    corrected_topic(self._template, reading.name), corrected_message(reading)
                )
            except PublishError:
                self._lost += 1
                raise
