"""How right series are while no alert of them fires: bounds on level and factor, side by side.

Rules of this file: all pairs of a series are one piece; dependence among them is estimated at
several scales, and in doubt it is larger. A series is right where level and factor lie within
bounds that hardly anybody would correct; the bounds are stated with it. A fit that is suspicious
says nothing by itself: the pairs are then examined for a fault (:mod:`.whole`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import scipy

from monitor.core.model import Bool, Float
from monitor.core.verdict.pairs import (
    Side,
    cautious_rhos,
    inflation,
    inflation_of_squares,
    long_inflations,
)
from monitor.core.verdict.relations import SlopeColumns, closed_up, slope_columns
from monitor.core.verdict.rivals import stuck_for
from monitor.core.verdict.rows import FAR, dots, medians, quotients, resolved, robust_scales, sums
from monitor.core.verdict.spread import own_of
from monitor.core.verdict.verdict import (
    FINER,
    LEVEL,
    BoundsColumns,
)

FEWEST: Final = 8
OFFSET: Final = 0.1  # u: an error beyond it is a fault
SCALE: Final = (0.9, 1.1)
FAR_HONEST: Final = 0.01
T: Final = 4.0  # high because many names are tried on one series
_SUSPICIOUS: Final = 3.5
_NEWEST: Final = 3  # the newest third of the pairs, of at least _FEWEST_NEWEST, is looked at alone
_FEWEST_NEWEST: Final = 30
_BOTH: Final = 2.5  # standard errors by which an error must go with reference and value for a gain
_RIGHT: Final = (0.5, 1.5)  # u and factor within which a series is right
_FAR_AWAY: Final = 10.0  # times as many pairs as there are, beyond which nobody waits for them
_PRIOR_PAIRS: Final = 4.0
_NORMAL: Final = 3.0  # kurtosis; errors with less are not taken to say more of their spread
_WILD: Final = 5.0  # times as far as an error that is far
_LEAST: Final = 1e-100  # a factor that is as good as 0
_NEARLY: Final = 1e-9  # more than rounding may change a factor by


class Fits(NamedTuple):
    """A level and a line through all errors of each series; sizes in typical uncertainties.

    ``level``, ``now`` (the line's end), ``slope`` and ``factor`` [3, series] are a value and the
    ends of its interval, ``steep`` is t of the slope, which turns the line at the time ``middle``.
    They come from the ``used`` pairs [series, pairs], which are not far off. ``inflation`` is that
    of the level's variance, ``of_line`` that of the line's, ``rho`` the largest autocorrelation
    that so few errors may have, ``grain`` what rounding may leave of them.
    ``suspicious``: the pairs must be examined for a fault.
    """

    used: Bool
    level: Float
    now: Float
    slope: Float
    steep: Float
    factor: Float
    middle: Float
    inflation: Float
    of_line: Float
    rho: Float
    grain: Float
    slopes: SlopeColumns
    suspicious: Bool

    def of(self, row: int) -> Fits:
        """Return the fits of one series."""
        one = slice(row, row + 1)
        sizes = (each[..., one] for each in self[1:11])  # level to grain
        return Fits._make([self.used[one], *sizes, self.slopes.of(row), self.suspicious[one]])

    def left(self, p: Side, row: int) -> Float:
        """Return what the line leaves of the errors of one series, over their uncertainty."""
        n = int(p.n[row])
        line = self.level[0, row] + self.slope[0, row] * (p.clock[row, :n] - self.middle[row])
        return resolved((p.z[row, :n] - line * p.h[row, :n])[None], self.grain[row : row + 1])[0]


def fits_of(p: Side) -> Fits:
    """Return the fits of series of at least ``FEWEST`` pairs."""
    beside = p.z - medians(p.z, p.live)[:, None]
    most = FAR * robust_scales(beside, p.live)[:, None]
    used = p.live & (np.abs(beside) <= most)
    n = np.count_nonzero(used, axis=1)
    live, (z, h, t) = closed_up(used, n, (p.z, p.h, p.clock))
    weight = sums(h * h)
    middle, level = dots(h * h, t) / weight, dots(h, z) / weight
    centred = (t - middle[:, None]) * h
    square = dots(centred, centred)
    slope = quotients(dots(centred, z), square)
    grain = (p.grain / p.s * used).max(axis=1)
    off = resolved(z - level[:, None] * h, grain)
    line = resolved(off - slope[:, None] * centred, grain)
    rho = cautious_rhos(line, live, n)
    least = inflation(rho)
    # Some prior pairs of the stated spread: a few dependent errors lie near each other.
    stated = _PRIOR_PAIRS * least
    of_line = (stated + dots(line, line)) / np.maximum(stated + n - 2.0, 1.0)
    twice = np.concatenate([live, live]), np.concatenate([n, n])
    of_both = long_inflations(np.concatenate([off, line]), *twice).reshape(2, -1)
    flat, inflated = np.maximum(of_both, least)
    se = np.sqrt(of_line * inflated / weight)
    steep = np.sqrt(quotients(of_line * inflated, square, np.inf))
    end = 1.0 - middle
    of_level = np.sqrt((stated + dots(off, off)) / (stated + n) * flat / weight)
    fits = Fits(
        used,
        _interval(level, of_level, n / flat),
        _interval(level + slope * end, np.hypot(se, steep * end), n / inflated),
        _interval(slope, steep, n / inflated),
        quotients(slope, steep),
        _factors(p, resolved(p.z - level[:, None] * p.h, grain), most, flat, rho),
        middle,
        flat,
        inflated,
        rho,
        grain,
        slope_columns(p, np.zeros_like(p.n), p.n),
        np.zeros(n.size, dtype=np.bool_),
    )
    return fits._replace(suspicious=_suspicious(p, fits, beside))


def _interval(value: Float, se: Float, df: Float) -> Float:
    half = scipy.special.stdtrit(np.maximum(df, 1.0), 0.5 + 0.5 * LEVEL) * se
    return np.array([value, value - half, value + half])


def _factors(p: Side, off: Float, most: Float, flat: Float, rho: Float) -> Float:
    """Return factors on the uncertainty of errors, from the mean squares of residuals.

    Far ones are pulled in to ``most``, not left out: without them, heavy tails would look
    overstated. No heavy tail reaches as far as the wild ones, which are left out.
    The mean of dependent errors follows them, so that less of their spread is left about it: the
    upper end allows for that.
    """
    live = p.live & (np.abs(off) <= _WILD * most)
    n = np.count_nonzero(live, axis=1)
    squares = np.where(live, np.clip(off, -most, most), 0.0) ** 2
    total, fourths = sums(squares), dots(squares, squares)
    peaked = np.maximum(quotients(n * fourths, total * total), _NORMAL)
    inflated = np.maximum(long_inflations(squares, live, n), inflation_of_squares(rho))
    half = scipy.special.stdtrit(np.maximum(n / inflated, 1.0), 0.5 + 0.5 * LEVEL)
    reach = np.exp(np.minimum(half * 0.5 * np.sqrt((peaked - 1.0) * inflated / n), 50.0))
    value = np.sqrt(total / np.maximum(n - 1, 1))
    upper = np.sqrt(total / np.maximum(n - np.minimum(2.0 * flat, 0.5 * n), 1.0))
    return np.array([value, value / reach, upper * reach])


def _suspicious(p: Side, fits: Fits, beside: Float) -> Bool:
    """Return which series must be examined for a fault; ``beside`` the median lie their z."""
    most = OFFSET + p.most
    suspicious = (fits.level[1] > most) | (fits.level[2] < -most)
    suspicious |= (fits.factor[1] > SCALE[1]) | (fits.factor[2] < SCALE[0])
    suspicious |= np.abs(fits.steep) > _SUSPICIOUS
    suspicious |= fits.slopes.are_related(T)
    suspicious |= np.abs(_t_of_lag(p, fits.used, beside)) > _SUSPICIOUS
    suspicious |= newest_differs(p, fits)
    far = np.count_nonzero(p.live & ~fits.used, axis=1)
    suspicious |= (far >= 2) & (far > FAR_HONEST * p.n)
    return np.asarray(suspicious | (np.array(stuck_for(p)) > 0))


def newest_differs(p: Side, fits: Fits) -> Bool:
    """Return which series have too small errors, or a gain, in the newest third of their pairs.

    All pairs may hide either: a change of the size of errors looks like dependence among them.
    """
    n = p.n // _NEWEST
    columns = np.arange(n.max())
    live = columns < n[:, None]
    begin = np.arange(n.size) * p.z.shape[1] + p.n - n
    at = np.minimum(begin[:, None] + columns, p.z.size - 1)
    z = np.take(p.z, at)
    np.clip(z, -FAR, FAR, out=z)
    z *= live
    squares, many = z * z, np.maximum(n, 1)
    total, fourths = sums(squares), dots(squares, squares)
    peaked = np.maximum(quotients(many * fourths, total * total), _NORMAL)
    reach = T * 0.5 * np.sqrt((peaked - 1.0) * inflation_of_squares(fits.rho) / many)
    differs = total < many * (SCALE[0] * np.exp(-reach)) ** 2
    worth = np.sqrt(many / inflation(fits.rho))
    by_reference = worth * _correlations(z, total, np.take(p.reference, at), live)
    rows = np.flatnonzero(np.abs(by_reference) > _BOTH)
    value = np.take(p.value, at[rows])
    by_value = worth[rows] * _correlations(z[rows], total[rows], value, live[rows])
    both = by_reference[rows], by_value
    is_gain = (np.minimum(*np.abs(both)) > _BOTH) & (np.maximum(*np.abs(both)) > T)
    differs[rows] |= is_gain & (both[0] * both[1] > 0.0)
    return np.asarray(differs & (n >= _FEWEST_NEWEST))


def _correlations(z: Float, squares: Float, level: Float, live: Bool) -> Float:
    """Return the correlations of errors about 0, with these sums of squares, and levels."""
    level *= live
    level -= (sums(level) / np.maximum(np.count_nonzero(live, axis=1), 1))[:, None]
    level *= live
    return quotients(dots(level, z), np.sqrt(dots(level, level) * squares))


def _t_of_lag(p: Side, used: Bool, beside: Float) -> Float:
    """Return in standard errors how errors go with the last step of the reference."""
    product = np.zeros_like(p.reference)
    np.subtract(p.reference[:, 1:], p.reference[:, :-1], out=product[:, 1:])
    product *= used / p.unit[:, None]
    np.clip(product, -1e100, 1e100, out=product)
    product *= np.clip(np.where(used, beside, 0.0), -1e100, 1e100)
    return quotients(sums(product), np.sqrt(dots(product, product)))


def bounds_say_all(p: Side, fits: Fits) -> Bool:
    """Return the series of whose calm verdict the bounds are all there is to say.

    Their level may be 0 and their factor 1, their u does not follow the error, no effect is
    declared systematic, and no error is far off: :func:`.sentences.with_words` adds nothing then.
    """
    says = (fits.level[1] < 0.0) & (fits.level[2] > 0.0) & (p.most == 0.0)
    says &= (fits.factor[1] < 1.0 - _NEARLY) & (fits.factor[2] > 1.0 + _NEARLY)
    return np.asarray(says & ~p.weights.follows & ~has_far(p))


def has_far(p: Side) -> Bool:
    """Return which series have an error that is far off."""
    return np.asarray((np.abs(p.error) > FAR * p.u_both).any(axis=1))


def bounds_of(p: Side, fits: Fits) -> BoundsColumns:
    """Return within what each series is right, whether or not that is enough to call it right.

    Both bounds are on the sensor's own u: a reference that is as uncertain leaves less to see.
    """
    own = own_of(p)
    away = own.times * np.maximum(np.abs(fits.level[1:]).max(axis=0) - p.most, 0.0)
    low, high = own.factors(fits.factor[1:])
    factor = np.maximum(high, quotients(np.ones(p.n.size), low, np.inf))
    by_chance = (fits.level[1] <= p.most) & (fits.level[2] >= -p.most)
    by_chance &= (fits.factor[1] <= 1.0) & (fits.factor[2] >= 1.0) & np.isfinite(factor)
    is_right = (away <= _RIGHT[0]) & (factor <= _RIGHT[1])
    needed = own.of_errors(np.array([[1.0 / _RIGHT[1]], [_RIGHT[1]]]))
    beyond, needed = (np.log(np.maximum(each, _LEAST)) for each in (fits.factor[1:], needed))
    short = np.maximum(away / _RIGHT[0], (beyond / needed).max(axis=0))
    more = p.n * (np.where(is_right, away / FINER, short) ** 2 - 1.0)
    more = np.where(by_chance & (more > 0.0) & (more <= _FAR_AWAY * p.n), more, 0.0)
    return BoundsColumns(is_right, away, factor, p.n, more)
