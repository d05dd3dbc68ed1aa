"""States, alerts and sentences of all series at one instant.

States and alerts are computed for whole columns; sentences series by series, and only where their
content changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core.analysis.ranking import Profile
from monitor.core.detector.lifecycle import FIRING, PENDING
from monitor.core.detector.thresholds import Judged, Threshold, Thresholds
from monitor.core.diagnosis.fault_reports import FaultReport
from monitor.core.fleet import call_out
from monitor.core.fleet.averaged_errors import Averaged, averaged_errors
from monitor.core.fleet.call_out import FleetRules
from monitor.core.fleet.suspect_references import Suspect
from monitor.core.model import NAN, Bool, Float, Int
from monitor.core.pairing.pairing_rules import PAIRING_RULES
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import SeriesName
from monitor.core.scores.statistics import ASSUMED, OF_VERDICTS
from monitor.core.snapshot.series_stats import SnapshotColumns
from monitor.core.snapshot.snapshot import (
    COMPARED,
    LOST,
    STATE_NAMES,
    Snapshot,
    active,
    compared,
    state_codes,
)
from monitor.core.snapshot.state_sentences import (
    BLURRED,
    CircumstanceColumns,
    Circumstances,
    SeriesTexts,
    state_sentence,
)
from monitor.core.steps import Steps, portions
from monitor.core.verdict import (
    FAULT,
    FAULTS,
    REFERENCE_STALE,
    REFERENCE_SUSPECT,
    REJECTED_SHARE,
    Estimate,
    Verdict,
    shows,
)

_SAME_SIZE: Final = 2.0  # a reference explains an offset up to this many times its own
_LIMITS: Final = ("stale_after_seconds", "reference_stale_seconds", "rejected_share")
_FAULT_NUMBERS: Final = {fault: at for at, fault in enumerate(FAULTS)}
_ZMS_UPPER: Final = "calibration_zms_upper"
_TOLD: Final = (BLURRED, ASSUMED.name)  # statistics that sentences depend on
_NO_FAULT: Final = -1
_NOBODY: Final = np.zeros(0, np.bool_)
_SENTENCES_AT_ONCE: Final = 1024
_SERIES_AT_ONCE: Final = 8192


class StatesInput(NamedTuple):
    """The input of states: numbers of every series at one instant, and reports on faults."""

    time: float
    names: tuple[SeriesName, ...]
    rules: Sequence[SeriesRules]
    shown: SnapshotColumns
    reports: Mapping[int, FaultReport]  # on series that are not calm
    rejected: Float  # share of the sensor's messages
    suspects: tuple[Suspect, ...]
    former: tuple[Suspect, ...]
    # (row, statistic, number of first pairs) -> (value of the statistic, time of the last of them)
    baseline: Callable[[int, str, int], tuple[float, float]]


class SeriesStates:
    """State: the texts of every series, and the columns they were made from."""

    def __init__(self, rules: FleetRules, thresholds: Sequence[Threshold]) -> None:
        self._rules: Final = rules
        self.thresholds: Final = Thresholds(thresholds)
        self._limits: Final = {name: np.zeros(0) for name in _LIMITS}
        self._profiles: tuple[Profile, ...] = ()
        self._means: Bool = np.zeros(0, dtype=np.bool_)  # pairs are means of errors alike
        self._sentences: Final = SeriesTexts()
        self._advice: Final = SeriesTexts()
        self._states: Final = SeriesTexts()
        self._explained: Bool = np.zeros(0, dtype=np.bool_)
        self._codes: Int = np.zeros(0, dtype=np.int64)
        self._faults: Int = np.zeros(0, dtype=np.int64)
        self._numbers: dict[str, Float] = {each.name: np.zeros(0) for each in OF_VERDICTS}
        self._of_windows: Mapping[str, Float] = {}
        self._both: Mapping[str, Float] = {}
        self._is_told = False  # whether numbers of verdicts changed since they were published
        self._about = CircumstanceColumns(
            np.zeros(0),
            np.zeros(0),
            {each.name: _NOBODY for each in thresholds},
            {},
            np.zeros(0, dtype=np.object_),
        )

    def steps(self, now: StatesInput, changed: Int) -> Steps[Snapshot]:
        """Return the snapshot; the numbers or fault reports of ``changed`` series are new.

        A step makes as many sentences as take a few milliseconds.
        """
        shown, count = now.shown, len(now.names)
        yield from self._take_rules(now.rules[:count])
        yield from self._take_reports(now, changed)
        silent = now.time - shown.heard > self._limits["stale_after_seconds"]
        age = compared(
            shown.last_reading,
            shown.last_pair,
            shown.gap,
            self._limits["reference_stale_seconds"],
        )
        age = np.where(silent, COMPARED, age)
        firing = shown.states == FIRING
        suspects = tuple(each for each in now.suspects if each.whose != "sensors")
        explained = excused(suspects, now.former, now.reports, firing)
        averaged = self._averaged(now)
        users = explained.copy()
        users[[row for each in suspects for row in each.rows]] = True
        yield from self._advise(now, changed, explained)
        held = explained.copy()
        for each in averaged:
            firing_rows = [row for row in each.rows if firing[row]]
            held[firing_rows[1:]] = True
        alerts = self._alerts(now, age, held, users)
        faulty = np.logical_or.reduce([alerts[fault] for fault in FAULTS])
        withdrawn = silent | (age == LOST)
        yield
        beyond = self.thresholds.judge(
            Judged(
                now.names,
                shown.statistics,
                shown.window_pairs,
                shown.last_pair,
                ~withdrawn,
                now.baseline,
            )
        )
        yield
        yield from self._word(
            now,
            state_codes(_judged_states(now), shown.pairs, silent, age),
            _circumstances(now, age != COMPARED, alerts[REJECTED_SHARE], beyond, averaged),
            changed,
        )
        return Snapshot(
            time=now.time,
            names=now.names,
            statistics=self._published(shown.statistics, now.time),
            states=self._states.all(),
            alerts=alerts | beyond,
            evidence=shown.evidence,
            sentences=self._sentences.all(),
            advice=self._advice.all(),
            window_pairs=shown.window_pairs,
            last_reading=shown.last_reading,
            last_pair=shown.last_pair,
            withdrawn=withdrawn,
            reports=now.reports,
            recent_z=shown.recent_z,
            intervals_only=shown.intervals_only,
            paged=call_out.call_list(
                shown.discounted, faulty, ~silent & (shown.pairs > 0), self._rules
            ),
            suspects=suspects,
            former_suspects=now.former,
            profiles=self._profiles,
            lasting=shown.discounted,
            calm=shown.calm,
            error_model=shown.error_model,
            right=shown.right,
            right_since=shown.right_since,
            first_pair=shown.first_pair,
        )

    # -- inside -----------------------------------------------------------------------------

    def _take_rules(self, rules: Sequence[SeriesRules]) -> Steps[None]:
        for new in portions(rules[len(self._profiles) :], _SERIES_AT_ONCE):
            self._profiles += tuple(each.profile for each in new)
            self._means = np.append(self._means, [_of_means(each) for each in new])
            for name, column in self._limits.items():
                more = np.array([getattr(each, name) for each in new], dtype=np.float64)
                self._limits[name] = np.append(column, more)
            yield

    def _take_reports(self, now: StatesInput, changed: Int) -> Steps[None]:
        count = len(now.names)
        self._faults = np.append(self._faults, np.full(count - self._faults.size, _NO_FAULT))
        for name, column in self._numbers.items():
            self._numbers[name] = np.append(column, np.full(count - column.size, np.nan))
        for part in portions(changed.tolist(), _SERIES_AT_ONCE):
            faults = []
            for column in self._numbers.values():
                column[part] = np.nan
            for row in part:
                judged = now.reports.get(row)
                fault = "" if judged is None else judged.alert
                faults.append(_FAULT_NUMBERS.get(fault, _NO_FAULT))
                if judged is not None and shows(judged.verdict):
                    for name, number in _numbers(judged.verdict).items():
                        self._numbers[name][row] = number
            self._faults[part] = faults
            self._is_told = True
            yield

    def _averaged(self, now: StatesInput) -> list[Averaged]:
        """Return the groups that overstate u because their readings' errors average out."""
        faults = self._faults == _FAULT_NUMBERS["overstated"]
        if not (faults & self._means).any():
            return []
        paired = self._means & (now.shown.window_pairs > 0)
        named = [(each.group, each.quantity, each.unit) for each in now.names]
        numbers = {name: at for at, name in enumerate(dict.fromkeys(named))}
        groups = np.where(paired, [numbers[name] for name in named], -1)
        smaller = now.shown.statistics.get(_ZMS_UPPER, np.full(groups.size, NAN)) < 1.0
        return averaged_errors(groups, smaller, faults)

    def _published(self, of_windows: Mapping[str, Float], now: float) -> Mapping[str, Float]:
        """Return statistics of windows and numbers of verdicts; the previous ones if unchanged."""
        due = self._numbers["due_seconds"]
        if of_windows is not self._of_windows or self._is_told or np.isfinite(due).any():
            shown = {name: column.copy() for name, column in self._numbers.items()}
            shown["due_seconds"] -= now
            self._of_windows, self._both, self._is_told = of_windows, {**of_windows, **shown}, False
        return self._both

    def _advise(self, now: StatesInput, changed: Int, explained: Bool) -> Steps[None]:
        """Take the advice of reports; a fault that a wrong reference explains has none."""
        outdated = np.zeros(explained.size, np.bool_)
        outdated[changed] = True
        outdated[: self._explained.size] |= explained[: self._explained.size] != self._explained
        self._advice.grow(explained.size)
        for part in portions(np.flatnonzero(outdated).tolist(), _SERIES_AT_ONCE):
            for row in part:
                judged = now.reports.get(row)
                advice = "" if judged is None or explained[row] else judged.verdict.advice
                self._advice.set(row, advice)
            yield
        self._explained = explained

    def _alerts(self, now: StatesInput, age: Int, explained: Bool, users: Bool) -> dict[str, Bool]:
        """Return for each alert except thresholds the series for which it is active.

        ``users`` have a suspect reference.
        """
        of_faults = active(now.shown.states, self._faults)
        alerts = {fault: firing & ~explained for fault, firing in of_faults.items()}
        faulty = np.logical_or.reduce(list(alerts.values()))
        return {
            **alerts,
            REFERENCE_STALE: age != COMPARED,
            REFERENCE_SUSPECT: users & ~faulty,
            REJECTED_SHARE: now.rejected > self._limits["rejected_share"],
        }

    def _word(
        self, now: StatesInput, codes: Int, about: CircumstanceColumns, changed: Int
    ) -> Steps[None]:
        """Reword the series whose numbers, state or circumstances changed."""
        known = len(self._states)
        outdated = np.zeros(codes.size, np.bool_)
        outdated[changed] = outdated[known:] = True
        outdated[about.changed_since(self._about)] = True
        others = np.append(codes[:known] != self._codes, outdated[known:])
        self._states.grow(codes.size)
        self._sentences.grow(codes.size)
        for row in np.flatnonzero(others).tolist():
            self._states.set(row, STATE_NAMES[codes[row]])
        yield
        is_any, nothing = about.is_any(), np.zeros(codes.size)
        published = [now.shown.statistics.get(name, nothing) for name in _TOLD]
        for part in portions(np.flatnonzero(outdated | others).tolist(), _SENTENCES_AT_ONCE):
            columns = (codes, now.shown.window_pairs, is_any, now.shown.calm, *published)
            numbers = zip(*(each[part].tolist() for each in columns), strict=True)
            for row, (code, pairs, is_more, calm, *figures) in zip(part, numbers, strict=True):
                words = state_sentence(
                    STATE_NAMES[code],
                    now.reports.get(row),
                    pairs,
                    dict(zip(_TOLD, figures, strict=True)),
                    about.of(row) if is_more else Circumstances(calm=calm),
                )
                self._sentences.set(row, words)
            yield
        self._codes, self._about = codes, about


def _of_means(rules: SeriesRules) -> bool:
    """Return whether pairs are means of readings whose errors are taken to go together."""
    return PAIRING_RULES[rules.pairing.mode].is_of_several and rules.pairing.correlation > 0.0


def _judged_states(now: StatesInput) -> Int:
    """Return the states of alerts, pending too where the pairs show a fault already."""
    faulty = [row for row, each in now.reports.items() if each.verdict.state == FAULT]
    states = now.shown.states.copy()
    states[faulty] = np.maximum(states[faulty], PENDING)
    return states


def _numbers(verdict: Verdict) -> dict[str, float]:
    """Return the published numbers of a verdict; ``due_seconds`` is its due date, s UTC."""
    level = verdict.level
    if not (level.is_known and FAULTS[verdict.fault].has_error_now):
        level = Estimate(NAN, NAN, NAN)
    return {
        "error_now": level.value,
        "error_now_lower": level.lower,
        "error_now_upper": level.upper,
        "drift_per_day": verdict.drift_per_day,
        "fault_since_timestamp_seconds": verdict.began,
        "due_seconds": verdict.due,
    }


def _circumstances(
    now: StatesInput,
    uncompared: Bool,
    rejected: Bool,
    beyond: Mapping[str, Bool],
    averaged: Sequence[Averaged],
) -> CircumstanceColumns:
    suspicion: dict[int, str] = {}
    for group in averaged:
        name = now.names[group.rows[0]].group
        suspicion |= dict.fromkeys(group.rows, group.sentence(name))
    for each in now.former:
        left = [row for row in each.cleared if now.shown.states[row] == FIRING]
        suspicion |= dict.fromkeys(left, each.sentence)
    for each in now.suspects:
        is_shared = each.whose == "sensors"
        rows = [row for row in each.rows if row in now.reports] if is_shared else each.rows
        suspicion |= dict.fromkeys(rows, each.sentence)
    return CircumstanceColumns(
        np.where(uncompared, now.shown.last_reading - now.shown.last_pair, 0.0),
        np.where(rejected, now.rejected, 0.0),
        beyond,
        suspicion,
        now.shown.calm,
    )


def excused(
    suspects: Sequence[Suspect],
    former: Sequence[Suspect],
    reports: Mapping[int, FaultReport],
    firing: Bool,
) -> Bool:
    """Return which firing series are explained by a reference that is suspect, or was.

    They are right among the other sensors, have the reference's offset with opposite sign, or
    nothing but the lag of its clock.
    """
    is_excused = np.zeros(firing.size, np.bool_)
    for each in (*former, *suspects):
        is_excused[list(each.cleared)] = True
    for each in suspects:
        for row in each.rows if each.nature.kind == "offset" else ():
            own = reports.get(row)
            if own is not None and FAULTS[own.alert].mirrors:
                is_excused[row] |= explains(each.estimate, own.verdict.size)
        for row in each.rows if each.clock else ():
            own = reports.get(row)
            is_excused[row] |= own is None or _is_only_late(own)
    return is_excused & firing


def _is_only_late(report: FaultReport) -> bool:
    verdict = report.verdict
    if verdict.fault == "lag":
        return not verdict.level.is_beyond(verdict.explained)
    return verdict.state != FAULT


def explains(reference: Estimate, sensor: Estimate) -> bool:
    """Whether a reference that is off explains a sensor's offset: the same with opposite sign.

    A sensor much further off than the reference has an offset of its own.
    """
    common, own = -reference.value, sensor.value
    half = 0.5 * (sensor.upper - sensor.lower)
    most = _SAME_SIZE * abs(common) + (half if np.isfinite(half) else 0.0)
    return common * own > 0.0 and abs(own) <= most
