"""Liveness: when each series was last heard, by event time and by arrival.

Rules of this file: columns with one number a series, changed in place; no clock.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Float, Int


class HeardTimes(NamedTuple):
    """Times of the first and last reading of each series and of the last arrival, s UTC.

    One entry a series; the columns go on changing while a snapshot is made.
    """

    first_reading: Float
    last_reading: Float
    heard: Float


class Liveness:
    """State: first and last reading and last arrival of up to ``capacity`` series, s UTC.

    New series, and those whose first reading turned out earlier, must be written to the journal.
    """

    def __init__(self, capacity: int) -> None:
        self.first_reading: Final[Float] = np.full(capacity, np.inf)
        self.last_reading: Final[Float] = np.full(capacity, np.nan)
        self.heard: Final[Float] = np.full(capacity, -np.inf)
        self._new: set[int] = set()

    @property
    def arrivals(self) -> HeardTimes:
        """The columns themselves, which go on changing."""
        return HeardTimes(self.first_reading, self.last_reading, self.heard)

    def record(self, rows: Int, times: Float, received: float) -> None:
        """Record readings: their event times, and when all of them arrived."""
        self.heard[rows] = received
        np.fmax.at(self.last_reading, rows, times)
        earlier = times < self.first_reading[rows]
        if earlier.any():
            np.minimum.at(self.first_reading, rows[earlier], times[earlier])
            self._new.update(rows[earlier].tolist())

    def mark_new(self, row: int) -> None:
        """Mark a series to be written."""
        self._new.add(row)

    def drain_new(self) -> list[int]:
        """Return the marked series in ascending order, and unmark them."""
        new, self._new = sorted(self._new), set()
        return new
