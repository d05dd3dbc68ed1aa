"""Which series a person wants to see, and in which order: a pure function of the snapshot.

It works on columns and builds no entry for a series that is not shown. An unknown number comes
last, in either order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from monitor.core.analysis.ranking import PROFILES, score_of
from monitor.core.model import Bool, Float, Int
from monitor.core.registry import SeriesName
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.verdict import FAULTS, IS_RIGHT, REFERENCE_SUSPECT, UNDECIDED

STATES: Final = ("firing", "pending", "stale", "unknown", "ok")  # the most urgent first
STATE_WORDS: Final = {  # the states that pages show: of a calm series that of its verdict
    "firing": "needs work",
    "pending": "may be wrong",
    "stale": "silent",
    UNDECIDED: "no fault found yet",
    IS_RIGHT: "fine",
}
_GROUPS_TALLIED: Final = 12
ROWS: Final = 100
_LASTING_MOST: Final = 1e6
_SEVERITY: Final = {state: float(at) for at, state in enumerate(STATES)}


class SeriesQuery(NamedTuple):
    """A query: ``state`` and ``group`` empty for all, ``text`` as part of a name or a word.

    ``order`` is one of ``ORDERS`` or ``WORDS``; ``page`` counts from 1 and has ``rows`` lines, each
    with all its ``figures`` if these are wanted. ``shown`` is a state as pages show it, ``fault``
    the name of an alert; both empty for all.
    """

    state: str = ""
    group: str | None = None
    text: str = ""
    order: str = "state"
    descending: bool = False
    page: int = 1
    rows: int = ROWS
    figures: bool = False
    shown: str = ""
    fault: str = ""


class Selection(NamedTuple):
    """Rows of the snapshot on one page, the number of all matches, and how many in each state.

    ``states`` counts the matches for any state, ``shown`` by the states that pages show; ``groups``
    are those of all series present.
    """

    rows: Int
    page: int
    pages: int
    matching: int
    states: dict[str, int]
    groups: tuple[str, ...]
    shown: dict[str, int]


def select(now: Snapshot, query: SeriesQuery) -> Selection:
    """Return the part of ``now`` that a query selects; a page beyond the last is the last."""
    states = np.array(now.states, dtype=object)
    mentioned = _mentioned(now, query)
    counts = {state: int(np.sum(mentioned & (states == state))) for state in STATES}
    shown = shown_states(now)
    chosen = mentioned & (states == query.state) if query.state else mentioned
    chosen = np.flatnonzero(chosen & (shown == query.shown) if query.shown else chosen)
    ordered = _ordered(now, chosen, query)
    pages = max(1, -(-ordered.size // query.rows))
    page = min(query.page, pages)
    return Selection(
        rows=ordered[(page - 1) * query.rows : page * query.rows],
        page=page,
        pages=pages,
        matching=int(ordered.size),
        states=counts,
        groups=tuple(sorted({name.group for name in names_shown(now)})),
        shown={state: int(np.sum(mentioned & (shown == state))) for state in STATE_WORDS},
    )


def shown_states(now: Snapshot) -> npt.NDArray[np.object_]:
    """Return the states of series as pages show them, a column of ``STATE_WORDS``.

    A series without a reference for too long is silent. Another needs work while an alert fires,
    whatever raised it, but may only be wrong while a suspect reference explains its errors. Of calm
    ones one may be wrong if there is advice on it, and is right if that is shown.
    """
    states = np.array(now.states, dtype=object)
    right = np.zeros(states.size, dtype=np.bool_) if now.right is None else now.right
    shown = states.copy()
    shown[(states == "ok") | (states == "unknown")] = UNDECIDED
    shown[(states == "unknown") & now.withdrawn] = "stale"
    shown[(states == "ok") & right] = IS_RIGHT
    shown[_is_advised(now)] = "pending"
    wrong = np.zeros(states.size, dtype=np.bool_)
    for alert, active in now.alerts.items():
        wrong |= active & (alert != REFERENCE_SUSPECT)
    shown[_with_fault(now, REFERENCE_SUSPECT, states == "firing")] = "pending"
    shown[wrong & (shown != "stale")] = "firing"
    return shown


def _is_advised(now: Snapshot) -> Bool:
    """Return which calm series have advice, as where their neighbours say that they left them."""
    pairs = zip(now.states, now.advice, strict=True)
    return np.array([state in ("ok", "unknown") and bool(words) for state, words in pairs], bool)


def _with_fault(now: Snapshot, fault: str, among: Bool) -> Bool:
    return np.logical_and(among, now.alerts.get(fault, False))


class FaultTable(NamedTuple):
    """How many series of each group have each fault, the most first; ``more`` groups left out."""

    faults: tuple[str, ...]
    groups: tuple[tuple[str, tuple[int, ...]], ...]
    more: int


def fault_table(now: Snapshot) -> FaultTable:
    """Return the faults of all series present that need work, by their groups."""
    working = now.present() & (shown_states(now) == "firing")
    counts = Counter(
        (fault, now.names[row].group)
        for fault in FAULTS
        for row in _with_fault(now, fault, working).nonzero()[0].tolist()
    )
    by_fault, by_group = Counter[str](), Counter[str]()
    for (fault, group), count in counts.items():
        by_fault[fault] += count
        by_group[group] += count
    faults = tuple(fault for fault, _ in by_fault.most_common())
    groups = tuple(
        (group, tuple(counts[fault, group] for fault in faults))
        for group, _ in by_group.most_common(_GROUPS_TALLIED)
    )
    return FaultTable(faults, groups, len(by_group) - len(groups))


def state_word(state: str, count: int = 1) -> str:
    """Return how pages call a state that so many series are in; of an alert's end, its name."""
    word = STATE_WORDS.get(UNDECIDED if state in ("ok", "unknown") else state, state)
    return word if count == 1 else word.replace("needs", "need")


def names_shown(now: Snapshot) -> list[SeriesName]:
    """Return the names of all series that are present, in their order."""
    return [name for row, name in enumerate(now.names) if row not in now.gone]


def _mentioned(now: Snapshot, query: SeriesQuery) -> Bool:
    """Whether each series is in the group, has the fault and contains all words of the text."""
    fits = now.present()
    if query.fault:
        fits = _with_fault(now, query.fault, fits)
    if query.group is not None:
        fits &= np.array([name.group == query.group for name in now.names], dtype=np.bool_)
    words = query.text.casefold().split()
    if words:
        texts = (
            f"{name.sensor} {name.quantity} {name.group} {said} {advised}".casefold()
            for name, said, advised in zip(now.names, now.sentences, now.advice, strict=True)
        )
        fits &= np.array([all(word in text for word in words) for text in texts], dtype=np.bool_)
    return fits


def _ordered(now: Snapshot, rows: Int, query: SeriesQuery) -> Int:
    """Return ``rows`` in the requested order; ties by state, lasting evidence, evidence, name."""
    by_name = sorted(
        rows.tolist(), key=lambda row: (now.names[row].sensor, now.names[row].quantity)
    )
    rows = np.array(by_name, dtype=np.int64)
    evidence = np.nan_to_num(now.evidence[rows], nan=0.0, posinf=np.finfo(np.float64).max)
    rows = rows[np.lexsort((-evidence, -_magnitude(now)[rows], _severity(now)[rows]))]
    if query.order in WORDS:
        return _by_word(now, rows, query)
    key = ORDERS[query.order](now)[rows]
    key = np.where(np.isnan(key), np.inf, -key if query.descending else key)
    ordered: Int = rows[np.argsort(key, kind="stable")]
    return ordered


def _by_word(now: Snapshot, rows: Int, query: SeriesQuery) -> Int:
    words = [getattr(name, query.order) for name in now.names]
    ordered = sorted(rows.tolist(), key=lambda row: words[row], reverse=query.descending)
    return np.array(ordered, dtype=np.int64)


def _magnitude(now: Snapshot) -> Float:
    """Return the power of ten of the lasting evidence, 0 to 6.

    While an alert fires its evidence stays fixed; the lasting evidence distinguishes a fault from a
    false alarm. Powers of ten keep the lines of a page from changing places at every pair.
    """
    if now.lasting is None:
        return np.zeros(len(now.names))
    return np.floor(np.log10(np.clip(np.nan_to_num(now.lasting), 1.0, _LASTING_MOST)))


def _severity(now: Snapshot) -> Float:
    """Return how urgent each series is, 0 first: an overstated u after all else that fires."""
    states, shown = np.array(now.states, dtype=object), shown_states(now)
    ranked = np.where((shown == "firing") | (shown == "pending"), shown, states)
    severity = np.array([_SEVERITY.get(state, len(STATES)) for state in ranked])
    mild = [row for row, each in now.reports.items() if each.verdict.fault == "overstated"]
    severity[mild] = np.maximum(severity[mild], 0.5)
    return severity


def error_shown(now: Snapshot) -> Float:
    """Return the error beside each sentence: the one it names, else the window's mean."""
    stated = statistic(now, "error_now")
    return np.where(np.isfinite(stated), stated, statistic(now, "calibration_bias"))


def statistic(now: Snapshot, name: str) -> Float:
    """Return a statistic of every series, NaN where it has none, and for those that stopped."""
    values: Float = np.where(now.withdrawn, np.nan, now.statistics.get(name, np.nan))
    return values


def evidence_shown(now: Snapshot) -> Float:
    """Return the evidence of every series, NaN for those that stopped."""
    values: Float = np.where(now.withdrawn, np.nan, now.evidence)
    return values


def leading(now: Snapshot, row: int) -> str:
    """Return the score that the profile of a series sets first: crps, quadratic or interval."""
    return score_of(now.profiles[row] if now.profiles else "balanced", "normal")


def of_leading(now: Snapshot, ending: str) -> Float:
    """Return ``score_{leading}_{ending}`` of every series."""
    profiles = np.array(now.profiles or ("balanced",) * len(now.names))
    values = np.full(len(now.names), np.nan)
    for profile in PROFILES:
        score = score_of(profile, "normal")
        values = np.where(profiles == profile, statistic(now, f"score_{score}_{ending}"), values)
    return values


def score_ratio(now: Snapshot) -> Float:
    """Return the primary score over its expectation: 1 confirms the claim, above 1 is worse."""
    return of_leading(now, "expected_ratio")


def coverage_gap(now: Snapshot) -> Float:
    """Return the share of intervals that hold, less the one stated."""
    stated = statistic(now, "calibration_coverage_stated")
    return statistic(now, "calibration_coverage_ratio") - stated


FIGURE_ORDERS: Final = frozenset(
    ("evidence", "bias", "score", "zms", "coverage", "information", "availability", "pairs")
)
WORDS: Final = ("sensor", "quantity", "group")
ORDERS: Final[dict[str, Callable[[Snapshot], Float]]] = {
    "known": lambda now: np.arange(float(len(now.names))),
    "state": _severity,
    "pairs": lambda now: now.window_pairs.astype(np.float64),
    "bias": lambda now: np.abs(error_shown(now)),
    "score": score_ratio,
    "zms": lambda now: statistic(now, "calibration_zms"),
    "coverage": coverage_gap,
    "information": lambda now: statistic(now, "ucc_partial_gain_ratio"),
    "availability": lambda now: statistic(now, "availability_ratio"),
    "evidence": evidence_shown,
    "last_pair": lambda now: now.last_pair,
}
