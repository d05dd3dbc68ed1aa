"""Displays in whole steps, and the errors that their rounding explains.

Rules of this file: the values show the step, and the stated uncertainty must account for it. While
what it measures stays at one place of a step, so does the rounding error: an honest display that
hardly moved looks off, too certain, late or stuck by as much as half a step.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from monitor.core.detector.whitening import are_on_step, rounding_steps
from monitor.core.model import Float
from monitor.core.verdict.pairs import Pairs, Side
from monitor.core.verdict.rows import median

_FINEST: Final = 8  # steps tried, each half of the one before or less
_STEP_OF_U: Final = 1.9  # from which on rounding is most of the uncertainty
_ROUNDED: Final = 0.02  # of a step, for references that are rounded too
_REST: Final = 4.0  # standard uncertainties of all but rounding
_MOVED: Final = 1.5  # steps, to a place with a rounding error of its own
_PLACES: Final = 10  # from which on errors show what is wrong as those of other sensors do


def step_of(value: Float, u: float) -> float:
    """Return the largest step that ``u`` may be of and all values are on, 0 for a fine one."""
    for halved in range(_FINEST):
        for step in rounding_steps(np.array(u * 0.5**halved))[::-1]:
            if are_on_step(value, float(step)):
                return float(step)
    return 0.0


def held_within(p: Pairs, run: int) -> float:
    """Return how far the references of the last pairs may move while a right display stands."""
    u, u_ref = median(p.u[-run:]), median(p.u_ref[-run:])
    step = step_of(p.value, u)
    reach = _REST * u_ref if step >= _STEP_OF_U * math.hypot(u, u_ref) else 0.0
    return 2.0 * ((0.5 + _ROUNDED) * step + reach)


def is_of_rounding(p: Side, row: int) -> bool:
    """Whether a display that hardly moved explains all errors of a series by its rounding.

    They lie within half a step of the rest of their uncertainty, and their mean within half a step.
    Where the display never moved, that rest is the reference's: its own would have moved it.
    """
    n = int(p.n[row])
    value, error, stated, rest = (each[row, :n] for each in (p.value, p.error, p.u_both, p.u_ref))
    step = step_of(value, median(p.u[row, :n]))
    if not step >= _STEP_OF_U * median(stated):
        return False
    if np.ptp(value) > 0.0:
        rest = np.sqrt(np.maximum(stated * stated - step * step / 12.0, 0.0))
    half = (0.5 + _ROUNDED) * step
    within = abs(float(error.mean())) <= half and bool((np.abs(error) <= half + _REST * rest).all())
    return within and _places(value, step) < _PLACES


def _places(value: Float, step: float) -> int:
    """Return how often a display moved on, not only to and fro between two steps."""
    places, low, high = 0, math.inf, -math.inf
    for each in value[np.flatnonzero(np.diff(value, prepend=math.nan))].tolist():
        low, high = min(low, each), max(high, each)
        if high - low > _MOVED * step:
            places, low, high = places + 1, each, each
    return places
