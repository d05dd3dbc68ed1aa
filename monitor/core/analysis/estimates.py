"""Offset, gain and spread of one series' pairs as a whole, each with its 95 % interval.

Rankings and adjustments choose from these; verdicts on a sensor come from ``core.verdict``.
docs/detection.md derives the intervals and says how often they hold.
"""

from __future__ import annotations

import numpy as np
import scipy

from monitor.core.columns import Columns
from monitor.core.model import Float
from monitor.core.verdict.verdict import LEVEL, NOTHING, Estimate


def share_independent(rho: float) -> tuple[float, float]:
    """Return the worth of an autocorrelated pair as a share of one, for a mean and a variance.

    AR(1): (1 - rho) / (1 + rho) and (1 - rho^2) / (1 + rho^2) (Bayley, Hammersley 1946).
    """
    return (1.0 - rho) / (1.0 + rho), (1.0 - rho * rho) / (1.0 + rho * rho)


def share_for_product(a: Float, b: Float) -> float:
    """Return the worth of a pair as a share of one, for the correlation of ``a`` with ``b``.

    AR(1) in both: (1 - rho_a rho_b) / (1 + rho_a rho_b) (Bartlett 1935), with the lag-1
    correlations of the rows given, at least 0.
    """
    product = lag_one(a) * lag_one(b)
    return (1.0 - product) / (1.0 + product)


def lag_one(rows: Float) -> float:
    """Return the lag-1 correlation of ``rows``, 0 where it is negative or not defined."""
    centred = rows - rows.mean()
    square = float((centred * centred).sum())
    return max(0.0, float((centred[1:] * centred[:-1]).sum()) / square) if square > 0.0 else 0.0


def mean_offset(error: Float, u: Float, rho: float) -> Estimate:
    """Return the u-weighted mean of ``error`` with a t interval on n_eff pairs, in its unit."""
    if error.size == 0:
        return NOTHING
    weight = 1.0 / (u * u)
    value = float((weight * error).sum() / weight.sum())
    n_eff = error.size * share_independent(rho)[0]
    if error.size < 2 or n_eff <= 1.0:
        return Estimate(value, np.nan, np.nan)
    spread = float((weight * (error - value) ** 2).sum() / weight.sum()) / (1.0 - 1.0 / n_eff)
    half = float(scipy.special.stdtrit(n_eff - 1.0, 0.5 + 0.5 * LEVEL)) * np.sqrt(spread / n_eff)
    return Estimate(value, value - half, value + half)


def spread_factor(z: Float, rho: float) -> Estimate:
    """Return the factor by which u is too small once the offset is removed: sd of ``z``.

    The interval is log-normal with the kurtosis of z: var(ln s) = (kurtosis - 1) / (4 n). It is
    too short for heavy tails and few pairs (85 % instead of 95 % for t4): BCa stands beside it.
    """
    n_eff = z.size * share_independent(rho)[1]
    if z.size < 2 or n_eff <= 2.0:
        return NOTHING
    centred = z - z.mean()
    variance = float((centred**2).mean())
    if variance <= 0.0:
        return Estimate(0.0, 0.0, 0.0)
    kurtosis = max(float((centred**4).mean()) / variance**2, 1.5)
    factor = float(np.sqrt(variance * z.size / (z.size - 1)))
    half = float(scipy.special.stdtrit(n_eff - 1.0, 0.5 + 0.5 * LEVEL)) * np.sqrt(
        (kurtosis - 1.0) / (4 * n_eff)
    )
    return Estimate(factor, factor * float(np.exp(-half)), factor * float(np.exp(half)))


def on_stated(factor: Estimate, c: Columns) -> Estimate:
    """Return the factor on the stated u that makes u_eff ``factor`` times as large, at least 0.

    What the reference is uncertain by stays: k'^2 u^2 + u_ref^2 = k^2 (u^2 + u_ref^2), on average.
    """
    all_of, of_reference = float(c.variance.mean()), float(c.u_ref_square.mean())
    own = all_of - of_reference
    return Estimate(
        *(float(np.sqrt(max(k * k * all_of - of_reference, 0.0) / own)) for k in factor)
    )


def fitted_gain(error: Float, reference: Float, u_ref: Float) -> Estimate:
    """Return the gain of value on reference: 1 plus the slope of ``error`` on ``reference``.

    The reference's own error subtracts u_ref^2 from that covariance and adds it to the reference's
    variance; both are corrected (errors in variables: Fuller 1987). The size of the sensor's own
    errors does not matter.
    """
    if error.size < 3:
        return NOTHING
    centred, own = reference - reference.mean(), float((u_ref * u_ref).mean())
    signal = float((centred**2).mean()) - own
    if signal <= 0.0:
        return NOTHING
    slope = (float((centred * error).mean()) + own) / signal
    left = error - error.mean() - slope * centred
    n_eff = error.size * share_for_product(reference, error)
    half = (
        float(scipy.special.ndtri(0.5 + 0.5 * LEVEL)) * float(left.std()) / np.sqrt(n_eff * signal)
    )
    return Estimate(1.0 + slope, 1.0 + slope - half, 1.0 + slope + half)
