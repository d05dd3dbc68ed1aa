"""What a whole file says about a sensor: one test over all of its pairs.

Rules of this file: all pairs are one piece; dependence among them is estimated at several scales. A
sensor is wrong where the interval of the fault lies wholly beyond the accuracy to which a stated
uncertainty is known, and right where the intervals lie within what nobody would fix.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import NAN, Bool, Float
from monitor.core.verdict import words
from monitor.core.verdict.error_codes import code_verdict, coded_pairs
from monitor.core.verdict.faults import LEAST_FAR
from monitor.core.verdict.judge import OF_A_FORM, gathered_evidence, judged
from monitor.core.verdict.naming import is_over, level_beside
from monitor.core.verdict.pairs import (
    Pairs,
    Side,
    cautious_rho,
    inflation,
    inflation_of_squares,
    long_inflation,
)
from monitor.core.verdict.partition import (
    LEVEL,
    RIGHT,
    WIDE,
    Cut,
    Last,
    Sums,
    costs,
    cumulated,
    squares_left,
)
from monitor.core.verdict.relations import Gain, gain_by, is_unrelated, slopes_of
from monitor.core.verdict.remedy import remedies_for
from monitor.core.verdict.rivals import gain_of, kept_of, lag_of, sign_of, stuck_for
from monitor.core.verdict.rows import FAR, TO_SD, median
from monitor.core.verdict.sentences import before_sentence, day, with_words
from monitor.core.verdict.spread import SHAPES, Parts, Spread, on_stated, parts_of, spreads_of
from monitor.core.verdict.verdict import (
    FAULT,
    IS_RIGHT,
    NO_SLOPES,
    NOTHING,
    RELATED,
    UNDECIDED,
    Estimate,
    State,
    Verdict,
    share,
    t_interval,
)

FEWEST: Final = 8
_OFFSET: Final = (0.1, 0.25)  # u: wrong beyond the first, right within the second
_SCALE: Final = ((0.9, 1.1), (0.75, 1.33))
_FAR_HONEST: Final = 0.01
_PRIOR_PAIRS: Final = 4.0
_AROUND: Final = 256  # pairs before and after an all-clear among which the repair is looked for
_BY_CHANCE: Final = 3.0  # standard errors of the mean of a calm piece
_T: Final = 4.0  # high because many names are tried on one file


class _Fit(NamedTuple):
    """A level and a line through all errors: the mean level, the line's level now, its slope."""

    middle: Estimate
    now: Estimate
    slope: Estimate
    steep: float  # t of the slope
    left: Float  # of the line, over the stated uncertainty
    inflation: float
    rho: float  # the largest that so few errors may have


def judge_file(p: Pairs, *, unit: str = "", is_one: bool = False) -> Verdict:
    """Return what is wrong with a sensor, over all of its recorded pairs.

    ``is_one``: it has been in one state throughout, so that no newest piece is looked for.
    """
    if p.n < FEWEST:
        return with_words(Verdict(UNDECIDED, pairs=p.n, n_effective=float(p.n)), p, unit)
    coded = coded_pairs(p)
    if coded is not None:
        verdict = judge_file(p.rows(coded.others), unit=unit, is_one=is_one)
        size = share(coded.at.size, float(p.n))
        if verdict.state == FAULT:
            others = p.rows(coded.others)
            return with_words(verdict._replace(code=coded.code), others, unit, verdict.typical)
        if not size.lower > LEAST_FAR:
            return verdict
        return with_words(code_verdict(verdict, p, coded, size), p, unit, verdict.typical)
    side = Side([p])
    verdict, held = _judged(side), 0
    if not is_one and verdict.state == FAULT:
        verdict, held, piece = _newest(side, verdict)
        if piece is not None:
            return _was_wrong(p, piece, unit)
    verdict = verdict._replace(remedy=remedies_for(side, [verdict], [held])[0])
    return with_words(verdict, p, unit, float(side.unit[0]))


class _Worst(NamedTuple):
    """The end of the piece that was most wrong, and since when the sensor is right."""

    end: int
    right_since: int


def _newest(side: Side, whole: Verdict) -> tuple[Verdict, int, _Worst | None]:
    """Return the fault of the newest pairs, the pairs of an earlier state, and the worst piece.

    A sensor that is wrong over the whole file may have changed during the recording: name, size and
    date are then those of the newest piece, as in a live verdict. ``whole`` stays where that piece
    alone shows nothing clear, or where all pairs show how values depend on references. The last
    item is the piece that was most wrong if the newest is right, else None.
    """
    p = side.pairs[0]
    if whole.fault in ("gain", "sign", "lag", "unrelated"):
        return whole, 0, None
    evidence, cut = gathered_evidence(side, [p.n - 1], [None])
    starts = cut.starts[0]
    is_newer = starts[-1] > 0
    if is_newer and p.n - starts[-1] < OF_A_FORM:
        return whole, 0, None
    if is_newer and is_over(evidence[0], starts[-1] - 1):
        excess = np.add.reduceat(side.z[0, : p.n] ** 2 - 1.0, starts)
        worst = int(np.argmax(np.abs(excess[:-1])))
        return whole, 0, _Worst(starts[worst + 1], starts[-1])
    (newest,), (held,) = judged(side, [p.n - 1], evidence, cut)
    is_clear = newest.state == FAULT and p.n - newest.segment >= OF_A_FORM
    is_told = is_newer or newest.fault in (whole.fault, *RELATED)
    if not (is_clear and is_told):
        return whole, 0, None
    began = float(p.time[newest.since]) if p.timed and newest.since else NAN
    return newest._replace(began=began), held, None


def _was_wrong(p: Pairs, piece: _Worst, unit: str) -> Verdict:
    """Return the verdict for a sensor that is right at the end of its file, but was not before."""
    former = judge_file(p.rows(slice(0, piece.end)), unit=unit)
    if former.state != FAULT:
        return former._replace(pairs=p.n)
    return judge_repaired(p, piece.end - 1, piece.right_since, former, former, unit)


def judge_repaired(
    p: Pairs, alarm: int, clear: int, former: Verdict, whole: Verdict, unit: str
) -> Verdict:
    """Return the verdict for a sensor whose last incident ended before the end of its file.

    The incident's alert fired at the pair ``alarm`` and had ended by the pair ``clear``.
    ``former`` is the verdict on the incident, ``whole`` that on all pairs, which stays if the
    sensor is right throughout by it. If the pairs since the repair show a fault, that is the
    verdict.
    """
    if whole.state == IS_RIGHT and math.isnan(whole.right_since):
        return whole
    later = p.rows(slice(right_from(p, alarm, clear), None))
    if not later.n:
        return whole
    verdict = judge_file(later, unit=unit)
    if verdict.state == FAULT:
        if verdict.fault == whole.fault:
            return whole
        began = float(later.time[0]) if p.timed else NAN
        return with_words(verdict._replace(began=began), later, unit, verdict.typical)
    when, before = f"in its last {words.counted(later.n)}", before_sentence(former, unit)
    if p.timed:
        when = f"since {day(float(later.time[0]))}"
    text = f"shows no fault {when}, but did before: {before}"
    if verdict.state == IS_RIGHT:
        text = f"as right as it says {when}, but not before: {before}"
    return verdict._replace(right_since=float(later.time[0]) if p.timed else NAN, sentence=text)


def right_from(p: Pairs, alarm: int, clear: int) -> int:
    """Return the first pair, after the alarm, of the calm pieces that reach to ``clear``.

    That is the repair of an incident whose alert fired at the pair ``alarm`` and had ended by the
    pair ``clear``; ``clear`` itself where no piece before it is calm.
    """
    begin = max(clear - _AROUND, 0)
    side = Side([p.rows(slice(begin, clear + _AROUND))])
    _, cut = gathered_evidence(side, [None], [None])
    z, first = side.z[0], clear
    ends = [*cut.starts[0][1:], side.pairs[0].n]
    for start, end in reversed([*zip(cut.starts[0], ends, strict=True)]):
        if begin + start <= clear:
            if not _is_calm(z[start:end]):
                break
            first = begin + start
    return max(first, alarm + 1)


def _is_calm(z: Float) -> bool:
    """Whether a piece is right, or so nearly that chance or nobody minds."""
    low, high = _SCALE[1]
    small = max(_OFFSET[1], _BY_CHANCE / math.sqrt(z.size))
    return abs(float(z.mean())) <= small and low <= float(z.std()) <= high


class _Whole(NamedTuple):
    """All pairs of the file: errors over their uncertainty, and what else the tests need."""

    side: Side
    z: Float
    h: Float
    clock: Float
    unit: float
    parts: Parts | None


def _judged(side: Side) -> Verdict:
    p, n = side.pairs[0], side.pairs[0].n
    nothing = np.zeros(1, dtype=np.int64)
    z, h, clock = (each[0, :n] for each in (side.z, side.h, side.clock))
    w = _Whole(side, z, h, clock, float(side.unit[0]), parts_of(side, nothing)[0])
    used = _kept(z)
    fit = _fitted(w, used)
    drifts = abs(fit.steep) > _T and abs(fit.slope.value) > max(
        abs(fit.middle.value), _OFFSET[1] * w.unit
    )
    inflated = max(long_inflation(fit.left**2), float(inflation_of_squares(fit.rho)))
    spread = _spread(fit.left, inflated, fit.inflation)
    slopes = slopes_of(side, nothing, side.n)[0]
    gain = gain_by(slopes, NO_SLOPES)
    level = fit.now if drifts else fit.middle
    fault, size = _named(w, fit, spread, gain, drifts=drifts, used=used)
    is_fault = bool(fault)
    rated = drifts and bool(side.has_clock[0])
    return Verdict(
        state=FAULT if is_fault else _calm(w, fit, spread),
        fault=fault,
        size=size,
        level=level_beside(fault, size, p, level),
        slope_per_day=fit.slope.times(1.0 / p.span_days) if rated else NOTHING,
        scale=on_stated(w.parts, spread.factor),
        gain=gain.size if fault == "gain" else NOTHING,
        pivot=float(np.mean(p.reference)),
        error_model=UNDECIDED if fault in RELATED else slopes.model,
        pairs=n,
        n_effective=n / fit.inflation,
        explained=p.explained,
        u_follows=bool(side.weights.follows[0]),
    )


def _spread(left: Float, inflated: float, of_mean: float) -> Spread:
    """Return the factor on u, with a higher upper end for dependent errors.

    Their mean follows them, so that less of their spread is left about it.
    """
    lost = np.array([2.0, min(2.0 * of_mean, 0.5 * left.size)])
    two = np.full(2, inflated), lost, np.zeros((2, SHAPES))
    plain, widened = spreads_of([left, left], *two)
    return plain._replace(factor=plain.factor._replace(upper=widened.factor.upper))


def _kept(z: Float) -> Bool:
    off = z - median(z)
    used: Bool = np.abs(off) <= FAR * max(1.0, TO_SD * median(np.abs(off)))
    return used


def _fitted(p: _Whole, used: Bool) -> _Fit:
    """Return level and line by weighted least squares, with dependent pairs counted for less."""
    h = p.h[used]
    z, t = p.z[used], p.clock[used]
    weight = float((h * h).sum())
    middle = float((h * h) @ t) / weight
    level = float(h @ z) / weight
    centred = t - middle
    square = float((h * h) @ (centred * centred))
    slope = float(h @ (centred * z)) / square if square > 0.0 else 0.0
    off = z - level * h
    line = off - slope * centred * h
    rho = cautious_rho(line)
    least = float(inflation(rho))
    # Some prior pairs of the stated spread: a few dependent errors lie near each other.
    stated = _PRIOR_PAIRS * least
    spread = (stated + float(line @ line)) / max(stated + z.size - 2.0, 1.0)
    flat_inflation, inflated = (max(long_inflation(each), least) for each in (off, line))
    df = z.size / inflated
    se = np.sqrt(spread * inflated / weight)
    steep = np.sqrt(spread * inflated / square) if square > 0.0 else np.inf
    end = 1.0 - middle
    rows = (level + slope * end, np.hypot(se, steep * end))
    spread = (stated + float(off @ off)) / (stated + z.size)
    flat = np.sqrt(spread * flat_inflation / weight)
    return _Fit(
        t_interval(level, flat, z.size / flat_inflation).times(p.unit),
        t_interval(*rows, df).times(p.unit),
        t_interval(slope, steep, df).times(p.unit),
        slope / steep if steep > 0.0 else 0.0,
        p.z - (level + slope * (p.clock - middle)) * p.h,
        flat_inflation,
        rho,
    )


def _named(
    p: _Whole, fit: _Fit, spread: Spread, gain: Gain, *, drifts: bool, used: Bool
) -> tuple[str, Estimate]:
    held = int(stuck_for(p.side)[0])
    # Without times, values that never change mean that the file holds errors.
    if held > 0.5 * p.z.size and (p.side.pairs[0].timed or held < p.z.size):
        value = float(p.side.pairs[0].value[-1])
        return "stuck", Estimate(value, value, value)
    if is_unrelated(p.side.pairs[0]):
        return "unrelated", NOTHING
    costs, cut = _costs(p, fit, used)
    of = kept_of(p.side, cut)
    rivals = {"sign": sign_of(p.side, cut, of)[0], "lag": lag_of(p.side, cut, of)[0]}
    if abs(gain.t) > _T:
        rivals["gain"] = gain_of(p.side, cut, of, [NO_SLOPES])[0]
    best = min(rivals, key=lambda each: rivals[each].cost)
    if rivals[best].cost < float(costs[1:].min()) - _T * _T:
        sizes = {"gain": gain.size, "lag": Estimate(rivals[best].detail, NAN, NAN)}
        return best, sizes.get(best, NOTHING)
    if drifts:
        return "drift", fit.now
    return _wrong(p, fit, spread, costs)


def _costs(p: _Whole, fit: _Fit, used: Bool) -> tuple[Float, Cut]:
    """Return the cost of all pairs as one piece of each kind, and that piece as a cut."""
    side, n = p.side, p.z.size
    live = np.zeros_like(side.live)
    live[0, :n] = used
    bounds, penalty = np.array([[0, n]]), np.log(side.n)
    inflated = np.array([fit.inflation])
    z, h = (np.where(live, each, 0.0) for each in (side.z, side.h))
    of_all = Sums(*cumulated(z, h, side.clock, bounds)[:, :, 1])
    every = np.array(costs(of_all.n, squares_left(of_all, side.most), penalty, inflated))[:, 0]
    every = np.insert(every, WIDE - 1, np.inf)  # a hinge has nothing to begin from
    left_out = Last(*([np.zeros(0)] * 7))
    whole = Cut(
        [[0]],
        [[0]],
        side.h,
        left_out,
        live,
        bounds,
        np.zeros((1, 2)),
        np.zeros((1, 2), dtype=np.int64),
        np.array([1]),
        penalty,
        inflated,
    )
    return every, whole


def _wrong(p: _Whole, fit: _Fit, spread: Spread, costs: Float) -> tuple[str, Estimate]:
    """Return offset, outliers or a wrong uncertainty: the larger of those that are clear."""
    level, factor = fit.middle.times(1.0 / p.unit), spread.factor
    most = _OFFSET[0] + float(p.side.most[0])
    is_off = level.lower > most or level.upper < -most
    low, high = _SCALE[0]
    is_wide = factor.lower > high or factor.upper < low
    far = np.abs(fit.left) > FAR
    dependent = float(inflation_of_squares(fit.rho))
    far_share = share(float(far.sum()) / dependent, p.z.size / dependent)
    if is_off and not (is_wide and costs[RIGHT + WIDE] < costs[LEVEL]):
        return "offset", fit.middle
    if spread.outliers > 1.0 and far_share.lower > _FAR_HONEST:
        return "outliers", far_share
    if is_wide and p.parts is not None:
        fault = "understated" if factor.value > 1.0 else "overstated"
        return fault, on_stated(p.parts, factor)
    return "", NOTHING


def _calm(p: _Whole, fit: _Fit, spread: Spread) -> State:
    """Return right where the intervals say so, else undecided."""
    level, factor = fit.middle.times(1.0 / p.unit), spread.factor
    low, high = _SCALE[1]
    most = _OFFSET[1] + float(p.side.most[0])
    small = -most <= level.lower and level.upper <= most
    return IS_RIGHT if small and low <= factor.lower and factor.upper <= high else UNDECIDED
