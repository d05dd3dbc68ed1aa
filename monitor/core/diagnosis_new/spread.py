"""How large the errors are once level, drift and gain have left them: factor on u, or outliers.

Rules of this file: likelihoods of scale and shape on a grid, normal to Student's t with three
degrees of freedom, because the variance of a few heavy-tailed errors says little of them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.diagnosis_new.estimate import NOTHING, Estimate, share
from monitor.core.model import Bool, Float

FAR: Final = 4.0
_NU: Final = np.array([3.0, 4.0, 6.0, 12.0, 100.0])
_STEPS: Final = 33
_GROUPS: Final = 1024
_FAR_HONEST: Final = 0.005
_HONEST: Final = (0.8, 1.25)


class Spread(NamedTuple):
    """``factor``: by what u should be multiplied; ``far``: the share of outliers.

    ``outliers`` is the log likelihood by which outliers explain the errors better than a factor.
    """

    factor: Estimate
    far: Estimate
    outliers: float


def _log_constants() -> Float:
    from scipy.special import gammaln

    nu = _NU
    return gammaln(0.5 * (nu + 1)) - gammaln(0.5 * nu) - 0.5 * np.log(np.pi * (nu - 2.0))


_CONSTANT: Final = _log_constants()


def log_density(q: Float, factor: Float) -> Float:
    """Return log densities [nu, factor, pairs] of t distributions of standard deviation factor."""
    square = (q * q)[None, None, :] / (factor * factor)[None, :, None]
    nu = _NU[:, None, None]
    shaped = -0.5 * (nu + 1.0) * np.log1p(square / (nu - 2.0))
    return shaped + _CONSTANT[:, None, None] - np.log(factor)[None, :, None]


def shape_of(q: Float) -> Float:
    """Return log likelihoods of the shapes for errors that are as large as stated."""
    scale = max(1.0, 1.4826 * float(np.median(np.abs(q)))) if q.size else 1.0
    near = q[np.abs(q) < 6.0 * scale]
    factors = np.array([0.85, 1.0, 1.15])
    likely = log_density(near, factors).sum(axis=2).max(axis=1)
    return likely - likely.max()


def spread_of(q: Float, inflation: float, lost: float, shape: Float | float = 0.0) -> Spread:
    """Return what residuals ``q`` (over stated spread) say; ``lost`` parameters were fitted.

    ``shape``: what is known of the shape from before, as :func:`shape_of` has it.
    """
    n = q.size
    if n < 3:
        return Spread(NOTHING, NOTHING, -np.inf)
    q = q * np.sqrt(n / max(n - lost, 1.0))
    robust = 1.4826 * float(np.median(np.abs(q)))
    centre = max(robust, 0.3 * float(np.sqrt(np.mean(q * q))), 1e-6)
    reach = float(np.clip(12.0 * np.sqrt(inflation / n), 0.05, 1.4))
    factors = _grid(q, centre, reach)
    rows, each = _thinned(q)
    every = log_density(rows, factors)
    prior = np.maximum(np.broadcast_to(shape, _NU.shape), -20.0)
    likely = each * every.sum(axis=2) + prior[:, None]
    weight = np.exp((likely - likely.max()) / inflation)
    factor = _quantiles(np.log(factors), weight.sum(axis=0))
    far = np.abs(q) > FAR
    hits = int(far.sum())
    return Spread(factor, share(hits, n), _outliers(q, far, prior, float(likely.max())) if hits > 1 else -np.inf)


def _grid(q: Float, centre: float, reach: float) -> Float:
    """Return factors about the likeliest one; coarse first where the data will tell exactly."""
    steps = np.linspace(-1.4, 1.4, _STEPS)
    if reach >= 1.0:
        return centre * np.exp(steps)
    coarse = centre * np.exp(steps)
    likely = log_density(_thinned(q)[0], coarse).sum(axis=2)
    best = coarse[int(np.argmax(likely.max(axis=0)))]
    return best * np.exp(steps / 1.4 * max(reach, 0.1))


def _thinned(q: Float) -> tuple[Float, float]:
    """Return the errors, of very many the root mean squares of groups, and how many each is."""
    if q.size <= 2 * _GROUPS:
        return q, 1.0
    square = np.sort(q * q)
    edges = np.linspace(0, q.size, _GROUPS + 1).astype(np.int64)
    return np.sqrt(np.add.reduceat(square, edges[:-1]) / np.diff(edges)), q.size / _GROUPS


class Far(NamedTuple):
    """The share of far errors from ``start`` on; ``surprise`` log likelihood of its being larger."""

    start: int
    share: Estimate
    surprise: float


def far_since(off: Float, kept: Bool) -> Far:
    """Return since when more errors are far off than an honest sensor's.

    The pair that the beginning is known by is not counted in the share.
    """
    far = np.abs(off) > FAR
    at = np.flatnonzero(far)
    if at.size == 0:
        return Far(0, NOTHING, 0.0)
    pairs = off.size - at
    hits = np.arange(at.size, 0, -1)
    rate = np.minimum(hits / pairs, 0.999)
    likely = hits * np.log(rate / _FAR_HONEST)
    likely += (pairs - hits) * np.log((1.0 - rate) / (1.0 - _FAR_HONEST))
    likely = np.where(rate > _FAR_HONEST, likely, 0.0)
    best = int(np.argmax(likely))
    start = int(at[best])
    return Far(start, share(int(hits[best]) - 1, float(pairs[best]) - 1.0), float(likely[best]))


def _quantiles(grid: Float, weight: Float) -> Estimate:
    """Return median and 95 % interval of a distribution given on a grid of logarithms."""
    below = np.cumsum(weight)
    below = (below - 0.5 * weight) / below[-1]
    value, lower, upper = np.exp(np.interp([0.5, 0.025, 0.975], below, grid))
    return Estimate(float(value), float(lower), float(upper))


def _outliers(q: Float, far: np.ndarray, prior: Float, scaled: float) -> float:
    """Return log likelihood of honest errors with some far ones less that of wider errors."""
    p = float(far.mean())
    wide = float(np.sqrt(np.mean(q[far] ** 2)))
    factors = np.linspace(*_HONEST, 7)
    q, each = _thinned(q)
    honest = log_density(q, factors) + np.log(1.0 - p) if p < 1.0 else log_density(q, factors)
    other = np.log(max(p, 1e-6)) - 0.5 * (q / wide) ** 2 - np.log(wide * np.sqrt(2.0 * np.pi))
    likely = np.logaddexp(honest, other[None, None, :]).sum(axis=2) * each + prior[:, None]
    return float(likely.max()) - scaled
