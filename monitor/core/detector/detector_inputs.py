"""The detector's input: each pair's z and what is stated, or a code where only intervals are.

Rules of this file: the first pair of a series chooses its bets and, from the declared systematic
effects, their share of its uncertainty. Both depend on that pair alone and do not change later. A
piece has the next pairs of every series that has some left, and none crosses an epoch, which begins
before the first pair that is not older than it; epochs without a pair between them are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from monitor.core.columns import Columns
from monitor.core.detector.e_values import COVERAGE, Z, coverage_code
from monitor.core.detector.usual_u import Inputs, StatedColumns
from monitor.core.model import Float, Int, Records
from monitor.core.pairing.series_rules import SeriesRules, explained


class ChosenBets(NamedTuple):
    """The bets on each of some series, Z or COVERAGE, and its systematic share."""

    path: npt.NDArray[Any]
    systematic: Float


class DetectorInputs:
    """``complete(series, starts, rows)`` makes rows of windows columns, ``rules`` are by series."""

    def __init__(
        self, complete: Callable[[Int, Int, Records], Columns], rules: Sequence[SeriesRules]
    ) -> None:
        self._complete: Final = complete
        self._rules: Final = rules

    def chosen(self, series: Int, first: Records) -> ChosenBets:
        """Return the bets on ``series`` by the first row of each, whose u may be NaN."""
        path = np.where(np.isnan(first["u"]), COVERAGE, Z).astype(np.int8)
        shares = np.zeros(series.size)
        for at, row in enumerate(series.tolist()):
            if self.is_declared(row):
                shares[at] = self.share(row, first[at : at + 1])
        return ChosenBets(path, shares)

    def is_declared(self, row: int) -> bool:
        """Return whether systematic effects are declared for a series."""
        return self._rules[row].systematic.is_declared

    def share(self, row: int, first: Records) -> float:
        """Return the systematic share of a series' uncertainty by its first row, 0 without one."""
        if not first.size or not self.is_declared(row):
            return 0.0
        one = self._complete(np.array([row]), np.zeros(1, np.int64), first)
        return float(self._rules[row].systematic.share_of(one.u, one.u_ref)[0])

    def of(self, series: Int, starts: Int, rows: Records, bets: ChosenBets) -> Inputs:
        """Return the input for the pairs of ``rows``."""
        complete = self._complete(series, starts, rows)
        covers = bets.path == COVERAGE
        if not covers.any():
            return Inputs(complete.z, StatedColumns(complete.u_eff, complete.value))
        lower, upper = complete.widened
        if bets.systematic.any():
            most = complete.times(complete.u_eff, explained(bets.systematic))
            lower, upper = lower - most, upper + most
        codes = coverage_code(complete.reference, lower, upper, complete.alpha)
        covers = np.repeat(covers, complete.counts)
        stated = StatedColumns(
            np.where(covers, 1.0, complete.u_eff), np.where(covers, 0.0, complete.value)
        )
        return Inputs(np.where(covers, codes, complete.z), stated)


_NEVER: Final = np.iinfo(np.int64).max
_LONG: Final = 512  # pairs of a series that are taken at once
_SHORT: Final = 32  # where checkpoints are to be close together: among the last ones
_END: Final = 256
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


def epoch_pieces(counts: Int, cuts: Sequence[SeriesCuts]) -> Iterator[EpochPiece]:
    """Yield the pieces of series with so many pairs each; towards their end pieces are short."""
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
        last = counts[some] - _END
        most = np.where(done[some] < last, np.minimum(last - done[some], _LONG), _SHORT)
        until = np.minimum(counts[some], ranks[some, passed[some]])
        size = np.minimum(until - done[some], most)
        if size.size:  # pieces of equal length are cheapest for the detector
            size = np.minimum(size, max(_EVEN, int(np.median(size))))
        yield EpochPiece(begins, began, some, done[some], size)
        done[some] += size
