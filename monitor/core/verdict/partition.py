"""The last pairs of a series cut into pieces, and all rivals for the newest one.

Rules of this file: a piece is right, off by a level, on a line, or too wide; least squares from
cumulated sums, any number of pieces at once; errors z over their stated uncertainty s, with h =
typical s / s, so that a level in the series' unit is level h in z. A cost is twice a negative log
likelihood (of spread 1) and a penalty a parameter, in which the evidence of autocorrelated pairs is
divided by ``inflation``. The cut is optimal over places where pieces may begin (dynamic
programming); the newest piece keeps its rivals, because what takes the best cut for certain is too
sure.

Sources: Schwarz, Ann. Stat. 6 (1978); Jackson et al., IEEE Signal Process. Lett. 12 (2005) (optimal
partitioning); Fearnhead, Stat. Comput. 16 (2006) (the posterior of change points).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Bool, Float, Int
from monitor.core.verdict.pairs import near

# What a piece may be. A hinge is a line that begins where the piece before ended.
RIGHT, LEVEL, LINE, HINGE = range(4)
WIDE: Final = 4  # added where the piece has a spread of its own
KINDS: Final = 2 * WIDE
_PARAMETERS: Final = (1.0, 2.0, 3.0, 2.0)  # where it begins is one
_SHORTEST: Final = (0, 3, 8, 8)  # pairs
_SHORTEST_MORE: Final = 5  # pairs more for a spread
_LEAST_VARIANCE: Final = 0.01
_TINY: Final = 1e-100


class Sums(NamedTuple):
    """Sums over pairs: 1, h^2, h^2 t, h^2 t^2, h z, h t z, z^2."""

    n: Float
    hh: Float
    hht: Float
    htt: Float
    hz: Float
    htz: Float
    zz: Float

    def between(self, begin: Int | int, end: Int | int) -> Sums:
        """Return the sums from boundary to boundary, of sums cumulated up to each."""
        return Sums(*(each[end] - each[begin] for each in self))


class Line(NamedTuple):
    """A level at some time and a slope, with their variances where errors have spread 1."""

    level: Float
    slope: Float
    of_level: Float
    of_slope: Float


def cumulated(z: Float, h: Float, t: Float, bounds: Int) -> Sums:
    """Return the sums over all pairs before each of ``bounds``; h is 0 where a pair is left out."""
    hh, hz = h * h, h * z
    rows = np.empty((7, z.size + 1))
    rows[:, 0] = 0.0
    for at, row in enumerate((h > 0.0, hh, hh * t, hh * t * t, hz, hz * t, z * z)):
        np.cumsum(row, out=rows[at, 1:])
    return Sums(*rows[:, bounds])


def level_of(s: Sums) -> Line:
    """Return the weighted mean."""
    hh = np.maximum(s.hh, _TINY)
    nothing = np.zeros_like(hh)
    return Line(s.hz / hh, nothing, 1.0 / hh, nothing)


def line_of(s: Sums, at: Float | float) -> Line:
    """Return the weighted regression on time, its level at time ``at``."""
    hh = np.maximum(s.hh, _TINY)
    centre = s.hht / hh
    tt = np.maximum(s.htt - s.hht * centre, 1e-12 * hh + _TINY)
    slope = (s.htz - centre * s.hz) / tt
    away = at - centre
    return Line(s.hz / hh + slope * away, slope, 1.0 / hh + away * away / tt, 1.0 / tt)


def hinge_of(s: Sums, start: Float, height: Float, at: float) -> tuple[Line, Float]:
    """Return the line that begins at (start, height), and the sum of squares it leaves."""
    hz, htz = s.hz - height * s.hh, s.htz - height * s.hht
    zz = s.zz - 2.0 * height * s.hz + height * height * s.hh
    weight = s.htt - 2.0 * start * s.hht + start * start * s.hh
    weight = np.maximum(weight, 1e-12 * s.hh + _TINY)
    across = htz - start * hz
    slope = across / weight
    line = Line(height + slope * (at - start), slope, (at - start) ** 2 / weight, 1.0 / weight)
    return line, np.maximum(zz - across * slope, 0.0)


def squares_left(s: Sums) -> list[Float]:
    """Return the sums of squares that RIGHT, LEVEL and LINE leave."""
    hh = np.maximum(s.hh, _TINY)
    level = s.zz - s.hz * s.hz / hh
    tt = np.maximum(s.htt - s.hht * s.hht / hh, 1e-12 * hh + _TINY)
    line = level - (s.htz - s.hht * s.hz / hh) ** 2 / tt
    return [s.zz, np.maximum(level, 0.0), np.maximum(line, 0.0)]


def costs(n: Float, left: list[Float], penalty: float, inflation: float) -> Float:
    """Return costs of pieces of ``n`` pairs by what is left: with spread 1, then with their own.

    ``left[kind]`` are sums of squares; the kinds come out twice, first those of spread 1.
    """
    many = np.maximum(n, 1.0)
    every = np.empty((2 * len(left), *left[0].shape))
    for kind, square in enumerate(left):
        variance = np.maximum(square / many, _LEAST_VARIANCE)
        # Not square - n (variance - 1 - ln variance), which cancels where errors are huge.
        wide = n * (1.0 + np.log(variance))
        wide += np.where(variance > _LEAST_VARIANCE, 0.0, square - n * variance)
        fixed = penalty * _PARAMETERS[kind]
        least = _SHORTEST[kind]
        plain = square / inflation + fixed
        every[kind] = np.where(n >= least, plain, np.inf) if least else plain
        own = wide / inflation + fixed + penalty
        every[len(left) + kind] = np.where(n >= least + _SHORTEST_MORE, own, np.inf)
    return every


BOUNDS: Final = 64  # places where a piece may begin, about
_PRIOR_PAIRS: Final = 8.0  # that a piece's spread is worth as stated


class Last(NamedTuple):
    """Rivals for the newest piece, [KINDS, places]: level now and slope in typical uncertainties.

    ``slope`` is over the whole clock; ``weight`` is a rival's likelihood, all together 1.
    """

    starts: Int
    cost: Float
    weight: Float
    level: Float
    slope: Float
    se_level: Float
    se_slope: Float
    df: Float

    @property
    def best(self) -> Float:
        """The least cost of each kind."""
        return self.cost.min(axis=1)

    @property
    def top(self) -> tuple[int, int]:
        """The likeliest rival: kind and place."""
        kind, place = divmod(int(np.argmax(self.weight)), self.weight.shape[1])
        return kind, place


class Partition(NamedTuple):
    """Pieces by ``starts`` and ``kinds``, with the level ``fit`` that they give each pair.

    ``kept`` are the pairs that are no outliers; ``before`` is the least cost of all pairs before
    each of ``bounds``; a parameter costs ``penalty``, evidence is divided by ``inflation``.
    """

    starts: Int
    kinds: Int
    fit: Float
    last: Last
    kept: Bool
    bounds: Int
    before: Float
    penalty: float
    inflation: float


def partition(z: Float, h: Float, t: Float, median: Float, inflation: float) -> Partition:
    """Cut errors z (over their stated uncertainty) at times t; ``median`` is their running one."""
    kept = near(z - median)
    z, h = np.where(kept, z, 0.0), np.where(kept, h, 0.0)
    bounds = boundaries(z)
    sums = cumulated(z, h, t, bounds)
    penalty = float(np.log(max(z.size, 8)))
    before, back, kind = _search(sums, penalty, inflation)
    ends = t[np.maximum(bounds - 1, 0)]
    rivals = _rivals(sums, t[bounds[:-1]], float(t[-1]), _heights(sums, ends, back, kind))
    last = _weighed(rivals, bounds, before, penalty, inflation)
    starts, kinds = _path(bounds, back, kind)
    fit = _fitted(sums, t, bounds, starts, kinds)
    return Partition(starts, kinds, fit, last, kept, bounds, before, penalty, inflation)


def boundaries(z: Float) -> Int:
    """Return where pieces may begin: a coarse grid, and where neighbouring means differ most."""
    n = z.size
    if n <= BOUNDS:
        return np.arange(n + 1)
    chosen = [np.arange(0, n, -(-2 * n // BOUNDS)), np.array([n])]
    total, squares = (np.concatenate([[0.0], np.cumsum(rows)]) for rows in (z, z * z))
    for cumulative, width in ((total, 4), (total, 16), (squares, 16)):
        at = np.arange(width, n - width + 1)
        jump = np.abs(cumulative[at + width] - 2.0 * cumulative[at] + cumulative[at - width])
        top = np.flatnonzero((jump[1:-1] >= jump[:-2]) & (jump[1:-1] > jump[2:])) + 1
        chosen.append(at[top[np.argsort(-jump[top])[: BOUNDS // 6]]])
    return np.unique(np.concatenate(chosen))


def _search(s: Sums, penalty: float, inflation: float) -> tuple[Float, Int, Int]:
    """Return the least cost before each boundary, with the start and kind of the piece before."""
    size = s.n.size
    begin, end = np.triu_indices(size, 1)
    pieces = s.between(begin, end)
    every = costs(pieces.n, squares_left(pieces), penalty, inflation)
    choice = np.argmin(every, axis=0)
    cost = np.full((size, size), np.inf)
    cost[end, begin] = every[choice, np.arange(begin.size)]
    before, back = np.zeros(size), np.zeros(size, dtype=np.int64)
    for at in range(1, size):
        total = before[:at] + cost[at, :at]
        back[at] = least = int(total.argmin())
        before[at] = total[least]
    kinds = np.zeros((size, size), dtype=np.int64)
    kinds[end, begin] = np.where(choice <= LINE, choice, choice - LINE - 1 + WIDE)
    return before, back, kinds[np.arange(size), back]


def _heights(s: Sums, ends: Float, back: Int, kind: Int) -> Float:
    """Return the level at which the best cut before each boundary ends, 0 where it is right."""
    pieces = s.between(back, np.arange(s.n.size))
    plain = kind % WIDE
    level, line = level_of(pieces).level, line_of(pieces, ends).level
    return np.where(plain == RIGHT, 0.0, np.where(plain == LEVEL, level, line))


class _Rivals(NamedTuple):
    """Lines [plain kinds, places] with the squares they leave."""

    pieces: Sums
    lines: list[Line]
    left: list[Float]


def _rivals(s: Sums, begin: Float, now: float, heights: Float) -> _Rivals:
    pieces = s.between(np.arange(s.n.size - 1), s.n.size - 1)
    nothing = np.zeros_like(begin)
    hinge, left = hinge_of(pieces, begin, heights[:-1], now)
    right = Line(nothing, nothing, nothing, nothing)
    lines = [right, level_of(pieces), line_of(pieces, now), hinge]
    return _Rivals(pieces, lines, [*squares_left(pieces), left])


def _weighed(found: _Rivals, bounds: Int, before: Float, penalty: float, inflation: float) -> Last:
    """Return the rivals with their likelihoods and standard errors."""
    n = found.pieces.n
    cost = before[:-1] + costs(n, found.left, penalty, inflation)
    cost[[HINGE, HINGE + WIDE], 0] = np.inf  # at the first pair there is nothing to begin from
    weight = np.exp(-0.5 * np.minimum(cost - cost.min(), 1000.0))
    df = np.maximum(n - np.array([0.0, 1.0, 2.0, 1.0])[:, None], 0.0) + _PRIOR_PAIRS
    spread = (_PRIOR_PAIRS + np.stack(found.left)) / df * inflation
    columns = [np.stack(each) for each in zip(*found.lines, strict=True)]
    level, slope, of_level, of_slope = columns
    rows = (level, slope, np.sqrt(spread * of_level), np.sqrt(spread * of_slope), df / inflation)
    twice = (np.concatenate([each, each]) for each in rows)
    return Last(bounds[:-1], cost, weight / weight.sum(), *twice)


def _path(bounds: Int, back: Int, kind: Int) -> tuple[Int, Int]:
    """Return starts and kinds of the pieces of the best cut."""
    starts, kinds, end = [], [], bounds.size - 1
    while end > 0:
        kinds.append(int(kind[end]))
        end = int(back[end])
        starts.append(int(bounds[end]))
    return np.array(starts[::-1], dtype=np.int64), np.array(kinds[::-1], dtype=np.int64)


def _fitted(s: Sums, t: Float, bounds: Int, starts: Int, kinds: Int) -> Float:
    """Return the level that the best cut gives each pair."""
    fit = np.zeros(t.size)
    ends = np.append(starts[1:], t.size)
    rows = zip(starts.tolist(), ends.tolist(), (kinds % WIDE).tolist(), strict=True)
    for begin, end, kind in rows:
        places = np.searchsorted(bounds, [begin, end])
        piece = s.between(*places)
        line = level_of(piece) if kind == LEVEL else line_of(piece, 0.0)
        if kind != RIGHT:
            fit[begin:end] = line.level + line.slope * t[begin:end]
    return fit
