"""What a state means, in one plain sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from monitor.core.model import Float
from monitor.core.snapshot import SeriesName

_SPREAD_MIN: Final = 1e-6
U_REF_RATIO_MAX: Final = 1.0 / 3.0
_MASS_UNITS: Final = frozenset(("kg", "g", "t", "lb", "mg"))


def sentence(
    name: SeriesName, state: str, family: str, pairs: int, numbers: Mapping[str, float]
) -> str:
    """Return what is known of one series; ``numbers`` are its published statistics."""
    blurred = numbers.get("calibration_u_ref_ratio", 0.0)
    if blurred > U_REF_RATIO_MAX and state != "stale":
        calm = sentence(name, state, family, pairs, {**numbers, "calibration_u_ref_ratio": 0.0})
        return f"{calm} (seen through a reference {blurred:.2g} times as uncertain as itself)"
    if state == "stale":
        return "no readings any more"
    if state == "firing":
        return fault(name, family, numbers)
    if state == "pending":
        return f"something may be wrong: leaning to {family}, not sure yet"
    if state == "unknown":
        return f"not clear yet ({pairs} pairs)"
    return "as right as it says"


def fault(name: SeriesName, family: str, numbers: Mapping[str, float]) -> str:
    """Return what is wrong with a series whose alert fires."""
    bias = numbers.get("calibration_bias", math.nan)
    spread = math.sqrt(numbers.get("calibration_zms", math.nan))
    if family == "offset":
        return f"reads {amount(abs(bias), name.unit)} {direction(bias, name.unit)}"
    if family == "understated":
        return f"is less certain than it says: its uncertainty is {spread:.2g} times too small"
    if family == "overstated":
        if not spread > _SPREAD_MIN:
            return "is more certain than it says: it agrees with the reference exactly"
        return f"is more certain than it says: its uncertainty is {1 / spread:.2g} times too large"
    return "has readings far outside what its uncertainty allows"


def direction(bias: float, unit: str) -> str:
    """Return heavy or light for a mass, high or low for anything else."""
    words = ("heavy", "light") if unit in _MASS_UNITS else ("high", "low")
    return words[0] if bias >= 0.0 else words[1]


def amount(number: float, unit: str) -> str:
    """Return a number with two significant digits and its unit."""
    text = f"{number:.2g}" if number < 100 else f"{number:.0f}"
    return f"{text} {unit}".strip()


def column(statistics: Mapping[str, Float], row: int) -> dict[str, float]:
    """Return one series' numbers out of the columns."""
    return {name: float(values[row]) for name, values in statistics.items()}
