"""Faults that show in some of the pairs: an end of the range, and spells that come and go.

Rules of this file: the other pairs must be right, or the fault has another name. A value is a limit
where it repeats while the reference moves beyond it, and nothing passes it from then on; other
values show that the sensor moves. Spells share one level; each costs two boundaries, as pieces do
(:mod:`.partition`), so that single far errors and a level that is repaired once stay outliers and
an offset.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import NAN, Bool, Float
from monitor.core.verdict.rows import TO_SD, median
from monitor.core.verdict.verdict import NOTHING, Estimate, share, t_interval

_ALIKE: Final = 0.05  # uncertainties by which values at a limit may differ
LEAST_HELD: Final = 8  # pairs at a limit, or in spells
_BEYOND: Final = 2.0  # uncertainties by which a reference is clearly beyond a limit
_HELD_BEYOND: Final = 0.9  # share of the pairs beyond it that a limit must hold
_STRANGE: Final = 0.02  # share of pairs that may be at a limit far from it
_FINE: Final = 0.8  # share of other values that differ, but on a display of coarse steps
_PAST: Final = 0.5  # uncertainties by which references are past the limit of another display
_SURE: Final = 5.0  # standard errors of that

_LEAST_OFF: Final = 2.5  # uncertainties
_SPELLS: Final = 3
_LENGTH: Final = 2.0  # pairs in a spell on average
_SHARES: Final = (0.03, 0.5)
_ABOUT: Final = 1.6  # scale of errors about the level of spells, and of the others about 0
_TOGETHER: Final = 0.25  # share of far errors in spells that follow another one
_ROUNDS: Final = 6
_SWITCH: Final = 4.0  # log likelihood for a beginning or an end while spells are looked for
LEFT_OUT: Final = 2.0  # parameters that a pair costs which is left out as an outlier
_OVERDUE: Final = 3.0  # usual times between spells after which they may be over


class Errors(NamedTuple):
    """The pairs of an incident: errors over their uncertainty ``z``, and where they are.

    ``h`` is the typical uncertainty ``unit`` over each pair's; ``penalty`` what a parameter costs,
    ``inflation`` what divides the evidence, ``before`` the cost of the pairs before.
    """

    time: Float
    value: Float
    reference: Float
    z: Float
    h: Float
    unit: float
    penalty: float = 0.0
    inflation: float = 1.0
    before: float = 0.0

    def some(self, mask: Bool) -> Errors:
        """Return some of the pairs."""
        time, value, reference, z, h = (each[mask] for each in self[:5])
        return self._replace(time=time, value=value, reference=reference, z=z, h=h)


class Explained(NamedTuple):
    """A fault with its cost: its size, the error that belongs to it, its first pair, its place.

    ``place`` is a level or an hour; ``is_above``: the fault is on the upper side of a level.
    ``swing`` is half that of an error in a day.
    """

    fault: str
    cost: float
    size: Estimate
    level: Estimate
    start: int = 0
    place: float = NAN
    is_above: bool = True
    slope_per_day: Estimate = NOTHING
    swing: Estimate = NOTHING


def limit_of(e: Errors) -> Explained | None:
    """Return the value at which a sensor stands although the reference goes beyond it."""
    if e.z.size < 2 * LEAST_HELD:
        return None
    for way in (1.0, -1.0):
        value = way * e.value
        ends, counts = np.unique(value[:-1][_at_end(value)], return_counts=True)
        if counts.max(initial=0) >= LEAST_HELD - 1:
            limited = _limit(e, way * float(ends[counts.argmax()]), e.unit / e.h, way)
            if limited is not None:
                return limited
    return None


def may_be_limited(value: Float, live: Bool) -> Bool:
    """Return which series [series, pairs] repeat a value that no later one passes."""
    both = (np.where(live, way * value, -np.inf) for way in (1.0, -1.0))
    often = [np.count_nonzero(_at_end(each) & live[:, :-1], axis=1) for each in both]
    return np.asarray(np.maximum(*often) >= LEAST_HELD - 1)


def _at_end(value: Float) -> Bool:
    """Return which values, but for the last, equal the largest of the later ones."""
    later = np.maximum.accumulate(value[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray(value[..., :-1] == later[..., 1:])


def _limit(e: Errors, limit: float, s: Float, way: float) -> Explained | None:
    """Return the fault that nothing passes a limit, upwards or downwards, since it began."""
    held: Bool = np.abs(e.value - limit) <= _ALIKE * s
    passing = np.flatnonzero(~held & (way * (e.value - limit) > 0.0))
    later = held.copy()
    later[: passing[-1] + 1 if passing.size else 0] = False
    if not later.any():
        return None
    start = int(later.argmax())
    held, z, values = held[start:], e.z[start:], e.value[start:]
    past = way * (e.reference - limit)[start:] / s[start:]
    beyond = past > _BEYOND
    stands = beyond & held
    others = values[~held]
    if np.unique(others).size > _FINE * others.size:
        many = np.count_nonzero(held)
        mean = float(past[held].mean())
        shows = many >= LEAST_HELD and mean > max(_PAST, _SURE / math.sqrt(many))
        stands = held
    else:
        shows = np.count_nonzero(stands) >= LEAST_HELD
    strange = np.count_nonzero(held & (past < -2.0 * _BEYOND))
    if not shows or strange > _STRANGE * z.size:
        return None
    inside = np.count_nonzero(way * (limit - e.value) > _ALIKE * s)
    moved = np.ptp(e.reference[start:][stands]) > _BEYOND * median(s[start:][stands])
    if inside < LEAST_HELD or not moved:
        return None
    if np.count_nonzero(beyond & held) < _HELD_BEYOND * np.count_nonzero(beyond):
        return None
    if others.size and TO_SD * median(np.abs(z[~held])) > _ABOUT:
        return None
    level = _mean((z / e.h[start:])[stands] * e.unit, 1.0)
    size = Estimate(limit, limit, limit)
    return Explained("clipped", 0.0, size, level, start, limit, way > 0.0)


def spells_of(e: Errors) -> Explained | None:
    """Return the level that comes and goes."""
    most = LEFT_OUT * e.penalty * e.inflation
    options = [each for way in (1.0, -1.0) if (each := _off(way * e.z, e.h, most)) is not None]
    if not options:
        return None
    off, left = min(options, key=lambda each: each[1])
    begins = _begins(off)
    since_last = off.size - 1 - int(np.flatnonzero(off)[-1])
    if since_last > _OVERDUE * (off.size - np.count_nonzero(off)) / begins:
        return None
    level = _mean((e.z / e.h)[off] * e.unit, e.inflation)
    cost = e.before + left / e.inflation + (2.0 * begins + 1.0) * e.penalty
    size = share(float(begins), float(off.size * begins / np.count_nonzero(off)))
    return Explained("spells", cost, size, level, int(off.argmax()))


def _mean(error: Float, inflation: float) -> Estimate:
    worth = error.size / inflation
    se = float(error.std()) / math.sqrt(worth)
    return t_interval(float(error.mean()), se, max(worth - 1.0, 1.0))


def _begins(off: Bool) -> int:
    return int(np.count_nonzero(off[1:] & ~off[:-1])) + int(off[0])


def _off(z: Float, h: Float, most: float) -> tuple[Bool, float] | None:
    """Return which pairs are off by one level above 0, in spells, and the squares left.

    ``most`` is what a pair counts that is far off in another way.
    """
    off = z > _LEAST_OFF
    far = np.count_nonzero(off)
    if far < LEAST_HELD or np.count_nonzero(off[1:] & off[:-1]) < _TOGETHER * far:
        return None
    level, before = median(z[off] / h[off]), 0.0
    for _ in range(_ROUNDS):
        off = _likely(level * h * (z - 0.5 * level * h))
        if np.count_nonzero(off) < LEAST_HELD:
            return None
        level, before = median(z[off] / h[off]), level
        if level == before:
            break
    many = np.count_nonzero(off)
    is_often = _begins(off) >= _SPELLS and many >= _LENGTH * _begins(off)
    if not (is_often and _SHARES[0] <= many / z.size <= _SHARES[1] and level > _LEAST_OFF):
        return None
    about, others = z[off] - level * h[off], z[~off]
    if max(TO_SD * median(np.abs(each)) for each in (about, others)) > _ABOUT:
        return None
    left = np.concatenate([about, others]) ** 2
    return off, float(np.minimum(left, most).sum())


def _likely(gain: Float) -> Bool:
    """Return which pairs are off, given the log likelihoods of off against right.

    Runs of either sort count where all of their pairs are worth a beginning and an end.
    """
    off = gain > 0.0
    for state in (False, True, False):  # close gaps, drop runs, close gaps
        edges = np.concatenate([[0], np.flatnonzero(off[1:] != off[:-1]) + 1])
        worth = np.abs(np.add.reduceat(gain, edges)) > 2.0 * _SWITCH
        turned = (off[edges] == state) & ~worth
        off = off ^ np.repeat(turned, np.diff(edges, append=off.size))
    return off
