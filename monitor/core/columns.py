"""Columns: pairs of many series laid end to end, the input of every statistic.

Rules of this file: ragged, contiguous, event order within a series. A sum over a series depends
only on that series' pairs, never on its neighbours, so a series computed alone, among ten thousand,
live or from a file gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import scipy

from monitor.core.model import Bool, Float, Int, Records

T = TypeVar("T")
S = TypeVar("S", np.float64, np.int64, np.bool_)
N = TypeVar("N", np.float64, np.int64)

# Rows computed at a time: temporaries of a megabyte stay in the cache, and the fixed cost of a
# portion (some 600 calls on one number a series) is a twentieth of the whole.
CELLS: Final = 131_072
# A spread below this share of the numbers that it comes from is rounding, not spread.
ROUNDING: Final = 16.0 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Columns:
    """Pairs of ``len(starts)`` series; build it with :func:`columns`.

    ``starts[i]`` is the first row of series i; rows are in event order (time, id) within a series.
    Every series has at least one pair. Units: those of the series; ``time`` in seconds UTC.
    ``u``, ``lower``, ``upper`` and ``p`` are complete: what the sensor did not state is derived
    from the normal distribution. ``stated_crps`` is the CRPS of the distribution that a sensor
    stated, NaN where it stated none; None if no pair has one. ``by_interval``: which pairs state an
    interval and no u; None if none does.
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
    stated_crps: Float | None = None
    by_interval: Bool | None = None
    _known: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

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
        return np.sqrt(self.variance)

    @cached_property
    def error_square(self) -> Float:
        """Square of the error."""
        return self.error * self.error

    @cached_property
    def u_square(self) -> Float:
        """Square of the stated u."""
        return self.u * self.u

    @cached_property
    def u_ref_square(self) -> Float:
        """Square of u_ref."""
        return self.u_ref * self.u_ref

    @cached_property
    def variance(self) -> Float:
        """Square of u_eff."""
        return self.u_square + self.u_ref_square

    @cached_property
    def z(self) -> Float:
        """Error over its standard uncertainty."""
        return self.error / self.u_eff

    @cached_property
    def told_u(self) -> Float:
        """``u`` as it tells pairs apart: one number for a series whose intervals have one width.

        That width is a difference of ends, whose rounding is no statement.
        """
        if self.by_interval is None:
            return self.u
        ends = np.maximum(np.abs(self.lower), np.abs(self.upper)) / coverage_factor(self.p)
        most, largest = (np.maximum.reduceat(each, self.starts) for each in (self.u, ends))
        is_one = most - np.minimum.reduceat(self.u, self.starts) <= ROUNDING * largest
        return np.where(is_one[self.series], most[self.series], self.u)

    @cached_property
    def alpha(self) -> Float:
        """Stated probability of a miss, 1 - p."""
        return 1.0 - self.p

    @cached_property
    def width(self) -> Float:
        """Width of the stated interval."""
        return self.upper - self.lower

    @cached_property
    def inside(self) -> Bool:
        """Whether the stated interval holds the reference; its ends count as inside."""
        return self.outside_by == 0.0

    @cached_property
    def hits(self) -> Float:
        """1 where the stated interval holds the reference, else 0."""
        return self.inside.astype(np.float64)

    @cached_property
    def reach(self) -> Float:
        """K u_ref: how far an uncertain reference alone reaches at the interval's level."""
        return coverage_factor(self.p) * self.u_ref

    @cached_property
    def own_error(self) -> Float:
        """Error beyond what the reference accounts for: its sign times sqrt(error^2 - reach^2).

        0 within ``reach``. A band of k half-widths contains it as often as the band widened in
        quadrature by ``reach`` holds the reference. This is exact at the stated level for a normal
        error and reference.
        """
        if not self.u_ref.any():
            return self.error
        size = np.abs(self.error)
        beyond = np.maximum(size - self.reach, 0.0) * (size + self.reach)
        return np.copysign(np.where(self.reach > 0.0, np.sqrt(beyond), size), self.error)

    @cached_property
    def sides(self) -> tuple[Float, Float]:
        """Distances from the value down and up to the ends; half the width if it lies outside."""
        below, above = self.value - self.lower, self.upper - self.value
        apart, half = np.minimum(below, above) < 0.0, 0.5 * self.width
        return np.where(apart, half, below), np.where(apart, half, above)

    @cached_property
    def widened(self) -> tuple[Float, Float]:
        """Lower and upper end of the interval that holds an uncertain reference with probability p.

        Each of ``sides`` is read as that of a normal, and ``reach`` adds to it in quadrature.
        """
        if not self.u_ref.any():
            return self.lower, self.upper
        low, high = (np.hypot(side, self.reach) - side for side in self.sides)
        return self.lower - low, self.upper + high

    @cached_property
    def outside_by(self) -> Float:
        """Distance of the reference from the stated interval, 0 inside."""
        beyond = self.lower - self.reference
        np.maximum(beyond, self.reference - self.upper, out=beyond)
        return np.maximum(beyond, 0.0, out=beyond)

    @cached_property
    def equal_counts(self) -> bool:
        """Whether all series have the same number of pairs (full windows)."""
        return bool(self.counts.min() == self.counts.max())

    @cached_property
    def cells(self) -> Int:
        """Place of each row in the flattened :meth:`grid`."""
        within = np.arange(self.value.size) - self.spread(self.starts)
        return self.series * int(self.counts.max()) + within

    def grid(self, rows: npt.NDArray[N], fill: float = np.inf) -> npt.NDArray[N]:
        """Return ``rows`` as a matrix, one series a line, the lines padded with ``fill``."""
        if self.equal_counts:
            return rows.reshape(self.starts.size, -1)
        matrix = np.full(self.starts.size * int(self.counts.max()), fill, dtype=rows.dtype)
        matrix[self.cells] = rows
        return matrix.reshape(self.starts.size, -1)

    def sum(self, rows: Float) -> Float:
        """Sum of ``rows`` (one number a pair) for each series."""
        return np.add.reduceat(rows, self.starts)

    def mean(self, rows: Float) -> Float:
        """Mean of ``rows`` (one number a pair) for each series."""
        return self.sum(rows) / self.counts

    def spread(self, per_series: npt.NDArray[S]) -> npt.NDArray[S]:
        """Return one number a series repeated for each of its pairs."""
        return np.repeat(per_series, self.counts)

    def times(self, rows: Float, per_series: Float) -> Float:
        """Return ``rows`` times the number of their series."""
        return rows * self.spread(per_series)

    def once(self, function: Callable[[Columns], T]) -> T:
        """Return ``function(self)``, computed at the first call and cached."""
        if function not in self._known:
            self._known[function] = function(self)
        known: T = self._known[function]
        return known

    def take(self, series: Int) -> Columns:
        """Return the columns of the series numbered ``series``, in that order."""
        if (np.diff(series) == 1).all():
            counts, first = self.counts[series], int(self.starts[series[0]])
            rows = slice(first, first + int(counts.sum()))
            return self.select(rows, np.cumsum(counts) - counts)
        return self.ends(series, np.zeros_like(series))

    def ends(self, series: Int, begin: Int) -> Columns:
        """Return the pairs of each of ``series`` from the one at its place ``begin`` on."""
        counts = self.counts[series] - begin
        starts = np.cumsum(counts) - counts
        first = np.repeat(self.starts[series] + begin - starts, counts)
        return self.select(first + np.arange(counts.sum()), starts)

    def rows(self, rows: slice) -> Columns:
        """Return some rows of the only series there is."""
        return self.select(rows, np.zeros(1, dtype=np.int64))

    def select(self, rows: slice | Int, starts: Int) -> Columns:
        """Return the columns of any ``rows``, cut into series at ``starts``."""
        return Columns(
            starts=starts,
            time=self.time[rows],
            value=self.value[rows],
            reference=self.reference[rows],
            u=self.u[rows],
            lower=self.lower[rows],
            upper=self.upper[rows],
            p=self.p[rows],
            u_ref=self.u_ref[rows],
            stated_crps=None if self.stated_crps is None else self.stated_crps[rows],
            by_interval=None if self.by_interval is None else self.by_interval[rows],
        )


def in_blocks(one: Columns, number: int) -> Columns:
    """Return the only series of ``one`` cut into ``number`` successive ones of nearly equal count.

    Statistics of the blocks show how far they hold along a series (C-32); at most one block a pair.
    """
    count = min(number, one.value.size)
    size, longer = divmod(one.value.size, count)
    place = np.arange(count)
    return one.select(slice(None), place * size + np.minimum(place, longer))


def by_runs(function: Callable[[Float], Float], rows: Float) -> Float:
    """Return ``function(rows)``, elementwise, evaluated once for each run of equal rows.

    Stated coverage probabilities hardly ever change, and the normal quantile is expensive.
    """
    if rows.size == 0:
        return rows
    first = np.append(0, np.flatnonzero(rows[1:] != rows[:-1]) + 1)
    lengths = np.diff(first, append=rows.size)
    return np.repeat(function(rows[first]), lengths)


def coverage_factor(p: Float) -> Float:
    """Return k such that a normal lies within mean -+ k u with probability ``p``."""
    return by_runs(lambda q: np.asarray(scipy.special.ndtri(0.5 + 0.5 * q)), p)


def ratio(above: Float, below: Float | Int) -> Float:
    """Return ``above / below`` where ``below`` > 0, else NaN (a ratio that is not defined)."""
    quotient = np.full(np.broadcast(above, below).shape, np.nan)
    np.divide(above, below, out=quotient, where=below > 0.0)
    return quotient


def parts(whole: Columns, cells: int = CELLS) -> Iterator[tuple[Int, Columns]]:
    """Yield portions of series of similar length: at most ``cells`` cells each, or one series.

    Before each portion come the numbers of its series in ``whole``.
    """
    order = np.argsort(whole.counts, kind="stable")
    lengths = whole.counts[order]
    begin = 0
    while begin < order.size:
        ahead = lengths[begin : begin + cells // int(lengths[begin]) + 1]
        grid_sizes = np.arange(1, ahead.size + 1) * ahead
        end = begin + max(1, int(np.searchsorted(grid_sizes, cells, side="right")))
        yield order[begin:end], whole.take(order[begin:end])
        begin = end


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
    level: float | Float,
    crps: Float | None = None,
) -> Columns:
    """Return complete columns: a missing u or interval is derived from the normal distribution.

    ``level`` is the coverage probability of the interval given to a sensor that states u only, one
    number for all or one a pair; ``crps`` that of stated distributions, NaN where there is none.
    Martin et al. (arXiv 1411.4354) section III.C: a 90 % interval of width 40 is sigma 12.159.
    """
    p = np.where(np.isnan(p), level, p)
    factor = coverage_factor(p)
    bare = np.isnan(lower)
    half = factor * u
    no_u = np.isnan(u)
    return Columns(
        starts=starts,
        time=np.ascontiguousarray(time),
        value=np.ascontiguousarray(value),
        reference=np.ascontiguousarray(reference),
        u=np.where(no_u, (upper - lower) / (2.0 * factor), u),
        lower=np.where(bare, value - half, lower),
        upper=np.where(bare, value + half, upper),
        p=p,
        u_ref=np.ascontiguousarray(u_ref),
        stated_crps=None if crps is None or np.isnan(crps).all() else crps,
        by_interval=no_u if no_u.any() else None,
    )


def pair_columns(rows: Records, starts: Int, level: float | Float) -> Columns:
    """Return rows of ``PAIR`` as complete columns, see :func:`columns`."""
    names = ("time", "value", "reference", "u", "lower", "upper", "p", "crps")
    parts = {name: np.ascontiguousarray(rows[name]) for name in names}
    return columns(starts, level=level, u_ref=np.hypot(rows["u_ref"], rows["u_pair"]), **parts)
