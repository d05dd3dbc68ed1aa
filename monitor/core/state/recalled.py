"""All pairs that a journal restores at a start, by series, and the parts that a start needs.

Rules of this file: pairs stay in the order of their changes, and only positions are sorted; what is
needed is copied portion by portion, so that all pairs are in memory only once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from monitor.core.model import Float, Int, Records, in_portions, some_rows
from monitor.core.windows.series_rings import grouped


class Recalled:
    """The pairs at the places ``standing``, in event order, among all changes of ``pairs``.

    ``series`` are those that have any, ascending.
    """

    def __init__(self, pairs: Records, standing: Int) -> None:
        self._pairs: Final = pairs
        self._standing: Final = standing
        names = pairs["series"][standing]
        edges = np.flatnonzero(names[1:] != names[:-1]) + 1
        self._starts: Final[Int] = np.append(0, edges)[: names.size]
        self._stops: Final[Int] = np.append(edges, names.size)[: names.size]
        self.series: Final[Int] = names[self._starts]

    @property
    def counts(self) -> Int:
        """How many pairs each of the series has."""
        return self._stops - self._starts

    def of(self, row: int) -> Records:
        """Return all pairs of one series."""
        return some_rows(self._pairs, self._standing[self._within(row)])

    def late(self) -> Int:
        """Return the series whose pairs did not come in event order."""
        is_late = self._standing[1:] < self._standing[:-1]
        is_late[self._starts[1:] - 1] = False
        of = np.searchsorted(self._starts, np.flatnonzero(is_late), side="right") - 1
        return self.series[np.unique(of)]

    def up_to(self, row: int, time: float, number: int) -> int:
        """Return how many pairs of a series there are up to (time, id)."""
        return bisect_right(
            self._standing[self._within(row)],
            (time, number),
            key=lambda place: self._pairs[["time", "id"]][place].item(),
        )

    def ends(self, most: int) -> Iterator[tuple[Records, Float]]:
        """Yield the last pairs of each series, so many at most, and the time of its first one."""
        firsts = self._pairs["time"][self._standing[self._starts]]
        for portion in self._from(np.maximum(self._stops - most, self._starts)):
            series, *_ = grouped(portion)
            yield portion, firsts[np.searchsorted(self.series, series)]

    def without(self, series: Int) -> Iterator[Records]:
        """Yield the pairs of all other series."""
        is_other = ~np.isin(self.series, series)
        yield from self._from(np.where(is_other, self._starts, self._stops))

    def parts(self, ranks: Mapping[int, int], most: int) -> Iterator[Records]:
        """Yield the pairs of some series from a rank on each: of several series at a time."""
        own = np.array([ranks.get(row, -1) for row in self.series.tolist()], dtype=np.int64)
        yield from self._from(np.where(own < 0, self._stops, self._starts + own), most)

    # -- inside -----------------------------------------------------------------------------

    def _within(self, row: int) -> slice:
        at = int(np.searchsorted(self.series, row))
        if at == self.series.size or self.series[at] != row:
            return slice(0, 0)
        return slice(int(self._starts[at]), int(self._stops[at]))

    def _from(self, starts: Int, *most: int) -> Iterator[Records]:
        """Yield the pairs of each series from a place on, in portions of whole series."""
        sizes = self._stops - starts
        places = np.arange(sizes.sum()) + np.repeat(self._stops - np.cumsum(sizes), sizes)
        return in_portions(self._pairs, self._standing[places], *most)
