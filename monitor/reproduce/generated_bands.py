"""Uncertainties of the same values and errors: informative ones and controls (C-27).

The first two are those of the figure; all are normal with u in kg for an object of 500 kg.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns, coverage_factor
from monitor.core.model import Float
from monitor.reproduce.stated_columns import STATED_P, stated_columns

SEED: Final = 20_141_117
PAIRS: Final = 400
_REFERENCE_KG: Final = 500.0
_U_KG: Final = 5.0
_VARIED: Final = 0.6  # spread of ln u
_NEARLY_KG: Final = 0.5  # added by the perfect one to the error it knows
_BLUR: Final = 0.3  # spread of the part of ln u that the weak one does not know


class Generated(NamedTuple):
    """Bands of the same errors by name; ``honest`` is the one the errors were drawn from."""

    honest: Columns
    shuffled: Columns
    perfect: Columns
    weak: Columns
    constant: Columns


def generated() -> Generated:
    """Return the bands, one series each."""
    chance = np.random.default_rng(SEED)
    u = _U_KG * np.exp(_VARIED * chance.standard_normal(PAIRS))
    error = u * chance.standard_normal(PAIRS)
    shuffled = chance.permutation(u)
    blurred = u * np.exp(_BLUR * chance.standard_normal(PAIRS))
    return Generated(
        *(
            _stated(error, each)
            for each in (
                u,
                shuffled,
                np.abs(error) + _NEARLY_KG,
                blurred,
                np.full(PAIRS, float(np.sqrt(np.mean(u * u)))),
            )
        )
    )


def _stated(error: Float, u: Float) -> Columns:
    n = error.size
    half = u * coverage_factor(np.full(n, STATED_P))
    reference = np.full(n, _REFERENCE_KG)
    value = reference + error
    return stated_columns(value, reference, u, value - half, value + half)
