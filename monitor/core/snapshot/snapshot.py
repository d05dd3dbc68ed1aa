"""The daemon's knowledge at one instant, immutable: the only thing readers ever see.

It includes the state of each series, computed for whole columns from evidence, pairs and times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from monitor.core.analysis.ranking import Profile
from monitor.core.detector.lifecycle import FIRING, OK, STATES
from monitor.core.diagnosis.fault_reports import FaultReport
from monitor.core.fleet.suspect_references import Suspect
from monitor.core.model import NAN, Bool, Float, Int
from monitor.core.registry import SeriesName
from monitor.core.verdict import FAULT, FAULTS, IS_RIGHT, REFERENCE_SUSPECT, UNDECIDED, Verdict
from monitor.core.verdict.pairs import Spread
from monitor.core.verdict.verdict import ErrorModel, State


@dataclass(frozen=True)
class Snapshot:
    """Derived numbers of every series, one entry a series in each column, ordered as ``names``.

    ``statistics`` maps a statistic's name (``STATISTICS``) to one number a series, NaN where it is
    undefined. ``sentences`` describe each series, ``advice`` says what would fix it. ``alerts``
    maps an alert's name to whether it is active; ``paged`` marks the series on the fleet's list,
    for which somebody should be called. ``suspects`` are references that look wrong; the offsets
    they explain are not alerts, nor is what remains of these under ``former_suspects``.
    ``withdrawn`` marks series that stopped: their state stays, their numbers are no longer shown.
    ``reports`` are those on series that are not calm. ``recent_z`` (series x a few) are the last z
    of each in event order, NaN where there are fewer; ``intervals_only`` marks series that state no
    u; ``profiles`` say what counts, balanced where there are none; ``gone`` are the rows of evicted
    series, of which nothing is shown. ``lasting`` is the discounted evidence: it goes on while an
    alert fires, and falls again after a false alarm. ``window_pairs``, ``first_pair``, ``calm``,
    ``error_model``, ``right`` and ``right_since`` are as in :class:`.series_stats.SnapshotColumns`.
    ``additions`` are what extensions say of the series, by their names
    (:class:`monitor.core.snapshot.additions.OwnFindings`), ``helps`` the meaning of the statistics
    that they add.
    """

    time: float
    names: tuple[SeriesName, ...]
    statistics: Mapping[str, Float]
    states: tuple[str, ...]
    alerts: Mapping[str, Bool]
    evidence: Float
    sentences: tuple[str, ...]
    advice: tuple[str, ...]
    window_pairs: Int
    last_reading: Float
    last_pair: Float
    withdrawn: Bool
    reports: Mapping[int, FaultReport] = field(default_factory=dict)
    recent_z: Float | None = None
    intervals_only: Bool | None = None
    paged: Bool | None = None
    suspects: tuple[Suspect, ...] = ()
    former_suspects: tuple[Suspect, ...] = ()
    profiles: tuple[Profile, ...] = ()
    gone: frozenset[int] = frozenset()
    lasting: Float | None = None
    calm: Any = None  # an array of texts, of which most are the same object
    error_model: Any = None  # the same
    right: Bool | None = None
    right_since: Float | None = None
    first_pair: Float | None = None
    additions: Mapping[str, Any] = field(default_factory=dict)
    helps: Mapping[str, str] = field(default_factory=dict)

    def present(self) -> Bool:
        """Return which series are present: all except those that are gone."""
        present = np.ones(len(self.names), dtype=np.bool_)
        present[list(self.gone)] = False
        return present

    def spread(self, row: int) -> Spread:
        """Return what a series states its uncertainty by."""
        if self.intervals_only is not None and self.intervals_only[row]:
            return "interval"
        of_members = self.statistics.get("score_crps_stated_mean")
        return "u" if of_members is None or np.isnan(of_members[row]) else "members"

    def verdict(self, row: int) -> Verdict:
        """Return the verdict on one series; a calm one is right or not known yet.

        Under a suspect reference none is right.
        """
        report, doubted = self.reports.get(row), self.alerts.get(REFERENCE_SUSPECT)
        is_doubted = doubted is not None and bool(doubted[row])
        if report is not None and (report.verdict.state == FAULT or not is_doubted):
            return report.verdict
        is_calm = not is_doubted and self.states[row] == STATES[OK]
        is_right = is_calm and self.right is not None and self.right[row]
        state: State = IS_RIGHT if is_right else UNDECIDED
        since, first = (
            NAN if each is None else float(each[row])
            for each in (self.right_since, self.first_pair)
        )
        words, advice, pairs = self.sentences[row], self.advice[row], int(self.window_pairs[row])
        calm = Verdict(state, sentence=words, pairs=pairs, first=first, right_since=since)
        model: ErrorModel = UNDECIDED if self.error_model is None else self.error_model[row]
        return calm._replace(advice=advice, error_model=model)


# -- the states of series -------------------------------------------------------------------------

# The states of a series in the order of /metrics.
STATE_MEANINGS: Final = {
    "unknown": "too few pairs to call it right or wrong",
    "ok": "its errors agree with what it says of them",
    "pending": "evidence gathers, not yet enough to fire",
    "firing": "it is not as right as it says; `monitor_alert_active` says which way",
    "stale": "no reading came for longer than `series.stale_after_seconds`, or no reference for "
    "longer than `alerts.reference_stale_hours` (after twice that time without a reference: "
    "`unknown`)",
}
STATE_NAMES: Final = (*STATES, "unknown", "stale")
_UNKNOWN, _STALE = STATE_NAMES.index("unknown"), STATE_NAMES.index("stale")
# Below this many pairs a calm series is "unknown": too few to call it right.
FEW_PAIRS: Final = 20
# A series is compared regularly while its last pair is not older than this many usual gaps.
GAPS: Final = 3.0
COMPARED, LATE, LOST = 0, 1, 2


def compared(reading: Float, pair: Float, gap: Float, at_least: Float) -> Int:
    """Return whether series are still compared with references: COMPARED, LATE or LOST.

    LATE if the last ``pair`` is older than the last ``reading`` by more than three usual gaps and
    by more than ``at_least``, LOST at twice that; event times in s. A series without a pair is
    neither.
    """
    limit = np.fmax(GAPS * gap, at_least)
    age = reading - pair
    codes: Int = (age > limit).astype(np.int64) + (age > 2.0 * limit)
    return codes


def state_codes(states: Int, pairs: Int, withdrawn: Bool, compared: Int) -> Int:
    """Return the state of each series as an index in ``STATE_NAMES``."""
    words = np.array([STATE_NAMES.index(state) for state in STATES])[states]
    words[(states == OK) & (pairs < FEW_PAIRS)] = _UNKNOWN
    words[compared == LATE] = _STALE
    words[compared == LOST] = _UNKNOWN
    words[withdrawn] = _STALE
    return words


def active(states: Int, faults: Int) -> dict[str, Bool]:
    """Return for each fault the series for which it is active: one fault a firing series.

    ``faults`` are places in ``FAULTS``; any other number means none.
    """
    firing = states == FIRING
    return {fault: firing & (faults == at) for at, fault in enumerate(FAULTS)}
