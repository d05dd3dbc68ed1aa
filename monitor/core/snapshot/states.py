"""All that is known at one instant, laid side by side: states, alerts, sentences.

Rules of this file: derived from what is handed in; of all series only columns are gone through,
one by one only those that changed; what did not change keeps its words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core.analysis.ranking import Profile
from monitor.core.detector.lifecycle import FIRING
from monitor.core.detector.thresholds import Judged, Threshold, Thresholds
from monitor.core.diagnosis.estimates import Estimate
from monitor.core.diagnosis.fault_reports import FaultReport
from monitor.core.diagnosis.faults import (
    FAULTS,
    REFERENCE_STALE,
    REFERENCE_SUSPECT,
    REJECTED_SHARE,
)
from monitor.core.fleet import call_out
from monitor.core.fleet.call_out import FleetRules
from monitor.core.fleet.suspect_references import Suspect
from monitor.core.model import Bool, Float, Int
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import SeriesName
from monitor.core.snapshot.series_stats import (
    COMPARED,
    LOST,
    WORDS,
    Shown,
    active,
    compared,
    judge,
)
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.snapshot.state_sentences import (
    BLURRED,
    NOTHING,
    Circumstances,
    sentence,
)
from monitor.core.steps import Steps, portions

_SAME_SIZE: Final = 2.0  # an offset up to so many times a reference's is explained by it
_LIMITS: Final = ("stale_after_seconds", "reference_stale_seconds", "rejected_share")
_FAULT_NUMBERS: Final = {fault: at for at, fault in enumerate(FAULTS)}
_NO_FAULT: Final = -1
_NOBODY: Final = np.zeros(0, np.bool_)
_SENTENCES_AT_ONCE: Final = 1024
_SERIES_AT_ONCE: Final = 8192


class Known(NamedTuple):
    """What is known at one instant: numbers of every series, and what they were judged to mean."""

    time: float
    names: tuple[SeriesName, ...]
    rules: Sequence[SeriesRules]
    shown: Shown
    judgement: Callable[[int], FaultReport | None]
    rejected: Float  # share of the sensor's messages
    suspects: tuple[Suspect, ...]
    # (row, statistic, how many of its first pairs) -> (its value, when the last of them was)
    baseline: Callable[[int, str, int], tuple[float, float]]


class _About(NamedTuple):
    """What is to be said besides of each series; 0, False or absent where there is nothing."""

    uncompared: Float
    rejected: Float
    beyond: Mapping[str, Bool]
    suspicion: Mapping[int, str]

    def is_any(self) -> Bool:
        """Return whether there is anything to say of each series."""
        found = (self.uncompared != 0.0) | (self.rejected != 0.0)
        for crossed in self.beyond.values():
            found |= crossed
        found[[*self.suspicion]] = True
        return found

    def of(self, row: int) -> Circumstances:
        """Return it of one series."""
        return Circumstances(
            uncompared_seconds=float(self.uncompared[row]),
            rejected=float(self.rejected[row]),
            suspicion=self.suspicion.get(row, ""),
            beyond=tuple(name for name, crossed in self.beyond.items() if crossed[row]),
        )

    def others(self, before: _About) -> Int:
        """Return the series of which something else was to be said before."""
        known = before.uncompared.size
        other = self.uncompared[:known] != before.uncompared
        other |= self.rejected[:known] != before.rejected
        for name, crossed in self.beyond.items():
            other |= crossed[:known] != before.beyond[name]
        rows = [
            row
            for row in self.suspicion.keys() | before.suspicion.keys()
            if self.suspicion.get(row) != before.suspicion.get(row)
        ]
        return np.union1d(np.flatnonzero(other), np.array(rows, dtype=np.int64))


class _Said:
    """State: words of every series; those who read them get a tuple, the same if none changed."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._told: tuple[str, ...] = ()
        self._is_new = False

    def __len__(self) -> int:
        return len(self._words)

    def grow(self, count: int) -> None:
        """Have words of ``count`` series, empty ones at first."""
        self._words += [""] * (count - len(self._words))
        self._is_new |= len(self._told) != count

    def say(self, row: int, words: str) -> None:
        """Say something of one series, the same as before or something else."""
        if words != self._words[row]:
            self._words[row] = words
            self._is_new = True

    def all(self) -> tuple[str, ...]:
        """Return the words of all."""
        if self._is_new:
            self._told, self._is_new = tuple(self._words), False
        return self._told


class Overview:
    """State: what was said of every series, and what it was made of."""

    def __init__(self, rules: FleetRules, thresholds: Sequence[Threshold]) -> None:
        self._rules: Final = rules
        self.thresholds: Final = Thresholds(thresholds)
        self._limits: Final = {name: np.zeros(0) for name in _LIMITS}
        self._profiles: tuple[Profile, ...] = ()
        self._sentences: Final = _Said()
        self._advice: Final = _Said()
        self._states: Final = _Said()
        self._codes: Int = np.zeros(0, dtype=np.int64)
        self._faults: Int = np.zeros(0, dtype=np.int64)
        self._about = _About(
            np.zeros(0), np.zeros(0), {each.name: _NOBODY for each in thresholds}, {}
        )

    def steps(self, now: Known, changed: Int) -> Steps[Snapshot]:
        """Return what is known; the numbers or the judgement of ``changed`` are others than before.

        The sentences of as many series are made in a step as take a few milliseconds.
        """
        shown, count = now.shown, len(now.names)
        yield from self._learn_rules(now.rules[:count])
        yield from self._learn_judgements(now, changed)
        silent = now.time - shown.heard > self._limits["stale_after_seconds"]
        age = compared(
            shown.last_reading,
            shown.last_pair,
            shown.gap,
            self._limits["reference_stale_seconds"],
        )
        age = np.where(silent, COMPARED, age)
        alerts = self._alerts(now, age)
        faulty = np.logical_or.reduce([alerts[fault] for fault in FAULTS])
        withdrawn = silent | (age == LOST)
        yield
        beyond = self.thresholds.judge(
            Judged(
                now.names, shown.statistics, shown.pairs, shown.last_pair, ~withdrawn, now.baseline
            )
        )
        yield
        yield from self._tell(
            now,
            judge(shown.states, shown.pairs, silent, age),
            _about(now, age != COMPARED, alerts[REJECTED_SHARE], beyond),
            changed,
        )
        return Snapshot(
            time=now.time,
            names=now.names,
            statistics=shown.statistics,
            states=self._states.all(),
            alerts=alerts | beyond,
            evidence=shown.evidence,
            sentences=self._sentences.all(),
            advice=self._advice.all(),
            window_pairs=shown.pairs,
            last_reading=shown.last_reading,
            last_pair=shown.last_pair,
            withdrawn=withdrawn,
            recent_z=shown.recent_z,
            intervals_only=shown.intervals_only,
            paged=call_out.listed(
                shown.discounted, faulty, ~silent & (shown.pairs > 0), self._rules
            ),
            suspects=now.suspects,
            profiles=self._profiles,
        )

    # -- inside -----------------------------------------------------------------------------

    def _learn_rules(self, rules: Sequence[SeriesRules]) -> Steps[None]:
        for new in portions(rules[len(self._profiles) :], _SERIES_AT_ONCE):
            self._profiles += tuple(each.profile for each in new)
            for name, column in self._limits.items():
                more = np.array([getattr(each, name) for each in new], dtype=np.float64)
                self._limits[name] = np.append(column, more)
            yield

    def _learn_judgements(self, now: Known, changed: Int) -> Steps[None]:
        count = len(now.names)
        self._faults = np.append(self._faults, np.full(count - self._faults.size, _NO_FAULT))
        self._advice.grow(count)
        for part in portions(changed.tolist(), _SERIES_AT_ONCE):
            faults = []
            for row in part:
                judged = now.judgement(row)
                fault, advice = ("", "") if judged is None else (judged.alert, judged.advice)
                faults.append(_FAULT_NUMBERS.get(fault, _NO_FAULT))
                self._advice.say(row, advice)
            self._faults[part] = faults
            yield

    def _alerts(self, now: Known, age: Int) -> dict[str, Bool]:
        """Return for each alert but the thresholds which series it is active for."""
        explained, users = _explained(now), np.zeros(age.size, np.bool_)
        for each in now.suspects:
            users[list(each.rows)] = True
        of_faults = active(now.shown.states, self._faults)
        alerts = {fault: firing & ~explained for fault, firing in of_faults.items()}
        faulty = np.logical_or.reduce(list(alerts.values()))
        return {
            **alerts,
            REFERENCE_STALE: age != COMPARED,
            REFERENCE_SUSPECT: users & ~faulty,
            REJECTED_SHARE: now.rejected > self._limits["rejected_share"],
        }

    def _tell(self, now: Known, codes: Int, about: _About, changed: Int) -> Steps[None]:
        """Put into words again what changed: the numbers of a series, its state, what is about."""
        known = len(self._states)
        stale = np.zeros(codes.size, np.bool_)
        stale[changed] = stale[known:] = True
        stale[about.others(self._about)] = True
        others = np.append(codes[:known] != self._codes, stale[known:])
        self._states.grow(codes.size)
        self._sentences.grow(codes.size)
        for row in np.flatnonzero(others).tolist():
            self._states.say(row, WORDS[codes[row]])
        yield
        is_any, blurred = about.is_any(), now.shown.statistics.get(BLURRED, np.zeros(codes.size))
        for part in portions(np.flatnonzero(stale | others).tolist(), _SENTENCES_AT_ONCE):
            columns = (codes, now.shown.pairs, is_any, blurred)
            numbers = zip(*(each[part].tolist() for each in columns), strict=True)
            for row, (code, pairs, is_more, blur) in zip(part, numbers, strict=True):
                words = sentence(
                    WORDS[code],
                    now.judgement(row),
                    pairs,
                    {BLURRED: blur},
                    about.of(row) if is_more else NOTHING,
                )
                self._sentences.say(row, words)
            yield
        self._codes, self._about = codes, about


def _about(now: Known, uncompared: Bool, rejected: Bool, beyond: Mapping[str, Bool]) -> _About:
    suspicion: dict[int, str] = {}
    for each in now.suspects:
        suspicion |= dict.fromkeys(each.rows, each.sentence)
    return _About(
        np.where(uncompared, now.shown.last_reading - now.shown.last_pair, 0.0),
        np.where(rejected, now.rejected, 0.0),
        beyond,
        suspicion,
    )


def _explained(now: Known) -> Bool:
    """Return which firing offsets a suspect reference explains."""
    explained = np.zeros(now.shown.states.size, np.bool_)
    for each in now.suspects:
        for row in each.rows:
            judgement = now.judgement(row)
            if (
                now.shown.states[row] == FIRING
                and judgement is not None
                and FAULTS[judgement.alert].mirrors
            ):
                explained[row] |= explains(each.estimate, judgement.estimate)
    return explained


def explains(reference: Estimate, sensor: Estimate) -> bool:
    """Whether a reference that is off explains a sensor's offset: the same, seen the other way.

    A sensor much further off than the reference has an offset of its own.
    """
    common, own = -reference.value, sensor.value
    half = 0.5 * (sensor.upper - sensor.lower)
    most = _SAME_SIZE * abs(common) + (half if np.isfinite(half) else 0.0)
    return common * own > 0.0 and abs(own) <= most
