"""Calibration: do the errors agree with the stated uncertainties, on average and in parts.

Rules of this file: one number a series, NaN where it is not defined; calibration uses u_eff (with
the reference's uncertainty), only NLL judges u alone, as the scores do. Variances take two
passes. Source: Pernot (arXiv 2402.10043v2), cited as B, with its RCE identity corrected:
for constant u it is RCE = 1 - sqrt(ZMS). Bins and sortings are in ``bins``.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import scipy

from monitor.core.columns import ROUNDING, Columns, coverage_factor, ratio
from monitor.core.model import Float, Int
from monitor.core.scores.proper_scores import log_u, norm, stated_z

# If dropping the first or the last pair leaves less than this share of the spread, sums are redone.
_RULED: Final = 0.05


def bias(c: Columns) -> Float:
    """Mean error."""
    return c.mean(c.error)


def mae(c: Columns) -> Float:
    """Mean absolute error."""
    return c.mean(np.abs(c.error))


def mean_square_error(c: Columns) -> Float:
    """Mean squared error (B-04)."""
    return c.mean(c.error_square)


def mean_variance(c: Columns) -> Float:
    """Mean of u_eff^2 (B-04)."""
    return c.mean(c.variance)


def rmse(c: Columns) -> Float:
    """Root mean square error."""
    return np.sqrt(c.once(mean_square_error))


def ce(c: Columns) -> Float:
    """Calibration error MSE - MV (B-04), in squared units; 0 when calibrated."""
    return c.once(mean_square_error) - c.once(mean_variance)


def rce(c: Columns) -> Float:
    """Relative calibration error 1 - sqrt(<E^2>/<u_eff^2>) (B-05); 0 when calibrated."""
    return 1.0 - np.sqrt(ratio(c.once(mean_square_error), c.once(mean_variance)))


def z_mean(c: Columns) -> Float:
    """Mean of z = error / u_eff."""
    return c.mean(c.z)


def z_square(c: Columns) -> Float:
    """Rows of z^2."""
    return c.z * c.z


def zms(c: Columns) -> Float:
    """Mean of z^2 (B-09): 1 when calibrated, above 1 when u is understated."""
    return c.mean(c.once(z_square))


def z_var(c: Columns) -> Float:
    """Variance of z (divisor n - 1, two passes): ZMS without the offset; NaN for one pair."""
    return ratio(c.once(z_square_sum), c.counts - 1)


def z_central(c: Columns) -> Float:
    """Rows of z less its mean."""
    return c.z - c.spread(c.once(z_mean))


def z_square_sum(c: Columns) -> Float:
    """Sum of squares of z about its mean."""
    off = c.once(z_central)
    return c.sum(off * off)


def z_lag1(c: Columns) -> Float:
    """Pearson correlation of each z with the next; NaN below three pairs or without spread.

    The sums over the first n - 1 and the last n - 1 pairs come from those over all n less one.
    """
    off, square = c.once(z_central), c.once(z_square_sum)
    others = np.maximum(c.counts - 1, 1)
    products = np.zeros_like(off)
    np.multiply(off[:-1], off[1:], out=products[:-1])
    first, last = off[c.starts], off[c.starts + c.counts - 1]
    products[c.starts + c.counts - 1] = 0.0
    earlier = square - last * last * (1.0 + 1.0 / others)
    later = square - first * first * (1.0 + 1.0 / others)
    floor = 1e-12 * square + c.counts * np.square(ROUNDING * c.once(z_mean))
    defined = (c.counts > 2) & (np.minimum(earlier, later) > floor)
    spread = np.sqrt(np.where(defined, earlier, 0.0)) * np.sqrt(np.where(defined, later, 0.0))
    lag1 = ratio(c.sum(products) - first * last / others, spread)
    # Where the first or the last pair dominates the spread, subtracting it would cancel digits.
    for row in np.flatnonzero(defined & (np.minimum(earlier, later) < _RULED * square)):
        lag1[row] = _lag1_apart(c.z[c.starts[row] : c.starts[row] + c.counts[row]])
    return np.clip(lag1, -1.0, 1.0)


def _lag1_apart(z: Float) -> float:
    """Return the correlation of each z of one series with the next, about their own means."""
    earlier, later = z[:-1] - np.mean(z[:-1]), z[1:] - np.mean(z[1:])
    spread = math.sqrt(float(np.sum(earlier * earlier))) * math.sqrt(float(np.sum(later * later)))
    return float(np.sum(earlier * later)) / spread if spread > 0.0 else math.nan


def u_ref_ratio(c: Columns) -> Float:
    """Root mean square of u_ref (with u_pair) over that of u.

    Above about 1/3 the reference affects the verdict (the rule of the test uncertainty ratio: a
    reference a third as uncertain adds 5 % to the error's uncertainty).
    """
    return np.sqrt(ratio(c.sum(c.u_ref_square), c.sum(c.u_square)))


def n_effective(c: Columns) -> Float:
    """Pairs that count as independent: n (1 - r)/(1 + r), r the lag-1 correlation within [0, 1).

    The variance inflation of the mean of an AR(1) series; n where the correlation is not defined.
    """
    lag = np.fmax(c.once(z_lag1), 0.0)
    return np.maximum(c.counts * (1.0 - lag) / (1.0 + lag), 1.0)


def nll_calibration(c: Columns) -> Float:
    """Part of NLL from the errors: <(error/u)^2>/2 (B-10)."""
    return 0.5 * c.mean(np.square(c.once(stated_z)))


def nll_sharpness(c: Columns) -> Float:
    """Part of NLL from the stated u: (<ln u^2> + ln 2 pi)/2 (B-10)."""
    return c.mean(c.once(log_u)) + 0.5 * math.log(2.0 * math.pi)


def nll(c: Columns) -> Float:
    """Mean negative log likelihood of N(value, u): norm score + ln(2 pi)/2."""
    return c.mean(c.once(norm)) + 0.5 * math.log(2.0 * math.pi)


def coverage(c: Columns) -> Float:
    """Share of the stated intervals that hold the reference, ends included (PICP)."""
    return c.mean(c.hits)


def coverage_stated(c: Columns) -> Float:
    """Mean probability, under the claim, that an interval holds the reference: the coverage due.

    It is the stated p for an exact reference, less for an uncertain one: each side of the interval
    is read as that of a normal, and the reference's uncertainty adds to it in quadrature.
    """
    noisy = np.flatnonzero(c.u_ref)
    if not noisy.size:
        return c.mean(c.p)
    rows = c.p.copy()
    k, reach = coverage_factor(c.p[noisy]), c.reach[noisy]
    below, above = (side[noisy] for side in c.sides)
    rows[noisy] = 0.5 * sum(
        scipy.special.erf(np.sqrt(0.5) * k * side / np.hypot(side, reach))
        for side in (below, above)
    )
    return c.mean(rows)


def miss_rate(c: Columns) -> Float:
    """Share of intervals that miss, of the errors that the areas, scales and costs use (C-01).

    Where the reference is uncertain, its part is taken out of the error (``Columns.own_error``): an
    honest sensor misses as often as it states. It is 1 - coverage for an exact reference, and for a
    value outside its own interval.
    """
    below, above = c.value - c.lower, c.upper - c.value
    beyond = np.abs(c.own_error) > np.where(c.error > 0.0, below, above)
    own = (c.u_ref > 0.0) & (np.minimum(below, above) >= 0.0)
    return c.mean(np.where(own, beyond, ~c.inside).astype(np.float64))


def binomial_interval(hits: Float, n: Int) -> tuple[Float, Float]:
    """Exact (Clopper-Pearson) 95 % interval of a share of ``hits`` in ``n``."""
    tail = 0.5 * (1.0 - 0.95)
    lower = scipy.special.betaincinv(np.maximum(hits, 0.5), n - hits + 1.0, tail)
    upper = scipy.special.betaincinv(hits + 1.0, np.maximum(n - hits, 0.5), 1.0 - tail)
    return np.where(hits > 0, lower, 0.0), np.where(hits < n, upper, 1.0)


def coverage_bounds(c: Columns) -> tuple[Float, Float]:
    """Exact 95 % interval of the coverage (A-12)."""
    return binomial_interval(c.sum(c.hits), c.counts)


def coverage_lower(c: Columns) -> Float:
    """Lower end of the exact 95 % interval of the coverage."""
    return c.once(coverage_bounds)[0]


def coverage_upper(c: Columns) -> Float:
    """Upper end of the exact 95 % interval of the coverage."""
    return c.once(coverage_bounds)[1]


def harrell_davis_median(ordered: Float) -> Float:
    """Harrell-Davis estimate of the median of ascending ``ordered`` (last axis).

    Harrell and Davis, Biometrika 69 (1982); B's Table 1 uses it.
    """
    n = ordered.shape[-1]
    edges = np.linspace(0.0, 1.0, n + 1)
    weights = np.diff(scipy.special.betainc(0.5 * (n + 1), 0.5 * (n + 1), edges))
    return np.asarray(np.sum(ordered * weights, axis=-1))


def groeneveld_meeden(rows: Float) -> float:
    """Skewness (mean - m)/mean|x - m| of one set, m its Harrell-Davis median (B-16).

    NaN for equal numbers. Groeneveld and Meeden, The Statistician 33 (1984).
    """
    median = float(harrell_davis_median(np.sort(rows)))
    spread = float(np.mean(np.abs(rows - median)))
    if spread <= ROUNDING * abs(median):
        return math.nan
    return float(np.mean(rows - median)) / spread


def beta_gm(c: Columns) -> Float:
    """Skewness beta_GM of the stated u; RCE is not reliable from 0.4 on (B-20)."""
    ends = c.starts + c.counts
    sets = (c.told_u[a:b] for a, b in zip(c.starts, ends, strict=True))
    return np.array([groeneveld_meeden(rows) for rows in sets])
