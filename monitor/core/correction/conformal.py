"""Intervals of readings that hold their level whatever the errors do.

Rules of this file: the interval of a reading is value -+ factor * u. The factor follows the pairs
in event order: up by exp(step * level) after a miss, down by exp(step * (1 - level)) after a hit.
So over any run of W pairs the share of misses is 1 - level + log(factor after / factor before) /
(step * W), exactly, unless the factor reached a limit. No assumption about the errors is used.

Sources: Gibbs, Candes, NeurIPS 34 (2021) (adaptive conformal inference); Angelopoulos, Candes,
Tibshirani, NeurIPS 36 (2023) (quantile tracking), here on the logarithm of the factor.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import scipy

from monitor.core.model import Float

# Within 2 % of the level over any 1000 pairs in which the factor changes less than exp(2) = 7.4
# times; a smaller step follows jumps too slowly, a larger one makes the width fluctuate more.
FACTOR_STEP: Final = 0.1
_LOG_FACTOR_MOST: Final = float(np.log(1e6))


class TrackedFactors(NamedTuple):
    """Logarithms of the factors: ``before`` each pair [series, pairs] and ``after`` all [series].

    ``before`` is NaN where there is no pair.
    """

    before: Float
    after: Float


def first_log_factors(series: int, level: float) -> Float:
    """Return the first factors [series]: the quantile of the normal with standard deviation u.

    Raises:
        ValueError: if ``level`` is not between 0 and 1.
    """
    _check_level(level)
    return np.full(series, np.log(scipy.special.ndtri(0.5 + 0.5 * level)))


def track_factors(log_factor: Float, ratio: Float, level: float) -> TrackedFactors:
    """Return the factors before each of some pairs in event order, and those after the last.

    Args:
        log_factor: of each series before its first pair [series].
        ratio: abs(value - reference) / u of each pair [series, pairs]; NaN where there is no pair,
            and where u is 0 and no factor helps.
        level: share of references that intervals are to contain, between 0 and 1.

    Pairs may come in any pieces: the factors are the same bits.

    Raises:
        ValueError: if ``level`` is not between 0 and 1.
    """
    _check_level(level)
    now = np.array(log_factor, dtype=np.float64)
    before = np.full(ratio.shape, np.nan)
    up, down = FACTOR_STEP * level, FACTOR_STEP * (1.0 - level)
    for k in range(ratio.shape[1]):
        some = ~np.isnan(ratio[:, k])
        before[some, k] = now[some]
        moved = np.where(ratio[:, k] > np.exp(now), now + up, now - down)
        now = np.where(some, np.clip(moved, -_LOG_FACTOR_MOST, _LOG_FACTOR_MOST), now)
    return TrackedFactors(before, now)


def _check_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be between 0 and 1, not {level}")
