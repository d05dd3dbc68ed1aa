"""Words for numbers: amounts with their unit, and which way an error goes.

A diagnosis in one plain sentence.

Rules of this file: words a person at the sensor uses; numbers with no more digits than they mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from monitor.core.diagnosis.faults import Diagnosis
from monitor.core.diagnosis.remedies import Estimate

_MASS_UNITS: Final = frozenset(("kg", "g", "t", "lb", "mg"))


def direction(bias: float, unit: str) -> str:
    """Return heavy or light for a mass, high or low for anything else."""
    words = ("heavy", "light") if unit in _MASS_UNITS else ("high", "low")
    return words[0] if bias >= 0.0 else words[1]


def amount(number: float, unit: str) -> str:
    """Return a number with two significant digits and its unit."""
    text = f"{number:.2g}" if number < 100 else f"{number:.0f}"
    return f"{text} {unit}".strip()


Words = Callable[[Diagnosis, str], str]


def verdict(diagnosis: Diagnosis, unit: str, since: float = math.nan) -> str:
    """Return "reads 6.2 kg heavy (5.1 to 7.3), since 2026-03-01 06:12" and the like.

    ``since`` is the time of the segment's first pair, s since 1970 UTC; NaN leaves it out. Of a
    fault that fired and fades it says what its size is of late, and that it was one; of one that
    may be none, no size.
    """
    if diagnosis.fading:
        began = "" if math.isnan(since) else f"; its fault began {day(since)}"
        return f"{FADING[diagnosis.label](diagnosis, unit)}{began}"
    if diagnosis.hinted:
        return (
            f"may not be as right as it says; not clear yet in which way ({diagnosis.pairs} pairs)"
        )
    words = WORDS[diagnosis.label](diagnosis, unit)
    if diagnosis.besides is not None:
        words = f"{words} and {WORDS[diagnosis.besides.label](diagnosis.besides, unit)}"
    if diagnosis.label == "unclear" or math.isnan(since):
        return words
    return f"{words}, since {day(since)}"


def day(time: float) -> str:
    """Return a time in s UTC as "2026-03-01 06:12"."""
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M}"


def numbers(estimate: Estimate) -> tuple[str, str]:
    """Return an estimate and " (lower to upper)", to the digits that its interval warrants."""
    half = 0.5 * (estimate.upper - estimate.lower)
    if not (math.isfinite(half) and half > 0.0):
        return f"{estimate.value:.2g}", ""
    places = max(0, math.ceil(-math.log10(0.5 * half)))
    value, lower, upper = (f"{number:.{places}f}" for number in estimate)
    return value, f" ({lower} to {upper})"


def _offset(diagnosis: Diagnosis, unit: str) -> str:
    value, lower, upper = diagnosis.estimate
    way = direction(value, unit)
    size = Estimate(value, lower, upper) if value >= 0.0 else Estimate(-value, -upper, -lower)
    amount, between = numbers(size)
    return f"reads {f'{amount} {unit}'.strip()} {way}{between}"


def _understated(diagnosis: Diagnosis, _unit: str) -> str:
    amount, between = numbers(diagnosis.estimate)
    return f"understates its uncertainty {amount} times{between}"


def _overstated(diagnosis: Diagnosis, _unit: str) -> str:
    value, lower, upper = (1.0 / max(part, 1e-3) for part in diagnosis.estimate)
    amount, between = numbers(Estimate(value, upper, lower))
    return f"overstates its uncertainty {amount} times{between}"


def _outliers(diagnosis: Diagnosis, _unit: str) -> str:
    far, lower, upper = (100.0 * part for part in diagnosis.estimate)
    amount, between = numbers(Estimate(far, lower, upper))
    return f"is more than 4 u off in {amount} % of its readings{between}"


def _gain(diagnosis: Diagnosis, _unit: str) -> str:
    amount, between = numbers(diagnosis.estimate)
    return f"has an error that grows with the level: gain {amount}{between}"


def _stuck(diagnosis: Diagnosis, unit: str) -> str:
    value = f"{diagnosis.estimate.value:g} {unit}".strip()
    return f"is stuck at {value} for {diagnosis.pairs} pairs"


def _unclear(diagnosis: Diagnosis, _unit: str) -> str:
    return f"is not as right as it says; not clear yet in which way ({diagnosis.pairs} pairs)"


WORDS: Final[dict[str, Words]] = {
    "offset": _offset,
    "understated": _understated,
    "overstated": _overstated,
    "outliers": _outliers,
    "gain": _gain,
    "stuck": _stuck,
    "unclear": _unclear,
}


def _offset_fading(diagnosis: Diagnosis, unit: str) -> str:
    amount, between = numbers(diagnosis.estimate)
    interval = between.strip(" ()")
    of_late = f"{amount} {unit}".strip() + (f", {interval}" if interval else "")
    return f"may be right again (its offset is {of_late} of late)"


def _spread_fading(diagnosis: Diagnosis, _unit: str) -> str:
    amount, between = numbers(diagnosis.estimate)
    interval = between.strip(" ()")
    times = f"{amount} times as large as stated" + (f", {interval}" if interval else "")
    return f"may be right again (its errors are {times})"


FADING: Final[dict[str, Words]] = {
    "offset": _offset_fading,
    "understated": _spread_fading,
    "overstated": _spread_fading,
}
