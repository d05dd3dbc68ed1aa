"""Explanations of the newest errors that are no pieces: gain, lag, sign, and a value stuck.

Rules of this file: each is one piece that begins at any boundary of the cut and ends now, and costs
what pieces cost (twice the negative log likelihood, a penalty a parameter), so that the cheapest
explanation of all can be named. Of a stuck value its own usual runs are the measure: a value on a
coarse scale stands still for long, and a dry rain gauge is right to say 0 as long as its reference
does.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Float, Int
from monitor.core.verdict.pairs import Pairs, median
from monitor.core.verdict.partition import Partition, costs
from monitor.core.verdict.relations import FEWEST
from monitor.core.verdict.verdict import Slopes

LAGS: Final = 8
_CHANCE: Final = 2.5  # standard deviations of what backwards and forwards differ by chance
_EXTRA: Final = 0.5  # parameters that the choice of a gain counts as
_LEAST_LEFT: Final = 0.05  # of a pair's square: a gain does not explain all
_MEMORY: Final = 12  # pairs
_SHARES: Final = (0.25, 0.4, 0.6)  # of the newest, of sensors of first order


def _kernels() -> Float:
    shapes = [(1.0 - share) ** np.arange(_MEMORY) for share in _SHARES]
    return np.stack([shape / shape.sum() for shape in shapes])


_KERNELS: Final = _kernels()


class Rival(NamedTuple):
    """The cheapest piece of its sort: what all pairs cost with it, and where it begins."""

    cost: float
    start: int
    detail: float = 0.0


NONE: Final = Rival(np.inf, 0)


def sign_of(p: Pairs, cut: Partition) -> Rival:
    """Return the explanation that the value is the reference with the wrong sign."""
    return _cheapest(p, cut, ((p.value + p.reference) / p.s)[None], 2.0)


def lag_of(p: Pairs, cut: Partition) -> Rival:
    """Return the explanation that the values show what was some pairs before."""
    rows = []
    for k in range(1, min(LAGS, p.n // 3) + 1):
        z = p.z.copy()
        z[k:] = (p.value[k:] - p.reference[:-k]) / p.s[k:]
        rows.append(z)
    if not rows:
        return NONE
    found = _cheapest(p, cut, np.stack(rows), 1.0)
    delayed = found._replace(detail=found.detail + 1.0)
    slow = _sluggish(p, cut)
    return delayed if delayed.cost <= slow.cost else slow


def _sluggish(p: Pairs, cut: Partition) -> Rival:
    """Return the explanation that the values follow the reference by and by (first order).

    An average over past references is nearer to an honest value as well if that is a smooth
    prediction, but then an average over those to come is as near: what that saves does not count.
    """
    after = (p.value - _averages(p.reference[::-1])[:, ::-1]) / p.s
    before = (p.value - _averages(p.reference)) / p.s
    return _cheapest(p, cut, before, _EXTRA, after)


def _averages(rows: Float) -> Float:
    """Return exponential averages over the past of ``rows``, one for each share of the newest."""
    padded = np.concatenate([np.full(_MEMORY - 1, rows[0]), rows])
    return np.stack([np.convolve(padded, kernel, "valid") for kernel in _KERNELS])


def _cheapest(
    p: Pairs, cut: Partition, z: Float, extra: float, mirrored: Float | None = None
) -> Rival:
    """Return the cheapest newest piece of errors ``z`` [rows, pairs] that is right or a level.

    ``detail`` is the row. What rows seen backwards in time save as well is not saved, nor what
    chance may save.
    """
    h, _ = _kept(p, cut)
    n, hh = _tails(np.stack([cut.kept * 1.0, h * h]), cut.bounds)
    left = _left(z, h, hh, cut)
    if mirrored is not None:
        of_chance = np.where(cut.kept, (z * z - mirrored * mirrored) ** 2, 0.0)
        chance = _CHANCE * np.sqrt(_tails(of_chance, cut.bounds))
        plain, other = _left(p.z[None], h, hh, cut), _left(mirrored, h, hh, cut)
        left = [
            each + np.maximum(was - backwards, 0.0) + chance
            for each, was, backwards in zip(left, plain, other, strict=True)
        ]
    every = costs(n, left, cut.penalty, cut.inflation)
    total = cut.before[:-1] + every + extra * cut.penalty
    _, row, start = np.unravel_index(int(np.argmin(total)), total.shape)
    return Rival(float(total.min()), int(cut.bounds[start]), float(row))


def _kept(p: Pairs, cut: Partition) -> tuple[Float, Float]:
    """Return h and z, 0 where a pair is an outlier."""
    return np.where(cut.kept, p.unit / p.s, 0.0), np.where(cut.kept, p.z, 0.0)


def _left(z: Float, h: Float, hh: Float, cut: Partition) -> list[Float]:
    """Return the squares that right and a level leave of each row, from each boundary on."""
    rows = np.where(cut.kept, z, 0.0)
    hz, zz = _tails(h * rows, cut.bounds), _tails(rows * rows, cut.bounds)
    return [zz, np.maximum(zz - hz * hz / np.maximum(hh, 1e-100), 0.0)]


def _tails(rows: Float, bounds: Int) -> Float:
    """Return the sums of each row from each boundary on."""
    return np.cumsum(rows[:, ::-1], axis=1)[:, ::-1][:, bounds[:-1]]


def gain_of(p: Pairs, cut: Partition, before: Slopes) -> Rival:
    """Return the explanation that the error grows with the level, as both regressions show it.

    Of what the regressions save beyond what they save of an honest sensor the smaller counts, or
    that of the error model where it is known.
    """
    h, z = _kept(p, cut)
    n, hh, hz, zz = _tails(np.stack([cut.kept * 1.0, h * h, h * z, z * z]), cut.bounds)
    by_reference, up = _saved(p, cut, p.reference, before.on_reference.value)
    by_value, as_well = _saved(p, cut, p.value, before.on_value.value)
    of_model = {"classical": by_reference, "predictive": by_value}
    saved = of_model.get(before.model, np.minimum(by_reference, by_value))
    shown = (up * as_well > 0.0) & (n >= FEWEST)
    left = zz - hz * hz / np.maximum(hh, 1e-100) - saved
    left = np.maximum(left, _LEAST_LEFT * n)
    every = costs(n, [left, left], cut.penalty, cut.inflation)[[1, 3]]
    total = cut.before[:-1] + np.where(shown, every, np.inf) + _EXTRA * cut.penalty
    if not np.isfinite(total).any():
        return NONE
    _, start = np.unravel_index(int(np.argmin(total)), total.shape)
    return Rival(float(total.min()), int(cut.bounds[start]))


def _saved(p: Pairs, cut: Partition, level: Float, honest: float) -> tuple[Float, Float]:
    """Return the squares saved by a slope of the error on ``level``, and it less the honest one."""
    h, z = _kept(p, cut)
    x, hh = (level - median(level)) / p.unit, h * h
    rows = np.stack([hh, hh * x, hh * x * x, h * z, h * z * x])
    w, wx, wxx, wy, wxy = _tails(rows, cut.bounds)
    w = np.maximum(w, 1e-100)
    weight = wxx - wx * wx / w
    moves = weight > 1e-9 * wxx
    slope = np.divide(wxy - wx * wy / w, weight, out=np.zeros_like(w), where=moves)
    return np.where(moves, weight, 0.0) * (slope - honest) ** 2, slope - honest


_FEWEST_HELD: Final = 4
_MOVES: Final = 3  # changes of the reference below which it may be as steady as the value
_MOVED: Final = 4.0  # uncertainties of the reference's way that no honest value stands still for
_OFTEN: Final = 0.5
_LONGER: Final = 2.0  # times the longest run before
_SURPRISE: Final = 1e-5


def stuck_for(p: Pairs) -> int:
    """Return for how many pairs the sensor has been stuck, 0 if it is not."""
    runs = run_lengths(p.value)
    run = int(runs[-1])
    if run < _FEWEST_HELD:
        return 0
    reference = p.reference[-run:]
    if np.count_nonzero(reference[1:] != reference[:-1]) < _MOVES:
        return 0
    before = p.n - run
    often = (before - (runs.size - 1) + 0.5) / (before + 1.5)
    typical = median(p.s[-run:])
    if float(np.ptp(reference)) > _MOVED * typical and often < _OFTEN:
        return run
    longest = int(runs[:-1].max(initial=1))
    if before == 0 and _is_coarse(float(p.value[-1]), typical):
        return 0
    return run if run > _LONGER * longest and often ** (run - 1) < _SURPRISE else 0


def run_lengths(value: Float) -> Int:
    """Return how many times each value in turn was repeated."""
    starts = np.flatnonzero(value[1:] != value[:-1]) + 1
    return np.diff(starts, prepend=0, append=value.size)


def _is_coarse(value: float, typical: float) -> bool:
    """Whether a value is a round number even beside its uncertainty, as on a coarse scale."""
    step = 10.0 ** math.ceil(math.log10(typical))
    return math.isfinite(value / step) and math.remainder(value, step) == 0.0
