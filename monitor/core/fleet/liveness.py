"""When each series was heard of: the times of its readings, and of their arrival.

Rules of this file: columns, one number a series, which are changed in place; no clock.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Float, Int


class Arrivals(NamedTuple):
    """When each series was heard, s UTC: times of its first and last reading, and of its arrival.

    One entry a series, as it is now: they go on while a snapshot is made.
    """

    first_reading: Float
    last_reading: Float
    heard: Float


class Hearing:
    """State: first and last reading and last arrival of up to ``capacity`` series, s UTC.

    Something is to be kept of those that are new, or whose first reading is earlier than was known.
    """

    def __init__(self, capacity: int) -> None:
        self.first_reading: Final[Float] = np.full(capacity, np.inf)
        self.last_reading: Final[Float] = np.full(capacity, np.nan)
        self.heard: Final[Float] = np.full(capacity, -np.inf)
        self._told: set[int] = set()

    @property
    def arrivals(self) -> Arrivals:
        """The columns, which go on changing."""
        return Arrivals(self.first_reading, self.last_reading, self.heard)

    def hear(self, rows: Int, times: Float, received: float) -> None:
        """Note readings of series: the times of events, and when all of them arrived."""
        self.heard[rows] = received
        np.fmax.at(self.last_reading, rows, times)
        earlier = times < self.first_reading[rows]
        if earlier.any():
            np.minimum.at(self.first_reading, rows[earlier], times[earlier])
            self._told.update(rows[earlier].tolist())

    def tell(self, row: int) -> None:
        """Note a series of which something is to be kept."""
        self._told.add(row)

    def take_told(self) -> list[int]:
        """Return those in ascending order, and forget that they are."""
        told, self._told = sorted(self._told), set()
        return told
