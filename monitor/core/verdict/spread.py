"""How large the errors are once level, drift and gain have left them: a factor on u, or outliers.

Rules of this file: likelihoods of size and shape on a grid, from the normal to Student's t with
three degrees of freedom, because the mean square of a few heavy-tailed errors says little.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import scipy

from monitor.core.model import Float
from monitor.core.verdict.pairs import FAR, Pairs, median, robust_scale
from monitor.core.verdict.verdict import NOTHING, Estimate, share

_NU: Final = np.array([3.0, 4.0, 6.0, 12.0, 100.0])
_CONSTANT: Final = (
    scipy.special.gammaln(0.5 * (_NU + 1.0))
    - scipy.special.gammaln(0.5 * _NU)
    - 0.5 * np.log(np.pi * (_NU - 2.0))
)
_STEPS: Final = np.linspace(-1.0, 1.0, 33)
_WIDEST: Final = 1.4  # of the grid, in logarithms
_GROUPS: Final = 96
_ALONE: Final = 32
_HONEST: Final = np.linspace(0.8, 1.25, 7)
_FAR_HONEST: Final = 0.005  # share of |z| > 4 of an honest sensor with heavy tails
_SHAPE_MOST: Final = 20.0  # log likelihood that the past may say for or against a shape


class Spread(NamedTuple):
    """``factor``: by how much larger errors are than stated.

    ``outliers`` is the log likelihood by which a few far errors explain them better than a factor.
    """

    factor: Estimate
    outliers: float


class Far(NamedTuple):
    """The share of far errors from ``start`` on.

    ``surprise`` is the log likelihood gained by its being larger than an honest sensor's.
    """

    start: int
    share: Estimate
    surprise: float


def shape_of(q: Float) -> Float:
    """Return log likelihoods of the shapes for errors that are about as large as stated."""
    near = q[np.abs(q) < 6.0 * robust_scale(q)]
    likely = log_density(near, _HONEST[1::2]).sum(axis=2).max(axis=1)
    return np.maximum(likely - likely.max(), -_SHAPE_MOST)


def log_density(q: Float, factor: Float) -> Float:
    """Return log densities [shape, factor, pair] of t distributions of deviation ``factor``."""
    square = (q * q) / (factor * factor)[:, None]
    nu = _NU[:, None, None]
    shaped = -0.5 * (nu + 1.0) * np.log1p(square / (nu - 2.0))
    return np.asarray(shaped + _CONSTANT[:, None, None] - np.log(factor)[:, None])


def spread_of(q: Float, inflation: float, lost: float, shape: Float | float = 0.0) -> Spread:
    """Return what residuals ``q`` (over stated spread) say; ``lost`` parameters were fitted.

    ``shape`` is what earlier errors said of the shape, as :func:`shape_of` has it.
    """
    if q.size < 3:
        return Spread(NOTHING, -np.inf)
    q = q * np.sqrt(q.size / max(q.size - lost, 1.0))
    rows, each = _grouped(q)
    prior = np.broadcast_to(shape, _NU.shape)[:, None]
    factors = _grid(q, rows, each, inflation)
    likely = log_density(rows, factors) @ each + prior
    weight = np.exp((likely - likely.max()) / inflation).sum(axis=0)
    found = np.exp(np.interp([0.5, 0.025, 0.975], _cumulated(weight), np.log(factors)))
    return Spread(Estimate(*found.tolist()), _outliers(rows, each, prior, float(likely.max())))


def _grouped(q: Float) -> tuple[Float, Float]:
    """Return the errors and how often each counts: of many, the small ones in groups.

    The root mean squares of neighbours in size say the same of size and shape; the largest stay
    alone.
    """
    if q.size <= _GROUPS + _ALONE:
        return q, np.ones(q.size)
    square = np.sort(q * q)
    edges = np.linspace(0, q.size - _ALONE, _GROUPS + 1).astype(np.int64)
    counts = np.diff(edges)
    small = np.add.reduceat(square[: edges[-1]], edges[:-1]) / counts
    rows = np.sqrt(np.concatenate([small, square[edges[-1] :]]))
    return rows, np.concatenate([counts, np.ones(_ALONE)])


def _grid(q: Float, rows: Float, each: Float, inflation: float) -> Float:
    """Return factors about the likeliest one, as far apart as so many pairs can tell."""
    robust = 1.4826 * median(np.abs(q))
    centre = max(robust, 0.3 * float(np.sqrt(np.mean(q * q))), 1e-6)
    coarse = centre * np.exp(_WIDEST * _STEPS)
    reach = 12.0 * np.sqrt(inflation / q.size)
    if reach >= 1.0:
        return np.asarray(coarse)
    likely = (log_density(rows, coarse) @ each).max(axis=0)
    best = float(coarse[int(np.argmax(likely))])
    return best * np.exp(max(reach, 0.1) * _STEPS)


def _cumulated(weight: Float) -> Float:
    below = np.cumsum(weight)
    return np.asarray((below - 0.5 * weight) / below[-1])


def _outliers(q: Float, each: Float, prior: Float, scaled: float) -> float:
    """Return log likelihood of honest errors with some far ones less that of wider errors."""
    far = np.abs(q) > FAR
    hits, n = float(each[far].sum()), float(each.sum())
    if hits < 2.0 or hits == n:
        return -np.inf
    p, wide = hits / n, float(np.sqrt(each[far] @ q[far] ** 2 / hits))
    honest = log_density(q, _HONEST) + np.log(1.0 - p)
    other = np.log(p) - 0.5 * (q / wide) ** 2 - np.log(wide * np.sqrt(2.0 * np.pi))
    likely = np.logaddexp(honest, other) @ each + prior
    return float(likely.max()) - scaled


def far_since(off: Float) -> Far:
    """Return since when more errors are far off than an honest sensor's.

    The pair that the beginning is known by is not counted in the share.
    """
    at = np.flatnonzero(np.abs(off) > FAR)
    if at.size == 0:
        return Far(0, NOTHING, 0.0)
    pairs, hits = off.size - at, np.arange(at.size, 0, -1)
    rate = np.minimum(hits / pairs, 0.999)
    likely = hits * np.log(rate / _FAR_HONEST)
    likely += (pairs - hits) * np.log((1.0 - rate) / (1.0 - _FAR_HONEST))
    best = int(np.argmax(np.where(rate > _FAR_HONEST, likely, 0.0)))
    counted = share(int(hits[best]) - 1, float(pairs[best]) - 1.0)
    return Far(int(at[best]), counted, max(float(likely[best]), 0.0))


def on_stated(p: Pairs, start: int, factor: Estimate) -> Estimate:
    """Return the factor on u that makes up for a factor on the error's whole uncertainty."""
    if not p.is_resolved or not factor.is_known:
        return NOTHING
    u, of_reference = (median(each[start:] ** 2) for each in (p.u, p.u_ref))
    if not u > 0.0:
        return NOTHING
    whole = u + of_reference
    return Estimate(*(float(np.sqrt(max(k * k * whole - of_reference, 0.0) / u)) for k in factor))
