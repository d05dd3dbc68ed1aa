"""Pairs averaged over hours or days, as regulators compare them, with the share they must cover.

Rules of this file: periods begin at full hours or days of UTC. How many pairs a full period has
follows from the usual distance between two; a period counts if 75 % of them are there. Pairs that
come no more often than once a period, or have no times, are averages themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.model import NAN, Float, Int
from monitor.extensions.targets.regulators import COMPLETENESS


class Averages(NamedTuple):
    """Averages of one series, in the order of ``period`` (its number since 1970).

    ``u_ref`` is the standard uncertainty of one averaged reference as stated, if what is uncertain
    about single ones averages out: never more than it is. ``capture`` is the share of the periods
    from the first to the last that have an average, NaN without times.
    """

    period: Int
    sensor: Float
    reference: Float
    u_ref: float
    capture: float


def period_averages(one: Columns, seconds: float, *, timed: bool = True) -> Averages:
    """Return the averages of the only series of ``one`` over periods of ``seconds``."""
    if not timed:
        u_ref = float(np.sqrt(one.u_ref_square.mean()))
        numbers = np.arange(one.value.size)
        return Averages(numbers, one.value, one.reference, u_ref, NAN)
    periods, index, counts = np.unique(
        np.floor(one.time / seconds).astype(np.int64), return_inverse=True, return_counts=True
    )
    complete = counts >= COMPLETENESS * _pairs_in_full(one.time, seconds)
    divisor = np.maximum(counts, 1)
    sensor, reference, square = (
        (np.bincount(index, each, periods.size) / divisor)[complete]
        for each in (one.value, one.reference, one.u_ref_square)
    )
    u_ref = float(np.sqrt((square / counts[complete]).mean())) if complete.any() else NAN
    span = int(periods[-1] - periods[0]) + 1
    return Averages(periods[complete], sensor, reference, u_ref, int(complete.sum()) / span)


def _pairs_in_full(time: Float, seconds: float) -> int:
    """Return how many pairs a period has if none is missing."""
    apart = np.diff(np.unique(time))
    usual = float(np.median(apart)) if apart.size else seconds
    return max(1, round(seconds / usual))
