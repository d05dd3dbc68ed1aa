"""Changes of pairs grouped by series, and the end of a window with some of them merged in.

Rules of this file: the net effect of changes depends only on them and on the pairs they are applied
to; a pair that was added and removed between two applications leaves nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.core.model import Bool, Float, Int, Records, net_order, some_rows
from monitor.core.windows.rings import window_rows


class GroupedChanges(NamedTuple):
    """Changes of pairs in the order (series, time, id): the series, their first rows, the rows."""

    series: Int
    starts: Int
    rows: Records

    @property
    def counts(self) -> Int:
        """How many rows there are of each series."""
        return np.diff(self.starts, append=self.rows.size)

    def of(self, which: Bool) -> GroupedChanges:
        """Return those of some of the series."""
        return grouped(some_rows(self.rows, np.flatnonzero(np.repeat(which, self.counts))))


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
    return GroupedChanges(names[starts], starts, ordered)


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
    kept = ~replaced[: held.owners.size]
    stands = ~changes.rows["removed"]
    rows = np.concatenate([held.rows[kept], window_rows(changes.rows[stands])])
    of = np.concatenate([held.owners[kept], owners[stands]])
    order = np.lexsort((rows["id"], rows["time"], of))
    return Ends(of[order], rows[order])
