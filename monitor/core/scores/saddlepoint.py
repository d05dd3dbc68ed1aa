"""Quantiles of a resampled mean by its saddlepoint approximation, in place of replicates.

The search finds a root for every series and both ends at once. Each series stops by itself, so that
no number depends on its neighbours. Source: Davison and Hinkley, Biometrika 75 (1988).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import scipy

from monitor.core.model import Float, Int

# The root search: a point suffices if it is NEAR in units of normal quantiles (the line, or the
# cubic through two points, is then right to 1e-4 of the interval's width); otherwise a bracketed
# search takes at most STEPS until FOUND.
NEAR: Final = 0.05
FOUND: Final = 1e-3
STEPS: Final = 24
LARGEST_TILT: Final = 16.0
TINY: Final = 1e-300
# Least share of the normal's cumulant function that the first four cumulants may leave.
LEAST_SHARE: Final = 0.05


class PairRows(NamedTuple):
    """One number a pair of some series, laid end to end."""

    rows: Float
    starts: Int
    counts: Int

    def of(self, rows: Int) -> PairRows:
        """Return the rows of the series numbered ``rows``."""
        counts = self.counts[rows]
        starts = np.cumsum(counts) - counts
        places = np.repeat(self.starts[rows] - starts, counts) + np.arange(counts.sum())
        return PairRows(self.rows[places], starts, counts)


class _Point(NamedTuple):
    """A point of the resampled mean's quantile function, for both ends (2 x series).

    ``place`` is the normal quantile, ``mean`` the mean there, ``slope`` that of the mean along
    ``place``, ``variance`` that of the tilted rows.
    """

    place: Float
    mean: Float
    slope: Float
    variance: Float


def _tilted(scaled: PairRows, tilt: Float) -> _Point:
    """Return the points that exponential tilts of the rows reach (2 x series).

    ``scaled`` has mean 0 and sum of squares 1, so that no exponent exceeds |tilt|. With K the
    cumulant function, r^2/2 = n (t K' - K) and v = t sqrt(n K''), r* = r + ln(v/r)/r is the normal
    quantile of the probability below the mean (Lugannani, Rice; Barndorff-Nielsen).
    """
    rows, starts, n = scaled
    sums = np.empty((3, *tilt.shape))
    for end, one in enumerate(tilt):
        weights = np.repeat(one, n)
        weights *= rows
        np.exp(weights, out=weights)
        for power in range(3):
            np.add.reduceat(weights, starts, out=sums[power, end])
            if power < 2:
                weights *= rows
    total, mean, square = sums[0] / n, sums[1] / sums[0], sums[2] / sums[0]
    variance = np.maximum(square - mean * mean, TINY)
    r = np.sign(tilt) * np.sqrt(2.0 * n * np.maximum(tilt * mean - np.log(total), TINY))
    place = r + np.log(tilt * np.sqrt(n * variance) / r) / r
    return _Point(place, mean, r / (n * tilt), variance)


def _first_tilt(a: Float, fourth: Float, target: Float) -> Float:
    """Return the approximate tilts at ``target``, from the cumulants up to the ``fourth``.

    The third is 6 ``a``. Two steps of Newton's method on r* of those cumulants alone, from the tilt
    of the ABC end.
    """
    off = target - a
    start = off * (1.0 + a * off)
    tilt = 2.0 * start / (1.0 + np.sqrt(np.maximum(1.0 + 12.0 * a * start, 0.0)))
    for _ in range(2):
        bend = fourth * tilt * tilt
        share = np.maximum(1.0 + 4.0 * a * tilt + 0.25 * bend, LEAST_SHARE)
        spread = np.maximum(1.0 + 6.0 * a * tilt + 0.5 * bend, LEAST_SHARE)
        r = tilt * np.sqrt(share)
        place = r + 0.5 * np.log(spread / share) / r
        tilt = np.clip(tilt + (target - place) * r / (tilt * spread), *_bracket(target))
    return tilt


def saddlepoint_ends(
    scaled: PairRows, a: Float, fourth: Float, tails: tuple[float, float]
) -> Float:
    """Return the means of the rows (2 x series) whose normal quantiles are BCa's at ``tails``.

    ``a`` is BCa's acceleration and z0, ``fourth`` the fourth cumulant of the scaled rows.

    If the point at a good first tilt is near, the line through it gives the end; else the cubic
    through it and the next point of Newton's method. Series where that is not near either (a few
    pairs dominate their mean) are searched with a bracket. No series depends on the others.
    """
    w = a + scipy.special.ndtri(np.array(tails))[:, None]
    target = a + w / (1.0 - a * w)
    tilt = _first_tilt(a, fourth, target)
    one = _tilted(scaled, tilt)
    off = target - one.place
    ends = one.mean + off * one.slope
    far = _far(off)
    if far.size:
        rest = scaled.of(far)
        one, target = _Point(*(axis[:, far] for axis in one)), target[:, far]
        tilt = np.clip(_newton(tilt[:, far], one, target), *_bracket(target))
        two = _tilted(rest, tilt)
        ends[:, far] = _hermite(one, two, target)
        again = _far(target - two.place)
        if again.size:
            two, target = _Point(*(axis[:, again] for axis in two)), target[:, again]
            tilt = _newton(tilt[:, again], two, target)
            ends[:, far[again]] = _searched_ends(rest.of(again), target, tilt)
    return ends


def _far(off: Float) -> Int:
    """Return the series one of whose ends is not near."""
    return np.flatnonzero((np.abs(off) > NEAR).any(axis=0))


def _newton(tilt: Float, at: _Point, target: Float) -> Float:
    """Return the next tilt of Newton's method."""
    return tilt + (target - at.place) * at.slope / at.variance


def _bracket(target: Float) -> tuple[Float, Float]:
    """Return bounds of the tilt; its sign is that of the target."""
    up = target > 0.0
    return np.where(up, 1e-3, -LARGEST_TILT), np.where(up, LARGEST_TILT, -1e-3)


def _searched_ends(scaled: PairRows, target: Float, tilt: Float) -> Float:
    """Return the same ends by Newton's method within a bracket that narrows at every step.

    An end that is found does not change, so that no series' number depends on its neighbours.
    """
    below, above = _bracket(target)
    tilt = np.clip(tilt, below, above)
    ends, is_done = np.empty_like(target), np.zeros(target.shape, dtype=np.bool_)
    for _ in range(STEPS):
        at = _tilted(scaled, tilt)
        off = target - at.place
        ends = np.where(is_done, ends, at.mean + off * at.slope)
        is_done |= np.abs(off) < FOUND
        if is_done.all():
            break
        below, above = np.where(off > 0.0, tilt, below), np.where(off > 0.0, above, tilt)
        newton = _newton(tilt, at, target)
        inside = (newton > below) & (newton < above)
        tilt = np.where(inside, newton, 0.5 * (below + above))
    # If one pair dominates the mean there may be no root; the mean at the bracket stands in.
    return np.where(is_done, ends, at.mean)


def _hermite(one: _Point, two: _Point, at: Float) -> Float:
    """Return the cubic through two points at the places ``at``; the line where they meet."""
    gap = two.place - one.place
    line = two.mean + (at - two.place) * two.slope
    apart = np.abs(gap) > 1e-7
    h = np.where(apart, gap, 1.0)
    t = (at - one.place) / h
    chord = (two.mean - one.mean) / h
    bend = (1.0 - t) * (one.slope - chord) + t * (chord - two.slope)
    cubic = (1.0 - t) * one.mean + t * two.mean + t * (1.0 - t) * h * bend
    return np.where(apart, cubic, line)
