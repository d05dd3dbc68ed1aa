"""Judgements over the whole fleet: whom to call a person for, medians, suspect references.

Rules of this file: the driver judges from the blocks' reports, with the daemon's own functions; a
calm series costs nothing here unless a threshold compares it with the fleet's median. Where a block
lacks knowledge of the fleet, the verdict on a series corrects its line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import msgspec
import numpy as np

from monitor.alerts.ledger import View
from monitor.core.detector.replay import AlertChange
from monitor.core.detector.thresholds import (
    Crossings,
    Judged,
    Threshold,
    Thresholds,
    over_fleet,
)
from monitor.core.fleet import call_out
from monitor.core.fleet.call_out import FleetRules
from monitor.core.fleet.suspect_references import Suspect
from monitor.core.model import Bool
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.snapshot.state_sentences import Circumstances, state_sentence
from monitor.core.snapshot.states import excused
from monitor.core.verdict import FAULTS, REFERENCE_SUSPECT, alert_meanings
from monitor.extensions.cluster.fleet_snapshot import (
    Found,
    Name,
    References,
    SeriesVerdict,
    calm_report,
    series_name,
    snapshot_of,
    suspect_of,
    suspicions,
)
from monitor.extensions.cluster.results import (
    STATISTICS,
    BlockReport,
    SeriesLine,
    SeriesReport,
    Summary,
)

SHOWN_MAX: Final = 10_000  # series with alerts that the metrics show


class FleetVerdict(NamedTuple):
    """The verdicts on the series of a batch, by (sensor, quantity).

    ``series`` are those that blocks reported; ``suspicion`` is the sentence on a suspect reference
    of any other.
    """

    series: dict[Name, SeriesVerdict]
    suspicion: dict[Name, str]

    def of(self, line: SeriesLine) -> SeriesVerdict:
        """Return the verdict on one series of the batch."""
        name = (line.sensor, line.quantity)
        known = self.series.get(name)
        if known is None and name in self.suspicion:
            sentence = f"{line.sentence} ({self.suspicion[name]})"
            return SeriesVerdict([*line.alerts, REFERENCE_SUSPECT], sentence, page=False)
        return known or SeriesVerdict(line.alerts, line.sentence, page=False)


class _Noted(NamedTuple):
    """The state that a restarted driver continues from."""

    references: bytes
    crossings: Crossings


class Fleet:
    """State: the newest report of each block since the driver started.

    ``thresholds`` are all that the settings have; ``noted`` is what :meth:`note` returned.
    """

    def __init__(
        self,
        worst: int,
        rules: FleetRules = FleetRules(),  # noqa: B008 - immutable
        thresholds: Sequence[Threshold] = (),
        noted: bytes = b"",
    ) -> None:
        self._worst: Final = worst
        self._rules: Final = rules
        of_fleet = over_fleet(thresholds)
        self._medians: Final = sorted({each.statistic for each in of_fleet})
        self._thresholds: Final = Thresholds(of_fleet)
        self._limits: Final = tuple(each.name for each in thresholds)
        before = msgspec.msgpack.decode(noted, type=_Noted) if noted else _Noted(b"", [])
        self._thresholds.recall(before.crossings)
        self.references: Final = References(before.references)
        self._blocks: Final[dict[int, Summary]] = {}
        self._totals_before: Final[dict[int, dict[str, int]]] = {}
        self._newest: Final[dict[int, list[int]]] = {}  # rows that came with the summaries
        self._rows: Final[dict[Name, int]] = {}
        self._reports: Final[list[SeriesReport]] = []
        self._stirred: list[int] = []
        self._verdicts: list[SeriesVerdict] = []
        self._suspects: list[Found] = []
        self._users: set[Name] = set()  # series with a suspect reference
        self._former: list[Found] = []
        self._beyond: dict[str, Bool] = {}

    def update(self, reports: Sequence[tuple[int, BlockReport]]) -> View:
        """Take the block reports of one batch; return the fleet's present state."""
        changed = set()
        self._stirred = []
        for block, each in reports:
            self._blocks[block] = each.summary
            self._totals_before.setdefault(block, each.summary.totals_before)
            changed |= self.references.update(block, each.summary.references, each.parts)
            self._newest[block] = [self._note(report) for report in each.series]
            self._stirred += self._newest[block]
        self.references.judge(changed)
        self._suspects = self.references.suspects()
        self._former = self.references.former()
        self._users = {name for each in self._accused() for name in each.series}
        self._users |= self._left_over().keys()
        self._beyond = self._thresholds.judge(self._judged())
        return View(
            self._judge(),
            [
                AlertChange(row, self._reports[row].changed_at, "", "", "")
                for row in self._stirred
                if not np.isnan(self._reports[row].changed_at)
            ],
            frozenset(row for row in self._stirred if self._reports[row].taken_back),
        )

    def verdict(self) -> FleetVerdict:
        """Return the verdicts on the series of the last batch."""
        series = {}
        for row in self._stirred:
            line, verdict = self._reports[row].line, self._verdicts[row]
            series[line.sensor, line.quantity] = verdict
        return FleetVerdict(series, suspicions(self._accused()))

    def suspects(self) -> list[Suspect]:
        """Return the suspect references."""
        return [suspect_of(each, self._rows) for each in self._accused()]

    def note(self) -> bytes:
        """Return what a restarted driver continues from."""
        return msgspec.msgpack.encode(_Noted(self.references.note(), self._thresholds.crossings()))

    def __len__(self) -> int:
        return len(self._blocks)

    def counted(self, name: str) -> Counter[str]:
        """Return the sum over blocks of ``states`` or ``alerts``."""
        counts: Counter[str] = Counter()
        for summary in self._blocks.values():
            counts.update(getattr(summary, name))
        if name == "alerts":
            counts.update(dict.fromkeys((*alert_meanings(), *self._limits), 0))
            own = Counter(alert for each in self._verdicts for alert in each.alerts)
            counts.update({alert: own[alert] - counts[alert] for alert in (*FAULTS, *self._beyond)})
            known = sum(1 for name in self._users if self._is_faulty(name))
            counts[REFERENCE_SUSPECT] = len(self._users) - known
        return counts

    def totals(self) -> Counter[str]:
        """Return what blocks have counted since the driver started."""
        counts: Counter[str] = Counter()
        for block, summary in self._blocks.items():
            counts.update(summary.totals)
            counts.subtract(self._totals_before[block])
        return counts

    def committed(self) -> int:
        """Return how many messages blocks have ever committed."""
        return sum(summary.totals.get("committed", 0) for summary in self._blocks.values())

    def total(self, name: str) -> int:
        """Return the sum over blocks of ``state_bytes`` or ``counted``."""
        return sum(getattr(summary, name) for summary in self._blocks.values())

    def shown(self) -> Snapshot | None:
        """Return the series that alert and the worst of the others, None if there is no series."""
        alerting = [row for row, verdict in enumerate(self._verdicts) if verdict.alerts]
        alerting.sort(key=lambda row: -self._reports[row].discounted)
        del alerting[SHOWN_MAX:]
        chosen = [(self._reports[row].line, self._verdicts[row]) for row in alerting]
        named = {(line.sensor, line.quantity) for line, _ in chosen}
        others = {
            (line.sensor, line.quantity): line
            for line in (
                *(self._reports[row].line for rows in self._newest.values() for row in rows),
                *(line for summary in self._blocks.values() for line in summary.worst),
            )
        }
        calm = [line for name, line in others.items() if name not in named]
        calm.sort(key=lambda line: (-line.evidence, line.sensor, line.quantity))
        suspicion = suspicions(self._accused())
        for line in calm[: self._worst]:
            about = suspicion.get((line.sensor, line.quantity), "")
            chosen.append((line, self._verdict(calm_report(line), about, (), explained=False)))
        if not chosen:
            return None
        lasting = [self._reports[row].discounted for row in alerting]
        lasting += [0.0] * (len(chosen) - len(lasting))
        lines, verdicts = [line for line, _ in chosen], [verdict for _, verdict in chosen]
        return self._snapshot(lines, verdicts, lasting)

    # -- inside -----------------------------------------------------------------------------

    def _note(self, report: SeriesReport) -> int:
        name = (report.line.sensor, report.line.quantity)
        row = self._rows.setdefault(name, len(self._reports))
        if row == len(self._reports):
            self._reports.append(report)
        else:
            self._reports[row] = report
        return row

    def _judged(self) -> Judged:
        """Return the columns that thresholds against the fleet's median compare."""
        reports = self._reports if self._medians else []
        medians = [each.medians for each in reports]
        table = np.array(medians).reshape(len(reports), len(self._medians))
        return Judged(
            [series_name(each.line) for each in reports],
            dict(zip(self._medians, table.T, strict=False)),
            np.array([each.line.window_pairs for each in reports], dtype=np.int64),
            np.array([each.line.last_pair for each in reports]),
            np.array([not each.line.withdrawn for each in reports], dtype=np.bool_),
            lambda *_: (np.nan, np.nan),
        )

    def _judge(self) -> Snapshot:
        """Judge every reported series with all that is known now."""
        fault_reports = {row: each.fault_report for row, each in enumerate(self._reports)}
        reports = {row: each for row, each in fault_reports.items() if each is not None}
        shared = suspicions([each for each in self._suspects if each.whose == "sensors"])
        suspicion = {
            **{name: words for name, words in shared.items() if self._rows.get(name) in reports},
            **self._left_over(),
            **suspicions(self._accused()),
        }
        suspects, former = (
            [suspect_of(each, self._rows) for each in some]
            for some in (self._accused(), self._former)
        )
        firing = np.array([each.firing for each in self._reports], dtype=np.bool_)
        explained = excused(suspects, former, reports, firing)
        beyond: dict[int, list[str]] = {}
        for name, crossed in self._beyond.items():
            for row in np.flatnonzero(crossed).tolist():
                beyond.setdefault(row, []).append(name)
        self._verdicts = [
            self._verdict(
                each,
                suspicion.get((each.line.sensor, each.line.quantity), ""),
                beyond.get(row, ()),
                explained=bool(explained[row]),
            )
            for row, each in enumerate(self._reports)
        ]
        listed = self._listed()
        self._verdicts = [
            verdict._replace(page=page)
            for verdict, page in zip(self._verdicts, listed.tolist(), strict=True)
        ]
        lasting = [each.discounted for each in self._reports]
        lines = [each.line for each in self._reports]
        return replace(self._snapshot(lines, self._verdicts, lasting), reports=reports)

    def _verdict(
        self, report: SeriesReport, suspicion: str, beyond: Sequence[str], *, explained: bool
    ) -> SeriesVerdict:
        """Return the verdict on a series."""
        line, fault_report = report.line, report.fault_report
        alerts = {*beyond, *line.alerts} - {*FAULTS, REFERENCE_SUSPECT}
        if report.firing and fault_report is not None and not explained:
            alerts.add(fault_report.alert)
        is_user = (line.sensor, line.quantity) in self._users
        if is_user and not alerts.intersection(FAULTS):
            alerts.add(REFERENCE_SUSPECT)
        about = Circumstances(
            report.uncompared_seconds,
            report.rejected,
            suspicion,
            tuple(name for name in self._limits if name in alerts),
            line.calm,
        )
        numbers = dict(zip(STATISTICS, line.statistics, strict=True))
        return SeriesVerdict(
            [name for name in (*alert_meanings(), *self._limits) if name in alerts],
            state_sentence(line.state, fault_report, line.window_pairs, numbers, about),
            page=False,
        )

    def _left_over(self) -> dict[Name, str]:
        """Return for each firing series the sentence on its reference, which was suspect."""
        return {
            name: suspect_of(each, {}).sentence
            for each in self._former
            for name in each.cleared
            if name in self._rows and self._reports[self._rows[name]].firing
        }

    def _listed(self) -> Bool:
        """Return whom to call a person for."""
        lines = [each.line for each in self._reports]
        faulty = [not set(FAULTS).isdisjoint(each.alerts) for each in self._verdicts]
        counted = [
            line.window_pairs > 0 and not (line.withdrawn and line.state == "stale")
            for line in lines
        ]
        eligible = np.array(faulty, dtype=np.bool_) & np.array(counted, dtype=np.bool_)
        return call_out.call_list(
            np.array([each.discounted for each in self._reports]),
            eligible,
            eligible,
            self._rules,
            self.total("counted") - int(eligible.sum()),
        )

    def _accused(self) -> list[Found]:
        """Return the suspects without the errors that sensors share."""
        return [each for each in self._suspects if each.whose != "sensors"]

    def _is_faulty(self, name: Name) -> bool:
        row = self._rows.get(name)
        return row is not None and not set(FAULTS).isdisjoint(self._verdicts[row].alerts)

    def _snapshot(
        self,
        lines: Sequence[SeriesLine],
        verdicts: Sequence[SeriesVerdict],
        lasting: Sequence[float],
    ) -> Snapshot:
        time = max((summary.time for summary in self._blocks.values()), default=0.0)
        alerts = (*alert_meanings(), *self._limits)
        suspects = self._accused(), self._former
        return snapshot_of(time, lines, verdicts, alerts, *suspects, lasting)
