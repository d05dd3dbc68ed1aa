"""What is wrong with series, from the last pairs of each.

Rules of this file: gather the evidence of many series at once, name the fault, try its remedies,
put the result in words. No two statements of a verdict come from different pairs, and a series gets
the same verdict alone and among others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from monitor.core.model import NAN, Bool, Float, Int
from monitor.core.verdict.error_codes import among_others, coded_pairs, with_code
from monitor.core.verdict.naming import Evidence, named_verdict, wants_model
from monitor.core.verdict.pairs import (
    RHO_MAX,
    Pairs,
    Side,
    inflation,
    inflation_of_squares,
    rho_of_differences,
)
from monitor.core.verdict.partial_faults import Errors
from monitor.core.verdict.partition import CHANGED, LEVEL, LINE, RIGHT, WIDE, Cut, partition
from monitor.core.verdict.relations import Gain, gain_by, slopes_of
from monitor.core.verdict.remedy import remedies_for
from monitor.core.verdict.rivals import NONE, Rival, gain_of, kept_of, lag_of, sign_of, stuck_for
from monitor.core.verdict.sentences import with_words
from monitor.core.verdict.spread import HISTORY, Spread, far_since, parts_of, shapes_of, spreads_of
from monitor.core.verdict.verdict import (
    FAULT,
    NO_SLOPES,
    NOTHING,
    RELATED,
    UNDECIDED,
    Estimate,
    Slopes,
    Verdict,
    mixed,
)

FEWEST: Final = 4  # pairs, fewer get no verdict
_MARGIN: Final = 12  # pairs by which the place where a fault began is uncertain
_CHOSEN: Final = 1.25  # factor by which choosing the segment widens the variance of a factor on u
_CAUTION: Final = 0.5  # standard errors by which autocorrelation is taken to be larger
_LIVED_WITH: Final = 120  # pairs over which a gain that raised no alarm is not the fault
_T_GAIN: Final = (4.0, 2.5)  # without, and with pairs from before the fault
_ALIKE: Final = 0.25  # share of a level that the one before must reach to be the same incident
_DUE_MOST: Final = 1e10  # seconds
OF_A_FORM: Final = 40  # pairs in each form before a sensor counts as having changed form
_AT_ONCE: Final = 32  # series whose numbers fit in a processor's cache


def judge(
    p: Pairs,
    *,
    alarm: int,
    began: float = NAN,
    healthy: Slopes | None = None,
    tolerance: float = NAN,
    unit: str = "",
) -> Verdict:
    """Return what is wrong with the sensor of these pairs, which are in event order.

    ``alarm`` is the index of the pair at which the detector fired (0 if it fired before the first
    of these); while no alert fires, :func:`.whole.judge_whole` judges. For an incident that lasts,
    pass on two fields of the verdict at the alarm: ``began`` (s UTC), so that the incident keeps
    its beginning, and ``healthy``, because its healthy pairs may have left the window.
    ``tolerance`` is the largest allowed error in the series' unit (NaN: its typical standard
    uncertainty), ``unit`` the series' unit.
    """
    return judge_all(
        [p],
        alarm=[alarm],
        began=[began],
        healthy=[healthy],
        tolerance=[tolerance],
        unit=[unit],
    )[0]


def judge_all(
    pairs: Sequence[Pairs],
    *,
    alarm: Sequence[int],
    began: Sequence[float] | None = None,
    healthy: Sequence[Slopes | None] | None = None,
    tolerance: Sequence[float] | None = None,
    unit: Sequence[str] | None = None,
) -> list[Verdict]:
    """Return the verdict of :func:`judge` on each of many series, several times faster.

    The other arguments have one item for each series; None stands for the default of :func:`judge`
    in all.
    """
    healthy = healthy or [None] * len(pairs)
    began, tolerance = began or [NAN] * len(pairs), tolerance or [NAN] * len(pairs)
    unit = unit or [""] * len(pairs)
    few = [
        Verdict(UNDECIDED, began=since, pairs=p.n, n_effective=float(p.n))
        for p, since in zip(pairs, began, strict=True)
    ]
    verdicts = [with_words(*each, "", fired=True) for each in zip(few, pairs, strict=True)]
    coded = [coded_pairs(p) for p in pairs]
    others = [p if of is None else p.rows(of.others) for p, of in zip(pairs, coded, strict=True)]
    order = sorted((i for i, p in enumerate(others) if p.n >= FEWEST), key=lambda i: others[i].n)
    for first in range(0, len(order), _AT_ONCE):
        some = order[first : first + _AT_ONCE]
        side = Side([others[i] for i in some])
        alarms = [among_others(alarm[i], coded[i]) for i in some]
        shown = gathered_evidence(side, alarms, [healthy[i] for i in some])
        named_so, held = judged(side, alarms, *shown)
        remedies = remedies_for(side, named_so, held)
        typical = side.unit.tolist()
        rows = zip(some, named_so, shown[0], remedies, typical, strict=True)
        for i, verdict, evidence, remedy, usual in rows:
            p, of = pairs[i], coded[i]
            most = tolerance[i] if math.isfinite(tolerance[i]) else usual
            whole = verdict._replace(remedy=remedy)
            if of is not None:
                whole = with_code(whole, evidence, p, of, alarm[i])
            whole = whole._replace(
                began=_began(whole, p, began[i]), due=due_of(whole, p, most), tolerance=most
            )
            if _is_of_before(whole, p):
                whole = whole._replace(changed=NAN)
            verdicts[i] = with_words(whole, p, unit[i], usual, fired=True)
    return verdicts


def judged(
    side: Side, alarm: list[int], evidence: list[Evidence], cut: Cut
) -> tuple[list[Verdict], list[int]]:
    """Return verdicts without remedies, and for how many pairs an earlier state held.

    ``evidence`` and ``cut`` are what :func:`gathered_evidence` returns for ``side``.
    """
    verdicts = [
        named_verdict(of, side, row, at)._replace(u_follows=follows)
        for row, (of, at, follows) in enumerate(
            zip(evidence, alarm, side.weights.follows.tolist(), strict=True)
        )
    ]
    some = [i for i, each in enumerate(verdicts) if wants_model(each)]
    if some:
        begin = np.array([verdicts[i].segment for i in some])
        for i, each in zip(some, slopes_of(side.some(some), begin, side.n[some]), strict=True):
            verdicts[i] = verdicts[i]._replace(error_model=each.model)
    rows = zip(verdicts, cut.starts, cut.kinds, cut.fit, side.pairs, strict=True)
    verdicts = [
        each._replace(changed=_changed(starts, kinds, fit, each, p))
        for each, starts, kinds, fit, p in rows
    ]
    return verdicts, [_held(*each) for each in zip(cut.starts, cut.kinds, verdicts, strict=True)]


def _changed(starts: list[int], kinds: list[int], fit: Float, verdict: Verdict, p: Pairs) -> float:
    """Return when an incident took its newest form, NaN if it began with it or this is unknown."""
    at = len(starts) - 1
    if not p.timed or verdict.state != FAULT or verdict.fault in RELATED or not at:
        return NAN
    if min(starts[at], verdict.segment) <= verdict.since:
        return NAN
    newest, before = p.n - starts[at], starts[at] - max(starts[at - 1], verdict.since)
    is_another = _form(kinds[at]) != _form(kinds[at - 1])
    plain = kinds[at - 1] % WIDE, kinds[at] % WIDE
    if plain == (LEVEL, LEVEL):
        is_another |= _is_other(*(float(fit[starts[each]]) for each in (at - 1, at)))
    elif plain == (LINE, LINE):
        ends = (starts[at - 1], starts[at]), (starts[at], p.n)
        is_another |= _is_other(*(_slope(fit, p, *each) for each in ends))
    elif plain[1] == _SHAPES.get(verdict.fault):
        is_another = True
    clear = is_another and min(newest, before) >= OF_A_FORM
    return float(p.time[starts[at]]) if clear else NAN


_SHAPES: Final = {"offset": LEVEL, "drift": LINE}


def _slope(fit: Float, p: Pairs, start: int, end: int) -> float:
    """Return the slope of a piece that is a line; its unit is the same for all pieces."""
    return float((fit[end - 1] - fit[start]) / max(p.time[end - 1] - p.time[start], 1.0))


def _is_other(before: float, now: float) -> bool:
    """Whether a level or slope has another sign than before, or is less or more than half of it."""
    return abs(now - before) > 0.5 * max(abs(now), abs(before))


def _form(kind: int) -> tuple[bool, bool]:
    """Return whether a piece has a level of its own, and a spread of its own."""
    return kind % WIDE != RIGHT, kind >= WIDE


def _began(verdict: Verdict, p: Pairs, earlier: float) -> float:
    """Return when the incident began, NaN where there are no times."""
    if not p.timed:
        return NAN
    return earlier if np.isfinite(earlier) else float(p.time[verdict.since])


def _is_of_before(verdict: Verdict, p: Pairs) -> bool:
    """Whether the newest form is about as old as the incident, or older."""
    began, changed = np.searchsorted(p.time, [verdict.began, verdict.changed]).tolist()
    return bool(np.isfinite(verdict.changed)) and changed - began < OF_A_FORM


def gathered_evidence(
    p: Side, alarm: Sequence[int | None], healthy: list[Slopes | None]
) -> tuple[list[Evidence], Cut]:
    """Return everything that the pairs of each series show, and the cut it comes from."""
    raised = np.array([-1 if each is None else each for each in alarm])
    rho, cut = cut_of(p, raised)
    since = _onsets(cut, alarm)
    before = _healthy(p, since, healthy)
    used = kept_of(p, cut)
    signs, lags = sign_of(p, cut, used), lag_of(p, cut, used)
    gains = _gains(p, gain_of(p, cut, used, before), before)
    after = (cut.bounds[:, None, :-1] > raised[:, None, None]) & (raised >= 0)[:, None, None]
    level, slope = _now(cut, p, after)
    weight = cut.last.weight
    kind, place = np.divmod(weight.reshape(p.n.size, -1).argmax(axis=1), weight.shape[2])
    segment = cut.bounds[np.arange(p.n.size), place]
    off = p.z - cut.fit * p.h
    spreads = _spreads(p, cut, kind, place, off, since, inflation_of_squares(rho))
    fars, stuck, parts = far_since(off, p.live, p.n), stuck_for(p), parts_of(p, segment)
    best = cut.last.cost.min(axis=2).tolist()
    is_line = np.arange(cut.last.cost.shape[1])[:, None] % WIDE >= LINE
    was_line = cut.kind[:, None, :-1] % WIDE >= LINE
    changed = np.where(after & (is_line != was_line), CHANGED, 0.0)
    lasting = (cut.last.cost + changed).min(axis=2).tolist()
    rhos, segments = rho.tolist(), segment.tolist()
    has_clock = p.has_clock.tolist()
    penalty, inflated = cut.penalty.tolist(), cut.inflation.tolist()
    return [
        Evidence(
            newest=cut.starts[i][-1],
            best=best[i],
            lasting=lasting[i],
            rivals={"sign": signs[i], "lag": lags[i], "gain": gains[i][0]},
            gain=gains[i][1],
            level=level[i],
            slope_per_day=(slope[i].times(1.0 / each.span_days) if has_clock[i] else NOTHING),
            spread=spreads[i],
            far=fars[i],
            stuck=stuck[i],
            healthy=before[i],
            since=since[i],
            segment=segments[i],
            rho=rhos[i],
            parts=parts[i],
            errors=errors_of(p, i)._replace(penalty=penalty[i], inflation=inflated[i]),
            near=cut.kept[i, : each.n],
        )
        for i, each in enumerate(p.pairs)
    ], cut


def cut_of(p: Side, raised: Int) -> tuple[Float, Cut]:
    """Return the autocorrelation of the errors of each series, and its pairs cut into pieces."""
    rho = rho_of_differences(p)
    rho = np.where(rho > 0.0, np.minimum(rho + _CAUTION / np.sqrt(p.n), RHO_MAX), rho)
    return rho, partition(p, inflation(rho), raised)


def errors_of(p: Side, row: int) -> Errors:
    """Return the errors of one series as :mod:`.partial_faults` takes them, without costs."""
    of, n = p.pairs[row], p.pairs[row].n
    time = of.time if of.timed else np.zeros(n)
    unit = float(p.unit[row])
    return Errors(time, of.value, of.reference, p.z[row, :n], p.h[row, :n], unit)


def _healthy(p: Side, since: list[int], known: list[Slopes | None]) -> list[Slopes]:
    """Return how the errors moved with the level before each fault, from here or as ``known``.

    If few earlier pairs already show a gain they were not healthy: the fault is older than its
    alarm.
    """
    slopes = [NO_SLOPES if each is None else each for each in known]
    some = [i for i, at in enumerate(since) if at >= HISTORY]
    if some:
        end = np.array([since[i] - min(_MARGIN, since[i] // 8) for i in some])
        for i, each in zip(some, slopes_of(p.some(some), np.zeros_like(end), end), strict=True):
            slopes[i] = each
    return [NO_SLOPES if each.show_gain and each.pairs < _LIVED_WITH else each for each in slopes]


def _onsets(cut: Cut, alarm: Sequence[int | None]) -> list[int]:
    """Return where each incident began: its piece, or an earlier one that is wrong alike."""
    rows = zip(cut.starts, cut.kinds, cut.fit, alarm, strict=True)
    return [_onset(*row) for row in rows]


def _onset(starts: list[int], kinds: list[int], fit: Float, alarm: int | None) -> int:
    at = len(starts) - 1
    if alarm is not None:
        at = sum(each <= alarm for each in starts) - 1
        if kinds[at] == RIGHT:
            return alarm
    while at > 0 and _alike(starts, kinds, fit, at):
        at -= 1
    return starts[at] if alarm is None else min(starts[at], alarm)


def _alike(starts: list[int], kinds: list[int], fit: Float, at: int) -> bool:
    """Whether the piece before is wrong in the same way: both off in level, or both in spread."""
    earlier, later, begin = kinds[at - 1], kinds[at], starts[at]
    if earlier % WIDE and later % WIDE:
        return bool(abs(fit[begin - 1]) >= _ALIKE * abs(fit[begin]))
    return bool(earlier >= WIDE and later >= WIDE)


def _now(cut: Cut, p: Side, after: Bool) -> tuple[list[Estimate], list[Estimate]]:
    """Return the level now and the slope over the clock, each over all rivals that have one.

    For the slope, lines that begin ``after`` the alarm weigh less: a short line says little of it.
    """
    last = cut.last
    plain = (np.arange(last.weight.shape[1]) % WIDE)[:, None]
    lasting = np.where(after, np.exp(-0.5 * CHANGED), 1.0) * last.weight
    weight = np.concatenate(
        [np.where(plain >= LEVEL, last.weight, 0.0), np.where(plain >= LINE, lasting, 0.0)]
    )
    centre, se, df = (
        np.concatenate(each)
        for each in (
            (last.level, last.slope),
            (last.se_level, last.se_slope),
            (last.df, last.df),
        )
    )
    rows = (each.reshape(2 * p.n.size, -1) for each in (centre, se, df, weight))
    sizes = [each.times(unit) for each, unit in zip(mixed(*rows), 2 * p.unit.tolist(), strict=True)]
    return sizes[: p.n.size], sizes[p.n.size :]


def _spreads(
    p: Side, cut: Cut, kind: Int, place: Int, off: Float, since: list[int], inflated: Float
) -> list[Spread]:
    """Return how large the errors of the newest piece are about its line."""
    rows, last = np.arange(p.n.size), cut.last
    begin = cut.bounds[rows, place]
    level, slope = (each[rows, kind, place][:, None] for each in (last.level, last.slope))
    now = p.clock[rows, p.n - 1][:, None]
    about = p.z - (level + slope * (p.clock - now)) * p.h
    left = [row[b:n] for row, b, n in zip(about, begin.tolist(), p.n.tolist(), strict=True)]
    lost = (kind % WIDE != RIGHT).astype(np.float64)
    return spreads_of(left, _CHOSEN * inflated, lost, shapes_of(off, np.array(since)))


def _gains(p: Side, rivals: list[Rival], before: list[Slopes]) -> list[tuple[Rival, Gain]]:
    start = np.array([each.start for each in rivals])
    begin = start + np.minimum(_MARGIN, (p.n - start) // 10)
    gains = []
    for rival, now, was in zip(rivals, slopes_of(p, begin, p.n), before, strict=True):
        gain = gain_by(now, was)
        shown = abs(gain.t) > _T_GAIN[was.model != UNDECIDED] and gain.size.excludes(1.0)
        gains.append((rival if shown else NONE, gain))
    return gains


def _held(starts: list[int], kinds: list[int], verdict: Verdict) -> int:
    """Return the most pairs for which an earlier state of the incident held before it changed.

    States before the sensor was right for long do not count: a fault that comes back begins anew.
    """
    pieces = zip(kinds[:-1], itertools.pairwise(starts), strict=True)
    over = [end for kind, (at, end) in pieces if kind == RIGHT and end - at >= OF_A_FORM]
    since = max([verdict.since, *over])
    inside = [each for each in starts if since <= each <= verdict.segment]
    return max((later - each for each, later in itertools.pairwise(inside)), default=0)


def due_of(verdict: Verdict, p: Pairs, most: float) -> float:
    """Return when a drift leaves its tolerance (s UTC), NaN if that is not known or has been."""
    if not verdict.has_lasted or abs(verdict.level.value) >= most:
        return NAN
    rate = verdict.slope_per_day.value / 86_400.0
    seconds = (np.copysign(most, rate) - verdict.level.value) / rate
    return float(p.time[-1] + seconds) if 0.0 < seconds < _DUE_MOST else NAN
