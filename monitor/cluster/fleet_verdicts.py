"""What takes the whole fleet: who stands out, whom to call a person for, suspect references.

Rules of this file: it is judged on the driver, of what blocks say, by the daemon's own functions;
a calm series costs nothing here, unless thresholds hold it against the fleet's median. What a
block could not know of a series of the batch is a correction of its line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from monitor.alerts.ledger import View
from monitor.cluster.fleet_references import Found, Name, References
from monitor.cluster.recipes import over_fleet
from monitor.cluster.results import (
    STATISTICS,
    Line,
    Said,
    Stand,
    Summary,
)
from monitor.core.detector.replay import Change
from monitor.core.detector.thresholds import (
    Crossings,
    Judged,
    Threshold,
    Thresholds,
)
from monitor.core.diagnosis.faults import FAULTS, REFERENCE_SUSPECT, alert_meanings
from monitor.core.fleet import call_out
from monitor.core.fleet.call_out import FleetRules
from monitor.core.fleet.suspect_references import Suspect
from monitor.core.model import Bool
from monitor.core.registry import SeriesName
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.snapshot.state_sentences import Circumstances, sentence
from monitor.core.snapshot.states import explains

SHOWN_MAX: Final = 10_000  # series with alerts that the metrics show
_NO_CHANGE: Final = float("nan")


class Correction(NamedTuple):
    """What is so of a series, where it is not what its block said; ``page``: call a person."""

    alerts: list[str]
    sentence: str
    page: bool


class Right(NamedTuple):
    """What is so of the series of a batch where blocks could not know, by (sensor, quantity).

    ``series`` are those that blocks noted, ``suspicion`` what is said of the reference of others.
    """

    series: dict[Name, Correction]
    suspicion: dict[Name, str]

    def of(self, line: Line) -> Correction:
        """Return what is so of one series of the batch."""
        name = (line.sensor, line.quantity)
        known = self.series.get(name)
        if known is None and name in self.suspicion:
            said = f"{line.sentence} ({self.suspicion[name]})"
            return Correction([*line.alerts, REFERENCE_SUSPECT], said, page=False)
        return known or Correction(line.alerts, line.sentence, page=False)


class _Noted(NamedTuple):
    """What a driver that starts anew wants to know."""

    references: bytes
    crossings: Crossings


class Fleet:
    """State: the newest of each block that has said something since the driver began.

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
        self._rows: Final[dict[Name, int]] = {}
        self._stands: Final[list[Stand]] = []
        self._stirred: list[int] = []
        self._corrected: list[Correction] = []
        self._suspects: list[Found] = []
        self._beyond: dict[str, Bool] = {}

    def take(self, said: Sequence[tuple[int, Said]]) -> View:
        """Take what blocks said of one batch; return what is known of all now."""
        changed = set()
        self._stirred = []
        for block, each in said:
            self._blocks[block] = each.summary
            changed |= self.references.take(block, each.summary.references, each.parts)
            self._stirred += [self._note(stand) for stand in each.stands]
        self.references.judge(changed)
        self._suspects = self.references.suspects()
        self._beyond = self._thresholds.judge(self._judged())
        snapshot = self._judge()
        return View(
            snapshot,
            lambda row: self._stands[row].judgement,
            [
                Change(row, self._stands[row].changed_at, "", "", "")
                for row in self._stirred
                if not np.isnan(self._stands[row].changed_at)
            ],
            frozenset(row for row in self._stirred if self._stands[row].taken_back),
        )

    def right(self) -> Right:
        """Return what is so of the series of the last batch."""
        series = {}
        for row in self._stirred:
            line, right = self._stands[row].line, self._corrected[row]
            series[line.sensor, line.quantity] = right
        return Right(series, _suspicion(self._suspects))

    def suspects(self) -> list[Suspect]:
        """Return the references that look wrong."""
        return [_suspect(each, self._rows) for each in self._suspects]

    def note(self) -> bytes:
        """Return what a driver that starts anew wants to know."""
        return msgspec.msgpack.encode(_Noted(self.references.note(), self._thresholds.crossings()))

    def __len__(self) -> int:
        return len(self._blocks)

    def counted(self, name: str) -> Counter[str]:
        """Return the sum over blocks of ``states``, ``alerts`` or ``totals``."""
        found: Counter[str] = Counter()
        for summary in self._blocks.values():
            found.update(getattr(summary, name))
        if name == "alerts":
            found.update(dict.fromkeys((*alert_meanings(), *self._limits), 0))
            own = Counter(alert for each in self._corrected for alert in each.alerts)
            found.update({alert: own[alert] - found[alert] for alert in (*FAULTS, *self._beyond)})
            users = {name for each in self._suspects for name in each.series}
            known = sum(1 for name in users if self._is_faulty(name))
            found[REFERENCE_SUSPECT] = len(users) - known
        return found

    def total(self, name: str) -> int:
        """Return the sum over blocks of ``too_late``, ``state_bytes`` or ``counted``."""
        return sum(getattr(summary, name) for summary in self._blocks.values())

    def shown(self) -> Snapshot | None:
        """Return the series that alert and the worst of the others, None if there is no series."""
        alerting = [row for row, right in enumerate(self._corrected) if right.alerts]
        alerting.sort(key=lambda row: -self._stands[row].line.evidence)
        del alerting[SHOWN_MAX:]
        chosen = [(self._stands[row].line, self._corrected[row]) for row in alerting]
        named = {(line.sensor, line.quantity) for line, _ in chosen}
        others = {
            (line.sensor, line.quantity): line
            for line in (
                *(each.line for each in self._stands),
                *(line for summary in self._blocks.values() for line in summary.worst),
            )
        }
        calm = [line for name, line in others.items() if name not in named]
        calm.sort(key=lambda line: (-line.evidence, line.sensor, line.quantity))
        suspicion = _suspicion(self._suspects)
        for line in calm[: self._worst]:
            about = suspicion.get((line.sensor, line.quantity), "")
            chosen.append((line, self._right(_calm(line), about, (), explained=False)))
        if not chosen:
            return None
        return self._snapshot([line for line, _ in chosen], [right for _, right in chosen])

    # -- inside -----------------------------------------------------------------------------

    def _note(self, stand: Stand) -> int:
        name = (stand.line.sensor, stand.line.quantity)
        row = self._rows.setdefault(name, len(self._stands))
        if row == len(self._stands):
            self._stands.append(stand)
        else:
            self._stands[row] = stand
        return row

    def _judged(self) -> Judged:
        """Return what thresholds against the fleet look at."""
        stands = self._stands if self._medians else []
        table = np.array([each.medians for each in stands]).reshape(len(stands), len(self._medians))
        return Judged(
            [_name(each.line) for each in stands],
            dict(zip(self._medians, table.T, strict=False)),
            np.array([each.line.window_pairs for each in stands], dtype=np.int64),
            np.array([each.line.last_pair for each in stands]),
            np.array([not each.line.withdrawn for each in stands], dtype=np.bool_),
            lambda *_: (np.nan, np.nan),
        )

    def _judge(self) -> Snapshot:
        """Judge every series that is noted with all that is known now."""
        suspicion = _suspicion(self._suspects)
        explained = self._explained()
        beyond: dict[int, list[str]] = {}
        for name, crossed in self._beyond.items():
            for row in np.flatnonzero(crossed).tolist():
                beyond.setdefault(row, []).append(name)
        self._corrected = [
            self._right(
                each,
                suspicion.get((each.line.sensor, each.line.quantity), ""),
                beyond.get(row, ()),
                explained=row in explained,
            )
            for row, each in enumerate(self._stands)
        ]
        listed = self._listed()
        self._corrected = [
            right._replace(page=page)
            for right, page in zip(self._corrected, listed.tolist(), strict=True)
        ]
        return self._snapshot([each.line for each in self._stands], self._corrected)

    def _right(
        self, stand: Stand, suspicion: str, beyond: Sequence[str], *, explained: bool
    ) -> Correction:
        """Return what is so of a series."""
        line, judgement = stand.line, stand.judgement
        alerts = {*beyond, *line.alerts} - {*FAULTS, REFERENCE_SUSPECT}
        if stand.firing and judgement is not None and not explained:
            alerts.add(judgement.alert)
        if suspicion and not alerts.intersection(FAULTS):
            alerts.add(REFERENCE_SUSPECT)
        about = Circumstances(
            stand.uncompared_seconds,
            stand.rejected,
            suspicion,
            tuple(name for name in self._limits if name in alerts),
        )
        numbers = dict(zip(STATISTICS, line.statistics, strict=True))
        return Correction(
            [name for name in (*alert_meanings(), *self._limits) if name in alerts],
            sentence(line.state, judgement, line.window_pairs, numbers, about),
            page=False,
        )

    def _explained(self) -> set[int]:
        """Return which firing offsets a suspect reference explains."""
        found = set()
        for each in self._suspects:
            for name in each.series:
                row = self._rows.get(name)
                stand = None if row is None else self._stands[row]
                if row is None or stand is None or stand.judgement is None or not stand.firing:
                    continue
                own = stand.judgement
                if FAULTS[own.alert].mirrors and explains(each.estimate, own.estimate):
                    found.add(row)
        return found

    def _listed(self) -> Bool:
        """Return whom to call a person for."""
        lines = [each.line for each in self._stands]
        faulty = [not set(FAULTS).isdisjoint(each.alerts) for each in self._corrected]
        counted = [
            line.window_pairs > 0 and not (line.withdrawn and line.state == "stale")
            for line in lines
        ]
        eligible = np.array(faulty, dtype=np.bool_) & np.array(counted, dtype=np.bool_)
        return call_out.listed(
            np.array([each.discounted for each in self._stands]),
            eligible,
            eligible,
            self._rules,
            self.total("counted") - int(eligible.sum()),
        )

    def _is_faulty(self, name: Name) -> bool:
        row = self._rows.get(name)
        return row is not None and not set(FAULTS).isdisjoint(self._corrected[row].alerts)

    def _snapshot(self, lines: Sequence[Line], right: Sequence[Correction]) -> Snapshot:
        time = max((summary.time for summary in self._blocks.values()), default=0.0)
        table = np.array([line.statistics for line in lines], dtype=np.float64)
        table = table.reshape(len(lines), len(STATISTICS)).T
        rows = {(line.sensor, line.quantity): row for row, line in enumerate(lines)}
        return Snapshot(
            time=time,
            names=tuple(_name(line) for line in lines),
            statistics=dict(zip(STATISTICS, table, strict=True)),
            states=tuple(line.state for line in lines),
            alerts={
                name: np.array([name in each.alerts for each in right], dtype=np.bool_)
                for name in (*alert_meanings(), *self._limits)
            },
            evidence=np.array([line.evidence for line in lines]),
            sentences=tuple(each.sentence for each in right),
            advice=tuple(line.advice for line in lines),
            window_pairs=np.array([line.window_pairs for line in lines], dtype=np.int64),
            last_reading=np.array([line.last_reading for line in lines]),
            last_pair=np.array([line.last_pair for line in lines]),
            withdrawn=np.array([line.withdrawn for line in lines], dtype=np.bool_),
            paged=np.array([each.page for each in right], dtype=np.bool_),
            suspects=tuple(_suspect(each, rows) for each in self._suspects),
        )


def _name(line: Line) -> SeriesName:
    return SeriesName(line.sensor, line.quantity, line.unit, line.group)


def _calm(line: Line) -> Stand:
    """Return a series that its block had nothing to tell of."""
    return Stand(
        line,
        judgement=None,
        firing=False,
        discounted=0.0,
        rejected=0.0,
        uncompared_seconds=0.0,
        changed_at=_NO_CHANGE,
        taken_back=False,
        medians=[],
    )


def _suspicion(suspects: Sequence[Found]) -> dict[Name, str]:
    """Return what is said of the reference of each series that meets a suspect one."""
    return {name: _suspect(each, {}).sentence for each in suspects for name in each.series}


def _suspect(found: Found, rows: Mapping[Name, Any]) -> Suspect:
    quantity, reference, _ = found.key
    return Suspect(
        reference,
        quantity,
        found.unit,
        found.estimate,
        found.since,
        found.sensors,
        found.agree,
        tuple(rows[name] for name in found.series if name in rows),
    )
