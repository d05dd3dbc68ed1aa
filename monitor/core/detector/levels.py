"""Where the level of each pair stands among those before it, for the bets on a gain.

The centre and the spread are those of the references before the pair (as many as ``MEMORY`` count).
The place of the pair's own reference decides the bets on a gain above 1, that of its value those on
a gain below 1.

Rules of this file: many series are numpy columns, one is plain Python numbers, which is quicker.
Both add and multiply in the same order, so they give the same bits.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from monitor.core.detector.whitening import clipped
from monitor.core.model import Float, Int

STATE_FIELDS: Final = ("levels", "centre", "square")  # how many, their mean and variance
MEMORY: Final = 400.0  # pairs
KNOWN: Final = 10.0  # levels before bets are placed
LEAST: Final = 0.25  # u^2: a variance below it is taken to be that
WILD: Final = 64.0  # variances: a squared step beyond that many counts as one of so many
FAR: Final = 4.0  # spreads: a place farther off counts as one at that distance


class Levels(NamedTuple):
    """By how much reference and value of pairs, [2, ...], are off the centre, and how it spreads.

    ``before`` are those of the pair before; an infinite spread: not known yet.
    """

    now: Float
    before: Float
    spread: Float

    def raveled(self) -> Levels:
        """Return those of [ranks, k] pairs in one row."""
        return Levels(self.now.reshape(2, -1), self.before.reshape(2, -1), self.spread.ravel())

    def places(self, ranks: slice, columns: Int) -> Float:
        """Return by how many spreads some are off the centre, [2, ranks, c]."""
        return clipped(self.now[:, ranks, columns] / self.spread[ranks, columns], -FAR, FAR)

    def moved(self, upper: Float, scale: Float) -> Float:
        """Return by how many spreads the levels moved, less ``upper`` of the ones before."""
        moved = (self.now - upper * self.before) / (self.spread * scale)
        return clipped(moved, -FAR, FAR)


def advance(start: Float, level: Float, least: Float) -> tuple[Float, Float, Float]:
    """Return centre and variance [ranks, k] before each pair, and the state [3, k] after the last.

    ``start`` is the state before pairs with the reference ``level`` [ranks, k]; ``least`` are the
    least variances.
    """
    ranks, series = level.shape
    n = np.minimum(start[0] + np.arange(1.0, ranks + 1.0)[:, None], MEMORY)
    share, most = 1.0 / n, np.where(n > KNOWN, WILD * least, np.inf)
    rest = 1.0 - share
    centres, squares = np.empty((ranks + 1, series)), np.empty((ranks + 1, series))
    centres[0], squares[0] = start[1:]
    if series == 1:
        _advance_one(centres[:, 0], squares[:, 0], level, share, most)
    else:
        for rank in range(ranks):
            step = level[rank] - centres[rank]
            limit = np.maximum(WILD * squares[rank], most[rank])
            if (step * step > limit).any():
                step = np.where(step * step > limit, np.copysign(np.sqrt(limit), step), step)
            added = share[rank] * step
            centres[rank + 1] = centres[rank] + added
            squares[rank + 1] = (squares[rank] + added * step) * rest[rank]
    return centres[:-1], squares[:-1], np.array([n[-1], centres[-1], squares[-1]])


def _advance_one(centres: Float, squares: Float, level: Float, share: Float, most: Float) -> None:
    """Fill what follows the first centre and variance of one series, in plain numbers."""
    centre, square = float(centres[0]), float(squares[0])
    rows: list[tuple[float, float]] = []
    columns = (level[:, 0].tolist(), share[:, 0].tolist(), most[:, 0].tolist())
    for value, one, floor in zip(*columns, strict=True):
        step = value - centre
        if step * step > floor and step * step > WILD * square:
            step = math.copysign(math.sqrt(max(WILD * square, floor)), step)
        added = one * step
        centre += added
        square = (square + added * step) * (1.0 - one)
        rows.append((centre, square))
    centres[1:], squares[1:] = zip(*rows, strict=True)
