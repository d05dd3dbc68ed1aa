"""The registry of series: the row of each, and which new ones are admitted.

Rules of this file: a row is assigned once and never reused. A new name must pass an allow-list and
the limit on series, so that invented sensors cost a counter and nothing else. Of those that pass so
many may begin in a minute; the others wait, and their places are taken. An evicted series keeps its
row and does not count against the limit; to come back it must pass it again, and never waits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, MutableMapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from monitor.core.model import Event

WAITS: Final = "waits"


class SeriesKey(NamedTuple):
    """The key of a series."""

    sensor: str
    quantity: str


@dataclass(frozen=True, slots=True)
class SeriesName:
    """A series as it is shown: its unit, group and site, and the severity that settings mark."""

    sensor: str
    quantity: str
    unit: str = ""
    group: str = ""
    site: str = ""
    severity: str = ""


class Limits(NamedTuple):
    """How many series there may be, how many new ones a minute, and which sensors are allowed."""

    maximum: int = 10_000
    new_per_minute: int = 10_000
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

    There are at most ``rows_max`` rows; ``evicted`` are the rows out of memory. ``waiting`` are the
    series that have a place and no row yet, with what waits of them.
    """

    def __init__(
        self,
        limits: Limits,
        on_new: Callable[[int, SeriesKey], None],
        rows_max: float = math.inf,
        evicted: Collection[int] = (),
        waiting: MutableMapping[SeriesKey, dict[int, Any]] | None = None,
    ) -> None:
        self.keys: list[SeriesKey] = []
        self._rows: dict[tuple[str, str], int] = {}
        self._quantities: dict[str, str] = {}  # one object for each name
        self._limits: Final = limits
        self._on_new: Final = on_new
        self._rows_max: Final = rows_max
        self._evicted: Final = evicted
        self._waiting: Final = {} if waiting is None else waiting
        self._permits = float(limits.new_per_minute)
        self._permits_time = -float("inf")

    def __len__(self) -> int:
        return len(self.keys) - len(self._evicted)

    def get(self, sensor: str, quantity: str) -> int | None:
        """Return the row of a series, None if it is unknown."""
        return self._rows.get((sensor, quantity))

    def rows_of(self, sensor: str) -> list[int]:
        """Return the rows of a sensor's series, in order."""
        rows = (self._rows.get((sensor, quantity)) for quantity in self._quantities)
        return sorted(row for row in rows if row is not None)

    def rows_for(self, event: Event) -> list[int]:
        """Return the rows of the series that an event concerns, in order."""
        rows = self.rows_of(event.sensor)
        return [row for row in rows if event.concerns(self.keys[row].quantity)]

    def admit(self, sensor: str, quantity: str, now: float) -> int | str:
        """Return the row of a series, a new one if need be, ``WAITS``, or why it is refused."""
        row = self._rows.get((sensor, quantity))
        if row is not None and row not in self._evicted:
            return row
        if (sensor, quantity) not in self._waiting:
            if not self.allows(sensor):
                return "not_allowed"
            if not self._has_room(len(self._waiting), is_new=row is None):
                return "series_limit"
            if row is not None:
                return row
            if self._permits_at(now) >= 1.0:
                self._permits -= 1.0
                return self.add(sensor, quantity)
            self._waiting[SeriesKey(sensor, quantity)] = {}
        return WAITS

    def allows(self, sensor: str) -> bool:
        """Return whether the settings accept a sensor."""
        return any(fnmatchcase(sensor, pattern) for pattern in self._limits.allow)

    def admit_again(self, sensor: str, quantity: str, _now: float) -> int | str:
        """Return the row of a series that a journal restores, ``WAITS`` if it has none yet."""
        row = self._rows.get((sensor, quantity))
        return WAITS if row is None else row

    def is_known(self, sensor: str, quantity: str) -> bool:
        """Return whether a series has a row or waits for one."""
        return (sensor, quantity) in self._rows or (sensor, quantity) in self._waiting

    @property
    def is_full(self) -> bool:
        """Whether another new series would be refused."""
        return not self._has_room(len(self._waiting))

    def may_begin(self, now: float) -> bool:
        """Return whether the series that waits longest may begin."""
        return bool(self._waiting) and self._has_room() and self._permits_at(now) >= 1.0

    def begin(self) -> SeriesKey:
        """Assign a row to the series that waits longest; return its key."""
        series = next(iter(self._waiting))
        self._permits -= 1.0
        self.add(*series)
        return series

    def add(self, sensor: str, quantity: str) -> int:
        """Assign a row, limits aside (a journal may hold more series than new settings allow)."""
        row = len(self.keys)
        key = SeriesKey(sensor, self._quantities.setdefault(quantity, quantity))
        self._rows[key] = row
        self.keys.append(key)
        self._on_new(row, key)
        return row

    def _has_room(self, besides: int = 0, *, is_new: bool = True) -> bool:
        """Return whether there may be one more series, beside some that have a place."""
        has_row = not is_new or len(self.keys) + besides < self._rows_max
        return has_row and len(self) + besides < self._limits.maximum

    def _permits_at(self, now: float) -> float:
        limit = float(self._limits.new_per_minute)
        elapsed = max(now - self._permits_time, 0.0)
        self._permits = min(limit, self._permits + elapsed * limit / 60.0)
        self._permits_time = now
        return self._permits
