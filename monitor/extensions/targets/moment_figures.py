"""Regulators' figures as functions of five means: of x, y, x squared, y squared and xy.

Rules of this file: x is the reference, y the sensor, both less an origin so that nothing cancels;
rows are (..., 5) and results (figures, ...), so that the jackknife computes all its replicates at
once. Figures are on scales on which their distribution is near normal; ``plain`` undoes that.

Sources: "Guide to the demonstration of equivalence of ambient air monitoring methods" (2010) for
the orthogonal regression, u_CR, W and u_bs; EPA/600/R-20/279 and 280 for the others.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Float

COVERAGE_FACTOR: Final = 2.0
_LEAST: Final = 1e-9  # stands for 0 on a logarithmic scale


class MomentOrigin(NamedTuple):
    """The point from which means are taken."""

    x: float
    y: float


class OrthogonalLine(NamedTuple):
    """The orthogonal regression y = a + b x with the standard uncertainties of a and b."""

    a: float
    b: float
    u_a: float
    u_b: float
    rss: float


def moment_rows(x: Float, y: Float, origin: MomentOrigin) -> Float:
    """Return the rows (n x 5) whose means the figures are made of."""
    p, q = x - origin.x, y - origin.y
    return np.stack([p, q, p * p, q * q, p * q], axis=1)


def _spreads(means: Float) -> tuple[Float, Float, Float, Float, Float]:
    """Return the means of x and y, their variances and covariance."""
    x, y, xx, yy, xy = np.moveaxis(means, -1, 0)
    return x, y, xx - x * x, yy - y * y, xy - x * y


def _slope(s_xx: Float, s_yy: Float, s_xy: Float) -> Float:
    """Return the slope of the orthogonal regression, NaN where neither varies with the other."""
    steep = s_yy - s_xx
    over = np.full(np.shape(s_xy), np.nan)
    return np.divide(steep + np.hypot(steep, 2.0 * s_xy), 2.0 * s_xy, out=over, where=s_xy != 0.0)


class AtLimit(NamedTuple):
    """The parts of the uncertainty at a limit value: variance of the scatter, and the bias."""

    scatter: Float
    bias: Float


def parts_at_limit(
    means: Float, n: int, origin: MomentOrigin, limit: float, u_ref: float
) -> AtLimit:
    """Return RSS/(n - 2) - u_ref^2, which may be below 0, and a + (b - 1) times the limit value."""
    x, y, s_xx, s_yy, s_xy = _spreads(means)
    b = _slope(s_xx, s_yy, s_xy)
    rss = n * (s_yy - 2.0 * b * s_xy + b * b * s_xx)
    bias = origin.y + y + b * (limit - origin.x - x) - limit
    return AtLimit(rss / (n - 2) - u_ref * u_ref, bias)


def log_expanded(means: Float, n: int, origin: MomentOrigin, limit: float, u_ref: float) -> Float:
    """Return the logarithm of W = 2 u_CR / limit; a scatter below 0 counts as 0."""
    parts = parts_at_limit(means, n, origin, limit, u_ref)
    combined = np.sqrt(np.maximum(parts.scatter, 0.0) + parts.bias**2)
    return np.log(np.maximum(COVERAGE_FACTOR * combined / limit, _LEAST))[None]


def orthogonal_line(x: Float, y: Float) -> OrthogonalLine:
    """Return the orthogonal regression of some averages, with the guide's uncertainties."""
    n, origin = x.size, MomentOrigin(float(x.mean()), float(y.mean()))
    _, _, s_xx, s_yy, s_xy = _spreads(moment_rows(x, y, origin).mean(axis=0))
    b = float(_slope(s_xx, s_yy, s_xy))
    a = origin.y - b * origin.x
    variance_b = float((s_yy - s_xy * s_xy / s_xx) / ((n - 2) * s_xx))
    u_b = max(variance_b, 0.0) ** 0.5
    rss = float(((y - a - b * x) ** 2).sum())
    return OrthogonalLine(a, b, u_b * float(np.sqrt((x * x).mean())), u_b, rss)


EPA_FIGURES: Final = ("R2", "slope", "intercept", "RMSE", "NRMSE")


def performance_scales(means: Float, origin: MomentOrigin) -> Float:
    """Return the figures ``EPA_FIGURES`` on their scales, by ordinary least squares on x."""
    x, y, s_xx, s_yy, s_xy = _spreads(means)
    slope = s_xy / s_xx
    r = np.sqrt(np.clip(s_xy * s_xy / np.maximum(s_xx * s_yy, _LEAST**2), 0.0, 1.0 - _LEAST))
    offset = origin.y - origin.x + y - x
    rmse = np.sqrt(np.maximum(offset * offset + s_xx + s_yy - 2.0 * s_xy, _LEAST**2))
    intercept = origin.y + y - slope * (origin.x + x)
    nrmse = rmse / np.maximum(np.abs(origin.x + x), _LEAST)
    return np.stack([np.arctanh(r), slope, intercept, np.log(rmse), np.log(nrmse)])


def plain_performance(scales: Float) -> Float:
    """Return the figures ``EPA_FIGURES`` themselves, from their scales (5, ...)."""
    r, slope, intercept, rmse, nrmse = scales
    return np.stack(
        [np.tanh(np.maximum(r, 0.0)) ** 2, slope, intercept, np.exp(rmse), np.exp(nrmse)]
    )


def between_scales(means: Float, n: int, units: int) -> Float:
    """Return the logarithms of SD, CV and u_bs of units that stood beside one another.

    ``means`` are, over the common periods, those of the units' squared distances from their mean,
    added up, and of that mean. SD and CV are the EPA's; u_bs is the guide's, of any number of
    units: for two the root of the sum of (y1 - y2)^2 over 2 n.
    """
    square, level = np.moveaxis(means, -1, 0)
    sd = np.sqrt(np.maximum(n * square / (n * units - 1), _LEAST**2))
    cv = sd / np.maximum(np.abs(level), _LEAST)
    u_bs = np.sqrt(np.maximum(square / (units - 1), _LEAST**2))
    return np.log(np.stack([sd, cv, u_bs]))
