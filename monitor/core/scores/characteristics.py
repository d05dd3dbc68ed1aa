"""Uncertainty characteristics (UCC): the stated interval stretched by every scale k.

Rules of this file: the band of a pair is [value - k below, value + k above], below and above the
half-widths of its interval; its critical scale is the smallest k that holds the reference. A band
of zero width has critical scale inf where the error is not 0, and 0 where it is. A pair whose
value lies outside its own interval has no band: it counts for coverage, bandwidth, excess and
deficit, which need the interval only, and is left out of scales, areas, savings and costs (and
counted). The area is the exact one under the step curve: mean half-width x mean critical scale.
Where the reference is uncertain, scales, areas, savings and costs are those of the error beyond
what the reference accounts for (``Columns.own_error``): an honest sensor keeps the scale 1.

Source: Navratil et al. (arXiv 2106.00858), cited as C; its cost weight for the interval score is
corrected: c = alpha/(1 + alpha).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns, ratio
from monitor.core.model import Bool, Float
from monitor.core.scores.bins import in_lines, last_in_order

# Bands narrower than this share of the series' mean band are widened to it.
BAND_FLOOR: Final = 1e-6
# The miss rates over which the partial area is taken (C Table 1).
PARTIAL: Final = 0.5
_BLUR: Final = 1e-12  # of an area, what sums of doubles leave of nothing


class Bands(NamedTuple):
    """Rows: half-width towards the reference (floored), mean half-width, distance, critical scale.

    ``distance`` is |error|, less where the reference is uncertain (``Columns.own_error``).
    ``valid`` is False for pairs without a band; their other entries are 0.
    """

    active: Float
    half: Float
    distance: Float
    scale: Float
    valid: Bool


def bands(c: Columns) -> Bands:
    """Return the bands and critical scales of all pairs (C eq. 7)."""
    below, above = c.value - c.lower, c.upper - c.value
    active, half = np.where(c.error > 0.0, below, above), 0.5 * c.width
    distance = np.abs(c.own_error)
    if np.minimum(below, above).min() > BAND_FLOOR * half.max():
        # No band of any series is near zero: the same numbers without the exceptions.
        return Bands(active, half, distance, distance / active, np.ones(active.size, np.bool_))
    valid = np.minimum(below, above) >= 0.0
    active, half, distance = (np.where(valid, rows, 0.0) for rows in (active, half, distance))
    floor = c.spread(BAND_FLOOR * ratio(c.sum(half), c.sum(valid.astype(np.float64))))
    active = np.where((active > 0.0) & (active < floor), floor, active)
    scale = np.where(distance > 0.0, np.inf, 0.0)
    np.divide(distance, active, out=scale, where=active > 0.0)
    return Bands(active, half, distance, scale, valid)


def banded_count(c: Columns) -> Float:
    """Pairs that have a band: the value lies within its own interval."""
    valid = c.once(bands).valid
    return c.counts.astype(np.float64) if valid.all() else c.sum(valid.astype(np.float64))


def _mean_of_banded(c: Columns, rows: Float) -> Float:
    """Mean over the pairs that have a band."""
    return ratio(c.sum(rows), c.once(banded_count))


def mean_band(c: Columns) -> Float:
    """Mean half-width over the pairs that have a band."""
    return _mean_of_banded(c, c.once(bands).half)


def bandwidth(c: Columns) -> Float:
    """Mean half-width of the stated intervals (C-02, half of MPIW)."""
    return 0.5 * c.mean(c.width)


def excess(c: Columns) -> Float:
    """Mean over all pairs of the distance to the nearer end, 0 for misses (C eq. 8)."""
    nearer = np.minimum(c.reference - c.lower, c.upper - c.reference)
    return c.mean(np.maximum(nearer, 0.0))


def deficit(c: Columns) -> Float:
    """Mean over all pairs of the distance outside the interval, 0 for hits (C eq. 9)."""
    return c.mean(c.outside_by)


def auucc(c: Columns) -> Float:
    """Area under the bandwidth-miss curve: mean half-width times mean critical scale (C-17)."""
    return c.once(mean_band) * _mean_of_banded(c, c.once(bands).scale)


def auucc_constant(c: Columns) -> Float:
    """Area for the same values with a constant band: their mean distance."""
    return _mean_of_banded(c, c.once(bands).distance)


def auucc_gain(c: Columns) -> Float:
    """Area saved, 1 - AUUCC/AUUCC_constant (C eq. 6, its "gain").

    It equals cov(band, critical scale)/MAE: 0 for a constant uncertainty, about 0 for an honest one
    too (its critical scales do not depend on its bands), above 0 where u is too small when it is
    large, below 0 where the uncertainty misleads. :func:`auucc_partial_gain` shows whether a
    varying uncertainty informs.
    """
    return 1.0 - ratio(c.once(auucc), c.once(auucc_constant))


def cost_weight(c: Columns) -> Float:
    """Weight c of the bandwidth against the deficit: alpha/(1 + alpha), alpha the series' mean.

    With it C(k) = c bandwidth + (1 - c) deficit is the mean interval score times c/2 (C-21), so
    that cost has the quantity's unit and no free parameter.
    """
    alpha = c.mean(c.alpha)
    return alpha / (1.0 + alpha)


def _cost(c: Columns, weight: Float, scale: Float) -> Float:
    """Cost of the bands stretched by one ``scale`` a series."""
    b = c.once(bands)
    shortfall = _mean_of_banded(c, np.maximum(b.distance - c.times(b.active, scale), 0.0))
    return weight * scale * c.once(mean_band) + (1.0 - weight) * shortfall


def cost(c: Columns) -> Float:
    """Cost of the bands as stated (k = 1)."""
    return _cost(c, c.once(cost_weight), np.ones(c.starts.size))


def scale_optimal(c: Columns) -> Float:
    """Scale k that minimises the cost, equally the mean interval score of the stretched bands."""
    return _best_scale(c, c.once(cost_weight))


def _best_scale(c: Columns, weight: Float) -> Float:
    """Scale k that minimises the cost with one ``weight`` below 1 a series.

    The cost is convex and piecewise linear: the optimum is the first critical scale beyond which
    the remaining bands sum to at most c/(1 - c) of all, 0 if that holds from the start.
    """
    b = c.once(bands)
    share = weight / (1.0 - weight)
    allowed = (share * c.sum(b.half))[:, None]
    scales, widths = c.grid(b.scale, -1.0), c.grid(b.active, 0.0)
    length = scales.shape[1]
    # About that share of pairs lies beyond the optimum: mostly the largest scales suffice.
    for count in (int(min(2.0 * share.max(), 1.0) * (length - 1)) + 1, length):
        largest = last_in_order(scales, count)[:, ::-1]
        beyond = np.cumsum(in_lines(widths, largest), axis=1)
        if (beyond[:, -1:] > allowed).all():
            break
    passed = np.count_nonzero(beyond <= allowed, axis=1)
    line = np.arange(passed.size)
    at = largest[line, np.minimum(passed, largest.shape[1] - 1)]
    optimal = np.where(passed < length, scales[line, at], 0.0)
    return np.where(c.once(banded_count) > 0.0, optimal, np.nan)


def cost_optimal(c: Columns) -> Float:
    """Least cost over all scales."""
    return _cost(c, c.once(cost_weight), c.once(scale_optimal))


class Costs(NamedTuple):
    """Cost of the bands as stated, the scale that costs least, and its cost, one a series."""

    cost: Float
    scale_optimal: Float
    cost_optimal: Float


def costs_with(weight: float, c: Columns) -> Costs:
    """Return the costs C(k) with the user's ``weight`` of the half-width, 0 <= c < 1 (C-12, C-13).

    1 - ``weight`` is the weight of the distance by which intervals miss.
    """
    weights = np.full(c.starts.size, weight)
    best = _best_scale(c, weights)
    return Costs(_cost(c, weights, np.ones(weights.size)), best, _cost(c, weights, best))


def _scales_in_order(c: Columns) -> Float:
    """Critical scales as a grid, ascending; pairs without a band come last, as NaN."""
    b = c.once(bands)
    return np.sort(c.grid(np.where(b.valid, b.scale, np.nan), np.nan), axis=1)


def tail_area(c: Columns, ordered: Float, largest: float) -> Float:
    """Mean critical scale beyond the point where the miss rate is down to ``largest``.

    With m = ceil(N (1 - largest)) it is the sum over i > m of (k_(i) - k_(m)) / N: the exact area
    under that part of the step curve, for a mean half-width of 1; 1 gives the whole area.
    """
    n = c.once(banded_count)
    passed = np.ceil(n * (1.0 - largest) - 1e-9).astype(np.int64)
    line = np.arange(n.size)
    start = np.where(passed > 0, ordered[line, np.maximum(passed - 1, 0)], 0.0)
    place = np.arange(ordered.shape[1])
    beyond = (place >= passed[:, None]) & (place < n[:, None])
    gaps = np.where(beyond, ordered, 0.0) - np.where(beyond, start[:, None], 0.0)
    flat = gaps.reshape(-1)
    return ratio(c.sum(flat if c.equal_counts else flat[c.cells]), n)


def auucc_partial_gain(c: Columns) -> Float:
    """Information: area saved over miss rates of 0 to 0.5 alone, the part in use (C-15, C-16).

    0 for a constant uncertainty, above 0 for an informative one, 1 for |error| itself; NaN where a
    constant band leaves no area (one pair, equal errors). A common factor on u changes nothing.
    Honest normal errors with a lognormal u give 0.22, 0.45 and 0.51 where the standard deviation of
    ln u is 0.5, 1 and 1.25.
    """
    b = c.once(bands)
    distance = np.sort(c.grid(np.where(b.valid, b.distance, np.nan), np.nan), axis=1)
    area = c.once(mean_band) * tail_area(c, c.once(_scales_in_order), PARTIAL)
    gain = 1.0 - ratio(area, tail_area(c, distance, PARTIAL))
    return np.where(np.abs(gain) < _BLUR, 0.0, gain)


def scale_for_level(c: Columns) -> Float:
    """Scale that holds the stated share of references: the split-conformal rank (Lei et al. 2018).

    The ceil((n + 1)(1 - alpha))-th smallest critical scale; NaN where n < ceil(1/alpha) - 1.
    """
    n = c.once(banded_count)
    rank = np.ceil((n + 1.0) * (1.0 - c.mean(c.alpha)) - 1e-9).astype(np.int64)
    ordered = c.once(_scales_in_order)
    scale = ordered[np.arange(n.size), np.clip(rank, 1, ordered.shape[1]) - 1]
    return np.where(rank <= n, scale, np.nan)
