"""The ledger of alerts: what was sent, and how the present state differs from it.

Rules of this file: the snapshot is compared with what was sent, so that a restart repeats nothing
and forgets nothing; alerts come from the snapshot by name, whatever raises them; only series whose
state or alerts changed since the last comparison are visited; no clock, nothing durable. The
sentence of a transition is the snapshot's, so it is what the page shows at that moment.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from monitor.alerts.transition import FIRING, PENDING, Transition, transition_id
from monitor.core.detector.replay import AlertChange
from monitor.core.fleet.suspect_references import Suspect
from monitor.core.formatting import finite
from monitor.core.model import Bool
from monitor.core.registry import SeriesName
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.verdict import (
    FAULT,
    FAULTS,
    REFERENCE_STALE,
    REFERENCE_SUSPECT,
    REJECTED_SHARE,
    fault_estimate,
    fault_estimate_unit,
)
from monitor.core.verdict.verdict import NOTHING, Estimate, Verdict

UNCLEAR: Final = "unclear"
LOOKS: Final = 10  # comparisons before an alert takes a fault's other name (``_steady``)
EVICTED: Final = "gone"  # the state of a series that was evicted
_AGREES: Final = "is a reference that its sensors no longer disagree with"
_NO_ERRORS: Final = (REFERENCE_STALE, REJECTED_SHARE)  # alerts that say nothing of the errors
# Fields that are set when a transition is written.
_NEW: Final[dict[str, Any]] = {
    **dict.fromkeys(("id", "incident", "before", "after", "sentence"), ""),
    **dict.fromkeys(("seq", "time", "notified"), 0),
}


class View(NamedTuple):
    """The present state, and what happened to the evidence since the last comparison.

    ``changes`` are in the order they were found; ``taken_back`` are the series whose past no longer
    contains the alert that fired.
    """

    snapshot: Snapshot
    changes: Sequence[AlertChange] = ()
    taken_back: frozenset[int] = frozenset()


class _Seen(NamedTuple):
    """States and alerts of the series at one comparison."""

    states: tuple[str, ...] = ()
    alerts: Mapping[str, Bool] = {}
    gone: frozenset[int] = frozenset()

    def changed(self, before: _Seen) -> Bool:
        """Return which series have another state or other alerts than before, or are new."""
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


class _OtherName(NamedTuple):
    """The other name of a firing fault, and at how many looks that count it held."""

    alert: str
    looks: int
    last_pair: float


_Key = tuple[str, ...]  # sensor, quantity; of a reference its name, quantity and unit


class Ledger:
    """State: the last transition of every alert that is pending or fires, by series and alert."""

    def __init__(self, active: Iterable[Transition] = (), last: int = 0) -> None:
        self._active: Final[dict[_Key, dict[str, Transition]]] = {}
        self._seen = self._looked_at = _Seen()
        self._other_names: dict[int, _OtherName] = {}
        self._names_looked_at: dict[int, _OtherName] = {}
        self._named_on: Final[dict[int, int]] = {}  # pairs that a fault's name rests on, by row
        self._names_taken: dict[int, int] = {}  # the same, of the last comparison
        self.sizes: Final = GroupSizes()
        self.last = last
        for each in active:
            self._active.setdefault(_key(each), {})[each.alert] = each

    def firing(self) -> list[Transition]:
        """Return the last transitions of all firing alerts, in order."""
        of_all = (each for alerts in self._active.values() for each in alerts.values())
        return sorted((of for of in of_all if of.after == FIRING), key=lambda each: each.seq)

    def differences(self, view: View) -> list[Transition]:
        """Return the new transitions; they count as sent only after :meth:`record`."""
        now = view.snapshot
        self._looked_at = _Seen(now.states, now.alerts, now.gone)
        others = self._looked_at.changed(self._seen).nonzero()[0]
        active: dict[int, list[str]] = {}
        for alert, of in now.alerts.items():
            for row in others[of[others]].tolist() if alert != REFERENCE_SUSPECT else ():
                active.setdefault(row, []).append(alert)
        pending = {row for row in others.tolist() if now.states[row] == PENDING}
        known = {row for row in others.tolist() if self._of(now.names[row])}
        self.sizes.follow(now)
        comparison = _Comparison(view, self.last, self.sizes)
        self._names_looked_at, self._names_taken = self._other_names.copy(), {}
        for row in self._other_names.keys() - set(others.tolist()):
            active[row] = [a for a, of in now.alerts.items() if of[row] and a != REFERENCE_SUSPECT]
        for row in sorted(active.keys() | pending | known):
            own = self._of(now.names[row])
            names = self._steady(row, own, active.get(row, []), now)
            comparison.compare(row, own, names, is_pending=row in pending)
        comparison.compare_references(
            {
                key: alerts[REFERENCE_SUSPECT]
                for key, alerts in self._active.items()
                if REFERENCE_SUSPECT in alerts
            }
        )
        return comparison.found

    def _steady(
        self, row: int, sent: Mapping[str, Transition], active: list[str], now: Snapshot
    ) -> list[str]:
        """Return the active alerts; a fault keeps the name it was sent under until another holds.

        One fault may look like two in turn, and nobody wants a notification at each turn. A name
        that rests on twice the pairs needs no new ones to hold: a fault has few such names.
        """
        report = now.reports.get(row)
        pairs = 1 if report is None else max(1, report.verdict.pairs)
        old = [a for a, of in sent.items() if of.after == FIRING and a in FAULTS]
        new = [a for a in active if a in FAULTS and a not in old]
        held = [a for a in old if a not in active]
        if not (held and new and now.states[row] == FIRING):
            self._names_looked_at.pop(row, None)
            if new:
                self._names_taken[row] = pairs
            return active
        last = float(now.last_pair[row])
        known = self._other_names.get(row)
        if known is None or known.alert != new[0]:
            known = _OtherName(new[0], 0, math.nan)
        if last != known.last_pair or pairs >= 2 * self._named_on.get(row, math.inf):
            known = _OtherName(new[0], known.looks + 1, last)
        if known.looks >= LOOKS:
            self._names_taken[row] = pairs
            self._names_looked_at.pop(row, None)
            return active
        self._names_looked_at[row] = known
        return [*(a for a in active if a not in new), *held]

    def _of(self, name: SeriesName) -> Mapping[str, Transition]:
        """Return the last transitions of one series' active alerts, by alert."""
        return self._active.get((name.sensor, name.quantity), {})

    def record(self, transitions: Iterable[Transition]) -> None:
        """Count ``transitions`` as sent, and the last comparison as finished."""
        self._seen, self._other_names = self._looked_at, self._names_looked_at
        self._named_on.update(self._names_taken)
        for each in transitions:
            self.last = max(self.last, each.seq)
            key = _key(each)
            alerts = self._active.setdefault(key, {})
            if each.after in (PENDING, FIRING):
                alerts[each.alert] = each
            else:
                alerts.pop(each.alert, None)
            if not alerts:
                del self._active[key]


def _key(of: Transition) -> _Key:
    name = of.sensor, of.quantity
    return (*name, of.unit) if of.alert == REFERENCE_SUSPECT else name


class GroupSizes:
    """State: the sensors by (group, site), kept up as series come and go: counting takes long."""

    def __init__(self) -> None:
        self._sensors: Final[defaultdict[tuple[str, str], Counter[str]]] = defaultdict(Counter)
        self._counted = 0
        self._gone: frozenset[int] = frozenset()

    def follow(self, now: Snapshot) -> None:
        """Count the series that are new or back, and no longer those that are gone."""
        come = chain(range(self._counted, len(now.names)), self._gone - now.gone)
        for rows, by in (come, 1), (now.gone - self._gone, -1):
            for name in map(now.names.__getitem__, rows):
                series_of = self._sensors[name.group, name.site]
                series_of[name.sensor] += by
                if not series_of[name.sensor]:
                    del series_of[name.sensor]
        self._counted, self._gone = len(now.names), now.gone

    def labels_of(self, name: SeriesName) -> dict[str, Any]:
        """Return what a transition says of a series' group; ``peers`` are all sensors of it."""
        at = {"group": name.group, "site": name.site}
        peers = len(self._sensors.get((name.group, name.site), ()))
        return {**at, "severity": name.severity, "peers": peers}


class _Comparison:
    """Collects the transitions of one comparison."""

    def __init__(self, view: View, last: int, sizes: GroupSizes) -> None:
        self._view: Final = view
        self._sizes: Final = sizes
        self._seq = last
        self._latest: Final = {change.series: change.time for change in view.changes}
        self.found: Final[list[Transition]] = []

    def compare(
        self, row: int, sent: Mapping[str, Transition], active: Sequence[str], *, is_pending: bool
    ) -> None:
        """Add the transitions of one series.

        Nothing is known of a stale series: its alerts stay active until it is evicted. Evidence
        gathers for faults only, whatever other alerts there are.
        """
        state, is_faulty = self._state(row), not FAULTS.keys().isdisjoint(active)
        firing = {alert: of for alert, of in sent.items() if of.after == FIRING}
        gathering = next((of for of in sent.values() if of.after == PENDING), None)
        renamed = ""
        for alert, of in firing.items():
            if alert not in active and state != "stale":
                self._end(row, of)
                renamed = of.incident if alert in FAULTS and state == FIRING else renamed
        for alert in active:
            if alert not in firing:
                before = "ok" if gathering is None or alert not in FAULTS else PENDING
                self._begin(row, alert, before, FIRING, renamed if alert in FAULTS else "")
        if gathering is None:
            if is_pending and FAULTS.keys().isdisjoint((*active, *firing)):
                judged = self._view.snapshot.reports.get(row)
                self._begin(row, UNCLEAR if judged is None else judged.alert, "ok", PENDING)
        elif gathering.alert not in active and (
            is_faulty or not (is_pending or state == "stale" or REFERENCE_STALE in active)
        ):
            self._end(row, gathering)

    def compare_references(self, sent: Mapping[_Key, Transition]) -> None:
        """Add the transitions of references that became suspect or no longer are."""
        now = self._view.snapshot
        suspects, former = (
            {(each.reference, each.quantity, each.unit): each for each in some}
            for some in (now.suspects, now.former_suspects)
        )
        for key, of in sent.items():
            if key not in suspects:
                over = msgspec.structs.replace(of, estimate=None, lower=None, upper=None)
                ending = former[key].words if key in former else _AGREES
                self._write(over, now.time, before=FIRING, after="resolved", sentence=ending)
        for key, each in suspects.items():
            if key not in sent:
                self._write(
                    Transition(
                        **_NEW,
                        sensor=each.reference,
                        quantity=each.quantity,
                        unit=each.unit,
                        group="",
                        alert=REFERENCE_SUSPECT,
                        since=finite(each.since),
                        **_numbers(each.estimate, each.unit),
                    ),
                    now.time,
                    before="ok",
                    after=FIRING,
                    sentence=each.words,
                )

    def _state(self, row: int) -> str:
        return EVICTED if row in self._view.snapshot.gone else self._view.snapshot.states[row]

    def _begin(self, row: int, alert: str, before: str, after: str, incident: str = "") -> None:
        """Begin an alert: a new incident, unless it is another name of a known one."""
        now = self._view.snapshot
        name, judged = now.names[row], self._view.snapshot.reports.get(row)
        own = judged if judged is not None and judged.alert == alert else None
        stated = None if own is None or own.verdict.fault != alert else own.verdict
        transition = Transition(
            **_NEW,
            sensor=name.sensor,
            quantity=name.quantity,
            unit=name.unit,
            **self._sizes.labels_of(name),
            alert=alert,
            advice="" if own is None else now.advice[row],
            since=None if own is None else finite(own.verdict.began),
            **_size_of(stated, name.unit),
            evidence=finite(float(now.evidence[row])),
        )
        transition = msgspec.structs.replace(transition, incident=incident)
        sentence = now.sentences[row]
        self._write(transition, self._time(row), before=before, after=after, sentence=sentence)

    def _end(self, row: int, of: Transition) -> None:
        now, state = self._view.snapshot, self._state(row)
        corrected = row in self._view.taken_back and of.after == FIRING and of.alert in FAULTS
        unclear = (EVICTED,) if of.alert in _NO_ERRORS else ("unknown", EVICTED)
        over = "unknown" if state in unclear else "resolved"
        after = over if of.after == FIRING else "ok"
        ended = msgspec.structs.replace(
            of,
            **self._sizes.labels_of(now.names[row]),
            corrected=corrected,
            advice="",
            estimate=None,
            lower=None,
            upper=None,
            evidence=finite(float(now.evidence[row])),
        )
        sentence = now.sentences[row]
        self._write(ended, self._time(row), before=of.after, after=after, sentence=sentence)

    def _write(
        self, of: Transition, time: float, *, before: str, after: str, sentence: str
    ) -> None:
        self._seq += 1
        identity = transition_id(self._seq, of.sensor, of.quantity, of.alert, after, time)
        self.found.append(
            msgspec.structs.replace(
                of,
                seq=self._seq,
                id=identity,
                incident=of.incident or identity,
                time=time,
                notified=self._view.snapshot.time,
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


def _size_of(verdict: Verdict | None, unit: str) -> dict[str, Any]:
    """Return the fields for the size of the fault that a verdict states, if it states one."""
    if verdict is None:
        return _numbers(NOTHING, "")
    return _numbers(fault_estimate(verdict), fault_estimate_unit(verdict, unit))


def _numbers(size: Estimate, unit: str) -> dict[str, Any]:
    value, lower, upper = finite(size.value), finite(size.lower), finite(size.upper)
    return {"estimate": value, "lower": lower, "upper": upper, "estimate_unit": unit}


def reworded(
    snapshot: Snapshot, firing: Collection[Transition], sizes: GroupSizes
) -> Iterator[Transition]:
    """Yield firing alerts with the snapshot's words and labels, and the ends of former labels.

    The words of a fault may be those of another than its alert is named after (see ``LOOKS``).
    """
    wanted = {_key(of) for of in firing}
    keys: Iterator[_Key] = ((of.sensor, of.quantity) for of in snapshot.names)
    rows = {key: row for row, key in enumerate(keys) if key in wanted}
    suspects: dict[_Key, Suspect] = {
        (each.reference, each.quantity, each.unit): each for each in snapshot.suspects
    }
    for of in firing:
        if of.alert == REFERENCE_SUSPECT and (suspect := suspects.get(_key(of))) is not None:
            size = _numbers(suspect.estimate, suspect.unit)
            yield msgspec.structs.replace(of, sentence=suspect.words, **size)
            continue
        row = None if of.alert == REFERENCE_SUSPECT else rows.get(_key(of))
        if row is None:
            yield of
            continue
        labels = sizes.labels_of(snapshot.names[row])
        texts: dict[str, Any] = {"sentence": snapshot.sentences[row]}
        texts["advice"] = snapshot.advice[row]
        judged = snapshot.reports.get(row) if of.alert in FAULTS else None
        if judged is not None:
            verdict = judged.verdict
            texts |= _size_of(verdict, of.unit)
            texts["looks_like"] = verdict.fault if verdict.state == FAULT else ""
        now = msgspec.structs.replace(of, **labels, **texts)
        yield now
        if (now.group, now.site, now.severity) != (of.group, of.site, of.severity):
            ended = {"before": FIRING, "after": "resolved", "notified": snapshot.time}
            yield msgspec.structs.replace(of, **ended)
