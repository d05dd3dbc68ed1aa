"""Which series fell silent for so long that memory lets go of them, and which did.

Rules of this file: a row stays its series' name, so that one that comes back is itself again; when
a series was last heard is known to the day, and silence is counted from the start where nothing
was noted. No clock: the time is handed in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Float, Int

_DAY_SECONDS: Final = 86_400.0
_DAYS: Final = np.dtype("<i4")


class Summary(NamedTuple):
    """The rows that are gone; the day on which each row was last heard, packed, from row 0 on."""

    gone: list[int]
    days: bytes


class Silence:
    """State: the rows let go of, and the day since 1970 on which each was last heard."""

    def __init__(self, capacity: int) -> None:
        self.gone: Final[set[int]] = set()
        self._days: Int = np.full(capacity, -1, dtype=np.int64)
        self._noted = 0  # rows in a summary
        self._today = -1
        self.changed = 0
        self.forgotten = 0

    def silent(self, heard: Float, now: float, after_days: float) -> list[int]:
        """Return which series, ``heard`` when (s UTC, one entry each), to let go of at ``now``."""
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
        return [row for row in late.tolist() if row not in self.gone]

    def let_go(self, rows: Iterable[int]) -> None:
        """Note that memory let go of ``rows``."""
        before = len(self.gone)
        self.gone.update(rows)
        self.forgotten += len(self.gone) - before
        self.changed += len(self.gone) != before

    def came_back(self, row: int) -> None:
        """Note that a series is known again."""
        self.gone.discard(row)
        self.changed += 1

    def summary(self) -> Summary:
        """Return what is to outlive a restart."""
        return Summary(sorted(self.gone), self._days[: self._noted].astype(_DAYS).tobytes())

    def recall(self, summary: Summary) -> None:
        """Take what was noted; of it only rows that there may be."""
        days = np.frombuffer(summary.days, _DAYS)[: self._days.size]
        self._days[: days.size] = days
        self._noted = days.size
        self.gone.update(row for row in summary.gone if row < self._days.size)
