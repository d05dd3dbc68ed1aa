"""What a recorded file says of its sensors: verdicts over all pairs, and incidents by date."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.replay import AlertChange
from monitor.core.diagnosis.fault_reports import Asked, FaultReport, at_alarms, fault_reports
from monitor.core.formatting import finite, instant
from monitor.core.verdict import FAULT, Pairs, Verdict, estimate_unit, judge_file
from monitor.report.recorded import Recorded

_FIRST_LOOKS: Final = (1, 5, 10, 20, 35, 50)  # pairs from the alarm on


def incidents_of(recorded: Recorded, windows: Columns) -> list[dict[str, Any]]:
    """Return the incidents that the daemon would have raised over the file, in event order.

    None for a file without times.
    """
    firing: dict[int, AlertChange] = {}
    found: list[tuple[AlertChange, AlertChange | None]] = []
    for change in sorted(recorded.changes, key=lambda each: each.time):
        if change.before == "firing" and change.series in firing:
            found.append((firing.pop(change.series), change))
        if change.after == "firing":
            firing[change.series] = change
    found += [(began, None) for began in firing.values()]
    found.sort(key=lambda each: each[0].time)
    return [_incident(recorded, windows, *each) for each in found] if recorded.timed else []


def _incident(
    recorded: Recorded, windows: Columns, began: AlertChange, ended: AlertChange | None
) -> dict[str, Any]:
    """Return one incident with the figures that it has now, or last had under its longest name."""
    name = recorded.names[began.series]
    one = windows.take(np.array([began.series]))
    alarm = int(np.searchsorted(one.time, began.time, side="right")) - 1
    end = one.value.size
    if ended is not None:
        end = int(np.searchsorted(one.time, ended.time, side="right"))
    rules = recorded.rules[began.series]
    (onset,) = at_alarms([one.rows(slice(0, alarm + 1))])
    looks = [one.rows(slice(0, last)) for last in (alarm + 1, *_moments(alarm, end))]
    found = fault_reports([Asked(each, began.family, alarm, onset, rules) for each in looks])
    clear = [
        (pairs, report)
        for pairs, report in zip(looks[1:], found[1:], strict=True)
        if report.verdict.state == FAULT
    ]
    told = found[0] if not clear else clear[-1][1] if ended is None else _longest(clear)
    labels: list[dict[str, str]] = []
    for pairs, report in clear:
        if not labels or labels[-1]["fault"] != report.alert:
            since = onset.began if not labels else float(pairs.time[-1])
            labels.append({"since": instant(since), "fault": report.alert})
    return {
        "sensor": name.sensor,
        "quantity": name.quantity,
        "alert": told.alert,
        "onset": instant(told.since),
        "since": instant(began.time),
        "until": None if ended is None else instant(ended.time),
        "estimate": finite(told.estimate.value),
        "lower": finite(told.estimate.lower),
        "upper": finite(told.estimate.upper),
        "unit": estimate_unit(told.alert, name.unit),
        "slope_per_day": finite(told.verdict.slope_per_day.value),
        "labels": labels,
        "sentence": f"{name.sensor} {told.sentence}",
    }


def _longest(clear: list[tuple[Columns, FaultReport]]) -> FaultReport:
    """Return the last report under the name that an incident bore for most of its pairs."""
    pairs: dict[str, int] = {}
    before = clear[0][0].value.size - 1
    for one, report in clear:
        pairs[report.alert] = pairs.get(report.alert, 0) + one.value.size - before
        before = one.value.size
    most = max(pairs, key=lambda alert: pairs[alert])
    return next(report for _, report in reversed(clear) if report.alert == most)


def _moments(alarm: int, end: int) -> list[int]:
    """Return how many pairs there were when an incident is looked at: often at first, and last."""
    steps = [*_FIRST_LOOKS]
    while alarm + steps[-1] < end:
        steps.append(steps[-1] + max(steps[-1] // 4, 1))
    return [*(alarm + step for step in steps if alarm + step < end), end]


def judgements(recorded: Recorded, windows: Columns) -> list[Verdict]:
    """Return what all pairs of each series say, one verdict a series."""
    last = {each.series: each.after for each in sorted(recorded.changes, key=lambda one: one.time)}
    return [
        judge_file(
            Pairs.of(windows.take(np.array([row])), timed=recorded.timed),
            unit=name.unit,
            fires=recorded.timed and last.get(row) == "firing",
        )
        for row, name in enumerate(recorded.names)
    ]
