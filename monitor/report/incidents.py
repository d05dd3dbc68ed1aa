"""What a recorded file shows of its sensors: verdicts over all pairs, and incidents by date."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.full_replays import AlertChange
from monitor.core.diagnosis.fault_reports import Asked, FaultReport, fault_reports
from monitor.core.diagnosis.onsets import at_alarms
from monitor.core.fleet.suspect_references import Suspect
from monitor.core.formatting import finite, instant
from monitor.core.verdict import FAULT, Pairs, Verdict, estimate_unit, judge_file
from monitor.core.verdict.sentences import past_sentence
from monitor.core.verdict.words import counted
from monitor.report.alert_spans import AlertSpan, alert_spans
from monitor.report.recorded import Recorded
from monitor.report.wrong_references import WrongReferences, explaining

_FIRST_LOOKS: Final = (1, 5, 10, 20, 35, 50)  # pairs from the alarm on


def incidents_of(
    recorded: Recorded, windows: Columns, wrong: WrongReferences
) -> list[dict[str, Any]]:
    """Return the incidents that the daemon would have raised over the file, in event order.

    None for a file without times. A lasting incident is described in the present tense, a past one
    in the past tense; ``explained`` is the sentence on its reference if that was ``wrong`` and the
    sensor was not.
    """
    if not recorded.timed:
        return []
    return [
        _incident(recorded, windows, each)
        | _explained(explaining(wrong.get(each.began.series, []), each.began.time))
        for each in alert_spans(recorded)
    ]


def _explained(reference: Suspect | None) -> dict[str, str | None]:
    return {"explained": None if reference is None else reference.sentence}


def _incident(recorded: Recorded, windows: Columns, of: AlertSpan) -> dict[str, Any]:
    """Return one incident with its present figures, or its last ones under its longest name."""
    began, ended = of.began, of.ended
    name = recorded.names[began.series]
    one = windows.take(np.array([began.series]))
    alarm = int(np.searchsorted(one.time, began.time, side="right")) - 1
    end = one.value.size
    if ended is not None:
        end = int(np.searchsorted(one.time, ended.time, side="right"))
    rules = recorded.rules[began.series]
    fresh = max(alarm + 1 - int(np.searchsorted(one.time, of.before, side="right")), 1)
    (onset,) = at_alarms([one.rows(slice(0, alarm + 1))], [fresh], [rules])
    looks = [one.rows(slice(0, last)) for last in (alarm + 1, *_moments(alarm, end))]
    found = fault_reports([Asked(each, began.family, alarm, onset, rules) for each in looks])
    clear = [
        (pairs, report)
        for pairs, report in zip(looks[1:], found[1:], strict=True)
        if report.verdict.state == FAULT
    ]
    labels: list[dict[str, str]] = []
    for pairs, report in clear:
        if not labels or labels[-1]["fault"] != report.alert:
            since = onset.began if not labels else float(pairs.time[-1])
            labels.append({"since": instant(since), "fault": report.alert})
    told = found[-1]
    if ended is not None:
        told = _longest(clear) if clear else found[0]
    verdict = told.verdict
    is_fault = verdict.state == FAULT
    alert = told.alert if is_fault or not labels else labels[-1]["fault"]
    sentence = told.sentence
    if ended is not None:
        sentence = past_sentence(verdict, name.unit, ended.time)
    return {
        "sensor": name.sensor,
        "quantity": name.quantity,
        "alert": alert,
        "onset": instant(onset.began),
        "since": instant(began.time),
        "until": None if ended is None else instant(ended.time),
        "estimate": finite(told.estimate.value) if is_fault else None,
        "lower": finite(told.estimate.lower) if is_fault else None,
        "upper": finite(told.estimate.upper) if is_fault else None,
        "unit": estimate_unit(alert, name.unit),
        "slope_per_day": finite(verdict.slope_per_day.value) if is_fault else None,
        "labels": labels,
        "sentence": f"{name.sensor} {sentence}",
    }


def _longest(clear: list[tuple[Columns, FaultReport]]) -> FaultReport:
    """Return the last report under the name that the incident had for most of its pairs."""
    pairs: dict[str, int] = {}
    before = clear[0][0].value.size - 1
    for one, report in clear:
        pairs[report.alert] = pairs.get(report.alert, 0) + one.value.size - before
        before = one.value.size
    most = max(pairs, key=lambda alert: pairs[alert])
    return next(report for _, report in reversed(clear) if report.alert == most)


def _moments(alarm: int, end: int) -> list[int]:
    """Return the numbers of pairs at which to look at an incident: often at first, and last."""
    steps = [*_FIRST_LOOKS]
    while alarm + steps[-1] < end:
        steps.append(steps[-1] + max(steps[-1] // 4, 1))
    return [*(alarm + step for step in steps if alarm + step < end), end]


def judgements(recorded: Recorded, windows: Columns, wrong: WrongReferences) -> list[Verdict]:
    """Return the verdict of all pairs of each series.

    Pairs with a reference that was ``wrong`` are left out where the sensor was right.
    """
    last = {each.series: each for each in sorted(recorded.changes, key=lambda one: one.time)}
    return [
        _judgement(recorded, windows.take(np.array([row])), row, last.get(row), wrong.get(row, []))
        for row in range(len(recorded.names))
    ]


def _judgement(
    recorded: Recorded, one: Columns, row: int, last: AlertChange | None, wrong: list[Suspect]
) -> Verdict:
    """Return the verdict on a series without the pairs whose reference was ``wrong``."""
    name, rules = recorded.names[row], recorded.rules[row]
    pairs = Pairs.of(one, timed=recorded.timed, systematic=rules.systematic)
    fires = last is not None and last.after == "firing"
    left_out = np.zeros(pairs.n, np.bool_)
    for each in wrong:
        left_out |= (pairs.time >= each.since) & (pairs.time <= each.until)
        fires &= last is None or explaining(wrong, last.time) is None
    if left_out.any():
        pairs = pairs.rows(np.flatnonzero(~left_out))
    found = judge_file(pairs, unit=name.unit, fires=recorded.timed and fires)
    if not left_out.any():
        return found
    without = f"{counted(int(left_out.sum()))} left out, when its reference was wrong"
    return found._replace(sentence=f"{found.sentence}; {without}")
