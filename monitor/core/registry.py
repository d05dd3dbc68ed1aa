"""The registry of series: the row of each, and which new ones are admitted.

Rules of this file: a row is assigned once and never reused. A new name must pass an allow-list and
two limits, so that invented sensors cost a counter and nothing else. An evicted series keeps its
row and does not count against the limits; to come back it must pass them again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, NamedTuple


class SeriesKey(NamedTuple):
    """The key of a series."""

    sensor: str
    quantity: str


@dataclass(frozen=True, slots=True)
class SeriesName:
    """A series with its unit and group, as it is shown."""

    sensor: str
    quantity: str
    unit: str = ""
    group: str = ""


class Limits(NamedTuple):
    """How many series there may be, how many new ones a minute, and which sensors are allowed."""

    maximum: int = 10_000
    new_per_minute: int = 100
    allow: tuple[str, ...] = ("*",)


class KnownSeries(NamedTuple):
    """A series as a journal keeps it; ``since`` is the time of its first reading, s UTC."""

    row: int
    sensor: str
    quantity: str
    unit: str
    since: float


class Registry:
    """Rows of series by (sensor, quantity); ``on_new(row, key)`` is called for each new one.

    There are at most ``rows_max`` rows; ``evicted`` are the rows out of memory.
    """

    def __init__(
        self,
        limits: Limits,
        on_new: Callable[[int, SeriesKey], None],
        rows_max: float = math.inf,
        evicted: Collection[int] = (),
    ) -> None:
        self.keys: list[SeriesKey] = []
        self._rows: dict[tuple[str, str], int] = {}
        self._quantities: dict[str, str] = {}  # one object for each name
        self._limits: Final = limits
        self._on_new: Final = on_new
        self._rows_max: Final = rows_max
        self._evicted: Final = evicted
        self._permits = float(limits.new_per_minute)
        self._permits_time = -float("inf")

    def __len__(self) -> int:
        return len(self.keys) - len(self._evicted)

    def get(self, sensor: str, quantity: str) -> int | None:
        """Return the row of a series, None if it is unknown."""
        return self._rows.get((sensor, quantity))

    def rows_of(self, sensor: str) -> list[int]:
        """Return the rows of a sensor's series, in order."""
        found = (self._rows.get((sensor, quantity)) for quantity in self._quantities)
        return sorted(row for row in found if row is not None)

    def admit(self, sensor: str, quantity: str, now: float) -> int | str:
        """Return the row of a series, a new one if need be, or the reason of its refusal."""
        row = self._rows.get((sensor, quantity))
        if row is not None and row not in self._evicted:
            return row
        if not any(fnmatchcase(sensor, pattern) for pattern in self._limits.allow):
            return "not_allowed"
        is_full = row is None and len(self.keys) >= self._rows_max
        if is_full or len(self) >= self._limits.maximum or not self._permit(now):
            return "series_limit"
        return self.add(sensor, quantity) if row is None else row

    def admit_again(self, sensor: str, quantity: str, now: float) -> int | str:
        """Return the row of a series that a journal restores: limits were asked when it came."""
        row = self._rows.get((sensor, quantity))
        return self.admit(sensor, quantity, now) if row is None else row

    def add(self, sensor: str, quantity: str) -> int:
        """Assign a row, limits aside (a journal may hold more series than new settings allow)."""
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
