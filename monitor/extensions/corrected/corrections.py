"""Recorded pairs as a corrected stream would have had them, and the gain.

Rules of this file: a remedy is published while an alert of the file's own pairs fires, at its alarm
and every ``LOOKS_APART`` pairs after it, by the daemon's own function; it ends with the alert. An
alert that a wrong reference explains publishes none.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import scipy

from monitor.core.columns import Columns
from monitor.core.diagnosis.fault_reports import Asked, fault_reports
from monitor.core.diagnosis.onsets import PAIRS_MAX, at_alarms
from monitor.core.formatting import aligned
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import SeriesName
from monitor.core.verdict import Pairs
from monitor.core.verdict.remedy import crps
from monitor.extensions.corrected.corrected import (
    Corrected,
    Told,
    corrected,
    half_width_in_words,
    in_words,
)
from monitor.report.incidents import AlertSpan, alert_spans
from monitor.report.recorded import Recorded
from monitor.report.scored import figure
from monitor.report.wrong_references import explaining, wrong_references

LOOKS_APART: Final = 8  # pairs
_AT_ONCE: Final = 64


class CorrectedSeries(NamedTuple):
    """A series with its pairs as they are and as they would have been corrected."""

    name: SeriesName
    pairs: Pairs
    corrected: Corrected

    @property
    def crps_as_sent(self) -> float:
        """Mean CRPS of the readings as sent, with u and the reference's u together."""
        p = self.pairs
        return float(np.mean(crps(p.error, np.hypot(p.u, p.u_ref))))

    @property
    def crps(self) -> float:
        """Mean CRPS of the corrected readings, with u and the reference's u together."""
        return float(np.mean(self.corrected.crps(self.pairs)))


def corrections(recorded: Recorded, level: float) -> list[CorrectedSeries]:
    """Return every series of a file corrected, with intervals of ``level``."""
    windows = recorded.columns(recorded.rules[0].level)
    wrong = wrong_references(recorded, windows)
    spans: dict[int, list[AlertSpan]] = defaultdict(list)
    for each in alert_spans(recorded):
        row = each.began.series
        if explaining(wrong.get(row, []), row, each.began.time) is None:
            spans[row].append(each)
    series = []
    for row, name in enumerate(recorded.names):
        one, rules = windows.take(np.array([row])), recorded.rules[row]
        pairs = Pairs.of(one, rules._replace(timed=recorded.timed))
        remedies = [each for span in spans[row] for each in _told(one, span, rules)]
        series.append(CorrectedSeries(name, pairs, corrected(pairs, remedies, level)))
    return series


def _told(one: Columns, span: AlertSpan, rules: SeriesRules) -> list[Told]:
    """Return the remedies of a series at each look at one alert, and their end."""
    alarm = int(np.searchsorted(one.time, span.began.time, side="right")) - 1
    fresh = max(alarm + 1 - int(np.searchsorted(one.time, span.before, side="right")), 1)
    (onset,) = at_alarms([one.rows(slice(0, alarm + 1))], [fresh], [rules])
    last = one.value.size
    ends = []
    if span.ended is not None:
        last = int(np.searchsorted(one.time, span.ended.time, side="right")) - 1
        ends = [Told(last, None)]
    looks = range(alarm, last, LOOKS_APART)
    changes = []
    for first in range(0, len(looks), _AT_ONCE):
        some = looks[first : first + _AT_ONCE]
        begins = [max(at + 1 - PAIRS_MAX, 0) for at in some]
        asked = [
            Asked(one.rows(slice(begin, at + 1)), span.began.family, alarm - begin, onset, rules)
            for at, begin in zip(some, begins, strict=True)
        ]
        remedies = [each.verdict.remedy for each in fault_reports(asked)]
        changes += [Told(*each) for each in zip(some, remedies, strict=True) if each[1] is not None]
    return [*changes, *ends]


# -- in words -------------------------------------------------------------------------------------

_HEADS: Final = (
    *("sensor", "quantity", "n", "within", "corrected"),
    *("width", "CRPS with u_ref", "corrected", "of it", "changes", "withdrawn"),
)


def corrected_lines(corrected_series: Sequence[CorrectedSeries]) -> list[str]:
    """Return the table and the sentences that ``monitor correct`` prints."""
    return [
        *aligned([_HEADS, *map(_figures, corrected_series)]),
        "",
        "now",
        *map(_now, corrected_series),
    ]


def _figures(of: CorrectedSeries) -> tuple[str, ...]:
    one, p = of.corrected, of.pairs
    stated = float(scipy.special.ndtri(0.5 + 0.5 * one.level)) * p.u
    width = float(np.nanmean(one.factor * one.u)) / max(float(np.mean(stated)), 1e-300)
    return (
        *(of.name.sensor, of.name.quantity, str(p.n)),
        f"{100.0 * float(np.mean(np.abs(p.error) <= stated)):.1f} %",
        f"{100.0 * float(np.mean(one.within(p.reference))):.1f} %",
        figure(width),
        *(figure(of.crps_as_sent), figure(of.crps), figure(of.crps / of.crps_as_sent)),
        str(len(one.adopted.steps) - 1),
        str(sum(each.taken_back for each in one.adopted.steps)),
    )


def _now(of: CorrectedSeries) -> str:
    """Return a sentence on how the next reading is corrected."""
    one, unit, spread = of.corrected, of.name.unit, of.pairs.spread
    doing = in_words(one.adopted.amendment, unit, spread) or "as sent"
    half = half_width_in_words(math.exp(one.log_factor), spread)
    return (
        f"{of.name.sensor} {of.name.quantity}: {doing}; "
        f"{100.0 * one.level:g} % of references then lie within {half}"
    )
