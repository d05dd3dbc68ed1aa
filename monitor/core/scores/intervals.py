"""Intervals of calibration statistics without resampling, and what they say.

Rules of this file: deterministic, vectorised over series, a function of sums over the window; below
``MIN_PAIRS`` pairs there is no interval (NaN). ABC and saddlepoint approximate the BCa bootstrap of
independent pairs; :func:`zms_interval`, which is published everywhere, allows for autocorrelation.

Sources: DiCiccio and Efron, Statistical Science 11 (1996) section 4 (ABC); Pernot
(arXiv 2402.10043v2) eq. 13-15.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import scipy

from monitor.core.columns import Columns, ratio
from monitor.core.model import Float
from monitor.core.scores.calibration import (
    mean_square_error,
    mean_variance,
    rce,
    z_lag1,
    z_mean,
    z_square,
    zms,
)
from monitor.core.scores.saddlepoint import PairRows, saddlepoint_ends

LEVEL: Final = 0.95
# Below this many pairs there is no interval; below 500 it is too narrow by some percent.
MIN_PAIRS: Final = 20
# |zeta| this near to 1 depends on the seed or the method: 10 000 replicates move it by 0.02.
UNDECIDED: Final = 0.05
# Largest acceleration allowed for few effective pairs: ABC's ends go to infinity at 1/1.96.
STEEPEST: Final = 0.3


class Interval(NamedTuple):
    """An interval of one statistic for each series, by a named method.

    ``zeta`` is the signed distance of the estimate from its target in units of the arm that points
    to the target (B-15): |zeta| <= 1 exactly when the interval holds the target.
    """

    method: str
    level: float
    estimate: Float
    lower: Float
    upper: Float
    zeta: Float
    replicates: int | None = None
    seed: int | None = None
    bias: Float | None = None


def zeta_of(estimate: Float, lower: Float, upper: Float, target: float) -> Float:
    """Return zeta (B eq. 14): (estimate - target) over the arm of the interval towards it."""
    arm = np.where(estimate <= target, upper - estimate, estimate - lower)
    return np.where(
        estimate == target, 0.0 * arm, (estimate - target) / np.where(arm > 0, arm, np.nan)
    )


def verdict(zeta: float) -> str:
    """Return ``valid``, ``invalid``, or ``undecided`` (no interval, or |zeta| too near to 1)."""
    if np.isnan(zeta) or abs(abs(zeta) - 1.0) <= UNDECIDED:
        return "undecided"
    return "valid" if abs(zeta) < 1.0 else "invalid"


def _interval(
    c: Columns, method: str, estimate: Float, ends: tuple[Float, Float], target: float
) -> Interval:
    """Return an interval with its zeta, absent below ``MIN_PAIRS`` pairs."""
    enough = c.counts >= MIN_PAIRS
    lower, upper = (np.where(enough, end, np.nan) for end in ends)
    return Interval(method, LEVEL, estimate, lower, upper, zeta_of(estimate, lower, upper, target))


def _central(c: Columns, rows: Float) -> tuple[Float, Float, Float]:
    """Return rows less their mean, the sum of their squares, and BCa's acceleration of the mean."""
    off = rows - c.spread(c.mean(rows))
    square = off * off
    second = c.sum(square)
    return off, second, ratio(c.sum(square * off), 6.0 * second * np.sqrt(second))


def _stretch(z0: Float, acceleration: Float, tail: float) -> Float:
    """Return BCa's w/(1 - a w) with w = z0 + z(tail): the normal quantile of an end, less z0."""
    w = z0 + float(scipy.special.ndtri(tail))
    return w / (1.0 - acceleration * w)


def _tails() -> tuple[float, float]:
    return 0.5 * (1.0 - LEVEL), 0.5 * (1.0 + LEVEL)


def zms_moments(c: Columns) -> tuple[Float, Float, Float]:
    """Return ZMS, its standard error and its acceleration, from the moments of z^2."""
    _, second, a = _central(c, c.once(z_square))
    return c.once(zms), np.sqrt(second) / c.counts, a


def abc_ends(estimate: Float, spread: Float, a: Float) -> tuple[Float, Float]:
    """Return the ends of the ABC interval of a mean with standard error ``spread``, acceleration a.

    For a mean the ABC bias and curvature terms vanish and z0 equals the acceleration.
    """
    lower, upper = (
        estimate
        + spread * _stretch(a, a, tail) / (1.0 - a * (a + float(scipy.special.ndtri(tail))))
        for tail in _tails()
    )
    return lower, upper


def abc_p_value(estimate: Float, spread: Float, a: Float, target: float) -> Float:
    """Return the two-sided p-value of ``target``: 1 - the level of the ABC interval ending there.

    An end lies w/(1 - a w)^2 standard errors off, w = a + z(tail); this is solved for the tail.
    A target that no level reaches gets the p-value of the last that one does.
    """
    off = ratio(target - estimate, spread)
    reached = np.maximum(4.0 * a * off, -1.0)
    off = np.where(reached > 4.0 * a * off, -0.25 / np.where(a == 0.0, 1.0, a), off)
    w = 2.0 * off / (1.0 + 0.5 * reached + np.sqrt(1.0 + reached))
    return np.asarray(2.0 * scipy.special.ndtr(-np.abs(w - a)))


def abc_zms(c: Columns) -> Interval:
    """Return the ABC interval of ZMS, from the second and third moment of z^2."""
    moments = zms_moments(c)
    return _interval(c, "abc", moments[0], abc_ends(*moments), 1.0)


def abc_rce(c: Columns) -> Interval:
    """Return the ABC interval of RCE = 1 - sqrt(A/B), A = <E^2>, B = <u_eff^2>.

    With alpha = E^2/A - 1 and beta = u^2/B - 1 a step e towards one pair multiplies sqrt(A/B) by
    sqrt((1 + e alpha)/(1 + e beta)): first derivative (alpha - beta)/2, second derivative
    (beta^2 - alpha^2)/2 + (alpha - beta)^2/4.
    """
    above, below = c.once(mean_square_error), c.once(mean_variance)
    alpha = c.error_square / c.spread(np.where(above > 0.0, above, np.nan)) - 1.0
    beta = c.variance / c.spread(below) - 1.0
    slope = 0.5 * (alpha - beta)
    square = slope * slope
    n, second = c.counts, c.sum(square)
    a = -ratio(c.sum(square * slope), 6.0 * second * np.sqrt(second))
    spread = np.sqrt(second) / n
    curve = c.sum(0.5 * (beta * beta - alpha * alpha) + square)
    # The least favourable direction lowers sqrt(A/B), which raises RCE.
    along_a = -ratio(c.sum(slope * alpha), n * n * spread)
    along_b = -ratio(c.sum(slope * beta), n * n * spread)
    bent = 0.5 * (along_b**2 - along_a**2) + 0.25 * (along_a - along_b) ** 2
    gamma = ratio(-curve, 2.0 * n * n * spread) + ratio(0.5 * bent, spread)
    z0 = scipy.special.ndtri(2.0 * scipy.special.ndtr(a) * scipy.special.ndtr(-gamma))
    ends = []
    for tail in _tails():
        step = _stretch(z0, a, tail) / (1.0 - a * (z0 + float(scipy.special.ndtri(tail))))
        moved = ratio(1.0 + step * along_a, 1.0 + step * along_b)
        ends.append(1.0 - np.sqrt(above / below) * np.sqrt(np.maximum(moved, 0.0)))
    return _interval(c, "abc", c.once(rce), (ends[0], ends[1]), 0.0)


def saddlepoint_zms(c: Columns) -> Interval:
    """Return the saddlepoint form of the BCa interval of ZMS.

    BCa's z0 and acceleration are both a = skewness/(6 sqrt(n)) here, as in ABC; the quantiles of
    the resampled mean come from its saddlepoint approximation instead of replicates.
    """
    off, second, a = _central(c, c.once(z_square))
    flat = np.isnan(a)
    size = np.sqrt(second)
    # A series without spread has no interval; zeros keep its arithmetic quiet.
    scaled = c.times(off, np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, size)))
    square = scaled * scaled
    fourth = c.sum(np.multiply(square, square, out=square)) - 3.0 / c.counts
    rows = PairRows(scaled, c.starts, c.counts)
    ends = np.full((2, flat.size), np.nan)
    places = np.flatnonzero(~flat & (c.counts >= MIN_PAIRS))
    if places.size:  # the others have no interval to search for
        some = rows if places.size == flat.size else rows.of(places)
        ends[:, places] = saddlepoint_ends(some, a[places], fourth[places], _tails())
    lower, upper = c.once(zms) + size * ends
    return _interval(c, "saddlepoint", c.once(zms), (lower, upper), 1.0)


def zms_inflation(c: Columns) -> Float:
    """Return how many dependent pairs say as much about ZMS as one independent pair; 1 or more.

    With z = m + x, x an AR(1) series of variance s^2 and lag-1 correlation r, z^2 - m^2 has the
    parts 2 m x and x^2, of variances 4 m^2 s^2 and 2 s^4 and correlations r^k and r^2k: the mean of
    either has its variance times (1 + r)/(1 - r), or (1 + r^2)/(1 - r^2). r is that of z, less its
    bias of -(1 + 3 r)/n (Kendall, Biometrika 41 (1954)), and at least 0.
    """
    lag, n = np.fmax(c.once(z_lag1), 0.0), c.counts
    r = np.where(lag > 0.0, np.minimum(lag + (1.0 + 3.0 * lag) / n, 1.0 - 2.0 / (n + 2.0)), 0.0)
    square = np.square(c.once(z_mean))
    level, spread = 2.0 * square, np.maximum(c.once(zms) - square, 0.0)
    parts = level * (1.0 + r) / (1.0 - r) + spread * (1.0 + r * r) / (1.0 - r * r)
    return np.fmax(ratio(parts, level + spread), 1.0)


def zms_interval(c: Columns) -> Interval:
    """Return the interval of ZMS for pairs that may depend on each other.

    It is that on /metrics, page, API, in reports and by ``monitor score``. Each arm of the
    saddlepoint interval is stretched as :func:`zms_inflation` stretches that of the ABC interval: a
    mean of n/inflation pairs has its standard error and its acceleration times sqrt(inflation). For
    independent pairs it is the saddlepoint interval, which is nearer BCa with 2 000 000 replicates
    than ABC for normal and t4 errors (docs/evidence/performance.md).
    """
    plain = saddlepoint_zms(c)
    estimate, spread, a = zms_moments(c)
    root = np.sqrt(c.once(zms_inflation))
    of_all = abc_ends(estimate, spread, a)
    of_fewer = abc_ends(estimate, spread * root, np.clip(a * root, -STEEPEST, STEEPEST))
    lower, upper = (
        estimate + (end - estimate) * ratio(np.abs(wide - estimate), np.abs(close - estimate))
        for end, wide, close in zip((plain.lower, plain.upper), of_fewer, of_all, strict=True)
    )
    return _interval(c, "effective", estimate, (np.maximum(lower, 0.0), upper), 1.0)


def zms_lower(c: Columns) -> Float:
    """Lower end of the 95 % interval of ZMS."""
    return c.once(zms_interval).lower


def zms_upper(c: Columns) -> Float:
    """Upper end of the 95 % interval of ZMS."""
    return c.once(zms_interval).upper


def zms_zeta(c: Columns) -> Float:
    """Zeta of ZMS."""
    return c.once(zms_interval).zeta


def rce_zeta(c: Columns) -> Float:
    """Zeta of RCE."""
    return c.once(abc_rce).zeta
