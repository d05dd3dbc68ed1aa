"""Pairs as a verdict uses them, their neighbours, and what autocorrelated pairs are worth.

Rules of this file: event order; every number is finite; the error's standard uncertainty is never
smaller than double precision resolves for the value and the reference; a few far pairs never move a
median. Many series stand side by side, padded on the right with values that add nothing, so that a
series has the same numbers alone and among others.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final, Literal, NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.model import Bool, Float, Int
from monitor.core.pairing.pairing_rules import PAIRING_RULES
from monitor.core.pairing.series_rules import SeriesRules, explained
from monitor.core.verdict.rows import (
    FAR,
    TO_SD,
    dots,
    median,
    medians,
    quotients,
    sums,
    width_of,
)
from monitor.core.verdict.weights import Weights, weights_for

RHO_MAX: Final = 0.95
_RESOLUTION: Final = 2.0**-51
_ROUNDED: Final = 1e-12  # of the mean of numbers; a spread below it comes from their arithmetic
# An error is never more than 1e9 times its uncertainty, and no pair 1e9 times as certain as most:
# larger ratios would spoil sums of squares.
_LEAST_SHARE: Final = 1e-9
_LEAST: Final = 1e-150
_FAR_OFF: Final = 1e5  # typical uncertainties
_MOVING: Final = 0.2  # share of pairs whose time differs from that of the pair before
_EVEN: Final = 0.01  # share of a step by which pairs at equal steps of time may be off
_PRIOR_PAIRS: Final = 20.0
_BLOCKS: Final = 12
_JUMPS: Final = 2  # of errors that are the same otherwise, one in so many pairs at most
_APART: Final = 30
_PLAIN: Final = SeriesRules()

Spread = Literal["u", "interval", "members"]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of one series in event order: time in s UTC, the rest in the series' unit.

    ``fixed`` is the standard uncertainty of each error from systematic effects, None where there
    are none: the effect is the same in every pair, so no number of pairs averages it out.
    ``timed``: the times are real. A file without times has pair numbers instead, and no statement
    about it contains a date or a rate a day. ``spread`` is what the sensor states its uncertainty
    by: u itself, or an interval or the members of an ensemble, from whose width u follows.
    ``correlation`` is the one assumed between the errors of the readings that make up a pair, 0 for
    pairs of one reading.
    """

    time: Float
    value: Float
    u: Float
    reference: Float
    u_ref: Float
    timed: bool = True
    fixed: Float | None = None
    spread: Spread = "u"
    correlation: float = 0.0

    @classmethod
    def of(cls, columns: Columns, rules: SeriesRules = _PLAIN) -> Pairs:
        """Return the pairs of one series, whose settings are ``rules``."""
        every = np.zeros(1, dtype=np.int64), np.array([columns.value.size])
        return ManyPairs.of_columns(columns, *every, [rules])[0]

    @property
    def n(self) -> int:
        """How many pairs."""
        return self.value.size

    @property
    def error(self) -> Float:
        """Value - reference."""
        return self.value - self.reference

    @property
    def explained(self) -> float:
        """Largest bias that systematic effects account for, in the series' unit; 0 for none."""
        return 0.0 if self.fixed is None or not self.n else explained(median(self.fixed))

    @property
    def span_days(self) -> float:
        """Days that the clock takes from 0 to 1."""
        return float(self.time[-1] - self.time[0]) / 86_400.0

    def rows(self, part: slice | Int) -> Pairs:
        """Return some of the pairs."""
        return Pairs(
            time=self.time[part],
            value=self.value[part],
            u=self.u[part],
            reference=self.reference[part],
            u_ref=self.u_ref[part],
            timed=self.timed,
            fixed=None if self.fixed is None else self.fixed[part],
            spread=self.spread,
            correlation=self.correlation,
        )


class _About(NamedTuple):
    timed: bool
    has_fixed: bool
    spread: Spread
    correlation: float


@dataclass(frozen=True, eq=False)
class ManyPairs:
    """Pairs of series in one row: those of series ``i`` are the ``n[i]`` from ``starts[i]`` on.

    ``every`` has the numbers of all, ``about`` the fields of :class:`Pairs` that a series has one
    of; ``fixed`` counts for series that have it.
    """

    every: Pairs
    starts: Int
    n: Int
    about: tuple[_About, ...]

    @classmethod
    def of(cls, pairs: Sequence[Pairs] | ManyPairs) -> ManyPairs:
        """Return pairs of series in one row."""
        if isinstance(pairs, ManyPairs):
            return pairs
        n = np.array([p.n for p in pairs], dtype=np.int64)
        every = Pairs(
            *_numbers(lambda name: _joined([getattr(p, name) for p in pairs])),
            fixed=_joined([np.zeros(p.n) if p.fixed is None else p.fixed for p in pairs]),
        )
        about = (_About(p.timed, p.fixed is not None, p.spread, p.correlation) for p in pairs)
        return cls(every, np.cumsum(n) - n, n, tuple(about))

    @classmethod
    def of_columns(
        cls, columns: Columns, starts: Int, n: Int, rules: Sequence[SeriesRules]
    ) -> ManyPairs:
        """Return pairs of series that have these settings, and rows of ``columns``."""
        about = tuple(
            _About(
                *(of.timed, of.systematic.is_declared, spread),
                PAIRING_RULES[of.pairing.mode].is_of_several * of.pairing.correlation,
            )
            for of, spread in zip(rules, _spreads(columns, starts, n), strict=True)
        )
        every = Pairs(*_numbers(partial(getattr, columns)))
        declared = [at for at, of in enumerate(about) if of.has_fixed]
        if declared:
            fixed = np.zeros(every.n)
            for at in declared:
                rows = slice(starts[at], starts[at] + n[at])
                fixed[rows] = rules[at].systematic.of(every.u[rows], every.u_ref[rows])
            every = replace(every, fixed=fixed)
        return cls(every, starts, n, about)

    def __len__(self) -> int:
        return self.n.size

    def __iter__(self) -> Iterator[Pairs]:
        return map(self.__getitem__, range(self.n.size))

    def __getitem__(self, at: int) -> Pairs:
        """Return the pairs of one series."""
        pairs = self.every.rows(slice(self.starts[at], self.starts[at] + self.n[at]))
        timed, has_fixed, spread, correlation = self.about[at]
        fixed = pairs.fixed if has_fixed else None
        return replace(pairs, timed=timed, fixed=fixed, spread=spread, correlation=correlation)

    def some(self, places: list[int]) -> ManyPairs:
        """Return the pairs of some of the series."""
        about = tuple(self.about[at] for at in places)
        return replace(self, starts=self.starts[places], n=self.n[places], about=about)

    def since(self, begin: Int) -> ManyPairs:
        """Return the pairs of each series from the one at its place ``begin`` on."""
        return replace(self, starts=self.starts + begin, n=self.n - begin)


def _joined(rows: list[Float]) -> Float:
    return np.concatenate(rows) if rows else np.zeros(0)


def _numbers(named: Callable[[str], Float]) -> tuple[Float, Float, Float, Float, Float]:
    return named("time"), named("value"), named("u"), named("reference"), named("u_ref")


def _spreads(columns: Columns, starts: Int, n: Int) -> list[Spread]:
    """Return what the newest pairs' u was stated by; members have a CRPS of their own."""
    spreads = np.full(n.size, "u", dtype=np.object_)
    some = np.flatnonzero(n)
    newest = starts[some] + n[some] - 1
    if columns.stated_crps is not None:
        spreads[some[np.isfinite(columns.stated_crps[newest])]] = "members"
    if columns.by_interval is not None:
        spreads[some[columns.by_interval[newest]]] = "interval"
    return list(spreads)


class Side:
    """Pairs of series side by side, [series, pairs], padded with 0 after each series' last pair.

    Only ``s`` is padded with 1. Each row has at least one padded place.
    """

    def __init__(self, pairs: Sequence[Pairs] | ManyPairs) -> None:
        self.pairs = ManyPairs.of(pairs)
        self.n = self.pairs.n
        self.width = width_of(self.n)
        self.columns: Int = np.arange(self.width)
        self.live: Bool = self.columns < self.n[:, None]
        every = self.pairs.every
        rows = every.value, every.u, every.reference, every.u_ref
        self.value, self.u, self.reference, self.u_ref = map(self._padded, rows)

    def _padded(self, rows: Float) -> Float:
        """Return numbers of all pairs side by side."""
        padded = np.zeros(self.live.shape)
        padded[self.live] = rows[self._rows]
        return padded

    @cached_property
    def _rows(self) -> Int:
        """The rows of the pairs, series by series."""
        return (self.pairs.starts[:, None] + self.columns)[self.live]

    @cached_property
    def error(self) -> Float:
        """Value - reference."""
        return self.value - self.reference

    @property
    def s(self) -> Float:
        """Standard uncertainty by chance that weighs each error, see :mod:`.weights`."""
        return self.weights.s

    @cached_property
    def weights(self) -> Weights:
        """What weighs each error."""
        return weights_for(self.stated, self.value, self.reference, self.live, self.n)

    @cached_property
    def stated(self) -> Float:
        """Stated standard uncertainty of each error by chance, without systematic effects.

        It is at least what a double resolves.
        """
        least = _LEAST_SHARE * np.abs(self.error).max(axis=1, initial=0.0)
        stated = np.hypot(self.u_both, self._blur)
        if self.fixed.any():
            stated = np.sqrt(np.maximum(stated * stated - self.fixed * self.fixed, 0.0))
        stated = np.maximum(stated, np.maximum(least, _LEAST)[:, None])
        stated = np.maximum(stated, _LEAST_SHARE * medians(stated, self.live)[:, None])
        stated[~self.live] = 1.0
        return stated

    @cached_property
    def u_both(self) -> Float:
        """Standard uncertainty of value and reference together, as it is stated."""
        return np.hypot(self.u, self.u_ref)

    @cached_property
    def _blur(self) -> Float:
        return _blur(self.value, self.reference)

    @cached_property
    def fixed(self) -> Float:
        """Standard uncertainty of each error from systematic effects."""
        fixed, has_fixed = self.pairs.every.fixed, [each.has_fixed for each in self.pairs.about]
        if fixed is None or not any(has_fixed):
            return np.zeros(self.live.shape)
        return np.where(np.array(has_fixed)[:, None], self._padded(fixed), 0.0)

    @cached_property
    def most(self) -> Float:
        """Largest level that systematic effects account for, in typical uncertainties [series]."""
        if not self.fixed.any():
            return np.zeros(self.n.size)
        return explained(medians(self.fixed, self.live)) / self.unit

    @cached_property
    def centre(self) -> Float:
        """The level, in typical uncertainties, of errors that are off by very many; else 0.

        Sums of squares are taken about it, because those about 0 would drown all differences.
        """
        level = medians(self.error, self.live) / self.unit
        return np.where(np.abs(level) > _FAR_OFF, level, 0.0)

    @cached_property
    def centred(self) -> Float:
        """``z`` about the :attr:`centre`."""
        return self.z - self.centre[:, None] * self.h

    @cached_property
    def right(self) -> Float:
        """Ends of the levels that are nobody's fault, about the :attr:`centre` [2, series]."""
        return np.array([-self.most, self.most]) - self.centre

    @cached_property
    def is_resolved(self) -> Bool:
        """Whether doubles as large as the values resolve the stated uncertainties."""
        stated, blur = (medians(each, self.live) for each in (self.u_both, self._blur))
        return np.asarray(stated > blur)

    @cached_property
    def unit(self) -> Float:
        """The typical standard uncertainty of an error, in the unit of each series [series]."""
        return medians(self.s, self.live)

    @cached_property
    def z(self) -> Float:
        """Error over its standard uncertainty."""
        return self.error / self.s

    @cached_property
    def grain(self) -> Float:
        """What the rounding of doubles may leave of errors that are all the same."""
        return (8.0 + self.n / 8.0)[:, None] * self._blur

    @cached_property
    def h(self) -> Float:
        """Typical standard uncertainty over that of each error."""
        return np.where(self.live, self.unit[:, None] / self.s, 0.0)

    @cached_property
    def time(self) -> Float:
        """Seconds since the first pair of each series, 0 where the times are not real."""
        time = self._padded(self.pairs.every.time)
        timed = np.array([each.timed for each in self.pairs.about], dtype=np.bool_)
        return np.where(self.live & timed[:, None], time - time[:, :1], 0.0)

    @cached_property
    def clock(self) -> Float:
        """Time from 0 to 1 along the pairs.

        Pair numbers where the times do not separate the pairs, or do so at equal steps: then pairs
        with times have the same verdict as pairs without.
        """
        return self._clock[0]

    @cached_property
    def has_clock(self) -> Bool:
        """Whether the times allow a rate: in order, and not all in a few places."""
        return self._clock[1]

    @cached_property
    def _clock(self) -> tuple[Float, Bool]:
        return self.clock_of(np.zeros_like(self.n), self.n)

    @cached_property
    def _steps(self) -> tuple[Bool, Bool]:
        steps = np.diff(self.time, append=0.0)
        return steps > 0.0, steps < 0.0

    def clock_of(self, begin: Int, end: Int) -> tuple[Float, Bool]:
        """Return the clock of pairs ``begin`` to ``end``, and whether it runs on their times."""
        inside = (self.columns >= begin[:, None]) & (self.columns < end[:, None] - 1)
        forward, backward = self._steps
        n = end - begin
        moved = np.count_nonzero(forward & inside, axis=1)
        has = (n >= 2) & ~(backward & inside).any(axis=1) & (moved > _MOVING * (n - 1))
        rows = np.arange(n.size)
        first, last = self.time[rows, begin], self.time[rows, np.maximum(end - 1, begin)]
        number, steps = self.columns - begin[:, None], np.maximum(n - 1, 1)
        step = ((last - first) / steps)[:, None]
        apart = np.abs(self.time - first[:, None] - step * number) * (inside | (number == 0))
        uneven = has & (apart > _EVEN * step).any(axis=1)
        places = np.where(uneven[:, None], self.time - first[:, None], number)
        return places / np.where(uneven, last - first, steps)[:, None], has

    def some(self, places: list[int]) -> Side:
        """Return some of the series."""
        side = copy.copy(self)
        side.pairs = self.pairs.some(places)
        for name in _OF_SERIES & vars(self).keys():
            setattr(side, name, getattr(self, name)[places])
        for name in ("_rows", "_blur", "_steps", "_clock", "grain", "right"):
            side.__dict__.pop(name, None)
        if "weights" in vars(self):
            side.__dict__["weights"] = Weights(self.s[places], self.weights.follows[places])
        return side


_OF_SERIES: Final = {
    *("fixed", "most", "stated", "u_both", "centre", "centred"),
    *("n", "live", "value", "u", "reference", "u_ref", "error", "is_resolved", "unit", "z"),
    *("h", "time", "clock", "has_clock"),
}


def is_copied(p: Pairs) -> bool:
    """Return whether all values are the references, but for the rounding of doubles."""
    return bool((np.abs(p.error) <= _blur(p.value, p.reference)).all())


def _blur(value: Float, reference: Float) -> Float:
    return _RESOLUTION * np.maximum(np.abs(value), np.abs(reference))


def rho_of_differences(p: Side) -> Float:
    """Return the lag-1 autocorrelation from differences, which jumps and ramps do not imitate.

    For an AR(1), the mean squares of the differences at lag 2 and lag 1 are in the ratio 1 + rho.
    Errors with stated uncertainties that vary are scaled only once their level is gone. Those that
    are the same, but for a jump or two, show no dependence.
    """
    jumps = np.abs(np.diff(p.error)) > np.maximum(p.grain[:, 1:], p.grain[:, :-1])
    are_same = np.count_nonzero(jumps & p.live[:, 1:], axis=1) <= np.minimum(_JUMPS, p.n // _APART)
    one, two = (_mean_squares(p, k) for k in (1, 2))
    pairs = p.n - 2.0
    shrunk = (quotients(two, one, 1.0) - 1.0) * pairs / (pairs + _PRIOR_PAIRS)
    return np.where(are_same, 0.0, np.clip(shrunk, 0.0, RHO_MAX))


def _mean_squares(p: Side, k: int) -> Float:
    """Return the mean squares of steps over their uncertainty, jumps pulled in."""
    live = p.live[:, k:]
    scaled = np.zeros_like(p.s)
    step = np.abs(p.error[:, k:] - p.error[:, :-k]) / np.hypot(p.s[:, k:], p.s[:, :-k])
    np.multiply(step, live, out=scaled[:, :-k])
    most = FAR * TO_SD * medians(scaled[:, :-k], live)
    scaled = np.minimum(scaled, np.where(most > 0.0, most, np.inf)[:, None])
    return dots(scaled, scaled) / (p.n - k)


def _centred(rows: Float, live: Bool, n: Int) -> tuple[Float, Float]:
    """Return each row about its mean and its sum of squares, 0 where rounding is all its spread."""
    mean = sums(rows) / np.maximum(n, 1)
    centred = np.where(live, rows - mean[:, None], 0.0)
    squares = dots(centred, centred)
    return centred, np.where(squares > n * (_ROUNDED * mean) ** 2, squares, 0.0)


def lag_ones(rows: Float, live: Bool, n: Int) -> Float:
    """Return the lag-1 autocorrelation of each row about its mean, from 0 to 0.95."""
    centred, squares = _centred(rows, live, n)
    after = np.zeros_like(centred)
    after[:, :-1] = centred[:, 1:]
    rho = np.clip(quotients(dots(centred, after), squares), 0.0, RHO_MAX)
    return np.where(n >= 4, rho, 0.0)


def inflation(rho: Float | float) -> Float:
    """Return the factor by which autocorrelation multiplies the variance of a mean."""
    return np.asarray((1.0 + rho) / (1.0 - rho))


def inflation_of_squares(rho: Float | float) -> Float:
    """Return the factor by which autocorrelation multiplies the variance of a mean square."""
    return np.asarray((1.0 + rho * rho) / (1.0 - rho * rho))


def cautious_rhos(rows: Float, live: Bool, n: Int) -> Float:
    """Return the largest lag-1 autocorrelation that is compatible with so few numbers of a row.

    It is two standard errors above the estimate, whose bias is about -(1 + 3 rho) / n (Marriott,
    Pope, Biometrika 41, 1954).
    """
    rho, count = lag_ones(rows, live, n), np.maximum(n, 1)
    return np.minimum(rho + (1.0 + 3.0 * rho) / count + 2.0 / np.sqrt(count), RHO_MAX)


def long_inflations(rows: Float, live: Bool, n: Int) -> Float:
    """Return the factor by which dependence at any scale multiplies the variance of each mean.

    It is the largest of those from the means of blocks of 1, 2, 4 ... pairs, as long as there are
    twelve blocks.
    """
    centred, squares = _centred(rows, live, n)
    single = squares / np.maximum(n - 1, 1)
    total = np.zeros((n.size, rows.shape[1] + 1))
    np.cumsum(centred, axis=1, out=total[:, 1:])
    most, size = np.ones(n.size), 2
    while (n // size >= _BLOCKS).any():
        blocks = n // size
        ends = total[:, : int(blocks.max()) * size + 1 : size]
        means = np.zeros((n.size, width_of(blocks)))
        np.subtract(ends[:, 1:], ends[:, :-1], out=means[:, : ends.shape[1] - 1])
        means /= size
        means[np.arange(means.shape[1]) >= blocks[:, None]] = 0.0
        ratio = size * quotients(dots(means, means) / np.maximum(blocks - 1, 1), single)
        most = np.where(blocks >= _BLOCKS, np.maximum(most, ratio), most)
        size *= 2
    return most
