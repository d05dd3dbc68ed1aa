"""The intervals of ZMS and RCE in fifty digits.

The saddlepoint interval is the mean at which the tilted rows have the normal quantile of BCa. The
product stops its search where a line or a cubic is near enough, so its steps are taken here too,
in fifty digits; :func:`solved_ends` solves the equation itself.
Source: DiCiccio and Efron 1996, section 4; Davison and Hinkley 1988; Barndorff-Nielsen's r*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import mpmath

Mp = mpmath.mpf
Sized = tuple[Mp, Mp]
NEAR: Final = Mp("0.05")
LARGEST: Final = Mp(16)
LEAST: Final = Mp("0.05")
LEVEL: Final = 0.95
BOTH: Final = (-1, 1)


class Point(NamedTuple):
    """Normal quantile, mean there, slope of the mean along the quantile, variance of the rows."""

    place: Mp
    mean: Mp
    slope: Mp
    variance: Mp


def quantile(p: Mp) -> Mp:
    """Return the normal quantile of ``p``."""
    return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)


def _tail(side: int) -> Mp:
    return quantile((1 + side * Mp(LEVEL)) / 2)


def _mean(rows: Sequence[Mp]) -> Mp:
    return mpmath.fsum(rows) / len(rows)


def _scaled(rows: Sequence[Mp]) -> tuple[list[Mp], Mp, Mp]:
    """Return rows of mean 0 and sum of squares 1, their former size, and the acceleration."""
    mean = _mean(rows)
    size = mpmath.sqrt(mpmath.fsum((x - mean) ** 2 for x in rows))
    scaled = [(x - mean) / size for x in rows]
    return scaled, size, mpmath.fsum(x**3 for x in scaled) / 6


def tilted(rows: Sequence[Mp], tilt: Mp) -> Point:
    """Return the point that an exponential tilt reaches."""
    n = len(rows)
    weights = [mpmath.exp(tilt * x) for x in rows]
    total = mpmath.fsum(weights)
    mean = mpmath.fsum(w * x for w, x in zip(weights, rows, strict=True)) / total
    square = mpmath.fsum(w * x * x for w, x in zip(weights, rows, strict=True)) / total
    variance = square - mean**2
    r = mpmath.sign(tilt) * mpmath.sqrt(2 * n * (tilt * mean - mpmath.log(total / n)))
    place = r + mpmath.log(tilt * mpmath.sqrt(n * variance) / r) / r
    return Point(place, mean, r / (n * tilt), variance)


def _bounded(tilt: Mp, target: Mp) -> Mp:
    low, high = (Mp("1e-3"), LARGEST) if target > 0 else (-LARGEST, Mp("-1e-3"))
    return min(max(tilt, low), high)


def _first(a: Mp, fourth: Mp, target: Mp) -> Mp:
    """Return the tilt of the ABC end, after two steps on the first four cumulants."""
    start = (target - a) * (1 + a * (target - a))
    tilt = 2 * start / (1 + mpmath.sqrt(max(1 + 12 * a * start, Mp(0))))
    for _ in range(2):
        bend = fourth * tilt**2
        share = max(1 + 4 * a * tilt + bend / 4, LEAST)
        spread = max(1 + 6 * a * tilt + bend / 2, LEAST)
        r = tilt * mpmath.sqrt(share)
        place = r + mpmath.log(spread / share) / 2 / r
        tilt = _bounded(tilt + (target - place) * r / (tilt * spread), target)
    return tilt


def _cubic(one: Point, two: Point, at: Mp) -> Mp:
    h = two.place - one.place
    if abs(h) <= Mp("1e-7"):
        return two.mean + (at - two.place) * two.slope
    t, chord = (at - one.place) / h, (two.mean - one.mean) / h
    bend = (1 - t) * (one.slope - chord) + t * (chord - two.slope)
    return (1 - t) * one.mean + t * two.mean + t * (1 - t) * h * bend


def _targets(a: Mp) -> list[Mp]:
    return [a + (a + _tail(side)) / (1 - a * (a + _tail(side))) for side in BOTH]


def _ends(rows: Sequence[Mp], a: Mp) -> list[Mp] | None:
    """Return the ends by the product's steps, None where it searches with a bracket."""
    n, targets = len(rows), _targets(a)
    fourth = mpmath.fsum(x**4 for x in rows) - Mp(3) / n
    tilts = [_first(a, fourth, target) for target in targets]
    ones = [tilted(rows, tilt) for tilt in tilts]
    if all(abs(t - one.place) <= NEAR for t, one in zip(targets, ones, strict=True)):
        return [
            one.mean + (t - one.place) * one.slope for t, one in zip(targets, ones, strict=True)
        ]
    moved = [
        _bounded(tilt + (t - one.place) * one.slope / one.variance, t)
        for tilt, t, one in zip(tilts, targets, ones, strict=True)
    ]
    twos = [tilted(rows, tilt) for tilt in moved]
    if any(abs(t - two.place) > NEAR for t, two in zip(targets, twos, strict=True)):
        return None
    return [_cubic(one, two, t) for one, two, t in zip(ones, twos, targets, strict=True)]


def solved_ends(squares: Sequence[Mp]) -> tuple[Mp, Mp]:
    """Return the ends of the interval of ZMS where the equation holds itself."""
    rows, size, a = _scaled(squares)
    ends = []
    for target in _targets(a):
        low, high = (Mp("1e-3"), LARGEST) if target > 0 else (-LARGEST, Mp("-1e-3"))
        for _ in range(25):
            middle = (low + high) / 2
            low, high = (middle, high) if tilted(rows, middle).place < target else (low, middle)
        ends.append(_mean(squares) + size * tilted(rows, low).mean)
    return ends[0], ends[1]


def _inflation(z: Sequence[Mp], lag: Mp) -> Mp:
    """Return by how much the variance of ZMS is that of fewer independent pairs."""
    n, mean = len(z), _mean(z)
    r = min(lag + (1 + 3 * lag) / n, 1 - Mp(2) / (n + 2)) if lag > 0 else Mp(0)
    spread = _mean([(x - mean) ** 2 for x in z])
    parts = 2 * mean**2 * (1 + r) / (1 - r) + spread * (1 + r**2) / (1 - r**2)
    return parts / (2 * mean**2 + spread)


def _abc_arm(a: Mp, side: int) -> Mp:
    """Return ABC's end in standard errors from the mean (DiCiccio and Efron 1996, eq. 4.7)."""
    w = a + _tail(side)
    return w / (1 - a * w) / (1 - a * w)


def zms_ends(z: Sequence[Mp], lag: Mp) -> dict[str, Sized]:
    """Return both ends and zeta of ZMS, each with the size of its terms; {} if undefined.

    ``lag``: correlation of each z with the next.
    """
    squares = [x**2 for x in z]
    rows, size, a = _scaled(squares)
    if not size:
        return {}
    ends = _ends(rows, a)
    if ends is None:
        return {}
    estimate = _mean(squares)
    root = mpmath.sqrt(_inflation(z, lag))
    steep = max(min(a * root, Mp("0.3")), -Mp("0.3"))
    lower, upper = (
        estimate + size * end * root * abs(_abc_arm(steep, side) / _abc_arm(a, side))
        for end, side in zip(ends, BOTH, strict=True)
    )
    lower = max(lower, Mp(0))
    found = {"zms_lower": (lower, upper), "zms_upper": (upper, upper)}
    return found | {"zms_zeta": zeta(estimate, lower, upper, Mp(1))}


def zeta(estimate: Mp, lower: Mp, upper: Mp, target: Mp) -> Sized:
    """Return B eq. 14: the distance from the target in units of the arm towards it."""
    arm = upper - estimate if estimate <= target else estimate - lower
    found = (estimate - target) / arm
    return found, (1 + abs(found)) * (abs(estimate) + abs(target) + abs(upper)) / arm


def abc_rce_zeta(squares: Sequence[Mp], variances: Sequence[Mp]) -> Sized:
    """Return zeta of RCE by the ABC interval, derivatives by the formulas of its docstring."""
    n, above, below = len(squares), _mean(squares), _mean(variances)
    alpha, beta = [x / above - 1 for x in squares], [x / below - 1 for x in variances]
    slope = [(x - y) / 2 for x, y in zip(alpha, beta, strict=True)]
    second = mpmath.fsum(x**2 for x in slope)
    a = -mpmath.fsum(x**3 for x in slope) / (6 * second * mpmath.sqrt(second))
    spread = mpmath.sqrt(second) / n
    curve = mpmath.fsum(
        (y**2 - x**2) / 2 + (x - y) ** 2 / 4 for x, y in zip(alpha, beta, strict=True)
    )
    along = [
        -mpmath.fsum(s * x for s, x in zip(slope, side, strict=True)) / (n * n * spread)
        for side in (alpha, beta)
    ]
    bent = (along[1] ** 2 - along[0] ** 2) / 2 + (along[0] - along[1]) ** 2 / 4
    gamma = -curve / (2 * n * n * spread) + bent / 2 / spread
    z0 = quantile(2 * mpmath.ncdf(a) * mpmath.ncdf(-gamma))
    root = mpmath.sqrt(above / below)
    ends = []
    for side in BOTH:
        w = z0 + _tail(side)
        step = w / (1 - a * w) / (1 - a * w)
        moved = (1 + step * along[0]) / (1 + step * along[1])
        ends.append(1 - root * mpmath.sqrt(max(moved, Mp(0))))
    return zeta(1 - root, ends[0], ends[1], Mp(0))
