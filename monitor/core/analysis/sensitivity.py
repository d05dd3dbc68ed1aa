"""Sensitivity to a few pairs: verdicts without the largest, the error without the most uncertain.

Rules of this file: one series at a time, on request. Pairs are removed from the largest down, equal
ones together or not at all, so that at most the requested share is removed and a constant u changes
nothing.

Sources: Pernot (arXiv 2402.10043v2) Fig. 2, cited as B; Pernot (arXiv 2206.15272) (confidence
curve and its reference); Pebay, Sandia report SAND2008-6212 (moments of what is left).
"""

from __future__ import annotations

import math
from typing import Final, Literal, NamedTuple

import numpy as np
import scipy

from monitor.core.columns import Columns, ratio
from monitor.core.model import Float, Int
from monitor.core.scores.bins import order_within
from monitor.core.scores.calibration import z_square
from monitor.core.scores.intervals import (
    MIN_PAIRS,
    abc_ends,
    verdict,
    zeta_of,
)

By = Literal["u", "z"]

# The largest share whose removal is tried for a flip of the verdict.
MOST: Final = 0.5
# The verdict after a flip.
OTHER: Final = {"valid": "invalid", "invalid": "valid"}


class Decimation(NamedTuple):
    """ZMS and RCE of the pairs that are left, one number a requested share.

    ``kept``: pairs left. ``lower``, ``upper``, ``zeta``: ABC interval of ZMS. ``expected``: ZMS of
    honest normal errors after the same removal. ``flip_pairs``: the smallest number of pairs whose
    removal turns valid into invalid or back, ``flip_share`` their share; None where no removal up
    to ``MOST`` does, or where there is no verdict at first.
    """

    by: By
    share: Float
    kept: Int
    zms: Float
    lower: Float
    upper: Float
    zeta: Float
    rce: Float
    expected: Float
    verdicts: tuple[str, ...]
    flip_pairs: int | None
    flip_share: float | None


class ConfidenceCurve(NamedTuple):
    """Mean absolute error of the pairs that are left, one number a requested share.

    ``ideal``: with the largest errors themselves removed; no curve is lower. ``stated``: the
    average for normal errors of the stated u. Unit: quantity.
    """

    share: Float
    kept: Int
    mae: Float
    ideal: Float
    stated: Float


def decimate(c: Columns, shares: Float, *, by: By, stretch: float = 1.0) -> Decimation:
    """Return how ZMS and its verdict change without the largest stated u, or |z| (B-18).

    ``shares``: 0 to below 1. By u an honest sensor stays at 1, so that a flip shows a verdict that
    depends on the least certain pairs. By |z| every sensor falls, see ``expected``: a flip to valid
    by few pairs shows that they alone made it invalid; a flip to invalid shows little.
    ``stretch`` widens the intervals, sqrt(n/n_effective) for autocorrelated pairs.
    """
    key = c.told_u if by == "u" else np.abs(c.z)
    order = order_within(c, key)
    ascending = key[order]
    left = _kept(ascending, shares)
    zms, lower, upper = _prefix_intervals(c.once(z_square)[order], stretch)
    zeta = zeta_of(zms, lower, upper, 1.0)
    at = left - 1
    squares, variances = (np.cumsum(rows[order])[at] for rows in (c.error_square, c.variance))
    flip = _flip(ascending, zeta)
    return Decimation(
        by=by,
        share=shares,
        kept=left,
        zms=zms[at],
        lower=lower[at],
        upper=upper[at],
        zeta=zeta[at],
        rce=1.0 - np.sqrt(ratio(squares, variances)),
        expected=np.ones(left.size) if by == "u" else _trimmed_normal(left / key.size),
        verdicts=tuple(verdict(float(each)) for each in zeta[at]),
        flip_pairs=flip,
        flip_share=None if flip is None else flip / key.size,
    )


def confidence_curve(c: Columns, shares: Float) -> ConfidenceCurve:
    """Return the mean absolute error without the ``shares`` (0 to below 1) of largest u (B-23).

    It falls where u is informative. If it lies above ``stated``, u is understated among the pairs
    that are left; random errors cannot reach the ideal curve.
    """
    order = order_within(c, c.told_u)
    left = _kept(c.told_u[order], shares)
    distance = np.abs(c.error)
    means = [
        np.cumsum(rows)[left - 1] / left
        for rows in (distance[order], np.sort(distance), c.u_eff[order])
    ]
    return ConfidenceCurve(shares, left, means[0], means[1], math.sqrt(2.0 / math.pi) * means[2])


def _kept(ascending: Float, shares: Float) -> Int:
    """Return how many pairs are left without ``shares``, equal ones kept together."""
    if not np.all((shares >= 0.0) & (shares < 1.0)):
        raise ValueError(f"shares to remove must be 0 to below 1: {shares}")
    n = ascending.size
    least = n - np.floor(shares * n + 1e-9).astype(np.int64)
    return np.searchsorted(ascending, ascending[np.maximum(least, 1) - 1], side="right")


def _prefix_intervals(rows: Float, stretch: float) -> tuple[Float, Float, Float]:
    """Return mean and ABC interval of the first 1, 2, ... of ``rows``, which are not negative.

    Central moments are updated row by row (Pebay): no large sums are subtracted.
    """
    k = np.arange(1.0, rows.size + 1.0)
    mean = np.cumsum(rows) / k
    step = rows - np.append(0.0, mean[:-1])
    second = np.cumsum(step * step * (k - 1.0) / k)
    cubes = step**3 * ((k - 1.0) * (k - 2.0) / (k * k))
    third = np.cumsum(cubes - 3.0 * step * np.append(0.0, second[:-1]) / k)
    a = ratio(third, 6.0 * second * np.sqrt(second))
    spread = np.where(k >= MIN_PAIRS, stretch * np.sqrt(second) / k, np.nan)
    return mean, *abc_ends(mean, spread, a)


def _flip(ascending: Float, zeta: Float) -> int | None:
    """Return the smallest number of largest pairs whose removal flips the verdict, None if none."""
    n = ascending.size
    other = OTHER.get(verdict(float(zeta[-1])))
    least = max(MIN_PAIRS, math.ceil(n * (1.0 - MOST)))
    ends = np.flatnonzero(np.diff(ascending) > 0.0) + 1
    for left in ends[ends >= least][::-1]:
        if verdict(float(zeta[left - 1])) == other:
            return n - int(left)
    return None


def _trimmed_normal(share: Float) -> Float:
    """Return the mean square of the ``share`` of smallest |z| of a standard normal."""
    largest_half_square = scipy.special.gammaincinv(0.5, share)
    return np.asarray(scipy.special.gammainc(1.5, largest_half_square) / share)
