"""What would fix a sensor, tried before the advice names it.

Rules of this file: prequential. A remedy is chosen from the pairs of the fault so far and judged on
the next ones, block by block, by a score that sees it: the CRPS hardly responds to a wrong u (the
best factor saves 3 % of it where u is 1.5 times too small), the interval score does (25 %). What
corrects the value must save CRPS in every block, and more than chance does, judged both by
autocorrelated pairs and by the differences among blocks; the slower the errors change, the clearer
the saving must be. A factor on u follows once the value is corrected. Its own interval shows more
clearly than any score that it is not 1, so the blocks only have to confirm it. What was tried in
vain is kept for the advice. Nothing is ever applied.

Sources: Dawid, JRSS A 147 (1984); Gneiting, Raftery, JASA 102 (2007) (CRPS of the normal, interval
score).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import scipy

from monitor.core.model import NAN, Bool, Float, Int
from monitor.core.verdict.pairs import Side, inflation, lag_ones
from monitor.core.verdict.partition import Sums, cumulated, level_of, line_of, segments
from monitor.core.verdict.rows import TO_SD, dots, medians, padded, quotients, sums
from monitor.core.verdict.spread import parts_of
from monitor.core.verdict.verdict import (
    CLASSICAL,
    FAULT,
    LEVEL,
    NO_REMEDY,
    NORMAL_QUANTILE,
    Estimate,
    Remedy,
    Verdict,
)

_FEWEST: Final = 8  # pairs a remedy is chosen from
_FEWEST_PAIRS: Final = 18  # pairs it is chosen from and judged on
_WORTH_PAIRS: Final = 8.0  # independent pairs it must be judged on
_BLOCKS: Final = 6  # at most; more than _FEWEST_BLOCKS only if each has at least _BLOCK pairs
_FEWEST_BLOCKS: Final = 3
_BLOCK: Final = 14
_CLEAR: Final = 3.0  # standard errors by which a corrected value must be better
# Additional standard errors where errors depend on each other and little is saved: such pairs have
# shown few of the states the sensor may be in, each many times.
_DEPENDENT: Final = 3.0
_CONFIRMED: Final = 1.0  # standard errors by which a factor on u must be better
_INDEPENDENT: Final = 30.0  # pairs; fewer show few states, and a factor must be as clear as a value
_HARMS: Final = 1.5  # of one block, or of the newest pairs, by which it may seem worse there
_NEAR: Final = 0.5  # share of the advised change that its whole interval must exceed
_NEAR_FACTOR: Final = 0.3  # the same of the logarithm of a factor on u
_DRIFTING: Final = 0.3  # added to that share for a drift, where few independent errors fix its end
_WORTH: Final = 0.05  # share of the CRPS; a smaller saving is not worth advising
_LONGER: Final = 1.5
_LONG: Final = 100
_NEWEST: Final = 24
_NEWEST_SAVED: Final = 0.1  # share of their CRPS; the sensor may have changed since
_FORESEEN: Final = 10.0  # times as many pairs as there are; what takes more is not foreseen
_SCALE_LEAST: Final = 0.01
_FAR: Final = 5.0


_Step = Literal["add", "linear", "scale_u"]
_STEPS: Final[tuple[_Step, ...]] = ("add", "linear", "scale_u")


class JudgedBlocks(NamedTuple):
    """The pairs of each fault from its ``segment`` on [series, pairs], and the blocks judged.

    ``edges`` [series, blocks + 1] are where blocks begin, padded with the end of the last;
    ``judged`` marks the pairs in a block, ``block`` is its number. ``stated`` [series, 3] are the
    typical u^2, u_ref^2 and systematic part of both.
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
    stated: Float
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


def crps(error: Float, u: Float) -> Float:
    """Return the CRPS of a normal with standard deviation ``u`` that is off by ``error``."""
    u = np.maximum(u, 1e-150)
    z = np.clip(error / u, -1e100, 1e100)
    density = np.exp(-0.5 * np.minimum(z * z, 1e4)) / np.sqrt(2.0 * np.pi)
    inner = z * (2.0 * scipy.special.ndtr(z) - 1.0) + 2.0 * density - 1.0 / np.sqrt(np.pi)
    return np.asarray(u * inner)


def interval_score(error: Float, u: Float) -> Float:
    """Return the interval score of a normal's 95 % interval that is off by ``error``."""
    half = NORMAL_QUANTILE * u
    return np.asarray(2.0 * half + 2.0 / (1.0 - LEVEL) * np.maximum(np.abs(error) - half, 0.0))


def remedies_for(p: Side, verdicts: Sequence[Verdict], held: Sequence[int]) -> list[Remedy | None]:
    """Return the remedy of each fault that helped on its pairs, or what was tried in vain.

    None for no fault. ``held``: for how many pairs an earlier state of the same incident held
    before it changed. The present state must hold for longer before a remedy is built on it.
    """
    remedies: list[Remedy | None] = [
        NO_REMEDY._replace(more=_pairs_missing(each, n - each.segment, before))
        if each.state == FAULT
        else None
        for each, n, before in zip(verdicts, p.n.tolist(), held, strict=True)
    ]
    rows = [i for i, each in enumerate(remedies) if each is not None and each.more == 0.0]
    if rows:
        some = [verdicts[i] for i in rows]
        for i, remedy in zip(rows, _remedies(_parts(p, rows, some), some), strict=True):
            remedies[i] = remedy
    return remedies


def _pairs_missing(verdict: Verdict, n: int, held: int) -> float:
    """Return how many pairs are missing before a remedy can be tried, 0 if one can be.

    Infinite if that is not known or far ahead, NaN where nothing is ever tried. Intervals shrink
    with the root of the pairs.
    """
    widths = [_width(name, verdict) for name in _TRIED.get(verdict.fault, ())]
    if not widths:
        return NAN
    enough = max(_FEWEST_PAIRS, min(_LONGER * held, _LONG), n * max(min(widths), 1.0) ** 2)
    return max(math.ceil(enough) - n, 0) if enough <= _FORESEEN * max(n, _LONG) else math.inf


def _remedies(parts: JudgedBlocks, verdicts: Sequence[Verdict]) -> list[Remedy]:
    ones = np.ones(parts.edges[:, :-1].shape)
    as_sent = Correction(ones, 0.0 * ones, ones)
    helpful = Correction(*(each.copy() for each in as_sent))
    remedies, attempts = [NO_REMEDY] * len(verdicts), [NO_REMEDY] * len(verdicts)
    for name in _STEPS:
        rows = [i for i, each in enumerate(verdicts) if _is_tried(name, each, remedies[i])]
        if not rows:
            continue
        part, some = parts.some(rows), [verdicts[i] for i in rows]
        before = Correction(*(each[rows] for each in helpful))
        after = _chosen(name, part, part.edges[:, :-1], some, before)
        now = _chosen(name, part, part.n[:, None], some, before)
        of_rows = _attempts(name, part, before, after, some)
        for at, (row, attempt) in enumerate(zip(rows, of_rows, strict=True)):
            line = float(now.slope[at, -1]), float(now.intercept[at, -1])
            if some[at].fault == "sensitivity":
                line = 1.0 / some[at].size.value, 0.0
            attempts[row] = _told(name, attempts[row], some[at], attempt, line)
            if attempt.helps:
                remedies[row] = _told(name, remedies[row], some[at], attempt, line)
                for each, best in zip(helpful, after, strict=True):
                    each[row] = best[at]
    n = np.count_nonzero(parts.judged, axis=1)
    scores = [
        sums(_scores(name, parts, each)) / n
        for name in ("add", "scale_u")
        for each in (as_sent, helpful)
    ]
    return [
        each._replace(**dict(zip(_SCORES, of_all, strict=True)))
        if each.kind != "none"
        else each._replace(tried=tried)
        for each, tried, of_all in zip(
            remedies, attempts, np.transpose(scores).tolist(), strict=True
        )
    ]


def _is_tried(name: str, verdict: Verdict, remedy: Remedy) -> bool:
    """Whether a kind is tried after ``remedy``: for this fault, and where its size is sure."""
    is_beside = name == "scale_u" and remedy.kind == "add" and verdict.is_scale_off
    return (name in _TRIED[verdict.fault] or is_beside) and _width(name, verdict) <= 1.0


def _width(name: str, verdict: Verdict) -> float:
    """Return how wide the interval of a size is over what it may be, infinite if it has none.

    Up to 1 all of it lies nearer to the advised change than to no change: a correction of more than
    twice the error makes it worse.
    """
    if name == "add":
        drifting = _DRIFTING * dependent(verdict) if verdict.fault == "drift" else 0.0
        return _reach(verdict.level, 0.0, _NEAR + drifting)
    if name == "linear":
        gain = verdict.size if verdict.fault == "sensitivity" else verdict.gain
        return 0.0 if verdict.fault == "sign" else _reach(gain, 1.0, _NEAR)
    scale = verdict.scale
    if not scale.is_known:
        return 0.0 if scale.upper > 0.0 else math.inf
    return _reach(Estimate(*np.log(scale)), 0.0, _NEAR_FACTOR) if scale.lower > 0.0 else math.inf


def _scale_advised(scale: Estimate) -> float:
    """Return the factor for advice: halfway to its upper end where that makes u smaller."""
    if not scale.is_known:
        return scale.upper
    return math.sqrt(scale.value * scale.upper) if scale.value < 1.0 else scale.value


def dependent(verdict: Verdict) -> float:
    """Return the share of the pairs that is lost to autocorrelation."""
    return 1.0 - min(verdict.n_effective / max(verdict.pairs, 1), 1.0)


def _reach(size: Estimate, nothing: float, share: float) -> float:
    """Return how far an interval reaches towards ``nothing``, over all but ``share`` of the way."""
    off = size.value - nothing
    if not size.is_known or off == 0.0:
        return math.inf
    end = size.lower if off > 0.0 else size.upper
    return (size.value - end) / ((1.0 - share) * off)


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
    stated = np.array([each or (1.0, 0.0, 0.0) for each in parts_of(alone, begin)])
    return JudgedBlocks(
        value, u, reference, u_ref, h, z, now, n, p.unit[rows], stated, edges, judged, block
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


_SCORES: Final = ("crps_before", "crps_after", "interval_before", "interval_after")


class _Attempt(NamedTuple):
    """Whether a correction helps, and the mean score of ``pairs`` pairs before and with it."""

    helps: bool
    pairs: int
    before: float
    after: float


def _attempts(
    name: str,
    parts: JudgedBlocks,
    before: Correction,
    after: Correction,
    verdicts: Sequence[Verdict],
) -> list[_Attempt]:
    """Return how corrections chosen before each block performed on it.

    The newest pairs count as a block of their own.
    """
    judged, n = parts.judged, np.count_nonzero(parts.judged, axis=1)
    was, now = (_scores(name, parts, each) for each in (before, after))
    saved = was - now
    mean, share = sums(saved) / n, quotients(sums(saved), sums(was))
    pairs = np.diff(parts.edges, axis=1)
    blocks = quotients(segments(saved, parts.edges)[:, :-1], pairs.astype(np.float64))
    many = np.count_nonzero(pairs, axis=1)
    apart = np.where(pairs > 0, blocks - (blocks.sum(axis=1) / many)[:, None], 0.0)
    of_blocks = np.sqrt((apart * apart).sum(axis=1) / (many - 1.0) / many)
    apart = (saved - mean[:, None]) * judged
    single = np.sqrt(dots(apart, apart) / n * inflation(lag_ones(saved, judged, n)))
    error = np.maximum(single / np.sqrt(n), of_blocks)
    newest = judged & (np.arange(judged.shape[1]) >= (parts.n - _NEWEST)[:, None])
    last = np.count_nonzero(newest, axis=1)
    of_newest, was_newest = (sums(each * newest) / last for each in (saved, was))
    slow = np.array([_DEPENDENT * dependent(each) ** 2 for each in verdicts])
    clear = _CLEAR + slow * (1.0 - share)
    if name == "scale_u":
        many = np.array([each.n_effective >= _INDEPENDENT for each in verdicts])
        clear, harm = np.where(many, _CONFIRMED, clear), -_HARMS * single
        in_blocks = (blocks * np.sqrt(pairs) >= harm[:, None]).all(axis=1)
        helps = in_blocks & (of_newest * np.sqrt(last) >= harm)
    else:
        in_blocks = (np.where(pairs > 0, blocks, np.inf) > 0.0).all(axis=1)
        helps = in_blocks & (share > _WORTH) & (of_newest > _NEWEST_SAVED * was_newest)
    helps &= mean > clear * error
    helps &= n / inflation(lag_ones(np.abs(parts.z) * judged, judged, n)) >= _WORTH_PAIRS
    rows = (helps, n, sums(was) / n, sums(now) / n)
    return [_Attempt(*each) for each in zip(*(row.tolist() for row in rows), strict=True)]


def _scores(name: str, parts: JudgedBlocks, chosen: Correction) -> Float:
    """Return the score of each judged pair, with the correction chosen before its block."""
    slope, intercept, scale = _of_blocks(parts, chosen)
    off = intercept + slope * parts.value - parts.reference
    score = interval_score if name == "scale_u" else crps
    return score(off, scale * np.abs(slope) * parts.u) * parts.judged


def _told(
    name: _Step, before: Remedy, verdict: Verdict, attempt: _Attempt, line: tuple[float, float]
) -> Remedy:
    """Return ``before`` with a kind more; all but a line has the numbers of the verdict."""
    if name == "scale_u":
        return before._replace(
            kind="add_and_scale_u" if before.kind == "add" else "scale_u",
            scale_u=_scale_advised(verdict.scale),
            pairs=attempt.pairs,
            interval_before=attempt.before,
            interval_after=attempt.after,
        )
    of_value = before._replace(
        kind=name, pairs=attempt.pairs, crps_before=attempt.before, crps_after=attempt.after
    )
    if name == "linear":
        return of_value._replace(slope=line[0], intercept=line[1])
    return of_value._replace(add=-verdict.level.value)


def _chosen(
    name: str, parts: JudgedBlocks, ends: Int, verdicts: Sequence[Verdict], before: Correction
) -> Correction:
    """Return ``before`` with what a kind adds to it, chosen from the pairs before each end."""
    if name == "linear":
        return _linear(parts, ends, verdicts)
    levels = _levels(parts, ends, verdicts)
    if name == "add":
        return before._replace(intercept=-levels)
    return before._replace(scale=_cautious(_factors(parts, ends, levels), verdicts))


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
    """Return factors on u from the mean square of the residuals, far errors pulled in.

    It is that of errors over what weighs them, and becomes one of the stated u as that of the
    sentence does (:func:`.spread.on_stated`).
    """
    at, squares = np.arange(parts.value.shape[1]), np.empty(ends.shape)
    levels = levels / parts.unit[:, None]
    for block in range(ends.shape[1]):
        inside = at < ends[:, block, None]
        off = np.abs(parts.z - levels[:, block, None] * parts.h) * inside
        most = _FAR * TO_SD * medians(off, inside)
        off = np.minimum(off, np.where(most > 0.0, most, np.inf)[:, None])
        squares[:, block] = dots(off, off) / np.maximum(ends[:, block] - 1.0, 1.0)
    u, of_reference, fixed = parts.stated.T[:, :, None]
    squares = (squares * (u + of_reference - fixed) + fixed - of_reference) / u
    return np.sqrt(np.maximum(squares, _SCALE_LEAST**2))


def _cautious(factors: Float, verdicts: Sequence[Verdict]) -> Float:
    """Return factors on u [series, blocks] as advice takes them, see :func:`_scale_advised`."""
    rows = [(each.scale.value, _scale_advised(each.scale)) for each in verdicts]
    scale, advised = np.array(rows).T[:, :, None]
    part = np.where(scale < 1.0, quotients(np.log(advised), np.log(scale)), 1.0)
    return np.where(np.isnan(scale), np.fmax(factors, advised), factors**part)


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
    moves = np.array([each.fault == "sensitivity" for each in verdicts])[:, None]
    if moves.any():
        slope = np.where(moves, quotients(np.ones(ends.shape), _gains_now(parts, ends), 1.0), slope)
        shift = np.where(moves, 0.0, shift)
    return Correction(slope, shift, np.ones(ends.shape))


def _gains_now(parts: JudgedBlocks, ends: Int) -> Float:
    """Return the gain at each end, by a line through the gains of the pairs before it."""
    of_error = parts.h**2 * parts.reference * (parts.value - parts.reference)
    square, t = (parts.h * parts.reference) ** 2, parts.clock
    rows = (square, square * t, square * t * t, of_error, of_error * t)
    bounds = _from_start(ends)
    total, of_t, of_tt, error, error_t = (
        np.cumsum(segments(each, bounds)[:, :-1], axis=1) for each in rows
    )
    steep = quotients(total * error_t - of_t * error, total * of_tt - of_t * of_t)
    now = np.take_along_axis(parts.clock, ends - 1, axis=1)
    return 1.0 + quotients(error - steep * of_t, total) + steep * now


# What is tried for a fault: first what corrects its value, then a factor on u, which is also tried
# beside a number that helped.
_TRIED: Final = {
    "offset": ("add",),
    "drift": ("add",),
    "understated": ("add", "scale_u"),
    "overstated": ("add", "scale_u"),
    "gain": ("linear",),
    "sign": ("linear",),
    "sensitivity": ("linear",),
}
