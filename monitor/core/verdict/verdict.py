"""What is said of a series: one value that every sentence, metric, alert and report is made of."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import scipy

from monitor.core.model import NAN, Float

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


UNDECIDED: Final = "undecided"
_T_MODEL: Final = 2.6


class Slope(NamedTuple):
    """Slope of a regression with its standard error; a standard error of inf: not known."""

    value: float
    se: float

    @property
    def t(self) -> float:
        """Slope in standard errors."""
        return self.value / self.se if self.se > 0.0 else 0.0


UNKNOWN: Final = Slope(0.0, np.inf)


class Slopes(NamedTuple):
    """Slopes of the error on the reference and on the value."""

    on_reference: Slope
    on_value: Slope
    pairs: int

    @property
    def model(self) -> str:
        """Whose error it is: classical, predictive or undecided."""
        by_value, by_reference = self.on_value.t, self.on_reference.t
        if by_value > _T_MODEL and abs(by_reference) < _T_MODEL:
            return "classical"
        if by_reference < -_T_MODEL and abs(by_value) < _T_MODEL:
            return "predictive"
        return UNDECIDED


NO_SLOPES: Final = Slopes(UNKNOWN, UNKNOWN, 0)


IS_RIGHT: Final = "right"
FAULT: Final = "fault"

# Faults of how the error moves with the level: its own pairs do not tell whose the error is.
RELATED: Final = ("gain", "sign", "lag", "stuck")


class Remedy(NamedTuple):
    """What to do about it, tried on pairs after those it was chosen from.

    ``kind``: add, linear (value' = intercept + slope value), scale_u, add_and_scale_u, or none.
    ``pairs`` were judged, with the mean CRPS before and after. NaN where a number is not part of
    the remedy.
    """

    kind: str
    add: float = NAN
    slope: float = NAN
    intercept: float = NAN
    scale_u: float = NAN
    pairs: int = 0
    crps_before: float = NAN
    crps_after: float = NAN


NO_REMEDY: Final = Remedy("none")


class Verdict(NamedTuple):
    """What is wrong with a series, how large, since when, and what would mend it.

    ``size`` is the fault's own: the level now (offset, drift; the series' unit), the gain, the
    factor on u (understated, overstated), the share of outliers, the value it is stuck at, or the
    pairs by which it is late (0: by and by). ``level`` is the error now whatever the fault;
    ``scale`` the factor on u once level, slope and gain have left the error. ``since`` (the
    incident's first pair, never after the alarm) and ``segment`` (the first of the pairs that the
    sizes are from) count in the pairs given, ``began`` is the time of ``since``, NaN without times.
    ``healthy`` is how the error moved with the level while it was right.
    ``due``: when a drift leaves its tolerance, s UTC; NaN if it is not known or has left it.
    """

    state: str
    fault: str = ""
    size: Estimate = NOTHING
    level: Estimate = NOTHING
    slope_per_day: Estimate = NOTHING
    scale: Estimate = NOTHING
    gain: Estimate = NOTHING
    pivot: float = NAN
    error_model: str = UNDECIDED
    healthy: Slopes = NO_SLOPES
    since: int = 0
    segment: int = 0
    began: float = NAN
    due: float = NAN
    pairs: int = 0
    n_effective: float = 0.0
    remedy: Remedy | None = None
    sentence: str = ""
    advice: str = ""
