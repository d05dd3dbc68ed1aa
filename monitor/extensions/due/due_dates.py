"""When each series leaves its tolerance, and where a reference measurement would tell most today.

Rules of this file: the verdict decides a series' error now and its drift; the model of
``offset_walks`` says how the error goes on, and stands in where the verdict gives no number.
Everything is a function of the pairs and of the moment of the question.

A date is the first moment at which the error lies beyond the tolerance with a probability of 5 %
(``lower``), 50 % (``due``, the date of a drift's sentence) or 95 % (``upper``): the drift method of
ILAC-G24 with an interval. ``lower`` is when a reference is wanted.

A reference is worth what it is expected to save: whoever acts on the more probable of "within" and
"beyond its tolerance" is wrong with the probability of the other. ``worth`` is how far one more
reference lowers that probability on average (the expected value of sample information), ``bits``
how far it lowers the entropy of the error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import scipy

from monitor.core.formatting import TO_THE_MINUTE, amount, date_time, probability
from monitor.core.model import NAN, Float, Int
from monitor.core.scores.entries import Live
from monitor.core.steps import Steps, portions
from monitor.core.verdict import FAULTS, Verdict, shows
from monitor.core.verdict.verdict import NORMAL_QUANTILE
from monitor.extensions.due.offset_walks import DAY, RATES, Walks, rate_shares

RISKS: Final = (0.05, 0.5, 0.95)
YEARS_MAX: Final = 20.0
_UNLIKELY: Final = 1e-3  # largest total probability of the rates that are left out
_TIMES: Final[Float] = np.concatenate(
    [[0.0], np.geomspace(60.0 / DAY, YEARS_MAX * 365.25, 32)]
)  # days
_PLACES: Final = 3  # decimal places to which worths are compared
_HALVINGS: Final = 20
_SERIES_AT_ONCE: Final = 16
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)

# The numbers published of a series' due dates, where settings ask for them.
OF_DUE_DATES: Final = (
    Live(
        "due_lower_seconds",
        "Seconds until the error is beyond its tolerance with a probability of 5 %: a reference is "
        "needed by then. Below 0: overdue.",
    ),
    Live("due_upper_seconds", "The same with a probability of 95 %, if it ever is."),
    Live("out_of_tolerance_ratio", "Probability that the error is beyond its tolerance now."),
    Live(
        "reference_worth_ratio",
        "By how much one reference now would lower the probability of a wrong decision between "
        "within and beyond the tolerance.",
    ),
)


METRICS: Final = {f"monitor_{each.name}": each.help for each in OF_DUE_DATES}


class DueDates(NamedTuple):
    """One entry a series; times in s UTC, NaN where there is none within twenty years.

    ``level`` is the error now, ``u_level`` its standard uncertainty, both in the series' unit like
    ``tolerance``. ``out`` is the probability that the error is beyond the tolerance now. ``worth``
    and ``bits`` are the gain from one reference now. All are NaN for a series without a pair.
    """

    lower: Float
    due: Float
    upper: Float
    level: Float
    u_level: Float
    tolerance: Float
    out: Float
    worth: Float
    bits: Float


NO_DATES: Final = DueDates(*([np.zeros(0)] * len(DueDates._fields)))  # of no series


class Forecast(NamedTuple):
    """The input of due dates: series as rows, in the order of their names.

    ``tolerance`` is in each series' unit, NaN for its typical standard uncertainty; ``verdicts``
    are those that name a fault.
    """

    walks: Walks
    quantity: Sequence[str]
    tolerance: Float
    verdicts: Mapping[int, Verdict]

    def part(self, first: int, end: int) -> Forecast:
        """Return the series from ``first`` to before ``end``."""
        verdicts = {row - first: each for row, each in self.verdicts.items() if first <= row < end}
        walks = self.walks.rows(np.arange(first, end))
        return Forecast(walks, self.quantity[first:end], self.tolerance[first:end], verdicts)


def due_date_steps(asked: Forecast, now: float) -> Steps[DueDates]:
    """Return dates and worths of all series at ``now``, s UTC, some series a step."""
    series = asked.walks.last.size
    if not series:
        return NO_DATES
    shares = np.empty_like(asked.walks.fit)
    quantities = np.array(asked.quantity)
    for quantity in sorted(set(asked.quantity)):
        some = np.flatnonzero(quantities == quantity)
        shares[some] = rate_shares(asked.walks.fit[some])
        yield
    steps = []
    for rows in portions(list(range(series)), _SERIES_AT_ONCE):
        part = asked.part(rows[0], rows[-1] + 1)
        steps.append(_dates(_Paths.of(part, shares[rows]), part, now))
        yield
    return DueDates(*(np.concatenate(each) for each in zip(*steps, strict=True)))


class _Paths(NamedTuple):
    """How the error of each series (rows) goes on, for its most probable rates (columns)."""

    share: Float
    level: Float
    slope: Float
    level_variance: Float
    covariance: Float
    slope_variance: Float
    walk: Float
    tolerance: Float

    @classmethod
    def of(cls, asked: Forecast, shares: Float) -> _Paths:
        walks = asked.walks
        tolerance = np.where(np.isfinite(asked.tolerance), asked.tolerance, walks.typical)
        likely = np.argsort(-shares, axis=1, kind="stable")
        share = np.take_along_axis(shares, likely, axis=1)
        before = np.cumsum(share, axis=1) - share
        share = np.where(before < 1.0 - _UNLIKELY, share, 0.0)
        width = int((share > 0.0).sum(axis=1).max())
        likely, share = likely[:, :width], share[:, :width]
        level, slope, *moments = (np.take_along_axis(each, likely, axis=1) for each in walks[1:6])
        variance, covariance, slope_variance = moments
        parts = [level, slope, *moments]
        for row, verdict in asked.verdicts.items():
            _follow_verdict(verdict, row, parts, float(walks.typical[row]))
        return cls(
            share / share.sum(axis=1, keepdims=True),
            level,
            slope,
            variance,
            covariance,
            slope_variance,
            (RATES[0] ** 2)[likely],
            tolerance / walks.typical,
        )

    def at(self, days: Float) -> tuple[Float, Float]:
        """Return mean and variance of the error (series, times, rates) after some days."""
        t = days[:, :, None]
        mean = self.level[:, None] + self.slope[:, None] * t
        growing = 2.0 * self.covariance[:, None] + self.slope_variance[:, None] * t
        variance = self.level_variance[:, None] + (growing + self.walk[:, None]) * t
        return mean, np.maximum(variance, 1e-18)

    def out(self, days: Float) -> Float:
        """Return the probability (series, times) that the error is beyond the tolerance."""
        mean, variance = self.at(days)
        beyond = _beyond(mean, np.sqrt(variance), self.tolerance[:, None, None])
        chance: Float = (self.share[:, None] * beyond).sum(axis=2)
        return chance

    def now(self, days: Float) -> tuple[Float, Float]:
        """Return mean and variance of the error after some days, over all rates."""
        mean, variance = (each[:, 0] for each in self.at(days[:, None]))
        centre = (self.share * mean).sum(axis=1)
        off = (mean - centre[:, None]) ** 2
        return centre, (self.share * (variance + off)).sum(axis=1)


def _follow_verdict(verdict: Verdict, row: int, parts: list[Float], typical: float) -> None:
    """Take the error now, and the drift if that is the fault, from a verdict that names one."""
    level, slope, variance, covariance, slope_variance = parts
    if not (shows(verdict) and verdict.level.is_known and FAULTS[verdict.fault].has_error_now):
        return
    level[row] = verdict.level.value / typical
    variance[row] = (
        (verdict.level.upper - verdict.level.lower) / (2.0 * NORMAL_QUANTILE * typical)
    ) ** 2
    covariance[row] = slope[row] = 0.0
    rate = verdict.slope_per_day
    if verdict.has_lasted:
        slope[row] = rate.value / typical
        slope_variance[row] = ((rate.upper - rate.lower) / (2.0 * NORMAL_QUANTILE * typical)) ** 2


def _beyond(mean: Float, sd: Float, tolerance: Float) -> Float:
    outside: Float = scipy.special.ndtr((-tolerance - mean) / sd) + scipy.special.ndtr(
        (mean - tolerance) / sd
    )
    return outside


def _dates(paths: _Paths, asked: Forecast, now: float) -> DueDates:
    last, typical = asked.walks.last, asked.walks.typical
    series = last.size
    grid = paths.out(np.repeat(_TIMES[None], series, axis=0))
    lower, due, upper = (last + DAY * _first(paths, grid, risk) for risk in RISKS)
    for row, verdict in asked.verdicts.items():
        if np.isfinite(verdict.due):  # the date in the sentence
            due[row] = verdict.due
            lower[row], upper[row] = np.fmin(lower[row], due[row]), np.fmax(upper[row], due[row])
    since = np.maximum(now - last, 0.0) / DAY
    level, variance = paths.now(since)
    worth, bits = _worth(level, variance, paths.tolerance)
    return DueDates(
        lower,
        due,
        upper,
        level * typical,
        np.sqrt(variance) * typical,
        paths.tolerance * typical,
        paths.out(since[:, None])[:, 0],
        worth,
        bits,
    )


def _first(paths: _Paths, grid: Float, risk: float) -> Float:
    """Return the days until the probability first reaches ``risk``, NaN if it never does."""
    reached = grid >= risk
    at = reached.argmax(axis=1)
    upper = _TIMES[at]
    lower = np.where(at > 0, _TIMES[np.maximum(at - 1, 0)], upper)
    for _ in range(_HALVINGS):
        middle = 0.5 * (lower + upper)
        is_out = paths.out(middle[:, None])[:, 0] >= risk
        lower, upper = np.where(is_out, lower, middle), np.where(is_out, middle, upper)
    return np.where(reached.any(axis=1), upper, np.nan)


def _worth(level: Float, variance: Float, tolerance: Float) -> tuple[Float, Float]:
    """Return the expected gain from one more reference of the typical uncertainty (1)."""
    after = variance / (variance + 1.0)
    moved = np.sqrt(variance - after)[:, None] * _NODES
    wide = tolerance[:, None]
    then = _beyond(level[:, None] + moved, np.sqrt(after)[:, None], wide)
    share = _WEIGHTS / _WEIGHTS.sum()
    wrong = (share * np.minimum(then, 1.0 - then)).sum(axis=1)
    average = (share * then).sum(axis=1)
    now = np.minimum(average, 1.0 - average)
    return np.maximum(now - wrong, 0.0), 0.5 * np.log2(variance / after)


def wanted_first(due_dates: DueDates) -> Int:
    """Return the series with dates, first those where a reference would tell most."""
    order = np.lexsort((-due_dates.bits, -np.round(due_dates.worth, _PLACES)))
    return order[np.isfinite(due_dates.out[order])]


def due_first(due_dates: DueDates) -> Int:
    """Return the series with dates, first those that need a reference soonest.

    Of those that need it alike, as at their last pair, the one that is due sooner is first.
    """
    order = np.lexsort(
        [np.nan_to_num(each, nan=np.inf) for each in (due_dates.due, due_dates.lower)]
    )
    return order[np.isfinite(due_dates.out[order])]


def due_sentence(due_dates: DueDates, row: int, unit: str, now: float) -> str:
    """Return what is known of one series, in words that follow the sensor's name."""
    allowed = amount(float(due_dates.tolerance[row]), unit)
    if due_dates.lower[row] <= now:
        return (
            f"needs a reference now: its error is beyond {allowed} with a probability of "
            f"{probability(float(due_dates.out[row]))}"
        )
    if not np.isfinite(due_dates.lower[row]):
        return f"stays within {allowed} for {YEARS_MAX:g} years as far as its pairs tell"
    first = f"needs a reference by {_day(due_dates.lower[row], now)}"
    if np.isfinite(due_dates.due[row]):
        return f"{first}; leaves its tolerance of {allowed} around {_day(due_dates.due[row], now)}"
    return f"{first}: from then on its error is beyond {allowed} with a probability of 5 %"


def _day(time: float, now: float) -> str:
    return date_time(time, "%Y-%m-%d" if time - now > 2.0 * DAY else f"{TO_THE_MINUTE} UTC")


def scale_of(verdict: Verdict | None) -> float:
    """Return a verdict's factor on the uncertainty, 1 where it names none."""
    if verdict is None or not shows(verdict) or verdict.fault not in ("understated", "overstated"):
        return 1.0
    return verdict.scale.value if verdict.scale.is_known and verdict.scale.value > 0.0 else 1.0


def laid_out(due_dates: DueDates, rows: Int, count: int) -> DueDates:
    """Return the same for ``count`` series, of which those at ``rows`` are known."""
    columns = []
    for each in due_dates:
        column = np.full(count, NAN)
        column[rows] = each
        columns.append(column)
    return DueDates(*columns)


def published_due_dates(due_dates: DueDates, now: float) -> dict[str, Float]:
    """Return the published numbers by name; ``due_seconds`` is among them."""
    return {
        "due_seconds": due_dates.due - now,
        "due_lower_seconds": due_dates.lower - now,
        "due_upper_seconds": due_dates.upper - now,
        "out_of_tolerance_ratio": due_dates.out,
        "reference_worth_ratio": due_dates.worth,
    }
