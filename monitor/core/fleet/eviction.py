"""Eviction: which series were silent for so long that they leave memory, and which have left.

Rules of this file: a row stays with its series, so that one that comes back is itself again. The
time a series was last heard is kept to the day; where none is known, silence counts from the start.
There is no clock: the time is handed in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Float, Int

_DAY_SECONDS: Final = 86_400.0
_DAYS: Final = np.dtype("<i4")


class EvictionSummary(NamedTuple):
    """The rows evicted, and the day each row was last heard, packed, from row 0 on."""

    gone: list[int]
    days: bytes


class Eviction:
    """State: the rows evicted, and the day since 1970 on which each row was last heard."""

    def __init__(self, capacity: int) -> None:
        self.evicted: Final[set[int]] = set()
        self._days: Int = np.full(capacity, -1, dtype=np.int64)
        self._noted = 0  # rows in a summary
        self._today = -1
        self.changed = 0
        self.evictions = 0

    def due(self, heard: Float, now: float, after_days: float) -> list[int]:
        """Return the series to evict at ``now``; ``heard`` is when each was last heard, s UTC."""
        count, days = heard.size, now / _DAY_SECONDS
        if int(days) != self._today:
            self._today = int(days)
            self.changed += 1
        known = np.isfinite(heard)
        self._days[:count][known] = (heard[known] / _DAY_SECONDS).astype(np.int64)
        unknown = self._days[:count] < 0
        self._days[:count][unknown] = self._today
        self._noted = max(self._noted, count)
        late = np.flatnonzero(days - self._days[:count] > after_days + 1.0)
        return [row for row in late.tolist() if row not in self.evicted]

    def evict(self, rows: Iterable[int]) -> None:
        """Mark ``rows`` as evicted."""
        before = len(self.evicted)
        self.evicted.update(rows)
        self.evictions += len(self.evicted) - before
        self.changed += len(self.evicted) != before

    def readmit(self, row: int) -> None:
        """Mark a series as being in memory again."""
        self.evicted.discard(row)
        self.changed += 1

    def summary(self) -> EvictionSummary:
        """Return what must outlive a restart."""
        return EvictionSummary(
            sorted(self.evicted), self._days[: self._noted].astype(_DAYS).tobytes()
        )

    def recall(self, summary: EvictionSummary) -> None:
        """Load a summary, as far as there are rows for it."""
        days = np.frombuffer(summary.days, _DAYS)[: self._days.size]
        self._days[: days.size] = days
        self._noted = days.size
        self.evicted.update(row for row in summary.gone if row < self._days.size)
