"""The last pairs of every series in its present epoch, from which every statistic is recomputed.

Rules of this file: a window is a function of the set of a series' pairs, in the order (time, id);
there are no running sums. It is the end of a ring that goes on over epochs: pairs from before the
present one stay there for the evidence, which learns from them, and are in no window. An epoch
begins each time a sensor is adjusted, moved or replaced; a sensor's are a set in time order,
whatever the order of arrival.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Bool, Event, Float, Int, Records, in_event_order
from monitor.core.registry import SeriesKey
from monitor.core.windows.rings import Precision, window_rows
from monitor.core.windows.series_rings import (
    Ends,
    GroupedChanges,
    History,
    SeriesRings,
    ends_with,
    grouped,
    reckoned_changes,
    without_passing,
)

EVENTS_MAX: Final = 1000  # of a sensor that are kept, the newest


class Epochs:
    """Events of all sensors."""

    def __init__(self) -> None:
        self._events: dict[str, list[tuple[float, str, str]]] = {}

    def add(self, event: Event) -> bool:
        """Add an event; return False for a duplicate."""
        known = self._events.setdefault(event.sensor, [])
        entry = (event.time, event.event, event.note)
        place = bisect_left(known, entry)
        if known[place : place + 1] == [entry]:
            return False
        known.insert(place, entry)
        return True

    def make_room(self, sensor: str) -> Event | None:
        """Drop the oldest event of a sensor that has too many and return it, else None."""
        known = self._events[sensor]
        return Event(sensor, *known.pop(0)) if len(known) > EVENTS_MAX else None

    def of(self, key: SeriesKey) -> list[Event]:
        """Return the events that concern a series in time order."""
        events = (Event(key.sensor, *entry) for entry in self._events.get(key.sensor, ()))
        return [event for event in events if event.concerns(key.quantity)]

    def start_of(self, key: SeriesKey) -> float:
        """Return when the present epoch of a series began, -inf if there was no event."""
        known = reversed(self._events.get(key.sensor, ()))
        events = (Event(key.sensor, *entry) for entry in known)
        return next((each.time for each in events if each.concerns(key.quantity)), -float("inf"))


# Pairs kept beyond the window, so that a removed pair is replaced without asking the journal: a
# fortieth of it, sixteen at most.
_SPARE_MAX: Final = 16


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
    """The last ``size`` pairs of the present epoch of up to ``capacity`` series.

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
        self.rings: Final = SeriesRings(capacity, self.length, history, precision)
        self.names: Final = self.rings.names
        self._count: Int = np.zeros(capacity, dtype=np.int64)  # of the present epoch
        self._epoch = np.full(capacity, -np.inf)
        self._history = history

    def apply(self, pairs: Records, before: Callable[[Records], None] = _nothing) -> Applied:
        """Apply changes of pairs (``PAIR``, in the order they were made).

        ``before`` is given the pairs of the series that only grow, before their windows have them.
        """
        changes = reckoned_changes(pairs)
        newest, epochs = self._newest_or_none(changes.series), self._epoch[changes.series]
        lasting = without_passing(changes, newest, epochs)
        if lasting is not changes:
            changes, at = lasting, np.isin(changes.series, lasting.series)
            newest, epochs = newest[at], epochs[at]
        only_newer = _are_only_newer(changes, newest, epochs)
        newer = changes if only_newer.all() else changes.of(only_newer)
        before(newer.rows)
        self.rings.assign(changes.series)
        self.rings.append(newer)
        counts = self._count[newer.series] + newer.counts
        self._count[newer.series] = np.minimum(counts, self.length)
        since = np.full(changes.series.size, np.inf)
        if newer is not changes:
            since[~only_newer] = self._merge_ends(changes.of(~only_newer))
        return Applied(changes.series, since, newer.rows)

    def recall(self, pairs: Records, firsts: Float) -> Applied:
        """Load standing pairs (``PAIR``, in event order) of series whose windows are empty.

        All of each series, or its last ones, more than a ring holds; ``firsts`` are the times of
        the first pairs that each has.
        """
        changes = grouped(pairs)
        self.rings.assign(changes.series)
        self.rings.append(changes)
        self._recount(changes.series)
        since = np.where(firsts >= self._epoch[changes.series], np.inf, firsts)
        return Applied(changes.series, since, pairs)

    def as_kept(self, pairs: Records) -> Records:
        """Return ``pairs`` (``PAIR``) as rows of a window, as exact as the rings keep them."""
        return self.rings.as_kept(pairs)

    def forget(self, series: int) -> None:
        """Free the ring of one series for another."""
        self.rings.release(series)
        self._count[series] = 0

    def reload(self, series: int) -> None:
        """Load the window of one series from its history."""
        history = self._history(series)
        if history.size:
            one = np.array([series])
            self.rings.assign(one)
            self.rings.write(series, window_rows(history))
            self._recount(one)

    def begin_epoch(self, series: int, time: float) -> None:
        """Cut the window of a series: only pairs from ``time`` on belong to it."""
        self._epoch[series] = time
        self._recount(np.array([series]))

    def epoch(self, series: int) -> float:
        """Return the time from which on pairs count, -inf if there was no event."""
        return float(self._epoch[series])

    def epochs(self, series: Int) -> Float:
        """Return :meth:`epoch` of each of ``series``."""
        return self._epoch[series]

    def newest(self, series: Int) -> Float:
        """Event time of the newest pair in the window of each of ``series``, NaN if it is empty."""
        return np.where(self._count[series] > 0, self.rings.newest(series), np.nan)

    def counts(self, series: Int) -> Int:
        """Pairs in the window of each of ``series``."""
        return np.minimum(self._count[series], self.size)

    def rows(self, series: int) -> Records:
        """All rows of the present epoch that the ring of one series holds, in event order."""
        one = np.array([series])
        return self.rings.last(one, self._count[one])

    def since(self, series: int) -> float:
        """Event time of the oldest row of :meth:`rows`; that of its epoch if there is none."""
        rows = self.rows(series)
        return float(rows["time"][0]) if rows.size else self.epoch(series)

    def up_to(self, series: int, back: int, most: int) -> Records:
        """Return ``most`` rows of one series, the last of them ``back`` rows before its newest.

        Fewer where its epoch has no more, or neither memory nor history has them any longer.
        """
        room = self._count[series] - back
        if room >= most or self.rings.held[series] > self._count[series]:
            most = min(most, max(int(room), 0))  # earlier pairs belong to another epoch
        rows = self.rings.up_to(series, back, most)
        return rows[rows["time"] >= self._epoch[series]]

    def gather(self, series: Int, sizes: Int, ages: Float) -> tuple[Int, Records]:
        """Lay the windows of ``series`` end to end: (start of each, rows).

        ``sizes`` are windows in pairs, ``ages`` in seconds before the newest pair (inf for none).
        Every one of ``series`` must hold a pair.
        """
        counts = np.minimum(self._count[series], sizes)
        starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
        rows = self.rings.last(series, counts)
        if np.isfinite(ages).any():
            newest = rows["time"][starts + counts - 1]
            young = rows["time"] >= np.repeat(newest - ages, counts)
            counts = np.add.reduceat(young.astype(np.int64), starts)
            rows = rows[young]
            starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
        return starts, rows

    # -- inside -----------------------------------------------------------------------------

    def _recount(self, series: Int) -> None:
        """Count again the rows of each of ``series`` that its present epoch has."""
        held = self.rings.held[series]
        self._count[series] = held - self.rings.ranks(series, self._epoch[series])

    def _newest_or_none(self, series: Int) -> Float:
        """Event time of the newest pair in the window of each of ``series``, -inf if empty."""
        newest = self.newest(series)
        newest[np.isnan(newest)] = -np.inf
        return newest

    def _merge_ends(self, changes: GroupedChanges) -> Float:
        """Apply changes that touch older pairs; return since when each series changed.

        Where what changed is in the ring, its end is taken off and written again with the changes.
        """
        rings, series = self.rings, changes.series
        since = changes.rows["time"][changes.starts]
        held, truncated = rings.held[series], rings.truncated[series]
        size = held - rings.ranks(series, since)
        is_held = ~truncated | (size < held)
        size[~is_held] = 0
        ends = Ends(np.repeat(np.arange(series.size), size), rings.last(series, size))
        ends = ends_with(ends, changes)
        grown = np.bincount(ends.owners, minlength=series.size)
        is_held &= ~truncated | (held - size + grown >= self.size)
        is_held &= grown <= self.length
        rings.rewrite(series, size, ends, is_held)
        for at in np.flatnonzero(~is_held).tolist():
            first, stop = changes.starts[at], changes.starts[at] + changes.counts[at]
            since[at] = self._merge(int(series[at]), changes.rows[first:stop])
        self._recount(series)
        return since

    def _merge(self, series: int, changes: Records) -> float:
        """Apply changes that reach beyond a ring, or that empty it; return since when."""
        held, truncated = self.rings.rows(series), self.rings.truncated
        replaced = np.isin(held["id"], changes["id"])
        since = min(changes["time"].min(), held["time"][replaced].min(initial=np.inf))
        if truncated[series] and changes["removed"].any():
            since = -np.inf if not np.isin(changes["id"], held["id"]).all() else since
        standing = in_event_order(changes)
        if truncated[series]:  # of what is before the ring's first pair only the history has all
            time, identity = held["time"][0], held["id"][0]
            same_time = (standing["time"] == time) & (standing["id"] >= identity)
            standing = standing[(standing["time"] > time) | same_time]
        rows = np.concatenate([held[~replaced], window_rows(standing)])
        rows = rows[np.lexsort((rows["id"], rows["time"]))]
        if truncated[series] and rows.size < self.size:
            history = self._history(series)
            truncated[series] = history.size > self.length
            rows = window_rows(history)
        self.rings.write(series, rows)
        return float(since)


def _are_only_newer(changes: GroupedChanges, newest: Float, epochs: Float) -> Bool:
    """Whether all changes of each series are new pairs of its epoch after the newest it holds.

    ``newest`` and ``epochs`` as in :func:`without_passing`.
    """
    first, removed = changes.rows["time"][changes.starts], changes.rows["removed"]
    is_newer: Bool = (first > newest) & (first >= epochs)
    if removed.any():
        is_newer &= ~np.logical_or.reduceat(removed, changes.starts)
    return is_newer
