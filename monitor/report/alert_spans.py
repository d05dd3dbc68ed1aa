"""The alerts that the daemon would have raised over a file, each from its firing to its end."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from monitor.core.detector.full_replays import AlertChange
from monitor.report.recorded import Recorded


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
    found: list[AlertSpan] = []
    for change in sorted(recorded.changes, key=lambda each: each.time):
        row = change.series
        if change.before == "firing" and row in firing:
            found.append(AlertSpan(firing.pop(row), change, ends.get(row, -inf)))
            ends[row] = change.time
        if change.after == "firing":
            firing[row] = change
    found += [AlertSpan(began, None, ends.get(row, -inf)) for row, began in firing.items()]
    return sorted(found, key=lambda each: each.began.time)
