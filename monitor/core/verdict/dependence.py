"""How many independent pairs autocorrelated ones are worth."""

from __future__ import annotations

from typing import Final

import numpy as np

from monitor.core.model import Float
from monitor.core.verdict.neighbours import median

RHO_MAX: Final = 0.95
_PRIOR_PAIRS: Final = 20.0
_BLOCKS: Final = 12
_FAR: Final = 4.0


def rho_of_differences(error: Float, s: Float) -> float:
    """Return the lag-1 autocorrelation from differences: neither jumps nor ramps pass for it.

    For an AR(1), the mean squares of the differences at lag 2 and lag 1 are in the ratio 1 + rho.
    Errors with stated uncertainties ``s`` that vary are scaled only once their level is gone.
    """
    if error.size < 4:
        return 0.0
    one, two = (_mean_square(error[k:] - error[:-k], s[k:], s[:-k]) for k in (1, 2))
    if one <= 0.0:
        return 0.0
    pairs = error.size - 2.0
    shrunk = (two / one - 1.0) * pairs / (pairs + _PRIOR_PAIRS)
    return float(np.clip(shrunk, 0.0, RHO_MAX))


def _mean_square(step: Float, one: Float, other: Float) -> float:
    """Return the mean square of steps over their uncertainty, jumps pulled in."""
    scaled = np.abs(step) / np.hypot(one, other)
    most = _FAR * 1.4826 * median(scaled)
    return float(np.mean(np.minimum(scaled, most) ** 2 if most > 0.0 else scaled**2))


def lag_one(rows: Float) -> float:
    """Return the lag-1 autocorrelation of ``rows`` about their mean, from 0 to 0.95."""
    if rows.size < 4:
        return 0.0
    centred = rows - rows.mean()
    square = float(centred @ centred)
    if square <= 0.0:
        return 0.0
    return float(np.clip(float(centred[1:] @ centred[:-1]) / square, 0.0, RHO_MAX))


def inflation(rho: float) -> float:
    """Return by what autocorrelation multiplies the variance of a mean."""
    return (1.0 + rho) / (1.0 - rho)


def inflation_of_squares(rho: float) -> float:
    """Return by what autocorrelation multiplies the variance of a mean square."""
    return (1.0 + rho * rho) / (1.0 - rho * rho)


def long_inflation(rows: Float) -> float:
    """Return by what dependence multiplies the variance of the mean of ``rows``, at any scale.

    The variance of means of blocks of 1, 2, 4 ... pairs, as long as there are twelve of them; the
    largest counts.
    """
    rows = rows - rows.mean()
    single = float(rows @ rows) / max(rows.size - 1, 1)
    most, size = 1.0, 2
    while single > 0.0 and rows.size // size >= _BLOCKS:
        blocks = rows.size // size
        means = rows[: blocks * size].reshape(blocks, size).mean(axis=1)
        found = size * float(means @ means) / (blocks - 1) / single
        most = max(most, found)
        size *= 2
    return most
