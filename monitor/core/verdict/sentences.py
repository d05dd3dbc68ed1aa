"""A verdict in one plain sentence, what to do about it in another, and both as plain values.

What is not known is left out of sentences, never printed as "nan", and null in the plain values,
which are the same in files, in the interface and in alerts. Advice has the digits of the sentence,
which the interval knows: the rounded number moves a value by at most a quarter of its half-width.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from monitor.core.formatting import TO_THE_MINUTE, date_time, finite, instant
from monitor.core.model import Float
from monitor.core.verdict import verdict_document, words
from monitor.core.verdict.faults import (
    FAULTS,
    estimate_unit,
    fault_estimate,
    fault_estimate_unit,
    quality_of,
    shows,
)
from monitor.core.verdict.likely_mistakes import likely_mistake
from monitor.core.verdict.pairs import Pairs, is_copied
from monitor.core.verdict.rows import FAR
from monitor.core.verdict.verdict import (
    FAULT,
    IS_RIGHT,
    RELATED,
    SCALE_RIGHT,
    Bounds,
    Remedy,
    Verdict,
)
from monitor.core.verdict.words import exactly, three_digits

_LEVEL_RIGHT: Final = 0.25  # typical uncertainties
# Half-widths of a 95 % interval beyond which the sentence calls a sensor without an alarm not quite
# right: with heavy-tailed errors these intervals are too narrow.
_CLEARLY: Final = 1.75
_FEW: Final = 0.05  # largest share of far errors that are told as a few
_RESOLVED: Final = 0.02  # share of the CRPS by which the digits of a line may change a value
_UNSURE: Final = 0.1  # the same as a share of what half the interval of a gain changes it by
_SAME_U: Final = 0.05  # change of u below which advice leaves it: 0.1 % of the CRPS
_A_DAY: Final = 86_400.0


def with_words(
    verdict: Verdict, p: Pairs, unit: str, typical: float = math.nan, *, fired: bool = False
) -> Verdict:
    """Return the verdict with its sentence and its advice.

    ``typical`` is the errors' usual standard uncertainty; ``fired``: the alert fires.
    """
    if p.n and p.timed:
        last = float(p.time[-1])
        verdict = verdict._replace(
            first=float(p.time[p.n - min(max(verdict.pairs, 1), p.n)]),
            span=last - float(p.time[verdict.segment]),
            last=last,
            is_older=verdict.began < float(p.time[0]),
        )
    leads = _level_leads(verdict, p)
    verdict = verdict._replace(typical=typical, delay=_delay(verdict, p), level_leads=leads)
    apart = "" if verdict.bounds is None else _apart(p)
    text, doing = (
        sentence(verdict, p.n, unit, apart, fired=fired),
        advice(verdict, p, unit, fired=fired),
    )
    mistake = likely_mistake(verdict, p, unit)
    if mistake is not None:
        text = f"{text}: {mistake.question}"
        doing = f"if {mistake.condition}, {mistake.mend}; else {doing}"
    return verdict._replace(sentence=text, advice=doing)


def _level_leads(verdict: Verdict, p: Pairs) -> bool:
    """Return whether the level beside a gain is more of the error than the gain is."""
    if verdict.fault != "gain":
        return False
    spread = float(p.reference[verdict.segment :].std())
    return abs(verdict.level.value) > abs(verdict.gain.value - 1.0) * spread


def _delay(verdict: Verdict, p: Pairs) -> float:
    """Return the usual time of the pairs by which a sensor is late, s; NaN without such pairs."""
    late = int(verdict.size.value) if verdict.fault == "lag" else 0
    times = p.time[verdict.segment :]
    if not (p.timed and 0 < late < times.size):
        return math.nan
    return float(np.median(times[late:] - times[:-late]))


def sentence(verdict: Verdict, n: int, unit: str, apart: str = "", *, fired: bool = False) -> str:
    """Return "reads 6.2 kg heavy (5.1 to 7.3), since 2026-03-01 06:12" and the like, of n pairs.

    ``apart`` are the words about a few pairs that a right sensor is not judged by.
    """
    plain = _sentence(verdict, n, unit, apart, fired=fired)
    is_clear = fired or verdict.state in (IS_RIGHT, FAULT)
    if not (verdict.u_follows and is_clear) or verdict.fault in RELATED:
        return plain
    return f"{plain}; {words.smaller_u(unit)}"


def _sentence(verdict: Verdict, n: int, unit: str, apart: str, *, fired: bool) -> str:
    if verdict.bounds is not None:
        return _calm(verdict, verdict.bounds, unit, apart)
    if verdict.state == FAULT:
        return _full(verdict, unit)
    if not fired:
        if not shows(verdict):
            return f"may be wrong; not clear yet in which way ({words.counted(n)})"
        return f"may be wrong, not sure yet: {_full(verdict, unit)}"
    if verdict.segment and not verdict.fault:
        began = f" that began {day(verdict.began)}" if day(verdict.began) else ""
        last = "its last pair no longer shows it"
        if verdict.pairs != 1:
            last = f"its last {verdict.pairs} pairs no longer show it"
        return f"had a fault{began}; {last}"
    pairs = words.counted(verdict.pairs)
    return f"is not as right as it says; not clear yet in which way ({pairs})"


def past_sentence(verdict: Verdict, unit: str, until: float) -> str:
    """Return "read 6.2 kg heavy (5.1 to 7.3), from ... to ..." of an incident that is over."""
    began, ended = day(verdict.began), day(until)
    lasted = f"from {_bare(began)} to {ended}" if began else ""
    if verdict.state != FAULT:
        text = ", ".join(filter(None, ("was not as right as it said", lasted)))
        return f"{text}; it never became clear in which way"
    text = _told(verdict, unit, words.PAST)
    if changed := day(verdict.changed):
        return f"{text}, from {_bare(changed)} to {ended}; was not right from {began} on"
    if verdict.is_older:
        return f"{text}{_over(verdict, 'over')}; was not right {lasted}"
    return ", ".join(filter(None, (text, lasted)))


def _over(verdict: Verdict, over: str) -> str:
    """Return ", over its last 512 pairs", in the words ``over``; a sensor that is stuck says so."""
    return "" if verdict.fault == "stuck" else f", {over} {words.counted(verdict.pairs)}"


def _within(verdict: Verdict, unit: str) -> str:
    """Return the words for a bias that declared systematic effects account for."""
    most, level = verdict.explained, verdict.level
    if not (most > 0.0 and level.excludes(0.0) and abs(level.value) <= most):
        return ""
    error = words.mean_error(verdict, unit)
    return f": {error} lies within {words.declared(verdict, unit)}"


def _calm(verdict: Verdict, bounds: Bounds, unit: str, apart: str) -> str:
    """Return within what a sensor is right, and what is clear but too little to correct."""
    text = words.right_within(bounds, "" if bounds.since is None else day(bounds.since))
    if math.isfinite(bounds.constant_u):
        apart = f"{apart}{words.tells_nothing(bounds.constant_u, unit)}"
    if bounds.state != IS_RIGHT:
        return f"{text}{apart}"
    nearly = _nearly(verdict, unit, with_scale=not apart)
    return f"{text}{nearly or _within(verdict, unit)}{apart}"


def _nearly(verdict: Verdict, unit: str, *, with_scale: bool) -> str:
    """Return the words for a fault that is clear but too small to matter, empty for none."""
    parts, scale = [], verdict.scale.widened(_CLEARLY)
    if with_scale and scale.excludes(1.0):
        parts.append((words.understated if scale.lower > 1.0 else words.overstated)(verdict, unit))
    if verdict.level.widened(_CLEARLY).is_beyond(verdict.explained):
        parts.append(words.offset(verdict, unit))
    return f": {' and '.join(parts)}, too little to correct" if parts else ""


def _apart(p: Pairs) -> str:
    """Return the words for errors so large that a few of them spoil the mean square of all."""
    error = p.error
    if not (np.abs(error) > FAR * np.hypot(p.u, p.u_ref)).any():
        return ""
    variance = p.u**2 + p.u_ref**2
    squares = error[variance > 0.0] ** 2 / variance[variance > 0.0]
    return words.but_for(few_far(squares), squares.size) if squares.size else ""


def few_far(squares: Float) -> int:
    """Return how many errors, so few and far off, make the mean square of all too large.

    ``squares`` are (error over its standard uncertainty)^2. 0 where no error is that far off or
    more than one in twenty is (a window has many after a repair), where the mean square of all is
    small enough, and where that of the others is not.
    """
    far, most = squares > FAR**2, SCALE_RIGHT[1] ** 2
    few = int(np.count_nonzero(far))
    is_spoilt = squares.sum() > most * squares.size
    is_spoilt &= squares[~far].sum() <= most * (squares.size - few)
    return few if is_spoilt and few <= _FEW * squares.size else 0


def _full(verdict: Verdict, unit: str) -> str:
    text = _told(verdict, unit, words.NOW)
    when, due = day(verdict.began), day(verdict.due)
    if changed := day(verdict.changed):
        text = f"{text}, since {changed}; not right {f'since {when}' if when else 'before either'}"
    elif verdict.is_older:
        text = f"{text}{_over(verdict, 'over its last')}; not right since {when}"
    elif when:
        text = f"{text}, since {when}"
    elif verdict.segment and verdict.fault != "stuck":
        text = f"{text}, in its last {words.counted(verdict.pairs)}"
    # A drift over hours is due at a time, one over days on a date.
    on = due if verdict.span < _A_DAY else due[:10]
    text = f"{text}; leaves its tolerance on {on}" if due else text
    if verdict.code is None or verdict.fault == "outliers":
        return text
    return f"{text}; {words.coded(verdict.code)} now and then"


def _told(verdict: Verdict, unit: str, verbs: words.Verbs) -> str:
    text = FAULTS[verdict.fault].words(verdict, unit, verbs)
    if verdict.fault == "offset" and verdict.explained > 0.0:
        text = f"{text}, beyond {words.declared(verdict, unit)}"
    parts = [text, *_beside(verdict, unit, verbs)]
    if verdict.level_leads:
        parts.reverse()
    first = ", ".join(parts[:-1])
    comma = "," if ", " in first else ""
    return f"{first}{comma} and {parts[-1]}" if first else parts[-1]


def day(time: float) -> str:
    """Return a time in s UTC as "2026-03-01 06:12 UTC", empty if it is not finite."""
    text = date_time(time, TO_THE_MINUTE) if math.isfinite(time) else "-"
    return "" if text == "-" else f"{text} UTC"


def _bare(day: str) -> str:
    """Return a day without its zone, for a sentence that names the zone after another one."""
    return day.removesuffix(" UTC")


def _beside(verdict: Verdict, unit: str, verbs: words.Verbs) -> list[str]:
    """Return what else is clear: a wrong uncertainty or a day beside a level, a level beside it."""
    beside = []
    if verdict.fault in ("offset", "drift") and verdict.is_scale_off:
        in_words = words.understated if verdict.scale.lower > 1.0 else words.overstated
        beside.append(in_words(verdict, unit, verbs))
    if verdict.fault == "offset" and verdict.swing.is_known:
        beside.append(words.daily(verdict, unit, verbs))
    may_be_off = verdict.fault in ("understated", "overstated", "gain", "lag", "daily")
    least = max(_LEVEL_RIGHT * verdict.typical, verdict.explained)
    if (
        may_be_off
        and verdict.level.is_beyond(verdict.explained)
        and abs(verdict.level.value) > least
    ):
        beside.append(words.offset(verdict, unit, verbs))
    return beside


def advice(verdict: Verdict, p: Pairs, unit: str, *, fired: bool = False) -> str:
    """Return what to do, and what it saved where it was tried or why nothing else is advised.

    Empty if it is open.
    """
    remedy = verdict.remedy
    if fired and verdict.state != FAULT and verdict.segment and not verdict.fault:
        return "nothing yet: the alert ends by itself once it is clear that the fault is over"
    if verdict.state != FAULT or remedy is None:
        return ""
    if verdict.code is not None and verdict.fault == "outliers":
        return words.no_more_codes(verdict.code)
    doing = _mending(verdict, remedy, p, unit)
    if verdict.fault == "overstated" and is_copied(p.rows(slice(verdict.segment, None))):
        doing = f"first check that nobody feeds it the reference; if nobody does, {doing}"
    return _and_codes(verdict, doing)


def _and_codes(verdict: Verdict, doing: str) -> str:
    """Return what to do, and what to send instead of a code that comes now and then."""
    return doing if verdict.code is None else f"{doing}; {words.no_more_codes(verdict.code)}"


def _mending(verdict: Verdict, remedy: Remedy, p: Pairs, unit: str) -> str:
    p = p.rows(slice(verdict.segment, None))
    if remedy.kind == "none":
        why = _tried(verdict, remedy.tried, p, unit) if remedy.tried else _untried(remedy.more)
        return "; ".join(filter(None, (FAULTS[verdict.fault].look, why)))
    scores = {
        "CRPS": (remedy.kind != "scale_u", remedy.crps_before, remedy.crps_after),
        "interval score": ("scale_u" in remedy.kind, remedy.interval_before, remedy.interval_after),
    }
    saved = " and ".join(
        f"{score} from {three_digits(before)} to {words.with_unit(three_digits(after), unit)}"
        for score, (judged, before, after) in scores.items()
        if judged
    )
    safe = words.safe_side(verdict.scale) if "scale_u" in remedy.kind else ""
    saved = f"({safe}mean {saved} on the {words.counted(remedy.pairs)} it was tried on)"
    return _framed(verdict, " and ".join(_doing(verdict, remedy, p, unit)), saved, unit)


def _tried(verdict: Verdict, tried: Remedy, p: Pairs, unit: str) -> str:
    """Return "adding 3.1 kg was tried on 120 later pairs and did not help"."""
    doing = _doing(verdict, tried, p, unit)
    done = " and ".join(words.gerund(each) for each in doing)
    were = "was" if len(doing) == 1 else "were"
    text = f"{done} {were} tried on {tried.pairs} later pairs"
    if tried.crps_after < tried.crps_before or tried.interval_after < tried.interval_before:
        return f"{text}, and it is not clear yet whether that helps"
    return f"{text} and did not help"


def _untried(more: float) -> str:
    if math.isnan(more):
        return ""
    few = "too few pairs yet to try an adjustment"
    return f"{few}: about {words.rounded_up(more)} more" if math.isfinite(more) else few


def _framed(verdict: Verdict, doing: str, saved: str, unit: str) -> str:
    """Return what to do, what it saved, and what it does not fix."""
    if verdict.fault == "sign":
        return f"{FAULTS[verdict.fault].look}; until then {doing} {saved}"
    if verdict.fault == "sensitivity":
        return f"{doing} now {saved}; its gain still moves"
    if verdict.fault != "drift":
        return f"{doing} {saved}"
    how_fast = f", {words.rate(verdict, unit)[0]}" if verdict.slope_per_day.is_known else ""
    return f"{doing} now {saved}; it is still drifting{how_fast}"


def _doing(verdict: Verdict, remedy: Remedy, p: Pairs, unit: str) -> list[str]:
    """Return what a remedy does to a value, and what to u, in the numbers of the sentence."""
    if verdict.fault == "sensitivity":
        return [f"divide its value and its u by {words.estimated(verdict.size, 1.0)[0]}"]
    if math.isfinite(remedy.slope):
        line, slope = _line(verdict, remedy, p.value, unit)
        same = abs(abs(remedy.slope) - 1.0) < _SAME_U
        return [line] if same else [line, words.spread_times(slope.removeprefix("-"), p.spread)]
    parts = []
    if math.isfinite(remedy.add):
        verb = "add" if remedy.add >= 0.0 else "subtract"
        parts.append(f"{verb} {words.with_unit(words.offset_size(verdict)[0], unit)}")
    if math.isfinite(remedy.scale_u):
        parts.append(words.spread_times(words.factor(verdict.scale, remedy.scale_u), p.spread))
    return parts


def _line(verdict: Verdict, remedy: Remedy, values: Float, unit: str) -> tuple[str, str]:
    """Return a linear correction and its slope, which is rounded as its values need.

    Rounding the slope leaves the line unchanged at the middle of the values.
    """
    low, high = float(values.min()), float(values.max())
    half, size = 0.5 * (high - low), abs(remedy.slope)
    step, gain = _RESOLVED * remedy.crps_after, verdict.gain
    if gain.is_known:
        unsure = size * 0.5 * (gain.upper - gain.lower) / abs(gain.value)
        step = max(step, _UNSURE * min(unsure, size) * half)
    slope = exactly(remedy.slope, min(step / max(half, abs(step)), 0.1 * size))
    middle = 0.5 * (low + high)
    intercept = exactly(remedy.intercept + (remedy.slope - float(slope)) * middle, step)
    return words.instead(intercept, slope, unit), slope


def document(verdict: Verdict, unit: str) -> verdict_document.Verdict:
    """Return a verdict for JSON; unknown numbers are null.

    ``fault``, ``estimate`` and all that belongs to them are null unless ``state`` is "fault".
    """
    is_fault = verdict.state == FAULT
    size = verdict.size
    return verdict_document.Verdict(
        state=verdict.state,
        fault=verdict.fault if is_fault else None,
        quality=quality_of(verdict),
        sentence=verdict.sentence,
        advice=verdict.advice,
        error_model=verdict.error_model,
        estimate=finite(size.value) if is_fault else None,
        lower=finite(size.lower) if is_fault else None,
        upper=finite(size.upper) if is_fault else None,
        unit=estimate_unit(verdict.fault, unit) if is_fault else "",
        fault_estimate=_fault_estimate(verdict, unit) if is_fault else None,
        slope_per_day=finite(verdict.drift_per_day) if is_fault else None,
        since=instant(verdict.began) or None if is_fault else None,
        changed=instant(verdict.changed) or None if is_fault else None,
        due=instant(verdict.due) or None if is_fault else None,
        right_since=instant(verdict.right_since) or None,
        explained=finite(verdict.explained) if verdict.explained else None,
        pairs=verdict.pairs,
        first_pair=instant(verdict.first) or None,
        remedy=None if verdict.remedy is None else _remedy(verdict.remedy),
    )


def _fault_estimate(verdict: Verdict, unit: str) -> verdict_document.Estimate:
    """Return the numbers of the metric, with their unit."""
    own = fault_estimate(verdict)
    return verdict_document.Estimate(
        value=finite(own.value),
        lower=finite(own.lower),
        upper=finite(own.upper),
        unit=fault_estimate_unit(verdict, unit),
    )


def _remedy(remedy: Remedy) -> verdict_document.Remedy:
    return verdict_document.Remedy(
        kind=remedy.kind,
        add=finite(remedy.add),
        slope=finite(remedy.slope),
        intercept=finite(remedy.intercept),
        scale_u=finite(remedy.scale_u),
        pairs=remedy.pairs,
        crps_before=finite(remedy.crps_before),
        crps_after=finite(remedy.crps_after),
        interval_before=finite(remedy.interval_before),
        interval_after=finite(remedy.interval_after),
    )
