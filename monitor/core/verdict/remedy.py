"""What would fix a sensor, tried before the advice names it.

Rules of this file: prequential. A remedy is chosen from the pairs of the fault so far and judged on
the next ones, block by block. The advice names it only if it saved CRPS in every block, and more
than chance does, judged both by autocorrelated pairs and by the differences among blocks. The
slower the errors change, the clearer the saving must be. Nothing is ever applied.

Sources: Dawid, JRSS A 147 (1984); Gneiting, Raftery, JASA 102 (2007) (CRPS of the normal).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import scipy

from monitor.core.model import Bool, Float, Int
from monitor.core.verdict.pairs import Side, inflation, lag_ones
from monitor.core.verdict.partition import Sums, cumulated, level_of, line_of, segments
from monitor.core.verdict.rows import TO_SD, dots, medians, padded, quotients, sums
from monitor.core.verdict.verdict import (
    CLASSICAL,
    FAULT,
    NO_REMEDY,
    Estimate,
    Remedy,
    RemedyKind,
    Verdict,
)

_FEWEST: Final = 8  # pairs a remedy is chosen from
_JUDGED: Final = 10  # pairs it must be judged on
_WORTH_PAIRS: Final = 8.0  # independent pairs it must be judged on
_BLOCKS: Final = 6  # at most; more than _FEWEST_BLOCKS only if each has at least _BLOCK pairs
_FEWEST_BLOCKS: Final = 3
_BLOCK: Final = 14
_CLEAR: Final = 3.0  # standard errors
# Additional standard errors where errors depend on each other and little is saved: such pairs have
# shown few of the states the sensor may be in, each many times.
_DEPENDENT: Final = 3.0
_NEAR: Final = 0.5  # share of the advised change that its whole interval must exceed
_DRIFTING: Final = 0.3  # added to that share for a drift, where few independent errors fix its end
_WORTH: Final = 0.05  # share of the CRPS; a smaller saving is not worth advising
_LONGER: Final = 1.5
_LONG: Final = 100
_NEWEST: Final = 24
_NEWEST_BETTER: Final = 0.9
_SCALE_MOST: Final = 100.0
_LOG_FAR: Final = 6.0
_FAR: Final = 5.0


class JudgedBlocks(NamedTuple):
    """The pairs of each fault from its ``segment`` on [series, pairs], and the blocks judged.

    ``edges`` [series, blocks + 1] are where blocks begin, padded with the end of the last;
    ``judged`` marks the pairs in a block, ``block`` is its number.
    """

    value: Float
    u: Float
    reference: Float
    u_ref: Float
    h: Float
    z: Float
    clock: Float
    n: Int
    unit: Float
    edges: Int
    judged: Bool
    block: Int

    def some(self, rows: list[int]) -> JudgedBlocks:
        """Return some of the series."""
        fields: dict[str, Any] = {name: each[rows] for name, each in self._asdict().items()}
        return JudgedBlocks(**fields)


class Correction(NamedTuple):
    """value' = intercept + slope value and u' = scale |slope| u, [series, blocks judged]."""

    slope: Float
    intercept: Float
    scale: Float


Chooser = Callable[[JudgedBlocks, Int, Sequence[Verdict]], Correction]


def crps(error: Float, u: Float) -> Float:
    """Return the CRPS of a normal with standard deviation ``u`` that is off by ``error``."""
    u = np.maximum(u, 1e-150)
    z = np.clip(error / u, -1e100, 1e100)
    density = np.exp(-0.5 * np.minimum(z * z, 1e4)) / np.sqrt(2.0 * np.pi)
    inner = z * (2.0 * scipy.special.ndtr(z) - 1.0) + 2.0 * density - 1.0 / np.sqrt(np.pi)
    return np.asarray(u * inner)


def remedies_for(p: Side, verdicts: Sequence[Verdict], held: Sequence[int]) -> list[Remedy | None]:
    """Return the remedy of each fault that helped on its pairs, or NO_REMEDY; None for no fault.

    ``held``: for how many pairs an earlier state of the same incident held before it changed. The
    present state must hold for longer before a remedy is built on it.
    """
    remedies: list[Remedy | None] = [
        NO_REMEDY if each.state == FAULT else None for each in verdicts
    ]
    rows = [
        i
        for i, (each, before) in enumerate(zip(verdicts, held, strict=True))
        if each.state == FAULT and _has_enough(each, int(p.n[i]) - each.segment, before)
    ]
    if rows:
        some = [verdicts[i] for i in rows]
        for i, each in zip(rows, _remedies(_parts(p, rows, some), some), strict=True):
            remedies[i] = each
    return remedies


def _has_enough(verdict: Verdict, n: int, held: int) -> bool:
    enough = n - max(_FEWEST, n // 4) >= _JUDGED and n >= min(_LONGER * held, _LONG)
    return enough and any(_is_sure(name, verdict) for name in _TRIED.get(verdict.fault, ()))


def _remedies(parts: JudgedBlocks, verdicts: Sequence[Verdict]) -> list[Remedy]:
    plain = crps(parts.value - parts.reference, parts.u) * parts.judged
    best, remedies = plain.copy(), [NO_REMEDY] * len(verdicts)
    for names in zip(*(_TRIED_IN_TURN[each.fault] for each in verdicts), strict=True):
        for name in dict.fromkeys(names):
            rows = [
                i for i, each in enumerate(names) if each == name and _is_sure(name, verdicts[i])
            ]
            if not name or not rows:
                continue
            part, some = parts.some(rows), [verdicts[i] for i in rows]
            chosen = _CHOOSERS[name](part, part.edges[:, :-1], some)
            after = _tried(part, chosen)
            saved = _log_saved(part, chosen) if name == "scale_u" else best[rows] - after
            better = _are_better(best[rows], after, saved, part, some)
            numbers = _told(name, part, some, plain[rows], after)
            for row, is_better, remedy, now in zip(rows, better, numbers, after, strict=True):
                if is_better:
                    remedies[row], best[row] = remedy, now
    helps = _still_help(remedies, parts)
    return [each if is_so else NO_REMEDY for each, is_so in zip(remedies, helps, strict=True)]


def _is_sure(name: str, verdict: Verdict) -> bool:
    """Whether the whole interval lies nearer to the advised change than to no change.

    A correction of more than twice the error makes it worse.
    """
    if name == "linear":
        return verdict.fault == "sign" or _is_near(verdict.gain, 1.0)
    share = _NEAR + (_DRIFTING * dependent(verdict) if verdict.fault == "drift" else 0.0)
    adds = name == "scale_u" or _is_near(verdict.level, 0.0, share)
    if name == "add":
        return adds
    scale = scale_told(verdict)
    return adds and scale.lower > 0.0 and _is_near(Estimate(*np.log(scale)), 0.0)


def scale_told(verdict: Verdict) -> Estimate:
    """Return the factor on u for advice: the upper end where the factor may as well be 0."""
    scale = verdict.scale
    return scale if scale.is_known else Estimate(scale.upper, scale.upper, scale.upper)


def dependent(verdict: Verdict) -> float:
    """Return the share of the pairs that is lost to autocorrelation."""
    return 1.0 - min(verdict.n_effective / max(verdict.pairs, 1), 1.0)


def _is_near(size: Estimate, nothing: float, share: float = _NEAR) -> bool:
    off = size.value - nothing
    least = min((size.lower - nothing) * np.sign(off), (size.upper - nothing) * np.sign(off))
    return size.is_known and float(least) >= share * abs(off)


def _parts(p: Side, rows: list[int], verdicts: Sequence[Verdict]) -> JudgedBlocks:
    alone = p.some(rows)
    begin, end = np.array([each.segment for each in verdicts]), p.n[rows]
    clock = p.clock[rows]
    drifts = [i for i, each in enumerate(verdicts) if each.fault == "drift"]
    if drifts:
        clock[drifts] = alone.some(drifts).clock_of(begin[drifts], end[drifts])[0]
    columns = (alone.value, alone.u, alone.reference, alone.u_ref, alone.h, alone.z, clock)
    closed = (
        padded([row[b:e] for row, b, e in zip(each, begin, end, strict=True)]) for each in columns
    )
    value, u, reference, u_ref, h, z, now = closed
    n = end - begin
    edges = _edges(n)
    at = np.arange(value.shape[1])
    judged = (at >= edges[:, :1]) & (at < n[:, None])
    block = np.zeros(value.shape, dtype=np.int64)
    for column in range(1, edges.shape[1] - 1):
        block += at >= edges[:, column, None]
    return JudgedBlocks(
        value, u, reference, u_ref, h, z, now, n, p.unit[rows], edges, judged, block
    )


def _edges(n: Int) -> Int:
    """Return where blocks of judged pairs begin, and the ends of the last."""
    first = np.maximum(_FEWEST, n // 4)
    blocks = np.clip((n - first) // _BLOCK, _FEWEST_BLOCKS, _BLOCKS)
    place = np.minimum(np.arange(_BLOCKS + 1), blocks[:, None])
    step = (n - first) / blocks
    return np.where(
        place == blocks[:, None], n[:, None], first[:, None] + place * step[:, None]
    ).astype(np.int64)


def _of_blocks(parts: JudgedBlocks, chosen: Correction) -> Iterator[Float]:
    """Yield slope, intercept and scale of each pair: those chosen before its block."""
    for each in chosen:
        yield np.take_along_axis(each, np.minimum(parts.block, each.shape[1] - 1), axis=1)


def _tried(parts: JudgedBlocks, chosen: Correction) -> Float:
    """Return the CRPS of each judged pair with the correction chosen before its block."""
    slope, intercept, scale = _of_blocks(parts, chosen)
    off = intercept + slope * parts.value - parts.reference
    return crps(off, scale * np.abs(slope) * parts.u) * parts.judged


def _log_saved(parts: JudgedBlocks, chosen: Correction) -> Float:
    """Return the logarithmic score that a factor on u saves at each judged pair.

    The CRPS hardly responds to a wrong u: half of what it should be costs a fourteenth.
    """
    *_, scale = _of_blocks(parts, chosen)
    u, scale = np.where(parts.judged, parts.u, 1.0), np.maximum(scale, 1e-6)
    square = np.minimum(np.abs((parts.value - parts.reference) / u), _LOG_FAR) ** 2
    return (0.5 * square * (1.0 - 1.0 / scale**2) - np.log(scale)) * parts.judged


def _are_better(
    before: Float, after: Float, gained: Float, parts: JudgedBlocks, verdicts: Sequence[Verdict]
) -> list[bool]:
    """Whether the saving ``seen`` is above 0 in every block and clearly so over all pairs.

    Clearly: by more standard errors the less of the CRPS was saved and the slower the errors
    change.
    """
    judged = parts.judged
    n = np.count_nonzero(judged, axis=1)
    share = quotients(sums(before - after) / n, sums(before) / n)
    saved, mean = gained, sums(gained) / n
    worth = n / inflation(lag_ones(before, judged, n))
    pairs = np.diff(parts.edges, axis=1)
    blocks = quotients(segments(saved, parts.edges)[:, :-1], pairs.astype(np.float64))
    many = np.count_nonzero(pairs, axis=1)
    apart = np.where(pairs > 0, blocks - (blocks.sum(axis=1) / many)[:, None], 0.0)
    of_blocks = np.sqrt((apart * apart).sum(axis=1) / (many - 1.0) / many)
    apart = (saved - mean[:, None]) * judged
    of_pairs = np.sqrt(dots(apart, apart) / n * inflation(lag_ones(saved, judged, n)) / n)
    slow = np.array([_DEPENDENT * dependent(each) ** 2 for each in verdicts])
    clear = _CLEAR + slow * (1.0 - share)
    every = np.where(pairs > 0, blocks, np.inf).min(axis=1) > 0.0
    better = (share > _WORTH) & (worth >= _WORTH_PAIRS) & every
    return list((better & (mean > clear * np.maximum(of_pairs, of_blocks))).tolist())


def _still_help(remedies: Sequence[Remedy], parts: JudgedBlocks) -> list[bool]:
    """Whether the remedy improves the newest pairs too: the sensor may have changed since."""
    slope = np.nan_to_num(np.array([each.slope for each in remedies]), nan=1.0)
    shift = np.nan_to_num(np.array([(each.add, each.intercept) for each in remedies])).sum(axis=1)
    scale = np.nan_to_num(np.array([each.scale_u for each in remedies]), nan=1.0)
    place = parts.n[:, None] - np.arange(_NEWEST, 0, -1)
    newest = place >= 0
    rows = (parts.value, parts.u, parts.reference)
    value, u, reference = (np.take_along_axis(each, np.maximum(place, 0), axis=1) for each in rows)
    off = shift[:, None] + slope[:, None] * value - reference
    after = crps(off, (scale * np.abs(slope))[:, None] * u) * newest
    before = crps(value - reference, u) * newest
    least = np.where([each.kind == "scale_u" for each in remedies], 1.0, _NEWEST_BETTER)
    return list((after.sum(axis=1) < least * before.sum(axis=1)).tolist())


def _told(
    name: RemedyKind, parts: JudgedBlocks, verdicts: Sequence[Verdict], before: Float, after: Float
) -> list[Remedy]:
    """Return the remedies, with the numbers from the verdicts."""
    n = np.count_nonzero(parts.judged, axis=1)
    rows = zip(n.tolist(), (sums(before) / n).tolist(), (sums(after) / n).tolist(), strict=True)
    tried = [Remedy(name, pairs=pairs, crps_before=a, crps_after=b) for pairs, a, b in rows]
    if name == "linear":
        now = _linear(parts, parts.n[:, None], verdicts)
        ends = zip(now.slope[:, 0].tolist(), now.intercept[:, 0].tolist(), strict=True)
        return [
            each._replace(slope=slope, intercept=intercept)
            for each, (slope, intercept) in zip(tried, ends, strict=True)
        ]
    if name != "scale_u":
        tried = [
            each._replace(add=-was.level.value) for each, was in zip(tried, verdicts, strict=True)
        ]
    if name != "add":
        tried = [
            each._replace(scale_u=scale_told(was).value)
            for each, was in zip(tried, verdicts, strict=True)
        ]
    return tried


def _from_start(ends: Int) -> Int:
    return np.concatenate([np.zeros((ends.shape[0], 1), dtype=np.int64), ends], axis=1)


def _levels(parts: JudgedBlocks, ends: Int, verdicts: Sequence[Verdict]) -> Float:
    """Return the level of the errors before each end; for a drift, its level at that end."""
    before = Sums(*cumulated(parts.z, parts.h, parts.clock, _from_start(ends))[:, :, 1:])
    level = level_of(before).level
    drifts = np.array([each.fault == "drift" for each in verdicts])
    if drifts.any():
        now = np.take_along_axis(parts.clock, ends - 1, axis=1)
        level = np.where(drifts[:, None], line_of(before, now).level, level)
    return level * parts.unit[:, None]


def _factors(parts: JudgedBlocks, ends: Int, levels: Float) -> Float:
    """Return factors on u from the mean square of the residuals, far errors pulled in."""
    error, at = parts.value - parts.reference, np.arange(parts.value.shape[1])
    live = at < parts.n[:, None]
    u = np.where(live, parts.u, 1.0)
    blur = (parts.u_ref / u) ** 2
    factors = np.empty(ends.shape)
    for block in range(ends.shape[1]):
        end = ends[:, block]
        inside = at < end[:, None]
        off = np.abs(error - levels[:, block, None]) / u * inside
        most = _FAR * TO_SD * medians(off, inside)
        off = np.minimum(off, np.where(most > 0.0, most, np.inf)[:, None])
        factors[:, block] = dots(off, off) / np.maximum(end - 1.0, 1.0) - sums(blur * inside) / end
    return np.sqrt(np.clip(factors, 1.0 / _SCALE_MOST**2, _SCALE_MOST**2))


def _add(parts: JudgedBlocks, ends: Int, verdicts: Sequence[Verdict]) -> Correction:
    ones = np.ones(ends.shape)
    return Correction(ones, -_levels(parts, ends, verdicts), ones)


def _least(verdicts: Sequence[Verdict]) -> Float:
    """Return the least factor on u that advice may name for each series [series, 1]."""
    upper = [0.0 if each.scale.is_known else each.scale.upper for each in verdicts]
    return np.nan_to_num(np.array(upper))[:, None]


def _scale(parts: JudgedBlocks, ends: Int, verdicts: Sequence[Verdict]) -> Correction:
    ones, nothing = np.ones(ends.shape), np.zeros(ends.shape)
    factors = np.maximum(_factors(parts, ends, nothing), _least(verdicts))
    return Correction(ones, nothing, factors)


def _add_and_scale(parts: JudgedBlocks, ends: Int, verdicts: Sequence[Verdict]) -> Correction:
    levels = _levels(parts, ends, verdicts)
    factors = np.maximum(_factors(parts, ends, levels), _least(verdicts))
    return Correction(np.ones(ends.shape), -levels, factors)


def _linear(parts: JudgedBlocks, ends: Int, verdicts: Sequence[Verdict]) -> Correction:
    """Return value' = a + b value: 1 / gain of a classical sensor, else the regression."""
    live = np.arange(parts.value.shape[1]) < parts.n[:, None]
    centre, middle = (sums(each) / parts.n for each in (parts.value, parts.reference))
    w = parts.h**2
    v = (parts.value - centre[:, None]) * live
    r = (parts.reference - middle[:, None]) * live
    rows = (w, w * v, w * r, w * v * r, w * v * v, w * r * r, w * parts.u_ref**2)
    bounds = _from_start(ends)
    total, of_v, of_r, across, square, spread, own = (
        np.cumsum(segments(each, bounds)[:, :-1], axis=1) for each in rows
    )
    v_mean, r_mean = of_v / total, of_r / total
    across, square = across - of_v * r_mean, square - of_v * v_mean
    spread -= of_r * r_mean
    own = np.maximum(spread - own, 0.1 * spread)
    classical = np.array([each.error_model == CLASSICAL for each in verdicts])[:, None]
    slope = quotients(
        np.where(classical, own, across), np.where(classical, across, square), otherwise=1.0
    )
    shift = middle[:, None] + r_mean - slope * (centre[:, None] + v_mean)
    return Correction(slope, shift, np.ones(ends.shape))


_CHOOSERS: Final[dict[str, Chooser]] = {
    "add": _add,
    "scale_u": _scale,
    "add_and_scale_u": _add_and_scale,
    "linear": _linear,
}
# What is tried for a fault; a later one replaces the one before only if it is better.
_TRIED: Final = {
    "offset": ("add", "add_and_scale_u"),
    "drift": ("add", "add_and_scale_u"),
    "understated": ("scale_u", "add_and_scale_u"),
    "overstated": ("scale_u", "add_and_scale_u"),
    "gain": ("linear",),
    "sign": ("linear",),
}
_TRIED_IN_TURN: Final = {fault: (*names, "")[:2] for fault, names in _TRIED.items()}
