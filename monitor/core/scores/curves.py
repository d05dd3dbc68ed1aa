"""The uncertainty characteristics curve of one series, point by point, and what is read off it.

Rules of this file: analysis of one series at a time (arrays of its pairs), O(N log N); the live
figures are in ``characteristics``. Half-widths are not negative; a band of zero width never holds
a reference off its value, so its miss stays at every scale. Curves of different sensors may be
compared only where value and reference are shared; else compare areas saved (C-25).

Source: Navratil et al. (arXiv 2106.00858), cited as C.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Float

# Draws of the permutation test worked on at a time.
PORTION: Final = 1 << 18
# Relative error of a mean that is put down to rounding.
ROUNDING: Final = 1e-12


class Curve(NamedTuple):
    """Operating points at scale 0 and at every finite critical scale, ascending (C Def. 1, Alg. 1).

    ``bandwidth``, ``excess`` and ``deficit`` in the quantity's unit; ``miss`` is a share.
    """

    scale: Float
    bandwidth: Float
    miss: Float
    excess: Float
    deficit: Float


def critical_scales(below: Float, above: Float, error: Float) -> Float:
    """Return the smallest scale at which each band holds its reference (C eq. 7)."""
    active = np.where(error > 0.0, below, above)
    scale = np.where(error != 0.0, np.inf, 0.0)
    return np.divide(np.abs(error), active, out=scale, where=active > 0.0)


def curve(below: Float, above: Float, error: Float, *, nearer: bool = True) -> Curve:
    """Return the curve of bands [value - k below, value + k above] for errors value - reference.

    ``nearer``: the excess of C eq. 8, the distance to the nearer end; otherwise the distance to
    the end on the reference's side, as the authors' program has it. They differ for asymmetric
    bands only.
    """
    n, distance = error.size, np.abs(error)
    active = np.where(error > 0.0, below, above)
    critical = critical_scales(below, above, error)
    order = np.argsort(critical)
    ordered = critical[order]
    held = int(np.searchsorted(ordered, np.inf))
    # A point is the last of its tied scales; scale 0 comes first, with or without a pair.
    last = np.flatnonzero(np.append(np.diff(ordered[:held]) > 0.0, [True] * (held > 0)))
    none = last.size == 0 or ordered[last[0]] > 0.0
    at, inside = ordered[last], last + 1
    if none:
        at, inside = np.append(0.0, at), np.append(0, inside)
    widths, distances = (
        np.append(0.0, np.cumsum(rows[order[:held]]))[inside] for rows in (active, distance)
    )
    excess = at * widths - distances
    if nearer:
        excess += _turned(active - np.where(error > 0.0, above, below), distance, at)
    all_widths = float(np.sum(active[order[:held]]))
    deficit = (float(np.sum(distance)) - distances) - at * (all_widths - widths)
    return Curve(
        scale=at,
        bandwidth=at * float(np.mean(0.5 * (below + above))),
        miss=(n - inside) / n,
        excess=np.maximum(excess, 0.0) / n,
        deficit=np.maximum(deficit, 0.0) / n,
    )


def _turned(wider: Float, distance: Float, at: Float) -> Float:
    """Return how much less the excess is where the far end has become the nearer one.

    This holds from scale 2 distance / (active - opposite) on, for active > opposite.
    """
    some = np.flatnonzero((wider > 0.0) & (2.0 * distance <= wider * at[-1]))
    if some.size == 0:
        return np.zeros_like(at)
    turn = 2.0 * distance[some] / wider[some]
    order = np.argsort(turn)
    some, first = some[order], np.searchsorted(at, turn[order])
    lost, gained = (
        np.asarray(np.cumsum(np.bincount(first, rows[some], at.size + 1)[:-1]), dtype=np.float64)
        for rows in (wider, distance)
    )
    return 2.0 * gained - at * lost


def trapezoid_area(x: Float, y: Float) -> float:
    """Return the area under straight lines between the points."""
    return float(np.sum(np.diff(x) * 0.5 * (y[1:] + y[:-1])))


def excess_deficit_area(points: Curve) -> float:
    """Return the area under the excess-deficit curve from scale 0 on (C-11, C-14), unit squared.

    Between two critical scales both are linear in the scale, so the area is exact for symmetric
    bands; asymmetric ones may bend in between, where the far end becomes the nearer one.
    """
    return trapezoid_area(points.excess, points.deficit)


def optimum(x: Float, y: Float, weight: float) -> tuple[int, float]:
    """Return the point of least cost ``weight`` x + (1 - ``weight``) y, and that cost (C-12, C-13).

    The least cost over all scales lies at 0 or at a critical scale. The weight is the user's: the
    price of one unit of x against one of y. For bandwidth and deficit alpha/(1 + alpha) makes it
    the interval score (C-21).
    """
    costs = weight * x + (1.0 - weight) * y
    best = int(np.argmin(costs))
    return best, float(costs[best])


def normalised(points: Curve, sd: float) -> Curve:
    """Return the curve in units of ``sd``, the references' standard deviation (C-22)."""
    return points._replace(
        bandwidth=points.bandwidth / sd, excess=points.excess / sd, deficit=points.deficit / sd
    )


def thinned(points: Curve, most: int = 64) -> Curve:
    """Return at most ``most`` points, evenly along the curve, both ends kept."""
    places = np.unique(np.linspace(0, points.scale.size - 1, most).round().astype(np.int64))
    return Curve(*(axis[places] for axis in points))


def bandwidth_at(points: Curve, miss: Float) -> Float:
    """Return the least bandwidth whose miss rate is at most ``miss``; inf where there is none."""
    place = np.searchsorted(-points.miss, -(miss + 1e-12), side="left")
    return np.append(points.bandwidth, np.inf)[place]


def crossovers(one: Curve, other: Curve) -> Float:
    """Return the miss rates at which the narrower of two curves changes (C-28), descending.

    Each is the first miss rate, coming from 1, at which the other curve is the narrower one.
    """
    levels = np.unique(np.concatenate([one.miss, other.miss]))[::-1]
    a, b = bandwidth_at(one, levels), bandwidth_at(other, levels)
    lead = np.where(a < b, -1, np.where(a > b, 1, 0))
    led = np.flatnonzero(lead)
    changed = np.flatnonzero(np.diff(lead[led])) + 1
    return levels[led[changed]]


def additive_for_level(below: Float, above: Float, error: Float, alpha: float) -> float:
    """Return the addend b to both half-widths that holds 1 - ``alpha`` of references (C-33).

    The split-conformal rank of |error| - half-width towards the reference; NaN for too few pairs.
    Useful where u has a floor that a factor cannot fix; negative where intervals are too wide.
    """
    needed = np.sort(np.abs(error) - np.where(error > 0.0, below, above))
    rank = int(np.ceil((needed.size + 1) * (1.0 - alpha) - 1e-9))
    return float(needed[rank - 1]) if rank <= needed.size else float("nan")


def width_saved(points: Curve, constant: Curve, miss: float) -> float:
    """Return the share of width saved against a constant band at one miss rate (C-07).

    1 - bandwidth/bandwidth of the constant band, both at the least scale that misses at most the
    share ``miss``; NaN where one of them never gets there.
    """
    own, flat = (float(bandwidth_at(each, np.array([miss]))[0]) for each in (points, constant))
    return 1.0 - own / flat if np.isfinite(own) and np.isfinite(flat) and flat > 0.0 else np.nan


def area_of(means: Float) -> Float:
    """Return AUUCC from means (last axis) of half-width and critical scale."""
    return np.asarray(means[..., 0] * means[..., 1])


def area_saved(means: Float) -> Float:
    """Return AUUCC's saving from means (last axis) of half-width, critical scale and |error|.

    0 where there is no error, and so nothing to save.
    """
    area, constant = means[..., 0] * means[..., 1], np.asarray(means[..., 2])
    return 1.0 - np.divide(area, constant, out=np.ones_like(constant), where=constant > 0.0)


def mean_of_scores(means: Float) -> Float:
    """Return the mean itself: the test of two mean scores."""
    return means[..., 0]


def _rounding(of_means: Callable[[Float], Float], rows: Float) -> float:
    """Return how much a statistic of the means of ``rows`` may owe to rounding."""
    means = np.abs(rows).mean(axis=0)
    moved = means * (1.0 + ROUNDING * np.eye(means.size))
    return float(np.sum(np.abs(of_means(moved) - of_means(means))))


def _apart(of_means: Callable[[Float], Float], a: Float, b: Float) -> tuple[float, float]:
    """Return the difference of a statistic of two sets of rows, and the least that ties with it."""
    difference = float(of_means(a.mean(axis=0)) - of_means(b.mean(axis=0)))
    return difference, abs(difference) - _rounding(of_means, a) - _rounding(of_means, b)


def permutation_test(
    one: tuple[Float, ...],
    other: tuple[Float, ...],
    *,
    replicates: int,
    seed: int,
    of_means: Callable[[Float], Float] = area_of,
    block: int = 1,
) -> tuple[float, float]:
    """Return the difference of a statistic on common events and its two-sided p-value (C-19).

    ``of_means`` makes the statistic from the means of the rows of ``one`` and of ``other``, row by
    row of the same events: AUUCC from (half-widths, critical scales) by default. Under the null
    hypothesis the labels of each event may be swapped, those of ``block`` successive events
    together where events depend on each other. Differences equal but for rounding are ties.
    """
    a, b = np.stack(one, axis=1), np.stack(other, axis=1)
    n, total, change = a.shape[0], (a + b).sum(axis=0), b - a
    difference, least = _apart(of_means, a, b)
    random = np.random.Generator(np.random.SFC64(seed))
    blocks = np.add.reduceat(change, np.arange(0, n, block), axis=0)
    extreme, portion = 0, max(1, PORTION // blocks.shape[0])
    for begin in range(0, replicates, portion):
        size = (min(portion, replicates - begin), blocks.shape[0])
        swapped = random.integers(0, 2, size=size, dtype=np.int8).astype(np.float64)
        first = a.sum(axis=0) + swapped @ blocks
        apart = of_means(first / n) - of_means((total - first) / n)
        extreme += int(np.sum(np.abs(apart) >= least))
    return difference, (1.0 + extreme) / (1.0 + replicates)


def shuffle_test(
    one: tuple[Float, ...],
    other: tuple[Float, ...],
    *,
    replicates: int,
    seed: int,
    of_means: Callable[[Float], Float] = area_of,
    block: int = 1,
) -> tuple[float, float]:
    """Return the difference of a statistic of two sets of events and its two-sided p-value.

    Like :func:`permutation_test`, for sets that have no event in common, such as a sensor before
    and after it was adjusted: under the null hypothesis any events, in blocks of ``block``
    successive ones, may be those of the first set.
    """
    a, b = np.stack(one, axis=1), np.stack(other, axis=1)
    difference, least = _apart(of_means, a, b)
    parts = [(each, np.arange(0, each.shape[0], block)) for each in (a, b)]
    sums = np.concatenate([np.add.reduceat(each, at, axis=0) for each, at in parts])
    sizes = np.concatenate([np.diff(at, append=each.shape[0]) for each, at in parts])
    first, count, total = parts[0][1].size, a.shape[0] + b.shape[0], sums.sum(axis=0)
    random = np.random.Generator(np.random.SFC64(seed))
    extreme, portion = 0, max(1, PORTION // sizes.size)
    for begin in range(0, replicates, portion):
        lines = min(portion, replicates - begin)
        chance = random.random((lines, sizes.size))
        drawn = np.zeros_like(chance)
        np.put_along_axis(drawn, np.argpartition(chance, first - 1, axis=1)[:, :first], 1.0, axis=1)
        held, taken = drawn @ sums, (drawn @ sizes)[:, None]
        apart = of_means(held / taken) - of_means((total - held) / (count - taken))
        extreme += int(np.sum(np.abs(apart) >= least))
    return difference, (1.0 + extreme) / (1.0 + replicates)
