"""The last pairs of a series cut into pieces, and all rivals for the newest one.

Rules of this file: the cut is optimal over places where pieces may begin (dynamic programming);
the newest piece keeps its rivals, because what takes the best cut for certain is too sure.

Sources: Jackson et al., IEEE Signal Process. Lett. 12 (2005) (optimal partitioning); Fearnhead,
Stat. Comput. 16 (2006) (the posterior of change points).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Bool, Float, Int
from monitor.core.verdict.neighbours import near
from monitor.core.verdict.pieces import (
    HINGE,
    LEVEL,
    LINE,
    RIGHT,
    WIDE,
    Line,
    Sums,
    costs,
    cumulated,
    hinge_of,
    level_of,
    line_of,
    squares_left,
)

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
