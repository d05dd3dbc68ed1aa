"""Each fault in the words that a person at the sensor uses; they follow the sensor's name.

A number has no more digits than its interval warrants.
"""

from __future__ import annotations

import math
from typing import Final

from monitor.core.verdict.verdict import Estimate, Verdict

_MASS_UNITS: Final = frozenset(("kg", "g", "t", "lb", "mg"))


def direction(bias: float, unit: str) -> str:
    """Return heavy or light for a mass, high or low for anything else."""
    names = ("heavy", "light") if unit in _MASS_UNITS else ("high", "low")
    return names[0] if bias >= 0.0 else names[1]


def numbers(estimate: Estimate) -> tuple[str, str]:
    """Return an estimate and " (lower to upper)", to the digits that its interval warrants."""
    half = 0.5 * (estimate.upper - estimate.lower)
    if not (math.isfinite(half) and half > 0.0):
        return three_digits(estimate.value), ""
    if max(abs(each) for each in estimate) >= 1e6 or half < 1e-6:
        value, lower, upper = (f"{number:.3g}" for number in estimate)
        return value, f" ({lower} to {upper})"
    places = max(0, math.ceil(-math.log10(0.5 * half)))
    value, lower, upper = (f"{number:.{places}f}" for number in estimate)
    return value, f" ({lower} to {upper})"


def three_digits(number: float) -> str:
    """Return a number with three significant digits."""
    return f"{number:.0f}" if 100.0 <= abs(number) < 1e6 else f"{number:.3g}"


def with_unit(number: str, unit: str) -> str:
    """Return a number, and its unit if it has one."""
    return f"{number} {unit}".strip()


def _absolute(size: Estimate) -> Estimate:
    return size if size.value >= 0.0 else Estimate(-size.value, -size.upper, -size.lower)


def offset(found: Verdict, unit: str) -> str:
    """Return "reads 6.2 kg heavy (5.1 to 7.3)"."""
    size, between = numbers(_absolute(found.level))
    return f"reads {with_unit(size, unit)} {direction(found.level.value, unit)}{between}"


def drift(found: Verdict, unit: str) -> str:
    """Return "drifts +0.12 degC a day (0.11 to 0.13), 7.0 high now"."""
    size, within = numbers(_absolute(found.level))
    way = direction(found.level.value, unit)
    if not found.slope_per_day.is_known:
        return f"drifts, {with_unit(size, unit)} {way} now{within}"
    rate, between = numbers(_absolute(found.slope_per_day))
    sign = "+" if found.slope_per_day.value > 0.0 else "-"
    return f"drifts {sign}{with_unit(rate, unit)} a day{between}, {size} {way} now"


def gain(found: Verdict, unit: str) -> str:
    """Return "has an error that grows with the level: gain 1.25 (1.21 to 1.29) about 500 kg"."""
    size, between = numbers(found.gain)
    about = with_unit(three_digits(found.pivot), unit)
    return f"has an error that grows with the level: gain {size}{between} about {about}"


def understated(found: Verdict, _unit: str) -> str:
    """Return "understates its uncertainty 2.0 times (1.7 to 2.4)"."""
    size, between = numbers(found.scale)
    return f"understates its uncertainty {size} times{between}"


def overstated(found: Verdict, _unit: str) -> str:
    """Return "overstates its uncertainty 2.0 times (1.7 to 2.4)": u over what it should be."""
    value, lower, upper = (1.0 / max(each, 1e-3) for each in found.scale)
    size, between = numbers(Estimate(value, upper, lower))
    return f"overstates its uncertainty {size} times{between}"


def outliers(found: Verdict, _unit: str) -> str:
    """Return "is more than 4 u off in 5 % of its readings (2 to 10)"."""
    size, between = numbers(found.size.times(100.0))
    return f"is more than 4 u off in {size} % of its readings{between}"


def stuck(found: Verdict, unit: str) -> str:
    """Return "is stuck at 103.2 kg for 14 pairs"."""
    value = with_unit(f"{found.size.value:g}", unit)
    return f"is stuck at {value} for {found.pairs} pairs"


def lag(found: Verdict, _unit: str) -> str:
    """Return "is late: it shows what was 3 pairs before"."""
    late = found.size.value
    if not late > 0.0:
        return "follows what it measures too slowly"
    return f"is late: it shows what was {late:.0f} {'pair' if late == 1.0 else 'pairs'} before"


def sign(_found: Verdict, _unit: str) -> str:
    """Return that its value goes the wrong way."""
    return "has the wrong sign: its value falls when what it measures rises"
