"""Verdicts on the sensors of a recorded file, and incidents by date.

An incident is one alert that the daemon would have raised over the file, from its firing to its
end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.replay import AlertChange
from monitor.core.diagnosis.columns_of import pairs_to_alarm
from monitor.core.diagnosis.fault_reports import Asked, FaultReport, fault_reports
from monitor.core.diagnosis.onsets import Onset, at_alarms
from monitor.core.fleet.suspect_references import Suspect
from monitor.core.formatting import finite, instant
from monitor.core.model import NAN
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.snapshot.state_sentences import DOUBTED
from monitor.core.verdict import (
    FAULT,
    Pairs,
    Verdict,
    estimate_unit,
)
from monitor.core.verdict.sentences import past_sentence
from monitor.core.verdict.verdict import NOTHING, UNDECIDED
from monitor.core.verdict.whole import right_from
from monitor.core.verdict.words import counted
from monitor.report.recorded import Recorded
from monitor.report.wrong_references import WrongReferences, clock_at, excusing, explaining


class AlertSpan(NamedTuple):
    """An alert of one series, from its firing to its end, and when the previous one ended.

    ``ended`` is None while it fires, ``before`` -inf for the first.
    """

    began: AlertChange
    ended: AlertChange | None
    before: float


def alert_spans(recorded: Recorded) -> list[AlertSpan]:
    """Return the alerts of a file in the order in which they began."""
    firing: dict[int, AlertChange] = {}
    ends: dict[int, float] = {}
    spans: list[AlertSpan] = []
    for change in sorted(recorded.changes, key=lambda each: each.time):
        row = change.series
        if change.before == "firing" and row in firing:
            spans.append(AlertSpan(firing.pop(row), change, ends.get(row, -math.inf)))
            ends[row] = change.time
        if change.after == "firing":
            firing[row] = change
    spans += [AlertSpan(began, None, ends.get(row, -math.inf)) for row, began in firing.items()]
    return sorted(spans, key=lambda each: each.began.time)


_FIRST_LOOKS: Final = (1, 5, 10, 20, 35, 50)  # pairs from the alarm on


class Incident(NamedTuple):
    """The words that the daemon would have had for one alert of a file.

    ``pairs`` are those of its series; the alert fired at the pair ``alarm`` and ended before the
    pair ``end``. ``report`` is the newest report, of a past incident the last one under the name
    that it had longest. ``alert`` is its name, ``labels`` all its names with their dates.
    ``reference`` is the wrong reference that explains it, None if the sensor was at fault.
    ``repaired`` is when the fault ended, s UTC, which is before the all-clear; NaN while it lasts.
    """

    span: AlertSpan
    pairs: Columns
    alarm: int
    end: int
    onset: Onset
    report: FaultReport
    alert: str
    labels: list[dict[str, str]]
    reference: Suspect | None
    repaired: float = NAN


def incidents_of(recorded: Recorded, windows: Columns, wrong: WrongReferences) -> list[Incident]:
    """Return the incidents that the daemon would have raised over the file, in event order.

    Alerts of a sensor that was right while its reference was ``wrong`` are among them. Without
    times they have pair numbers for dates, which nobody prints.
    """
    return [_incident(recorded, windows, wrong, each) for each in alert_spans(recorded)]


def _incident(
    recorded: Recorded, windows: Columns, wrong: WrongReferences, of: AlertSpan
) -> Incident:
    began, ended = of.began, of.ended
    one = windows.take(np.array([began.series]))
    alarm = int(np.searchsorted(one.time, began.time, side="right")) - 1
    end = one.value.size
    if ended is not None:
        end = int(np.searchsorted(one.time, ended.time, side="right"))
    rules = dated_rules(recorded, began.series)
    fresh = max(alarm + 1 - int(np.searchsorted(one.time, of.before, side="right")), 1)
    before = max(alarm + 1 - pairs_to_alarm(rules.window_pairs), 0)
    (onset,) = at_alarms([one.rows(slice(before, alarm + 1))], [fresh], [rules])
    looks = [one.rows(slice(0, last)) for last in (alarm + 1, *_moments(alarm, end))]
    suspect = clock_at(wrong.get(began.series, []), began.time)
    clock = None if suspect is None else suspect.clock
    reports = fault_reports(
        [Asked(each, began.family, alarm, onset, rules, clock=clock) for each in looks]
    )
    clear = [
        (pairs, report)
        for pairs, report in zip(looks[1:], reports[1:], strict=True)
        if report.verdict.state == FAULT
    ]
    labels: list[dict[str, str]] = []
    for pairs, report in clear:
        if not labels or labels[-1]["fault"] != report.alert:
            since = onset.began if not labels else float(pairs.time[-1])
            labels.append({"since": instant(since), "fault": report.alert})
    report = reports[-1]
    if ended is not None:
        report = _longest(clear) if clear else reports[0]
    is_named = report.verdict.state == FAULT or not labels
    alert = report.alert if is_named else labels[-1]["fault"]
    reference = explaining(wrong.get(began.series, []), began.series, began.time)
    if reference is None and report.verdict.state != FAULT:
        reference = suspect
    repaired = NAN
    if ended is not None:  # the all-clear at the latest
        at = right_from(Pairs.of(one, rules), alarm, end)
        repaired = float(one.time[min(at, end - 1)])
    return Incident(of, one, alarm, end, onset, report, alert, labels, reference, repaired)


def incident_document(of: Incident, recorded: Recorded) -> dict[str, Any]:
    """Return an incident as plain values, with its present figures or its last ones.

    A lasting incident is described in the present tense, a past one in the past tense;
    ``explained`` is the sentence on its reference if that was wrong and the sensor was not.
    """
    name, verdict, estimate = recorded.names[of.span.began.series], of.report.verdict, NOTHING
    if verdict.state == FAULT:
        estimate = of.report.verdict.size
    ended, sentence = of.span.ended, of.report.verdict.sentence
    if ended is not None:
        if verdict.changed >= of.repaired:  # to being right
            verdict = verdict._replace(changed=NAN)
        sentence = past_sentence(verdict, name.unit, of.repaired)
    slope = verdict.drift_per_day if verdict.state == FAULT else NAN
    return {
        "sensor": name.sensor,
        "quantity": name.quantity,
        "alert": of.alert,
        "since": instant(of.onset.began),
        "fired": instant(of.span.began.time),
        "until": None if ended is None else instant(ended.time),
        "estimate": finite(estimate.value),
        "lower": finite(estimate.lower),
        "upper": finite(estimate.upper),
        "unit": estimate_unit(of.alert, name.unit),
        "slope_per_day": finite(slope),
        "labels": of.labels,
        "sentence": f"{name.sensor} {sentence}",
        "explained": None if of.reference is None else of.reference.sentence,
    }


def lasting(incident: Mapping[str, Any]) -> str:
    """Return from when to when an incident's alert fires, to the minute."""
    began = _to_the_minute(incident["fired"])
    if incident["until"] is None:
        return f"{began} UTC, ongoing"
    return f"{began} to {_to_the_minute(incident['until'])} UTC"


def _to_the_minute(moment: str) -> str:
    """Return "2026-03-01 06:12" of "2026-03-01T06:12:00Z"."""
    return moment[:16].replace("T", " ")


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


class Findings(NamedTuple):
    """The verdict on each series of a file, and the incidents of all in event order."""

    verdicts: list[Verdict]
    incidents: list[Incident]


def findings_of(recorded: Recorded, windows: Columns, wrong: WrongReferences) -> Findings:
    """Return what a file shows, with the same figures for one fault wherever it stands.

    The verdict is what the daemon would say at the end: on the incident that lasts, or on the pairs
    since the last one. Pairs with a reference that was ``wrong`` are left out of a verdict where
    the sensor was right. Incidents without times are not listed.
    """
    incidents = incidents_of(recorded, windows, wrong)
    own: dict[int, Incident] = {}
    for each in incidents:
        if each.reference is None:
            own[each.span.began.series] = each
    verdicts = [
        _beside(_judgement(recorded, windows.take(np.array([row])), row, own.get(row), of), row, of)
        for row in range(len(recorded.names))
        for of in [wrong.get(row, [])]
    ]
    return Findings(verdicts, incidents if recorded.timed else [])


def _judgement(
    recorded: Recorded,
    one: Columns,
    row: int,
    last: Incident | None,
    wrong: Sequence[Suspect],
) -> Verdict:
    """Return the verdict on a series at the end of its recording, given its ``last`` incident."""
    if last is not None and last.span.ended is None:
        return last.report.verdict
    held = one.value.size if last is None else one.value.size - last.end
    left_out = np.zeros(one.value.size, np.bool_)
    suspect = clock_at(wrong, float(one.time[-1]))
    wrong = excusing(wrong, row)
    for each in wrong:
        left_out |= (one.time >= each.since) & (one.time <= each.until)
    if left_out.any():
        held -= int(left_out[one.value.size - held :].sum())
        one = one.select(np.flatnonzero(~left_out), np.zeros(1, dtype=np.int64))
    clock = None if suspect is None or suspect in wrong else suspect.clock
    asked = Asked(one, "", None, None, dated_rules(recorded, row), held, clock)
    (report,) = fault_reports([asked])
    verdict = report.verdict
    if left_out.any():
        verdict = _in_doubt(verdict, int(left_out.sum()), wrong)
    return verdict


def _beside(verdict: Verdict, row: int, wrong: Sequence[Suspect]) -> Verdict:
    """Return a verdict that says if other sensors of its reference share the fault that lasts.

    While the reference itself may be wrong, a fault that it does not explain has no advice: its
    size is not known.
    """
    lasting = [each for each in wrong if math.isinf(each.until) and each.clock is None]
    if not lasting:
        return verdict
    with_reference = verdict._replace(sentence=f"{verdict.sentence} ({lasting[-1].sentence})")
    if lasting[-1].whose == "sensors":
        return with_reference
    is_own = verdict.state == FAULT and row not in lasting[-1].cleared
    return with_reference._replace(advice="") if is_own else verdict


def dated_rules(recorded: Recorded, row: int) -> SeriesRules:
    """Return the rules of a series, with dates in sentences only where pairs have times."""
    return recorded.rules[row]._replace(timed=recorded.timed)


def _in_doubt(verdict: Verdict, left_out: int, wrong: Sequence[Suspect]) -> Verdict:
    """Return a verdict with the doubt about pairs that it leaves out, which never make it right."""
    lasting = [each for each in wrong if math.isinf(each.until)]
    doubt = f"{counted(left_out)} left out: {(lasting or wrong)[-1].sentence}"
    if lasting and verdict.state != FAULT:
        return verdict._replace(state=UNDECIDED, sentence=f"{DOUBTED}; {doubt}")
    return verdict._replace(sentence=f"{verdict.sentence}; {doubt}")
