"""Proper scores of one reading against its reference: one number a pair, lower is better.

Rules of this file: a score judges what the sensor stated (u, interval) and nothing else; the
calibration statistics use u_eff; the expected score is what the sensor's own claim and the
uncertainty of the reference together predict, so that "high" needs no threshold of its own.
Every function is ``f(Columns) -> rows``; everything starts from differences of nearby values, so
a common shift of value, interval and reference changes nothing.

Sources: Martin, Molteno, Parry (arXiv 1411.4354), cited as A; Gneiting, Raftery, JASA 102 (2007).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import scipy

from monitor.core.columns import Columns, by_runs, coverage_factor
from monitor.core.model import Float, Int

Density = Literal["normal", "tophat"]


def of_density(score: str, density: Density) -> str:
    """Return the name of ``score`` (crps, quadratic) for the density that u states."""
    return f"{score}_tophat" if density == "tophat" else score


# How a number changes when the series is given in another unit.
Unit = Literal["quantity", "1/quantity", "log", "none"]
Rows = Callable[[Columns], Float]

SQRT_PI: Final = math.sqrt(math.pi)
SQRT_2PI: Final = math.sqrt(2.0 * math.pi)
# From here on the tail of the normal is below 1e-23 and its density is negligible too.
LAST: Final = 10.0
# An interval narrower than this many spreads of the reference counts as a point.
NARROW: Final = 0.01


@dataclass(frozen=True)
class Score:
    """One proper score: ``rows`` a pair, ``expected`` under the claim (None: infinite)."""

    rows: Rows
    expected: Rows | None
    density: Density | None
    unit: Unit
    help: str
    source: str


# The density and the tail are computed for millions of rows at each publish.
def density(z: Float) -> Float:
    """Density of the standard normal at ``z``."""
    rows = z * z
    rows *= -0.5
    np.exp(rows, out=rows)
    rows /= SQRT_2PI
    return rows


def upper_tail(t: Float) -> Float:
    """Return P(N > ``t``); NaN for NaN."""
    tail: Float = scipy.special.ndtr(-t)
    return tail


def stated_z(c: Columns) -> Float:
    """Error over the stated standard uncertainty alone."""
    return c.error / c.u


def normal_density(c: Columns) -> Float:
    """Density of the standard normal at the stated z."""
    return density(c.once(stated_z))


def crps_normal(c: Columns) -> Float:
    """CRPS of N(value, u): u (z (2 Phi(z) - 1) + 2 phi(z) - 1/sqrt(pi)). Unit: quantity."""
    z, phi = c.once(stated_z), c.once(normal_density)
    rows = z * math.sqrt(0.5)
    scipy.special.erf(rows, out=rows)  # 2 Phi(z) - 1
    rows *= z
    rows += phi
    rows += phi
    rows -= 1.0 / SQRT_PI
    rows *= c.u
    return rows


def _both(c: Columns) -> Float:
    """Standard deviation of the reference about a value drawn from the claim."""
    return np.sqrt(c.u_square + c.variance)


def crps_normal_expected(c: Columns) -> Float:
    """E CRPS where the reference is N(value, u_eff); u/sqrt(pi) for an exact reference."""
    return c.once(_both) * math.sqrt(2.0 / math.pi) - c.u / SQRT_PI


def quadratic_normal(c: Columns) -> Float:
    """Quadratic score (A: Brier) of N(value, u): (1/(2 sqrt(pi)) - 2 phi(z))/u."""
    return (0.5 / SQRT_PI - 2.0 * c.once(normal_density)) / c.u


def quadratic_normal_expected(c: Columns) -> Float:
    """E quadratic score, reference N(value, u_eff); -1/(2 u sqrt(pi)) for an exact reference."""
    return 0.5 / (SQRT_PI * c.u) - 2.0 / (SQRT_2PI * c.once(_both))


def norm(c: Columns) -> Float:
    """Norm score z^2/2 + ln u (A section III.B.4), half the Dawid-Sebastiani score."""
    z = c.once(stated_z)
    return 0.5 * z * z + c.once(log_u)


def log_u(c: Columns) -> Float:
    """Logarithm of the stated standard uncertainty."""
    return np.log(c.u)


def norm_expected(c: Columns) -> Float:
    """E norm score: (u_eff/u)^2 / 2 + ln u."""
    spread = c.u_eff / c.u
    return 0.5 * spread * spread + c.once(log_u)


def log_normal(c: Columns) -> Float:
    """Log score of N(value, u), -ln density: norm score + ln(2 pi)/2."""
    return c.once(norm) + math.log(SQRT_2PI)


def log_normal_expected(c: Columns) -> Float:
    """E log score of N(value, u)."""
    return norm_expected(c) + math.log(SQRT_2PI)


def _off_centre(c: Columns) -> Float:
    """Distance of the reference from the middle of the interval, from the two end distances."""
    return 0.5 * np.abs((c.reference - c.lower) - (c.upper - c.reference))


def crps_tophat(c: Columns) -> Float:
    """CRPS of the top hat: d^2/w + w/12 inside, d - w/6 outside (A eq. 7, d from the middle)."""
    within = np.minimum(_off_centre(c), 0.5 * c.width)
    return c.outside_by + within * within / c.width + c.width / 12.0


def _noisy(c: Columns) -> Int | slice:
    """Rows whose reference is uncertain; the others take a shorter way to the same number."""
    uncertain = c.u_ref != 0.0
    return slice(None) if uncertain.all() else np.flatnonzero(uncertain)


def crps_tophat_expected(c: Columns) -> Float:
    """E CRPS where the truth is uniform on the interval and the reference adds N(0, u_ref).

    w/6 for an exact reference. With D the difference of two such uniforms (triangular on -w..w),
    E|D - e| = (E|w - e|^3 - E|e|^3) / (3 w^2), minus E|D|/2 = w/6.
    """
    rows = c.width / 6.0
    noisy = c.once(_noisy)
    w, s = c.width[noisy], c.u_ref[noisy]
    t = w / s
    square = t * t
    cubes = (square + 3.0) * t
    cubes -= 4.0 / SQRT_2PI
    # Beyond LAST spreads the normal's tails do not count.
    blurred = np.flatnonzero(t < LAST)
    if blurred.size:
        near, near_square = t[blurred], square[blurred]
        phi = density(near)
        tails = (near_square + 3.0) * near * upper_tail(near)
        cubes[blurred] += 2.0 * ((near_square + 2.0) * phi - tails)
    cubes *= s
    cubes /= 3.0 * square
    # The difference of cubes cancels when the interval is far narrower than the reference's noise.
    narrow = np.flatnonzero(t <= NARROW)
    small = square[narrow]
    cubes[narrow] = s[narrow] * (2.0 + small * (1.0 / 6.0 - small / 180.0)) / SQRT_2PI
    rows[noisy] = cubes - w / 6.0
    return rows


def quadratic_tophat(c: Columns) -> Float:
    """Quadratic score (A: Brier) of the top hat: -1/w inside, +1/w outside (A eq. 9)."""
    return (1.0 - 2.0 * c.hits) / c.width


def _noisy_tail(c: Columns) -> tuple[Float, Float, Float, Float]:
    """Return, for rows of an uncertain reference, the normal tail beyond an end of the interval.

    The interval is read as that of a normal about its middle: half-width over the reference's
    spread, that spread, the density at one end and the probability beyond it.
    """
    noisy = c.once(_noisy)
    half = 0.5 * c.width[noisy]
    spread = half / coverage_factor(c.p[noisy])
    spread *= spread
    spread += c.u_ref_square[noisy]
    np.sqrt(spread, out=spread)
    t = half / spread
    phi = density(t)
    return t, spread, phi, upper_tail(t)


def miss_expected(c: Columns) -> Float:
    """Probability of a miss under the claim: alpha, and more for an uncertain reference.

    The interval is read as that of a normal about its middle, at its coverage probability.
    """
    rows = c.alpha.copy()
    rows[c.once(_noisy)] = 2.0 * c.once(_noisy_tail)[3]
    return rows


def quadratic_tophat_expected(c: Columns) -> Float:
    """E quadratic score (2 miss - 1)/w: -0.8/w for a 90 % interval and an exact reference."""
    return (2.0 * c.once(miss_expected) - 1.0) / c.width


def interval(c: Columns) -> Float:
    """Interval score w + (2/alpha) (distance outside); A eq. 11. Unit: quantity."""
    return c.width + 2.0 * c.outside_by / c.alpha


def _exact_reference_factor(p: Float) -> Float:
    """E interval score over the width, for an exact reference: 2 phi(k) / (alpha k)."""
    k = scipy.special.ndtri(0.5 + 0.5 * p)
    return np.asarray(2.0 * np.exp(-0.5 * k * k) / (SQRT_2PI * (1.0 - p) * k))


def interval_expected(c: Columns) -> Float:
    """E interval score, the interval read as that of a normal about its middle, u_ref added.

    Both densities use it: a top hat says nothing about how far out its misses lie.
    """
    noisy = c.once(_noisy)
    t, s, phi, beyond = c.once(_noisy_tail)
    blurred = t * beyond
    np.subtract(phi, blurred, out=blurred)
    blurred *= s
    blurred *= 4.0
    blurred /= c.alpha[noisy]
    blurred += c.width[noisy]
    if isinstance(noisy, slice):
        return blurred
    rows = c.width * by_runs(_exact_reference_factor, c.p)
    rows[noisy] = blurred
    return rows


def log_tophat(c: Columns) -> Float:
    """Log score of the top hat: ln w inside, +inf outside (A eq. 6). Never average it."""
    return np.where(c.inside, np.log(c.width), np.inf)


SCORES: Final[dict[str, Score]] = {
    "crps": Score(
        crps_normal,
        crps_normal_expected,
        "normal",
        "quantity",
        "Continuous ranked probability score of a normal with the stated u.",
        "A III.B.1; Gneiting 2005 eq. 5",
    ),
    "crps_tophat": Score(
        crps_tophat,
        crps_tophat_expected,
        "tophat",
        "quantity",
        "Continuous ranked probability score of a top hat on the stated interval.",
        "A-07, eq. 7",
    ),
    "quadratic": Score(
        quadratic_normal,
        quadratic_normal_expected,
        "normal",
        "1/quantity",
        "Quadratic score (Brier, Martin et al.) of a normal with the stated u.",
        "A-08; Gneiting and Raftery 2007 section 4.1",
    ),
    "quadratic_tophat": Score(
        quadratic_tophat,
        quadratic_tophat_expected,
        "tophat",
        "1/quantity",
        "Quadratic score (Brier, Martin et al.) of a top hat on the stated interval.",
        "A-08, eq. 9",
    ),
    "interval": Score(
        interval,
        interval_expected,
        None,
        "quantity",
        "Interval score of the stated interval at its stated coverage probability.",
        "A-09, eq. 11; Gneiting and Raftery 2007 eq. 43",
    ),
    "norm": Score(
        norm,
        norm_expected,
        "normal",
        "log",
        "Norm score, half the Dawid-Sebastiani score; carries the logarithm of the unit.",
        "A-10",
    ),
    "log": Score(
        log_normal,
        log_normal_expected,
        "normal",
        "log",
        "Logarithmic score of a normal with the stated u (negative log likelihood).",
        "A-06; B-10",
    ),
    "log_tophat": Score(
        log_tophat,
        None,
        "tophat",
        "log",
        "Logarithmic score of a top hat: infinite for every miss.",
        "A-06, eq. 6",
    ),
}
