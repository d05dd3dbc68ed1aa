"""Rows of numbers side by side, [series, pairs], padded with 0 on the right.

Rules of this file: a row has the same result alone and among others, however far it is padded; a
few far numbers never move a median.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from monitor.core.model import Bool, Float, Int

FAR: Final = 4.0  # uncertainties from which an error is far off
LANES: Final = 32  # rows a multiple of this wide have the same sums however far they are padded
_AROUND: Final = 8
_MOST_FAR: Final = 0.25  # share of far neighbours above which that is the spread there
TO_SD: Final = 1.4826  # of a median absolute deviation, for the normal


def width_of(n: Int) -> int:
    """Return the width of rows that hold ``n`` numbers each and at least one 0."""
    return (int(n.max(initial=0)) // LANES + 1) * LANES


def padded(rows: Sequence[Float]) -> Float:
    """Return rows side by side, each padded with 0 on the right."""
    filled = np.zeros((len(rows), width_of(np.array([row.size for row in rows]))))
    for goal, row in zip(filled, rows, strict=True):
        goal[: row.size] = row
    return filled


def medians(rows: Float, mask: Bool) -> Float:
    """Return the median of the places of each row where ``mask`` is true."""
    ordered = np.sort(np.where(mask, rows, np.inf), axis=1)
    n = np.count_nonzero(mask, axis=1)
    at, low = np.arange(n.size), np.maximum(n - 1, 0) // 2
    return 0.5 * (ordered[at, low] + ordered[at, np.minimum(n // 2, rows.shape[1] - 1)])


def median(rows: Float) -> float:
    """Return the median of some rows."""
    return float(medians(rows[None], np.ones((1, rows.size), dtype=np.bool_))[0])


def robust_scales(off: Float, mask: Bool) -> Float:
    """Return the standard deviation of deviations, estimated from their median, at least 1."""
    return np.maximum(1.0, TO_SD * medians(np.abs(off), mask))


# Exchanges that leave the median of nine in the middle (Smith, 1996).
_EXCHANGES: Final = (
    *((1, 2), (4, 5), (7, 8), (0, 1), (3, 4), (6, 7), (1, 2), (4, 5), (7, 8), (0, 3)),
    *((5, 8), (4, 7), (3, 6), (1, 4), (2, 5), (4, 7), (4, 2), (6, 4), (4, 2)),
)
_WIDTH: Final = 9


def running_medians(rows: Float, live: Bool, n: Int) -> Float:
    """Return the median of each pair and its eight neighbours, at the ends of the outer nine."""
    middle = rows.shape[1] - _WIDTH + 1
    window = [rows[:, k : k + middle] for k in range(_WIDTH)]
    for one, other in _EXCHANGES:
        low, high = window[one], window[other]
        window[one], window[other] = np.minimum(low, high), np.maximum(low, high)
    half = _WIDTH // 2
    place = np.clip(np.arange(rows.shape[1]), half, np.maximum(n - half - 1, half)[:, None]) - half
    at_half = np.take_along_axis(window[half], place, axis=1)
    short = n <= _WIDTH
    if short.any():
        at_half[short] = medians(rows[short], live[short])[:, None]
    return at_half


def near(off: Float, live: Bool, n: Int) -> Bool:
    """Return which deviations are not far; where many neighbours are far, that is the spread."""
    far = (np.abs(off) > FAR * robust_scales(off, live)[:, None]) & live
    used = live.copy()
    some = np.flatnonzero(far.any(axis=1))
    if some.size:
        far = far[some]
        total = np.zeros((some.size, far.shape[1] + 1), dtype=np.int64)
        np.cumsum(far, axis=1, out=total[:, 1:])
        at = np.arange(far.shape[1])
        low, high = np.maximum(at - _AROUND, 0), np.minimum(at + _AROUND + 1, n[some, None])
        around = np.take_along_axis(total, high, axis=1) - total[:, low]
        used[some] &= ~far | (around > _MOST_FAR * (high - low))
    return used


def dots(one: Float, other: Float) -> Float:
    """Return the sums of products along each row, the same however far rows are padded with 0."""
    return np.asarray(np.einsum("ij,ij->i", one, other))


def sums(rows: Float) -> Float:
    """Return the sum of each row, the same however far it is padded with 0."""
    return np.asarray(np.einsum("ij->i", rows))


def resolved(left: Float, grain: Float) -> Float:
    """Return residuals, 0 in each row where none exceeds the ``grain`` of rounding [series]."""
    return np.asarray(left * (np.abs(left).max(axis=1) > grain)[:, None])


def quotients(above: Float, below: Float, otherwise: float = 0.0) -> Float:
    """Return the quotients, ``otherwise`` where there is none."""
    return np.divide(above, below, out=np.full(np.shape(above), otherwise), where=below != 0.0)
