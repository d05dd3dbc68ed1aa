"""Slopes of the error on reference and value, and whose error it is by them."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

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
