"""The last pairs of every series, from which every statistic is recomputed.

Rules of this file: a window is a function of the set of a series' pairs, in the order (time, id);
there are no running sums; a series gets a ring with its first pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import PAIR, Bool, Float, Int, Records, in_event_order, some_rows
from monitor.core.windows.changes import (
    Ends,
    GroupedChanges,
    ends_with,
    grouped,
    reckoned_changes,
    without_passing,
)
from monitor.core.windows.rings import Names, Precision, Rings, window_rows

# Pairs kept beyond the window, so that a removed pair is replaced without asking the journal: a
# fortieth of it, sixteen at most.
_SPARE_MAX: Final = 16

History = Callable[[int], Records]


class Applied(NamedTuple):
    """The effect of changes: the series that changed, and the pairs of those that only grew.

    ``since`` is for each series the earliest event time whose past is no longer what it was: inf if
    only newer pairs were added. ``newer`` are the pairs (``PAIR``) of such series, ordered (series,
    time, id).
    """

    series: Int
    since: Float
    newer: Records


def spare_of(size: int) -> int:
    """Return how many pairs a ring keeps beyond a window of ``size``."""
    return min(_SPARE_MAX, size // 40)


def _nothing(newer: Records) -> None:
    del newer


class Windows:
    """Rings of the last ``size`` pairs of up to ``capacity`` series.

    ``history(series)`` returns all standing pairs of one series in event order; it is asked only
    when a removed pair uncovers one that has left the ring. ``precision`` is that of the rings.
    ``names`` are the digests of the series' sensors, 0 where unknown.
    """

    def __init__(
        self, capacity: int, size: int, history: History, precision: Precision = "double"
    ) -> None:
        self.capacity = capacity
        self.size = size
        self.length: Final = size + spare_of(size)
        self._rings: Final = Rings(capacity, self.length, precision)
        self._slot: Int = np.full(capacity, -1, dtype=np.int64)
        self._free: Final[list[int]] = []
        self._slots_used = 0
        self.names: Final = np.zeros(capacity, dtype=np.uint64)
        self._next: Int = np.zeros(capacity, dtype=np.int64)
        self._count: Int = np.zeros(capacity, dtype=np.int64)
        self._truncated: Bool = np.zeros(capacity, dtype=np.bool_)
        self._epoch = np.full(capacity, -np.inf)
        self._history = history

    def apply(self, pairs: Records, before: Callable[[Records], None] = _nothing) -> Applied:
        """Apply changes of pairs (``PAIR``, in the order they were made).

        ``before`` is given the pairs of the series that only grow, before their windows have them.
        """
        changes = reckoned_changes(pairs)
        newest, epochs = self._newest_or_none(changes.series), self._epoch[changes.series]
        changes = without_passing(changes, newest, epochs)
        return self._apply(changes, self._only_newer(changes), before)

    def recall(self, pairs: Records) -> Applied:
        """Load all standing pairs (``PAIR``, in event order) of series whose windows are empty."""
        changes = grouped(pairs)
        first = pairs["time"][changes.starts]
        return self._apply(changes, first >= self._epoch[changes.series], _nothing)

    def _apply(
        self, changes: GroupedChanges, only_newer: Bool, before: Callable[[Records], None]
    ) -> Applied:
        """Append the pairs of series that only grow; merge the changes of the others."""
        newer = changes if only_newer.all() else changes.of(only_newer)
        before(newer.rows)
        self._assign_slots(changes.series)
        self._append(newer)
        since = np.full(changes.series.size, np.inf)
        if newer is not changes:
            late = np.flatnonzero(~only_newer)
            since[late] = self._merge_ends(changes.of(~only_newer))
        return Applied(changes.series, since, newer.rows)

    def as_kept(self, pairs: Records) -> Records:
        """Return ``pairs`` (``PAIR``) as rows of a window, as exact as the rings keep them."""
        return self._rings.as_kept(window_rows(pairs))

    def forget(self, series: int) -> None:
        """Free the ring of one series for another."""
        if self._slot[series] >= 0:
            self._free.append(int(self._slot[series]))
        self._slot[series] = -1
        self._next[series] = self._count[series] = 0
        self._truncated[series] = False

    def reload(self, series: int) -> None:
        """Load the window of one series from its history."""
        history = self._history(series)
        history = history[history["time"] >= self._epoch[series]]
        if history.size:
            self._assign_slots(np.array([series]))
            self._write(series, window_rows(history))

    def begin_epoch(self, series: int, time: float) -> None:
        """Cut the window of a series: only pairs from ``time`` on belong to it."""
        self._epoch[series] = time
        if self._count[series]:
            rows = self.rows(series)
            self._write(series, rows[rows["time"] >= time])

    def epoch(self, series: int) -> float:
        """Return the time from which on pairs count, -inf if there was no event."""
        return float(self._epoch[series])

    def ranks(self, series: Int, times: Float) -> Int:
        """Return how many rows the ring of each of ``series`` holds before a time."""
        slots, count = self._slot[series], self._count[series]
        first, low, high = self._next[series] - count, np.zeros_like(count), count
        while (is_open := low < high).any():
            middle = (low + high) // 2
            is_later = self._rings.times(slots, (first + middle) % self.length) < times
            low = np.where(is_open & is_later, middle + 1, low)
            high = np.where(is_open & ~is_later, middle, high)
        return low

    def later_than(self, series: Int, times: Float, identities: Names) -> Int:
        """Return how many rows come after (time, id) in each ring, -1 if some may lack there."""
        at, count = self.ranks(series, times), self._count[series]
        while (is_open := at < count).any():
            some = series[is_open]
            places = (self._next[some] - count[is_open] + at[is_open]) % self.length
            rows = self._rings.read(self._slot[some], places, self.names[some])
            is_before = rows["time"] == times[is_open]
            is_before &= rows["id"] <= identities[is_open]
            if not is_before.any():
                break
            at[np.flatnonzero(is_open)[is_before]] += 1
        return np.where(self._truncated[series] & (at == 0), -1, count - at)

    def is_whole(self, series: Int) -> Bool:
        """Whether the ring of each of ``series`` holds all pairs that it ever had."""
        return ~self._truncated[series] & np.isneginf(self._epoch[series])

    def last(self, series: Int, sizes: Int) -> Records:
        """Return the last rows of each of ``series``, so many of each, end to end."""
        names = np.repeat(self.names[series], sizes)
        places = self._places(series, sizes)
        return self._rings.read(np.repeat(self._slot[series], sizes), places, names)

    def newest(self, series: Int) -> Float:
        """Event time of the newest pair in the window of each of ``series``, NaN if it is empty."""
        times = self._rings.times(self._slot[series], (self._next[series] - 1) % self.length)
        return np.where(self._count[series] > 0, times, np.nan)

    def counts(self, series: Int) -> Int:
        """Pairs in the window of each of ``series``."""
        return np.minimum(self._count[series], self.size)

    def held(self, series: Int) -> Int:
        """Pairs in the ring of each of ``series``."""
        return self._count[series]

    def rows(self, series: int) -> Records:
        """All rows the ring of one series holds, in event order."""
        count = int(self._count[series])
        places = (self._next[series] - count + np.arange(count)) % self.length
        one = np.array([series])
        return self._rings.read(self._slot[one], places, self.names[one])

    def up_to(self, series: int, back: int, most: int) -> Records:
        """Return ``most`` rows of one series, the last of them ``back`` rows before its newest.

        Fewer where there never were so many, or neither memory nor history has them any more.
        """
        rows = self.rows(series)
        if rows.size - back < most and self._truncated[series]:
            history = self._history(series)
            history = history[history["time"] >= self._epoch[series]]
            if rows.size:  # it may have newer ones already
                newer = history["time"] > rows["time"][-1]
                newer |= (history["time"] == rows["time"][-1]) & (history["id"] > rows["id"][-1])
                history = history[~newer]
            rows = self.as_kept(history)
        end = max(rows.size - back, 0)
        return rows[max(end - most, 0) : end]

    def gather(self, series: Int, sizes: Int, ages: Float) -> tuple[Int, Records]:
        """Lay the windows of ``series`` end to end: (start of each, rows).

        ``sizes`` are windows in pairs, ``ages`` in seconds before the newest pair (inf for none).
        Every one of ``series`` must hold a pair.
        """
        counts = np.minimum(self._count[series], sizes)
        starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
        within = np.arange(int(counts.sum())) - np.repeat(starts, counts)
        first = self._next[series] - counts
        places = (np.repeat(first, counts) + within) % self.length
        slots, names = self._slot[series], self.names[series]
        rows = self._rings.read(np.repeat(slots, counts), places, np.repeat(names, counts))
        if np.isfinite(ages).any():
            newest = rows["time"][starts + counts - 1]
            young = rows["time"] >= np.repeat(newest - ages, counts)
            counts = np.add.reduceat(young.astype(np.int64), starts)
            rows = rows[young]
            starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
        return starts, rows

    # -- inside -----------------------------------------------------------------------------

    def _places(self, series: Int, sizes: Int) -> Int:
        """Return the places of the last rows of each of ``series`` in its ring."""
        rank = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        places: Int = (np.repeat(self._next[series] - sizes, sizes) + rank) % self.length
        return places

    def _only_newer(self, changes: GroupedChanges) -> Bool:
        """Whether all changes of each series are new pairs after the newest one it holds."""
        series, starts, ordered = changes
        if not series.size:
            return np.zeros(0, dtype=np.bool_)
        times = ordered["time"]
        disturbing = ordered["removed"] | (times < self._epoch[ordered["series"]])
        newest = self._newest_or_none(series)
        return (times[starts] > newest) & ~np.logical_or.reduceat(disturbing, starts)

    def _newest_or_none(self, series: Int) -> Float:
        """Event time of the newest pair in the window of each of ``series``, -inf if empty."""
        newest = self.newest(series)
        newest[np.isnan(newest)] = -np.inf
        return newest

    def _assign_slots(self, series: Int) -> None:
        """Assign rings to those of ``series`` that have none: free ones first."""
        fresh = series[self._slot[series] < 0]
        if not fresh.size:
            return
        again = [self._free.pop() for _ in range(min(fresh.size, len(self._free)))]
        more = fresh.size - len(again)
        new = np.arange(self._slots_used, self._slots_used + more)
        self._slots_used += more
        self._slot[fresh] = np.concatenate([np.array(again, dtype=np.int64), new])

    def _append(self, changes: GroupedChanges) -> None:
        """Add pairs that are newer than all that their series hold."""
        series, starts, pairs = changes
        counts = changes.counts
        kept = np.minimum(counts, self.length)
        first = self._next[series] + counts - kept
        rank = np.arange(kept.sum()) - np.repeat(np.cumsum(kept) - kept, kept)
        if kept.size and (kept < counts).any():
            last = np.repeat(starts + counts - kept, kept) + rank
            pairs = some_rows(pairs, last)
        places = (np.repeat(first, kept) + rank) % self.length
        slots, names = self._slot[series], self.names[series]
        self._rings.write_pairs(np.repeat(slots, kept), places, np.repeat(names, kept), pairs)
        self._grow(series, counts)

    def _grow(self, series: Int, counts: Int) -> None:
        """Note that so many rows were written behind those of each of ``series``."""
        self._next[series] = (self._next[series] + counts) % self.length
        self._truncated[series] |= self._count[series] + counts > self.length
        self._count[series] = np.minimum(self._count[series] + counts, self.length)

    def _merge_ends(self, changes: GroupedChanges) -> Float:
        """Apply changes that touch older pairs; return since when each series changed.

        Where what changed is in the ring, its end is taken off and written again with the changes.
        """
        series, since = changes.series, changes.rows["time"][changes.starts]
        count, truncated = self._count[series], self._truncated[series]
        size = count - self.ranks(series, since)
        is_held = (since >= self._epoch[series]) & (~truncated | (size < count))
        size[~is_held] = 0
        held = Ends(np.repeat(np.arange(series.size), size), self.last(series, size))
        ends = ends_with(held, changes)
        grown = np.bincount(ends.owners, minlength=series.size)
        after = count - size + grown
        is_held &= ~truncated | (after >= self.size)
        is_held &= grown <= self.length
        self._rewrite(changes.series, size, ends, is_held)
        for at in np.flatnonzero(~is_held).tolist():
            first, stop = changes.starts[at], changes.starts[at] + changes.counts[at]
            since[at] = self._merge(int(series[at]), changes.rows[first:stop])
        return since

    def _rewrite(self, series: Int, size: Int, ends: Ends, which: Bool) -> None:
        """Put ``ends`` in place of the last ``size`` rows of some of the series."""
        some = series[which]
        self._next[some] = (self._next[some] - size[which]) % self.length
        self._count[some] -= size[which]
        owners, rows = ends.owners, ends.rows
        if not which.all():
            within = which[owners]
            owners, rows = owners[within], rows[within]
        grown = np.bincount(owners, minlength=series.size)
        rank = np.arange(owners.size) - np.repeat(np.cumsum(grown) - grown, grown)
        places = (self._next[series][owners] + rank) % self.length
        slots, names = self._slot[series][owners], self.names[series][owners]
        self._rings.write(slots, places, names, rows)
        self._grow(some, grown[which])

    def _merge(self, series: int, changes: Records) -> float:
        """Apply changes that touch older pairs: late, revised, removed; return since when."""
        held = self.rows(series)
        replaced = np.isin(held["id"], changes["id"])
        since = min(changes["time"].min(), held["time"][replaced].min(initial=np.inf))
        if self._truncated[series] and changes["removed"].any():
            since = -np.inf if not np.isin(changes["id"], held["id"]).all() else since
        held = held[~replaced]
        standing = in_event_order(changes)
        standing = standing[standing["time"] >= self._epoch[series]]
        if self._truncated[series] and held.size:
            time, identity = held["time"][0], held["id"][0]
            same_time = (standing["time"] == time) & (standing["id"] > identity)
            standing = standing[(standing["time"] > time) | same_time]
        rows = np.concatenate([held, window_rows(standing)])
        rows = rows[np.lexsort((rows["id"], rows["time"]))]
        if self._truncated[series] and rows.size < self.size:
            history = self._history(series)
            history = history[history["time"] >= self._epoch[series]]
            self._truncated[series] = history.size > self.length
            rows = window_rows(history)
        self._write(series, rows)
        return float(since)

    def _write(self, series: int, rows: Records) -> None:
        self._truncated[series] |= rows.size > self.length
        rows = rows[-self.length :]
        places = np.arange(rows.size)
        if rows.size:
            one = np.array([series])
            self._rings.write(self._slot[one], places, self.names[one], rows)
        self._count[series] = rows.size
        self._next[series] = rows.size % self.length


def no_history(series: int) -> Records:
    """Stand in for a journal where every pair is in memory."""
    del series
    return np.zeros(0, dtype=PAIR)
