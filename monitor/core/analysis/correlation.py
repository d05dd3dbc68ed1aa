"""Correlation of two columns, with the least-squares line of one on the other.

For scores over the same sensors (Martin, Molteno, Parry, arXiv 1411.4354, Fig. 4, cited as A), and
for a sensor's values on their references: slope, intercept and R2 as test reports state them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import scipy

from monitor.core.analysis.ranking import ranks
from monitor.core.model import Float

# The p-value of a rank correlation is from Student's t, which does not hold for fewer sensors.
P_VALUE_SENSORS: Final = 10


class Correlation(NamedTuple):
    """The correlation of two columns, and the line y = intercept + slope x.

    ``p`` is the two-sided p-value of the rank correlation; NaN for fewer than three rows or no
    spread.
    """

    pearson: float
    spearman: float
    p: float
    slope: float
    intercept: float

    @property
    def r2(self) -> float:
        """Share of y's variance that the line explains (R2)."""
        return self.pearson**2


def correlation(x: Float, y: Float) -> Correlation:
    """Return the correlation of two columns (A-21, Fig. 4)."""
    if x.size < 3 or not (np.ptp(x) > 0.0 and np.ptp(y) > 0.0):  # the variance of 0.1 is not 0
        return Correlation(*(float("nan"),) * 5)
    pearson, spearman = _pearson(x, y), _pearson(ranks(x), ranks(y))
    t = spearman * np.sqrt((x.size - 2) / max(1.0 - spearman**2, 1e-300))
    slope = pearson * float(y.std() / x.std())
    return Correlation(
        pearson,
        spearman,
        float(2.0 * scipy.special.stdtr(x.size - 2, -abs(t))),
        slope,
        float(y.mean()) - slope * float(x.mean()),
    )


def _pearson(x: Float, y: Float) -> float:
    a, b = x - x.mean(), y - y.mean()
    return float((a @ b) / np.sqrt((a @ a) * (b @ b)))
