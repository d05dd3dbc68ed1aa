"""Bootstrap intervals for reports: BCa of independent pairs, and blocks of dependent events.

Rules of this file: the caller passes the seed, and a series' numbers depend only on its pairs and
the seed. Replicates are made in portions (never a matrix of pairs x replicates), and the jackknife
has a closed form. Sources: Efron, JASA 82 (1987) (BCa); Politis, Romano (1992) (circular blocks);
Politis and White, Econometric Reviews 23 (2004) (block length); Pernot (arXiv 2402.10043v2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import scipy

from monitor.core.columns import Columns
from monitor.core.model import Float
from monitor.core.scores.calibration import z_square
from monitor.core.scores.intervals import LEVEL, Interval, zeta_of

REPLICATES: Final = 10_000
# A Monte-Carlo BCa interval of fewer pairs depends on a few of them.
MIN_RESAMPLED: Final = 50
# Draws worked on at a time.
DRAWS: Final = 1 << 16

# Means of resampled rows -> statistic; the last axis is kept.
OfMeans = Callable[[Float], Float]


def resampled_means(rows: Float, draws: int, replicates: int, seed: int) -> Float:
    """Return the means (replicates x columns) of ``draws`` lines drawn from ``rows`` (n x columns).

    Memory: about ``DRAWS`` numbers a column, whatever the number of replicates.
    """
    random = np.random.Generator(np.random.SFC64(seed))
    means = np.empty((replicates, rows.shape[1]))
    separate = [np.ascontiguousarray(column) for column in rows.T]
    portion = max(1, DRAWS // draws)
    for begin in range(0, replicates, portion):
        size = min(portion, replicates - begin)
        drawn = random.integers(0, rows.shape[0], size=(size, draws), dtype=np.int64)
        for number, column in enumerate(separate):
            means[begin : begin + size, number] = column.take(drawn).mean(axis=1)
    return means


def acceleration(influence: Float) -> float:
    """Return BCa's acceleration from jackknife or empirical influences, which sum to about 0."""
    off = influence - influence.mean()
    second = float(np.sum(off * off))
    return float(np.sum(off**3)) / (6.0 * second * np.sqrt(second)) if second > 0.0 else 0.0


def bca_ends(replicas: Float, estimate: float, a: float) -> tuple[float, float]:
    """Return the BCa interval's ends from replicates of the statistic (Efron 1987 eq. 2.3)."""
    below = (np.sum(replicas < estimate) + 0.5 * np.sum(replicas == estimate)) / replicas.size
    z0 = scipy.special.ndtri(np.clip(below, 0.5 / replicas.size, 1.0 - 0.5 / replicas.size))
    tails = np.array([0.5 * (1.0 - LEVEL), 0.5 * (1.0 + LEVEL)])
    w = z0 + scipy.special.ndtri(tails)
    lower, upper = np.quantile(replicas, scipy.special.ndtr(z0 + w / (1.0 - a * w)))
    return float(lower), float(upper)


def _mean_itself(means: Float) -> Float:
    return means[:, 0]


def _rce_of(means: Float) -> Float:
    return 1.0 - np.sqrt(means[:, 0] / means[:, 1])


def _jackknife(rows: Float, of_means: OfMeans) -> Float:
    """Return the influences: minus the statistic without each line, in closed form."""
    return -of_means((rows.sum(axis=0) - rows) / max(rows.shape[0] - 1, 1))


def _bca(
    c: Columns, columns: list[Float], of_means: OfMeans, target: float, replicates: int, seed: int
) -> Interval:
    """Return the BCa interval of a statistic of means of ``columns``."""
    intervals = np.full((4, c.starts.size), np.nan)
    table = np.stack(columns, axis=1)
    for i, (start, count) in enumerate(zip(c.starts, c.counts, strict=True)):
        if count >= MIN_RESAMPLED:
            rows = table[start : start + count]
            own = float(of_means(rows.mean(axis=0, keepdims=True))[0])
            replicas = of_means(resampled_means(rows, rows.shape[0], replicates, seed))
            ends = bca_ends(replicas, own, acceleration(_jackknife(rows, of_means)))
            intervals[:, i] = (own, *ends, float(replicas.mean()) - own)
    estimate, lower, upper, bias = intervals
    zeta = zeta_of(estimate, lower, upper, target)
    return Interval("bca", LEVEL, estimate, lower, upper, zeta, replicates, seed, bias)


def bca_zms(c: Columns, *, seed: int, replicates: int = REPLICATES) -> Interval:
    """Return the BCa interval of ZMS for each series (B-13); NaN below ``MIN_RESAMPLED`` pairs."""
    return _bca(c, [c.once(z_square)], _mean_itself, 1.0, replicates, seed)


def bca_rce(c: Columns, *, seed: int, replicates: int = REPLICATES) -> Interval:
    """Return the BCa interval of RCE for each series (B-13); NaN below ``MIN_RESAMPLED`` pairs."""
    return _bca(c, [c.error_square, c.variance], _rce_of, 0.0, replicates, seed)


def block_length(n: int, lag1: float) -> int:
    """Return the block length for a mean of an AR(1) series: (6 r^2/(1 - r^2)^2)^(1/3) n^(1/3).

    Politis and White 2004 with the AR(1) spectrum; at least 1, at most a quarter of the series.
    """
    r = min(max(lag1, 0.0), 0.99) if np.isfinite(lag1) else 0.0
    best = (6.0 * r * r / (1.0 - r * r) ** 2 * n) ** (1.0 / 3.0)
    return int(np.clip(np.ceil(best), 1, max(1, n // 4)))


def block_means(rows: Float, length: int) -> Float:
    """Return the mean of the ``length`` lines from each line on, circularly (n x columns)."""
    around = np.concatenate([rows, rows[: length - 1]]) - rows.mean(axis=0)
    sums = np.cumsum(np.concatenate([np.zeros((1, rows.shape[1])), around]), axis=0)
    means: Float = (sums[length:] - sums[:-length]) / length + rows.mean(axis=0)
    return means
