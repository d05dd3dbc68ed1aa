"""The verdict on a series: the value that every sentence, metric, alert and report is made from."""

from __future__ import annotations

import math
from functools import cache
from typing import Final, Literal, NamedTuple

import numpy as np
import scipy

from monitor.core.model import NAN, Bool, Float, Int

LEVEL: Final = 0.95
_TAIL: Final = 0.5 - 0.5 * LEVEL
NORMAL_QUANTILE: Final = 1.959963984540054  # the normal quantile of LEVEL's upper end
_PARTS: Final = 40
_TERMS: Final = 29


class Estimate(NamedTuple):
    """A number with its 95 % interval; NaN where it is not defined."""

    value: float
    lower: float
    upper: float

    def times(self, factor: float) -> Estimate:
        """Return the estimate in another unit."""
        ends = sorted((self.lower * factor, self.upper * factor))
        return Estimate(self.value * factor, *ends)

    def widened(self, times: float) -> Estimate:
        """Return the estimate with ends ``times`` as far from the value."""
        ends = (self.value + (end - self.value) * times for end in (self.lower, self.upper))
        return Estimate(self.value, *ends)

    @property
    def unsigned(self) -> Estimate:
        """The estimate without its sign."""
        return self if self.value >= 0.0 else Estimate(-self.value, -self.upper, -self.lower)

    @property
    def is_known(self) -> bool:
        """Whether it has an interval."""
        return all(math.isfinite(each) for each in self)

    def is_beyond(self, most: float) -> bool:
        """Whether the whole interval is above ``most`` or below ``-most``."""
        return self.is_known and (self.lower > most or self.upper < -most)

    def excludes(self, number: float) -> bool:
        """Whether ``number`` lies outside the interval."""
        return self.is_known and not self.lower <= number <= self.upper


NOTHING: Final = Estimate(math.nan, math.nan, math.nan)


def t_interval(value: float, se: float, df: float) -> Estimate:
    """Return a t interval."""
    if not (math.isfinite(value) and math.isfinite(se)) or df <= 0.0:
        return NOTHING
    half = float(scipy.special.stdtrit(max(df, 1.0), 1.0 - _TAIL)) * se
    return Estimate(value, value - half, value + half)


def _of_share(x: Float) -> Float:
    return np.asarray(np.log(scipy.special.stdtrit(1.0 / np.maximum(x, 1e-12), 1.0 - _TAIL)))


@cache
def _series() -> Float:
    """Return the ends as a series in 1 / degrees of freedom, in which they are smooth.

    It costs a tenth of the function. It is made on first use because scipy.special is slow to
    import.
    """
    nodes = np.cos(np.pi * (np.arange(_TERMS) + 0.5) / _TERMS)
    ends = _of_share(0.5 * nodes + 0.5)
    return np.asarray(np.polynomial.chebyshev.chebfit(nodes, ends, _TERMS - 1))


def t_ends(df: Float) -> Float:
    """Return the upper ends of 95 % intervals of t distributions with at least one degree."""
    return np.asarray(
        np.exp(np.polynomial.chebyshev.chebval(2.0 / np.maximum(df, 1.0) - 1.0, _series()))
    )


_GRID: Final = 96
_QUANTILES: Final = np.array([_TAIL, 0.5, 1.0 - _TAIL])


def mixed(centre: Float, se: Float, df: Float, weight: Float) -> list[Estimate]:
    """Return medians and 95 % intervals of mixtures of t distributions, [mixtures, parts].

    Each part is approximated by the normal with the same 95 % interval, because the ends of a
    mixture mostly depend on the ends of its parts. The least likely parts are left out. NOTHING
    where all weights are 0.
    """
    top = weight.max(axis=1)
    least = np.sort(weight, axis=1)[:, -min(_PARTS, weight.shape[1])]
    keep = (weight >= least[:, None]) & (weight > 0.01 * top[:, None])
    some = np.flatnonzero(weight.sum(axis=1) > _LEAST_WEIGHT)
    keep = keep[some]
    estimates = [NOTHING] * top.size
    if not some.size:
        return estimates
    parts = np.count_nonzero(keep, axis=1)
    first, of = np.cumsum(parts) - parts, np.repeat(np.arange(some.size), parts)
    centre, se, df, weight = (each[some][keep] for each in (centre, se, df, weight))
    half = t_ends(df)
    sd = np.maximum(se * half / NORMAL_QUANTILE, 1e-12)
    share = weight / np.add.reduceat(weight, first)[of]
    begin = np.minimum.reduceat(centre - 4.0 * sd, first)
    step = (np.maximum.reduceat(centre + 4.0 * sd, first) - begin) / _GRID
    ends = _crossings(centre, sd, share, begin, step, first, of)
    alone = parts == 1
    # Between parts that know nothing, the grid is too coarse for the median.
    ends[:, 1] = np.clip(
        ends[:, 1], np.minimum.reduceat(centre, first), np.maximum.reduceat(centre, first)
    )
    value, reach = centre[first], half[first] * se[first]
    ends[alone] = np.stack([value - reach, value, value + reach], axis=1)[alone]
    for row, (lower, middle, upper) in zip(some.tolist(), ends.tolist(), strict=True):
        estimates[row] = Estimate(middle, lower, upper)
    return estimates


_LEAST_WEIGHT: Final = 1e-12


def _crossings(
    centre: Float, sd: Float, share: Float, begin: Float, step: Float, first: Int, of: Int
) -> Float:
    """Return where mixtures of normals reach the quantiles, between places of a grid."""

    def below(place: Int) -> Float:
        grid = begin[:, None] + place * step[:, None]
        each = scipy.special.ndtr((grid[of] - centre[:, None]) / sd[:, None])
        return np.asarray(np.add.reduceat(share[:, None] * each, first, axis=0))

    low = np.zeros((begin.size, _QUANTILES.size), dtype=np.int64)
    high = np.full_like(low, _GRID)
    of_low, of_high = below(low), below(high)
    while (high - low > 1).any():
        middle = (low + high) // 2
        at = below(middle)
        is_low = at <= _QUANTILES
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
        of_low, of_high = np.where(is_low, at, of_low), np.where(is_low, of_high, at)
    rise = of_high - of_low
    part = np.divide(_QUANTILES - of_low, rise, out=np.zeros_like(rise), where=rise > 0.0)
    return np.asarray(begin[:, None] + (low + np.clip(part, 0.0, 1.0)) * step[:, None])


def share(hits: float, n: float) -> Estimate:
    """Return a share of ``n`` pairs with its exact interval (Clopper, Pearson 1934)."""
    if n <= 0.0:
        return NOTHING
    lower = float(scipy.special.betaincinv(hits, n - hits + 1, _TAIL)) if hits else 0.0
    upper = float(scipy.special.betaincinv(hits + 1, n - hits, 1.0 - _TAIL)) if hits < n else 1.0
    return Estimate(hits / n, lower, upper)


_FIRM: Final = 2.0  # half intervals by which a slope that is extrapolated must exclude 0
_LASTED: Final = 20.0  # independent pairs of such a slope

State = Literal["right", "fault", "undecided"]
ErrorModel = Literal["classical", "predictive", "undecided"]
RemedyKind = Literal["add", "linear", "scale_u", "add_and_scale_u", "none"]
UNDECIDED: Final = "undecided"
CLASSICAL: Final = "classical"  # errors independent of what is measured
PREDICTIVE: Final = "predictive"  # errors independent of its own value
T_MODEL: Final = 2.6


class Slope(NamedTuple):
    """Slope of a regression with its standard error; inf means that the slope is not known."""

    value: float
    se: float

    @property
    def t(self) -> float:
        """Slope in standard errors, infinite where a line leaves nothing."""
        if self.se > 0.0:
            return self.value / self.se
        return math.copysign(math.inf, self.value) if self.value else 0.0


UNKNOWN: Final = Slope(0.0, np.inf)


class Slopes(NamedTuple):
    """Slopes of the error on the reference and on the value."""

    on_reference: Slope
    on_value: Slope
    pairs: int

    @property
    def model(self) -> ErrorModel:
        """Error model: classical, predictive or undecided."""
        by_value, by_reference = self.on_value.t, self.on_reference.t
        if by_value > T_MODEL and abs(by_reference) < T_MODEL:
            return CLASSICAL
        if by_reference < -T_MODEL and abs(by_value) < T_MODEL:
            return PREDICTIVE
        return UNDECIDED

    @property
    def show_gain(self) -> bool:
        """Whether the slopes exclude a right sensor, whose errors depend on one of the two only.

        A right sensor's slope on the other is 0; its slope on the reference is never above 0, its
        slope on the value never below.
        """
        by_value, by_reference = self.on_value.t, self.on_reference.t
        return by_reference > T_MODEL or by_value < -T_MODEL


NO_SLOPES: Final = Slopes(UNKNOWN, UNKNOWN, 0)


IS_RIGHT: Final = "right"
FAULT: Final = "fault"

# Factors on u between which a sentence leaves it out beside a level.
SCALE_RIGHT: Final = (0.8, 1.25)

# Faults in how the error moves with the level: their own pairs do not show the error model.
RELATED: Final = (
    *("gain", "sign", "lag", "stuck", "unrelated"),
    *("clipped", "spells", "daily", "step", "sensitivity"),
)


class Remedy(NamedTuple):
    """What to do about a fault, tried on pairs later than those it was chosen from.

    ``kind``: add, linear (value' = intercept + slope value, u' = abs(slope) u), scale_u,
    add_and_scale_u, or none. It was judged on ``pairs`` pairs: what corrects the value by the mean
    CRPS, a factor on u by the mean interval score (95 %). Both are given as sent and with all of
    the remedy. NaN where a number is not part of the remedy.

    Of none, ``tried`` is what did not help clearly; where nothing was tried, ``more`` is how many
    pairs are missing (infinite if that is not known), NaN if nothing is ever tried.
    """

    kind: RemedyKind
    add: float = NAN
    slope: float = NAN
    intercept: float = NAN
    scale_u: float = NAN
    pairs: int = 0
    crps_before: float = NAN
    crps_after: float = NAN
    interval_before: float = NAN
    interval_after: float = NAN
    tried: Remedy | None = None
    more: float = NAN


NO_REMEDY: Final = Remedy("none")


FINER: Final = 0.2  # typical uncertainties within which nobody asks for more pairs


class Bounds(NamedTuple):
    """Within what a series is right: ``state`` says whether that is enough to call it right.

    ``level`` (its own typical u) is how far off it may be beyond declared systematic effects,
    ``factor`` by how much its own u may be too small or too large, by ``pairs`` pairs. About
    ``more`` pairs would be enough to call it right, or to bring a wide ``level`` down to
    ``FINER``; 0 where more pairs need not help. ``since`` (s UTC, NaN without times) is the first
    of the pairs, where earlier ones are left out because the sensor was wrong then; None where
    none are. ``constant_u`` (the series' unit) is better than the u that varies; NaN if that is
    not shown.
    """

    state: State
    level: float = NAN
    factor: float = NAN
    pairs: int = 0
    more: float = 0.0
    since: float | None = None
    constant_u: float = NAN


class BoundsColumns(NamedTuple):
    """Fields of :class:`Bounds` of each series; ``is_right``: that is enough to call it right."""

    is_right: Bool
    level: Float
    factor: Float
    pairs: Int
    more: Float

    def at(self, row: int) -> Bounds:
        """Return the bounds of one series."""
        is_right, *numbers = (each[row].item() for each in self)
        return Bounds(IS_RIGHT if is_right else UNDECIDED, *numbers)


def unbounded(pairs: Int) -> BoundsColumns:
    """Return the bounds of series with too few pairs for any."""
    unknown = np.full(pairs.size, NAN)
    return BoundsColumns(pairs < 0, unknown, unknown, pairs, np.zeros(pairs.size))


class ErrorCode(NamedTuple):
    """A number that stands for no value, such as -999, sent by the sensor or by its reference."""

    number: float
    of_reference: bool


class Verdict(NamedTuple):
    """What is wrong with a series, how large, since when, and what would fix it.

    ``size`` is the fault's own: the level now (offset, drift; the series' unit), the gain, the
    factor on u (understated, overstated), the share of outliers, the value it is stuck at, or the
    pairs by which it is late (0: gradually). ``level`` is the error now, whatever the fault;
    ``scale`` the factor on u without level, slope and gain. ``since`` (the incident's first pair,
    never after the alarm) and ``segment`` (the first of the pairs that the sizes are from) are
    indices of the given pairs; ``began`` is the time of ``since``, NaN without times. ``is_older``:
    it began before the given pairs, so that nothing is known of the form that it had then.
    ``changed`` is when the incident took its present form, s UTC, NaN if it began with it.
    ``healthy`` is how the error moved with the level while the sensor was right.
    ``due``: when a drift that has lasted leaves its tolerance, s UTC; NaN if it is not known or has
    left it.
    ``right_since``: when a sensor that was wrong before became right, s UTC.
    ``pairs`` are the last ones that sizes and sentence are from, ``first`` is the time of the first
    of them, NaN without times.
    ``explained`` is the largest bias that declared systematic effects account for, in the series'
    unit, 0 for none.
    ``tolerance`` is the error that a drift may reach until then, in the series' unit: the one in
    the settings, else the usual standard uncertainty.
    ``code`` is what is sent now and then instead of a value, None if nothing is; such pairs say
    nothing else.
    ``typical`` is the errors' usual standard uncertainty, ``span`` the seconds that the pairs from
    ``segment`` on cover and ``last`` the time of the last one, s UTC; NaN if there are none.
    ``delay`` is the usual time of the pairs by which it is late, s; NaN if it is not known.
    ``pivot`` is the level about which a gain turns, where a step is or values are clipped, or the
    hour (UTC) at which a daily error is highest; ``is_above``: a step or limit holds above it.
    ``swing`` is half that of an error that goes with the hour, by itself or beside an offset.
    ``level_leads``: the level beside a gain is more of the error than the gain is.
    ``u_follows``: an error by chance changes the u that is stated with it (:mod:`.weights`).
    ``bounds``: within what it is right; None for a fault, and while an alert fires.
    """

    state: State
    fault: str = ""
    size: Estimate = NOTHING
    level: Estimate = NOTHING
    slope_per_day: Estimate = NOTHING
    scale: Estimate = NOTHING
    gain: Estimate = NOTHING
    pivot: float = NAN
    is_above: bool = True
    swing: Estimate = NOTHING
    level_leads: bool = False
    error_model: ErrorModel = UNDECIDED
    healthy: Slopes = NO_SLOPES
    since: int = 0
    segment: int = 0
    began: float = NAN
    is_older: bool = False
    changed: float = NAN
    due: float = NAN
    right_since: float = NAN
    tolerance: float = NAN
    pairs: int = 0
    first: float = NAN
    n_effective: float = 0.0
    remedy: Remedy | None = None
    explained: float = 0.0
    typical: float = NAN
    span: float = NAN
    last: float = NAN
    delay: float = NAN
    code: ErrorCode | None = None
    u_follows: bool = False
    bounds: Bounds | None = None
    sentence: str = ""
    advice: str = ""

    @property
    def has_lasted(self) -> bool:
        """Whether a drift has gone on for so long and so clearly that it can be extrapolated."""
        is_firm = self.slope_per_day.widened(_FIRM).excludes(0.0)
        return self.fault in ("drift", "sensitivity") and is_firm and self.n_effective >= _LASTED

    @property
    def drift_per_day(self) -> float:
        """By how much the error moves a day while the fault is a drift, else NaN."""
        return self.slope_per_day.value if self.fault == "drift" else NAN

    @property
    def is_scale_off(self) -> bool:
        """Whether u is clearly wrong, and by so much that it matters beside a level."""
        (low, high), scale = SCALE_RIGHT, self.scale
        if scale.lower > 1.0:
            return scale.value > high
        return scale.upper < 1.0 and not scale.value >= low

    @property
    def may_move(self) -> bool:
        """Whether a fault that numbers may correct has none that does, or has changed its form."""
        if self.state != FAULT or self.remedy is None or self.fault == "sign":
            return False
        if self.remedy.kind == "none":
            return self.remedy.tried is not None or not math.isnan(self.remedy.more)
        return (
            self.fault in ("drift", "sensitivity") or self.is_older or math.isfinite(self.changed)
        )

    def begin_in(self, time: Float) -> int:
        """Return which of the pairs at these event times is the first that the verdict is from.

        It is the first of all where the verdict is from none of them.
        """
        begin = time.size - self.pairs
        if math.isfinite(self.first):
            begin = int(np.searchsorted(time, self.first))
        return begin if 0 < begin < time.size else 0

    def level_at(self, time: float) -> float:
        """Return the error at a time (s UTC) if the present drift goes on, in the series' unit.

        NaN if there is no rate. The date in the sentence is when this error reaches ``tolerance``.
        """
        return self.level.value + self.slope_per_day.value / 86_400.0 * (time - self.last)
