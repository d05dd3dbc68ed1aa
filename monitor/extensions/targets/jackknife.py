"""Intervals of figures that are functions of means, for averages that depend on one another.

Rules of this file: the jackknife's pseudo-values are to the figure what single averages are to a
mean. Their dependence widens the interval: by AR(1) from their lag-1 correlation, and at least as
far as means of long blocks vary: a slow part of the errors hardly shows in one lag. Ends are those
of Student's t for the effective number. A nominal 97 % holds some 95 % of skewed errors
(docs/evidence/beyond.md); no seed, no replicates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import scipy

from monitor.core.analysis.resampling import block_length, block_means
from monitor.core.model import Float

_LEVEL: Final = 0.97
_LAG_MAX: Final = 0.97

OfMeans = Callable[[Float], Float]


def jackknifed(rows: Float, of_means: OfMeans) -> Float:
    """Return value, lower and upper end (3 x figures) of figures of the means of ``rows``.

    ``of_means`` takes means (..., columns) and returns (figures, ...).
    """
    n, mean = rows.shape[0], rows.mean(axis=0)
    at = of_means(mean)
    left_out = of_means((n * mean - rows) / (n - 1))
    centred = (n - 1) * (left_out.mean(axis=1, keepdims=True) - left_out)
    half = np.array([_half_width(each) for each in centred])
    return np.stack([at, at - half, at + half])


def _half_width(centred: Float) -> float:
    n, square = centred.size, float(centred @ centred)
    lag = float(centred[1:] @ centred[:-1]) / square if square > 0.0 else 0.0
    # What is estimated about an estimated mean is too small by (1 + 4 lag) / n.
    lag = min(lag + (1.0 + 4.0 * lag) / n, _LAG_MAX) if lag > 2.0 / np.sqrt(n) else 0.0
    effective = n * (1.0 - lag) / (1.0 + lag)
    variance, freedom = square / (n - 1) / effective, effective - 1.0
    if lag > 0.0:
        length = min(max(2 * block_length(n, lag), int(2.0 * np.sqrt(n))), n // 4)
        means = block_means(centred[:, None], length)[:, 0]
        of_blocks = length / (n - length) * float((means * means).mean())
        if of_blocks > variance:
            variance, freedom = of_blocks, min(freedom, 1.5 * n / length - 1.0)
    t = float(scipy.special.stdtrit(max(freedom, 1.0), 0.5 + 0.5 * _LEVEL))
    return t * float(np.sqrt(variance))
