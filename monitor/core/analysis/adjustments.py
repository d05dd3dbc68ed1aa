"""Adjustments that would improve a series: offset, gain and scale of u, each by a named method.

Rules of this file: one series at a time; a method sees only the pairs it is given. An adjustment is
a suggestion with a 95 % interval, which docs/evidence/detection.md derives, and is applied only to
copies; verdicts come from ``core.verdict``. Dependent pairs count for less (``rho`` is the lag-1
correlation of z).

Sources: Pernot (arXiv 2402.10043v2) (sigma scaling; bin-wise variance scaling), Navratil et al.
(arXiv 2106.00858) (optimum and calibration of the scale), Woodruff, JASA 47 (1952) (interval of a
quantile).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import scipy

from monitor.core.columns import Columns, coverage_factor
from monitor.core.model import NAN, Float
from monitor.core.scores.bins import (
    BINS,
    bin_starts,
    binned_zms,
    order_by_u,
)
from monitor.core.scores.calibration import z_lag1, zms
from monitor.core.scores.characteristics import bands, scale_for_level, scale_optimal
from monitor.core.scores.curves import additive_for_level
from monitor.core.scores.intervals import Interval, zms_interval
from monitor.core.verdict.verdict import LEVEL, NOTHING, Estimate
from monitor.core.verdict.weights import usual_u


def share_independent(rho: float) -> tuple[float, float]:
    """Return the worth of an autocorrelated pair as a share of one, for a mean and a variance.

    AR(1): (1 - rho) / (1 + rho) and (1 - rho^2) / (1 + rho^2) (Bayley, Hammersley 1946).
    """
    return (1.0 - rho) / (1.0 + rho), (1.0 - rho * rho) / (1.0 + rho * rho)


def _share_for_product(a: Float, b: Float) -> float:
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
    """Return the mean of ``error`` weighted by 1/u^2, with a t interval on n_eff pairs.

    Its standard error is that of the errors as they are, whatever u says of them (White 1980).
    """
    if error.size == 0:
        return NOTHING
    weight = 1.0 / (u * u)
    weight /= weight.sum()
    value = float((weight * error).sum())
    n_eff = error.size * share_independent(rho)[0]
    if error.size < 2 or n_eff <= 1.0:
        return Estimate(value, np.nan, np.nan)
    spread = float(((weight * (error - value)) ** 2).sum()) * error.size / (1.0 - 1.0 / n_eff)
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


def factor_on_u(factor: Estimate, c: Columns) -> Estimate:
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
    variance; both are corrected (errors in variables: Fuller 1987). The t interval holds whether or
    not errors grow with the level, and allows for levels that count for much (HC3: MacKinnon and
    White 1985).
    """
    if error.size < 3:
        return NOTHING
    centred, own = reference - reference.mean(), float((u_ref * u_ref).mean())
    square = centred * centred
    signal = float(square.mean()) - own
    if signal <= 0.0:
        return NOTHING
    slope = (float((centred * error).mean()) + own) / signal
    n_eff = error.size * _share_for_product(reference, error)
    if n_eff <= 2.0:
        return Estimate(1.0 + slope, np.nan, np.nan)
    leverage = 1.0 / error.size + square / square.sum()
    left = (error - error.mean() - slope * centred) / np.maximum(1.0 - leverage, 1.0 / error.size)
    spread = float((square * left * left).mean()) / n_eff
    half = float(scipy.special.stdtrit(n_eff - 2.0, 0.5 + 0.5 * LEVEL)) * np.sqrt(spread) / signal
    return Estimate(1.0 + slope, 1.0 + slope - half, 1.0 + slope + half)


# An addend leaves at least this share of each u.
LEAST_LEFT: Final = 0.01


class Adjustment(NamedTuple):
    """value' = (value - offset)/gain, half-widths' = scale half-widths/gain + addend, u alike.

    ``scales`` has one factor, or one for each bin of the stated u, cut at ``edges`` (the least u of
    each bin but the first). ``offset`` and ``addend`` are in the series' unit.
    """

    offset: float = 0.0
    gain: float = 1.0
    scales: tuple[float, ...] = (1.0,)
    edges: tuple[float, ...] = ()
    addend: float = 0.0

    @property
    def usable(self) -> bool:
        """Whether the adjustment is defined and leaves uncertainties above zero."""
        numbers = (self.offset, self.gain, *self.scales, self.addend)
        return bool(np.isfinite(numbers).all()) and self.gain > 0.0 and min(self.scales) > 0.0


def applied(c: Columns, adjustment: Adjustment) -> Columns:
    """Return the pairs as they would have been with the adjustment."""
    offset, gain, scales, edges, addend = adjustment
    factor = np.array(scales)[np.searchsorted(np.array(edges), c.told_u, side="right")] / gain
    value = (c.value - offset) / gain
    below, above = factor * (c.value - c.lower), factor * (c.upper - c.value)
    widened = [half + np.maximum(addend, (LEAST_LEFT - 1.0) * half) for half in (below, above)]
    u = factor * c.u
    return replace(
        c,
        value=value,
        u=u + np.maximum(addend / coverage_factor(c.p), (LEAST_LEFT - 1.0) * u),
        lower=value - widened[0],
        upper=value + widened[1],
    )


def _offset(c: Columns) -> Adjustment:
    return Adjustment(offset=_mean_offset(c, 0.0).value)


def _mean_offset(c: Columns, rho: float) -> Estimate:
    return mean_offset(c.error, usual_u(c.u_eff, c.value, c.reference), rho)


def unweighted_offset(c: Columns) -> Estimate:
    """Return the plain mean of the errors, each pair alike, with its interval."""
    return mean_offset(c.error, np.ones(c.error.size), lag_one(c.error))


def _gain(c: Columns) -> Adjustment:
    gain = _gain_estimate(c).value
    return Adjustment(offset=float(c.value.mean() - gain * c.reference.mean()), gain=gain)


def _gain_estimate(c: Columns) -> Estimate:
    return fitted_gain(c.error, c.reference, c.u_ref)


def _scale(c: Columns) -> Adjustment:
    return Adjustment(scales=(_on_u(float(zms(c)[0]), c),))


def _both(c: Columns) -> Adjustment:
    offset = _offset(c).offset
    off = (c.error - offset) / c.u_eff
    return Adjustment(offset=offset, scales=(_on_u(float(np.mean(off * off)), c),))


def _on_u(square: float, c: Columns) -> float:
    """Return the factor on u that brings a mean square of z to 1."""
    root = float(np.sqrt(square))
    return factor_on_u(Estimate(root, root, root), c).value


def _optimal(c: Columns) -> Adjustment:
    return Adjustment(scales=(float(scale_optimal(c)[0]),))


def _conformal(c: Columns) -> Adjustment:
    return Adjustment(scales=(float(scale_for_level(c)[0]),))


def _addend(c: Columns) -> Adjustment:
    alpha = float(c.alpha.mean())
    return Adjustment(
        addend=additive_for_level(c.value - c.lower, c.upper - c.value, c.own_error, alpha)
    )


def _by_bins(c: Columns) -> Adjustment:
    order, starts = order_by_u(c), bin_starts(c, BINS)[0]
    factors = [
        _on_u(square, c.select(rows, np.zeros(1, dtype=np.int64)))
        for square, rows in zip(
            binned_zms(c, c.told_u)[0].tolist(), np.split(order, starts[1:]), strict=True
        )
    ]
    return Adjustment(scales=tuple(factors), edges=tuple(c.told_u[order][starts[1:]].tolist()))


Method = Callable[[Columns], Adjustment]

# By name: the choice from the pairs given. ``scale``: the factor on u that brings ZMS to 1, which
# is sqrt(ZMS) for exact references; ``both``: bias removed, then ``scale``; ``optimal``: least
# interval score; ``conformal``: split-conformal rank of the stated level; ``addend``: the same with
# an addend; ``bins``: ``scale`` in ten bins of u.
METHODS: Final[dict[str, Method]] = {
    "offset": _offset,
    "gain": _gain,
    "scale": _scale,
    "both": _both,
    "optimal": _optimal,
    "conformal": _conformal,
    "addend": _addend,
    "bins": _by_bins,
}


def suggestions(c: Columns) -> dict[str, Estimate]:
    """Return offset, gain, scales of u and addend that would fix a series, with 95 % intervals.

    ``offset`` and ``addend`` are in the series' unit, the others are factors; ``both`` is the
    factor once the offset is removed. NaN where there are too few pairs.
    """
    rho = max(0.0, float(np.nan_to_num(z_lag1(c)[0])))
    b, alpha = bands(c), float(c.alpha.mean())
    valid = b.valid
    # Whether a pair lies beyond a scale does not depend on its error's sign: correlated like z^2.
    worth = share_independent(rho)[1]
    n_eff = int(valid.sum()) * worth
    ones = np.ones(int(valid.sum()))
    addend, offset = METHODS["addend"](c).addend, METHODS["offset"](c).offset
    needed = np.abs(c.own_error) - np.where(c.error > 0.0, c.value - c.lower, c.upper - c.value)
    counts = np.ones(c.value.size)
    optimal, conformal = (float(each(c)[0]) for each in (scale_optimal, scale_for_level))
    scale = b.scale[valid]
    return {
        "offset": _mean_offset(c, rho),
        "gain": _gain_estimate(c),
        "scale": factor_on_u(_root(zms_interval(c)), c),
        "both": factor_on_u(spread_factor((c.error - offset) / c.u_eff, rho), c),
        "optimal": quantile_interval(optimal, scale, b.active[valid], b.half[valid], alpha, n_eff),
        "conformal": quantile_interval(conformal, scale, ones, ones, alpha, n_eff),
        "addend": quantile_interval(addend, needed, counts, counts, alpha, c.value.size * worth),
    }


def _root(interval: Interval) -> Estimate:
    """Return an interval of ZMS as an interval of the factor on u."""
    numbers = (interval.estimate[0], interval.lower[0], interval.upper[0])
    return Estimate(*(float(np.sqrt(max(each, 0.0))) for each in numbers))


def quantile_interval(
    estimate: float, rows: Float, weight: Float, total: Float, share: float, n_eff: float
) -> Estimate:
    """Return ``estimate``, beyond which lies ``share`` of the weight, with Woodruff's interval.

    ``rows`` with ``weight`` lie beyond a number if they are larger; the share is of the sum of
    ``total``. The ends are the numbers beyond which the share is larger or smaller by its error.
    """
    if not np.isfinite(estimate) or n_eff <= 2.0:
        return NOTHING if not np.isfinite(estimate) else Estimate(estimate, NAN, NAN)
    beyond = weight * (rows > estimate) - share * total
    error = float(beyond.std() / (total.mean() * np.sqrt(n_eff)))
    order = np.argsort(rows)[::-1]
    shares = np.cumsum(weight[order]) / total.sum()
    half = float(scipy.special.ndtri(0.5 + 0.5 * LEVEL)) * error
    lower, upper = (_beyond(rows[order], shares, share + side * half) for side in (1.0, -1.0))
    return Estimate(estimate, min(lower, estimate), upper)


def _beyond(descending: Float, shares: Float, share: float) -> float:
    """Return the first number beyond which at most ``share`` lies; NaN where none is known."""
    place = int(np.searchsorted(shares, share, side="right"))
    if share < 0.0 or not np.isfinite(descending[min(place, shares.size - 1)]):
        return NAN
    return float(descending[min(place, shares.size - 1)])
