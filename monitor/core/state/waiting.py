"""Readings of new series that wait, because more new ones came than may begin in a minute.

Rules of this file: a series that waits has its place among the most that there may be, and begins
in the order of arrival. Its readings are durable as they came, by name; once it has begun they are
held by the time of their own arrival, so that a restart before or after that changes nothing.
"""

from __future__ import annotations

import math
from typing import Final

from monitor.core.model import Reading
from monitor.core.pairing.identities import reading_digest
from monitor.core.pairing.observations import Observed
from monitor.core.registry import WAITS, SeriesKey
from monitor.core.state.ingest import IngestResult

Arrived = tuple[float, Reading]  # its time of arrival, s since 1970 UTC


class Waiting:
    """State: the readings that wait, by series; ``readings`` is their number."""

    def __init__(self) -> None:
        self.by_series: Final[dict[SeriesKey, dict[int, Arrived]]] = {}
        self.readings = 0

    def take(
        self, batch: Observed, result: IngestResult, received: float, most: float = math.inf
    ) -> dict[int, Reading]:
        """Take those readings of a batch that must wait out of ``result``; return them by place.

        At most so many readings wait. Repeated and further ones become what they are in ``result``.
        """
        places = [at for at, why in result.refused if why == WAITS]
        accepted: dict[int, Reading] = {}
        result.refused[:] = [each for each in result.refused if each[1] != WAITS]
        for at in places:
            reading = batch[at]
            if not isinstance(reading, Reading):
                raise TypeError(reading)
            series, identity = SeriesKey(reading.sensor, reading.quantity), reading_digest(reading)
            arrived = self.by_series.setdefault(series, {})
            if identity in arrived:
                result.duplicates.append(at)
            elif self.readings >= most:
                result.refused.append((at, "new_series_limit"))
                if not arrived:
                    del self.by_series[series]
            else:
                arrived[identity] = (received, reading)
                self.readings += 1
                accepted[at] = reading
        return accepted

    def pop(self, series: SeriesKey) -> list[Arrived]:
        """Remove the readings of a series, which has begun; return them as they arrived."""
        arrived = [*self.by_series.pop(series).values()]
        self.readings -= len(arrived)
        return arrived

    def expire(self, received_before: float) -> int:
        """Drop the readings that arrived before a time; return their number."""
        dropped = 0
        for series, arrived in list(self.by_series.items()):
            old = [name for name, (received, _) in arrived.items() if received < received_before]
            for name in old:
                del arrived[name]
            if not arrived:
                del self.by_series[series]
            dropped += len(old)
        self.readings -= dropped
        return dropped
