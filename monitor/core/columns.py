"""Pairs of many series laid end to end: what every statistic is a function of.

Rules of this file: ragged, contiguous, event order within a series. A sum over a series depends
on that series' pairs alone, never on its neighbours, so one series computed alone, among ten
thousand, live or from a file gives the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from monitor.core.model import Float, Int


@dataclass(frozen=True)
class Columns:
    """Pairs of ``len(starts)`` series; build it with :func:`columns`.

    ``starts[i]`` is the first row of series i; rows are in event order (time, id) within a series.
    Every series has at least one pair. Units: those of the series; ``time`` in seconds UTC.
    ``u``, ``lower``, ``upper`` and ``p`` are complete: what the sensor did not state was derived
    through the normal distribution.
    """

    starts: Int
    time: Float
    value: Float
    reference: Float
    u: Float
    lower: Float
    upper: Float
    p: Float
    u_ref: Float

    @cached_property
    def counts(self) -> Int:
        """Pairs per series."""
        return np.diff(self.starts, append=self.value.size)

    @cached_property
    def series(self) -> Int:
        """Index of the series of each row."""
        return np.repeat(np.arange(self.starts.size), self.counts)

    @cached_property
    def error(self) -> Float:
        """Measured value - reference value (VIM 2.16), the sign used everywhere."""
        return self.value - self.reference

    @cached_property
    def u_eff(self) -> Float:
        """Standard uncertainty of the error: sqrt(u^2 + u_ref^2), with u_pair inside u_ref."""
        return np.hypot(self.u, self.u_ref)

    @cached_property
    def z(self) -> Float:
        """Error over its standard uncertainty."""
        return self.error / self.u_eff

    @cached_property
    def alpha(self) -> Float:
        """Stated probability of a miss, 1 - p."""
        return 1.0 - self.p

    @cached_property
    def width(self) -> Float:
        """Width of the stated interval."""
        return self.upper - self.lower

    def sum(self, rows: Float) -> Float:
        """Sum of ``rows`` (one number a pair) for each series."""
        return np.add.reduceat(rows, self.starts)

    def mean(self, rows: Float) -> Float:
        """Mean of ``rows`` (one number a pair) for each series."""
        return self.sum(rows) / self.counts

    def spread(self, per_series: Float) -> Float:
        """Return one number a series repeated for each of its pairs."""
        return np.repeat(per_series, self.counts)


def columns(
    starts: Int,
    *,
    time: Float,
    value: Float,
    reference: Float,
    u: Float,
    lower: Float,
    upper: Float,
    p: Float,
    u_ref: Float,
    level: float,
) -> Columns:
    """Return complete columns: the missing one of u and interval is taken through the normal.

    ``level`` is the coverage probability of the interval given to a sensor that states u only.
    Martin et al. (arXiv 1411.4354) section III.C: a 90 % interval of width 40 is sigma 12.159.
    """
    p = np.where(np.isnan(p), level, p)
    factor = ndtri(0.5 + 0.5 * p)
    bare = np.isnan(lower)
    half = factor * u
    no_u = np.isnan(u)
    return Columns(
        starts=starts,
        time=time,
        value=value,
        reference=reference,
        u=np.where(no_u, (upper - lower) / (2.0 * factor), u),
        lower=np.where(bare, value - half, lower),
        upper=np.where(bare, value + half, upper),
        p=p,
        u_ref=u_ref,
    )
