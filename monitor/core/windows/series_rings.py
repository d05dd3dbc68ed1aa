"""The last pairs of every series in event order, in rings of one size, and changes of them.

Rules of this file: a ring holds the last pairs of its series, whatever epoch they are of, without a
gap; a series gets one with its first pair. Once pairs have left a ring it is truncated: only the
history has what came before. The net effect of changes depends only on them and on the pairs they
are applied to; a pair that was added and removed between two applications leaves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Bool, Float, Int, Records, net_order, some_rows
from monitor.core.windows.rings import Names, Precision, Rings, window_rows


class GroupedChanges(NamedTuple):
    """Changes of pairs in the order (series, time, id).

    The series, the first row of each, how many it has, and the rows.
    """

    series: Int
    starts: Int
    counts: Int
    rows: Records

    def of(self, mask: Bool) -> GroupedChanges:
        """Return those of some of the series."""
        return grouped(some_rows(self.rows, np.flatnonzero(np.repeat(mask, self.counts))))


class Ends(NamedTuple):
    """Rows at the ends of windows, in event order: whose they are, by place, and the rows."""

    owners: Int
    rows: Records


def grouped(ordered: Records) -> GroupedChanges:
    """Return rows that are in the order (series, time, id) with the first of each series."""
    names = ordered["series"]
    first = np.ones(names.size, dtype=np.bool_)
    np.not_equal(names[1:], names[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    counts = np.empty_like(starts)
    np.subtract(starts[1:], starts[:-1], out=counts[:-1])
    counts[-1:] = names.size - starts[-1:]
    return GroupedChanges(names[starts], starts, counts, ordered)


def reckoned_changes(pairs: Records) -> GroupedChanges:
    """Return the net effect of changes (``PAIR``, in the order they were made)."""
    return grouped(some_rows(pairs, net_order(pairs)))


def without_passing(changes: GroupedChanges, newest: Float, epochs: Float) -> GroupedChanges:
    """Return changes without the removal of pairs that no window has seen.

    ``newest`` is the time of the newest pair in the window of each series, -inf if it is empty,
    ``epochs`` when its present epoch began: pairs before that are in no window either.
    """
    removed = changes.rows["removed"]
    if not removed.any():
        return changes
    first = np.where(newest < epochs, epochs, np.nextafter(newest, np.inf))
    passing = removed & (changes.rows["time"] >= np.repeat(first, changes.counts))
    return grouped(some_rows(changes.rows, np.flatnonzero(~passing))) if passing.any() else changes


def ends_with(held: Ends, changes: GroupedChanges) -> Ends:
    """Return the ends of windows with changes merged in; owners are places in the changes."""
    owners = np.repeat(np.arange(changes.series.size), changes.counts)
    named = np.concatenate([held.owners, owners])
    ids = np.concatenate([held.rows["id"], changes.rows["id"]])
    is_change = np.arange(named.size) >= held.owners.size
    order = np.lexsort((~is_change, ids, named))
    follows = np.zeros(named.size, dtype=np.bool_)
    follows[1:] = (named[order][1:] == named[order][:-1]) & (ids[order][1:] == ids[order][:-1])
    replaced = np.zeros(named.size, dtype=np.bool_)
    replaced[order] = follows  # for each pair the changes come first, the held row last
    stays = ~replaced[: held.owners.size]
    stands = ~changes.rows["removed"]
    rows = np.concatenate([held.rows[stays], window_rows(changes.rows[stands])])
    of = np.concatenate([held.owners[stays], owners[stands]])
    order = np.lexsort((rows["id"], rows["time"], of))
    return Ends(of[order], rows[order])


History = Callable[[int], Records]


class SeriesRings:
    """Rings of ``length`` pairs for up to ``capacity`` series.

    ``names`` are the digests of the series' sensors, 0 where unknown; ``held`` counts the rows in
    each ring, ``truncated`` marks those that pairs have left. Both are for reading.
    """

    def __init__(self, capacity: int, length: int, history: History, precision: Precision) -> None:
        self.length: Final = length
        self._rings: Final = Rings(capacity, length, precision)
        self._history: Final = history
        self._slot: Int = np.full(capacity, -1, dtype=np.int64)
        self._free: Final[list[int]] = []
        self._slots_used = 0
        self.names: Final = np.zeros(capacity, dtype=np.uint64)
        self._next: Int = np.zeros(capacity, dtype=np.int64)
        self.held: Int = np.zeros(capacity, dtype=np.int64)
        self.truncated: Bool = np.zeros(capacity, dtype=np.bool_)

    # -- memory -----------------------------------------------------------------------------

    def assign(self, series: Int) -> None:
        """Assign rings to those of ``series`` that have none: free ones first."""
        fresh = series[self._slot[series] < 0]
        if not fresh.size:
            return
        again = [self._free.pop() for _ in range(min(fresh.size, len(self._free)))]
        more = fresh.size - len(again)
        new = np.arange(self._slots_used, self._slots_used + more)
        self._slots_used += more
        self._slot[fresh] = np.concatenate([np.array(again, dtype=np.int64), new])

    def release(self, row: int) -> None:
        """Free the ring of one series for another."""
        if self._slot[row] >= 0:
            self._free.append(int(self._slot[row]))
        self._slot[row] = -1
        self._next[row] = self.held[row] = 0
        self.truncated[row] = False

    # -- reading ----------------------------------------------------------------------------

    def as_kept(self, pairs: Records) -> Records:
        """Return ``pairs`` (``PAIR``) as rows of a window, as exact as the rings keep them."""
        return self._rings.as_kept(window_rows(pairs))

    def ranks(self, series: Int, times: Float) -> Int:
        """Return how many rows the ring of each of ``series`` holds before a time."""
        slots, count = self._slot[series], self.held[series]
        first, low, high = self._next[series] - count, np.zeros_like(count), count
        while (is_open := low < high).any():
            middle = (low + high) // 2
            is_later = self._rings.times(slots, (first + middle) % self.length) < times
            low = np.where(is_open & is_later, middle + 1, low)
            high = np.where(is_open & ~is_later, middle, high)
        return low

    def later_than(self, series: Int, times: Float, identities: Names) -> Int:
        """Return how many rows come after (time, id) in each ring, -1 if the ring may lack some."""
        at, count = self.ranks(series, times), self.held[series]
        while (is_open := at < count).any():
            some = series[is_open]
            places = (self._next[some] - count[is_open] + at[is_open]) % self.length
            rows = self._rings.read(self._slot[some], places, self.names[some])
            is_before = rows["time"] == times[is_open]
            is_before &= rows["id"] <= identities[is_open]
            if not is_before.any():
                break
            at[np.flatnonzero(is_open)[is_before]] += 1
        return np.where(self.truncated[series] & (at == 0), -1, count - at)

    def newest(self, series: Int) -> Float:
        """Event time of the newest pair in each ring; undefined for an empty ring."""
        return self._rings.times(self._slot[series], (self._next[series] - 1) % self.length)

    def last(self, series: Int, sizes: Int) -> Records:
        """Return the last rows of each of ``series``, so many of each, end to end."""
        rank = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        places = (np.repeat(self._next[series] - sizes, sizes) + rank) % self.length
        slots, names = self._slot[series], self.names[series]
        return self._rings.read(np.repeat(slots, sizes), places, np.repeat(names, sizes))

    def rows(self, row: int) -> Records:
        """Return all rows the ring of one series holds."""
        one = np.array([row])
        return self.last(one, self.held[one])

    def up_to(self, row: int, back: int, most: int) -> Records:
        """Return ``most`` rows of one series, the last of them ``back`` rows before its newest.

        Fewer where there never were so many, or neither memory nor history has them any more.
        """
        rows = self.rows(row)
        if rows.size - back < most and self.truncated[row]:
            history = self._history(row)
            if rows.size:  # it may have newer ones already
                newer = history["time"] > rows["time"][-1]
                newer |= (history["time"] == rows["time"][-1]) & (history["id"] > rows["id"][-1])
                history = history[~newer]
            rows = self.as_kept(history)
        end = max(rows.size - back, 0)
        return rows[max(end - most, 0) : end]

    # -- writing ----------------------------------------------------------------------------

    def append(self, changes: GroupedChanges) -> None:
        """Add pairs that are newer than all that their series hold."""
        series, starts, counts, pairs = changes
        first, held = self._next[series], counts
        if (counts > self.length).any():
            held = np.minimum(counts, self.length)
            first = first + counts - held
            skipped = starts + counts - held
            starts = np.cumsum(held) - held
            pairs = some_rows(pairs, np.arange(held.sum()) + np.repeat(skipped - starts, held))
        of = np.repeat(np.arange(series.size), held)
        places = ((first - starts)[of] + np.arange(of.size)) % self.length
        slots, names = self._slot[series], self.names[series]
        self._rings.write_pairs(slots[of], places, names[of], pairs)
        self._grow(series, counts)

    def rewrite(self, series: Int, size: Int, ends: Ends, mask: Bool) -> None:
        """Put ``ends`` in place of the last ``size`` rows of some of the series."""
        some = series[mask]
        self._next[some] = (self._next[some] - size[mask]) % self.length
        self.held[some] -= size[mask]
        owners, rows = ends.owners, ends.rows
        if not mask.all():
            within = mask[owners]
            owners, rows = owners[within], rows[within]
        grown = np.bincount(owners, minlength=series.size)
        rank = np.arange(owners.size) - np.repeat(np.cumsum(grown) - grown, grown)
        places = (self._next[series][owners] + rank) % self.length
        slots, names = self._slot[series][owners], self.names[series][owners]
        self._rings.write(slots, places, names, rows)
        self._grow(some, grown[mask])

    def write(self, row: int, rows: Records) -> None:
        """Put the last of ``rows`` (``WINDOW``) in place of all that one series holds."""
        self.truncated[row] |= rows.size > self.length
        rows = rows[-self.length :]
        if rows.size:
            one = np.array([row])
            self._rings.write(self._slot[one], np.arange(rows.size), self.names[one], rows)
        self.held[row] = rows.size
        self._next[row] = rows.size % self.length

    def _grow(self, series: Int, counts: Int) -> None:
        """Note that so many rows were written behind those of each of ``series``."""
        self._next[series] = (self._next[series] + counts) % self.length
        held = self.held[series] + counts
        self.truncated[series] |= held > self.length
        self.held[series] = np.minimum(held, self.length)
