"""Errors that go with something else than time: the hour of the day, or an end of the range.

Rules of this file: each fits all pairs of an incident, and is charged like a piece of the partition
(:mod:`.partition`): one parameter for its beginning, one for each number that is fitted, and a
spread of its own where that is cheaper. So it has to explain the incident better than the pieces
into which it can be cut, which are the ones that chase the last few pairs. Errors of a right sensor
go with the reference (predictive) or with its value (classical): a step must show along both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from monitor.core.model import Bool, Float
from monitor.core.verdict.pairs import RHO_MAX, inflation
from monitor.core.verdict.partial_faults import LEFT_OUT, Errors, Explained, spells_of
from monitor.core.verdict.partition import costs
from monitor.core.verdict.rivals import KERNELS
from monitor.core.verdict.rows import median
from monitor.core.verdict.verdict import Estimate, t_interval

_DAY: Final = 86_400.0
_FEWEST: Final = 60  # pairs
_DAYS: Final = 3.0
_HOURS: Final = 6  # of the 24 that must have pairs
_SIDE: Final = 12  # pairs on either side of a step
_AS_WELL: Final = 0.4  # share of what a step saves along one that it must save along the other
_BESIDE: Final = 1.0 / 3.0  # share of a step that the error on its other side may be
_MOVES: Final = "sensitivity"  # which is told from a gain by itself
_MOVING: Final = 4.0  # standard errors from which a gain moves
_PLACED: Final = 1.3  # by which the choice of its place widens a step's standard error
_SURE: Final = 1.5  # by which the interval of a step, whose place is chosen, is wider
_ALIKE: Final = 0.05  # added to a correlation of neighbours: what is left is less alike by chance
_CHOSEN: Final = 2.0  # parameters that the choice among many places counts as
_HOPED: Final = 3.0  # times as much as one beginning spares it may spare after another fit
_CHEAPER: Final = 6.0  # cost by which one of these must be cheaper than any other name
_GRID: Final = np.arange(0.0, 24.0, 0.25)  # hours
_TINY: Final = 1e-100
_COMPLETE: Final = 4.0  # parameters that a complete explanation may take
_CONDITION: Final = 1e6  # most of normal equations


Fit = tuple[Explained, Float]  # with the errors that are left, over their uncertainty


def explanation(everything: Errors, mask: Bool, least: float) -> Explained | None:
    """Return what explains an incident by more than its pieces do, which cost ``least``.

    ``mask`` marks the pairs that are not outliers.
    """
    near = everything.some(mask)
    out = LEFT_OUT * np.count_nonzero(~mask) * everything.penalty
    n = near.z.size
    by_chance = (n + 2.0 * math.sqrt(2.0 * n)) / near.inflation
    is_complete = least + out < by_chance + _COMPLETE * everything.penalty
    # Where nothing is left to be explained, only pieces may still stand for a gain that moves.
    fits = (by_sensitivity,) if is_complete else (by_hour, by_level, by_sensitivity)
    least -= _CHEAPER
    options = [each for fitted in fits for each in _with_beginning(fitted, near, mask, least)]
    spells = None if is_complete else spells_of(everything)
    if spells is not None:  # which leaves no pair out, unlike the others
        options.append(spells._replace(cost=spells.cost - out))
    options = [each for each in options if _shows(each)]
    best = min(options, key=lambda each: each.cost, default=None)
    if best is None or not best.cost < least:
        return None
    gain = math.inf if best.fault == _MOVES else _gain(near)
    return best if best.cost < min(gain, _late(everything, mask)) else None


def _shows(explained: Explained) -> bool:
    """Whether the intervals exclude that the error has no such shape."""
    if explained.fault == "step":
        return explained.size.widened(_SURE).excludes(0.0)
    return not explained.swing.is_known or explained.swing.excludes(0.0)


def _with_beginning(
    fitted: Callable[[Errors], Fit | None], e: Errors, mask: Bool, least: float
) -> Iterator[Explained]:
    """Return a fit to all pairs, and one to those from the likeliest beginning on.

    That is left out where it cannot cost less than ``least``.
    """
    whole = fitted(e)
    if whole is None:
        return
    yield whole[0]
    saved = np.cumsum((e.z * e.z - whole[1] * whole[1])[::-1])[::-1]
    start = int(saved.argmax())
    spared = _HOPED * float(saved[start] - saved[0]) / e.inflation
    if start < _SIDE or whole[0].cost - spared > least:
        return
    before = float(e.z[:start] @ e.z[:start]) / e.inflation
    part = e.some(np.arange(e.z.size) >= start)._replace(before=before)
    later = fitted(part)
    if later is not None and (later[0].fault == _MOVES or later[0].cost < _gain(part)):
        yield later[0]._replace(start=int(np.flatnonzero(mask)[start]))


def by_hour(e: Errors) -> Fit | None:
    """Return the explanation that the error goes with the hour of the day."""
    hours = e.time % _DAY / 3600.0
    if e.z.size < _FEWEST or float(np.ptp(e.time)) < _DAYS * _DAY:
        return None
    if np.unique(np.floor(hours)).size < _HOURS:
        return None
    cycles = [each for waves in (1, 2) if (each := _cycle(e, hours, waves)) is not None]
    return min(cycles, key=lambda each: each[0].cost, default=None)


def _cycle(e: Errors, hours: Float, waves: int) -> Fit | None:
    fit = _fitted(e, _waves(hours, waves))
    if fit is None:
        return None
    number, se, off = fit
    curve = number[1:] @ np.stack(_waves(_GRID, waves)[1:])
    df = max(e.z.size / e.inflation - number.size, 1.0)
    level = t_interval(float(number[0]), float(se[0]), df)
    swing = t_interval(0.5 * float(np.ptp(curve)), float(se[1:].max()), df)
    place = float(_GRID[curve.argmax()])
    cost = _cost(e, off, float(number.size))
    swing, level = swing.times(e.unit), level.times(e.unit)
    daily = Explained("daily", cost, swing, level, place=place, swing=swing)
    # A level that is most of the error gives it its name, and the day stands beside it.
    leads = level.excludes(0.0) and abs(number[0]) > float(curve.std())
    return (daily._replace(fault="offset", size=level) if leads else daily), off


def _waves(hours: Float, waves: int) -> list[Float]:
    angles = [hours * (k * math.pi / 12.0) for k in range(1, waves + 1)]
    return [np.ones(hours.size), *(of(each) for each in angles for of in (np.cos, np.sin))]


def _gain(e: Errors) -> float:
    return max(_line(e, x) for x in (e.reference, e.value))


def by_sensitivity(e: Errors) -> Fit | None:
    """Return the explanation that the sensor's gain moves: its error is so much of the reference.

    That has to explain more than a gain that stays, with a drift beside it or alone.
    """
    span = float(e.time[-1] - e.time[0]) if e.z.size >= _FEWEST else 0.0
    usual = median(e.reference)
    if not span > 0.0 or usual == 0.0:
        return None
    clock = (e.time - e.time[-1]) / span
    x = e.reference / usual
    fit = _fitted(e, [x, clock * x])
    if fit is None:
        return None
    number, se, off = fit
    cost = _cost(e, off, 2.0)
    # Where a reference holds the errors of its readings, they go along it without any gain.
    drift = _line(e, e.time, e.reference)
    steady = min(_line(e, e.reference), _line(e, e.value), drift)
    if not abs(number[1]) > _MOVING * se[1] or cost >= steady:
        return None
    df = max(e.z.size / e.inflation - 2.0, 1.0)
    level, moved = (
        t_interval(float(each), float(of), df).times(e.unit)
        for each, of in zip(number, se, strict=True)
    )
    ends = sorted(1.0 + each / usual for each in level[1:])
    size, a_day = Estimate(1.0 + level.value / usual, *ends), moved.times(_DAY / span)
    return Explained(_MOVES, cost, size, level, place=usual, slope_per_day=a_day), off


def _line(e: Errors, *along: Float) -> float:
    """Return the cost of an error that goes in proportion along each of some columns."""
    scaled = [(each - each.mean()) / max(float(each.std()), _TINY) for each in along]
    fit = _fitted(e, [np.ones(e.z.size), *scaled])
    return math.inf if fit is None else _cost(e, fit[2], 1.0 + len(along))


def _late(everything: Errors, mask: Bool) -> float:
    """Return the cost of values that follow their reference gradually."""
    reference, near = everything.reference, everything.some(mask)
    off = [np.convolve(reference - reference[0], kernel)[: mask.size] for kernel in KERNELS]
    behind = [(each - reference + reference[0])[mask] for each in off]
    return min(_line(near, each) for each in behind)


def _fitted(e: Errors, columns: list[Float]) -> tuple[Float, Float, Float] | None:
    """Return numbers by weighted least squares, their standard errors, and what is left."""
    x = e.h[:, None] * np.stack(columns, axis=1)
    square = x.T @ x
    if not np.isfinite(square).all() or not np.linalg.cond(square) < _CONDITION:
        return None
    inverse = np.linalg.inv(square)
    numbers = inverse @ (x.T @ e.z)
    off = e.z - x @ numbers
    spread = max(1.0, float(off @ off) / off.size) * e.inflation
    return numbers, np.sqrt(spread * np.diag(inverse)), off


def by_level(e: Errors) -> Fit | None:
    """Return the explanation that the sensor is off above or below some level."""
    if e.z.size < _FEWEST:
        return None
    steps = [(each, x) for x in (e.reference, e.value) if (each := _step(e, x)) is not None]
    if len(steps) < 2:
        return None
    # What errors are independent of shows best whether a line explains them as well.
    (best, x), (other, _) = sorted(steps, key=lambda each: each[0][0].cost - _line(e, each[1]))
    squares = float(e.z @ e.z)
    saved, as_well = (squares - float(off @ off) for _, off in (best, other))
    is_same = best[0].is_above == other[0].is_above and best[0].size[0] * other[0].size[0] > 0.0
    shows = is_same and as_well > _AS_WELL * saved and best[0].cost < _line(e, x)
    return best if shows and all(_is_right_beside(e, best[0], x) for _, x in steps) else None


def _is_right_beside(e: Errors, step: Explained, x: Float) -> bool:
    """Whether errors on the other side of a step, which it says are 0, are small beside it."""
    other = (x > step.place) != step.is_above
    off = float(e.z[other] @ e.h[other]) / max(float(e.h[other] @ e.h[other]), _TINY)
    return abs(off * e.unit) < _BESIDE * abs(step.size.value)


def _step(e: Errors, at_level: Float) -> Fit | None:
    order = np.argsort(at_level, kind="stable")
    x, z, h = at_level[order], e.z[order], e.h[order]
    at = np.arange(_SIDE, x.size - _SIDE)
    at = at[x[at] > x[at - 1]]
    if not at.size:
        return None
    zz, hz, hh = float(z @ z), np.cumsum(h * z), np.cumsum(h * h)
    sides = (hz[-1] - hz[at - 1], hh[-1] - hh[at - 1]), (hz[at - 1], hh[at - 1])
    saved = np.stack([product * product / weight for product, weight in sides])
    side, place = np.unravel_index(int(saved.argmax()), saved.shape)
    product, weight = (float(row[place]) for row in sides[side])
    n = x.size - at[place] if side == 0 else at[place]
    left = max(zz - product * product / weight, 0.0)
    se = _PLACED * math.sqrt(max(1.0, left / x.size) * e.inflation / weight)
    size = t_interval(product / weight, se, max(float(n) / e.inflation - 1.0, 1.0)).times(e.unit)
    edge = 0.5 * float(x[at[place]] + x[at[place] - 1])
    off = e.z - e.h * (product / weight) * ((at_level > edge) == (side == 0))
    cost = _cost(e, off, 2.0 + _CHOSEN)
    return Explained("step", cost, size, size, place=edge, is_above=bool(side == 0)), off


def _cost(e: Errors, left: Float, parameters: float) -> float:
    """Return the cost of all pairs, with errors ``left`` beside what was fitted.

    A smooth cycle makes neighbouring errors alike. If what is left is less so, the parameters cost
    as little as if all evidence were divided by that much less.
    """
    square = float(left @ left)
    alike = min(max(float(left[1:] @ left[:-1]) / max(square, _TINY), 0.0) + _ALIKE, RHO_MAX)
    penalty = e.penalty * min(1.0, float(inflation(alike)) / e.inflation)
    n, squares, each, of = np.array([[e.z.size], [square], [penalty], [e.inflation]])
    narrow, wide = costs(n, [squares], each, of)
    return e.before + parameters * penalty + float(min(narrow[0], wide[0]))
