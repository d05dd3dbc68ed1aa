"""From rows to one number a series: mean, median, trimmed mean, ratio to the expected score.

Rules of this file: each function takes rows (``f(Columns) -> one number a pair``) and returns a
statistic (``f(Columns) -> one number a series``); what two statistics share is computed once.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from monitor.core.columns import Columns, ratio
from monitor.core.model import Float
from monitor.core.scores import proper_scores
from monitor.core.scores.proper_scores import Rows

QUADRATIC_EXPECTED: Final = (
    proper_scores.quadratic_normal_expected,
    proper_scores.quadratic_tophat_expected,
)


def mean_of(rows: Rows) -> Rows:
    """Return the statistic that is the mean of ``rows``."""

    def mean(c: Columns) -> Float:
        return c.mean(c.once(rows))

    return mean


def sorted_of(rows: Rows) -> Rows:
    """Return the rows, ascending within each series, as a grid."""

    def ascending(c: Columns) -> Float:
        return np.sort(c.grid(c.once(rows)), axis=1)

    return ascending


def middle_of(ascending: Rows) -> Rows:
    """Return the statistic that is the median, given the sorted grid."""

    def median(c: Columns) -> Float:
        grid, line = c.once(ascending), np.arange(c.starts.size)
        lower, upper = grid[line, (c.counts - 1) // 2], grid[line, c.counts // 2]
        return np.asarray(0.5 * (lower + upper))

    return median


def trimmed_of(ascending: Rows, share: float = 0.1) -> Rows:
    """Return the statistic that is the mean without ``share`` of the pairs at each end."""

    def trimmed(c: Columns) -> Float:
        grid = c.once(ascending)
        cut = np.floor(share * c.counts).astype(np.int64)
        place = np.arange(grid.shape[1])
        kept = (place >= cut[:, None]) & (place < (c.counts - cut)[:, None])
        flat: Float = np.where(kept, grid, 0.0).reshape(-1)
        rows = flat if c.equal_counts else flat[c.cells]
        return np.asarray(c.sum(rows) / (c.counts - 2 * cut))

    return trimmed


def expected_ratio_of(rows: Rows, expected: Rows) -> Rows:
    """Return the statistic 1 + (S - E)/|E|, S the mean score and E its mean under the claim.

    1 where the sensor keeps its claim, above 1 where it is worse, whichever the sign of the score:
    S/E for a score above zero, 2 - S/E for the quadratic score, whose expectation is below zero.
    NaN where E does not have that sign: with a reference so uncertain that the expected quadratic
    score is not below zero, chance would be divided by nearly nothing.
    """
    sign = -1.0 if expected in QUADRATIC_EXPECTED else 1.0

    def expected_ratio(c: Columns) -> Float:
        return (1.0 - sign) + ratio(c.mean(c.once(rows)), sign * c.mean(c.once(expected)))

    return expected_ratio


def log_finite_mean(c: Columns) -> Float:
    """Mean log score of the top hat over the hits; NaN if there are none."""
    rows = c.once(proper_scores.log_tophat)
    finite = np.isfinite(rows)
    return ratio(c.sum(np.where(finite, rows, 0.0)), c.sum(finite.astype(np.float64)))


def log_infinite_count(c: Columns) -> Float:
    """Count of infinite log scores of the top hat: the misses."""
    return c.sum(np.isinf(c.once(proper_scores.log_tophat)).astype(np.float64))


def crps_stated(c: Columns) -> Float:
    """Mean CRPS of the stated distributions; NaN if there are none."""
    if c.stated_crps is None:
        return np.full(c.starts.size, np.nan)
    stated = np.isfinite(c.stated_crps)
    total = c.sum(np.where(stated, c.stated_crps, 0.0))
    return ratio(total, c.sum(stated.astype(np.float64)))
