"""How large the errors are without level, drift and gain: a factor on u, or outliers.

Rules of this file: likelihoods of size and shape are computed on a grid, from the normal to
Student's t with three degrees of freedom, because the mean square of a few heavy-tailed errors says
little.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Bool, Float, Int
from monitor.core.verdict.pairs import Side, inflation, lag_ones
from monitor.core.verdict.rows import (
    FAR,
    LANES,
    TO_SD,
    dots,
    medians,
    padded,
    robust_scales,
    sums,
    width_of,
)
from monitor.core.verdict.verdict import NOTHING, Estimate, share

_NU: Final = np.array([3.0, 4.0, 6.0, 12.0, 100.0])
SHAPES: Final = _NU.size
_CONSTANT: Final = np.array(
    [math.lgamma(0.5 * (nu + 1.0)) - math.lgamma(0.5 * nu) for nu in _NU]
) - 0.5 * np.log(np.pi * (_NU - 2.0))
_STEPS: Final = np.linspace(-1.0, 1.0, 33)
_WIDEST: Final = 1.4  # half-width of the grid, in logarithms
_GROUPS: Final = 96
_ALONE: Final = 32
_FEWEST: Final = 3
HISTORY: Final = 30  # pairs before a fault that show what the sensor is like when it is right
_ENDS: Final = np.array([0.5, 0.025, 0.975])
_HONEST: Final = np.linspace(0.8, 1.25, 7)
_FAR_HONEST: Final = 0.005  # share of |z| > 4 of an honest sensor with heavy tails
_FROM_0: Final = 0.1  # share of a factor's upper end; a lower end below that may as well be 0
_LEAST_TOLD: Final = 0.03  # a lower end below that may be 0 as well: levels are rounded to it
_LEAST_SAID: Final = 0.1  # the least upper end given for such a factor
_LEAST_OWN: Final = 1e-4  # of the other's square, below which a share of u is as good as none
_WILD: Final = 20.0  # robust scales from which an error is a bad row, if there are few such
_FEW_WILD: Final = 0.01
_TAMED_FROM: Final = 16  # pairs
_TRIMMED: Final = 0.12  # share of the largest errors that is ignored when centring the grid
_FLOORED: Final = 4.0  # times the stated; uncertainties that resolution raised more are not stated
_VARIES: Final = 1.2  # times the smallest u; one that varies less is as good as constant
_WORSE: Final = 0.01  # log likelihood of a pair by which a u must be worse than a constant
_SURE: Final = 2.0  # standard errors of that; a u that tells something is some below 0
_SHAPE_MOST: Final = 20.0  # most log likelihood that the past may add for or against a shape


class Spread(NamedTuple):
    """The size of errors: ``factor`` is how many times larger than stated they are.

    ``outliers`` is the log likelihood by which a few far errors explain them better than a factor.
    """

    factor: Estimate
    outliers: float


class Far(NamedTuple):
    """The share of far errors from ``start`` on.

    ``surprise`` is the log likelihood gained by a share larger than an honest sensor's.
    """

    start: int
    share: Estimate
    surprise: float


def shapes_of(rows: Float, n: Int) -> Float:
    """Return log likelihoods [series, shapes] of errors that are about as large as stated.

    The first ``n`` of each row count; a few errors say nothing about the shape.
    """
    shapes = np.zeros((n.size, _NU.size))
    some = np.flatnonzero(n >= HISTORY)
    if some.size:
        width = width_of(n[some])
        q, live = rows[some, :width], np.arange(width) < n[some, None]
        near = live & (np.abs(q) < 6.0 * robust_scales(q, live)[:, None])
        honest = np.broadcast_to(_HONEST[1::2], (some.size, 3))
        likely = log_likelihoods(q, near.astype(np.float64), honest).max(axis=2)
        shapes[some] = np.maximum(likely - likely.max(axis=1, keepdims=True), -_SHAPE_MOST)
    return shapes


def log_likelihoods(q: Float, each: Float, factor: Float) -> Float:
    """Return log likelihoods [series, shape, factor] of t distributions of deviation ``factor``.

    ``each`` says how often an error q [series, pairs] counts. One series at a time, so that its
    grid fits in a processor's cache.
    """
    inverse = 1.0 / ((factor * factor)[:, None] * (_NU - 2.0)[:, None])
    squares, spread = q * q, np.empty(inverse.shape)
    grid = np.empty((_NU.size, factor.shape[1], q.shape[1]))
    for row, (square, counts) in enumerate(zip(squares, each, strict=True)):
        np.multiply(square, inverse[row, :, :, None], out=grid)
        np.log1p(grid, out=grid)
        np.einsum("fgr,r->fg", grid, counts, out=spread[row])
    spread *= -0.5 * (_NU[:, None] + 1.0)
    return np.asarray(
        spread + (_CONSTANT[:, None] - np.log(factor)[:, None]) * sums(each)[:, None, None]
    )


def log_densities(q: Float, factor: Float) -> Float:
    """Return log densities [series, shape, factor, pair] of t distributions."""
    inverse = 1.0 / ((factor * factor)[:, None] * (_NU - 2.0)[:, None])
    shaped = np.log1p((q * q)[:, None, None] * inverse[..., None])
    shaped *= -0.5 * (_NU[:, None, None] + 1.0)
    shaped += (_CONSTANT[:, None] - np.log(factor)[:, None])[..., None]
    return np.asarray(shaped)


def spreads_of(rows: list[Float], inflation: Float, lost: Float, shape: Float) -> list[Spread]:
    """Return the spread of residuals (over stated spread) after fitting ``lost`` parameters.

    ``shape`` is the log likelihood of each shape from earlier errors, see :func:`shapes_of`.
    """
    spreads = [Spread(NOTHING, -np.inf)] * len(rows)
    groups: dict[int, list[int]] = {}
    rows = [_tamed(each) for each in rows]
    for i, each in enumerate(rows):
        if each.size >= _FEWEST:
            width = min(each.size, _GROUPS + _ALONE)
            groups.setdefault(-(-width // LANES), []).append(i)
    for some in groups.values():
        of_some = _spreads_of([rows[i] for i in some], inflation[some], lost[some], shape[some])
        for i, spread in zip(some, of_some, strict=True):
            spreads[i] = spread
    return spreads


def _tamed(row: Float) -> Float:
    """Return errors without the wild ones, if there is only one or at most one in a hundred.

    No heavy tail reaches so far. Such a bad row would otherwise become a factor on u.
    """
    if row.size < _TAMED_FROM:
        return row
    size = np.abs(row)
    wild = size > _WILD * TO_SD * float(np.median(size))
    few = 0 < np.count_nonzero(wild) <= max(1.0, _FEW_WILD * row.size)
    return row[~wild] if few and np.median(size) > 0.0 else row


def _spreads_of(rows: list[Float], inflation: Float, lost: Float, shape: Float) -> list[Spread]:
    q, n = padded(rows), np.array([each.size for each in rows])
    q *= np.sqrt(n / np.maximum(n - lost, 1.0))[:, None]
    row, each = _grouped(q, n)
    prior = shape[:, :, None]
    factors = _grid(q, n, row, each, inflation)
    likely = log_likelihoods(row, each, factors) + prior
    best = likely.max(axis=(1, 2))
    weight = np.exp((likely - best[:, None, None]) / inflation[:, None, None]).sum(axis=1)
    below = np.cumsum(weight, axis=1)
    below = (below - 0.5 * weight) / below[:, -1:]
    steps = np.log(factors)
    ends = np.exp([np.interp(_ENDS, *each) for each in zip(below, steps, strict=True)])
    outliers = _outliers(row, each, prior, best)
    return [
        Spread(Estimate(*one), other)
        for one, other in zip(ends.tolist(), outliers.tolist(), strict=True)
    ]


def _grouped(q: Float, n: Int) -> tuple[Float, Float]:
    """Return the errors and how often each counts; if there are many, the small ones in groups.

    The root mean square of errors of similar size carries the same information on size and shape;
    the largest errors stay alone.
    """
    most = _GROUPS + _ALONE
    width = min(q.shape[1], -(-min(int(n.max()), most) // LANES) * LANES)
    rows = q[:, :width].copy()
    each = (np.arange(width) < n[:, None]).astype(np.float64)
    many = np.flatnonzero(n > most)
    if many.size:
        square = np.sort(np.where(np.arange(q.shape[1]) < n[many, None], q[many] ** 2, np.inf))
        edges = np.linspace(0, n[many] - _ALONE, _GROUPS + 1, axis=1).astype(np.int64)
        flat = edges + (np.arange(many.size) * q.shape[1])[:, None]
        counts = np.diff(edges, axis=1)
        small = np.add.reduceat(square.ravel(), flat.ravel()).reshape(edges.shape)[:, :-1]
        large = edges[:, -1:] + np.arange(_ALONE)
        rows[many, :_GROUPS] = np.sqrt(small / counts)
        rows[many, _GROUPS:] = np.sqrt(np.take_along_axis(square, large, axis=1))
        each[many, :_GROUPS], each[many, _GROUPS:] = counts, 1.0
    return rows, each


def _grid(q: Float, n: Int, rows: Float, each: Float, inflation: Float) -> Float:
    """Return factors around the likeliest one, as far apart as so many pairs can resolve."""
    robust = TO_SD * medians(np.abs(q), np.arange(q.shape[1]) < n[:, None])
    centre = np.maximum(np.maximum(robust, 0.3 * _trimmed(q, n)), 1e-6)
    grid = centre[:, None] * np.exp(_WIDEST * _STEPS)
    reach = 12.0 * np.sqrt(inflation / n)
    many = np.flatnonzero(reach < 1.0)
    if many.size:
        likely = log_likelihoods(rows[many], each[many], grid[many]).max(axis=1)
        best = grid[many, np.argmax(likely, axis=1)]
        grid[many] = best[:, None] * np.exp(np.maximum(reach[many], 0.1)[:, None] * _STEPS)
    return grid


def _trimmed(q: Float, n: Int) -> Float:
    """Return root mean squares without the largest errors, unless all others are 0.

    A few bad rows must not say how large the errors are.
    """
    square = np.sort(np.where(np.arange(q.shape[1]) < n[:, None], q * q, np.inf), axis=1)
    inner = n - np.ceil(_TRIMMED * n).astype(np.int64)
    below = sums(np.where(np.arange(q.shape[1]) < inner[:, None], square, 0.0))
    return np.sqrt(np.where(below > 0.0, below / np.maximum(inner, 1), dots(q, q) / n))


def _outliers(q: Float, each: Float, prior: Float, scaled: Float) -> Float:
    """Return log likelihoods of honest errors with some far ones, less those of wider errors."""
    far = np.where(np.abs(q) > FAR, each, 0.0)
    hits, n = sums(far), sums(each)
    evidence = np.full(n.size, -np.inf)
    some = np.flatnonzero((hits >= 2.0) & (hits < n))
    if some.size:
        q, each, p = q[some], each[some], (hits[some] / n[some])[:, None]
        wide = np.sqrt(dots(far[some], q * q) / hits[some])[:, None]
        honest = log_densities(q, np.broadcast_to(_HONEST, (some.size, _HONEST.size)))
        honest += np.log(1.0 - p)[..., None, None]
        other = np.log(p) - 0.5 * (q / wide) ** 2 - np.log(wide * np.sqrt(2.0 * np.pi))
        apart = other[:, None, None] - honest
        honest = np.maximum(other[:, None, None], honest)
        honest += np.log1p(np.exp(-np.abs(apart)))
        likely = np.einsum("sfgr,sr->sfg", honest, each) + prior[some]
        evidence[some] = likely.max(axis=(1, 2)) - scaled[some]
    return evidence


def far_since(off: Float, live: Bool, n: Int) -> list[Far]:
    """Return since when more errors of each series are far off than an honest sensor's.

    The share leaves out the pair that marks the beginning.
    """
    row, at = np.nonzero((np.abs(off) > FAR) & live)
    far = [Far(0, NOTHING, 0.0)] * n.size
    if not row.size:
        return far
    counts = np.bincount(row, minlength=n.size)
    pairs = n[row] - at
    hits = np.cumsum(counts)[row] - np.arange(row.size)
    rate = np.minimum(hits / pairs, 0.999)
    likely = hits * np.log(rate / _FAR_HONEST)
    likely += (pairs - hits) * np.log((1.0 - rate) / (1.0 - _FAR_HONEST))
    likely = np.where(rate > _FAR_HONEST, likely, 0.0)
    first = np.cumsum(counts) - counts
    for i in np.flatnonzero(counts).tolist():
        best = int(first[i]) + int(np.argmax(likely[first[i] : first[i] + counts[i]]))
        counted = share(int(hits[best]) - 1, float(pairs[best]) - 1.0)
        far[i] = Far(int(at[best]), counted, max(float(likely[best]), 0.0))
    return far


def better_constants(p: Side, level: Float, used: Bool) -> Float:
    """Return the constant u that scores better than the stated ones of each series, NaN for none.

    Both are compared by the likelihood of sizes that vary as a Laplace law's, each at its best
    scale: far errors decide little there. ``level`` is that of the errors, in typical
    uncertainties; the size of the constant is that of the ``used`` errors.
    """
    constants = np.full(p.n.size, np.nan)
    size = np.abs(p.error - (level * p.unit)[:, None]) * p.live
    least = np.where(p.live, p.stated, np.inf).min(axis=1)
    varies = (p.stated * p.live).max(axis=1) > _VARIES * least
    rows = np.flatnonzero(varies & p.is_resolved & (p.n >= HISTORY) & size.any(axis=1))
    if not rows.size:
        return constants
    live, n, s, size = p.live[rows], p.n[rows], p.stated[rows], size[rows]
    plain, scaled = sums(size) / n, sums(size / s) / n
    of_u, of_constant = size / (scaled[:, None] * s), size / plain[:, None]
    worse = (np.log(s * (scaled / plain)[:, None]) + of_u - of_constant) * live
    mean = sums(worse) / n
    about = (worse - mean[:, None]) * live
    se = np.sqrt(dots(about, about) * inflation(lag_ones(worse, live, n))) / n
    near = used[rows]
    square = sums((size**2 - p.u_ref[rows] ** 2 + p.fixed[rows] ** 2) * near)
    shown = (mean > np.maximum(_WORSE, _SURE * se)) & (square > 0.0)
    u = np.sqrt(np.maximum(square, 0.0) / np.maximum(np.count_nonzero(near, axis=1), 1))
    constants[rows] = np.where(shown, u, np.nan)
    return constants


class Own(NamedTuple):
    """The sensor's share of the uncertainty of its errors, of each series.

    That of the errors is ``times`` the sensor's. ``u`` is the square of the sensor's, ``by_chance``
    that of the errors by chance, and ``rest`` what these have less than ``u``.
    """

    times: Float
    u: Float
    by_chance: Float
    rest: Float

    def factors(self, of_errors: Float) -> Float:
        """Return the factors on the sensor's u for factors on the errors' u by chance."""
        return np.sqrt(np.maximum(of_errors**2 * self.by_chance + self.rest, 0.0) / self.u)

    def of_errors(self, factors: Float) -> Float:
        """Return the factors on the errors' u by chance for factors on the sensor's u."""
        return np.sqrt(np.maximum(factors**2 * self.u - self.rest, 0.0) / self.by_chance)


def own_of(p: Side) -> Own:
    """Return the sensor's share; all of it where no reference has an uncertainty."""
    times, u, by_chance, rest = np.ones((4, p.n.size))
    rest -= 1.0
    rows = np.flatnonzero((p.u_ref > 0.0).any(axis=1))
    if rows.size:
        live = p.live[rows]
        own, of_reference, fixed = (
            medians(each[rows] ** 2, live) for each in (p.u, p.u_ref, p.fixed)
        )
        u[rows] = np.maximum(own, _LEAST_OWN * of_reference)
        times[rows] = np.sqrt(1.0 + of_reference / u[rows])
        rest[rows] = fixed - of_reference
        by_chance[rows] = np.maximum(u[rows] - rest[rows], _LEAST_OWN * u[rows])
    return Own(times, u, by_chance, rest)


Parts = tuple[float, float, float]


def parts_of(p: Side, start: Int) -> list[Parts | None]:
    """Return typical u^2, u_ref^2 and the systematic part of both, of each series.

    From ``start`` on. None where doubles do not resolve the uncertainties, or where one huge error
    hides the others.
    """
    inside = (p.columns >= start[:, None]) & p.live
    each = [medians(part * part, inside) for part in (p.u, p.u_ref, p.fixed)]
    known = p.is_resolved & (p.unit**2 <= _FLOORED**2 * np.add(each[0], each[1]))
    rows = zip(*(part.tolist() for part in each), known.tolist(), strict=True)
    return [(u, ref, fixed) if known and u > 0.0 else None for u, ref, fixed, known in rows]


def on_stated(parts: Parts | None, factor: Estimate) -> Estimate:
    """Return the factor on u that corresponds to a factor on the error's uncertainty by chance.

    A factor below 1 that may be 0 has an upper end only: errors that are all alike, or a reference
    as uncertain as the sensor, do not show how certain the sensor is.
    """
    if parts is None or not factor.is_known:
        return NOTHING
    u, of_reference, fixed = parts
    by_chance, rest = u + of_reference - fixed, fixed - of_reference
    factors = Estimate(*(math.sqrt(max(k * k * by_chance + rest, 0.0) / u) for k in factor))
    if factors.upper < 1.0 and factors.lower < max(_FROM_0 * factors.upper, _LEAST_TOLD):
        return Estimate(math.nan, math.nan, max(factors.upper, _LEAST_SAID))
    return factors
