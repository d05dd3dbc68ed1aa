"""Cuts the pairs of many series into pieces for the detector, none of which crosses an epoch.

Rules of this file: an epoch begins before the first pair that is not older than it; epochs without
a pair between them are one. A piece has the next pairs of every series that has some left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Float, Int

_NEVER: Final = np.iinfo(np.int64).max
_EVEN: Final = 16  # pairs of a series that are worth a piece of their own


class SeriesCuts(NamedTuple):
    """The number of a series' pairs before each epoch, ascending, and the epoch's time, s."""

    ranks: Int
    times: Float

    def before(self, pairs: int) -> SeriesCuts:
        """Return the epochs that begin before the last of so many pairs."""
        if not self.ranks.size:
            return self
        is_before = self.ranks < pairs
        return SeriesCuts(self.ranks[is_before], self.times[is_before])


NO_CUTS: Final = SeriesCuts(np.zeros(0, dtype=np.int64), np.zeros(0))


class EpochPiece(NamedTuple):
    """First, epochs begin for the series at ``begins``, at some times; then pairs follow.

    The series at ``some`` have had ``done`` pairs each and get the next ``size`` of theirs.
    """

    begins: Int
    times: Float
    some: Int
    done: Int
    size: Int


def series_cuts(times: Float, epochs: Float) -> SeriesCuts:
    """Return where epochs, in their order, cut pairs at ``times``."""
    ranks, firsts = np.unique(np.searchsorted(times, epochs), return_index=True)
    return SeriesCuts(ranks, epochs[firsts])


def epoch_pieces(counts: Int, cuts: Sequence[SeriesCuts], most: int) -> Iterator[EpochPiece]:
    """Yield the pieces of series with so many pairs each, ``most`` pairs of each at a time."""
    width = 1 + max((each.ranks.size for each in cuts), default=0)
    ranks = np.full((counts.size, width), _NEVER)
    times = np.full((counts.size, width), np.nan)
    for at in [at for at, each in enumerate(cuts) if each.ranks.size]:
        each = cuts[at]
        ranks[at, : each.ranks.size], times[at, : each.ranks.size] = each
    every, passed = np.arange(counts.size), np.zeros(counts.size, dtype=np.int64)
    done = np.zeros(counts.size, dtype=np.int64)
    while True:
        begins = np.flatnonzero(ranks[every, passed] == done)
        began = times[begins, passed[begins]]
        passed[begins] += 1
        some = np.flatnonzero(done < counts)
        if not begins.size and not some.size:
            return
        until = np.minimum(counts[some], ranks[some, passed[some]])
        size = np.minimum(until - done[some], most)
        if size.size:  # pieces of equal length are cheapest for the detector
            size = np.minimum(size, max(_EVEN, int(np.median(size))))
        yield EpochPiece(begins, began, some, done[some], size)
        done[some] += size
