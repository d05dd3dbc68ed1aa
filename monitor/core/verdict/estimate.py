"""A number with its 95 % interval."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import scipy

from monitor.core.model import Float

LEVEL: Final = 0.95
_TAIL: Final = 0.5 - 0.5 * LEVEL
_NORMAL: Final = float(scipy.special.ndtri(1.0 - _TAIL))
_PARTS: Final = 40


class Estimate(NamedTuple):
    """A number with its 95 % interval; NaN where it is not defined."""

    value: float
    lower: float
    upper: float

    def times(self, factor: float) -> Estimate:
        """Return it in another unit."""
        ends = sorted((self.lower * factor, self.upper * factor))
        return Estimate(self.value * factor, *ends)

    @property
    def is_known(self) -> bool:
        """Whether it has an interval."""
        return all(math.isfinite(each) for each in self)

    def excludes(self, number: float) -> bool:
        """Whether the interval has ``number`` outside."""
        return self.is_known and not self.lower <= number <= self.upper


NOTHING: Final = Estimate(math.nan, math.nan, math.nan)


def around(value: float, se: float, df: float) -> Estimate:
    """Return a t interval."""
    if not (math.isfinite(value) and math.isfinite(se)) or df <= 0.0:
        return NOTHING
    half = float(scipy.special.stdtrit(max(df, 1.0), 1.0 - _TAIL)) * se
    return Estimate(value, value - half, value + half)


def mixed(centre: Float, se: Float, df: Float, weight: Float) -> Estimate:
    """Return median and 95 % interval of a mixture of t distributions.

    Each is taken as the normal whose 95 % interval is its own: the ends of the mixture are those
    of its parts, mostly.
    """
    keep = np.argsort(-weight)[:_PARTS]
    keep = keep[weight[keep] > 0.01 * weight[keep[0]]]
    centre, df, weight = centre[keep], np.maximum(df[keep], 1.0), weight[keep]
    half = scipy.special.stdtrit(df, 1.0 - _TAIL)
    sd = np.maximum(se[keep] * half / _NORMAL, 1e-12)
    if centre.size == 1:
        return around(float(centre[0]), float(se[keep][0]), float(df[0]))
    grid = np.linspace(float((centre - 4.0 * sd).min()), float((centre + 4.0 * sd).max()), 97)
    below = (weight / weight.sum()) @ scipy.special.ndtr((grid - centre[:, None]) / sd[:, None])
    lower, value, upper = np.interp([_TAIL, 0.5, 1.0 - _TAIL], below, grid)
    return Estimate(float(value), float(lower), float(upper))


def share(hits: int, n: float) -> Estimate:
    """Return a share of ``n`` pairs with its exact interval (Clopper, Pearson 1934)."""
    if n <= 0.0:
        return NOTHING
    lower = float(scipy.special.betaincinv(hits, n - hits + 1, _TAIL)) if hits else 0.0
    upper = float(scipy.special.betaincinv(hits + 1, n - hits, 1.0 - _TAIL)) if hits < n else 1.0
    return Estimate(hits / n, lower, upper)
