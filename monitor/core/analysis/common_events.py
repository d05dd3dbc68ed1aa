"""Events that sensors have in common, and which sensors to compare so that there are enough.

An event is an occasion with one reference (the reference's identity); if one sensor has several
pairs of it, the last counts. Only events that all sensors saw compare them fairly, so one sensor
that saw nothing would leave nothing. :func:`common_set` leaves out as few sensors as it takes.

The largest set of sensors that share a given number of events is the largest frequent itemset,
which no algorithm finds quickly for every fleet (Yang, KDD 2004). The search here is exact for
typical fleets: most sensors saw everything, some saw less. It looks at no more than ``LOOKS``
intersections; where that is too few, the set is the largest it found.
"""

from __future__ import annotations

from itertools import accumulate
from operator import and_
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from monitor.core.columns import Columns
from monitor.core.model import Int

# The occasion of each pair: the reference's identity, or any number that stands for it.
Events = npt.NDArray[np.int64] | npt.NDArray[np.uint64]
# Below this many common events there are means and ranks, but no intervals.
MIN_EVENTS: Final = 20
# No sensor is left out to gain more common events than these.
ENOUGH_EVENTS: Final = 50
LOOKS: Final = 40_000
_BITS: Final = 4_000_000_000  # event bits over all intersections: about half a second


class CommonSet(NamedTuple):
    """Which series to compare, on how many events, and which are left out.

    ``kept`` and ``left_out`` are rows, in order. ``seen`` is how many of the common events each
    series left out saw. ``required`` is how many events the kept series had to have in common.
    """

    kept: Int
    events: int
    left_out: Int
    seen: Int
    required: int


def seen(c: Columns, event: Events) -> tuple[Int, Events]:
    """Return the last row of each event of each series, by event, and the events of these rows."""
    order = np.lexsort((c.series, event))
    events, series = event[order], c.series[order]
    last = np.append((np.diff(events) != 0) | (np.diff(series) != 0), values=True)
    return order[last], events[last]


def on_common_events(c: Columns, event: Events) -> tuple[Columns, Events] | None:
    """Return the pairs of events that every series saw, in the same order, and those events.

    ``event`` numbers the occasion of each row. Events come in the order of the first series'
    times. None where there is no common event.
    """
    rows, events = seen(c, event)
    numbers, counts = np.unique(events, return_counts=True)
    common = np.isin(events, numbers[counts == c.starts.size])
    if not common.any():
        return None
    rows = rows[common]
    table = rows[np.lexsort((events[common], c.series[rows]))].reshape(c.starts.size, -1)
    table = table[:, np.argsort(c.time[table[0]], kind="stable")]
    starts = np.arange(c.starts.size) * table.shape[1]
    return c.select(table.reshape(-1), starts), event[table[0]]


def events_seen(c: Columns, event: Events) -> Int:
    """Return how many events each series saw."""
    rows, _ = seen(c, event)
    return np.bincount(c.series[rows], minlength=c.starts.size)


def required_events(most: int) -> int:
    """Return how many events a set must share if the best two share ``most``.

    It is a quarter of them, for intervals at most twice as wide, but no more than ``ENOUGH_EVENTS``
    and no fewer than ``MIN_EVENTS`` or, where there are few, half.
    """
    quarter, half = -(-most // 4), -(-most // 2)
    return max(1, min(ENOUGH_EVENTS, max(quarter, min(MIN_EVENTS, half))))


def common_set(c: Columns, event: Events, looks: int = LOOKS) -> CommonSet | None:
    """Return the largest set of series that share enough events; on a tie, the one sharing most.

    None if no two share any. ``looks`` bounds the intersections that are counted.
    """
    masks = _masks(c, event)
    n, every = len(masks), list(range(len(masks)))
    most, pair = max(
        (((masks[a] & masks[b]).bit_count(), (b, a)) for a in every for b in every[:a]),
        key=lambda each: each[0],
        default=(0, (0, 0)),
    )
    if not most:
        return None
    width = max(mask.bit_length() for mask in masks)
    search = _Search(masks, required_events(most), min(looks, _BITS // width))
    search.drop()
    search.grow(pair)
    search.extend([], (1 << width) - 1, every)
    search.fill()
    common = search.common
    left = np.setdiff1d(np.arange(n), search.best)
    return CommonSet(
        kept=np.array(search.best),
        events=common.bit_count(),
        left_out=left,
        seen=np.array([(masks[row] & common).bit_count() for row in left.tolist()], np.int64),
        required=search.required,
    )


def _masks(c: Columns, event: Events) -> list[int]:
    """Return as bits the events that each series saw, without events that only one saw."""
    rows, events = seen(c, event)
    _, place, counts = np.unique(events, return_inverse=True, return_counts=True)
    shared = counts[place] > 1
    _, bit = np.unique(place[shared], return_inverse=True)
    series, width = c.series[rows][shared], int(bit.max(initial=-1)) + 1
    masks = []
    for row in range(c.starts.size):
        flags = np.zeros(width, dtype=np.bool_)
        flags[bit[series == row]] = True
        masks.append(int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little"))
    return masks


class _Search:
    """State: the best set so far, and how many intersections may still be looked at."""

    def __init__(self, masks: list[int], required: int, looks: int) -> None:
        self._masks: Final = masks
        self.required: Final = required
        self.looks = looks
        self.best: list[int] = []
        self.common = 0

    def drop(self) -> None:
        """Leave out the series that saw least, one by one: good where a few are silent."""
        rows = sorted(range(len(self._masks)), key=lambda row: -self._masks[row].bit_count())
        commons = list(accumulate((self._masks[row] for row in rows), and_))
        while rows and commons[-1].bit_count() < self.required:
            rows.pop()
            commons.pop()
        if rows:
            self._record(rows, commons[-1])

    def grow(self, pair: tuple[int, int]) -> None:
        """Begin with two, add those that cost the fewest events: good where there are groups."""
        chosen, common = list(pair), self._masks[pair[0]] & self._masks[pair[1]]
        while common.bit_count() >= self.required:
            self._record(chosen, common)
            others = [row for row in range(len(self._masks)) if row not in chosen]
            if not others:
                return
            best = max(others, key=lambda row: (common & self._masks[row]).bit_count())
            chosen, common = [*chosen, best], common & self._masks[best]

    def fill(self) -> None:
        """Add to the best set whatever fits; something may fit if the search had to stop."""
        for row, mask in enumerate(self._masks):
            if row not in self.best:
                self._record([*self.best, row], self.common & mask)

    def extend(self, chosen: list[int], common: int, candidates: list[int]) -> None:
        """Look for better sets that hold ``chosen`` and some of ``candidates``."""
        if self.looks < 0:
            return
        open_ = []
        for row in candidates:
            inside = common & self._masks[row]
            count = inside.bit_count()
            if count >= self.required:
                open_.append((count, row, inside))
        self.looks -= len(candidates)
        # A series that saw all common events takes none away.
        whole = common.bit_count()
        chosen = [*chosen, *(row for count, row, _ in open_ if count == whole)]
        open_ = [each for each in open_ if each[0] < whole]
        self._record(chosen, common)
        together = common
        for _, _, inside in open_:
            together &= inside
        if together.bit_count() >= self.required:
            self._record([*chosen, *(row for _, row, _ in open_)], together)
        # Series that take most away come first and are then dropped, which leaves the fewest.
        open_.sort()
        while open_ and len(chosen) + len(open_) >= len(self.best) and self.looks >= 0:
            _, row, inside = open_.pop(0)
            self.extend([*chosen, row], inside, [other for _, other, _ in open_])

    def _record(self, chosen: list[int], common: int) -> None:
        if len(chosen) < 2 or common.bit_count() < self.required:
            return
        if (len(chosen), common.bit_count()) > (len(self.best), self.common.bit_count()):
            self.best, self.common = sorted(chosen), common
