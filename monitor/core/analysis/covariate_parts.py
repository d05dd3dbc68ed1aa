"""Parts of a covariate's range: runs of neighbouring bins between round edges.

Edges depend only on the covariate, never on errors: :mod:`.where` relies on that.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Bool, Float, Int

BINS_MOST: Final = 10
_SMALL: Final = 1e-290  # a step with no digits left for rounding


class PartGrid(NamedTuple):
    """Edges, and the parts [parts, bins] they make, the whole last."""

    edges: Float
    parts: Bool
    period: float

    def bins_of(self, numbers: Float) -> Int:
        """Return the bin of each number."""
        return np.searchsorted(self.edges, numbers, side="right").astype(np.int64) % self.bins

    @property
    def bins(self) -> int:
        """Number of bins."""
        return self.parts.shape[1]

    def ends(self, part: Bool) -> tuple[float, float]:
        """Return low and high of a part; on a circle ``high`` may be below ``low``."""
        if self.period:
            begins = int(np.flatnonzero(part & ~np.roll(part, 1))[0])
            ends = int(np.flatnonzero(part & ~np.roll(part, -1))[0])
            # Bin 0 holds the numbers beyond the last edge and before the first.
            return float(self.edges[begins - 1]), float(self.edges[ends])
        at = np.flatnonzero(part)
        limits = np.concatenate([[-math.inf], self.edges, [math.inf]])
        return float(limits[at[0]]), float(limits[at[-1] + 1])

    def cuts(self, part: Bool) -> int:
        """Return how many edges a part has."""
        count = int(np.sum(part != np.roll(part, 1)))
        return count if self.period else count - int(part[0] != part[-1])


def grid_of(numbers: Float, period: float) -> PartGrid | None:
    """Return round edges near the deciles of ``numbers``; None if all have one value."""
    deciles = np.unique(np.quantile(numbers, np.arange(1, BINS_MOST) / BINS_MOST))
    width = float(np.median(np.diff(deciles))) if deciles.size > 1 else float(np.ptp(numbers))
    if width <= 0.0:
        return None
    step = 1.0 if period else _round_step(0.75 * width)
    edges = np.unique(np.round(deciles / step) * step) if step >= _SMALL else deciles
    if period:
        edges = np.unique(edges % period)
    else:
        edges = edges[(edges > numbers.min()) & (edges <= numbers.max())]
    if edges.size < (2 if period else 1):
        return None
    bins = edges.size if period else edges.size + 1
    return PartGrid(edges, _parts(bins, is_circle=period > 0.0), period)


def _round_step(most: float) -> float:
    """Return the largest of 1, 2, 5 times a power of ten that is at most ``most``."""
    power = 10.0 ** math.floor(math.log10(most))
    return next(power * each for each in (5.0, 2.0, 1.0) if power * each <= most or each == 1.0)


def _parts(bins: int, *, is_circle: bool) -> Bool:
    """Return all runs of bins as masks, the whole last."""
    parts = []
    for length in range(1, bins):
        for first in range(bins if is_circle else bins - length + 1):
            part = np.zeros(bins, dtype=np.bool_)
            part[(first + np.arange(length)) % bins] = True
            parts.append(part)
    return np.array([*parts, np.ones(bins, dtype=np.bool_)])
