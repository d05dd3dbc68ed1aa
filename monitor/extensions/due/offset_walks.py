"""How offsets move without references: one model for all sensors of a fleet, learnt from its pairs.

The offset of a sensor starts anywhere, drifts on a line and walks at random about it: a local
linear trend in continuous time, whose two rates lie on a grid (``RATES``). A Kalman filter computes
for each series the likelihood of every rate and the offset now. The shares of the rates in the
fleet are those that make all pairs most likely (Kiefer and Wolfowitz's estimate by expectation and
maximisation, with some imaginary sensors that favour no rate, so that few pairs do not give
certainty). A series with few pairs thus moves as the fleet does, one with many as it did before. An
event at a sensor resets its offset, not its rates.

Errors and rates are in units of a series' typical standard uncertainty, times in days.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.model import Bool, Float, Int
from monitor.core.verdict.weights import usual_us

DAY: Final = 86_400.0
BLOCKS: Final = 64  # means that a series is condensed to; movement within one counts as noise
_WALKS: Final = np.geomspace(0.01, 3.0, 6)  # u per root of a day
_LINES: Final = np.concatenate([[0.0], np.geomspace(0.001, 1.0, 7)])  # u a day, standard deviation
RATES: Final[Float] = np.stack([each.ravel() for each in np.meshgrid(_WALKS, _LINES)])
"""(2, G): the walk's standard deviation after a day, and that of the drift a day."""
_ROUNDS: Final = 5  # more rounds would turn what few pairs suggest into certainty
_UNSEEN: Final = 2.0  # imaginary sensors, which favour no rate
_FAR: Final = 3.0  # standard deviations from which an error counts as an outlier
_RHO_MAX: Final = 0.95


class Walks(NamedTuple):
    """Offsets at the last pair, for each series (rows) and each rate of ``RATES`` (columns).

    ``fit`` is the log likelihood of the rate, ``level`` and ``slope`` with their covariance are in
    units of ``typical`` and days; ``last`` (s UTC) and ``typical`` have one entry a series.
    """

    fit: Float
    level: Float
    slope: Float
    level_variance: Float
    covariance: Float
    slope_variance: Float
    last: Float
    typical: Float

    def rows(self, chosen: Int) -> Walks:
        """Return some series."""
        return Walks(*(each[chosen] for each in self))


class _Blocks(NamedTuple):
    """Means of successive pairs: (series, places) each, the first ``counts`` of a row are in use.

    ``begins`` marks the first after the sensor was adjusted, moved or replaced.
    """

    counts: Int
    day: Float
    mean: Float
    variance: Float
    begins: Bool


def walks_of(pairs: Columns, epoch: Int, scale: Float) -> Walks:
    """Return how the offset of each series moves by its own pairs.

    ``epoch`` (one a pair) changes when the sensor is adjusted, moved or replaced. ``scale`` is the
    verdict's factor on each series' uncertainty, 1 where that is right.
    """
    usual = usual_us(pairs.u_eff, pairs.value, pairs.reference, pairs.starts)
    typical = np.array([np.median(each) for each in np.split(usual, pairs.starts[1:])])
    blocks = _condensed(pairs, epoch, usual, typical, scale)
    shape = (typical.size, RATES.shape[1])
    walk, line = RATES[0] ** 2, RATES[1] ** 2
    fit, slope, covariance = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    level = np.repeat(blocks.mean[:, :1], shape[1], axis=1)
    variance = np.repeat(blocks.variance[:, :1], shape[1], axis=1)
    slope_variance = np.repeat(line[None], shape[0], axis=0)
    for at in range(1, int(blocks.counts.max())):
        anew = np.flatnonzero((blocks.counts > at) & blocks.begins[:, at])
        level[anew] = blocks.mean[anew, at][:, None]
        variance[anew], covariance[anew] = blocks.variance[anew, at][:, None], 0.0
        some = np.flatnonzero((blocks.counts > at) & ~blocks.begins[:, at])
        days = (blocks.day[some, at] - blocks.day[some, at - 1])[:, None]
        p, c, s = variance[some], covariance[some], slope_variance[some]
        p = p + days * (2.0 * c + s * days + walk)
        c = c + s * days
        ahead = level[some] + slope[some] * days
        off = blocks.mean[some, at][:, None] - ahead
        total = p + blocks.variance[some, at][:, None]
        total = np.maximum(total, off**2 / _FAR**2)
        fit[some] -= 0.5 * (np.log(total) + off**2 / total)
        level[some], slope[some] = ahead + p / total * off, slope[some] + c / total * off
        variance[some], covariance[some] = p - p * p / total, c - p * c / total
        slope_variance[some] = np.maximum(s - c * c / total, 0.0)
    last = pairs.time[np.append(pairs.starts[1:], pairs.time.size) - 1]
    return Walks(fit, level, slope, variance, covariance, slope_variance, last, typical)


def rate_shares(fit: Float) -> Float:
    """Return how probable each rate is for each series, by its own pairs and by the whole fleet.

    The order of series in ``fit`` (series, rates) must depend only on the fleet: sums follow it.
    """
    likelihood = np.exp(fit - fit.max(axis=1, keepdims=True))
    prior = np.full(fit.shape[1], 1.0 / fit.shape[1])
    shares = prior * likelihood
    for _ in range(_ROUNDS):
        shares = prior * likelihood
        shares /= shares.sum(axis=1, keepdims=True)
        prior = (shares.sum(axis=0) + _UNSEEN / fit.shape[1]) / (fit.shape[0] + _UNSEEN)
    return shares


def _condensed(pairs: Columns, epoch: Int, usual: Float, typical: Float, scale: Float) -> _Blocks:
    place = np.arange(pairs.time.size) - pairs.starts[pairs.series]
    part = place * np.minimum(pairs.counts, BLOCKS)[pairs.series] // pairs.counts[pairs.series]
    first = np.zeros(place.size, np.bool_)
    first[1:] = (np.diff(part) != 0) | (np.diff(epoch) != 0)
    first[pairs.starts] = True
    block = np.cumsum(first) - 1
    weight = (pairs.spread(typical) / (usual * pairs.spread(scale))) ** 2
    error = pairs.error / pairs.spread(typical)
    day = (pairs.time - pairs.spread(pairs.time[pairs.starts])) / DAY
    total = np.bincount(block, weight)
    mean, when = (np.bincount(block, weight * each) / total for each in (error, day))
    begins = np.flatnonzero(first)
    of = pairs.series[begins]
    variance = _inflation(error - mean[block], block, pairs)[of] / total
    counts = np.bincount(of, minlength=typical.size)
    at = np.arange(of.size) - np.repeat(np.cumsum(counts) - counts, counts)
    is_new = np.zeros(of.size, np.bool_)
    is_new[1:] = (np.diff(epoch[begins]) != 0) & (np.diff(of) == 0)
    rows = np.zeros((4, typical.size, int(counts.max())))
    for row, each in zip(rows, (when, mean, variance, is_new), strict=True):
        row[of, at] = each
    return _Blocks(counts, rows[0], rows[1], rows[2], rows[3] > 0.0)


def _inflation(off: Float, block: Int, pairs: Columns) -> Float:
    """Return the factor from autocorrelation within blocks on the variance of their means."""
    inside = np.append(block[1:] == block[:-1], values=False)
    later = np.append(off[1:], 0.0)
    series = pairs.starts.size
    apart = np.bincount(pairs.series, np.where(inside, off * later, 0.0), series)
    both = np.bincount(pairs.series, np.where(inside, 0.5 * (off**2 + later**2), 0.0), series)
    # Subtracting a block's own mean makes neighbouring pairs look anticorrelated.
    size = pairs.counts / np.minimum(pairs.counts, BLOCKS)
    rho = apart / np.where(both > 0.0, both, 1.0) + np.where(size > 1.0, 1.0 / size, 0.0)
    rho = np.clip(rho, 0.0, _RHO_MAX) * (both > 0.0)
    inflation: Float = (1.0 + rho) / (1.0 - rho)
    return inflation
