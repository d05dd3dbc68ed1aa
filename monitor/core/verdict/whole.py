"""What all pairs of series show while no alert of them fires: a fault, or how right they are.

Rules of this file: all pairs are one piece. A sensor is wrong where the interval of the fault lies
wholly beyond the accuracy to which a stated uncertainty is known; the interval is wider than usual
because a live series is examined again with every pair. A recording is examined in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from monitor.core.model import NAN, Bool, Float
from monitor.core.verdict.calm import (
    FAR_HONEST,
    FEWEST,
    OFFSET,
    SCALE,
    Fits,
    T,
    bounds_of,
    bounds_say_all,
    fits_of,
    has_far,
    newest_differs,
)
from monitor.core.verdict.display_steps import is_of_rounding
from monitor.core.verdict.error_codes import code_verdict, coded_pairs
from monitor.core.verdict.faults import LEAST_FAR
from monitor.core.verdict.judge import (
    OF_A_FORM,
    cut_of,
    errors_of,
    gathered_evidence,
    judged,
)
from monitor.core.verdict.naming import (
    MOST_FAR,
    explained_whole,
    is_over,
    with_explained,
    with_mean_error,
)
from monitor.core.verdict.pairs import (
    ManyPairs,
    Pairs,
    Side,
    inflation_of_squares,
    long_inflations,
)
from monitor.core.verdict.partial_faults import limit_of, may_be_limited
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
from monitor.core.verdict.relations import Gain, gain_by
from monitor.core.verdict.remedy import remedies_for
from monitor.core.verdict.rivals import gain_of, kept_of, lag_of, sign_of, stuck_for
from monitor.core.verdict.rows import FAR, width_of
from monitor.core.verdict.sentences import with_words
from monitor.core.verdict.spread import (
    SHAPES,
    Parts,
    Spread,
    better_constants,
    on_stated,
    parts_of,
    spreads_of,
)
from monitor.core.verdict.verdict import (
    FAULT,
    IS_RIGHT,
    NO_SLOPES,
    NOTHING,
    RELATED,
    UNDECIDED,
    Bounds,
    BoundsColumns,
    Estimate,
    Verdict,
    share,
    unbounded,
)
from monitor.core.verdict.words import each_right_within

_BIASED: Final = 0.25  # u by which a drift must exceed its mean error
_SURE: Final = 1.5  # by which the interval of a fault is wider than that of 95 %
_ALONE: Final = ("overstated", "gain")  # faults of the newest pairs that all pairs may not show
_AROUND: Final = 256  # pairs before and after an all-clear among which the repair is looked for
_REPAIRS_AT_ONCE: Final = 16  # series
_CALM_MEAN: Final = 0.25  # of a piece that is right, or nearly
_CALM_SPREAD: Final = (0.75, 1.33)
_BY_CHANCE: Final = 3.0  # standard errors of the mean of a calm piece
_LEAST_SPREAD: Final = 0.01  # u, of wrong pairs: those of coarse values may all have one error
_CELLS: Final = 12_288  # numbers a column of series at once: all columns fit in a cache


def judge_whole(
    pairs: Sequence[Pairs] | ManyPairs,
    *,
    unit: Sequence[str] | None = None,
    is_part: Sequence[bool] | None = None,
    is_one: bool = False,
) -> list[Verdict]:
    """Return what is wrong with each sensor over all its pairs, or within what it is right.

    ``is_part``: pairs from before these are left out, because the sensor was wrong then.
    ``is_one``: each has been in one state throughout, so that no newest piece is looked for.
    """
    unit, is_part = unit or [""] * len(pairs), is_part or [False] * len(pairs)
    verdicts = {}
    pairs = ManyPairs.of(pairs)
    for some, fitted in _fitted(pairs):
        parts = _parts(fitted.side)
        for row, i in enumerate(some):
            calm = _calm(fitted, row, parts[row], unit[i], part=is_part[i])
            if fitted.fits.suspicious[row]:
                one = fitted.side.some([row]), fitted.fits.of(row)
                calm = _examined(*one, unit[i], calm, is_one=is_one)
            verdicts[i] = calm
    return [verdicts[i] if i in verdicts else _few(p, part=is_part[i]) for i, p in enumerate(pairs)]


class Screened(NamedTuple):
    """Within what series are right if they have no fault, and whether to examine them for one.

    Each has an entry a series; ``sentence`` and ``error_model`` are texts. ``right_since`` is the
    time of the first pair where others are left out (s UTC), else NaN.
    """

    sentence: Any
    error_model: Any
    is_right: Bool
    right_since: Float
    is_suspicious: Bool

    def put(self, at: int, calm: Verdict) -> None:
        """Store what the calm verdict on a series says."""
        self.sentence[at], self.right_since[at] = calm.sentence, calm.right_since
        self.error_model[at] = calm.error_model
        self.is_right[at] = calm.state == IS_RIGHT


def screened(pairs: ManyPairs, *, unit: Sequence[str], is_part: Bool) -> Screened:
    """Return what :func:`judge_whole` says of calm series, at a fraction of its cost.

    Most calm verdicts say nothing but their bounds, so only the others are made in full.
    """
    right, suspicious = np.zeros((2, len(pairs)), dtype=np.bool_)
    calm = Screened(
        np.empty(len(pairs), np.object_),
        np.full(len(pairs), UNDECIDED, np.object_),
        right,
        np.full(len(pairs), NAN),
        suspicious,
    )
    few = np.flatnonzero(pairs.n < FEWEST)
    short = pairs.some(few.tolist())
    calm.sentence[few] = each_right_within(unbounded(short.n))
    for at in np.flatnonzero(is_part[few] | has_far(Side(short))).tolist():
        calm.put(few[at], _few(short[at], part=bool(is_part[few[at]])))
    for some, fitted in _fitted(pairs):
        calm.is_suspicious[some] = fitted.fits.suspicious
        calm.is_right[some] = fitted.bounds.is_right
        calm.sentence[some] = each_right_within(fitted.bounds)
        calm.error_model[some] = fitted.fits.slopes.models()
        more = ~bounds_say_all(fitted.side, fitted.fits) | np.isfinite(fitted.constants)
        others = np.flatnonzero(more | is_part[some]).tolist()
        for row, parts in zip(others, _parts(fitted.side.some(others)), strict=True):
            part = bool(is_part[some[row]])
            calm.put(some[row], _calm(fitted, row, parts, unit[some[row]], part=part))
    return calm


class _Fitted(NamedTuple):
    """Series side by side, their fits, within what each is right, and a better constant u."""

    side: Side
    fits: Fits
    bounds: BoundsColumns
    constants: Float

    def within(self, row: int, *, part: bool) -> Bounds:
        """Return the bounds of one series; ``part``: earlier pairs are left out."""
        since = _since(self.side.pairs[row], part=part)
        constant = float(self.constants[row])
        constant = constant if math.isfinite(constant) else NAN  # one object: verdicts are compared
        return self.bounds.at(row)._replace(since=since, constant_u=constant)


def _fitted(pairs: ManyPairs) -> Iterator[tuple[list[int], _Fitted]]:
    """Yield the places of series with enough pairs, those of similar length at once, fitted."""
    order = np.argsort(-pairs.n, kind="stable")[: np.count_nonzero(pairs.n >= FEWEST)].tolist()
    while order:
        at_once = max(_CELLS // width_of(pairs.n[order[:1]]), 1)
        some, order = order[:at_once], order[at_once:]
        side = Side(pairs.some(some))
        fits = fits_of(side)
        fits = fits._replace(suspicious=_unexplained(side, fits.suspicious | _limited(side)))
        constants = better_constants(side, fits.level[0], fits.used)
        yield some, _Fitted(side, fits, bounds_of(side, fits), constants)


def _parts(side: Side) -> list[Parts | None]:
    return parts_of(side, np.zeros(side.n.size, dtype=np.int64))


def _limited(side: Side) -> Bool:
    """Return which series stand at an end of their range."""
    limited = may_be_limited(side.value, side.live)
    for row in np.flatnonzero(limited).tolist():
        limited[row] = limit_of(errors_of(side, row)) is not None
    return limited


def _unexplained(side: Side, suspicious: Bool) -> Bool:
    """Return which of the suspicious series show more than the rounding of a display at rest."""
    for row in np.flatnonzero(suspicious).tolist():
        suspicious[row] = not is_of_rounding(side, row)
    return suspicious


def _few(p: Pairs, *, part: bool) -> Verdict:
    return with_words(_bare(p, Bounds(UNDECIDED, pairs=p.n, since=_since(p, part=part))), p, "")


def _since(p: Pairs, *, part: bool) -> float | None:
    if not part:
        return None
    return float(p.time[0]) if p.timed and p.n else NAN


def _bare(p: Pairs, bounds: Bounds) -> Verdict:
    since = NAN if bounds.since is None else bounds.since
    return Verdict(
        bounds.state,
        pairs=p.n,
        n_effective=float(p.n),
        explained=p.explained,
        bounds=bounds,
        right_since=since,
    )


def _calm(fitted: _Fitted, row: int, parts: Parts | None, of_series: str, *, part: bool) -> Verdict:
    side, fits = fitted.side, fitted.fits
    unit, p = float(side.unit[row]), side.pairs[row]
    calm = _bare(p, fitted.within(row, part=part))._replace(
        level=_estimate(fits.level, row).times(unit),
        scale=on_stated(parts, _estimate(fits.factor, row)),
        pivot=float(np.mean(p.reference)),
        error_model=fits.slopes.at(row).model,
        n_effective=p.n / float(fits.inflation[row]),
        u_follows=bool(side.weights.follows[row]),
        typical=unit,
    )
    return with_words(calm, p, of_series, unit)


def _estimate(ends: Float, row: int) -> Estimate:
    return Estimate(*ends[:, row].tolist())


def _examined(side: Side, fits: Fits, unit: str, calm: Verdict, *, is_one: bool) -> Verdict:
    """Return the verdict on a series whose fit is suspicious, ``calm`` if it shows no fault."""
    p = side.pairs[0]
    coded = coded_pairs(p)
    if coded is not None:
        others = p.rows(coded.others)
        is_part = calm.bounds is not None and calm.bounds.since is not None
        (verdict,) = judge_whole([others], unit=[unit], is_part=[is_part], is_one=is_one)
        size = share(coded.at.size, float(p.n))
        if verdict.state == FAULT:
            return with_words(verdict._replace(code=coded.code), others, unit, verdict.typical)
        if not size.lower > LEAST_FAR:
            return verdict
        return with_words(code_verdict(verdict, p, coded, size), p, unit, verdict.typical)
    verdict, held = with_mean_error(_of_parts(side, _named(side, fits, calm)), side, 0), 0
    if verdict.state == FAULT and not is_one:
        verdict, held, repaired = _newest(side, verdict)
        if repaired:
            return judge_whole([p.rows(slice(repaired, None))], unit=[unit], is_part=[True])[0]
    elif not is_one and newest_differs(side, fits)[0]:
        newest, before, _ = _newest(side, verdict)
        if newest.fault in _ALONE and newest.size.widened(_SURE).excludes(1.0):
            verdict, held = newest, before
    verdict = verdict._replace(remedy=remedies_for(side, [verdict], [held])[0])
    return with_words(verdict, p, unit, calm.typical)


def _newest(side: Side, whole: Verdict) -> tuple[Verdict, int, int]:
    """Return the fault of the newest pairs, the pairs of an earlier state, and a repair's pair.

    A sensor that is wrong over all pairs may have changed among them: name, size and date are then
    those of the newest piece, as while an alert fires. ``whole`` stays where that piece alone shows
    nothing clear, or where all pairs show how values depend on references. The last number is where
    the newest piece begins if that is right, else 0.
    """
    p = side.pairs[0]
    if whole.fault in RELATED and whole.fault != "stuck":
        return whole, 0, 0
    evidence, cut = gathered_evidence(side, [p.n - 1], [None])
    starts = cut.starts[0]
    is_newer = starts[-1] > 0
    if is_newer and p.n - starts[-1] < OF_A_FORM:
        return whole, 0, 0
    if is_newer and is_over(evidence[0], starts[-1] - 1):
        return whole, 0, starts[-1]
    (newest,), (held,) = judged(side, [p.n - 1], evidence, cut)
    is_clear = newest.state == FAULT and p.n - newest.segment >= OF_A_FORM
    is_told = is_newer or newest.fault in (whole.fault, *RELATED)
    if not (is_clear and is_told):
        return whole, 0, 0
    began = float(p.time[newest.since]) if p.timed and newest.since else NAN
    return newest._replace(began=began), held, 0


def right_from(p: Pairs, alarm: int, clear: int) -> int:
    """Return the first pair, after the alarm, of the calm pieces that reach to ``clear``.

    That is the repair of an incident whose alert fired at the pair ``alarm`` and had ended by the
    pair ``clear``; ``clear`` itself where no piece before it is calm.
    """
    return max(repairs([p], [clear])[0], alarm + 1)


def repairs(pairs: Sequence[Pairs] | ManyPairs, clear: Sequence[int]) -> list[int]:
    """Return for each series the first pair of the calm pieces that reach to ``clear``.

    It is the last pair where the alert ended with it and no piece is calm.
    """
    repaired: list[int] = []
    for at in range(0, len(pairs), _REPAIRS_AT_ONCE):
        ends = clear[at : at + _REPAIRS_AT_ONCE]
        begins = [max(each - _AROUND, 0) for each in ends]
        rows = enumerate(zip(begins, ends, strict=True), at)
        side = Side([pairs[i].rows(slice(begin, end + _AROUND)) for i, (begin, end) in rows])
        _, cut = cut_of(side, np.full(side.n.size, -1))
        for row, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            z = side.z[row, : side.n[row]]
            first = begin + _calm_from(z, cut.starts[row], end - begin)
            repaired.append(min(first, pairs[at + row].n - 1))
    return repaired


def _calm_from(z: Float, starts: list[int], clear: int) -> int:
    """Return where the calm pieces begin that reach to ``clear``, or ``clear``.

    A piece that is not calm may begin with the last pairs of the fault: only these are left out.
    """
    first, pieces = clear, [*zip(starts, [*starts[1:], z.size], strict=True)]
    while pieces:
        start, end = pieces.pop()
        if start > clear or _is_calm(z[start:end]):
            first = min(start, first)
            continue
        before = (z[a:b] for a, b in reversed(pieces) if not _is_calm(z[a:b]))
        began = start + _still_wrong(z[start:first], next(before, z[start:first]))
        if began == first or not _is_calm(z[began:end], nearly=True):
            break
        first = began
        if began > start:
            break
    return first


def _still_wrong(z: Float, wrong: Float) -> int:
    """Return how many of the first pairs are like those of ``wrong``, the others being right.

    It is the number of the greatest likelihood if the errors of both are normal.
    """
    mean, spread = float(wrong.mean()), max(float(wrong.std()), _LEAST_SPREAD)
    as_wrong = -0.5 * ((z - mean) / spread) ** 2 - math.log(spread)
    return int(np.argmax(np.append(0.0, np.cumsum(as_wrong + 0.5 * z * z))))


def _is_calm(z: Float, *, nearly: bool = False) -> bool:
    """Whether a piece is right, or so nearly that chance or nobody minds."""
    low, high = _CALM_SPREAD
    small = max(_CALM_MEAN, _BY_CHANCE / math.sqrt(z.size))
    power = 2 if nearly else 1
    return abs(float(z.mean())) <= small and low**power <= float(z.std()) <= high**power


class _Suspect(NamedTuple):
    """One series, its fits, what its line leaves, and how large that is."""

    side: Side
    fits: Fits
    left: Float
    spread: Spread
    unit: float

    def sized(self, ends: Float) -> Estimate:
        """Return a size in the unit of the series."""
        return _estimate(ends, 0).times(self.unit)


def _named(side: Side, fits: Fits, calm: Verdict) -> Verdict:
    """Return the verdict on all pairs of the only series, without remedy; ``calm`` if none."""
    p = side.pairs[0]
    left = fits.left(side, 0)
    s = _Suspect(side, fits, left, _spread(left, fits), calm.typical)
    slope, level = _estimate(fits.slope, 0), _estimate(fits.level, 0)
    drifts = abs(float(fits.steep[0])) > T and abs(slope.value) > max(abs(level.value), _BIASED)
    gain = gain_by(fits.slopes.at(0), NO_SLOPES)
    fault, size, is_sure = _fault(s, gain, drifts=drifts)
    if not fault:
        return calm
    rated = drifts and bool(side.has_clock[0])
    return calm._replace(
        state=FAULT if is_sure else UNDECIDED,
        fault=fault,
        size=size,
        level=s.sized(fits.now if drifts else fits.level),
        slope_per_day=s.sized(fits.slope).times(1.0 / p.span_days) if rated else NOTHING,
        scale=on_stated(parts_of(side, np.zeros(1, dtype=np.int64))[0], s.spread.factor),
        gain=gain.size if fault == "gain" else NOTHING,
        error_model=UNDECIDED if fault in RELATED else calm.error_model,
        n_effective=p.n / float((fits.of_line if drifts else fits.inflation)[0]),
        right_since=NAN,
        bounds=None,
    )


def _of_parts(side: Side, verdict: Verdict) -> Verdict:
    """Return the verdict, under the name of a fault that explains all pairs better, if any does."""
    p = side.pairs[0]
    if verdict.state == IS_RIGHT:
        whole = limit_of(errors_of(side, 0))
    else:
        (evidence,), _ = gathered_evidence(side, [None], [None])
        whole = explained_whole(evidence, p, T * T)
    if whole is None:
        return verdict
    plain = verdict._replace(gain=NOTHING, error_model=UNDECIDED)
    named = plain._replace(state=FAULT, fault=whole.fault, size=whole.size)
    start = whole.start
    began = float(p.time[start]) if p.timed and start else NAN
    dated = named._replace(since=start, segment=start, began=began, pairs=p.n - start)
    return with_explained(dated._replace(right_since=NAN, bounds=None), whole)


def _spread(left: Float, fits: Fits) -> Spread:
    """Return the factor on u, with a higher upper end for dependent errors.

    Their mean follows them, so that less of their spread is left about it.
    """
    whole = np.ones((1, left.size), dtype=np.bool_)
    of_squares = long_inflations(left[None] ** 2, whole, np.array([left.size]))[0]
    inflated = max(float(of_squares), float(inflation_of_squares(fits.rho[0])))
    lost = np.array([2.0, min(2.0 * float(fits.inflation[0]), 0.5 * left.size)])
    two = np.full(2, inflated), lost, np.zeros((2, SHAPES))
    plain, widened = spreads_of([left, left], *two)
    return plain._replace(factor=plain.factor._replace(upper=widened.factor.upper))


def _fault(s: _Suspect, gain: Gain, *, drifts: bool) -> tuple[str, Estimate, bool]:
    """Return the fault's name, "" for none, its size, and whether it is sure."""
    held = int(stuck_for(s.side)[0])
    # Without times, values that never change mean that the file holds errors.
    if held > 0.5 * s.left.size and (s.side.pairs[0].timed or held < s.left.size):
        value = float(s.side.pairs[0].value[-1])
        return "stuck", Estimate(value, value, value), True
    every, cut = _costs(s)
    of = kept_of(s.side, cut)
    rivals = {"sign": sign_of(s.side, cut, of)[0], "lag": lag_of(s.side, cut, of)[0]}
    if abs(gain.t) > T:
        rivals["gain"] = gain_of(s.side, cut, of, [NO_SLOPES])[0]
    best = min(rivals, key=lambda each: rivals[each].cost)
    if rivals[best].cost < float(every[1:].min()) - T * T:
        sizes = {"gain": gain.size, "lag": Estimate(rivals[best].detail, NAN, NAN)}
        return best, sizes.get(best, NOTHING), True
    if drifts:
        return "drift", s.sized(s.fits.now), True
    return _wrong(s, every)


def _costs(s: _Suspect) -> tuple[Float, Cut]:
    """Return the cost of all pairs as one piece of each kind, and that piece as a cut."""
    side = s.side
    bounds, penalty = np.array([[0, s.left.size]]), np.log(side.n)
    inflated = s.fits.inflation
    z, h = (np.where(s.fits.used, each, 0.0) for each in (side.centred, side.h))
    of_all = Sums(*cumulated(z, h, side.clock, bounds)[:, :, 1])
    every = np.array(costs(of_all.n, squares_left(of_all, side.right), penalty, inflated))[:, 0]
    every = np.insert(every, WIDE - 1, np.inf)  # a hinge has nothing to begin from
    left_out = Last(*([np.zeros(0)] * 7))
    whole = Cut(
        [[0]],
        [[0]],
        side.h,
        left_out,
        s.fits.used,
        bounds,
        np.zeros((1, 2)),
        np.zeros((1, 2), dtype=np.int64),
        np.array([1]),
        penalty,
        inflated,
    )
    return every, whole


def _wrong(s: _Suspect, every: Float) -> tuple[str, Estimate, bool]:
    """Return offset, outliers or a wrong uncertainty: the larger of those that are clear."""
    level, factor = _estimate(s.fits.level, 0), s.spread.factor
    most = OFFSET + float(s.side.most[0])
    is_wide = _is_other(factor)
    far = np.abs(s.left) > FAR
    dependent = float(inflation_of_squares(s.fits.rho[0]))
    far_share = share(float(far.sum()) / dependent, s.left.size / dependent)
    is_most = abs(level.value) > max(factor.value, 1.0)
    is_spread = is_wide and every[RIGHT + WIDE] < every[LEVEL]
    if level.is_beyond(most) and (is_most or not is_spread):
        return "offset", level.times(s.unit), level.widened(_SURE).is_beyond(most)
    is_few = far_share.lower > FAR_HONEST and far_share.value < MOST_FAR
    if s.spread.outliers > 1.0 and is_few:
        return "outliers", far_share, True
    parts = parts_of(s.side, np.zeros(1, dtype=np.int64))[0]
    if is_wide and parts is not None:
        fault = "understated" if factor.value > 1.0 else "overstated"
        widened = Estimate(*np.exp(Estimate(*np.log(factor)).widened(_SURE)))
        return fault, on_stated(parts, factor), _is_other(widened)
    return "", NOTHING, False


def _is_other(factor: Estimate) -> bool:
    """Whether a factor on the uncertainty lies wholly beyond what nobody would correct."""
    low, high = SCALE
    return factor.lower > high or factor.upper < low
