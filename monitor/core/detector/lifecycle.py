"""Life cycle of an alert: ok, pending, firing, and the reverse test that ends it.

Rules of this file: pure functions of columns, one entry a series. While an alert fires its evidence
stands still; the fault's mean and spread are refined for ``REFINING`` pairs, and every pair is a
bet between the honest sensor and a milder version of that fault. Once those bets say that the fault
is gone, the pairs since then are tested for another fault in its place: likelihood ratios between
the honest sensor and each of a few small faults (Wald's test: the sensor is right against all of
them, or one of them is the fault from here on). docs/evidence/detection.md.

If a systematic part is declared (``systematic``, a share of the uncertainty), the honest sensor has
a constant bias of at most what that part explains. Of these the one nearest to the fault is used,
because all others are easier to distinguish from the fault; the rest of the uncertainty is random.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from monitor.core.detector import e_values, whitening
from monitor.core.model import Bool, Float, Int
from monitor.core.pairing.series_rules import explained

OK: Final = 0
PENDING: Final = 1
FIRING: Final = 2
STATES: Final = ("ok", "pending", "firing")

PENDING_SHARE: Final = 0.1  # of the patience A
# Pairs after the alarm that still refine the estimate of the fault, by path: a missed interval is
# less informative than an error.
REFINING: Final = np.array([20, 60, 20])
_RESOLVED_LEAST: Final = 1000.0
_MILDER: Final = 0.8
_MILDER_COVERAGE: Final = 0.6  # of a share of misses, which sixty pairs determine to a sixth
_MILDER_BELOW: Final = 0.65  # of the slope on the value, which is small: nearest of two bets
_OFFSET_FLOOR: Final = 0.25
_SPREAD_FLOOR: Final = 0.05
# One outlier of a heavy-tailed sensor must not end an alert: it takes three pairs at least.
_RELIEF_MAX: Final = math.log(_RESOLVED_LEAST) / 3.0
_SHARE_FLOOR: Final = 1e-3
_OUTLIERS: Final = e_values.FAMILIES.index("outliers")
_UNDERSTATED: Final = e_values.FAMILIES.index("understated")
GAIN: Final = e_values.FAMILIES.index("gain")
# Limit, in random standard deviations, on a pair at the other side of a fault: the fault's spread
# may be too wide because its first pairs precede it, where the declared constant was far away.
_ACROSS: Final = -1.5
_OUTLIERS_MEAN: Final = 1.0  # of clipped z: beyond it outliers are an offset
# What may be left of a fault, or replace it: a mean of z towards the fault's own side (the smaller
# one, left by an incomplete repair), a mean away from it, a spread.
_LEFT: Final = 0.5
_LEFT_SHARE: Final = 1.0 / 7.0  # of a large mean
_OPPOSITE: Final = -1.0
_WIDER: Final = 1.7
_NARROWER: Final = 0.6
# The odds that the sensor must have against each, and those of each that make it the next fault.
_ABSENT_AT: Final = np.log([20.0, 10.0, 25.0, 5.0])[:, None]
# A fault in the spread may leave a spread: how large, the odds against that, and its variance.
_WIDER_LEFT: Final = 1.4
_WIDE_ABSENT_AT: Final = math.log(130.0)
_WIDE: Final = 1.44
# The shape of errors is 32 / degrees of freedom of t, 8 at most. So many pairs teach it: what the
# mean of |z| over the root mean square lacks of a normal's, less half a standard error.
_SHAPE_KNOWN: Final = 30.0
_SHAPE_RATE: Final = 120.0
_SHAPE_ERROR: Final = 0.1  # times 1/sqrt(n)
_CENTRED: Final = 0.7  # of its standard deviation: as far as chance moves the mean of thirty pairs
_PRESENT_AT: Final = math.log(200.0)
# If an alert begins within so many times the calm pairs that ended the last one, that one was not
# over; it then ends after so many times its longest calm.
RELAPSE: Final = 4.0
LONGER: Final = 2.0
_FAR_HONEST: Final = 0.01  # share of |z| > 4 that an honest sensor may have, as in the bets
_FAR_FAULTY: Final = 0.05  # and that of one with outliers: twenty pairs do not determine its own


class StateTransition(NamedTuple):
    """One change of one alert's state, at one pair.

    ``position`` counts in the batch's pairs (-1: an epoch began); ``evidence`` is S then, and a
    return from firing to ok is a resolution.
    """

    series: int
    position: int
    before: str
    after: str
    family: str
    evidence: float


def moments_of(path: Int, z: Float) -> Float:
    """Return what each pair adds to a fault's moments, [3, ...]: 1 and clipped z and its square.

    On the coverage path: 1 and whether the interval lies too high, too low.
    """
    high, low, _ = e_values.coverage_parts(z)
    q = whitening.clipped(z, -whitening.CLIP, whitening.CLIP)
    covers = path == e_values.COVERAGE
    return np.array([np.ones_like(q), np.where(covers, high, q), np.where(covers, low, q * q)])


def shape_of(before: Float, systematic: Float) -> Float:
    """Return the shape of errors by sums [3, k] of 1, |z| and z^2 over those before a fault."""
    n, size, squares = before
    size = size / np.sqrt(np.maximum(n * squares, whitening.TINY))
    lacking = math.sqrt(2.0 / math.pi) - _SHAPE_ERROR / np.sqrt(np.maximum(n, 1.0)) - size
    shape = np.rint(whitening.clipped(_SHAPE_RATE * lacking, 0.0, 8.0))
    return np.where((n >= _SHAPE_KNOWN) & (systematic == 0.0), shape, 0.0)


def reshaped(moments: Float, shape: Float) -> Float:
    """Return moments [3, n] of pairs with the square that is as likely 1.4 times as wide.

    That is the square of the normal error whose odds are those of this error of t.
    """
    if not shape.any():
        return moments
    count, total, squares = moments
    nu = 32.0 / np.maximum(shape, 1.0)
    wide = _WIDER_LEFT * _WIDER_LEFT
    odds = (nu + 1.0) * np.log((nu - 2.0 + squares) / (nu - 2.0 + squares / wide))
    return np.array([count, total, np.where(shape > 0.0, odds / (1.0 - 1.0 / wide), squares)])


def resolved_at(patience: Float) -> Float:
    """Return the log odds at which a fault counts as gone; they grow with the patience.

    A lasting fault is declared over by mistake about once in that many pairs, 1000 at least.
    """
    return np.log(np.maximum(patience, _RESOLVED_LEAST))


def relief(path: Int, family: Int, moments: Float, z: Float, systematic: Float) -> Float:
    """Return log P(z | honest) - log P(z | milder fault), one number a series.

    ``moments`` [3, k] are sums over the fault's pairs as :func:`moments_of` gives them.
    """
    relieved = _relief_z(family, moments, z, systematic)
    if not (path == e_values.COVERAGE).any():
        return relieved
    return np.where(path == e_values.COVERAGE, _relief_coverage(moments, z), relieved)


def _relief_z(family: Int, moments: Float, z: Float, systematic: Float) -> Float:
    n, total, squares = np.maximum(moments[0], 1.0), moments[1], moments[2]
    mean = total / n
    honest, chance = _nearest_honest(mean, systematic), _by_chance(systematic)
    spread = np.sqrt(np.maximum(squares / n - mean * mean, _SPREAD_FLOOR**2)) / chance
    mean = (mean - honest) / chance
    # An offset of many u begins as outliers. Outliers of a sensor that is right otherwise leave its
    # mean in place or, if all are on one side, move it by less than they widen its spread. An
    # offset from one end of the declared range to beyond the other is also a spread.
    across = systematic > 0.0
    far_off = (family == _OUTLIERS) & (np.abs(mean) >= spread)
    may_be_level = far_off | (across & (family == _UNDERSTATED))
    family = np.where(may_be_level & (np.abs(mean) >= _OUTLIERS_MEAN), 0, family)
    m = _MILDER * mean
    s = np.exp(_MILDER * np.log(spread))
    m = np.where(family == 0, np.copysign(np.maximum(np.abs(m), _OFFSET_FLOOR), m), m)
    s = np.where(family == 0, np.maximum(s, 1.0), s)
    s = np.where(family == 1, np.maximum(s, 1.2), s)
    s = np.where(family == 2, np.minimum(s, 0.8), s)
    q = (whitening.clipped(z, -whitening.CLIP, whitening.CLIP) - honest) / chance
    side = np.copysign(1.0, m)
    q = np.where(across & (family == 0), side * np.maximum(side * q, _ACROSS), q)
    faulty = (q - m) / s
    relieved: Float = np.minimum(0.5 * (faulty * faulty - q * q) + np.log(s), _RELIEF_MAX)
    return np.where(family == _OUTLIERS, _relief_outliers(z, systematic), relieved)


def _nearest_honest(mean: Float, systematic: Float) -> Float:
    """Return the bias nearest to ``mean`` that systematic effects can explain."""
    most = explained(systematic)
    return np.minimum(np.maximum(mean, -most), most)


def _by_chance(systematic: Float) -> Float:
    """Return the random part of the standard deviation of z."""
    return np.sqrt(1.0 - systematic * systematic)


def _relief_outliers(z: Float, systematic: Float) -> Float:
    """Return the relief of the outlier family: most pairs of a faulty sensor look honest."""
    far = e_values.is_far(z, systematic)
    honest = np.where(far, _FAR_HONEST, 1.0 - _FAR_HONEST)
    faulty = np.where(far, _FAR_FAULTY, 1.0 - _FAR_FAULTY)
    relieved: Float = np.log(honest / faulty)
    return relieved


def relief_gain(leading: Int, places: Float, z: Float, systematic: Float) -> Float:
    """Return the relief of the gain family: a milder slope than that of the bet that leads.

    ``places`` [2, ranks, k] of reference and value are by how many spreads they are off the centre
    (:mod:`.levels`); bets by the value are on a gain below 1.
    """
    slopes = e_values.SLOPES[:, 0]
    slope = slopes[leading % slopes.size]
    above, below = _MILDER * slope * places[0], -_MILDER_BELOW * slope * places[1]
    m = np.where(leading < slopes.size, above, below)
    q = whitening.clipped(z, -whitening.CLIP, whitening.CLIP)
    relieved: Float = 0.5 * m * (m - 2.0 * q) / (1.0 - systematic * systematic)
    return np.minimum(relieved, _RELIEF_MAX)


def _relief_coverage(moments: Float, code: Float) -> Float:
    high, low, alpha = e_values.coverage_parts(code)
    n = np.maximum(moments[0], 1.0)
    side = np.maximum(0.5 * alpha, _SHARE_FLOOR)
    above = np.maximum(side + _MILDER_COVERAGE * (moments[1] / n - side), _SHARE_FLOOR)
    below = np.maximum(side + _MILDER_COVERAGE * (moments[2] / n - side), _SHARE_FLOOR)
    inside = np.maximum(1.0 - above - below, _SHARE_FLOOR)
    honest = np.where(high | low, side, 1.0 - 2.0 * side)
    faulty = np.where(high, above, np.where(low, below, inside))
    relieved: Float = np.log(honest) - np.log(faulty)
    return relieved


def worth(rho: Float) -> Float:
    """Return the weight of each pair, at most 1: the lower, the more errors depend on each other.

    The reverse test's R, which never falls below 0, gains that share of each pair's relief.
    """
    share: Float = (1.0 - rho) / (1.0 + rho)
    return share


def _variance(moments: Float) -> Float:
    n = np.maximum(moments[0], whitening.TINY)
    mean = moments[1] / n
    return moments[2] / n - mean * mean


class Aftermath(NamedTuple):
    """The result of testing the pairs since a fault ended, for each series."""

    is_calm: Bool  # no other fault has taken its place
    family: Int  # of the fault that has, -1: none for sure


def aftermath(path: Int, moments: Float, calm: Float, rho: Float, systematic: Float) -> Aftermath:
    """Test the pairs since a fault of ``moments`` ended for another fault.

    ``calm`` [3, k] are their moments, each pair times its :func:`worth`; autocorrelated squares are
    worth more than means, (1 - rho^2) / (1 + rho^2) of a pair. Sensors that state only intervals
    are not tested.
    """
    count, total, squares = calm
    most, variance = explained(systematic), 1.0 - systematic * systematic
    side = np.where(moments[1] < 0.0, -1.0, 1.0)
    size = np.abs(moments[1]) / np.maximum(moments[0], whitening.TINY)
    size = np.maximum(size - most, 0.0)
    # Whichever family led: a fault with an offset may leave part of it.
    left = np.where(size >= _LEFT, np.maximum(_LEFT, _LEFT_SHARE * size), -_OPPOSITE)
    means = [left, np.full(left.size, _OPPOSITE)]
    more = (1.0 + rho) * (1.0 + rho) / (1.0 + rho * rho)
    centre = _nearest_honest(total / np.maximum(count, whitening.TINY), systematic)
    squares = (squares - 2.0 * centre * total + centre * centre * count) / variance
    fault = _variance(moments)
    was_spread = (fault >= _WIDE) & (size * size < _CENTRED * _CENTRED * fault)
    wider = np.where(was_spread, _WIDER_LEFT, _WIDER)
    odds = np.array(
        [
            (0.5 * mean * mean * count + np.abs(mean) * most * count - mean * side * total)
            / variance
            for mean in means
        ]
        + [
            more * (0.5 * (1.0 / (spread * spread) - 1.0) * squares + np.log(spread) * count)
            for spread in (wider, _NARROWER)
        ]
    )
    likely = np.array([0, 0, 1, 2])[np.argmin(odds, axis=0)]
    is_another = odds.min(axis=0) <= -_PRESENT_AT
    covers = path == e_values.COVERAGE
    wanted = np.repeat(_ABSENT_AT, left.size, axis=1)
    wanted[2] = np.where(was_spread, _WIDE_ABSENT_AT, wanted[2])
    is_calm = covers | (odds >= wanted).all(axis=0)
    return Aftermath(is_calm, np.where(is_another & ~covers, likely, -1))
