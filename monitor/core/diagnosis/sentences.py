"""Each fault in one plain sentence: words that a person at the sensor uses.

A number has no more digits than its interval warrants. ``faults.FAULTS`` says which function words
which fault; a sentence follows the sensor's name.
"""

from __future__ import annotations

import math
from typing import Final

from monitor.core.diagnosis.estimates import Diagnosis, Estimate

_MASS_UNITS: Final = frozenset(("kg", "g", "t", "lb", "mg"))


def direction(bias: float, unit: str) -> str:
    """Return heavy or light for a mass, high or low for anything else."""
    words = ("heavy", "light") if unit in _MASS_UNITS else ("high", "low")
    return words[0] if bias >= 0.0 else words[1]


def numbers(estimate: Estimate) -> tuple[str, str]:
    """Return an estimate and " (lower to upper)", to the digits that its interval warrants."""
    half = 0.5 * (estimate.upper - estimate.lower)
    if not (math.isfinite(half) and half > 0.0):
        return f"{estimate.value:.2g}", ""
    places = max(0, math.ceil(-math.log10(0.5 * half)))
    value, lower, upper = (f"{number:.{places}f}" for number in estimate)
    return value, f" ({lower} to {upper})"


def offset(diagnosis: Diagnosis, unit: str) -> str:
    """Return "reads 6.2 kg heavy (5.1 to 7.3)"."""
    value, lower, upper = diagnosis.estimate
    way = direction(value, unit)
    size = Estimate(value, lower, upper) if value >= 0.0 else Estimate(-value, -upper, -lower)
    amount, between = numbers(size)
    return f"reads {f'{amount} {unit}'.strip()} {way}{between}"


def understated(diagnosis: Diagnosis, _unit: str) -> str:
    """Return "understates its uncertainty 2.0 times (1.7 to 2.4)"."""
    amount, between = numbers(diagnosis.estimate)
    return f"understates its uncertainty {amount} times{between}"


def overstated(diagnosis: Diagnosis, _unit: str) -> str:
    """Return "overstates its uncertainty 2.0 times (1.7 to 2.4)": u over what it should be."""
    value, lower, upper = (1.0 / max(part, 1e-3) for part in diagnosis.estimate)
    amount, between = numbers(Estimate(value, upper, lower))
    return f"overstates its uncertainty {amount} times{between}"


def outliers(diagnosis: Diagnosis, _unit: str) -> str:
    """Return "is more than 4 u off in 5 % of its readings (2 to 10)"."""
    far, lower, upper = (100.0 * part for part in diagnosis.estimate)
    amount, between = numbers(Estimate(far, lower, upper))
    return f"is more than 4 u off in {amount} % of its readings{between}"


def gain(diagnosis: Diagnosis, _unit: str) -> str:
    """Return "has an error that grows with the level: gain 1.25 (1.21 to 1.29)"."""
    amount, between = numbers(diagnosis.estimate)
    return f"has an error that grows with the level: gain {amount}{between}"


def stuck(diagnosis: Diagnosis, unit: str) -> str:
    """Return "is stuck at 103.2 kg for 14 pairs"."""
    value = f"{diagnosis.estimate.value:g} {unit}".strip()
    return f"is stuck at {value} for {diagnosis.pairs} pairs"


def unclear(diagnosis: Diagnosis) -> str:
    """Return that it is wrong, without saying how."""
    return f"is not as right as it says; {_not_clear_yet(diagnosis)}"


def hinted(diagnosis: Diagnosis) -> str:
    """Return that it may be wrong, without saying how."""
    return f"may not be as right as it says; {_not_clear_yet(diagnosis)}"


def _not_clear_yet(diagnosis: Diagnosis) -> str:
    return f"not clear yet in which way ({diagnosis.pairs} pairs)"


def offset_fading(diagnosis: Diagnosis, unit: str) -> str:
    """Return "may be right again (its offset is 0.3 kg of late, -0.5 to 1.1)"."""
    amount, between = numbers(diagnosis.estimate)
    interval = between.strip(" ()")
    of_late = f"{amount} {unit}".strip() + (f", {interval}" if interval else "")
    return f"may be right again (its offset is {of_late} of late)"


def spread_fading(diagnosis: Diagnosis, _unit: str) -> str:
    """Return "may be right again (its errors are 1.1 times as large as stated, ...)"."""
    amount, between = numbers(diagnosis.estimate)
    interval = between.strip(" ()")
    times = f"{amount} times as large as stated" + (f", {interval}" if interval else "")
    return f"may be right again (its errors are {times})"
