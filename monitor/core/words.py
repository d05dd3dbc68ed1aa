"""Words for numbers: amounts with their unit, and which way an error goes."""

from __future__ import annotations

from typing import Final

_MASS_UNITS: Final = frozenset(("kg", "g", "t", "lb", "mg"))


def direction(bias: float, unit: str) -> str:
    """Return heavy or light for a mass, high or low for anything else."""
    words = ("heavy", "light") if unit in _MASS_UNITS else ("high", "low")
    return words[0] if bias >= 0.0 else words[1]


def amount(number: float, unit: str) -> str:
    """Return a number with two significant digits and its unit."""
    text = f"{number:.2g}" if number < 100 else f"{number:.0f}"
    return f"{text} {unit}".strip()
