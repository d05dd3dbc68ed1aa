"""Explanations of the newest errors that are not pieces of a cut: gain, lag, sign, a stuck value.

Rules of this file: each runs from any boundary of the cut to now and costs what pieces cost (twice
the negative log likelihood plus a penalty a parameter), so that the cheapest explanation of all can
be named. A stuck value is measured against its own usual runs: a value on a coarse scale stands
still for long, and a dry rain gauge is right to report 0 as long as its reference does. A display
is right to stand still while its reference stays within a step (:mod:`.display_steps`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Bool, Float, Int
from monitor.core.verdict.display_steps import held_within
from monitor.core.verdict.pairs import Pairs, Side
from monitor.core.verdict.partition import Cut, costs, tails
from monitor.core.verdict.relations import FEWEST
from monitor.core.verdict.rows import dots, medians, quotients
from monitor.core.verdict.verdict import CLASSICAL, PREDICTIVE, Slopes

LAGS: Final = 8
_CHANCE: Final = 2.5  # standard deviations by which past and future averages may differ by chance
_EXTRA: Final = 0.5  # parameters that the choice of a gain counts as
_LEAST_LEFT: Final = 0.05  # least square left of each pair on average: a gain does not explain all
_NEAR: Final = 1 << 15  # numbers that fit in a processor's cache
_NEVER: Final = 1e200  # squares left
_LEFT_BY_LAG: Final = 4.0  # most squares that a lag may leave of each pair, beside a level
_PART_LEFT: Final = 0.6  # the same as a share of those without a lag
_SEEN: Final = 8  # pairs beyond a lag that must show it: a wrong reference looks late at first
_FURTHEST: Final = 48  # pairs by which values may be late
_CLEARER: Final = 0.01  # correlation by which a lag of more than LAGS must be clearer
_BY_CHANCE: Final = 5.0  # standard errors of a correlation, the best of many lags
_AS_MUCH: Final = 0.1  # correlation by which a longer lag must be clearer, as of the next day
_BLURRED: Final = 4.0  # standard deviations, of the best of many lags and places
_MEMORY: Final = 12  # pairs
_SHARES: Final = (0.25, 0.4, 0.6)  # weight of the newest reference in first-order sensors


def _kernels() -> Float:
    shapes = [(1.0 - share) ** np.arange(_MEMORY) for share in _SHARES]
    return np.stack([shape / shape.sum() for shape in shapes])


KERNELS: Final = _kernels()


class Rival(NamedTuple):
    """The cheapest piece of its sort: the cost of all pairs with it, and where it begins."""

    cost: float
    start: int
    detail: float = 0.0


NONE: Final = Rival(math.inf, 0)


class Kept(NamedTuple):
    """What all rivals are computed from: the pairs that are not outliers, the others set to 0.

    ``per_s`` is 1 over the stated uncertainty of the error; ``value`` is about the level of the
    errors, where that is very far off. ``n``, ``hh``, ``hz``, ``zz`` [series, places] are sums from
    each place on, ``blurred`` the squares that errors of the references may save by chance there.
    """

    h: Float
    z: Float
    per_s: Float
    value: Float
    n: Float
    hh: Float
    hz: Float
    zz: Float
    blurred: Float


def kept_of(p: Side, cut: Cut) -> Kept:
    """Return the pairs that count, and their sums."""
    h, z, per_s = p.h * cut.kept, p.centred * cut.kept, cut.kept / p.s
    each_pair = cut.kept.astype(np.float64), h * h, h * z, z * z
    n, hh, hz, zz = (tails(each, cut.bounds) for each in each_pair)
    value = p.value - (p.centre * p.unit)[:, None]
    return Kept(h, z, per_s, value, n, hh, hz, zz, _by_references(p, per_s, cut))


def _by_references(p: Side, per_s: Float, cut: Cut) -> Float:
    """Return the squares [series, places] that errors of the references may save by chance.

    An error e of the value and r of its reference leave (e - r)^2; another reference's r, or a
    changed sign, leaves as much on average where hardly anything else moves. The difference has the
    variance 4 q (2 - q) where q is the reference's share of the variance of e - r, both normal.
    """
    share = np.minimum((p.u_ref * per_s) ** 2, 1.0)
    return _BLURRED * np.sqrt(tails(4.0 * share * (2.0 - share), cut.bounds))


def sign_of(p: Side, cut: Cut, used: Kept) -> list[Rival]:
    """Return the explanation that the value is the reference with the wrong sign."""
    both = p.value + p.reference
    (right, _), (_, level) = (
        _left(((both - middle) * used.per_s)[:, None], cut, used)
        for middle in (0.0, medians(both, p.live)[:, None])  # large numbers would cancel
    )
    blurred = used.blurred[:, None]
    return _cheapest([right + blurred, level + blurred], cut, used, 2.0)


def lag_of(p: Side, cut: Cut, used: Kept) -> list[Rival]:
    """Return the explanation that the values show the measurand of some pairs earlier."""
    lags = min(LAGS, int(p.n.max()) // 3)
    if not lags:
        return [NONE] * p.n.size
    some = _at_once(p)
    parts, of_newest = [], []
    far = _far_lags(p, cut)
    tried = np.append(np.arange(1, lags + 1), np.unique(far[far > 0]))
    for k in range(0, tried.size, some):
        rows = _late(p, used, tried[k : k + some])
        parts.append(_left(rows, cut, used))
        of_newest.append(_saved_on_newest(p, used, rows, tried[k : k + some]))
    left = [np.concatenate(each, axis=1) for each in zip(*parts, strict=True)]
    late = tried[:, None]
    unseen = (late > (p.n // 3)[:, None, None]) | (used.n[:, None] < late + _SEEN)
    unseen |= (late > LAGS) & (late != far[:, None, None])
    saved = used.zz[:, None] - left[0] - (cut.penalty * cut.inflation)[:, None, None]
    unseen |= saved <= np.concatenate(of_newest, axis=1)[:, :, None]
    unseen |= ~_explains(left[1], used)
    left = [np.where(unseen, _NEVER, each + used.blurred[:, None]) for each in left]
    left[0][p.centre != 0.0] = _NEVER
    delayed = _cheapest(left, cut, used, 1.0)
    sluggish = _sluggish(p, cut, used)
    for each in sluggish:
        np.copyto(each, _NEVER, where=(used.n[:, None] < _SEEN) | ~_explains(sluggish[1], used))
    sluggish[0][p.centre != 0.0] = _NEVER
    slow = _cheapest(sluggish, cut, used, _EXTRA)
    return [
        one._replace(detail=float(tried[int(one.detail)])) if one.cost <= other.cost else other
        for one, other in zip(delayed, slow, strict=True)
    ]


def _far_lags(p: Side, cut: Cut) -> Int:
    """Return by how many pairs more than ``LAGS`` values follow references, 0 for not at all.

    It is the first lag at which they go together about best, where that is clear.
    """
    value, reference = (
        np.where(used, each - medians(each, used)[:, None], 0.0)
        for each, used in ((p.value, cut.kept & p.live), (p.reference, p.live))
    )
    value, reference = (_normed(each) for each in (value, reference))
    both = 2 * p.width
    spectrum = np.fft.rfft(value, both) * np.fft.rfft(reference, both).conj()
    most = min(int(p.n.max()) // 3, _FURTHEST) + 1
    together = np.fft.irfft(spectrum, both)[:, :most]
    together[np.arange(most) > (p.n // 3)[:, None]] = -1.0
    near, best = together[:, : LAGS + 1].max(axis=1), together.max(axis=1)
    near = np.maximum(near, _BY_CHANCE / np.sqrt(p.n))
    peaks = together >= np.maximum(near, best - _AS_MUCH)[:, None] + _CLEARER
    peaks[:, 1:] &= together[:, 1:] > together[:, :-1]
    peaks[:, :-1] &= together[:, :-1] >= together[:, 1:]
    return np.where(peaks.any(axis=1), peaks.argmax(axis=1), 0)


def _normed(rows: Float) -> Float:
    """Return rows with a sum of squares of 1, however large or small they are."""
    rows = quotients(rows, np.abs(rows).max(axis=1, keepdims=True) + np.zeros_like(rows))
    return quotients(rows, np.sqrt(dots(rows, rows))[:, None] + np.zeros_like(rows))


def _explains(left: Float, used: Kept) -> Bool:
    """Return where the squares left beside a level are about those of u, or few of all."""
    (plain,) = _squares(used.zz[:, None], used.hz[:, None], used)[1:]
    return left <= np.maximum(_LEFT_BY_LAG * used.n[:, None], _PART_LEFT * plain)


def _saved_on_newest(p: Side, used: Kept, rows: Float, tried: Int) -> Float:
    """Return the squares [series, lags] that each lag saves on its newest pairs.

    A lag of k ignores the references of the newest k pairs, which no late value has shown yet. If
    it saves on these alone, it does so by ignoring wrong references (an error code).
    """
    lags = tried[:, None]
    back = np.arange(int(lags.max()))
    at = p.n[:, None] - 1 - back
    series = np.arange(p.n.size)[:, None]
    was, late = used.z[series, at], rows[series, :, at].transpose(0, 2, 1)
    saved: Float = np.where(back < lags, (was * was)[:, None] - late * late, 0.0).sum(axis=2)
    return saved


def _at_once(p: Side) -> int:
    """Return how many rows of each series fit in a processor's cache."""
    return max(1, _NEAR // p.live.size)


def _late(p: Side, used: Kept, lags: Int) -> Float:
    """Return the errors [series, lags, pairs] of values that are late; the first k as they are."""
    lagged = np.repeat(used.z[:, None], lags.size, axis=1)
    for row, k in enumerate(lags.tolist()):
        late = lagged[:, row, k:]
        np.subtract(used.value[:, k:], p.reference[:, :-k], out=late)
        late *= used.per_s[:, k:]
    return lagged


def _sluggish(p: Side, cut: Cut, used: Kept) -> list[Float]:
    """Return the squares left if values follow the reference gradually (first order).

    An average over past references is also nearer to the value of an honest sensor that predicts
    smoothly, but then an average over coming references is as near. So the saving of the latter
    does not count, nor does what chance may save.
    """
    last = p.reference[np.arange(p.n.size), p.n - 1][:, None]
    ends = np.zeros((p.n.size, _MEMORY - 1))
    padded = np.where(p.live, p.reference, last)
    padded = np.concatenate([ends + p.reference[:, :1], padded, ends + last], axis=1)
    some, parts = _at_once(p), []
    for first in range(0, len(KERNELS), some):
        averages = _averages(padded, KERNELS[first : first + some])
        past, coming = ((used.value[:, None] - each) * used.per_s[:, None] for each in averages)
        apart = past * past - coming * coming
        chance = _CHANCE * np.sqrt(tails(apart * apart, cut.bounds))
        parts.append((*_left(past, cut, used), *_left(coming, cut, used), chance))
    of = [np.concatenate(each, axis=1) for each in zip(*parts, strict=True)]
    left, mirrored, chance = of[:2], of[2:4], of[4]
    plain = _squares(used.zz[:, None], used.hz[:, None], used)
    return [
        each + np.maximum(was - backwards, 0.0) + chance
        for each, was, backwards in zip(left, plain, mirrored, strict=True)
    ]


def _averages(padded: Float, kernels: Float) -> tuple[Float, Float]:
    """Return exponential averages [series, kernels, pairs] over the past and over the future."""
    width = padded.shape[1] - 2 * (_MEMORY - 1)
    past, coming = np.zeros((2, padded.shape[0], len(kernels), width))
    for k, weight in enumerate(kernels.T[:, :, None]):
        past += weight * padded[:, None, _MEMORY - 1 - k : _MEMORY - 1 - k + width]
        coming += weight * padded[:, None, _MEMORY - 1 + k : _MEMORY - 1 + k + width]
    return past, coming


def _left(rows: Float, cut: Cut, used: Kept) -> list[Float]:
    """Return the squares that right and a level leave of errors [series, rows, pairs]."""
    hz, zz = tails(rows * used.h[:, None], cut.bounds), tails(rows * rows, cut.bounds)
    return _squares(zz, hz, used)


def _squares(zz: Float, hz: Float, used: Kept) -> list[Float]:
    return [zz, np.maximum(zz - hz * hz / np.maximum(used.hh, 1e-100)[:, None], 0.0)]


def _cheapest(left: list[Float], cut: Cut, used: Kept, extra: float) -> list[Rival]:
    """Return the cheapest newest piece that is RIGHT or LEVEL; ``detail`` is its row."""
    penalty, inflation = (each[:, None, None] for each in (cut.penalty, cut.inflation))
    every = np.stack(costs(used.n[:, None], left, penalty, inflation), axis=1)
    return _chosen(every, cut, extra)


def _chosen(every: Float, cut: Cut, extra: float) -> list[Rival]:
    """Return the cheapest of costs [series, kinds, rows, places]."""
    before = cut.before[:, :-1] + extra * cut.penalty[:, None]
    before[np.arange(before.shape[1]) >= cut.places[:, None]] = np.inf
    total = every + before[:, None, None]
    place = np.argmin(total.reshape(total.shape[0], -1), axis=1)
    cost = total.reshape(total.shape[0], -1)[np.arange(place.size), place]
    _, row, start = np.unravel_index(place, total.shape[1:])
    begin = cut.bounds[np.arange(place.size), start]
    return [
        Rival(*each) if math.isfinite(each[0]) else NONE
        for each in zip(cost.tolist(), begin.tolist(), row.astype(float).tolist(), strict=True)
    ]


def gain_of(p: Side, cut: Cut, used: Kept, before: Sequence[Slopes]) -> list[Rival]:
    """Return the explanation that the error grows with the level, as both regressions show it.

    The saving of a regression is what it saves beyond an honest sensor's slope. The smaller of the
    two counts, or that of the error model where it is known.
    """
    honest = np.array([(was.on_reference.value, was.on_value.value) for was in before])
    models = [was.model for was in before]
    by_reference, up = _saved(p, cut, used, p.reference, honest[:, :1])
    by_value, as_well = _saved(p, cut, used, p.value, honest[:, 1:])
    saved = np.minimum(by_reference, by_value)
    for model, of_model in ((CLASSICAL, by_reference), (PREDICTIVE, by_value)):
        rows = [i for i, each in enumerate(models) if each == model]
        saved[rows] = of_model[rows]
    shown = (up * as_well > 0.0) & (used.n >= FEWEST)
    left = used.zz - used.hz * used.hz / np.maximum(used.hh, 1e-100) - saved
    left = np.maximum(left, _LEAST_LEFT * used.n)
    every = costs(used.n, [left, left], cut.penalty[:, None], cut.inflation[:, None])
    both = np.stack([np.where(shown, each, np.inf) for each in every[1::2]], axis=1)
    return [each._replace(detail=0.0) for each in _chosen(both[:, :, None], cut, _EXTRA)]


def _saved(p: Side, cut: Cut, used: Kept, level: Float, honest: Float) -> tuple[Float, Float]:
    """Return the squares that a slope of the error on ``level`` saves, and the slope.

    Both are relative to the ``honest`` slope.
    """
    x = (level - medians(level, p.live)[:, None]) / p.unit[:, None]
    hx = used.h * x
    wx, wxx, wxy = (tails(each * hx, cut.bounds) for each in (used.h, hx, used.z))
    w = np.maximum(used.hh, 1e-100)
    weight = wxx - wx * wx / w
    moves = weight > 1e-9 * wxx
    slope = np.divide(wxy - wx * used.hz / w, weight, out=np.zeros_like(w), where=moves)
    return np.where(moves, weight, 0.0) * (slope - honest) ** 2, slope - honest


FEWEST_HELD: Final = 4
_MOVES: Final = 3  # changes of the reference below which it may be as steady as the value
_MOVED: Final = 4.0  # uncertainties; if the reference moves further, no honest value stands still
_OFTEN: Final = 0.5
_LONGER: Final = 2.0  # times the longest run before
_SURPRISE: Final = 1e-5


def stuck_for(p: Side) -> list[int]:
    """Return for how many pairs each sensor has been stuck, 0 if it is not."""
    changed = (p.value[:, 1:] != p.value[:, :-1]) & p.live[:, 1:]
    newest = np.where(changed, p.columns[1:], 0).max(axis=1)
    lengths = [0] * p.n.size
    for i in np.flatnonzero(p.n - newest >= FEWEST_HELD).tolist():
        lengths[i] = _stuck_for(p.pairs[i], p.s[i, : p.n[i]])
    return lengths


def _stuck_for(p: Pairs, s: Float) -> int:
    runs = run_lengths(p.value)
    run = int(runs[-1])
    reference = p.reference[-run:]
    if np.count_nonzero(reference[1:] != reference[:-1]) < _MOVES:
        return 0
    before = p.n - run
    often = (before - (runs.size - 1) + 0.5) / (before + 1.5)
    typical, moved = float(np.median(s[-run:])), float(np.ptp(reference))
    if moved <= held_within(p, run):
        return 0
    if moved > _MOVED * typical and often < _OFTEN:
        return run
    longest = int(runs[:-1].max(initial=1))
    if before == 0 and _is_coarse(float(p.value[-1]), typical):
        return 0
    return run if run > _LONGER * longest and often ** (run - 1) < _SURPRISE else 0


def run_lengths(value: Float) -> Int:
    """Return the length of each run of equal values, in order."""
    starts = np.flatnonzero(value[1:] != value[:-1]) + 1
    return np.diff(starts, prepend=0, append=value.size)


def _is_coarse(value: float, typical: float) -> bool:
    """Whether a value is a round number even beside its uncertainty, as on a coarse scale."""
    step = 10.0 ** math.ceil(math.log10(typical))
    return math.isfinite(value / step) and math.remainder(value, step) == 0.0
