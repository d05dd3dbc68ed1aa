"""The last pairs of a series cut into pieces, each right, off by a level, drifting, or too wide.

Rules of this file: least squares on errors over their stated uncertainty, 1 where the sensor is
right; the cut is optimal over blocks of pairs (dynamic programming), and the newest piece keeps its
rivals with their weights, because an interval that takes the best cut for certain is too short.

Sources: Jackson et al., IEEE Signal Process. Lett. 12 (2005) (optimal partitioning); Schwarz, Ann.
Stat. 6 (1978); Fearnhead, Stat. Comput. 16 (2006) (average over the last change point).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Bool, Float, Int

BLOCKS: Final = 64
CLIP: Final = 4.0
_AROUND: Final = 8
_MOST_FAR: Final = 0.25
_SHORTEST: Final = 3
_SHORTEST_SLOPE: Final = 8
_LEAST_VARIANCE: Final = 0.01
# What a piece may be. HINGE is a slope that begins where the piece before ended.
RIGHT, LEVEL, SLOPE, HINGE = range(4)
KINDS: Final = 8  # the four with the stated spread, then the four with a spread of their own


class Sums(NamedTuple):
    """Cumulated sums up to each boundary: of pairs, h^2, h^2 t, h^2 t^2, h z, h t z, z^2."""

    n: Float
    hh: Float
    hht: Float
    htt: Float
    hz: Float
    htz: Float
    zz: Float

    def between(self, i: Int | slice, j: Int | slice | int) -> Sums:
        """Return the sums over the pairs from boundary i to boundary j."""
        return Sums(*(each[j] - each[i] for each in self))


class Last(NamedTuple):
    """What the newest piece may be: rivals with their weights, which add up to 1."""

    start: Int
    kind: Int
    cost: Float
    weight: Float
    level: Float  # at the newest pair, in typical uncertainties
    slope: Float  # over the whole clock
    se_level: Float
    se_slope: Float
    df: Float


class Partition(NamedTuple):
    """``starts`` and ``kinds`` of the pieces, ``fit`` their levels pair by pair.

    ``best`` is the least cost of the pairs before each of ``bounds``; ``kept`` are the pairs that
    are no outliers; evidence was divided by ``inflation``, a parameter cost ``penalty``.
    """

    starts: Int
    kinds: Int
    fit: Float
    last: Last
    kept: Bool
    bounds: Int
    best: Float
    penalty: float
    inflation: float


def near(z: Float, h: Float) -> Bool:
    """Return which pairs are not far from their neighbours' median: the others are outliers."""
    off = z - running_median(z / h) * h
    most = CLIP * max(1.0, 1.4826 * float(np.median(np.abs(off))))
    far = np.abs(off) > most
    # Where many are far, that is how large the errors are there.
    total = np.concatenate([[0.0], np.cumsum(far)])
    at = np.arange(z.size)
    low, high = np.maximum(at - _AROUND, 0), np.minimum(at + _AROUND + 1, z.size)
    return ~far | (total[high] - total[low] > _MOST_FAR * (high - low))


def boundaries(z: Float) -> Int:
    """Return where pieces may begin: a coarse grid, and where neighbouring means differ most."""
    n = z.size
    if n <= BLOCKS:
        return np.arange(n + 1)
    total = np.concatenate([[0.0], np.cumsum(z)])
    squares = np.concatenate([[0.0], np.cumsum(z * z)])
    chosen = [np.arange(0, n, -(-n // (BLOCKS // 2))), [n]]
    for cumulated, width in ((total, 4), (total, 16), (squares, 16)):
        at = np.arange(width, n - width + 1)
        jump = np.abs(cumulated[at + width] - 2.0 * cumulated[at] + cumulated[at - width])
        top = np.flatnonzero((jump[1:-1] >= jump[:-2]) & (jump[1:-1] > jump[2:])) + 1
        top = top[np.argsort(-jump[top])[: BLOCKS // 6]]
        chosen.append(at[top])
    return np.unique(np.concatenate(chosen)).astype(np.int64)


def running_median(rows: Float, width: int = 9) -> Float:
    """Return the median of each row and its neighbours, fewer of them at the ends."""
    if rows.size <= width:
        return np.full(rows.size, np.median(rows))
    half = width // 2
    inner = np.median(np.lib.stride_tricks.sliding_window_view(rows, width), axis=1)
    return np.concatenate([np.full(half, inner[0]), inner, np.full(half, inner[-1])])


def sums_of(z: Float, h: Float, t: Float, bounds: Int) -> Sums:
    """Return the sums up to each of ``bounds`` (the first is 0, the last the number of pairs)."""
    hh = h * h
    n = (h > 0.0).astype(np.float64)
    rows = np.stack([n, hh, hh * t, hh * t * t, h * z, h * t * z, z * z])
    total = np.concatenate([np.zeros((7, 1)), np.cumsum(rows, axis=1)], axis=1)
    return Sums(*total[:, bounds])


def residuals(s: Sums, anchor: tuple[Float, Float] | None = None) -> list[Float]:
    """Return the sums of squares that RIGHT, LEVEL and SLOPE (and HINGE at ``anchor``) leave."""
    hh = np.maximum(s.hh, 1e-100)
    level = s.zz - s.hz * s.hz / hh
    tt = np.maximum(s.htt - s.hht * s.hht / hh, 1e-12 * hh + 1e-100)
    slope = level - (s.htz - s.hht * s.hz / hh) ** 2 / tt
    found = [s.zz, level, slope]
    if anchor is not None:
        found.append(_hinged(s, *anchor)[0])
    return [np.maximum(each, 0.0) for each in found]


def _hinged(s: Sums, start: Float, height: Float) -> tuple[Float, Float, Float]:
    """Return what a slope from (start, height) on leaves, the slope, and its weight."""
    hz, htz = s.hz - height * s.hh, s.htz - height * s.hht
    zz = s.zz - 2.0 * height * s.hz + height * height * s.hh
    across = htz - start * hz
    weight = np.maximum(
        s.htt - 2.0 * start * s.hht + start * start * s.hh, 1e-12 * s.hh + 1e-100
    )
    return zz - across * across / weight, across / weight, weight


def costs(s: Sums, left: list[Float], penalty: float, inflation: float) -> Float:
    """Return twice the negative log likelihood with penalties, [kinds, ...] of ``left`` twice."""
    found = []
    for spread in (False, True):
        for kind, square in enumerate(left):
            extra = (1.0, 2.0, 3.0, 2.0)[kind] + spread
            likely = square
            if spread:
                v = np.maximum(square / np.maximum(s.n, 1.0), _LEAST_VARIANCE)
                likely = square - s.n * np.maximum(v - 1.0 - np.log(v), 0.0)
            cost = likely / inflation + penalty * extra
            least = _SHORTEST_SLOPE if kind in (SLOPE, HINGE) else _SHORTEST
            if spread or kind:
                least = least + 5 * spread
                cost = np.where(s.n >= least, cost, np.inf)
            found.append(cost)
    return np.stack(found)


def partition(z: Float, h: Float, t: Float, inflation: float) -> Partition:
    """Cut ``z`` = level h + error of spread 1 into pieces; autocorrelation divides evidence."""
    n = z.size
    kept = near(z, h)
    z, h = np.where(kept, z, 0.0), np.where(kept, h, 0.0)
    bounds = boundaries(z)
    sums = sums_of(z, h, t, bounds)
    penalty = np.log(max(n, 8))
    best, back, kind = _search(sums, penalty, inflation)
    anchors = _anchors(sums, bounds, t, back, kind)
    last = _last(sums, bounds, t, best, anchors, penalty, inflation)
    starts, kinds = _path(bounds, back, kind)
    return Partition(starts, kinds, _fitted(z, h, t, starts, kinds), last, kept, bounds, best, float(penalty), inflation)


def _search(s: Sums, penalty: float, inflation: float) -> tuple[Float, Int, Int]:
    """Return the least cost up to each boundary, with the last piece's start and kind."""
    m = s.n.size
    i, j = np.triu_indices(m, 1)
    pieces = s.between(i, j)
    every = costs(pieces, residuals(pieces), penalty, inflation)
    choice = np.argmin(every, axis=0)
    cost = np.full((m, m), np.inf)
    cost[j, i] = every[choice, np.arange(i.size)]
    kinds = np.zeros((m, m), dtype=np.int64)
    kinds[j, i] = np.array([RIGHT, LEVEL, SLOPE, RIGHT + 4, LEVEL + 4, SLOPE + 4])[choice]
    best, back = np.zeros(m), np.zeros(m, dtype=np.int64)
    for end in range(1, m):
        total = best[:end] + cost[end, :end]
        back[end] = np.argmin(total)
        best[end] = total[back[end]]
    kind = kinds[np.arange(m), back]
    return best, back, kind


def _anchors(s: Sums, bounds: Int, t: Float, back: Int, kind: Int) -> Float:
    """Return the level at which the best cut up to each boundary ends, 0 at the first."""
    m = s.n.size
    pieces = s.between(back, np.arange(m))
    ends = t[np.maximum(bounds - 1, 0)]
    level, slope, *_ = _line(pieces, ends)
    found = np.where(kind % 4 == RIGHT, 0.0, np.where(kind % 4 == LEVEL, pieces.hz / np.maximum(pieces.hh, 1e-100), level))
    found[0] = 0.0
    return found


def _line(s: Sums, at: Float | float) -> tuple[Float, Float, Float, Float]:
    """Return level at ``at``, slope and the variances of both (of unit spread)."""
    hh = np.maximum(s.hh, 1e-100)
    centre = s.hht / hh
    tt = np.maximum(s.htt - s.hht * centre, 1e-12 * hh + 1e-100)
    slope = (s.htz - centre * s.hz) / tt
    level = s.hz / hh + slope * (at - centre)
    return level, slope, 1.0 / hh + (at - centre) ** 2 / tt, 1.0 / tt


def _last(
    s: Sums,
    bounds: Int,
    t: Float,
    best: Float,
    anchors: Float,
    penalty: float,
    inflation: float,
) -> Last:
    """Return all rivals for the newest piece."""
    m = s.n.size
    starts = np.arange(m - 1)
    pieces = s.between(starts, m - 1)
    now, begin = float(t[-1]), t[bounds[:-1]]
    left = residuals(pieces, (begin, anchors[:-1]))
    total = best[:-1] + costs(pieces, left, penalty, inflation)
    total[HINGE, 0] = total[HINGE + 4, 0] = np.inf  # there is nothing it could begin from
    weight = np.exp(-0.5 * np.minimum(total - total.min(), 1000.0))
    flat = (pieces.hz / np.maximum(pieces.hh, 1e-100), 1.0 / np.maximum(pieces.hh, 1e-100))
    level, slope, of_level, of_slope = _line(pieces, now)
    _, tilt, heavy = _hinged(pieces, begin, anchors[:-1])
    zero = np.zeros(m - 1)
    levels = np.stack([zero, flat[0], level, anchors[:-1] + tilt * (now - begin)])
    slopes = np.stack([zero, zero, slope, tilt])
    variances = np.stack([zero, flat[1], of_level, (now - begin) ** 2 / heavy])
    steep = np.stack([zero, zero, of_slope, 1.0 / heavy])
    df = np.maximum(pieces.n - np.array([0.0, 1.0, 2.0, 1.0])[:, None], 0.0)
    prior = 8.0
    spread = (prior + np.stack(left)) / (prior + df) * inflation
    both = lambda rows: np.concatenate([rows, rows]).ravel()  # noqa: E731
    return Last(
        start=np.tile(bounds[:-1], KINDS),
        kind=np.repeat(np.arange(KINDS), m - 1),
        cost=total.ravel(),
        weight=(weight / weight.sum()).ravel(),
        level=both(levels),
        slope=both(slopes),
        se_level=np.sqrt(both(spread * variances)),
        se_slope=np.sqrt(both(spread * steep)),
        df=both((df + prior) / inflation),
    )


def _path(bounds: Int, back: Int, kind: Int) -> tuple[Int, Int]:
    starts, kinds = [], []
    end = bounds.size - 1
    while end > 0:
        starts.append(int(bounds[back[end]]))
        kinds.append(int(kind[end]))
        end = int(back[end])
    return np.array(starts[::-1], dtype=np.int64), np.array(kinds[::-1], dtype=np.int64)


def _fitted(z: Float, h: Float, t: Float, starts: Int, kinds: Int) -> Float:
    """Return the level that the cut gives each pair."""
    fit = np.zeros(z.size)
    for begin, end, kind in zip(starts, [*starts[1:], z.size], kinds % 4, strict=True):
        if kind == RIGHT:
            continue
        part = slice(begin, end)
        one = sums_of(z[part], h[part], t[part], np.array([0, end - begin])).between(0, 1)
        level, slope, *_ = _line(one, 0.0)
        fit[part] = one.hz / one.hh if kind == LEVEL else level + slope * t[part]
    return fit
