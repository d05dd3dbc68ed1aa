"""Whether errors in a part of a covariate's range differ from those outside it.

Rules of this file: errors of two parts are compared, whether either is right does not matter. The
null hypothesis is that the errors do not depend on the covariate; they may be autocorrelated as
AR(1) and have heavy tails.

Two things are compared: the means of z, which offsets move, and those of abs(z)^(2/3), which a
wrong uncertainty moves and which is nearly normal for normal and for t errors (Wilson, Hilferty
1931). z is clipped as the detector's bets are. The variance of a difference counts for each lag how
often two pairs of the same or of different bins are that far apart, so that errors that follow each
other matter only where the covariate does too. The autocorrelation is that of what the means of the
bins leave: a fault in one part does not add to it.

*Evidence* is the likelihood ratio of a difference of normal size, one standard deviation of an
error, against none (Robbins 1970). It exceeds c at any time with probability 1/c at most, if the
differences are normal.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from monitor.core.analysis.adjustments import lag_one
from monitor.core.detector.whitening import CLIP, RHO_MAX
from monitor.core.model import Bool, Float, Int

_POWER: Final = 2.0 / 3.0
_FORGOTTEN: Final = 0.02  # an autocorrelation that no longer matters


class _Sums(NamedTuple):
    """Sums a bin, of numbers with mean 0 and variance 1, and their covariance [bins, bins]."""

    sums: Float
    covariance: Float


class BinSums(NamedTuple):
    """Pairs a bin, and the sums of what is compared."""

    pairs: Int
    compared: tuple[_Sums, ...]

    def share(self, part: Bool) -> float:
        """Return the share of all pairs that is in some bins."""
        return float(self.pairs[part].sum() / self.pairs.sum())

    def log_evidence(self, inside: Bool, outside: Bool) -> float:
        """Return the logarithm of the evidence that two sets of bins have different errors."""
        counts = float(self.pairs[inside].sum()), float(self.pairs[outside].sum())
        if not min(counts):
            return -math.inf
        weights = inside / counts[0] - outside / counts[1]
        ratios = [_log_ratio(weights, each) for each in self.compared]
        return float(np.logaddexp.reduce(ratios)) - math.log(len(ratios))


def bin_sums(z: Float, of: Int, bins: int) -> BinSums:
    """Return the sums of pairs with errors ``z``, in event order, each in the bin ``of``."""
    clipped = np.clip(z, -CLIP, CLIP)
    pairs = np.bincount(of, minlength=bins)
    compared = (_sums_of(each, of, pairs) for each in (clipped, np.abs(clipped) ** _POWER))
    return BinSums(pairs, tuple(compared))


def _sums_of(numbers: Float, of: Int, pairs: Int) -> _Sums:
    centred = numbers - numbers.mean()
    spread = float(centred.std())
    if spread == 0.0:
        return _Sums(np.zeros(pairs.size), np.eye(pairs.size))
    centred /= spread
    sums = np.bincount(of, centred, pairs.size).astype(np.float64)
    left = centred - (sums / np.maximum(pairs, 1))[of]
    return _Sums(sums, _covariance(of, pairs, min(lag_one(left), RHO_MAX)))


def _covariance(of: Int, pairs: Int, rho: float) -> Float:
    """Return the covariance of the sums of AR(1) numbers of variance 1 in bins."""
    covariance = np.diag(pairs.astype(np.float64))
    share, lag = rho, 1
    while share > _FORGOTTEN and lag < of.size:
        both = np.bincount(of[:-lag] * pairs.size + of[lag:], minlength=pairs.size**2)
        apart = share * both.reshape(pairs.size, pairs.size)
        covariance += apart + apart.T
        share *= rho
        lag += 1
    return covariance


def _log_ratio(weights: Float, of: _Sums) -> float:
    """Return the logarithm of the likelihood ratio of a weighted sum."""
    variance = max(float(weights @ of.covariance @ weights), 0.0)
    if variance == 0.0:
        return 0.0
    size = float(weights @ of.sums)
    return 0.5 * (size * size / (variance * (1.0 + variance)) - math.log1p(1.0 / variance))
