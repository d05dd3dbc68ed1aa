"""How the error moves with the level: error model, gain, sign and lag.

Rules of this file: whose error it is decides what an honest regression shows. A classical sensor
errs independently of the reference, a predictive one (Berkson: a regression, a posterior) of its
own value. A gain is said only where both regressions show it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Bool, Float
from monitor.core.verdict.pairs import Pairs, lag_one, median, robust_scale
from monitor.core.verdict.verdict import (
    NO_SLOPES,
    NOTHING,
    UNKNOWN,
    Estimate,
    Slope,
    Slopes,
    around,
)

FEWEST: Final = 10
_FAR: Final = 5.0
_CHOSEN: Final = 1.15  # by what the choice of where it began widens a gain's standard error


def slopes_of(p: Pairs) -> Slopes:
    """Return how the errors of these pairs move with reference and value, beyond a trend."""
    if p.n < FEWEST:
        return NO_SLOPES
    keep = _near(p)
    if int(np.count_nonzero(keep)) < FEWEST:
        return NO_SLOPES
    weight = (p.unit / p.s[keep]) ** 2
    clock = p.clock[keep]
    error, reference, value = (
        _without(rows[keep], clock, weight) for rows in (p.error, p.reference, p.value)
    )
    own = float(weight @ p.u_ref[keep] ** 2)
    return Slopes(
        _slope(error, reference, weight, own),
        _slope(error, value, weight, 0.0),
        weight.size,
    )


def _near(p: Pairs) -> Bool:
    off = (p.error - median(p.error)) / p.s
    near: Bool = np.abs(off) <= _FAR * robust_scale(off)
    return near


def _without(rows: Float, clock: Float, weight: Float) -> Float:
    """Return what a weighted regression on time leaves of ``rows``."""
    total = float(weight.sum())
    rows = rows - float(weight @ rows) / total
    centred = clock - float(weight @ clock) / total
    square = float(weight @ (centred * centred))
    if square > 0.0:
        rows = rows - centred * (float(weight @ (centred * rows)) / square)
    return rows


def _slope(error: Float, level: Float, weight: Float, own: float) -> Slope:
    """Return the slope of ``error`` on ``level``; ``own`` are the squares of the level's own error.

    An error of the reference is in both, which pulls their covariance down by its variance.
    """
    square = float(weight @ (level * level)) - own
    if square <= 0.25 * (square + own) or square <= 0.0:
        return UNKNOWN
    slope = (float(weight @ (level * error)) + own) / square
    left = error - slope * level
    product = lag_one(level) * lag_one(left)
    worth = (1.0 - product) / (1.0 + product)
    variance = float(weight @ (left * left)) / max(error.size - 3.0, 1.0)
    return Slope(slope, float(np.sqrt(variance / (square * worth))))


class Gain(NamedTuple):
    """Evidence of a gain: ``t`` of the weaker regression, and its size under the error model."""

    t: float
    size: Estimate
    model: str


def gain_by(now: Slopes, before: Slopes) -> Gain:
    """Return what both regressions say of a gain, beside those of pairs that were right."""
    model = before.model
    reference, value = _beyond(now, before)
    if reference * value <= 0.0:
        t = 0.0
    elif model == "classical":
        t = reference if abs(value) > 1.5 else 0.0
    elif model == "predictive":
        t = value if abs(reference) > 1.5 else 0.0
    else:
        t = min(reference, value, key=abs)
    return Gain(t, _size(now, model), model)


def _beyond(now: Slopes, before: Slopes) -> tuple[float, float]:
    """Return t of both slopes beyond what an honest sensor may show."""
    known = [
        Slope(each.value - was.value, float(np.hypot(each.se, was.se)))
        if np.isfinite(was.se)
        else each
        for each, was in zip(now[:2], before[:2], strict=True)
    ]
    return known[0].t, known[1].t


def _size(now: Slopes, model: str) -> Estimate:
    """Return the gain: how far the value moves when what is measured moves by 1."""
    one, other = now.on_reference, now.on_value
    by_reference = around(1.0 + one.value, _CHOSEN * one.se, now.pairs - 2.0)
    slope = around(other.value, _CHOSEN * other.se, now.pairs - 2.0)
    by_value = NOTHING
    if slope.upper < 1.0:
        by_value = Estimate(*(1.0 / (1.0 - each) for each in slope))
    if model == "classical" or not np.isfinite(by_value.value):
        return by_reference
    if model == "predictive" or not np.isfinite(by_reference.value):
        return by_value
    return Estimate(
        0.5 * (by_reference.value + by_value.value),
        min(by_reference.lower, by_value.lower),
        max(by_reference.upper, by_value.upper),
    )
