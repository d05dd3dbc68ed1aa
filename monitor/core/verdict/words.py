"""Each fault in the words of a person at the sensor, with as many digits as their use needs.

Rules of this file: the words follow the sensor's name; a fault that is over is in the past tense. A
number is rounded to a power of ten, its resolution. The interval of an estimate sets its
resolution, in a sentence and in the advice beside it. Plain digits from 1e-4 to 1e9, powers of ten
beyond.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from monitor.core.formatting import amount, count_of, duration
from monitor.core.model import Float
from monitor.core.pairing.series_rules import COVERAGE_FACTOR
from monitor.core.verdict.pairs import Spread
from monitor.core.verdict.rows import FAR
from monitor.core.verdict.verdict import (
    FINER,
    IS_RIGHT,
    UNDECIDED,
    Bounds,
    BoundsColumns,
    ErrorCode,
    Estimate,
    State,
    Verdict,
)

_PLAIN: Final = (1e-4, 1e9)
_MOST_DIGITS: Final = 15  # that a double holds
_NO_BOUND: Final = 10.0  # a factor within which every sensor is
_TENS: Final = np.array([10.0**k for k in range(16)])
_ALMOST: Final = 1e-3  # share of half an interval within which its end is almost at nothing
_EXACT: Final = 1e-12  # half intervals over the value that only the arithmetic leaves


def estimated(estimate: Estimate, nothing: float = math.nan) -> tuple[str, str]:
    """Return an estimate and " (lower to upper)", to the digits that its interval warrants.

    An interval that excludes ``nothing`` (0 for a level, 1 for a factor) still does so as text.
    """
    value, lower, upper = estimate
    half = 0.5 * (upper - lower)
    if half < _EXACT * abs(value):
        away = abs(value - nothing) or abs(value)
        return f"{float(exactly(value, 1e-4 * away)):.12g}", ""
    if not (math.isfinite(half) and half > 0.0):
        return three_digits(value), ""
    near = min(abs(value - lower), abs(upper - value))
    step = min(max(near, 0.1 * half), 0.5 * half)
    parted = estimate.excludes(nothing)
    if parted and value != nothing:
        step = min(step, max(abs(value - nothing), _ALMOST * half))
    text = _rounded(estimate, step)
    if parted:
        at, end = (1, lower) if value > nothing else (2, upper)
        far = abs(end - nothing)
        if _at(end, _last(estimate, step)) == _at(nothing, _last(estimate, step)):
            is_near = far <= _ALMOST * half
            finer = _written(end, _last((end,), far), is_plain=_is_plain(estimate))
            text[at] = f"almost {nothing:g}" if is_near else finer
    return text[0], f" ({text[1]} to {text[2]})"


def _rounded(numbers: Sequence[float], resolution: float) -> list[str]:
    """Return numbers in one notation, _rounded to a power of ten of at most ``resolution``."""
    largest = max(abs(each) for each in numbers)
    if largest == 0.0 or not math.isfinite(largest):
        return [f"{each:g}" for each in numbers]
    last = _last(numbers, resolution)
    return [_written(each, last, is_plain=_is_plain(numbers)) for each in numbers]


def _is_plain(numbers: Sequence[float]) -> bool:
    return _PLAIN[0] <= max(abs(each) for each in numbers) < _PLAIN[1]


def _last(numbers: Sequence[float], resolution: float) -> int:
    """Return the power of ten to which numbers are _rounded; a double holds no more digits."""
    least = math.floor(math.log10(max(abs(each) for each in numbers))) - _MOST_DIGITS
    if not resolution > 0.0:
        return least
    return max(least, math.floor(math.log10(resolution) + 1e-9))


def exactly(number: float, resolution: float) -> str:
    """Return one number, _rounded to a power of ten of at most ``resolution``."""
    return _rounded((number,), resolution)[0]


def _at(number: float, last: int) -> float:
    return round(number, -last) + 0.0 if -last < 300 else number


def _written(number: float, last: int, *, is_plain: bool) -> str:
    number = _at(number, last)
    if is_plain:
        return f"{number:.{max(-last, 0)}f}"
    if number == 0.0:
        return "0"
    return f"{number:.{max(math.floor(math.log10(abs(number))) - last, 0)}e}"


def at_least(number: float) -> str:
    """Return a factor above 1, _rounded down to two digits, or to as many as keep it above 1."""
    places = 0 if number >= 10.0 else 1
    while places < _MOST_DIGITS and math.floor(number * 10.0**places) <= 10.0**places:
        places += 1
    return f"{math.floor(number * 10.0**places) / 10.0**places:g}"


def three_digits(number: float) -> str:
    """Return a number with three significant digits, and all digits before the point."""
    return f"{number:.0f}" if 100.0 <= abs(number) < _PLAIN[1] else f"{number:.3g}"


STUCK_DIGITS: Final = 7  # of a value that a sensor repeats; single precision holds no more
_MASS_UNITS: Final = frozenset(("kg", "g", "t", "lb", "mg"))
_SPREADS: Final[dict[Spread, str]] = {
    "u": "its u",
    "interval": "the width of its interval",
    "members": "the distance of its members from their mean",
}
_GERUNDS: Final = {
    "add": "adding",
    "subtract": "subtracting",
    "multiply": "multiplying",
    "divide": "dividing",
    "take": "taking",
}
_RATES: Final = ((86_400.0, "a day"), (3600.0, "an hour"), (60.0, "a minute"), (1.0, "a second"))


_DAY: Final = 86_400.0
_WEEKS: Final = ((7.0 * _DAY, "a week"), *_RATES)


class Verbs(NamedTuple):
    """The verbs and words that change with the tense, in one tense."""

    reads: str
    drifts: str
    crosses: str
    has: str
    have: str
    changes: str
    understates: str
    overstates: str
    is_: str
    follows: str
    shows: str
    earlier: str
    measures: str
    falls: str
    rises: str
    now: str
    sends: str
    meets: str
    stands: str
    goes: str
    loses: str
    gains: str


NOW: Final = Verbs(
    *(
        "reads",
        "drifts",
        "crosses",
        "has",
        "have",
        "changes",
        "understates",
        "overstates",
        "is",
        "follows",
    ),
    *("shows", "was", "measures", "falls", "rises", "now", "sends", "meets"),
    *("stands", "goes", "loses", "gains"),
)
PAST: Final = Verbs(
    *("read", "drifted", "crossed", "had", "had", "changed", "understated", "overstated", "was"),
    *("followed", "showed", "had been", "measured", "fell", "rose", "when last clear"),
    *("sent", "met", "stood", "went", "lost", "gained"),
)


def direction(bias: float, unit: str) -> str:
    """Return heavy or light for a mass, high or low for anything else."""
    names = ("heavy", "light") if unit in _MASS_UNITS else ("high", "low")
    return names[0] if bias >= 0.0 else names[1]


def with_unit(number: str, unit: str) -> str:
    """Return a number, and its unit if it has one."""
    return f"{number} {unit}".strip()


def instead(intercept: str, slope: str, unit: str) -> str:
    """Return what a linear correction takes instead of a value."""
    sign, size = ("-", slope[1:]) if slope.startswith("-") else ("+", slope)
    at = with_unit(intercept, unit)
    return f"take {at} {sign} {size} times its value instead of its value"


def spread_times(factor: str, spread: Spread) -> str:
    """Return what is multiplied for u to become ``factor`` times as large."""
    return f"multiply {_SPREADS[spread]} by {factor}"


def gerund(doing: str) -> str:
    """Return "adding 3.1 kg" of "add 3.1 kg"."""
    verb, _, rest = doing.partition(" ")
    return f"{_GERUNDS[verb]} {rest}"


def rounded_up(number: float) -> str:
    """Return a number with at most two significant digits, not less than it is."""
    step = 10 ** max(math.floor(math.log10(max(number, 1.0))) - 1, 0)
    return f"{math.ceil(number / step) * step}"


def smaller_u(unit: str) -> str:
    """Return "states a smaller u when it reads low": its u follows its errors."""
    return f"states a smaller u when it reads {direction(-1.0, unit)}"


def right_within(bounds: Bounds, since: str) -> str:
    """Return "right within 0.4 u and a factor of 1.3 (60 pairs; some 200 more for 0.2 u)".

    "No fault found yet" where the bounds are too wide to call it right. ``since`` is the date of
    the first of its pairs where earlier ones are left out.
    """
    state, *numbers = bounds[:5]
    columns = BoundsColumns(*(np.array([each]) for each in (state == IS_RIGHT, *numbers)))
    return str(each_right_within(columns, None if bounds.since is None else since)[0])


def each_right_within(bounds: BoundsColumns, since: str | None = None) -> Any:  # noqa: ANN401
    """Return the same for each series; ``since`` is None where no pairs are left out."""
    is_bound = np.isfinite(bounds.level) & (bounds.factor < _NO_BOUND)
    within = (
        np.where(is_bound, _rounded_up(each), 0.0) for each in (bounds.level, bounds.factor - 1.0)
    )
    states = np.where(bounds.is_right, IS_RIGHT, UNDECIDED)
    columns = (states, *within, bounds.pairs, _one_digit(bounds.more))
    texts = np.empty(bounds.level.size, dtype=np.object_)
    texts[:] = [
        _right_within(*each, since) for each in zip(*(c.tolist() for c in columns), strict=True)
    ]
    return texts


@lru_cache(maxsize=4096)
def _right_within(
    state: State, level: float, beyond: float, n: int, more: float, since: str | None
) -> str:
    """Return the words for rounded bounds: one text in memory for the many series that have it.

    ``beyond`` is the factor less 1; 0 where nothing is known of either.
    """
    is_right = state == IS_RIGHT
    text = "right" if is_right else "no fault found yet"
    if beyond:
        between = " " if is_right else ": "
        text = f"{text}{between}within {level:g} u and a factor of {1.0 + beyond:g}"
    pairs = counted(n)
    if since is not None:
        pairs = f"{pairs} since {since}" if since else f"its last {pairs}"
    aim = f"for {FINER:g} u" if is_right else "to call it right"
    return f"{text} ({pairs}; some {more:.0f} more {aim})" if more else f"{text} ({pairs})"


def _rounded_up(bounds: Float) -> Float:
    """Return bounds rounded up to tenths, to hundredths below a tenth."""
    scale = np.where(bounds > 0.1, 10.0, 100.0)
    return np.maximum(np.ceil(bounds * scale - 1e-9), 1.0) / scale


def _one_digit(numbers: Float) -> Float:
    """Return numbers rounded to one digit, 0 below 1."""
    numbers = np.where(numbers < 1.0, 0.0, numbers)
    place = _TENS[np.searchsorted(_TENS, numbers, side="right") - (numbers > 0.0)]
    return np.rint(numbers / place) * place


def counted(pairs: int) -> str:
    """Return "1 pair" or "7 pairs"."""
    return count_of(pairs, "pair")


def rate(verdict: Verdict, unit: str) -> tuple[str, str]:
    """Return "-0.12 degC a day" and its interval; by the hour or less where the pairs span less."""
    seconds, per = next((each for each in _RATES if verdict.span >= each[0]), _RATES[-1])
    if not math.isfinite(verdict.span):
        seconds, per = _RATES[0]
    slope = verdict.slope_per_day.times(seconds / _RATES[0][0])
    size, between = estimated(slope, 0.0)
    sign = "+" if slope.value > 0.0 else ""
    return f"{sign}{with_unit(size, unit)} {per}", between


def offset_size(verdict: Verdict) -> tuple[str, str]:
    """Return how far off it is and its interval, for the sentence and for advice."""
    return estimated(verdict.level.unsigned, 0.0)


def factor(scale: Estimate, advised: float) -> str:
    """Return the factor on u that is advised, in the digits of the sentence about it."""
    if scale.lower > 1.0:
        return estimated(scale, 1.0)[0]
    times = _times_too_large(scale)[0]
    return f"{advised:.{max(len(times.replace('.', '').lstrip('0')), 2)}g}"


def safe_side(scale: Estimate) -> str:
    """Return "on the safe side of 0.65; " of a factor that would make u smaller, else nothing."""
    return f"on the safe side of {factor(scale, scale.value)}; " if scale.value < 1.0 else ""


def _times_too_large(scale: Estimate) -> tuple[str, str]:
    """Return by how much u is too large and its interval, or only the least that it may be."""
    value, lower, upper = scale
    if not (scale.is_known and lower > 0.0):
        return at_least(1.0 / upper), ""
    return estimated(Estimate(1.0 / value, 1.0 / upper, 1.0 / lower), 1.0)


def offset(verdict: Verdict, unit: str, verbs: Verbs = NOW) -> str:
    """Return "reads 6.2 kg heavy (5.1 to 7.3)"."""
    size, between = offset_size(verdict)
    way = direction(verdict.level.value, unit)
    return f"{verbs.reads} {with_unit(size, unit)} {way}{between}"


def mean_error(verdict: Verdict, unit: str) -> str:
    """Return "its mean error of 0.4 kg"."""
    size, _ = offset_size(verdict)
    return f"its mean error of {with_unit(size, unit)}"


def declared(verdict: Verdict, unit: str) -> str:
    """Return "the 1.0 kg that its declared systematic part explains (k = 2)"."""
    most = with_unit(three_digits(verdict.explained), unit)
    return f"the {most} that its declared systematic part explains (k = {COVERAGE_FACTOR:g})"


def drift(verdict: Verdict, unit: str, verbs: Verbs = NOW) -> str:
    """Return "drifts +0.12 degC a day (0.11 to 0.13), 7.0 high now", or "crosses 0 now".

    Only a drift that has lasted crosses 0; another one is "at most 4 degC off now".
    """
    has_rate = verdict.slope_per_day.is_known
    size, within = offset_size(verdict)
    text = verbs.drifts
    if has_rate:
        change, between = rate(verdict, unit)
        text, within = f"{text} {change}{between}", ""
    else:
        size = with_unit(size, unit)
    if not verdict.level.is_known:
        return text
    if not verdict.level.excludes(0.0):
        most = with_unit(three_digits(max(-verdict.level.lower, verdict.level.upper)), unit)
        off = f"{verbs.crosses} 0" if verdict.has_lasted else f"at most {most} off"
        return f"{text}, {off} {verbs.now}"
    return f"{text}, {size} {direction(verdict.level.value, unit)} {verbs.now}{within}"


def gain(verdict: Verdict, unit: str, verbs: Verbs = NOW) -> str:
    """Return "has an error that changes with the level: gain 1.25 (1.2 to 1.3) relative to 5 g"."""
    size, between = estimated(verdict.gain, 1.0)
    pivot = with_unit(three_digits(verdict.pivot), unit)
    text = f"{verbs.has} an error that {verbs.changes} with the level"
    return f"{text}: gain {size}{between} relative to {pivot}"


def understated(verdict: Verdict, _unit: str, verbs: Verbs = NOW) -> str:
    """Return "understates its uncertainty by a factor of 2.0 (1.7 to 2.4)"."""
    size, between = estimated(verdict.scale, 1.0)
    return f"{verbs.understates} its uncertainty by a factor of {size}{between}"


def overstated(verdict: Verdict, _unit: str, verbs: Verbs = NOW) -> str:
    """Return "overstates its uncertainty by a factor of 2.0 (1.7 to 2.4)", u over its due.

    "By a factor of at least 3.1" where the pairs do not separate the factor on u from 0.
    """
    size, between = _times_too_large(verdict.scale)
    least = "" if between else "at least "
    return f"{verbs.overstates} its uncertainty by a factor of {least}{size}{between}"


def outliers(verdict: Verdict, _unit: str, verbs: Verbs = NOW) -> str:
    """Return "is more than 4 standard uncertainties off in 5 % of its pairs", or "sends -999"."""
    size, between = estimated(verdict.size.times(100.0), 0.0)
    if verdict.code is not None:
        return f"{coded(verdict.code, verbs)} in {size} % of its pairs{between}"
    return f"{verbs.is_} more than 4 standard uncertainties off in {size} % of its pairs{between}"


def but_for(few: int, of: int) -> str:
    """Return ", but for 5 of 600 pairs, which are more than 4 standard uncertainties off"."""
    if not few:
        return ""
    few_of = f"{few} of {counted(of)}, which {'is' if few == 1 else 'are'}"
    return f", but for {few_of} more than {FAR:g} standard uncertainties off"


def tells_nothing(constant: float, unit: str) -> str:
    """Return ", but its u tells nothing: a constant 3.1 kg would be better"."""
    better = with_unit(exactly(constant, 0.1 * constant), unit)
    return f", but its u tells nothing: a constant {better} would be better"


def coded(code: ErrorCode, verbs: Verbs = NOW) -> str:
    """Return "sends -999", or "meets a reference of -999"."""
    number = f"{code.number:.15g}"
    return (
        f"{verbs.meets} a reference of {number}" if code.of_reference else f"{verbs.sends} {number}"
    )


def no_more_codes(code: ErrorCode) -> str:
    """Return "send null instead of -999, which looks like an error code"."""
    who = "let the reference send" if code.of_reference else "send"
    return f"{who} null instead of {code.number:.15g}, which looks like an error code"


def stuck(verdict: Verdict, unit: str, verbs: Verbs = NOW) -> str:
    """Return "is stuck at 103.2 kg for 14 pairs"; at least, if none of the pairs is from before."""
    value = amount(verdict.size.value, unit, STUCK_DIGITS)
    least = "" if verdict.segment else "at least "
    return f"{verbs.is_} stuck at {value} for {least}{counted(verdict.pairs)}"


def lag(verdict: Verdict, _unit: str, verbs: Verbs = NOW) -> str:
    """Return "is late by 30 s: it shows what was 3 pairs before"."""
    late = verdict.size.value
    if not late > 0.0:
        return f"{verbs.follows} what it {verbs.measures} too slowly"
    before = counted(round(late))
    by = f" by {duration(verdict.delay)}" if verdict.delay > 0.0 else ""
    return f"{verbs.is_} late{by}: it {verbs.shows} what {verbs.earlier} {before} before"


def at_limit(verdict: Verdict, unit: str, verbs: Verbs = NOW) -> str:
    """Return "stands at 70 % whatever is above it"."""
    side = "above" if verdict.is_above else "below"
    value = amount(verdict.size.value, unit, STUCK_DIGITS)
    return f"{verbs.stands} at {value} whatever {verbs.is_} {side} it"


def spells(verdict: Verdict, unit: str, verbs: Verbs = NOW) -> str:
    """Return "is off by +12 kg (10 to 14) in 15 % of its pairs (10 to 20), in spells"."""
    size, between = estimated(verdict.level.unsigned, 0.0)
    part, of = estimated(verdict.size.times(100.0), 0.0)
    way = direction(verdict.level.value, unit)
    off = f"{verbs.reads} {with_unit(size, unit)} {way}{between}"
    return f"{off} in {part} % of its pairs{of}, in spells"


def daily(verdict: Verdict, unit: str, verbs: Verbs = NOW) -> str:
    """Return "has an error that goes with the hour of the day: +-4 kg (3 to 5), highest ..."."""
    size, between = estimated(verdict.swing, 0.0)
    hour = f"{round(verdict.pivot) % 24:02d}:00 UTC"
    text = f"{verbs.has} an error that {verbs.goes} with the hour of the day"
    return f"{text}: +-{with_unit(size, unit)}{between}, highest about {hour}"


def beyond_level(verdict: Verdict, unit: str, verbs: Verbs = NOW) -> str:
    """Return "reads 8.0 % high (7.5 to 8.5) above 68 %"."""
    side = "above" if verdict.is_above else "below"
    place = with_unit(three_digits(verdict.pivot), unit)
    return f"{offset(verdict, unit, verbs)} {side} {place}"


def sensitivity(verdict: Verdict, _unit: str, verbs: Verbs = NOW) -> str:
    """Return "loses 1.0 % of its sensitivity a week (0.9 to 1.1), gain 0.86 now"."""
    seconds, per = next((each for each in _WEEKS if verdict.span >= each[0]), _WEEKS[0])
    part = verdict.slope_per_day.times(100.0 * seconds / (_DAY * verdict.pivot))
    size, between = estimated(part.unsigned, 0.0)
    verb = verbs.gains if part.value > 0.0 else verbs.loses
    gain_now = estimated(verdict.size, 1.0)[0]
    return f"{verb} {size} % of its sensitivity {per}{between}, gain {gain_now} {verbs.now}"


def unrelated(_found: Verdict, _unit: str, verbs: Verbs = NOW) -> str:
    """Return that its readings have nothing to do with its references."""
    return f"{verbs.has} readings that {verbs.have} nothing to do with its references"


def sign(_found: Verdict, _unit: str, verbs: Verbs = NOW) -> str:
    """Return that its value goes the wrong way."""
    return (
        f"{verbs.has} the wrong sign: its value {verbs.falls} when what it {verbs.measures} "
        f"{verbs.rises}"
    )
