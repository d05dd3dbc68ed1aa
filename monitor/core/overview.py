"""All that is known at one instant, laid side by side: states, alerts, sentences.

Rules of this file: derived from what is handed in; what did not change keeps its words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core import fleet
from monitor.core.evaluation import COMPARED, LOST, active, compared, judge
from monitor.core.fleet import FleetRules
from monitor.core.judgements import Judgement
from monitor.core.lifecycle import FIRING
from monitor.core.model import Bool, Float, Int
from monitor.core.remedies import Estimate
from monitor.core.rules import SeriesRules
from monitor.core.sentences import NOTHING, Circumstances, column, sentence
from monitor.core.snapshot import SeriesName, Snapshot
from monitor.core.suspects import Suspect
from monitor.core.thresholds import Judged, Threshold, Thresholds

_SAME_SIZE: Final = 2.0  # an offset up to so many times a reference's is explained by it


class Known(NamedTuple):
    """What is known at one instant, one entry a series in each column."""

    time: float
    names: tuple[SeriesName, ...]
    rules: Sequence[SeriesRules]
    statistics: Mapping[str, Float]
    judgements: Sequence[Judgement | None]
    states: Int
    evidence: Float
    discounted: Float
    pairs: Int
    gap: Float
    heard: Float
    last_reading: Float
    last_pair: Float
    recent_z: Float
    intervals_only: Bool
    rejected: Float  # share of the sensor's messages
    suspects: tuple[Suspect, ...]
    baseline: Callable[[int, str, int], tuple[float, float]]  # as Judged has it


class Overview:
    """State: the sentences, and what they were made of."""

    def __init__(self, rules: FleetRules, thresholds: Sequence[Threshold]) -> None:
        self._rules: Final = rules
        self.thresholds: Final = Thresholds(thresholds)
        self._sentences: list[str] = []
        self._states: tuple[str, ...] = ()
        self._about: dict[int, Circumstances] = {}

    def snapshot(self, now: Known, changed: set[int]) -> Snapshot:
        """Return what is known; the numbers of ``changed`` series are others than last time."""
        silent = now.time - now.heard > _column(now, "stale_after_seconds")
        age = compared(
            now.last_reading, now.last_pair, now.gap, _column(now, "reference_stale_seconds")
        )
        age = np.where(silent, COMPARED, age)
        states = judge(now.states, now.pairs, silent, age)
        explained = _explained(now)
        alerts = active(now.states, [each.alert if each else "" for each in now.judgements])
        users = np.zeros(now.states.size, np.bool_)
        for each in now.suspects:
            users[list(each.rows)] = True
        for fault, firing in alerts.items():
            alerts[fault] = firing & ~explained
        faulty = np.logical_or.reduce(list(alerts.values()))
        alerts["reference_stale"] = age != COMPARED
        alerts["reference_suspect"] = users & ~faulty
        alerts["rejected_share"] = now.rejected > _column(now, "rejected_share")
        withdrawn = silent | (age == LOST)
        beyond = self.thresholds.judge(
            Judged(now.names, now.statistics, now.pairs, now.last_pair, ~withdrawn, now.baseline)
        )
        about = _circumstances(now, age != COMPARED, alerts["rejected_share"], beyond)
        self._tell(now, states, about, changed)
        return Snapshot(
            time=now.time,
            names=now.names,
            statistics=now.statistics,
            states=states,
            alerts=alerts | beyond,
            evidence=now.evidence,
            sentences=tuple(self._sentences),
            advice=tuple(each.advice if each else "" for each in now.judgements),
            window_pairs=now.pairs,
            last_reading=now.last_reading,
            last_pair=now.last_pair,
            withdrawn=withdrawn,
            recent_z=now.recent_z,
            intervals_only=now.intervals_only,
            paged=fleet.listed(now.discounted, faulty, ~silent & (now.pairs > 0), self._rules),
            suspects=now.suspects,
            profiles=tuple(each.profile for each in now.rules[: len(now.names)]),
        )

    def _tell(
        self,
        now: Known,
        states: tuple[str, ...],
        about: dict[int, Circumstances],
        changed: set[int],
    ) -> None:
        """Put into words again what changed: the numbers of a series, its state, what is about."""
        known = len(self._sentences)
        stale = changed.union(range(known, len(states)))
        if states[:known] != self._states:
            pairs = zip(states, self._states, strict=False)
            stale.update(row for row, (one, other) in enumerate(pairs) if one != other)
        stale.update(
            row
            for row in about.keys() | self._about.keys()
            if about.get(row) != self._about.get(row)
        )
        self._sentences += [""] * (len(states) - known)
        for row in stale:
            self._sentences[row] = sentence(
                states[row],
                now.judgements[row],
                int(now.pairs[row]),
                column(now.statistics, row),
                about.get(row, NOTHING),
            )
        self._states, self._about = states, about


def _circumstances(
    now: Known, uncompared: Bool, rejected: Bool, beyond: Mapping[str, Bool]
) -> dict[int, Circumstances]:
    """Return what is to be said besides of the series of which there is anything."""
    suspicion: dict[int, str] = {}
    for each in now.suspects:
        suspicion |= dict.fromkeys(each.rows, each.sentence)
    special = uncompared | rejected
    for crossed in beyond.values():
        special = special | crossed
    rows = {*np.flatnonzero(special).tolist(), *suspicion}
    waiting = now.last_reading - now.last_pair
    return {
        row: Circumstances(
            uncompared_seconds=float(waiting[row]) if uncompared[row] else 0.0,
            rejected=float(now.rejected[row]) if rejected[row] else 0.0,
            suspicion=suspicion.get(row, ""),
            beyond=tuple(name for name, crossed in beyond.items() if crossed[row]),
        )
        for row in rows
    }


def _column(now: Known, name: str) -> Float:
    return np.array([getattr(each, name) for each in now.rules], dtype=np.float64)


def _explained(now: Known) -> Bool:
    """Return which firing offsets a suspect reference explains."""
    explained = np.zeros(now.states.size, np.bool_)
    for each in now.suspects:
        for row in each.rows:
            judgement = now.judgements[row]
            if now.states[row] == FIRING and judgement is not None and judgement.alert == "offset":
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
