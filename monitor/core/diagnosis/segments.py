"""Since when a sensor has been wrong, and the moments of its pairs since then.

Pure functions of one series' z in event order. Autocorrelated pairs count for fewer:
docs/detection.md.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.detector.e_values import CLIP
from monitor.core.model import Float

SHORTEST: Final = 3
CLEAR: Final = 3.5  # log likelihood ratio at which a deviation is taken to be one


class Segment(NamedTuple):
    """The pairs from ``since`` on: moments of their clipped z, and effective counts."""

    since: int
    pairs: int
    mean: float
    variance: float
    n_mean: float  # independent pairs as good for a mean
    n_variance: float  # likewise for a variance

    @property
    def offset_evidence(self) -> float:
        """Return the log likelihood ratio of a mean other than 0."""
        return 0.5 * self.n_mean * self.mean**2 / max(self.variance, 1.0)

    @property
    def spread_evidence(self) -> float:
        """Return the log likelihood ratio of a variance other than 1."""
        return 0.5 * self.n_variance * (self.variance - 1.0 - np.log(self.variance))

    @property
    def is_offset(self) -> bool:
        """Whether a bias is clear."""
        return self.offset_evidence > CLEAR

    @property
    def is_spread(self) -> bool:
        """Whether a wrong uncertainty is clear."""
        return self.spread_evidence > CLEAR


def share_independent(rho: float) -> tuple[float, float]:
    """Return what share of a pair each autocorrelated pair is worth, for a mean and a variance.

    AR(1): (1 - rho) / (1 + rho) and (1 - rho^2) / (1 + rho^2) (Bayley, Hammersley 1946).
    """
    return (1.0 - rho) / (1.0 + rho), (1.0 - rho * rho) / (1.0 + rho * rho)


def share_for_product(a: Float, b: Float) -> float:
    """Return what share of a pair each is worth for the correlation of ``a`` with ``b``.

    AR(1) in both: (1 - rho_a rho_b) / (1 + rho_a rho_b) (Bartlett 1935), lag-1 correlations of
    the rows given, none below 0.
    """
    product = lag_one(a) * lag_one(b)
    return (1.0 - product) / (1.0 + product)


def lag_one(rows: Float) -> float:
    """Return the lag-1 correlation of ``rows``, 0 where it is negative or not defined."""
    centred = rows - rows.mean()
    square = float((centred * centred).sum())
    return max(0.0, float((centred[1:] * centred[:-1]).sum()) / square) if square > 0.0 else 0.0


def segment_from(since: int, z: Float, rho: float) -> Segment:
    """Return the segment of ``z`` that begins at ``since`` (at least one pair)."""
    q = np.clip(z[since:], -CLIP, CLIP)
    for_mean, for_variance = share_independent(rho)
    return Segment(
        since=since,
        pairs=q.size,
        mean=float(q.mean()),
        variance=max(float(q.var()), 1e-4),
        n_mean=q.size * for_mean,
        n_variance=q.size * for_variance,
    )


def change_point(z: Float, rho: float) -> int:
    """Return the index from which ``z`` departs most from N(0, 1): maximum likelihood with BIC.

    Each tail of at least three pairs is tried with a mean, a spread, or both; the last two cost
    by Schwarz's criterion. With fewer pairs than that, 0.
    """
    if z.size < SHORTEST:
        return 0
    q = np.clip(z[::-1], -CLIP, CLIP)
    n = np.arange(1.0, z.size + 1.0)
    mean, square = np.cumsum(q) / n, np.maximum(np.cumsum(q * q) / n, 1e-4)
    variance = np.maximum(square - mean * mean, 1e-4)
    for_mean, for_variance = share_independent(rho)
    by_mean = 0.5 * n * for_mean * mean * mean
    by_spread = 0.5 * n * for_variance * (square - 1.0 - np.log(square))
    by_both = by_mean + 0.5 * n * for_variance * (variance - 1.0 - np.log(variance))
    penalty = 0.5 * np.log(z.size)
    best = np.maximum(np.maximum(by_mean, by_spread) - penalty, by_both - 2.0 * penalty)
    return z.size - SHORTEST - int(np.argmax(best[SHORTEST - 1 :]))
