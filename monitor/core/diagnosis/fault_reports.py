"""What is known of each series whose alert is pending or fires: the fault, its size, what mends it.

Derived from the windows and the detector's state, and recomputed for series that changed. A
diagnosis takes a tenth of a millisecond, so where many series are to be diagnosed at once the new
alerts come first, then those whose report is the oldest.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, islice
from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.detector import RING, Detector
from monitor.core.detector.e_values import FAMILIES
from monitor.core.detector.lifecycle import OK
from monitor.core.diagnosis.columns_of import SeriesColumns
from monitor.core.diagnosis.diagnose import PROVISIONAL_PAIRS, diagnose
from monitor.core.diagnosis.estimates import UNKNOWN, Diagnosis, Estimate
from monitor.core.diagnosis.faults import UNCLEAR, advice_on, sentence_of
from monitor.core.model import Int
from monitor.core.steps import Steps, portions

_PAIRS_AFTER: Final = 100
_REPORTED_AT_ONCE: Final = 32

Units = Callable[[int], str]


class FaultReport(NamedTuple):
    """A fault in words: which (an alert's name), how large, since when, what would mend it.

    The entry in ``FAULTS`` says whether ``estimate`` has the series' unit; ``since`` is in s UTC.
    ``clear`` unless it is not known yet in which way it is wrong.
    """

    alert: str
    sentence: str
    advice: str
    estimate: Estimate
    since: float
    provisional: bool
    clear: bool = True


def fault_report(
    pairs: Columns, rho: float, leading: str, alarm: int | None, unit: str
) -> FaultReport:
    """Return what the last pairs of one series say; arguments as those of :func:`diagnose`."""
    found = diagnose(pairs, rho, leading, alarm)
    since = float(pairs.time[found.since])
    alert = leading if found.label == UNCLEAR else found.label
    sentence = sentence_of(found, unit, since)
    return FaultReport(
        alert,
        sentence,
        advice_on(found, pairs, unit),
        found.estimate,
        since,
        found.provisional,
        clear=not (found.hinted or found.label == UNCLEAR),
    )


def pairs_around(windows: Columns, row: int, alarm: float, until: float) -> tuple[Columns, int]:
    """Return the pairs of one series that tell of an alert, and which of them raised it.

    They end a hundred pairs after the alarm at the latest: an alert may last, and change.
    """
    one = windows.take(np.array([row]))
    raised = int(np.searchsorted(one.time, alarm, side="right")) - 1
    last = min(int(np.searchsorted(one.time, until, side="right")), raised + 1 + _PAIRS_AFTER)
    first = max(0, last - RING)
    return one.rows(slice(first, last)), raised - first


def undiagnosed(leading: str, pairs: Columns) -> FaultReport:
    """Return the report on a series that there was no time to diagnose; ``pairs`` are its own."""
    found = Diagnosis(UNCLEAR, UNKNOWN, 0, pairs.value.size, provisional=True)
    return FaultReport(
        leading, sentence_of(found, ""), "", found.estimate, float(pairs.time[0]), provisional=True
    )


class FaultReports:
    """State: the report on each series that is not calm, and which of them are out of date."""

    def __init__(self) -> None:
        self._known: dict[int, FaultReport] = {}
        self._waiting: dict[int, None] = {}
        self._new: dict[int, None] = {}

    def get(self, row: int) -> FaultReport | None:
        """Return what is known of a series."""
        return self._known.get(row)

    def mark(self, series: Int, detector: Detector) -> None:
        """Note that the windows of ``series`` changed: those that are calm need no report."""
        is_calm = detector.states(series) == OK
        for row in series[is_calm].tolist():
            self._known.pop(row, None)
            self.leave(row)
        others = series[~is_calm]
        since = detector.since_alarm(others)
        is_fresh = (since >= 0) & (since < PROVISIONAL_PAIRS)
        for row, soon in zip(others.tolist(), is_fresh.tolist(), strict=True):
            if row not in self._known or soon:
                self._waiting.pop(row, None)
                self._new[row] = None
            elif row not in self._new:
                self._waiting[row] = None

    def steps(
        self, columns_of: SeriesColumns, detector: Detector, units: Units, most: int | None
    ) -> Steps[Int]:
        """Diagnose at most ``most`` of the series that wait; return those with another report.

        Every series that is not calm has a report then, if only that it is not clear yet.
        """
        chosen = [*islice(chain(self._new, self._waiting), most)]
        for row in chosen:
            self._new.pop(row, None)
            self._waiting.pop(row, None)
        for part in portions(chosen, _REPORTED_AT_ONCE):
            self._diagnose(np.array(part), columns_of, detector, units)
            yield
        bare = [row for row in self._new if row not in self._known]
        for part in portions(bare, _REPORTED_AT_ONCE):
            self._name(np.array(part), columns_of, detector)
            yield
        return np.array([*chosen, *bare], dtype=np.int64)

    def _name(self, series: Int, columns_of: SeriesColumns, detector: Detector) -> None:
        """Report of series that wait only that they are not as right as they say."""
        series = columns_of.present(series)
        if series.size:
            windows, leading = columns_of.windows(series), detector.leading(series)
            for at, row in enumerate(series.tolist()):
                family = FAMILIES[int(leading[at])]
                self._known[row] = undiagnosed(family, windows.take(np.array([at])))

    def _diagnose(
        self, series: Int, columns_of: SeriesColumns, detector: Detector, units: Units
    ) -> None:
        # A series may have lost its pairs since it was chosen.
        series = columns_of.present(series)
        if not series.size:
            return
        windows, leading = columns_of.windows(series), detector.leading(series)
        rho, fresh = detector.rho(series), detector.since_alarm(series)
        for at, row in enumerate(series.tolist()):
            one = windows.take(np.array([at]))
            alarm = None if fresh[at] < 0 else one.value.size - 1 - int(fresh[at])
            family = FAMILIES[int(leading[at])]
            self._known[row] = fault_report(one, float(rho[at]), family, alarm, units(row))

    def leave(self, row: int) -> None:
        """Drop a series from the waiting list: it has no pairs to be diagnosed by."""
        self._waiting.pop(row, None)
        self._new.pop(row, None)
