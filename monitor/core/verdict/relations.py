"""How the error moves with the level: error model, and the size of a gain.

Rules of this file: the error model decides which slopes an honest sensor shows. The errors of a
classical sensor are independent of the reference, those of a predictive one (Berkson: a regression,
a posterior) of its own value. The verdict is a gain only where both regressions show it.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from monitor.core.model import Bool, Float, Int
from monitor.core.verdict.pairs import RHO_MAX, Pairs, Side, inflation, lag_ones, long_inflations
from monitor.core.verdict.rows import (
    TO_SD,
    dots,
    median,
    medians,
    quotients,
    resolved,
    robust_scales,
    sums,
    width_of,
)
from monitor.core.verdict.verdict import (
    CLASSICAL,
    NO_SLOPES,
    NOTHING,
    PREDICTIVE,
    T_MODEL,
    UNDECIDED,
    UNKNOWN,
    Estimate,
    Slope,
    Slopes,
    t_interval,
)

FEWEST: Final = 10
_FAR: Final = 5.0
_CHOSEN: Final = 1.15  # factor by which choosing its beginning widens a gain's standard error
_FLIPPED: Final = -1.3  # slope of the error on the reference; a wrong sign has -2
_APART: Final = 2.0  # standard errors from which weighted and plain mean differ
_TESTED: Final = 3.0  # standard errors of that difference that the interval then holds as well


class SlopeColumns(NamedTuple):
    """Slopes of the error on reference and on value, and their standard errors [4, series].

    ``pairs`` they come from; ``few``: too few to know them.
    """

    columns: Float
    pairs: Int
    few: Bool

    def at(self, row: int) -> Slopes:
        """Return the slopes of one series."""
        if self.few[row]:
            return NO_SLOPES
        a, b, c, d = self.columns[:, row].tolist()
        return Slopes(Slope(a, b), Slope(c, d), int(self.pairs[row]))

    def of(self, row: int) -> SlopeColumns:
        """Return the columns of one series."""
        one = slice(row, row + 1)
        return SlopeColumns(self.columns[:, one], self.pairs[one], self.few[one])

    def are_related(self, t: float) -> Bool:
        """Return whether errors move with levels as those of a gain or of a wrong sign do.

        A gain shows by ``t`` standard errors in both slopes, see :func:`gain_by`.
        """
        value, ts = self.columns[::2], self._ts()
        is_gain = (ts > t).all(axis=0) | (ts < -t).all(axis=0)
        return np.asarray(~self.few & (is_gain | ((value[0] < _FLIPPED) & (ts[0] < -t))))

    def models(self) -> Any:  # noqa: ANN401 - an array of texts
        """Return the error model of each series, as :attr:`Slopes.model` does."""
        by_reference, by_value = self._ts()
        models = np.full(self.few.size, UNDECIDED, dtype=np.object_)
        models[~self.few & (by_value > T_MODEL) & (abs(by_reference) < T_MODEL)] = CLASSICAL
        models[~self.few & (by_reference < -T_MODEL) & (abs(by_value) < T_MODEL)] = PREDICTIVE
        return models

    def _ts(self) -> Float:
        value, se = self.columns[::2], self.columns[1::2]
        exact = np.where(value != 0.0, np.copysign(np.inf, value), 0.0)
        return np.divide(value, se, out=exact, where=se > 0.0)


def slopes_of(p: Side, begin: Int, end: Int) -> list[Slopes]:
    """Return slopes of the detrended error on reference and on value, ``begin`` to ``end``."""
    slopes = slope_columns(p, begin, end)
    return [slopes.at(row) for row in range(p.n.size)]


def slope_columns(p: Side, begin: Int, end: Int) -> SlopeColumns:
    """Return what :func:`slopes_of` does, as columns."""
    inside = (p.columns >= begin[:, None]) & (p.columns < end[:, None])
    used = inside & _near(p, inside)
    n = np.count_nonzero(used, axis=1)
    few = (end - begin < FEWEST) | (n < FEWEST)
    if few.all():
        return SlopeColumns(np.zeros((4, n.size)), n, few)
    clock = p.clock if end is p.n and not begin.any() else p.clock_of(begin, end)[0]
    weight = p.h * p.h
    live, columns = closed_up(
        used, n, (p.error, p.reference, p.value, clock, weight, weight * p.u_ref * p.u_ref)
    )
    error, reference, value, clock, weight, of_reference = columns
    total = np.where(n > 0, sums(weight), 1.0)
    time = clock - (dots(weight, clock) / total)[:, None]
    square = dots(weight * time, time)
    error, reference, value = (
        _without(rows, time, weight, total, square, live) for rows in (error, reference, value)
    )
    own = sums(of_reference)
    error = resolved(error, (p.grain * used).max(axis=1))
    by_reference = _slope(error, reference, weight, own, live, n)
    by_value = _slope(error, value, weight, np.zeros(n.size), live, n)
    return SlopeColumns(np.array([*by_reference, *by_value]), n, few)


def _near(p: Side, inside: Bool) -> Bool:
    off = (p.error - medians(np.where(inside, p.error, 0.0), inside)[:, None]) / p.s
    return np.asarray(np.abs(off) <= _FAR * robust_scales(off, inside)[:, None])


def closed_up(used: Bool, n: Int, columns: tuple[Float, ...]) -> tuple[Bool, list[Float]]:
    """Return the places that are kept side by side, from the first column on."""
    width = width_of(n)
    live = np.arange(width) < n[:, None]
    rows = np.flatnonzero((used[:, :width] != live).any(axis=1))  # the others have no gaps
    source, goal = used[rows], live[rows]
    moved = []
    for each in columns:
        closed = np.where(live, each[:, :width], 0.0)
        if rows.size:
            part = np.zeros(goal.shape)
            part[goal] = each[rows][source]
            closed[rows] = part
        moved.append(closed)
    return live, moved


def _without(
    rows: Float, time: Float, weight: Float, total: Float, square: Float, live: Bool
) -> Float:
    """Return what a weighted regression on time leaves of ``rows``."""
    rows = rows - (dots(weight, rows) / total)[:, None]
    steep = quotients(dots(weight * time, rows), square)
    return (rows - time * steep[:, None]) * live


def _slope(
    error: Float, level: Float, weight: Float, own: Float, live: Bool, n: Int
) -> tuple[Float, Float]:
    """Return slopes of ``error`` on ``level``; ``own`` is the level's own squared uncertainty.

    An error of the reference is in both, which lowers their covariance by its variance.
    """
    of_level = weight * level
    square = dots(of_level, level) - own
    known = (square > 0.25 * (square + own)) & (square > 0.0)
    square = np.where(known, square, 1.0)
    slope = np.where(known, (dots(of_level, error) + own) / square, UNKNOWN.value)
    left = error - slope[:, None] * level
    product = lag_ones(level, live, n) * lag_ones(left, live, n)
    worth = (1.0 - product) / (1.0 + product)
    variance = dots(weight * left, left) / np.maximum(n - 3.0, 1.0)
    se = np.where(known, np.sqrt(variance / (square * worth)), UNKNOWN.se)
    return slope, se


class Gain(NamedTuple):
    """Evidence of a gain: ``t`` of the weaker regression, and its size under the error model."""

    t: float
    size: Estimate
    model: str


def gain_by(now: Slopes, before: Slopes) -> Gain:
    """Return the evidence of a gain in both regressions, relative to pairs that were right."""
    model = before.model
    reference, value = (_beyond(each, was) for each, was in zip(now[:2], before[:2], strict=True))
    if reference * value <= 0.0:
        t = 0.0
    elif model == CLASSICAL:
        t = reference if abs(value) > 1.5 else 0.0
    elif model == PREDICTIVE:
        t = value if abs(reference) > 1.5 else 0.0
    else:
        t = min(reference, value, key=abs)
    return Gain(t, _size(now, model), model)


def _beyond(now: Slope, was: Slope) -> float:
    """Return t of a slope in excess of the honest sensor's."""
    if not np.isfinite(was.se):
        return now.t
    return Slope(now.value - was.value, float(np.hypot(now.se, was.se))).t


def _size(now: Slopes, model: str) -> Estimate:
    """Return the gain: how far the value moves when the measurand moves by 1."""
    one, other = now.on_reference, now.on_value
    by_reference = t_interval(1.0 + one.value, _CHOSEN * one.se, now.pairs - 2.0)
    slope = t_interval(other.value, _CHOSEN * other.se, now.pairs - 2.0)
    by_value = NOTHING
    if slope.upper < 1.0:
        by_value = Estimate(*(1.0 / (1.0 - each) for each in slope))
    if model == CLASSICAL or not np.isfinite(by_value.value):
        return by_reference
    if model == PREDICTIVE or not np.isfinite(by_reference.value):
        return by_value
    return Estimate(
        0.5 * (by_reference.value + by_value.value),
        min(by_reference.lower, by_value.lower),
        max(by_reference.upper, by_value.upper),
    )


def plain_level(p: Pairs, lag: int) -> Estimate:
    """Return the mean error of values that show what was ``lag`` pairs before."""
    if p.n - lag < FEWEST:
        return NOTHING
    error = p.value[lag:] - p.reference[: p.n - lag]
    rows, every = error[None], np.ones((1, error.size), dtype=np.bool_)
    off = error - median(error)
    used = error[np.abs(off) <= _FAR * TO_SD * median(np.abs(off))]
    worth = used.size / float(inflation(lag_ones(rows, every, np.array([error.size])))[0])
    return t_interval(float(used.mean()), float(used.std()) / np.sqrt(worth), max(worth - 1.0, 1.0))


def unweighted_level(p: Side, row: int, begin: int, level: Estimate, *, drifts: bool) -> Estimate:
    """Return the level of the errors from ``begin`` on as it is without weights.

    ``level`` comes from weights 1/u^2, and stays where the plain mean differs from it by no more
    than chance. Where u and error both go with what is measured, it is the error at a small u only.
    A level that ``drifts`` is that at the end of a line.
    """
    part = slice(begin, int(p.n[row]))
    z, h = p.z[row, part], p.h[row, part]
    off = np.abs(z - median(z))
    used = off <= _FAR * max(1.0, TO_SD * median(off))
    z, h, clock = z[used], h[used], p.clock[row, part][used]
    if z.size < FEWEST or not np.ptp(h) > 0.0 or not level.is_known:
        return level
    x = np.stack([np.ones(z.size), clock - clock[-1]][: 1 + drifts], axis=1)
    weights = np.linalg.pinv(h[:, None] * x) * h
    error = z / h
    left = error - x @ (weights @ error)
    share = (1.0 / z.size - x.mean(axis=0) @ weights) * left
    every, n = np.ones((1, z.size), dtype=np.bool_), np.array([z.size])
    se = math.sqrt(share @ share * long_inflations(share[None], every, n)[0])
    apart = float(left.mean())
    if not abs(apart) > _APART * se:
        return level
    unit = float(p.unit[row])
    apart, reach = apart * unit, _TESTED * se * unit
    value = level.value + apart if drifts else float(error.mean()) * unit
    low, high = (math.hypot(level.value - each, reach) for each in level[1:])
    return Estimate(value, value - low, value + high)


_LAGS: Final = 8
_FEWEST_LOOSE: Final = 30
_MOVES: Final = 2.0  # uncertainties by which references must vary to show what follows them
_BY_CHANCE: Final = 3.0  # standard errors of a correlation; more for the best of many lags
_BY_LAG: Final = 3.5
_BY_FAR_LAG: Final = 5.0
_UPPER: Final = 1.64
_HALF: Final = 0.6  # a working sensor's slope is 1, of one on the other or of the other on it
_CLIP: Final = 4.0  # robust scales


def is_unrelated(p: Pairs, late: int = 0) -> bool:
    """Return whether the values have nothing to do with their references.

    Neither they nor their steps show a relation, at no lag, and one of the two excludes a slope of
    1, of value on reference or the other way round. ``late`` is a lag that is likely.
    """
    if p.n < _FEWEST_LOOSE:
        return False
    value, reference = (_clipped(each) for each in (p.value, p.reference))
    # Root mean squares: those with a large u have most of the spread, and a median leaves them out.
    noise, blur = (math.sqrt(float(np.mean(u * u))) for u in (np.hypot(p.u, p.u_ref), p.u_ref))
    if not float(reference.std()) > _MOVES * noise:
        return False
    shown = False
    for one, other in ((value, reference), (np.diff(value), np.diff(reference))):
        spread = float(one.std()), float(other.std())
        if not min(spread) > 0.0:
            return False
        r, se = _correlated(one, other)
        if abs(r) > _BY_CHANCE * se:
            return False
        most = np.tanh(abs(r) + _UPPER * se) * max(*spread) / min(*spread)
        shown |= bool(spread[1] > _MOVES * np.sqrt(2.0) * blur and most < _HALF)
    return shown and not _follows_late(value, reference, late)


def _clipped(rows: Float) -> Float:
    off = rows - median(rows)
    most = _CLIP * TO_SD * median(np.abs(off))
    return np.clip(off, -most, most)


def _correlated(one: Float, other: Float) -> tuple[float, float]:
    """Return Fisher's transform of a correlation, and its standard error by chance."""
    x, y = one - one.mean(), other - other.mean()
    xx, yy = float(x @ x), float(y @ y)
    r = float(x @ y) / float(np.sqrt(xx) * np.sqrt(yy))
    rho = float(x[1:] @ x[:-1]) / xx * float(y[1:] @ y[:-1]) / yy
    worth = x.size / float(inflation(min(max(rho, 0.0), RHO_MAX)))
    return float(np.arctanh(np.clip(r, -0.999, 0.999))), 1.0 / float(np.sqrt(max(worth - 3.0, 1.0)))


def _follows_late(value: Float, reference: Float, late: int) -> bool:
    for one, other in ((value, reference), (np.diff(value), np.diff(reference))):
        for lag in range(1, _LAGS + 1):
            for x, y in ((one[lag:], other[:-lag]), (one[:-lag], other[lag:])):
                r, se = _correlated(x, y)
                if abs(r) > _BY_LAG * se:
                    return True
        if late > _LAGS:
            r, se = _correlated(one[late:], other[:-late])
            if r > _BY_FAR_LAG * se:
                return True
    return False
