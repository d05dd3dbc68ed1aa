"""What people were told of alerts, and what of it is no longer so.

Rules of this file: what is held against each other is what was told and what the snapshot says
now, so that a restart tells nothing twice and forgets nothing; alerts are taken from the snapshot
by their names, whatever raises them; only series whose state or alerts are others than at the last
look are gone through; no clock, nothing is durable here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from monitor.alerts.transition import (
    FIRING,
    PENDING,
    Transition,
    finite,
    name_of,
)
from monitor.core.detector.replay import Change
from monitor.core.diagnosis.fault_reports import FaultReport
from monitor.core.diagnosis.faults import REFERENCE_SUSPECT, estimate_unit
from monitor.core.model import Bool
from monitor.core.registry import SeriesKey, SeriesName
from monitor.core.snapshot.snapshot import Snapshot

UNCLEAR: Final = "unclear"
# Told once of the reference, not of each sensor that meets it.


# What every new transition is given later.
_NEW: Final[dict[str, Any]] = {
    **dict.fromkeys(("id", "incident", "before", "after", "sentence"), ""),
    **dict.fromkeys(("seq", "time", "told"), 0),
}


class View(NamedTuple):
    """What is known now, and what happened to the evidence since the last look.

    ``judgement_of(row)`` is what a series' pairs say; ``changes`` are in the order they were
    found; ``taken_back`` are the series whose past no longer has the alert that fired.
    """

    snapshot: Snapshot
    judgement_of: Callable[[int], FaultReport | None]
    changes: Sequence[Change] = ()
    taken_back: frozenset[int] = frozenset()


GONE: Final = "gone"  # the state of a series that memory let go of


class _Seen(NamedTuple):
    """States and alerts of the series at one look."""

    states: tuple[str, ...] = ()
    alerts: Mapping[str, Bool] = {}
    gone: frozenset[int] = frozenset()

    def others(self, before: _Seen) -> Bool:
        """Return which series have another state, or other alerts, than before; new ones do."""
        known = min(len(before.states), len(self.states))
        other = np.ones(len(self.states), np.bool_)
        other[:known] = False
        if self.states is not before.states:
            now, then = (np.array(each[:known], object) for each in (self.states, before.states))
            other[:known] = now != then
        for alert, active in self.alerts.items():
            was = before.alerts.get(alert)
            other[:known] |= active[:known] if was is None else active[:known] != was[:known]
        other[list(self.gone ^ before.gone)] = True
        return other


class Ledger:
    """State: the last transition of every alert that is pending or fires, by series and alert."""

    def __init__(self, standing: Iterable[Transition] = (), last: int = 0) -> None:
        self._standing: Final[dict[SeriesKey, dict[str, Transition]]] = {}
        self._seen = self._looked_at = _Seen()
        self.last = last
        for each in standing:
            self._standing.setdefault(_key(each), {})[each.alert] = each

    def standing(self) -> list[Transition]:
        """Return the last transitions of the alerts that are pending or fire, in their order."""
        of_all = (each for alerts in self._standing.values() for each in alerts.values())
        return sorted(of_all, key=lambda each: each.seq)

    def differences(self, view: View) -> list[Transition]:
        """Return what is to be told now; it counts as told only once :meth:`take` has it."""
        now = view.snapshot
        self._looked_at = _Seen(now.states, now.alerts, now.gone)
        others = self._looked_at.others(self._seen).nonzero()[0]
        active: dict[int, list[str]] = {}
        for alert, of in now.alerts.items():
            for row in others[of[others]].tolist() if alert != REFERENCE_SUSPECT else ():
                active.setdefault(row, []).append(alert)
        pending = {row for row in others.tolist() if now.states[row] == PENDING}
        known = {row for row in others.tolist() if self._told(now.names[row])}
        scribe = _Scribe(view, self.last)
        for row in sorted(active.keys() | pending | known):
            told = self._told(now.names[row])
            own = {alert: of for alert, of in told.items() if alert != REFERENCE_SUSPECT}
            scribe.compare(row, own, active.get(row, []), is_pending=row in pending)
        scribe.compare_references(
            {
                key: alerts[REFERENCE_SUSPECT]
                for key, alerts in self._standing.items()
                if REFERENCE_SUSPECT in alerts
            }
        )
        return scribe.found

    def _told(self, name: SeriesName) -> Mapping[str, Transition]:
        """Return what stands of one series, by alert."""
        return self._standing.get(SeriesKey(name.sensor, name.quantity), {})

    def take(self, found: Iterable[Transition]) -> None:
        """Count ``found`` as told, and what was looked at as seen."""
        self._seen = self._looked_at
        for each in found:
            self.last = max(self.last, each.seq)
            key = _key(each)
            alerts = self._standing.setdefault(key, {})
            if each.after in (PENDING, FIRING):
                alerts[each.alert] = each
            else:
                alerts.pop(each.alert, None)
            if not alerts:
                del self._standing[key]


def _key(of: Transition) -> SeriesKey:
    return SeriesKey(of.sensor, of.quantity)


class _Scribe:
    """Writes down the differences of one look."""

    def __init__(self, view: View, last: int) -> None:
        self._view: Final = view
        self._seq = last
        self._latest: Final = {change.series: change.time for change in view.changes}
        self.found: Final[list[Transition]] = []

    def compare(
        self, row: int, told: Mapping[str, Transition], active: Sequence[str], *, is_pending: bool
    ) -> None:
        """Write down how one series differs from what was told of it.

        Of a series that is silent nothing is known: what stands goes on, until it is let go of.
        """
        state = self._state(row)
        firing = {alert: of for alert, of in told.items() if of.after == FIRING}
        gathering = next((of for of in told.values() if of.after == PENDING), None)
        for alert, of in firing.items():
            if alert not in active and state != "stale":
                self._end(row, of)
        for alert in active:
            if alert not in firing:
                self._begin(row, alert, "ok" if gathering is None else PENDING, FIRING)
        if gathering is None:
            if is_pending and not (active or firing):
                judged = self._view.judgement_of(row)
                self._begin(row, UNCLEAR if judged is None else judged.alert, "ok", PENDING)
        elif gathering.alert not in active and (active or not (is_pending or state == "stale")):
            self._end(row, gathering)

    def compare_references(self, told: Mapping[SeriesKey, Transition]) -> None:
        """Write down which references are suspect now, and which no longer are."""
        now = self._view.snapshot
        suspects = {SeriesKey(each.reference, each.quantity): each for each in now.suspects}
        for key, of in told.items():
            if key not in suspects:
                over = msgspec.structs.replace(of, estimate=None, lower=None, upper=None)
                ending = "is a reference that its sensors no longer disagree with"
                self._write(over, now.time, before=FIRING, after="resolved", sentence=ending)
        for key, each in suspects.items():
            if key not in told:
                self._write(
                    Transition(
                        **_NEW,
                        sensor=each.reference,
                        quantity=each.quantity,
                        unit=each.unit,
                        group="",
                        alert=REFERENCE_SUSPECT,
                        since=finite(each.since),
                        estimate=finite(each.estimate.value),
                        lower=finite(each.estimate.lower),
                        upper=finite(each.estimate.upper),
                        estimate_unit=each.unit,
                    ),
                    now.time,
                    before="ok",
                    after=FIRING,
                    sentence=each.sentence.removeprefix(f"reference {each.reference} "),
                )

    def _state(self, row: int) -> str:
        return GONE if row in self._view.snapshot.gone else self._view.snapshot.states[row]

    def _begin(self, row: int, alert: str, before: str, after: str) -> None:
        now = self._view.snapshot
        name, judged = now.names[row], self._view.judgement_of(row)
        own = judged if judged is not None and judged.alert == alert else None
        transition = Transition(
            **_NEW,
            sensor=name.sensor,
            quantity=name.quantity,
            unit=name.unit,
            group=name.group,
            alert=alert,
            advice="" if own is None else now.advice[row],
            since=None if own is None else finite(own.since),
            estimate=None if own is None else finite(own.estimate.value),
            lower=None if own is None else finite(own.estimate.lower),
            upper=None if own is None else finite(own.estimate.upper),
            estimate_unit=estimate_unit(alert, name.unit),
            evidence=finite(float(now.evidence[row])),
        )
        sentence = now.sentences[row]
        self._write(transition, self._time(row), before=before, after=after, sentence=sentence)

    def _end(self, row: int, of: Transition) -> None:
        now, state = self._view.snapshot, self._state(row)
        corrected = of.after == FIRING and row in self._view.taken_back
        over = "unknown" if state in ("unknown", GONE) else "resolved"
        after = over if of.after == FIRING else "ok"
        ended = msgspec.structs.replace(
            of,
            corrected=corrected,
            advice="",
            estimate=None,
            lower=None,
            upper=None,
            evidence=finite(float(now.evidence[row])),
        )
        explained = "" if corrected else self._explained(row, of)
        sentence = explained or _ending(of, after, state, corrected=corrected)
        self._write(ended, self._time(row), before=of.after, after=after, sentence=sentence)

    def _explained(self, row: int, of: Transition) -> str:
        """Return what is said where a suspect reference explains the fault, else nothing."""
        judged = self._view.judgement_of(row)
        if self._view.snapshot.states[row] != FIRING or judged is None or judged.alert != of.alert:
            return ""
        told = [each.sentence for each in self._view.snapshot.suspects if row in each.rows]
        return f"has an {of.alert} that its reference explains: {told[0]}" if told else ""

    def _write(
        self, of: Transition, time: float, *, before: str, after: str, sentence: str
    ) -> None:
        self._seq += 1
        identity = name_of(self._seq, of.sensor, of.quantity, of.alert, after, time)
        self.found.append(
            msgspec.structs.replace(
                of,
                seq=self._seq,
                id=identity,
                incident=of.incident or identity,
                time=time,
                told=self._view.snapshot.time,
                before=before,
                after=after,
                sentence=sentence,
                began=time if after == FIRING else of.began,
            )
        )

    def _time(self, row: int) -> float:
        """Return the event time of a series' latest change, or of its last pair."""
        last = self._latest.get(row, float(self._view.snapshot.last_pair[row]))
        return last if math.isfinite(last) else self._view.snapshot.time


def _ending(of: Transition, after: str, state: str, *, corrected: bool) -> str:
    """Return what is said when an alert ends."""
    if corrected:
        return f"had no {of.alert} after all: a late or revised reference changed the past"
    if state == GONE:
        return f"was silent for so long that it is let go of, with its {of.alert}"
    if after == "unknown":
        return f"begins anew after the {of.alert}: too few pairs to tell"
    if state == FIRING:
        return f"has another fault than the {of.alert}"
    if of.after == PENDING:
        return "is as right as it says after all"
    return f"is as right as it says again, the {of.alert} is over"
