"""The standard normal's density and upper tail, for millions of rows at each publish."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import scipy

from monitor.core.model import Float

SQRT_2PI: Final = math.sqrt(2.0 * math.pi)
# From here on the tail is below 1e-23 and the density is negligible too.
LAST: Final = 10.0


def density(z: Float) -> Float:
    """Density of the standard normal at ``z``."""
    rows = z * z
    rows *= -0.5
    np.exp(rows, out=rows)
    rows /= SQRT_2PI
    return rows


def upper_tail(t: Float) -> Float:
    """Return P(N > ``t``); NaN for NaN."""
    tail: Float = scipy.special.ndtr(-t)
    return tail
