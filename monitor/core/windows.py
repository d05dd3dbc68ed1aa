"""The last pairs of every series: the ground from which all that is shown is recomputed.

Rules of this file: a window is a function of the set of a series' pairs, in the order (time, id);
no running sums; memory is reserved for all series at once and touched only where pairs are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from monitor.core.model import PAIR, Bool, Float, Int, Records, in_event_order

# What a window keeps of a pair; u_ref here includes the uncertainty of the pairing.
WINDOW: Final = np.dtype(
    [
        ("id", np.uint64),
        ("time", np.float64),
        ("value", np.float64),
        ("u", np.float64),
        ("lower", np.float64),
        ("upper", np.float64),
        ("p", np.float64),
        ("reference", np.float64),
        ("u_ref", np.float64),
        ("reference_id", np.uint64),
        ("crps", np.float64),
    ]
)
_AS_IN_PAIR: Final = tuple(name for name in WINDOW.names or () if name != "u_ref")
# Pairs kept beyond the window, so that a removed pair is replaced without asking the journal.
SPARE: Final = 16

History = Callable[[int], Records]


def window_rows(pairs: Records) -> Records:
    """Return ``pairs`` (``PAIR``) as rows of a window."""
    rows = np.empty(pairs.size, dtype=WINDOW)
    for name in _AS_IN_PAIR:
        rows[name] = pairs[name]
    rows["u_ref"] = np.hypot(pairs["u_ref"], pairs["u_pair"])
    return rows


class Windows:
    """Rings of the last ``size`` pairs of up to ``capacity`` series.

    ``history(series)`` returns all standing pairs of one series in event order; it is asked only
    when a removed pair uncovers one that has left the ring.
    """

    def __init__(self, capacity: int, size: int, history: History) -> None:
        self.capacity = capacity
        self.size = size
        self._length: Final = size + SPARE
        self._ring = np.zeros((capacity, self._length), dtype=WINDOW)
        self._next: Int = np.zeros(capacity, dtype=np.int64)
        self._count: Int = np.zeros(capacity, dtype=np.int64)
        self._truncated: Bool = np.zeros(capacity, dtype=np.bool_)
        self._epoch = np.full(capacity, -np.inf)
        self._history = history

    def apply(self, pairs: Records) -> tuple[Int, Float]:
        """Take changes of pairs (``PAIR``, in the order they were made).

        Returns the series that changed and, for each, the earliest event time whose past is no
        longer what it was: inf if only newer pairs were added.
        """
        series, starts, ordered = self._sort(pairs)
        only_newer = self._only_newer(series, starts, ordered)
        fast = np.repeat(only_newer, np.diff(starts, append=ordered.size))
        self._append(ordered[fast])
        since = np.full(series.size, np.inf)
        for at in np.flatnonzero(~only_newer):
            since[at] = self._merge(int(series[at]), pairs[pairs["series"] == series[at]])
        return series, since

    def begin_epoch(self, series: int, time: float) -> None:
        """Cut the window of a series: only pairs from ``time`` on belong to it."""
        self._epoch[series] = time
        rows = self.rows(series)
        self._write(series, rows[rows["time"] >= time])

    def epoch(self, series: int) -> float:
        """Return the time from which on pairs count, -inf if there was no event."""
        return float(self._epoch[series])

    def after(self, series: int, time: float, identity: int) -> Records | None:
        """Return the rows of one series after (time, id), None if the ring may lack some."""
        rows = self.rows(series)
        later = (rows["time"] > time) | ((rows["time"] == time) & (rows["id"] > identity))
        if self._truncated[series] and later.all():
            return None
        return rows[later]

    def newest(self, series: Int) -> Float:
        """Event time of the newest pair in the window of each of ``series``, NaN if it is empty."""
        times = self._ring[series, (self._next[series] - 1) % self._length]["time"]
        return np.where(self._count[series] > 0, times, np.nan)

    def counts(self, series: Int) -> Int:
        """Pairs in the window of each of ``series``."""
        return np.minimum(self._count[series], self.size)

    def rows(self, series: int) -> Records:
        """All rows the ring of one series holds, in event order."""
        count = int(self._count[series])
        places = (self._next[series] - count + np.arange(count)) % self._length
        rows: Records = self._ring[series, places]
        return rows

    def gather(self, series: Int, sizes: Int, ages: Float) -> tuple[Int, Records]:
        """Lay the windows of ``series`` end to end: (start of each, rows).

        ``sizes`` are windows in pairs, ``ages`` in seconds before the newest pair (inf for none).
        Every one of ``series`` must hold a pair.
        """
        counts = np.minimum(self._count[series], sizes)
        starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
        within = np.arange(int(counts.sum())) - np.repeat(starts, counts)
        first = self._next[series] - counts
        places = (np.repeat(first, counts) + within) % self._length
        rows = self._ring[np.repeat(series, counts), places]
        if np.isfinite(ages).any():
            newest = rows["time"][starts + counts - 1]
            young = rows["time"] >= np.repeat(newest - ages, counts)
            counts = np.add.reduceat(young.astype(np.int64), starts)
            rows = rows[young]
            starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
        return starts, rows

    # -- inside -----------------------------------------------------------------------------

    def _sort(self, pairs: Records) -> tuple[Int, Int, Records]:
        """Order changes by (series, time, id): series that changed, their starts, the rows."""
        order = np.lexsort((pairs["id"], pairs["time"], pairs["series"]))
        ordered = pairs[order]
        series, starts = np.unique(ordered["series"], return_index=True)
        return series, starts, ordered

    def _only_newer(self, series: Int, starts: Int, ordered: Records) -> Bool:
        """Whether all changes of each series are new pairs after the newest one it holds."""
        if not series.size:
            return np.zeros(0, dtype=np.bool_)
        newest = self._ring[series, (self._next[series] - 1) % self._length]["time"]
        newest = np.where(self._count[series] > 0, newest, -np.inf)
        repeated = np.zeros(ordered.size, dtype=np.bool_)
        identities, times = np.unique(ordered["id"], return_counts=True)
        if identities.size < ordered.size:
            repeated = np.isin(ordered["id"], identities[times > 1])
        past = ordered["time"] < self._epoch[ordered["series"]]
        disturbing = np.logical_or.reduceat(ordered["removed"] | repeated | past, starts)
        return (ordered["time"][starts] > newest) & ~disturbing

    def _append(self, pairs: Records) -> None:
        """Add pairs that are newer than all that their series hold, ordered (series, time, id)."""
        series, starts, counts = np.unique(pairs["series"], return_index=True, return_counts=True)
        rank = np.arange(pairs.size) - np.repeat(starts, counts)
        kept = rank >= np.repeat(counts, counts) - self._length
        places = (self._next[pairs["series"]] + rank) % self._length
        self._ring[pairs["series"][kept], places[kept]] = window_rows(pairs[kept])
        self._next[series] = (self._next[series] + counts) % self._length
        self._truncated[series] |= self._count[series] + counts > self._length
        self._count[series] = np.minimum(self._count[series] + counts, self._length)

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
            self._truncated[series] = history.size > self._length
            rows = window_rows(history)
        self._write(series, rows)
        return float(since)

    def _write(self, series: int, rows: Records) -> None:
        self._truncated[series] |= rows.size > self._length
        rows = rows[-self._length :]
        self._ring[series, : rows.size] = rows
        self._count[series] = rows.size
        self._next[series] = rows.size % self._length


def no_history(series: int) -> Records:
    """Stand in for a journal where every pair is in memory."""
    del series
    return np.zeros(0, dtype=PAIR)
