"""Watermarks: what a new reading is compared with, as columns over all reading buffers.

Rules of this file: one number a buffer in each column, so that a whole batch of readings is
compared in a few numpy calls.
"""

from __future__ import annotations

import math

import numpy as np

from monitor.core.model import Float, Int


class Watermarks:
    """State: ``series``, ``newest``, ``until`` and ``staged`` of each reading buffer.

    ``newest`` is the time of the buffer's newest reading. A reading that is newer than that changes
    no pair if the reading before it is not before ``until``: every reference is then older.
    ``staged`` counts the buffer's readings that still wait in staging.
    """

    def __init__(self) -> None:
        self.size = 0
        self._free: list[int] = []
        self.series: Int = np.zeros(0, dtype=np.int64)
        self.newest: Float = np.zeros(0)
        self.until: Float = np.zeros(0)
        self.staged: Int = np.zeros(0, dtype=np.int64)

    def open(self, series: int) -> int:
        """Return the number of a new buffer of a series."""
        if not self._free:
            more = max(64, self.size // 2)
            self._free = list(range(self.size + more - 1, self.size - 1, -1))
            self.size += more
            for name in ("series", "newest", "until", "staged"):
                column = getattr(self, name)
                setattr(self, name, np.concatenate((column, np.zeros(more, column.dtype))))
        number = self._free.pop()
        self.series[number], self.staged[number] = series, 0
        self.newest[number] = self.until[number] = -math.inf
        return number

    def close(self, number: int) -> None:
        """Give a number back."""
        self._free.append(number)
