"""Reports on series whose alert is pending or fires: the fault, its size, what fixes it.

Reports are derived from the windows and the detector's state, and recomputed for series that
changed. A verdict takes a millisecond or two, so if many series must be judged at once new alerts
come first, then the series with the oldest reports.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from math import inf, isnan
from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.detector import Detector
from monitor.core.detector.e_values import FAMILIES
from monitor.core.detector.lifecycle import OK
from monitor.core.diagnosis.columns_of import SeriesColumns
from monitor.core.diagnosis.onsets import PAIRS_MAX, Onset, Onsets, at_alarms, own_pairs
from monitor.core.formatting import finite
from monitor.core.model import NAN, Bool, Int, Records
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.steps import Steps, portions
from monitor.core.verdict import (
    FAULT,
    Pairs,
    Slope,
    Slopes,
    Verdict,
    judge,
    judge_all,
    judge_whole,
    shows,
)
from monitor.core.verdict.judge import due_of
from monitor.core.verdict.pairs import ManyPairs
from monitor.core.verdict.sentences import with_words
from monitor.core.verdict.verdict import RELATED
from monitor.core.verdict.whole import repairs

FRESH_PAIRS: Final = 20  # pairs after the alarm within which a report has priority
_REPORTED_AT_ONCE: Final = 16
_FIRST_PAIRS: Final = 12  # of an incident, after which the newest form of it may begin


class FaultReport(NamedTuple):
    """A verdict on a series that is not calm, under the name of an alert.

    ``alert`` is the verdict's fault, or the detector's leading family while none is clear.
    """

    alert: str
    verdict: Verdict


class Clock(NamedTuple):
    """The clock of a reference: ``late`` by some pairs since a time (s UTC), ahead if negative."""

    late: int
    since: float


class Asked(NamedTuple):
    """The last pairs of one series that is to be judged.

    ``leading`` is the detector's family with the most evidence, ``alarm`` the pair at which it
    fired (negative if that was before the first), None if it has not; ``onset`` is from that alarm.
    ``held``: how many of the pairs came after the last alert had ended. ``clock`` is that of their
    reference where it is wrong.
    """

    pairs: Columns
    leading: str
    alarm: int | None = None
    onset: Onset | None = None
    rules: SeriesRules = SeriesRules()
    held: int = PAIRS_MAX
    clock: Clock | None = None

    def by_one_clock(self) -> Asked:
        """Return the pairs with the references that were measured at the time of the readings."""
        if self.clock is None:
            return self
        every, late = np.arange(self.pairs.value.size), abs(self.clock.late)
        before, since = np.split(every, [int(np.searchsorted(self.pairs.time, self.clock.since))])
        own, other = since[late:], since[: max(since.size - late, 0)]
        if self.clock.late < 0:
            own, other = other, own
        rows, of = np.append(before, own), np.append(before, other)
        if not rows.size:
            return self
        pairs, right = (self.pairs.select(each, np.zeros(1, np.int64)) for each in (rows, of))
        pairs = replace(pairs, reference=right.reference, u_ref=right.u_ref, stated_crps=None)
        alarm, held = self.alarm, self.held
        if alarm is not None and alarm >= 0:
            alarm = min(int(np.searchsorted(rows, alarm)), rows.size - 1)
        if held < every.size:
            held = max(int((rows >= every.size - held).sum()), 1)
        return self._replace(pairs=pairs, alarm=alarm, held=held, clock=None)


class CalmPairs(NamedTuple):
    """The pairs of series since the fault of their last alert ended; ``is_part``: after others."""

    pairs: ManyPairs
    is_part: Bool


def calm_pairs(last: ManyPairs, held: Int) -> CalmPairs:
    """Return the pairs since the repair, if the alert ended ``held`` of the last ones ago."""
    is_part, begin = held < last.n, np.zeros_like(last.n)
    parts = np.flatnonzero(is_part).tolist()
    begin[parts] = repairs(last.some(parts), (last.n - held)[parts].tolist())
    return CalmPairs(last.since(begin), is_part)


def fault_reports(asked: Sequence[Asked]) -> list[FaultReport]:
    """Return the report on each series from its last pairs.

    While no alert fires, it is what all pairs since the last alert show. While one fires, it is
    what the newest pairs show, or all pairs of the incident where these are alike or not clear.
    """
    asked = [each.by_one_clock() for each in asked]
    calm = [each for each in asked if each.alarm is None]
    last = ManyPairs.of([last_pairs(each.pairs, [each.rules])[0] for each in calm])
    whole = calm_pairs(last, np.array([each.held for each in calm], dtype=np.int64))
    units = [each.rules.unit for each in calm]
    verdicts = iter(judge_whole(whole.pairs, unit=units, is_part=whole.is_part.tolist()))
    fired = iter(_of_alarms([each for each in asked if each.alarm is not None]))
    judged = [next(verdicts if each.alarm is None else fired) for each in asked]
    return [
        FaultReport(one.fault if shows(one) else each.leading, one)
        for each, one in zip(asked, judged, strict=True)
    ]


def _of_alarms(asked: Sequence[Asked]) -> list[Verdict]:
    last = [last_pairs(each.pairs, [each.rules])[0] for each in asked]
    verdicts = judge_all(
        last,
        alarm=[
            max((of.alarm or 0) - of.pairs.value.size + each.n, 0)
            for of, each in zip(asked, last, strict=True)
        ],
        began=[NAN if each.onset is None else each.onset.began for each in asked],
        healthy=[None if each.onset is None else each.onset.healthy for each in asked],
        tolerance=[NAN if each.rules.tolerance is None else each.rules.tolerance for each in asked],
        unit=[each.rules.unit for each in asked],
    )
    starts = [
        one.since if of.onset is None else int(np.searchsorted(p.time, of.onset.began))
        for of, one, p in zip(asked, verdicts, last, strict=True)
    ]
    some = [i for i, each in enumerate(verdicts) if _may_be_one(each, starts[i])]
    own = [last[i].rows(slice(starts[i], None)) for i in some]
    units = [asked[i].rules.unit for i in some]
    for i, p, whole in zip(some, own, judge_whole(own, unit=units, is_one=True), strict=True):
        first, since = verdicts[i], starts[i]
        # A few far errors also widen all: only a level explains them better.
        is_wider = first.fault == "outliers" and whole.fault in ("understated", "overstated")
        if whole.state == FAULT and not is_wider:
            named = whole._replace(
                since=since + whole.since,
                segment=since + whole.segment,
                began=first.began,
                healthy=first.healthy,
                tolerance=first.tolerance,
            )
            dated = named._replace(due=due_of(named, p, first.tolerance))
            verdicts[i] = with_words(dated, last[i], asked[i].rules.unit, whole.typical, fired=True)
    return verdicts


def _may_be_one(verdict: Verdict, first: int) -> bool:
    """Whether all pairs of an incident may show it best: it is unclear, or had one form only."""
    if not verdict.fault or verdict.state != FAULT:
        return bool(verdict.fault)
    is_whole = verdict.segment - first <= _FIRST_PAIRS and isnan(verdict.changed)
    return verdict.fault not in (*RELATED, "drift") and (is_whole or verdict.fault == "outliers")


def last_pairs(pairs: Columns, rules: Sequence[SeriesRules]) -> ManyPairs:
    """Return the pairs on which the series of ``pairs``, which have these settings, are judged."""
    most = np.array([min(PAIRS_MAX, each.window_pairs) for each in rules], dtype=np.int64)
    n = np.minimum(pairs.counts, most)
    return ManyPairs.of_columns(pairs, pairs.starts + pairs.counts - n, n, rules)


def unjudged(leading: str, pairs: Columns, fresh: int) -> FaultReport:
    """Return the report on a series that has not been judged yet; ``pairs`` are its own.

    The last ``fresh`` of them came after the previous incident had ended.
    """
    began = float(pairs.time[min(max(pairs.value.size - fresh, 0), pairs.value.size - 1)])
    verdict = judge(Pairs.of(pairs.rows(slice(0, 0))), alarm=0, began=began)
    return FaultReport(leading, verdict._replace(pairs=pairs.value.size))


class FaultReports:
    """State: the report on each series that is not calm, and which reports are out of date."""

    def __init__(self) -> None:
        self._known: dict[int, FaultReport] = {}
        self._onsets: dict[int, Onset] = {}
        self._raised_by: dict[int, int] = {}  # the pair of the epoch that raised each alarm
        self.changed = 0  # counts changes of the onsets
        self.voided = 0  # counts onsets that a change of the past made void
        self._voided_rows: set[int] = set()  # of them, those not judged again yet
        self._waiting: dict[int, None] = {}
        self._new: dict[int, None] = {}
        self._clocks: Mapping[int, Clock] = {}

    def get(self, row: int) -> FaultReport | None:
        """Return the report on a series, None if it has none."""
        return self._known.get(row)

    def onsets(self) -> Onsets:
        """Return the onsets of the incidents that last."""
        return [
            (
                *(row, each.alarm, each.began),
                *(each.healthy.on_reference.value, finite(each.healthy.on_reference.se)),
                *(each.healthy.on_value.value, finite(each.healthy.on_value.se)),
                each.healthy.pairs,
            )
            for row, each in self._onsets.items()
        ]

    def recall(self, onsets: Onsets) -> None:
        """Load what :meth:`onsets` returned; pairs from before the alarm may be gone by now."""
        for row, alarm, began, by_reference, se, by_value, se_value, pairs in onsets:
            on_reference = Slope(by_reference, inf if se is None else se)
            on_value = Slope(by_value, inf if se_value is None else se_value)
            self._onsets[row] = Onset(alarm, began, Slopes(on_reference, on_value, pairs))

    def voided_rows(self) -> list[int]:
        """Return the series whose onset is void and that have not been judged since.

        Their alert fired, and may turn out to be one that should never have.
        """
        return sorted(self._voided_rows)

    def recall_voided(self, rows: list[int]) -> None:
        """Load what :meth:`voided_rows` returned."""
        self._voided_rows.update(rows)

    def known(self) -> dict[int, FaultReport]:
        """Return the report on each series that has one; later changes do not alter the result."""
        return self._known.copy()

    def mark(self, series: Int, detector: Detector, suspicious: Bool) -> None:
        """Note that the windows of ``series`` changed; calm series need no report."""
        is_calm = (detector.states(series) == OK) & ~suspicious
        for row in series[is_calm].tolist():
            self.leave(row)
        others = series[~is_calm]
        since = detector.since_alarm(others)
        is_fresh = (since >= 0) & (since < FRESH_PAIRS)
        for row, soon in zip(others.tolist(), is_fresh.tolist(), strict=True):
            if row not in self._known or soon:
                self._waiting.pop(row, None)
                self._new[row] = None
            elif row not in self._new:
                self._waiting[row] = None

    def follow_clocks(self, clocks: Mapping[int, Clock]) -> None:
        """Take the wrong clocks of references by series; a change makes a report out of date."""
        differ = {row for row, _ in clocks.items() ^ self._clocks.items()}
        for row in sorted(differ & self._known.keys()):
            self._waiting.pop(row, None)
            self._new[row] = None
        self._clocks = clocks

    def steps(
        self,
        columns_of: SeriesColumns,
        detector: Detector,
        rules: Sequence[SeriesRules],
        most: int | None,
        disturbed: Collection[int] = (),
    ) -> Steps[Int]:
        """Judge at most ``most`` of the waiting series; return those whose report changed.

        Then every series that is not calm has a report, if only that it is not clear yet. Series
        ``disturbed`` between the steps wait, because their evidence does not include their pairs
        yet.
        """
        chosen = [*islice(chain(self._new, self._waiting), most)]
        for row in chosen:
            self._new.pop(row, None)
            self._waiting.pop(row, None)
        for part in portions(chosen, _REPORTED_AT_ONCE):
            self._new.update(dict.fromkeys(row for row in part if row in disturbed))
            settled = [row for row in part if row not in disturbed]
            self._judge(np.array(settled, dtype=np.int64), columns_of, detector, rules)
            yield
        bare = [row for row in self._new if row not in self._known]
        for part in portions(bare, _REPORTED_AT_ONCE):
            self._name(np.array(part), columns_of, detector)
            yield
        return np.array([*chosen, *bare], dtype=np.int64)

    def _name(self, series: Int, columns_of: SeriesColumns, detector: Detector) -> None:
        """Report only that the waiting series are not as right as they say."""
        series = columns_of.present(series)
        if series.size:
            windows, leading = columns_of.windows(series), detector.leading(series)
            fresh = own_pairs(detector, series, np.zeros_like(series))
            for at, row in enumerate(series.tolist()):
                family = FAMILIES[int(leading[at])]
                self._known[row] = unjudged(family, windows.take(np.array([at])), fresh[at])

    def _judge(
        self,
        series: Int,
        columns_of: SeriesColumns,
        detector: Detector,
        rules: Sequence[SeriesRules],
    ) -> None:
        # A series may have lost its pairs since it was selected.
        series = columns_of.present(series)
        if not series.size:
            return
        windows, leading = columns_of.windows(series), detector.leading(series)
        since, raised_by = detector.since_alarm(series), detector.alarms(series).tolist()
        held = detector.since_clear(series)
        asked: dict[int, Asked] = {}
        for at, row in enumerate(series.tolist()):
            one = windows.take(np.array([at]))
            alarm = one.value.size - 1 - int(since[at]) if since[at] >= 0 else None
            family = FAMILIES[int(leading[at])]
            asked[row] = Asked(
                *(one, family, alarm, None, rules[row], int(held[at])), self._clocks.get(row)
            )
        fresh = dict(zip(asked, own_pairs(detector, series, since), strict=True))
        self._remember(asked, dict(zip(asked, raised_by, strict=True)), fresh, columns_of)
        of_all = [each._replace(onset=self._onsets.get(row)) for row, each in asked.items()]
        self._known.update(zip(asked, fault_reports(of_all), strict=True))

    def _remember(
        self,
        asked: Mapping[int, Asked],
        raised_by: Mapping[int, int],
        fresh: Mapping[int, int],
        columns_of: SeriesColumns,
    ) -> None:
        """Update the onsets; an onset in memory stays while its alarm is the same."""
        lacking: dict[int, Columns] = {}
        before_all = {row: self._onsets.get(row) for row in asked}
        for row, (one, _, alarm, *_) in asked.items():
            self._settle(row)
            known, raised = self._onsets.pop(row, None), self._raised_by.pop(row, None)
            if alarm is None:
                continue
            self._raised_by[row] = raised_by[row]
            is_same = known is not None and (
                raised == raised_by[row] or (alarm >= 0 and known.alarm == float(one.time[alarm]))
            )
            if not is_same:
                before = columns_of.up_to_alarm(row, one.value.size - 1 - alarm)
                is_same = before is None or (
                    known is not None and alarm < 0 and known.alarm == float(before.time[-1])
                )
                if before is not None and not is_same:
                    lacking[row] = before
            if is_same and known is not None:
                self._onsets[row] = known
        onsets = at_alarms(
            [*lacking.values()],
            [fresh[row] for row in lacking],
            [asked[row].rules for row in lacking],
        )
        self._onsets.update(zip(lacking, onsets, strict=True))
        self.changed += any(self._onsets.get(row) != each for row, each in before_all.items())

    def leave(self, row: int) -> None:
        """Drop everything about a series that is calm or has no pairs to judge."""
        self._known.pop(row, None)
        self._waiting.pop(row, None)
        self._new.pop(row, None)
        self._raised_by.pop(row, None)
        self.changed += self._onsets.pop(row, None) is not None
        self._settle(row)

    def _settle(self, row: int) -> None:
        """Note that what is known of a series follows from its past as it is now."""
        self.changed += row in self._voided_rows
        self._voided_rows.discard(row)

    def forget(self, row: int, since: float) -> None:
        """Note that the past of a series changed from an event time on.

        An onset whose alarm is after that time is void.
        """
        if row in self._onsets and since <= self._onsets[row].alarm:
            del self._onsets[row]
            self._raised_by.pop(row, None)
            self._voided_rows.add(row)
            self.changed += 1
            self.voided += 1

    def void(self, changes: Records) -> None:
        """Drop the onsets of alarms after changed pairs, as soon as the changes are known.

        A journal then writes these changes together with the onsets that remain.
        """
        concerned = np.isin(changes["series"], np.array([*self._onsets], dtype=np.int64))
        for each in changes[concerned]:
            self.forget(int(each["series"]), float(each["time"]))
