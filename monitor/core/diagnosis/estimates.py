"""How large a fault is: pure functions of one series' pairs, each estimate with its 95 % interval.

docs/detection.md derives the intervals and says how often they hold.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import scipy

from monitor.core.diagnosis.segments import share_for_product, share_independent
from monitor.core.model import Float

LEVEL: Final = 0.95


class Estimate(NamedTuple):
    """A number with its 95 % interval; NaN where it is not defined."""

    value: float
    lower: float
    upper: float


UNKNOWN: Final = Estimate(np.nan, np.nan, np.nan)


class Diagnosis(NamedTuple):
    """A fault by its label in ``FAULTS``, or "unclear", with its size.

    ``estimate`` is what the fault's entry says of it. ``since`` counts in the pairs given;
    ``pairs`` are those from there on. ``provisional`` until 20 pairs after the alarm. ``besides``
    is what else is clear: a wrong uncertainty beside an offset, or an offset beside a wrong
    uncertainty. ``fading``: it fired, and the interval of its size no longer says so; ``hinted``:
    it has not fired, and the interval does not say so yet.
    """

    label: str
    estimate: Estimate
    since: int
    pairs: int
    provisional: bool
    besides: Diagnosis | None = None
    fading: bool = False
    hinted: bool = False


def offset(error: Float, u: Float, rho: float) -> Estimate:
    """Return the u-weighted mean of ``error`` with a t interval on n_eff pairs, in its unit."""
    if error.size == 0:
        return UNKNOWN
    weight = 1.0 / (u * u)
    value = float((weight * error).sum() / weight.sum())
    n_eff = error.size * share_independent(rho)[0]
    if error.size < 2 or n_eff <= 1.0:
        return Estimate(value, np.nan, np.nan)
    spread = float((weight * (error - value) ** 2).sum() / weight.sum()) / (1.0 - 1.0 / n_eff)
    half = float(scipy.special.stdtrit(n_eff - 1.0, 0.5 + 0.5 * LEVEL)) * np.sqrt(spread / n_eff)
    return Estimate(value, value - half, value + half)


def spread_factor(z: Float, rho: float) -> Estimate:
    """Return by what factor u is too small once the offset is removed: sd of ``z``.

    The interval is log-normal with the kurtosis of z: var(ln s) = (kurtosis - 1) / (4 n). It is
    too short for heavy tails and few pairs (85 % instead of 95 % for t4): BCa stands beside it.
    """
    n_eff = z.size * share_independent(rho)[1]
    if z.size < 2 or n_eff <= 2.0:
        return UNKNOWN
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


def share(hits: int, n: int) -> Estimate:
    """Return a share of ``n`` pairs with its exact interval (Clopper, Pearson 1934)."""
    if n == 0:
        return UNKNOWN
    tail = 0.5 - 0.5 * LEVEL
    lower = float(scipy.special.betaincinv(hits, n - hits + 1, tail)) if hits else 0.0
    upper = float(scipy.special.betaincinv(hits + 1, n - hits, 1.0 - tail)) if hits < n else 1.0
    return Estimate(hits / n, lower, upper)


def gain(error: Float, reference: Float, u_ref: Float) -> Estimate:
    """Return the gain of value on reference: 1 plus the slope of ``error`` on ``reference``.

    The reference's own error takes u_ref^2 off that covariance and adds it to the reference's
    variance; both are put right (errors in variables: Fuller 1987). How large the sensor's own
    errors are does not matter.
    """
    if error.size < 3:
        return UNKNOWN
    centred, own = reference - reference.mean(), float((u_ref * u_ref).mean())
    signal = float((centred**2).mean()) - own
    if signal <= 0.0:
        return UNKNOWN
    slope = (float((centred * error).mean()) + own) / signal
    left = error - error.mean() - slope * centred
    n_eff = error.size * share_for_product(reference, error)
    half = (
        float(scipy.special.ndtri(0.5 + 0.5 * LEVEL)) * float(left.std()) / np.sqrt(n_eff * signal)
    )
    return Estimate(1.0 + slope, 1.0 + slope - half, 1.0 + slope + half)
