"""The pairs of one series as a verdict looks at them, their neighbours, and what they are worth.

Rules of this file: event order; every number finite; the error's standard uncertainty is never
smaller than what double precision can tell of the value and the reference; a few far rows never
move a median, nor what autocorrelated pairs are worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from monitor.core.columns import Columns
from monitor.core.model import Bool, Float

_RESOLUTION: Final = 2.0**-51
# An error is never more than 1e9 of its uncertainties, and none of them 1e9 times as certain as
# most: larger ratios would spoil sums of squares.
_LEAST_SHARE: Final = 1e-9
_LEAST: Final = 1e-150
_MOVING: Final = 0.2  # share of pairs whose time is another than that of the pair before


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of one series in event order: time in s UTC, the rest in the series' unit.

    ``timed``: the times are real ones. A file without times has numbers instead, and nothing that
    is said of it holds a date or a rate a day.
    """

    time: Float
    value: Float
    u: Float
    reference: Float
    u_ref: Float
    timed: bool = True

    @classmethod
    def of(cls, one: Columns, *, timed: bool = True) -> Pairs:
        """Return the pairs of the only series of ``one``."""
        return cls(one.time, one.value, one.u, one.reference, one.u_ref, timed)

    @property
    def n(self) -> int:
        """How many pairs."""
        return self.value.size

    @cached_property
    def error(self) -> Float:
        """Value - reference."""
        return self.value - self.reference

    @cached_property
    def s(self) -> Float:
        """Standard uncertainty of the error, as stated, and at least what a double resolves."""
        stated, blur = self._parts
        least = _LEAST_SHARE * float(np.max(np.abs(self.error), initial=0.0))
        found = np.maximum(np.hypot(stated, blur), max(least, _LEAST))
        return np.maximum(found, _LEAST_SHARE * median(found)) if self.n else found

    @cached_property
    def _parts(self) -> tuple[Float, Float]:
        blur = _RESOLUTION * np.maximum(np.abs(self.value), np.abs(self.reference))
        return np.hypot(self.u, self.u_ref), blur

    @cached_property
    def is_resolved(self) -> bool:
        """Whether doubles as large as the values hold what the stated uncertainties claim."""
        stated, blur = self._parts
        return median(stated) > median(blur)

    @cached_property
    def z(self) -> Float:
        """Error over its standard uncertainty."""
        return self.error / self.s

    @cached_property
    def unit(self) -> float:
        """The typical standard uncertainty of an error, in the series' unit."""
        return median(self.s)

    @cached_property
    def clock(self) -> Float:
        """Time from 0 to 1 along the pairs; their numbers where times do not tell them apart."""
        span = float(self.time[-1] - self.time[0]) if self.n else 0.0
        if self.has_clock:
            return (self.time - self.time[0]) / span
        return np.arange(self.n) / max(self.n - 1, 1)

    @cached_property
    def has_clock(self) -> bool:
        """Whether the times are fit to take a rate by: in order, and not all in a few places."""
        if not self.timed or self.n < 2:
            return False
        steps = np.diff(self.time)
        is_ordered = bool(np.isfinite(steps).all() and (steps >= 0.0).all())
        return is_ordered and float(np.count_nonzero(steps)) > _MOVING * steps.size

    @property
    def span_days(self) -> float:
        """Days that the clock's 0 to 1 is."""
        return float(self.time[-1] - self.time[0]) / 86_400.0

    def rows(self, part: slice) -> Pairs:
        """Return some of the pairs, as certain as they are among all."""
        some = Pairs(
            time=self.time[part],
            value=self.value[part],
            u=self.u[part],
            reference=self.reference[part],
            u_ref=self.u_ref[part],
            timed=self.timed,
        )
        some.__dict__["s"] = self.s[part]
        return some


FAR: Final = 4.0  # uncertainties from which an error is far off
_WIDTH: Final = 9
_AROUND: Final = 8
_MOST_FAR: Final = 0.25  # share of far ones around a pair above which that is the spread there
_TO_SD: Final = 1.4826  # of a median absolute deviation, for the normal


def median(rows: Float) -> float:
    """Return the median; several times quicker than numpy's for some hundred rows."""
    half = rows.size // 2
    if rows.size % 2:
        return float(np.partition(rows, half)[half])
    low, high = np.partition(rows, (half - 1, half))[half - 1 : half + 1].tolist()
    return 0.5 * (low + high)


def robust_scale(off: Float) -> float:
    """Return the standard deviation of deviations as their median tells it, at least 1."""
    return max(1.0, _TO_SD * median(np.abs(off)))


def running_median(rows: Float) -> Float:
    """Return the median of each row and its eight neighbours, at the ends that of the last nine."""
    if rows.size <= _WIDTH:
        return np.full(rows.size, median(rows))
    windows = np.lib.stride_tricks.sliding_window_view(rows, _WIDTH)
    inner = np.partition(windows, _WIDTH // 2, axis=1)[:, _WIDTH // 2]
    return np.pad(inner, _WIDTH // 2, mode="edge")


def near(off: Float) -> Bool:
    """Return which deviations are not far: where many are far around, that is the spread there."""
    far = np.abs(off) > FAR * robust_scale(off)
    if not far.any():
        return ~far
    total = np.concatenate([[0], np.cumsum(far)])
    at = np.arange(off.size)
    low, high = np.maximum(at - _AROUND, 0), np.minimum(at + _AROUND + 1, off.size)
    around: Bool = total[high] - total[low] > _MOST_FAR * (high - low)
    return ~far | around


RHO_MAX: Final = 0.95
_PRIOR_PAIRS: Final = 20.0
_BLOCKS: Final = 12
_FAR_STEP: Final = 4.0


def rho_of_differences(error: Float, s: Float) -> float:
    """Return the lag-1 autocorrelation from differences: neither jumps nor ramps pass for it.

    For an AR(1), the mean squares of the differences at lag 2 and lag 1 are in the ratio 1 + rho.
    Errors with stated uncertainties ``s`` that vary are scaled only once their level is gone.
    """
    if error.size < 4:
        return 0.0
    one, two = (_mean_square(error[k:] - error[:-k], s[k:], s[:-k]) for k in (1, 2))
    if one <= 0.0:
        return 0.0
    pairs = error.size - 2.0
    shrunk = (two / one - 1.0) * pairs / (pairs + _PRIOR_PAIRS)
    return float(np.clip(shrunk, 0.0, RHO_MAX))


def _mean_square(step: Float, one: Float, other: Float) -> float:
    """Return the mean square of steps over their uncertainty, jumps pulled in."""
    scaled = np.abs(step) / np.hypot(one, other)
    most = _FAR_STEP * 1.4826 * median(scaled)
    return float(np.mean(np.minimum(scaled, most) ** 2 if most > 0.0 else scaled**2))


def lag_one(rows: Float) -> float:
    """Return the lag-1 autocorrelation of ``rows`` about their mean, from 0 to 0.95."""
    if rows.size < 4:
        return 0.0
    centred = rows - rows.mean()
    square = float(centred @ centred)
    if square <= 0.0:
        return 0.0
    return float(np.clip(float(centred[1:] @ centred[:-1]) / square, 0.0, RHO_MAX))


def inflation(rho: float) -> float:
    """Return by what autocorrelation multiplies the variance of a mean."""
    return (1.0 + rho) / (1.0 - rho)


def inflation_of_squares(rho: float) -> float:
    """Return by what autocorrelation multiplies the variance of a mean square."""
    return (1.0 + rho * rho) / (1.0 - rho * rho)


def long_inflation(rows: Float) -> float:
    """Return by what dependence multiplies the variance of the mean of ``rows``, at any scale.

    The variance of means of blocks of 1, 2, 4 ... pairs, as long as there are twelve of them; the
    largest counts.
    """
    rows = rows - rows.mean()
    single = float(rows @ rows) / max(rows.size - 1, 1)
    most, size = 1.0, 2
    while single > 0.0 and rows.size // size >= _BLOCKS:
        blocks = rows.size // size
        means = rows[: blocks * size].reshape(blocks, size).mean(axis=1)
        found = size * float(means @ means) / (blocks - 1) / single
        most = max(most, found)
        size *= 2
    return most
