"""What would mend a sensor, tried before it is told.

Rules of this file: prequential. A remedy is chosen from the pairs of the fault so far and judged on
the next ones, block by block; it is told only if it saved CRPS in every block, and more than chance
does, by autocorrelated pairs and by the blocks among each other; the clearer, the slower the errors
change. Nothing is ever applied.

Sources: Dawid, JRSS A 147 (1984); Gneiting, Raftery, JASA 102 (2007) (CRPS of the normal).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import scipy

from monitor.core.model import Float, Int
from monitor.core.verdict.pairs import Side, inflation, lag_ones, median
from monitor.core.verdict.partition import Sums, cumulated, level_of, line_of
from monitor.core.verdict.verdict import NO_REMEDY, Estimate, Remedy, Verdict

_FEWEST: Final = 8  # pairs a remedy is chosen from
_JUDGED: Final = 10  # pairs it must be judged on
_WORTH_PAIRS: Final = 8.0  # and so many independent ones
_BLOCKS: Final = 6  # at most, of at least so many pairs where there are more than three
_FEWEST_BLOCKS: Final = 3
_BLOCK: Final = 14
_CLEAR: Final = 3.0  # standard errors
# More of them where errors hang together, and little is saved: of what such a sensor may be like
# its pairs have shown few states, each many times.
_DEPENDENT: Final = 3.0
_NEAR: Final = 0.5  # of what would be told, that its interval must reach to
_DRIFTING: Final = 0.3  # more of it, where a line through few independent errors tells the end
_WORTH: Final = 0.05  # of the CRPS, below which it is not worth telling
_LONGER: Final = 1.5
_LONG: Final = 100
_NEWEST: Final = 24
_NEWEST_BETTER: Final = 0.9
_SCALE_MOST: Final = 100.0
_FAR: Final = 5.0


class Part(NamedTuple):
    """The pairs of a fault, from where its size is."""

    value: Float
    u: Float
    reference: Float
    u_ref: Float
    error: Float
    h: Float
    z: Float
    clock: Float
    unit: float

    @classmethod
    def of(cls, p: Side, row: int, begin: int) -> Part:
        """Return the pairs of one series from ``begin`` on."""
        n = int(p.n[row])
        alone = p.some([row])
        clock, _ = alone.clock_of(np.array([begin]), np.array([n]))
        columns = (p.value, p.u, p.reference, p.u_ref, p.error, p.h, p.z)
        value, u, reference, u_ref, error, h, z = (each[row, begin:n] for each in columns)
        now = clock[0, begin:n]
        return cls(value, u, reference, u_ref, error, h, z, now, float(p.unit[row]))

    @property
    def n(self) -> int:
        """How many pairs."""
        return self.value.size


class Changes(NamedTuple):
    """value' = intercept + slope value and u' = scale |slope| u, one for each block judged."""

    slope: Float
    intercept: Float
    scale: Float


Chooser = Callable[["Part", Int, Verdict], Changes]


def crps(error: Float, u: Float) -> Float:
    """Return the CRPS of a normal with standard deviation ``u`` that is off by ``error``."""
    u = np.maximum(u, 1e-150)
    z = np.clip(error / u, -1e100, 1e100)
    density = np.exp(-0.5 * np.minimum(z * z, 1e4)) / np.sqrt(2.0 * np.pi)
    inner = z * (2.0 * scipy.special.ndtr(z) - 1.0) + 2.0 * density - 1.0 / np.sqrt(np.pi)
    return np.asarray(u * inner)


def remedy_for(p: Side, row: int, found: Verdict, held: int = 0) -> Remedy:
    """Return the remedy that helped on the pairs of the fault, or none.

    ``held``: an earlier state of the same incident changed after so many pairs. What is now must
    hold for longer before anything is built on it.
    """
    part = Part.of(p, row, found.segment)
    edges = _edges(part.n)
    if found.fault not in _TRIED or edges.size < 2 or part.n < min(_LONGER * held, _LONG):
        return NO_REMEDY
    plain = best = crps(part.error, part.u)[edges[0] :]
    told, clear = NO_REMEDY, _DEPENDENT * dependent(found) ** 2
    for name in _TRIED[found.fault]:
        if not _is_sure(name, found):
            continue
        after = _tried(part, edges, _CHOOSERS[name](part, edges[:-1], found))
        if _is_better(best, after, edges, clear):
            told, best = _told(name, part, found, plain, after), after
    return told if told.kind == "none" or _still_helps(told, part) else NO_REMEDY


def _is_sure(name: str, found: Verdict) -> bool:
    """Whether all of the interval is nearer to what would be told than to nothing.

    To take off more than twice of what is wrong makes worse.
    """
    if name == "linear":
        return found.fault == "sign" or _is_near(found.gain, 1.0)
    share = _NEAR + (_DRIFTING * dependent(found) if found.fault == "drift" else 0.0)
    adds = name == "scale_u" or _is_near(found.level, 0.0, share)
    if name == "add":
        return adds
    return adds and found.scale.lower > 0.0 and _is_near(Estimate(*np.log(found.scale)), 0.0)


def dependent(found: Verdict) -> float:
    """Return the share of the pairs that autocorrelation takes."""
    return 1.0 - min(found.n_effective / max(found.pairs, 1), 1.0)


def _is_near(size: Estimate, nothing: float, share: float = _NEAR) -> bool:
    off = size.value - nothing
    least = min((size.lower - nothing) * np.sign(off), (size.upper - nothing) * np.sign(off))
    return size.is_known and float(least) >= share * abs(off)


def _edges(n: int) -> Int:
    """Return where blocks of judged pairs begin, and the end of the last."""
    first = max(_FEWEST, n // 4)
    if n - first < _JUDGED:
        return np.zeros(0, dtype=np.int64)
    blocks = min(_BLOCKS, max(_FEWEST_BLOCKS, (n - first) // _BLOCK))
    return np.linspace(first, n, blocks + 1).astype(np.int64)


def _tried(part: Part, edges: Int, chosen: Changes) -> Float:
    """Return the CRPS of each judged pair with what was chosen before its block."""
    slope, intercept, scale = (np.repeat(each, np.diff(edges)) for each in chosen)
    judged = slice(int(edges[0]), None)
    value = intercept + slope * part.value[judged]
    return crps(value - part.reference[judged], scale * np.abs(slope) * part.u[judged])


def _is_better(before: Float, after: Float, edges: Int, more: float) -> bool:
    """Whether what was saved is clear of nothing, in every block and over all.

    By ``more`` standard errors more, the less was saved.
    """
    saved = before - after
    mean = float(saved.mean())
    worth = saved.size / inflation(_lag_one(before))
    if not mean > _WORTH * float(before.mean()) or worth < _WORTH_PAIRS:
        return False
    blocks = np.add.reduceat(saved, edges[:-1] - edges[0]) / np.diff(edges)
    if not float(blocks.min()) > 0.0:
        return False
    of_pairs = float(saved.std()) * np.sqrt(inflation(_lag_one(saved)) / saved.size)
    of_blocks = float(blocks.std(ddof=1)) / np.sqrt(blocks.size)
    clear = _CLEAR + more * (1.0 - mean / float(before.mean()))
    return mean > clear * max(of_pairs, of_blocks)


def _lag_one(rows: Float) -> float:
    some = np.ones((1, rows.size), dtype=np.bool_)
    return float(lag_ones(rows[None], some, np.array([rows.size]))[0])


def _still_helps(told: Remedy, part: Part) -> bool:
    """Whether the newest pairs are better for it: what a sensor was like has passed, sometimes."""
    value, u, reference = (each[-_NEWEST:] for each in (part.value, part.u, part.reference))
    is_linear = told.kind == "linear"
    slope = told.slope if is_linear else 1.0
    shift = told.intercept if is_linear else float(np.nan_to_num(told.add))
    scale = 1.0 if np.isnan(told.scale_u) else told.scale_u
    after = crps(shift + slope * value - reference, scale * abs(slope) * u)
    return float(after.mean()) < _NEWEST_BETTER * float(crps(value - reference, u).mean())


def _told(name: str, part: Part, found: Verdict, before: Float, after: Float) -> Remedy:
    """Return the remedy with the numbers of the verdict."""
    means = float(before.mean()), float(after.mean())
    tried = Remedy(name, pairs=after.size, crps_before=means[0], crps_after=means[1])
    if name == "linear":
        now = _linear(part, np.array([part.n]), found)
        return tried._replace(slope=float(now.slope[0]), intercept=float(now.intercept[0]))
    if name != "scale_u":
        tried = tried._replace(add=-found.level.value)
    if name != "add":
        tried = tried._replace(scale_u=found.scale.value)
    return tried


def _levels(part: Part, ends: Int, found: Verdict) -> Float:
    """Return the level of the errors before each end, of a drift as it was there."""
    bounds = np.concatenate([[0], ends])
    z, h, clock = (np.append(each, 0.0)[None] for each in (part.z, part.h, part.clock))
    before = Sums(*cumulated(z, h, clock, bounds[None])[:, 0, 1:])
    line = line_of(before, part.clock[ends - 1]) if found.fault == "drift" else level_of(before)
    return line.level * part.unit


def _factors(part: Part, ends: Int, levels: Float) -> Float:
    """Return factors on u by the mean square of what is left, far errors pulled in."""
    found = []
    for end, level in zip(ends.tolist(), levels.tolist(), strict=True):
        off = np.abs(part.error[:end] - level) / part.u[:end]
        most = _FAR * 1.4826 * median(off)
        off = np.minimum(off, most) if most > 0.0 else off
        blur = float(np.mean((part.u_ref[:end] / part.u[:end]) ** 2))
        found.append(float(off @ off) / max(end - 1.0, 1.0) - blur)
    return np.sqrt(np.clip(found, 1.0 / _SCALE_MOST**2, _SCALE_MOST**2))


def _add(part: Part, ends: Int, found: Verdict) -> Changes:
    ones = np.ones(ends.size)
    return Changes(ones, -_levels(part, ends, found), ones)


def _scale(part: Part, ends: Int, _: Verdict) -> Changes:
    ones, nothing = np.ones(ends.size), np.zeros(ends.size)
    return Changes(ones, nothing, _factors(part, ends, nothing))


def _add_and_scale(part: Part, ends: Int, found: Verdict) -> Changes:
    levels = _levels(part, ends, found)
    return Changes(np.ones(ends.size), -levels, _factors(part, ends, levels))


def _linear(part: Part, ends: Int, found: Verdict) -> Changes:
    """Return value' = a + b value: 1 / gain of a classical sensor, else the regression."""
    w = part.h**2
    centre, middle = float(part.value.mean()), float(part.reference.mean())
    v, r = part.value - centre, part.reference - middle
    rows = np.stack([w, w * v, w * r, w * v * r, w * v * v, w * r * r, w * part.u_ref**2])
    total, of_v, of_r, across, square, spread, own = np.cumsum(rows, axis=1)[:, ends - 1]
    v_mean, r_mean = of_v / total, of_r / total
    across, square = across - of_v * r_mean, square - of_v * v_mean
    spread -= of_r * r_mean
    if found.error_model == "classical":
        slope = _quotient(np.maximum(spread - own, 0.1 * spread), across)
    else:
        slope = _quotient(across, square)
    return Changes(slope, middle + r_mean - slope * (centre + v_mean), np.ones(ends.size))


def _quotient(above: Float, below: Float) -> Float:
    return np.divide(above, below, out=np.ones_like(above), where=below != 0.0)


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
