"""One series of claims that each state a value, a standard uncertainty and a 90 % interval."""

from __future__ import annotations

from typing import Final

import numpy as np

from monitor.core.columns import Columns
from monitor.core.model import Float

STATED_P: Final = 0.9  # coverage probability of the stated intervals


def stated_columns(value: Float, reference: Float, u: Float, lower: Float, upper: Float) -> Columns:
    """Return claims and their exact references, in order; arrays have one number per claim."""
    n = value.size
    return Columns(
        starts=np.array([0]),
        time=np.arange(float(n)),
        value=value,
        reference=reference,
        u=u,
        lower=lower,
        upper=upper,
        p=np.full(n, STATED_P),
        u_ref=np.zeros(n),
    )
