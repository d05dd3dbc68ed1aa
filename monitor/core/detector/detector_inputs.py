"""The detector's input: z of each pair, or a code for sensors that state only intervals.

Rules of this file: the first pair of a series chooses its bets and, from the declared systematic
effects, their share of its uncertainty. Both depend on that pair alone and do not change later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from monitor.core.columns import Columns
from monitor.core.detector.e_values import COVERAGE, Z, coverage_code
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
        return any(self._rules[row].systematic)

    def share(self, row: int, first: Records) -> float:
        """Return the systematic share of a series' uncertainty by its first row, 0 without one."""
        if not first.size or not self.is_declared(row):
            return 0.0
        one = self._complete(np.array([row]), np.zeros(1, np.int64), first)
        return float(self._rules[row].systematic.share_of(one.u, one.u_ref)[0])

    def of(self, series: Int, starts: Int, rows: Records, bets: ChosenBets) -> Float:
        """Return z, or for interval-only sensors the code of where the reference fell."""
        complete = self._complete(series, starts, rows)
        covers = bets.path == COVERAGE
        if not covers.any():
            return complete.z
        lower, upper = complete.widened
        if bets.systematic.any():
            most = complete.times(complete.u_eff, explained(bets.systematic))
            lower, upper = lower - most, upper + most
        codes = coverage_code(complete.reference, lower, upper, complete.alpha)
        return np.where(np.repeat(covers, complete.counts), codes, complete.z)
