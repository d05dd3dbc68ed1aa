"""Bets against an honest sensor: 21 nonnegative numbers a pair, of mean <= 1 if it is honest.

Rules of this file: pure functions of columns; a pair's bets depend on its own z, the z before it
and what was learnt of the autocorrelation before it, never on other series or on the batch.
Bets form the rows, pairs the columns, so that each operation runs over contiguous pairs.

Sources: Shin, Ramdas, Rinaldo, E-detectors (arXiv 2203.03532); Arnold, Henzi, Ziegel, Sequentially
valid tests for forecast calibration (arXiv 2109.11761); Waudby-Smith, Ramdas, Estimating means of
bounded random variables by betting (arXiv 2010.09686).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from monitor.core.detector.levels import Levels
from monitor.core.detector.scales import Ceilings
from monitor.core.detector.whitening import (
    CLIP,
    NARROW_RATE,
    NARROW_SCALE,
    NARROW_SHAPE,
    SPREAD_LEAST,
    Whitening,
    clipped,
    is_like,
)
from monitor.core.model import Bool, Float, Int
from monitor.core.pairing.series_rules import explained

BETS: Final = 21
BIAS_TOLERATED: Final = 0.1  # in units of u: an offset below it is nobody's fault
SPREAD_TOLERATED: Final = 1.1  # u itself is known to about 10 % (GUM table E.1)
NOTHING_SYSTEMATIC: Final = np.zeros(1)

# Rows of the bets by family; the offset family is first the "high" half, then the "low" half.
FAMILIES: Final = ("offset", "understated", "overstated", "outliers", "gain")
ROWS: Final = (slice(0, 8), slice(8, 12), slice(12, 15), slice(15, 17), slice(17, 21))
HIGH: Final = slice(0, 4)
LOW: Final = slice(4, 8)

# Growth-optimal members against N(delta, 1), delta = 0.25, 0.5, 1, 2, of 1 + b z + c (z^2 - 1).
_B: Final = np.array([0.2495, 0.4892, 0.8470, 0.9211])[:, None]
_C: Final = np.array([0.0345, 0.1038, 0.3136, 0.6928])[:, None]
_VERTEX: Final = -0.5 * _B / _C
_UNDERSTATED: Final = np.array([0.12, 0.25, 0.45, 0.70])[:, None]
_OUTLIER_SHARE: Final = np.array([0.03, 0.10])[:, None]
_OUTLIER_NULL: Final = 0.01
# Bets on a gain: z per spread of the level. Where the pair's reference leads them the gain is above
# 1; where its value does, below.
SLOPES: Final = np.array([0.35, 1.0])[:, None]
ABOVE: Final = slice(17, 19)
BELOW: Final = slice(19, 21)
_LEAST_OFFSET: Final = 0.2  # for smaller ones the clipping of skewed errors would be a bet won
_ROUNDED: Final = 2.0  # |z| that rounding explains where u is of it

_MISS_RATIO: Final = np.array([1.5, 2.0, 3.0, 5.0])[:, None]
_COVER_RATIO: Final = np.array([0.5, 0.25, 0.1])[:, None]
_COVERAGE_TOLERATED: Final = 1.1


OF_GAIN: Final = ROWS[FAMILIES.index("gain")]


def _shared(*parts: tuple[float, int]) -> Float:
    return np.concatenate([np.full(rows, weight / rows) for weight, rows in parts if rows])


WEIGHTS_Z: Final = _shared((0.36, 8), (0.24, 4), (0.12, 3), (0.08, 2), (0.2, 4))
WEIGHTS_BARE: Final = _shared((0.45, 8), (0.30, 4), (0.15, 3), (0.10, 2), (0.0, 4))
WEIGHTS_COVERAGE: Final = _shared((0.30, 4), (0.30, 4), (0.30, 4), (0.10, 3), (0.0, 6))


def z_bets(
    z: Float,
    previous: Float,
    learnt: Whitening,
    ceilings: Ceilings,
    systematic: Float = NOTHING_SYSTEMATIC,
    levels: Levels | None = None,
) -> Float:
    """Return the bets [BETS, pairs] of the z path; ``previous`` is the z before each.

    Without ``levels`` there are no bets on a gain: their rows are 1.

    ``systematic`` is the share of the stated standard uncertainty that is declared to be of
    systematic effects, one number a pair or one for all.

    A pair with none before it has ``previous`` 0 and a whitening of 0. Each row has mean <= 1
    whenever, given the past, |E z| <= 0.1 and 0.9 <= sd z <= 1.1, P(|z| > 4) <= 1 %; the overstated
    rows for normal, logistic, Laplace and t shapes (nu >= 4) only. docs/evidence/detection.md.
    Ceilings above 1 only make bets smaller, and so does what is known of a coarse display: a pair
    that tells nothing new may lose but not win. The overstated rows are raised to a power, as those
    of intervals are: errors that hardly change may stay small for long in an honest sensor.

    A systematic part s lets E z be a constant within 0.1 + 2 s and sd z be sqrt(1 - s^2), times 0.9
    to 1.1. Offset bets are parabolas, which would rise again far on the other side. They are held
    constant beyond their vertex; this makes them smaller and monotone, so that their mean is
    largest at the edge of the tolerance.

    Bets on a gain are offset bets whose side and size go with the level, monotone as well. Their
    mean is <= 1 where, given reference or value, an error leans to no side, or to that of a gain
    below 1 for the reference, above 1 for the value: both hold for honest sensors, whether their
    errors are independent of the reference or of what they read.
    """
    _, upper, lower, flat, coarse = learnt
    scale = np.sqrt(1.0 - 2.0 * upper * lower + upper * upper)
    x = clipped((z - upper * previous) / scale, -CLIP, CLIP)
    squared = upper * upper
    x_plain = (z - upper * previous) / np.sqrt(1.0 - squared)
    power = (1.0 - squared) / (1.0 + squared)
    is_declared = systematic > 0.0
    by_chance = 1.0 - systematic * systematic
    bias = BIAS_TOLERATED + explained(systematic)
    drift = bias * (1.0 - upper) / scale
    bets = np.empty((BETS, z.size))
    wide = SPREAD_TOLERATED * np.sqrt(ceilings.offset)
    for rows, side in ((HIGH, x), (LOW, -x)):
        w = (side - drift) / wide
        if is_declared.any():
            w = np.where(is_declared, np.maximum(w, _VERTEX), w)
        bets[rows] = _C * (w * w - 1.0) + _B * w + 1.0
    tolerated = SPREAD_TOLERATED * SPREAD_TOLERATED * by_chance + bias * bias
    bets[ROWS[1]] = _UNDERSTATED * ((x * x / tolerated - 1.0) / ceilings.spread) + 1.0
    narrow = x_plain / (SPREAD_LEAST * np.sqrt(by_chance))
    # The remaining dependence makes errors look flatter or narrower than they are.
    shape = np.where(is_declared | (ceilings.offset > 1.0), 1.0, 1.0 - flat)
    over = NARROW_RATE * (narrow * narrow) + NARROW_SCALE + NARROW_SHAPE * shape
    bets[ROWS[2]] = np.exp(-power * over)
    bets[ROWS[3]] = _bernoulli(is_far(z, systematic), _OUTLIER_SHARE, _OUTLIER_NULL)
    bets[OF_GAIN] = 1.0
    if levels is not None:
        moved = levels.moved(upper, scale)
        for rows, side, size in ((ABOVE, x, moved[0]), (BELOW, -x, moved[1])):
            bets[rows] = _gain_bets((np.sign(size) * side - drift) / wide, np.abs(size))
    rounded = np.flatnonzero(coarse)
    if rounded.size:
        # Errors that rounding explains, and like which those of the neighbours were.
        is_known = (np.abs(z) <= _ROUNDED) & is_like(z, previous)
        no_news = rounded[is_known[rounded]]
        for rows, some in ((ROWS[2], no_news), (slice(None), no_news[coarse[no_news] == 1.0])):
            bets[rows, some] = np.minimum(bets[rows, some], 1.0)
    return bets


def _gain_bets(w: Float, moved: Float) -> Float:
    """Return offset bets [2, pairs] on ``w`` for offsets of SLOPES times ``moved``.

    They come within some percent of the growth-optimal 1 + b w + c (w^2 - 1), for any offset:
    c = d^2 / (d^2 + 2), b = d m / (d^2 + 2). Small offsets are taken for _LEAST_OFFSET, so that a
    level that stands still is a bet that loses.
    """
    offset = SLOPES * moved
    np.maximum(offset, _LEAST_OFFSET, out=offset)
    square = offset * offset
    m = np.minimum(0.54 * square + 2.0, 2.8)
    bets: Float = np.multiply(offset, w, out=offset)
    np.maximum(bets, -0.5 * m, out=bets)
    m += bets
    bets *= m
    bets -= square
    square += 2.0
    bets /= square
    bets += 1.0
    return bets


def is_far(z: Float, systematic: Float) -> Bool:
    """Return which errors are larger than chance and systematic effects together explain."""
    far: Bool = np.abs(z) > CLIP + explained(systematic)
    return far


def _bernoulli(happened: Bool, share: Float, null: Float | float) -> Float:
    return np.where(happened, share / null, (1.0 - share) / (1.0 - null))


def coverage_code(reference: Float, lower: Float, upper: Float, alpha: Float) -> Float:
    """Return one number a pair that says where the reference fell and the stated miss rate.

    ``alpha`` where the interval holds the reference, ``1 + alpha`` where the reference is below
    (the sensor reads high), ``-(1 + alpha)`` where it is above (the sensor reads low). Of an
    uncertain reference the ends are those of :attr:`.Columns.widened`, so that alpha stays true.
    """
    return np.where(
        reference < lower, 1.0 + alpha, np.where(reference > upper, -(1.0 + alpha), alpha)
    )


def coverage_parts(code: Float) -> tuple[Bool, Bool, Float]:
    """Return (reads high, reads low, alpha) of codes made by :func:`coverage_code`."""
    high, low = code > 1.0, code < -1.0
    return high, low, np.where(high | low, np.abs(code) - 1.0, code)


def coverage_bets(
    code: Float,
    _previous: Float,
    learnt: Whitening,
    _ceilings: Ceilings,
    systematic: Float = NOTHING_SYSTEMATIC,
    _levels: Levels | None = None,
) -> Float:
    """Return the bets [BETS, pairs] of a sensor that states intervals only; from row 15 on idle.

    Bernoulli likelihood ratios against a miss rate 10 % above (misses) or below (over-coverage)
    the stated one: valid for any distribution of errors. docs/evidence/detection.md. Misses that
    follow each other count for less: each bet is raised to the power (1 - rho) / (1 + rho), which
    can only lower its mean (Jensen) and leaves a Gaussian likelihood ratio under AR(1) its mean of
    1.

    Codes of a sensor with a systematic part are of intervals widened by it (:mod:`.replay`): misses
    may then be rare, so there are no bets on rare misses.
    """
    high, low, alpha = coverage_parts(code)
    bets = np.ones((BETS, code.size))
    for rows, missed, stated in (
        (HIGH, high, alpha / 2.0),
        (LOW, low, alpha / 2.0),
        (ROWS[1], high | low, alpha),
    ):
        null = np.minimum(_COVERAGE_TOLERATED * stated, 0.99)
        # A ratio of 5 would pass 1 for wide misses; any share above the null is a valid bet.
        bets[rows] = _bernoulli(missed, np.minimum(_MISS_RATIO * null, 0.5 + 0.5 * null), null)
    null = alpha / _COVERAGE_TOLERATED
    bets[ROWS[2]] = _bernoulli(high | low, _COVER_RATIO * null, null)
    dependent = learnt.rho > 0.0
    rho = learnt.rho[dependent]
    grown = np.log(bets[:, dependent]) * ((1.0 - rho) / (1.0 + rho))
    bets[:, dependent] = np.exp(grown)
    bets[ROWS[2]] = np.where(systematic > 0.0, 0.0, bets[ROWS[2]])
    return bets


Z: Final = 0
COVERAGE: Final = 1
BARE: Final = 2  # z of which no level is known
Bets = Callable[[Float, Float, Whitening, Ceilings, Float, Levels | None], Float]
PATHS: Final[tuple[Bets, ...]] = (z_bets, coverage_bets, z_bets)
WEIGHTS: Final = np.array([WEIGHTS_Z, WEIGHTS_COVERAGE, WEIGHTS_BARE])


def weights_of(path: Int) -> Float:
    """Return the weight of each bet of each series, [BETS, k]."""
    first = WEIGHTS[int(path[0])]
    if (path == path[0]).all():
        return np.broadcast_to(first[:, None], (BETS, path.size))
    return np.ascontiguousarray(WEIGHTS[path].T)


def bets_of(
    path: Int,
    z: Float,
    previous: Float,
    learnt: Whitening,
    ceilings: Ceilings,
    systematic: Float = NOTHING_SYSTEMATIC,
    levels: Levels | None = None,
) -> Float:
    """Return the bets [BETS, pairs]; each pair says which ``path`` (of PATHS) it takes."""
    first = int(path[0])
    if (path == first).all():
        return PATHS[first](z, previous, learnt, ceilings, systematic, levels)
    bets = np.empty((BETS, z.size))
    fixed = np.broadcast_to(systematic, z.shape)
    for number, compute in enumerate(PATHS):
        on = path == number
        bets[:, on] = compute(
            z[on],
            previous[on],
            Whitening(*(part[on] for part in learnt)),
            Ceilings(*(part[on] for part in ceilings)),
            fixed[on],
            None if levels is None else Levels(*(part[..., on] for part in levels)),
        )
    return bets


def families_of(evidence: Float) -> Float:
    """Return evidence [BETS, k] summed by family, [5, k], in a fixed order of addition."""
    sums = np.empty((len(ROWS), *evidence.shape[1:]))
    for total, rows in zip(sums, ROWS, strict=True):
        np.add(evidence[rows.start], evidence[rows.start + 1], out=total)
        for row in range(rows.start + 2, rows.stop):
            np.add(total, evidence[row], out=total)
    return sums


def total_of(families: Float) -> Float:
    """Return the evidence S [k] of the family sums [5, k]."""
    total: Float = (families[0] + families[1]) + (families[2] + families[3]) + families[4]
    return total
