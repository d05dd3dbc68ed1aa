"""Readings in blocks: sums of an hour while a day is open, one value a day afterwards.

Rules of this file: rows are those of the registry. An open hour has 16 bytes a series, a day that
is closed 12; the last ``KEPT`` days stay. A day is closed once a reading is two days later; what
comes for it afterwards is dropped and counted. Notes hold what changed since those before; they
carry the time of arrival up to which readings are in them, so that after a crash the readings that
came later are added again, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import NAN, Float, Int, Records
from monitor.extensions.neighbours.neighbourhoods import Neighbourhood
from monitor.extensions.neighbours.weak_references import day_values

DAY: Final = 86_400
KEPT: Final = 400  # days
OPEN: Final = 2  # days until one is closed
_HOUR: Final = 3_600.0
_HOURS: Final = 24
_NEVER: Final = -(1 << 62)
_HOUR_NOTES: Final = 256  # more than there are open hours
_NOTE: Final = "neighbours"
_GROWTH: Final = 64


class DayTable(NamedTuple):
    """The closed days, as ``weak_references.Days`` has them; ``first`` is counted from 1970."""

    first: int
    values: Float
    pairs: Int
    since: Int


class DayBlocks:
    """State: open hours, closed days, and what is to be noted. ``late`` readings are lost."""

    def __init__(self, late: int = 0) -> None:
        self.late = late
        self.received = -np.inf
        """Readings that arrived up to then are in the notes."""
        self.closed = _NEVER
        """The first day that is not closed."""
        self.is_urgent = False
        """Whether what changed must not wait for the next note."""
        self._hours: dict[int, Float] = {}
        self._day_of: Final[Int] = np.full(KEPT, _NEVER, dtype=np.int64)
        self._values: Float = np.full((KEPT, 0), NAN)
        self._pairs: Int = np.zeros((KEPT, 0), dtype=np.int32)
        self._since: Int = np.zeros(0, dtype=np.int64)
        self._changed_hours: Final[set[int]] = set()
        self._changed_days: Final[set[int]] = set()

    # -- what comes in ------------------------------------------------------------------------

    def add(self, rows: Int, times: Float, values: Float) -> None:
        """Add readings."""
        if not rows.size:
            return
        self._grow(int(rows.max()) + 1)
        hours = (times // _HOUR).astype(np.int64)
        if self.closed == _NEVER:
            self.closed = int(hours.min()) // _HOURS
        first, last = int(hours.min()), int(hours.max())
        for hour in [first] if first == last else np.unique(hours).tolist():
            at = slice(None) if first == last else hours == hour
            if hour // _HOURS < self.closed:
                self.late += rows[at].size
                continue
            block = self._hours.get(hour)
            if block is None or block.shape[1] < self._since.size:
                block = self._hours[hour] = _widened(block, self._since.size)
            np.add.at(block[0], rows[at], values[at])
            np.add.at(block[1], rows[at], 1.0)
            self._changed_hours.add(hour)

    def count_pairs(self, pairs: Records) -> None:
        """Count pairs (of ``PAIR``) that were made, by the day of their reading."""
        stands = pairs[~pairs["removed"]]
        if not stands.size:
            return
        self._grow(int(stands["series"].max()) + 1)
        days = (stands["time"] // DAY).astype(np.int64)
        for day in np.unique(days).tolist():
            at = self._place(day)
            if at is None:
                continue
            rows = stands["series"][days == day]
            self.is_urgent = self.is_urgent or not self._pairs[at, rows].all()
            np.add.at(self._pairs[at], rows, 1)
            self._changed_days.add(at)

    def begin_anew(self, rows: Iterable[int], time: float) -> None:
        """Forget baselines that series had before an event at ``time``, s UTC."""
        own = [*rows]
        if own:
            self._grow(max(own) + 1)
            self._since[own] = np.maximum(self._since[own], int(time // DAY) + 1)
            self.is_urgent = True

    def close(
        self, fleets: Callable[[], Sequence[Neighbourhood]], *, everything: bool = False
    ) -> bool:
        """Close the days that are over, or ``everything``; return whether there were any."""
        if not self._hours:
            return False
        until = max(self._hours) // _HOURS + (1 if everything else 1 - OPEN)
        over = sorted({hour // _HOURS for hour in self._hours if hour // _HOURS < until})
        for day in over:
            self._close(day, fleets())
        self.closed = max(self.closed, until)
        return bool(over)

    def table(self) -> DayTable | None:
        """Return the days that are closed, None before the first one."""
        known = self._day_of[(self._day_of > _NEVER) & (self._day_of < self.closed)]
        if not known.size:
            return None
        first = max(int(known.min()), self.closed - KEPT)
        days = np.arange(first, self.closed)
        at = days % KEPT
        is_own = (self._day_of[at] == days)[:, None]
        return DayTable(
            first,
            np.where(is_own, self._values[at], NAN),
            np.where(is_own, self._pairs[at], 0),
            np.maximum(self._since - first, 0),
        )

    @property
    def width(self) -> int:
        """For how many series there is room."""
        return self._since.size

    @property
    def open_bytes(self) -> int:
        """The size of the hours that are open."""
        return sum(each.nbytes for each in self._hours.values())

    # -- what outlives a restart --------------------------------------------------------------

    def notes(self, received: float) -> dict[str, bytes]:
        """Return what changed since the last notes; readings up to ``received`` are in it."""
        self.received, self.is_urgent = received, False
        notes = {_NOTE: np.float64(received).tobytes() + np.int64(self.closed).tobytes()}
        notes[f"{_NOTE}.since"] = self._since.tobytes()
        for hour in self._changed_hours & self._hours.keys():
            text = np.int64(hour).tobytes() + self._hours[hour].tobytes()
            notes[f"{_NOTE}.hour.{hour % _HOUR_NOTES}"] = text
        for at in self._changed_days:
            columns = (self._day_of[at], self._values[at], self._pairs[at])
            notes[f"{_NOTE}.day.{at}"] = b"".join(each.tobytes() for each in columns)
        self._changed_hours.clear()
        self._changed_days.clear()
        return notes

    def load(self, note: Callable[[str], bytes]) -> None:
        """Set the state from the notes that were written last."""
        head = note(_NOTE)
        if not head:
            return
        self.received = float(np.frombuffer(head, np.float64, 1)[0])
        self.closed = int(np.frombuffer(head, np.int64, 1, 8)[0])
        since = np.frombuffer(note(f"{_NOTE}.since"), np.int64)
        self._grow(since.size)
        self._since[: since.size] = since
        for at in range(KEPT):
            if text := note(f"{_NOTE}.day.{at}"):
                count = (len(text) - 8) // 12
                self._day_of[at] = np.frombuffer(text, np.int64, 1)[0]
                self._values[at, :count] = np.frombuffer(text, np.float64, count, 8)
                self._pairs[at, :count] = np.frombuffer(text, np.int32, count, 8 + 8 * count)
        for at in range(_HOUR_NOTES):
            if text := note(f"{_NOTE}.hour.{at}"):
                hour = int(np.frombuffer(text, np.int64, 1)[0])
                if hour // _HOURS >= self.closed:
                    sums = np.frombuffer(text, np.float64, -1, 8).reshape(2, -1)
                    self._hours[hour] = _widened(sums, self._since.size)

    # -- inside -------------------------------------------------------------------------------

    def _grow(self, series: int) -> None:
        have = self._since.size
        if series <= have:
            return
        more = max(series - have, _GROWTH, have // 2)
        self._since = np.concatenate([self._since, np.zeros(more, np.int64)])
        self._values = np.concatenate([self._values, np.full((KEPT, more), NAN)], axis=1)
        self._pairs = np.concatenate([self._pairs, np.zeros((KEPT, more), np.int32)], axis=1)

    def _place(self, day: int) -> int | None:
        """Return the place of a day, emptied if another was there; None if it is too old."""
        at = day % KEPT
        if self._day_of[at] < day:
            self._day_of[at], self._values[at], self._pairs[at] = day, NAN, 0
        return at if self._day_of[at] == day else None

    def _close(self, day: int, fleets: Sequence[Neighbourhood]) -> None:
        at, series = self._place(day), self._since.size
        hours = np.full((_HOURS, series), NAN)
        for place in range(_HOURS):
            block = self._hours.pop(day * _HOURS + place, None)
            if block is not None:
                known = block[1] > 0.0
                hours[place, : known.size][known] = block[0][known] / block[1][known]
        if at is None:
            return
        for each in fleets:
            own = each.rows < series
            if own.all():
                self._values[at, each.rows] = day_values(hours[:, each.rows], each.nearby)
        self._changed_days.add(at)


def _widened(sums: Float | None, series: int) -> Float:
    """Return sums and counts (2, series), those that are there first."""
    wide = np.zeros((2, series))
    if sums is not None:
        wide[:, : sums.shape[1]] = sums
    return wide
