"""Which covariate explains the errors of a series, and as what: a slope, a step, or a category.

Rules of this file: one series at a time, the pairs of its verdict. A covariate explains its errors
where a line along it, one edge, or one of its categories does so

* beyond chance: by a t test at ``CHANCE`` for all forms of all requested covariates together, so
  small that looking again with each pair adds little. Errors that resemble their neighbours along a
  covariate that does too correlate by chance, so the variance of their product is the mean of the
  covariate's periodogram times the spectrum of what is left: that of an autoregression, or the
  smoothed periodogram, whichever is larger;
* better than what needs no covariate (time, hour of the day, level): by ``CHEAPER`` in units of the
  log likelihood, after log(n) / 2 for each number that is fitted;
* beside a smooth change in time, without which a covariate that moves with the calendar would take
  the blame for every drift;
* and by at least ``SHARE_LEAST`` of their variance.

A correction is advised where it helped on later pairs than those that it was chosen from.

Source: Priestley, Spectral Analysis and Time Series (1981), 6.2 (smoothed periodograms).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
import scipy

from monitor.core.analysis.adjustments import lag_one, share_independent
from monitor.core.analysis.where import DAY, Covariate
from monitor.core.model import NAN, Bool, Float
from monitor.core.verdict.pairs import RHO_MAX, Pairs, Side
from monitor.core.verdict.remedy import crps
from monitor.core.verdict.rows import FAR, TO_SD, median
from monitor.core.verdict.verdict import Estimate, t_interval

CHANCE: Final = 5e-4  # of any explanation of an honest series at one look
CHEAPER: Final = 3.0
SHARE_LEAST: Final = 0.05
PAIRS_LEAST: Final = 60
CATEGORIES_MOST: Final = 5  # different numbers up to which each is a category

_SIDE: Final = 12  # pairs on either side of an edge, and in a category
_EDGES: Final = 19
_CHOSEN: Final = 2.0  # numbers that the choice of a place counts as
_BESIDE_TIME: Final = 0.01
_FAR_MOST: Final = 0.1  # share of pairs that may be far from what explains the others
_WORTH: Final = 0.05  # share of the CRPS
_CLEAR: Final = 2.0  # standard errors
_TINY: Final = 1e-100

Form = Literal["slope", "step", "category"]


class Explanation(NamedTuple):
    """How errors go with a covariate.

    ``size`` is the change of the error for 1 of the covariate (slope), or the error beyond an edge
    or in a category; ``share`` is how much of the errors' variance that explains. ``place``: where
    the error of a slope is ``level``, or the edge, or the category's number; ``span`` is what a
    slope takes to change the error by its typical uncertainty. ``is_above``: the edge is the lower
    end, or the error is in the category, not in the others; ``name`` is the category's. The CRPS of
    ``tested`` later pairs, as sent and corrected, is NaN where that did not clearly help.
    """

    covariate: str
    unit: str
    form: Form
    size: Estimate
    share: float
    pairs: int
    place: float
    level: float = 0.0
    span: float = 0.0
    is_above: bool = True
    name: str = ""
    tested: int = 0
    crps_before: float = NAN
    crps_after: float = NAN


class _Errors(NamedTuple):
    """Errors over their uncertainty, the typical uncertainty over each one's, and the covariate."""

    z: Float
    h: Float
    x: Float
    time: Float
    levels: tuple[Float, ...]
    timed: bool

    def some(self, rows: Bool) -> _Errors:
        z, h, x, time = (each[rows] for each in self[:4])
        return _Errors(z, h, x, time, tuple(each[rows] for each in self.levels), self.timed)


class _Shape(NamedTuple):
    """A form with its numbers in a covariate, before it is fitted; ``choices`` alike were tried."""

    form: Form
    place: float
    choices: int
    is_above: bool = True

    def of(self, x: Float) -> Float:
        """Return the column that is fitted."""
        if self.form == "slope":
            return x - self.place
        if self.form == "category":
            return (x == self.place).astype(np.float64)
        return ((x >= self.place) == self.is_above).astype(np.float64)


class _Fit(NamedTuple):
    """A fitted shape: the log likelihood that it saves, and the pairs that it holds for."""

    shape: _Shape
    saved: float
    share: float
    near: Bool
    numbers: Float
    se: float
    df: float


def explained_by(pairs: Pairs, covariates: Sequence[Covariate]) -> Explanation | None:
    """Return what explains the errors of the pairs best, None if no covariate does.

    Covariates have one number for each of the pairs.
    """
    if pairs.n < PAIRS_LEAST:
        return None
    side = Side([pairs])
    z, h, unit = side.z[0, : pairs.n], side.h[0, : pairs.n], float(side.unit[0])
    chance = CHANCE / max(len(covariates), 1)
    best: tuple[_Fit, Covariate, _Errors] | None = None
    for each in map(_in_order, covariates):
        known = np.isfinite(each.numbers)
        if np.count_nonzero(known) < PAIRS_LEAST:
            continue
        levels = (pairs.reference, pairs.value)
        errors = _Errors(z, h, each.numbers, pairs.time, levels, pairs.timed).some(known)
        fit = _best(errors, is_named=bool(each.categories), chance=chance)
        if fit is not None and (best is None or fit.saved > best[0].saved):
            best = fit, each, errors
    return None if best is None else _described(*best, unit)


def _in_order(of: Covariate) -> Covariate:
    """Return categories in the order of their names, so that who numbers them changes no bit."""
    if not of.categories:
        return of
    order = sorted(range(len(of.categories)), key=of.categories.__getitem__)
    known = np.isfinite(of.numbers)
    numbers = np.full(of.numbers.size, NAN)
    numbers[known] = np.argsort(order)[of.numbers[known].astype(np.int64)]
    return of._replace(numbers=numbers, categories=tuple(of.categories[at] for at in order))


def _best(e: _Errors, *, is_named: bool, chance: float) -> _Fit | None:
    """Return the form that saves most among those beyond chance, if nothing plainer saves more."""
    fits = (_fitted(e, shape, chance) for shape in _shapes(e, is_named=is_named))
    clear = [each for each in fits if each is not None]
    best = max(clear, key=lambda each: each.saved, default=None)
    if best is None or best.share < SHARE_LEAST:
        return None
    near = e.some(best.near)
    effective = best.df / near.z.size
    others = max(_saved(near, columns, chosen, effective) for columns, chosen in _plainer(near))
    return best if best.saved >= others + CHEAPER else None


def _shapes(e: _Errors, *, is_named: bool) -> Iterator[_Shape]:
    different, counts = np.unique(e.x, return_counts=True)
    if different.size < 2:
        return
    if is_named or different.size <= CATEGORIES_MOST:
        enough = (counts >= _SIDE) & (e.x.size - counts >= _SIDE)
        for number in different[enough].tolist():
            yield _Shape("category", number, 2 * int(enough.sum()))
    if is_named or different.size <= 2:
        return
    yield _Shape("slope", median(e.x), 2)
    if different.size > CATEGORIES_MOST:
        ordered = np.sort(e.x)
        places = np.unique(np.linspace(_SIDE, e.x.size - _SIDE, _EDGES).astype(np.int64))
        edges = np.unique(ordered[places[ordered[places] > ordered[places - 1]]])
        for edge in edges.tolist():
            yield _Shape("step", edge, 2 * edges.size)


def _fitted(e: _Errors, shape: _Shape, chance: float) -> _Fit | None:
    """Return a shape fitted to all pairs but a few far ones, None where it may be by chance."""
    near = np.ones(e.z.size, dtype=np.bool_)
    _, off = _least_squares(e, [shape.of(e.x)])
    far = np.abs(off) > FAR * max(1.0, TO_SD * median(np.abs(off)))
    if far.any() and far.mean() <= _FAR_MOST:
        near = ~far
    some = e.some(near)
    column = shape.of(some.x)
    beyond = np.count_nonzero(column)
    if shape.form != "slope" and not _SIDE <= beyond <= column.size - _SIDE:
        return None
    along = _along(some, column, [])
    if not along.p_value * shape.choices <= chance:
        return None
    if not _along(some, column, _smooth(column.size)).p_value <= _BESIDE_TIME:
        return None
    numbers, _ = _least_squares(some, [column])
    left, before = (max(float(each @ each), _TINY) for each in (along.off, _left(some, [])))
    chosen = _CHOSEN if shape.form == "step" else 0.0
    saved = _saved(some, [column], chosen, along.df / column.size)
    return _Fit(shape, saved, 1.0 - left / before, near, numbers, along.se, along.df)


class _Along(NamedTuple):
    """One fitted number with its standard error, and the errors that are left."""

    number: float
    se: float
    df: float
    off: Float

    @property
    def p_value(self) -> float:
        t = abs(self.number) / max(self.se, _TINY)
        return 2.0 * float(scipy.special.stdtr(self.df, -t))


def _along(e: _Errors, column: Float, beside: Sequence[Float]) -> _Along:
    """Return the number of a column that is fitted with a level and those ``beside`` it."""
    alone = _left(e._replace(z=e.h * column), beside)
    square = max(float(alone @ alone), _TINY)
    off = _left(e, [column, *beside])
    se = math.sqrt(_variance(alone, off)) / square
    worth = square * float(off @ off) / max(_variance(alone, off), _TINY)
    df = max(worth - 2.0 - len(beside), 1.0)
    return _Along(float(alone @ e.z) / square, se, df, off)


def _least_squares(e: _Errors, columns: Sequence[Float]) -> tuple[Float, Float]:
    """Return a level and a number for each column, and the errors that are left."""
    design = e.h[:, None] * np.stack([np.ones(e.z.size), *columns], axis=1)
    numbers = np.asarray(np.linalg.lstsq(design, e.z)[0], dtype=np.float64)
    return numbers, e.z - design @ numbers


def _saved(e: _Errors, columns: Sequence[Float], chosen: float, effective: float) -> float:
    """Return the log likelihood that columns save against a level, less that of their numbers.

    ``effective``: the share of the pairs that counts.
    """
    before, after = (max(float(off @ off), _TINY) for off in (_left(e, []), _left(e, columns)))
    n = e.z.size
    spared = 0.5 * n * effective * math.log(before / after)
    return spared - 0.5 * (len(columns) + chosen) * math.log(n)


def _left(e: _Errors, columns: Sequence[Float]) -> Float:
    return _least_squares(e, columns)[1]


def _variance(x: Float, off: Float) -> float:
    """Return the variance of the sum of x times errors like ``off``, whatever resembles what."""
    n = off.size
    of_x = np.abs(np.fft.rfft(x)) ** 2
    of_off = np.abs(np.fft.rfft(off)) ** 2 / n
    rho = float(off[1:] @ off[:-1]) / max(float(off @ off), _TINY)
    rho = min(max(rho + (1.0 + 3.0 * max(rho, 0.0)) / n + 1.0 / math.sqrt(n), 0.0), RHO_MAX)
    angle = 2.0 * math.pi * np.arange(of_x.size) / n
    model = float(off @ off) / n * (1.0 - rho * rho) / (1.0 - 2.0 * rho * np.cos(angle) + rho * rho)
    reach = max(round(0.25 * math.sqrt(n)), 1)
    mirrored = np.concatenate([of_off[reach:0:-1], of_off, of_off[-2 : -reach - 2 : -1]])
    smooth = np.convolve(mirrored, np.ones(2 * reach + 1) / (2 * reach + 1), mode="valid")
    twice = np.full(of_x.size, 2.0)
    twice[0] = 1.0
    if n % 2 == 0:
        twice[-1] = 1.0
    return float((twice * of_x) @ np.maximum(model, smooth)) / n


def _plainer(e: _Errors) -> Iterator[tuple[list[Float], float]]:
    """Yield the columns of each explanation that needs no covariate, and numbers chosen beside."""
    line, *curved = _smooth(e.z.size)
    yield [line], 0.0
    yield [line, *curved], 0.0
    yield [_best_edge(e, line)], _CHOSEN
    if e.timed:
        angle = 2.0 * math.pi / DAY * e.time
        waves = [of(k * angle) for k in (1.0, 2.0) for of in (np.cos, np.sin)]
        yield waves, 0.0
        yield [line, *waves], 0.0
    for level in e.levels:
        yield [level - level.mean()], 0.0
        yield [_best_edge(e, level)], _CHOSEN


def _smooth(n: int) -> list[Float]:
    """Return the columns of a smooth change in time."""
    line = np.linspace(-1.0, 1.0, n)
    return [line, line**2, line**3]


def _best_edge(e: _Errors, along: Float) -> Float:
    """Return the column of the edge along some numbers that leaves the least squares."""
    order = np.argsort(along, kind="stable")
    z, h = e.z[order], e.h[order]
    at = np.arange(_SIDE, along.size - _SIDE + 1)
    product, weight = np.cumsum(h * z), np.cumsum(h * h)
    below = product[at - 1] ** 2 / weight[at - 1]
    above = (product[-1] - product[at - 1]) ** 2 / (weight[-1] - weight[at - 1])
    column = np.zeros(along.size)
    column[order[at[(below + above).argmax()] :]] = 1.0
    return column


# -- the report -----------------------------------------------------------------------------------


def _described(fit: _Fit, covariate: Covariate, everything: _Errors, unit: float) -> Explanation:
    e, shape = everything.some(fit.near), fit.shape
    elsewhere, moved = fit.numbers.tolist()
    size, place, level = t_interval(moved, fit.se, fit.df), shape.place, elsewhere
    name = ""
    if shape.form == "slope":
        crossing = place - elsewhere / moved
        if e.x.min() <= crossing <= e.x.max():
            place, level = crossing, 0.0
    else:
        if abs(elsewhere) > abs(elsewhere + moved):
            shape = shape._replace(is_above=False)
            different = np.unique(e.x).tolist()
            if shape.form == "category" and len(different) == 2:
                shape = shape._replace(place=sum(different) - place, is_above=True)
        place, level = shape.place, 0.0
        size = _error_there(e, _there(shape, e.x), fit)
        name = _name(covariate, place) if shape.form == "category" else ""
    tested, before, after = _tested(e, shape)
    return Explanation(
        covariate=covariate.name,
        unit=covariate.unit,
        form=shape.form,
        size=size.times(unit),
        share=fit.share,
        pairs=e.z.size,
        place=place,
        level=level * unit,
        span=1.0 / max(abs(moved), _TINY),
        is_above=shape.is_above,
        name=name,
        tested=tested,
        crps_before=before * unit,
        crps_after=after * unit,
    )


def _name(covariate: Covariate, number: float) -> str:
    return covariate.categories[int(number)] if covariate.categories else f"{number:.10g}"


def _there(shape: _Shape, x: Float) -> Float:
    """Return 1 where the error is that of the report, else 0."""
    if shape.form == "category":
        return ((x == shape.place) == shape.is_above).astype(np.float64)
    return shape.of(x)


def _error_there(e: _Errors, there: Float, fit: _Fit) -> Estimate:
    _, off = _least_squares(e, [fit.shape.of(e.x)])
    column = e.h * there
    weight = max(float(column @ column), _TINY)
    se = math.sqrt(_variance(column, off)) / weight
    return t_interval(float(column @ e.z) / weight, se, fit.df)


def _tested(e: _Errors, shape: _Shape) -> tuple[int, float, float]:
    """Return the mean CRPS of the later half, as sent and corrected by what the earlier half says.

    In typical uncertainties; NaN where that does not clearly help.
    """
    half = e.z.size // 2
    first, later = e.some(np.arange(e.z.size) < half), e.some(np.arange(e.z.size) >= half)
    if shape.form == "slope":
        numbers, _ = _least_squares(first, [shape.of(first.x)])
        error = numbers[0] + numbers[1] * shape.of(later.x)
    else:
        column = first.h * _there(shape, first.x)
        square = float(column @ column)
        error = float(column @ first.z) / max(square, _TINY) * _there(shape, later.x)
    u = 1.0 / later.h
    before, after = (crps(each, u) for each in (later.z * u, later.z * u - error))
    saved = before - after
    worth = saved.size * share_independent(lag_one(saved))[0]
    chance = float(saved.std()) / math.sqrt(max(worth - 1.0, 1.0))
    means = float(before.mean()), float(after.mean())
    if means[0] - means[1] > max(_WORTH * means[0], _CLEAR * chance):
        return later.z.size, *means
    return 0, NAN, NAN
