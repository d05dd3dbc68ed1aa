"""CRPS of a sensor that states an ensemble of members or quantiles: one number a pair.

Rules of this file: members and quantiles lie along the last axis, the reference has the axes before
it; lower is better, unit: quantity. Everything starts from differences of nearby values, so that a
common shift changes nothing; no term is negative, so nothing cancels.

Sources: Gneiting, Raftery, JASA 102 (2007) section 4.2; Hersbach, Weather and Forecasting 15
(2000).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from monitor.core.columns import ratio
from monitor.core.model import Bool, Float

_PACKED: Final = "<f8"
# Square of the 95 % quantile of a t with m - 1 degrees of freedom over that of the normal.
_FEW_MEMBERS: Final = {2: 42.02768956622989, 3: 4.819216182428153}


def crps_ensemble(members: Float, reference: Float) -> Float:
    """Return the CRPS of the empirical distribution of ``members`` (... x m), O(m log m).

    The integral of (F(x) - 1{x >= reference})^2; equal to mean |x - reference| less half the mean
    of all m^2 distances between members. One member: the absolute error. At least one member.
    """
    off = _sorted_off(members, reference)
    m = off.shape[-1]
    share = np.arange(1, m + 1) / m
    below = np.diff(np.minimum(off, 0.0), append=0.0)
    above = np.diff(np.maximum(off, 0.0), prepend=0.0)
    return below @ np.square(share) + above @ np.square(share[::-1])


def crps_quantiles(quantiles: Float, levels: Float, reference: Float) -> Float:
    """Return the exact CRPS of the piecewise-linear CDF through ``quantiles`` (... x k).

    ``levels`` (k): ascending, within 0..1; the outer segments continue to 0 and 1. Equal
    quantiles are a jump. NaN for quantiles that cross. One quantile: the absolute error.
    """
    at, level = _knots(quantiles, levels)
    off = at - np.asarray(reference)[..., None]
    left, right = off[..., :-1], off[..., 1:]
    p, q = level[:-1], level[1:]
    cut = np.clip(0.0, left, right)
    here = p + (q - p) * np.nan_to_num(ratio(cut - left, right - left))
    inner = (cut - left) * _mean_square(p, here) + (right - cut) * _mean_square(1.0 - here, 1.0 - q)
    outer = np.maximum(off[..., 0], 0.0) + np.maximum(-off[..., -1], 0.0)
    return np.where(_ascend(quantiles), np.sum(inner, axis=-1) + outer, np.nan)


def mean_and_u(members: Sequence[float]) -> tuple[float, float]:
    """Return the mean of two members or more, and its standard uncertainty as one more member.

    The truth is distributed as the members are. Its distance from their mean, over their standard
    deviation s (n - 1), is sqrt((m + 1) / m) times a t with m - 1 degrees of freedom, so that
    u = s sqrt((m + 1) / m) sqrt((m - 1) / (m - 3)) (JCGM 101:2008, 6.4.9). That t has no variance
    with two or three members: there u is that of a normal with the same 95 % interval. The sums are
    exact, so that messages and files of the same members give the same bits.
    """
    m = len(members)
    mean = math.fsum(members) / m
    square = math.fsum((each - mean) ** 2 for each in members) / (m - 1)
    factor = (m - 1) / (m - 3) if m > 3 else _FEW_MEMBERS[m]
    return mean, math.sqrt(square * (m + 1) / m * factor)


def packed(numbers: Sequence[float]) -> bytes:
    """Return numbers as bytes, for :func:`crps_packed`."""
    return np.array(numbers, dtype=_PACKED).tobytes()


def crps_packed(places: bytes, levels: bytes, reference: float) -> float:
    """Return the CRPS of quantiles at ``levels``, or of members where there are none."""
    at, off = np.frombuffer(places, dtype=_PACKED), np.array(reference)
    if levels:
        return float(crps_quantiles(at, np.frombuffer(levels, dtype=_PACKED), off))
    return float(crps_ensemble(at, off))


def _sorted_off(members: Float, reference: Float) -> Float:
    """Return the members less the reference, ascending."""
    if members.shape[-1] == 0:
        raise ValueError("an ensemble needs at least one member")
    return np.sort(members - np.asarray(reference)[..., None], axis=-1)


def _mean_square(one: Float, two: Float) -> Float:
    """Return the mean of the squares along a line from ``one`` to ``two``."""
    return (one * one + one * two + two * two) / 3.0


def _ascend(quantiles: Float) -> Bool:
    return np.all(np.diff(quantiles) >= 0.0, axis=-1)


def _knots(quantiles: Float, levels: Float) -> tuple[Float, Float]:
    """Return the places (... x k + 2) and levels (k + 2) of the CDF, from level 0 to level 1."""
    levels = np.asarray(levels, dtype=np.float64)
    ascending = np.all(np.diff(levels) > 0.0)
    if levels.size == 0 or not (ascending and levels[0] >= 0.0 and levels[-1] <= 1.0):
        raise ValueError(f"levels must ascend within 0..1, at least one: {levels}")
    first, last = quantiles[..., :1], quantiles[..., -1:]
    if levels.size > 1:
        slopes = np.diff(quantiles) / np.diff(levels)
        first = first - slopes[..., :1] * levels[0]
        last = last + slopes[..., -1:] * (1.0 - levels[-1])
    at = np.concatenate([first, quantiles, last], axis=-1)
    return at, np.concatenate([[0.0], levels, [1.0]])
