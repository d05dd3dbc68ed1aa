"""The last pairs of every series in event order, whatever epoch they are of, in rings of one size.

Rules of this file: a ring holds the last pairs of its series without a gap; a series gets one with
its first pair. Once pairs have left a ring it is truncated: only the history has what came before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from monitor.core.model import Bool, Float, Int, Records, some_rows
from monitor.core.windows.changes import Ends, GroupedChanges
from monitor.core.windows.rings import Names, Precision, Rings, window_rows

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

    def rewrite(self, series: Int, size: Int, ends: Ends, which: Bool) -> None:
        """Put ``ends`` in place of the last ``size`` rows of some of the series."""
        some = series[which]
        self._next[some] = (self._next[some] - size[which]) % self.length
        self.held[some] -= size[which]
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
        self.truncated[series] |= self.held[series] + counts > self.length
        self.held[series] = np.minimum(self.held[series] + counts, self.length)
