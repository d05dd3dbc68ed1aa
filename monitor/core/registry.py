"""Which series there are, in which row each lives, and who may still come in.

Rules of this file: a row is given once and never reused; a name is admitted by an allow-list and
within two limits, so that invented sensors cost a counter and nothing else. A series that memory
let go of keeps its row and does not count; it comes back within the limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, NamedTuple


class SeriesKey(NamedTuple):
    """What names a series."""

    sensor: str
    quantity: str


@dataclass(frozen=True, slots=True)
class SeriesName:
    """Who a series is: one sensor's one quantity."""

    sensor: str
    quantity: str
    unit: str = ""
    group: str = ""


class Limits(NamedTuple):
    """How many series there may be, how many new ones a minute, and which sensors at all."""

    maximum: int = 10_000
    new_per_minute: int = 100
    allow: tuple[str, ...] = ("*",)


class Registry:
    """Rows of series by (sensor, quantity). ``on_new(row, key)`` is told of each new one.

    There are at most ``rows_max`` rows; ``gone`` are those that memory let go of.
    """

    def __init__(
        self,
        limits: Limits,
        on_new: Callable[[int, SeriesKey], None],
        rows_max: float = math.inf,
        gone: Collection[int] = (),
    ) -> None:
        self.keys: list[SeriesKey] = []
        self._rows: dict[tuple[str, str], int] = {}
        self._quantities: dict[str, str] = {}  # each word once
        self._limits: Final = limits
        self._on_new: Final = on_new
        self._rows_max: Final = rows_max
        self._gone: Final = gone
        self._permits = float(limits.new_per_minute)
        self._permits_time = -float("inf")

    def __len__(self) -> int:
        return len(self.keys) - len(self._gone)

    def get(self, sensor: str, quantity: str) -> int | None:
        """Return the row of a series, None if it is unknown."""
        return self._rows.get((sensor, quantity))

    def admit(self, sensor: str, quantity: str, now: float) -> int | str:
        """Return the row of a series, new if need be, or the reason why it may not come in."""
        row = self._rows.get((sensor, quantity))
        if row is not None and row not in self._gone:
            return row
        if not any(fnmatchcase(sensor, pattern) for pattern in self._limits.allow):
            return "not_allowed"
        is_full = row is None and len(self.keys) >= self._rows_max
        if is_full or len(self) >= self._limits.maximum or not self._permit(now):
            return "series_limit"
        return self.add(sensor, quantity) if row is None else row

    def add(self, sensor: str, quantity: str) -> int:
        """Give a series its row, limits aside (a journal may hold more than new settings allow)."""
        row = len(self.keys)
        key = SeriesKey(sensor, self._quantities.setdefault(quantity, quantity))
        self._rows[key] = row
        self.keys.append(key)
        self._on_new(row, key)
        return row

    def _permit(self, now: float) -> bool:
        limit = float(self._limits.new_per_minute)
        elapsed = max(now - self._permits_time, 0.0)
        self._permits = min(limit, self._permits + elapsed * limit / 60.0)
        self._permits_time = now
        if self._permits < 1.0:
            return False
        self._permits -= 1.0
        return True
