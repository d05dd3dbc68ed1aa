"""What to do about a fault: adjust the readings, correct the stated u, or look at the sensor.

Nothing is ever applied. A remedy is named only where the pairs of the fault can tell that it would
leave errors that pass as honest (:func:`clears`), or where the fault has no other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from monitor.core.columns import Columns
from monitor.core.diagnosis.estimates import Diagnosis
from monitor.core.formatting import amount
from monitor.core.model import Float

# What to do about a diagnosis, given the pairs it was made from and the unit of the series.
Advice = Callable[[Diagnosis, Columns, str], str]

_BIAS_LEFT: Final = 0.25  # in units of u: what the detector would take very long to see
_SPREAD_LEFT: Final = (0.8, 1.25)
# Pairs of a segment below which no remedy is said to clear an alert.
_PAIRS_FOR_ADVICE: Final = 50


def advise(words: str) -> Advice:
    """Return the advice that is the same whatever the fault's size."""
    return lambda _diagnosis, _pairs, _unit: words


def divide_span(diagnosis: Diagnosis, _pairs: Columns, _unit: str) -> str:
    """Undo a gain."""
    return f"divide its span by {diagnosis.estimate.value:.4g}"


def shift_first(diagnosis: Diagnosis, pairs: Columns, unit: str) -> str:
    """Subtract the offset; correct u instead, or as well, only if the offset alone does not help.

    The offset is the diagnosis's own estimate, of the pairs after the alarm.
    """
    return _first_that_clears(diagnosis, pairs, unit, diagnosis.estimate.value, "offset", "scale")


def scale_first(diagnosis: Diagnosis, pairs: Columns, unit: str) -> str:
    """Correct u; subtract the mean error instead, or as well, only if that alone does not help."""
    bias = float(pairs.error[diagnosis.since :].mean())
    return _first_that_clears(diagnosis, pairs, unit, bias, "scale", "offset")


def _first_that_clears(
    diagnosis: Diagnosis, pairs: Columns, unit: str, offset: float, *order: str
) -> str:
    z = pairs.z[diagnosis.since :]
    bias = float(pairs.error[diagnosis.since :].mean())
    words = {
        "offset": _subtract(offset, unit),
        "scale": f"multiply its u by {float(np.sqrt(np.mean(z * z))):.2g}",
        "both": f"{_subtract(bias, unit)} and multiply its u by {float(z.std()):.2g}",
    }
    if z.size < _PAIRS_FOR_ADVICE:
        return words[order[0]]
    clearing = clears(z)
    return words[next((name for name in order if clearing[name]), "both")]


def _subtract(bias: float, unit: str) -> str:
    return f"{'subtract' if bias >= 0.0 else 'add'} {amount(abs(bias), unit)}"


def clears(z: Float) -> dict[str, bool]:
    """Return for each remedy whether it would leave ``z`` fit to pass as honest.

    ``offset`` subtracts the mean error, ``scale`` multiplies u by sqrt(ZMS), ``both`` does both.
    Judged by the moments that are left, |mean| <= 0.25 and 0.8 <= sd <= 1.25: replaying the
    evidence on the very pairs that chose the remedy would flatter it. Wants 50 pairs or more.
    """
    mean, spread = float(z.mean()), float(z.std())
    scale = float(np.sqrt((z * z).mean()))
    left = {
        "offset": (0.0, spread),
        "scale": (mean / max(scale, 1e-12), spread / max(scale, 1e-12)),
        "both": (0.0, 1.0 if spread > 0.0 else 0.0),
    }
    return {
        name: abs(m) <= _BIAS_LEFT and _SPREAD_LEFT[0] <= s <= _SPREAD_LEFT[1]
        for name, (m, s) in left.items()
    }
