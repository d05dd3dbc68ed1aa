"""The same pairs by the conventions of metrology and of laboratories.

Rules of this file: pure functions of columns, no alarm of their own: each limit is meant for one
look, and applied at every pair it raises false alarms by design (docs/evidence/detection.md has how
often). En: ISO/IEC 17043; zeta and its bands: ISO 13528; rules and chart: Westgard et al. 1981,
Levey, Jennings 1950, with the standard deviation that each pair states for the chart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from monitor.core.columns import Columns
from monitor.core.model import Bool, Float
from monitor.core.scores.proper_scores import Rows

COVERAGE_FACTOR: Final = 2.0  # of the expanded uncertainties in En
WARNING: Final = 2.0
ACTION: Final = 3.0
EN_EXPECTED: Final = 0.0455  # share of honest normal |En| > 1 at k = 2


def en(c: Columns) -> Float:
    """Return En of each pair, error / sqrt(U^2 + U_ref^2) with U = 2 u; |En| > 1 is a failure."""
    return c.z / COVERAGE_FACTOR


def performance_bands(c: Columns) -> tuple[Bool, Bool]:
    """Return which pairs are in ISO 13528's warning band (2 < |zeta| <= 3) and action band."""
    size = np.abs(c.z)
    return (size > WARNING) & (size <= ACTION), size > ACTION


def _in_series(c: Columns, back: int) -> Bool:
    """Whether each pair has a pair of its own series ``back`` places before it."""
    place = np.arange(c.z.size) - np.repeat(c.starts, c.counts)
    before: Bool = place >= back
    return before


def _one_beyond(limit: float) -> Callable[[Columns], Bool]:
    return lambda c: np.abs(c.z) > limit


def _run(count: int, limit: float) -> Callable[[Columns], Bool]:
    """Return the rule of ``count`` pairs in a row beyond a limit on one side."""

    def violated(c: Columns) -> Bool:
        flags = np.zeros(c.z.size, np.bool_)
        for side in (c.z, -c.z):
            beyond = side > limit
            all_of_them = beyond.copy()
            for back in range(1, count):
                all_of_them[back:] &= beyond[:-back]
            flags |= all_of_them
        return flags & _in_series(c, count - 1)

    return violated


def _range(c: Columns) -> Bool:
    """Return where a pair and the one before it are beyond 2 on opposite sides."""
    flags = np.zeros(c.z.size, np.bool_)
    high, low = c.z > WARNING, c.z < -WARNING
    flags[1:] = (high[1:] & low[:-1]) | (low[1:] & high[:-1])
    return flags & _in_series(c, 1)


WESTGARD: Final[Mapping[str, Callable[[Columns], Bool]]] = {
    "1_2s": _one_beyond(2.0),
    "1_3s": _one_beyond(3.0),
    "2_2s": _run(2, 2.0),
    "R_4s": _range,
    "4_1s": _run(4, 1.0),
    "10_x": _run(10, 0.0),
}


def violations(c: Columns, rule: str) -> Bool:
    """Return the pairs at which a rule of Westgard is violated, that pair being the last of it."""
    return WESTGARD[rule](c)


def _last(c: Columns, rows: Float | Bool) -> Float:
    return rows[c.starts + c.counts - 1].astype(np.float64)


def en_last(c: Columns) -> Float:
    """|En| of the last pair."""
    return np.abs(_last(c, en(c)))


def en_ratio(c: Columns) -> Float:
    """Share of the pairs with |En| > 1."""
    return c.mean((np.abs(en(c)) > 1.0).astype(np.float64))


def zeta_last(c: Columns) -> Float:
    """|zeta| of the last pair."""
    return np.abs(_last(c, c.z))


def zeta_action_ratio(c: Columns) -> Float:
    """Share of the pairs in the action band."""
    return c.mean(performance_bands(c)[1].astype(np.float64))


def violated_last(rule: str) -> Rows:
    """Return the statistic that is 1 where the last pair violates a rule of Westgard, else 0."""
    return lambda c: _last(c, violations(c, rule))
