"""What would mend a sensor, tried before it is told.

Rules of this file: prequential. A remedy is chosen from the pairs of the fault so far and judged on
the next ones, block by block; it is told only if the CRPS it saves is clear of nothing, by
autocorrelated pairs and by the blocks among each other. Nothing is ever applied.

Sources: Dawid, JRSS A 147 (1984); Gneiting, Raftery, JASA 102 (2007) (CRPS of the normal).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import scipy

from monitor.core.diagnosis_new.dependence import inflation, lag_one
from monitor.core.diagnosis_new.neighbours import median
from monitor.core.diagnosis_new.pairs import Pairs
from monitor.core.diagnosis_new.verdict import NO_REMEDY, Remedy, Verdict
from monitor.core.model import Float, Int

_FEWEST: Final = 8  # pairs a remedy is chosen from
_WORTH_PAIRS: Final = 8.0
_JUDGED: Final = 10  # pairs it must be judged on
_BLOCKS: Final = 6
_LONGER: Final = 1.5
_LONG: Final = 100
_NEWEST: Final = 24
_NEWEST_BETTER: Final = 0.9
_CLEAR: Final = 3.0  # standard errors
_WORTH: Final = 0.05  # of the CRPS, below which it is not worth telling
_SCALE_MOST: Final = 100.0


class Change(NamedTuple):
    """value' = intercept + slope value, u' = scale |slope| u."""

    slope: float
    intercept: float
    scale: float


Chooser = Callable[[Pairs, Verdict], Change]


def crps(error: Float, u: Float) -> Float:
    """Return the CRPS of a normal with standard deviation ``u`` that is off by ``error``."""
    u = np.maximum(u, 1e-150)
    z = np.clip(error / u, -1e100, 1e100)
    density = np.exp(-0.5 * np.minimum(z * z, 1e4)) / np.sqrt(2.0 * np.pi)
    inner = z * (2.0 * scipy.special.ndtr(z) - 1.0) + 2.0 * density - 1.0 / np.sqrt(np.pi)
    return np.asarray(u * inner)


def remedy_for(p: Pairs, found: Verdict, held: int = 0) -> Remedy:
    """Return the remedy that helped on the pairs of the fault, or none.

    ``held``: an earlier state of the same incident changed after so many pairs. What is now must
    hold for longer before anything is built on it.
    """
    names = _TRIED.get(found.fault, ())
    part = p.rows(slice(found.segment, None))
    edges = _edges(part.n)
    if not names or edges.size < 2 or part.n < min(_LONGER * held, _LONG):
        return NO_REMEDY
    best, told = None, NO_REMEDY
    plain = crps(part.error, part.u)[edges[0] :]
    for name in names:
        after = _tried(part, edges, name, found)
        against = plain if best is None else best
        if _is_better(against, after, edges):
            told, best = _told(name, part, found, plain, after), after
    return told if told.kind == "none" or _still_helps(told, part) else NO_REMEDY


def _still_helps(told: Remedy, part: Pairs) -> bool:
    """Whether the newest pairs are better for it: what a sensor was like has passed, sometimes."""
    newest = part.rows(slice(max(0, part.n - _NEWEST), None))
    is_linear = told.kind == "linear"
    shift = told.intercept if is_linear else np.nan_to_num(told.add)
    scale = 1.0 if np.isnan(told.scale_u) else told.scale_u
    change = Change(told.slope if is_linear else 1.0, float(shift), scale)
    before, after = crps(newest.error, newest.u), _scored(newest, change)
    return float(after.mean()) < _NEWEST_BETTER * float(before.mean())


def _edges(n: int) -> Int:
    """Return where blocks of judged pairs begin, and the end of the last."""
    first = max(_FEWEST, n // 4)
    if n - first < _JUDGED:
        return np.zeros(0, dtype=np.int64)
    return np.unique(np.linspace(first, n, _BLOCKS + 1).astype(np.int64))


def _tried(part: Pairs, edges: Int, name: str, found: Verdict) -> Float:
    """Return the CRPS of each judged pair with what was chosen before its block."""
    scores = []
    for begin, end in pairwise(edges.tolist()):
        change = _CHOOSERS[name](part.rows(slice(0, begin)), found)
        scores.append(_scored(part.rows(slice(begin, end)), change))
    return np.concatenate(scores)


def _scored(part: Pairs, change: Change) -> Float:
    value = change.intercept + change.slope * part.value
    return crps(value - part.reference, change.scale * abs(change.slope) * part.u)


def _is_better(before: Float, after: Float, edges: Int) -> bool:
    saved = before - after
    mean = float(saved.mean())
    worth = saved.size / inflation(lag_one(before))
    if not mean > _WORTH * float(before.mean()) or worth < _WORTH_PAIRS:
        return False
    of_pairs = float(saved.std()) * np.sqrt(inflation(lag_one(saved)) / saved.size)
    blocks = np.add.reduceat(saved, edges[:-1] - edges[0]) / np.diff(edges)
    of_blocks = float(blocks.std(ddof=1)) / np.sqrt(blocks.size)
    steady = float(blocks.min()) > 0.0
    return steady and mean > _CLEAR * max(of_pairs, of_blocks)


def _told(name: str, part: Pairs, found: Verdict, before: Float, after: Float) -> Remedy:
    """Return the remedy with the numbers of the verdict."""
    means = float(before.mean()), float(after.mean())
    tried = Remedy(name, pairs=after.size, crps_before=means[0], crps_after=means[1])
    if name == "linear":
        change = _linear(part, found)
        return tried._replace(slope=change.slope, intercept=change.intercept)
    if name != "scale_u":
        tried = tried._replace(add=-found.level.value)
    if name != "add":
        tried = tried._replace(scale_u=found.scale.value)
    return tried


def level_of(part: Pairs, *, drifts: bool) -> float:
    """Return the weighted level of the errors, at the newest pair of a line if they drift."""
    w = (part.unit / part.s) ** 2
    total = float(w.sum())
    level = float(w @ part.error) / total
    if not drifts:
        return level
    centred = part.clock - float(w @ part.clock) / total
    square = float(w @ (centred * centred))
    slope = float(w @ (centred * part.error)) / square if square > 0.0 else 0.0
    return level + slope * float(centred[-1])


def _add(part: Pairs, found: Verdict) -> Change:
    return Change(1.0, -level_of(part, drifts=found.fault == "drift"), 1.0)


def _scale(part: Pairs, _: Verdict) -> Change:
    return Change(1.0, 0.0, _factor(part, 0.0))


def _add_and_scale(part: Pairs, found: Verdict) -> Change:
    level = level_of(part, drifts=found.fault == "drift")
    return Change(1.0, -level, _factor(part, level))


def _factor(part: Pairs, level: float) -> float:
    """Return the factor on u by the mean square of what is left, far errors pulled in."""
    off = np.abs(part.error - level) / part.u
    most = 5.0 * 1.4826 * median(off)
    off = np.minimum(off, most) if most > 0.0 else off
    blur = float(np.mean((part.u_ref / part.u) ** 2))
    square = float(np.mean(off * off)) * part.n / max(part.n - 1.0, 1.0) - blur
    return float(np.sqrt(np.clip(square, 1.0 / _SCALE_MOST**2, _SCALE_MOST**2)))


def _linear(part: Pairs, found: Verdict) -> Change:
    """Return value' = a + b value: 1 / gain of a classical sensor, else the regression."""
    w = (part.unit / part.s) ** 2
    total = float(w.sum())
    value, reference = (float(w @ rows) / total for rows in (part.value, part.reference))
    v, r = part.value - value, part.reference - reference
    own = float(w @ part.u_ref**2)
    across, of_value, of_reference = float(w @ (v * r)), float(w @ (v * v)), float(w @ (r * r))
    slope = 1.0
    if found.error_model == "classical" and across != 0.0:
        slope = max(of_reference - own, 0.1 * of_reference) / across
    elif of_value > 0.0:
        slope = across / of_value
    return Change(slope, reference - slope * value, 1.0)


_CHOOSERS: Final[dict[str, Chooser]] = {
    "add": _add,
    "scale_u": _scale,
    "add_and_scale_u": _add_and_scale,
    "linear": _linear,
}
# What is tried for a fault; a later one is told only if it is better than the one before.
_TRIED: Final = {
    "offset": ("add", "add_and_scale_u"),
    "drift": ("add", "add_and_scale_u"),
    "understated": ("scale_u", "add_and_scale_u"),
    "overstated": ("scale_u", "add_and_scale_u"),
    "gain": ("linear",),
    "sign": ("linear",),
}
