"""Explanations of the newest errors other than a level, a drift or a spread: gain, lag, sign.

Rules of this file: each is one piece that begins at any boundary of the cut and ends now, and costs
what pieces cost (twice the negative log likelihood, a penalty a parameter), so that the cheapest
explanation of all can be named.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.diagnosis_new.pairs import Pairs
from monitor.core.diagnosis_new.partition import LEVEL, Partition, Sums, costs, residuals, sums_of
from monitor.core.diagnosis_new.relations import Slopes
from monitor.core.model import Float, Int

LAGS: Final = 8


class Rival(NamedTuple):
    """The cheapest piece of its sort: what all pairs cost with it, and where it begins."""

    cost: float
    start: int
    detail: float = 0.0


NONE: Final = Rival(np.inf, 0)


def sign_of(p: Pairs, cut: Partition) -> Rival:
    """Return the explanation that the value is the reference with the wrong sign."""
    return _cheapest(p, cut, (p.value + p.reference) / p.s, 2.0)


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

    An average over past references also is nearer to an honest value that is a smooth prediction,
    but then an average over those to come is as near: what that saves does not count.
    """
    past, future = [], []
    for share in (0.25, 0.4, 0.6):
        kernel = (1.0 - share) ** np.arange(12)
        kernel /= kernel.sum()
        for rows, into in ((p.reference, past), (p.reference[::-1], future)):
            padded = np.concatenate([np.full(kernel.size - 1, rows[0]), rows])
            into.append(np.convolve(padded, kernel, "valid"))
    before = (p.value - np.stack(past)) / p.s
    after = (p.value - np.stack(future)[:, ::-1]) / p.s
    return _cheapest(p, cut, before, 1.0, after)


def _cheapest(
    p: Pairs, cut: Partition, z: Float, extra: float, mirrored: Float | None = None
) -> Rival:
    """Return the cheapest newest piece of errors ``z`` (one or several rows) that is right or level.

    ``detail`` is the row. What rows seen backwards in time save as well is not saved.
    """
    h = np.where(cut.kept, p.unit / p.s, 0.0)
    n, hh = _tails(np.stack([cut.kept.astype(np.float64), h * h]), cut.bounds)

    def left(rows: Float) -> tuple[Float, Float]:
        rows = np.clip(np.where(cut.kept, np.atleast_2d(rows), 0.0), -1e6, 1e6)
        hz, zz = _tails(h * rows, cut.bounds), _tails(rows * rows, cut.bounds)
        return zz, np.maximum(zz - hz * hz / np.maximum(hh, 1e-100), 0.0)

    zz, level = left(z)
    if mirrored is not None:
        chance = np.sqrt(_tails(np.where(cut.kept, (z * z - mirrored * mirrored) ** 2, 0.0), cut.bounds))
        for found, plain, other in zip((zz, level), left(p.z), left(mirrored), strict=True):
            found += np.maximum(plain - other, 0.0) + 2.5 * chance
    nothing = np.zeros_like(zz)
    pieces = Sums(np.broadcast_to(n, zz.shape), *([nothing] * 6))
    every = costs(pieces, [zz, level], cut.penalty, cut.inflation)
    total = cut.best[:-1] + every + extra * cut.penalty
    kind, row, start = np.unravel_index(int(np.argmin(total)), total.shape)
    return Rival(float(total[kind, row, start]), int(cut.bounds[start]), float(row))


def _tails(rows: Float, bounds: Int) -> Float:
    """Return the sums of each row from each boundary on."""
    return np.cumsum(rows[:, ::-1], axis=1)[:, ::-1][:, bounds[:-1]]


def gain_rival(p: Pairs, cut: Partition, before: Slopes) -> Rival:
    """Return the explanation that the error grows with the level, as both regressions show it.

    Of the two sums of squares that the regressions save beyond what they save of an honest sensor
    the smaller one counts, or the one of the error model where that is known.
    """
    kept = cut.kept
    h = np.where(kept, p.unit / p.s, 0.0)
    z = np.where(kept, p.z, 0.0)
    m = cut.bounds.size
    starts = np.arange(m - 1)
    pieces = sums_of(z, h, p.clock, cut.bounds).between(starts, m - 1)
    saved, slopes = [], []
    for level, was in ((p.reference, before.on_reference), (p.value, before.on_value)):
        honest = was.value if np.isfinite(was.se) else 0.0
        x = (level - np.median(level)) / p.unit
        beta, weight = _tail_slopes(h, z, x, cut.bounds)
        own = 0.0
        saved.append(weight * (beta - honest) ** 2)
        slopes.append(beta - honest)
    agree = slopes[0] * slopes[1] > 0.0
    model = before.model
    less = {"classical": saved[0], "predictive": saved[1]}.get(model, np.minimum(*saved))
    less = np.where(agree, less, 0.0)
    square = np.maximum(residuals(pieces)[LEVEL] - less, 0.05 * pieces.n)
    every = costs(pieces, [square, square], cut.penalty, cut.inflation)[[1, 3]]
    every = np.where(agree & (pieces.n >= 10), every, np.inf)
    total = cut.best[:-1] + every + cut.penalty
    if not np.isfinite(total).any():
        return NONE
    kind, start = np.unravel_index(int(np.argmin(total)), total.shape)
    return Rival(float(total[kind, start]), int(cut.bounds[start]))


def _tail_slopes(h: Float, z: Float, x: Float, bounds: Int) -> tuple[Float, Float]:
    """Return slope of the error on ``x`` and its weight over the pairs from each boundary on."""
    hh = h * h
    rows = np.stack([hh, hh * x, hh * x * x, h * z, h * z * x])
    total = np.concatenate([np.zeros((5, 1)), np.cumsum(rows, axis=1)], axis=1)
    w, wx, wxx, wy, wxy = (each[-1] - each[bounds[:-1]] for each in total)
    w = np.maximum(w, 1e-100)
    weight = wxx - wx * wx / w
    moves = weight > 1e-9 * wxx
    slope = np.divide(wxy - wx * wy / w, weight, out=np.zeros_like(w), where=moves)
    return slope, np.where(moves, weight, 0.0)
