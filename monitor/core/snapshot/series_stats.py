"""What is shown of each series: its numbers, its evidence, its times, all as of one moment.

Rules of this file: a series is looked at when it changed, and all that is shown of it is taken
then; until the next time it keeps its numbers, which are the same if it did not change.

From windows to published numbers: statistics of what changed, states, sentences.

Rules of this file: derived numbers only, recomputed from the windows of the series that changed
since the last time; what did not change keeps the number it had, which is the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.detector import Detector
from monitor.core.detector.e_values import COVERAGE
from monitor.core.detector.lifecycle import FIRING, OK, STATES
from monitor.core.diagnosis.columns_of import Frames
from monitor.core.diagnosis.faults import FAULTS
from monitor.core.fleet.liveness import Arrivals
from monitor.core.model import Bool, Float, Int
from monitor.core.scores.proper_scores import Density
from monitor.core.scores.statistics import AVAILABILITY, compute, live_statistics
from monitor.core.snapshot.details import RECENT, recent_z
from monitor.core.steps import Steps
from monitor.core.windows.windows import Windows

_COLUMNS_AT_ONCE: Final = 8


class Sources(NamedTuple):
    """Where numbers of series come from; ``availability`` of (row, time of its first reading)."""

    windows: Windows
    detector: Detector
    frames: Frames
    arrivals: Arrivals
    availability: Callable[[int, float], float]


class Shown(NamedTuple):
    """Columns of a snapshot, one entry a series: copies, which nobody changes."""

    statistics: Mapping[str, Float]
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


class Facts:
    """State: what is shown of up to ``capacity`` series, and which of it is out of date."""

    def __init__(self, sources: Sources, asked: Sequence[str]) -> None:
        """``asked`` are statistics that are wanted besides the live ones."""
        capacity = sources.windows.capacity
        self._sources: Final = sources
        self._evaluation: Final = Evaluation(capacity, asked)
        self._states: Int = np.zeros(capacity, dtype=np.int64)
        self._evidence = np.zeros(capacity)
        self._discounted = np.zeros(capacity)
        self._pairs: Int = np.zeros(capacity, dtype=np.int64)
        self._gap = np.full(capacity, np.nan)
        self._last_pair = np.full(capacity, np.nan)
        self._last_reading = np.full(capacity, np.nan)
        self._heard = np.full(capacity, -np.inf)
        # Zeros take no memory; a series is looked at before it is shown.
        self._recent_z: Any = np.zeros((capacity, RECENT), dtype=np.float32)
        self._intervals_only = np.zeros(capacity, dtype=np.bool_)
        self._looked_at = 0
        self._shown: Shown | None = None

    def mark(self, series: Int) -> None:
        """Note that ``series`` changed."""
        self._evaluation.mark(series)

    def take_changed(self, count: int) -> Int:
        """Return which of ``count`` series are to be looked at; forget that they changed."""
        self._evaluation.mark(np.arange(self._looked_at, count))
        self._looked_at = count
        arrivals = self._sources.arrivals
        self._last_reading[:count] = arrivals.last_reading[:count]
        self._heard[:count] = arrivals.heard[:count]
        return self._evaluation.take_changed()

    def look(self, series: Int) -> Int:
        """Take all that is shown of ``series`` anew; return those that have pairs."""
        sources, detector = self._sources, self._sources.detector
        self._shown = None
        self._pairs[series] = counts = sources.windows.counts(series)
        self._states[series] = detector.states(series)
        self._evidence[series] = detector.evidence(series)
        self._discounted[series] = detector.discounted(series)
        self._intervals_only[series] = detector.path[series] == COVERAGE
        self._last_pair[series] = sources.windows.newest(series)
        empty, present = series[counts == 0], series[counts > 0]
        self._evaluation.clear(empty)
        self._gap[empty] = self._recent_z[empty] = np.nan
        if present.size:
            self._evaluate(present)
        self.look_at_arrivals(series)
        return present

    def take_changed_of(self, series: Int) -> Int:
        """Return which of ``series`` are to be looked at; forget that they changed."""
        return self._evaluation.take_changed(series)

    def look_at_arrivals(self, series: Int) -> None:
        """Take anew what is shown of ``series`` besides their pairs, which did not change."""
        self._shown = None
        arrivals = self._sources.arrivals
        self._last_reading[series] = arrivals.last_reading[series]
        self._heard[series] = arrivals.heard[series]
        firsts = arrivals.first_reading[series].tolist()
        shares = map(self._sources.availability, series.tolist(), firsts)
        self._evaluation.store(AVAILABILITY.name, series, np.array([*shares], dtype=np.float64))

    def shown(self, count: int) -> Steps[Shown]:
        """Return copies of the columns of the first ``count`` series; those of before if the same.

        Nothing may be looked at between the steps.
        """
        if self._shown is None or self._shown.states.size != count:
            statistics: dict[str, Float] = {}
            for at, (name, column) in enumerate(self._evaluation.columns()):
                statistics[name] = column[:count].copy()
                if at % _COLUMNS_AT_ONCE == 0:
                    yield
            self._shown = Shown(
                statistics=statistics,
                states=self._states[:count].copy(),
                evidence=self._evidence[:count].copy(),
                discounted=self._discounted[:count].copy(),
                pairs=self._pairs[:count].copy(),
                gap=self._gap[:count].copy(),
                heard=self._heard[:count].copy(),
                last_reading=self._last_reading[:count].copy(),
                last_pair=self._last_pair[:count].copy(),
                recent_z=self._recent_z[:count].copy(),
                intervals_only=self._intervals_only[:count].copy(),
            )
            return self._shown
        return self._shown._replace(
            heard=self._heard[:count].copy(), last_reading=self._last_reading[:count].copy()
        )

    # -- inside -----------------------------------------------------------------------------

    def _evaluate(self, series: Int) -> None:
        frames, evaluation = self._sources.frames, self._evaluation
        windows = frames.windows(series)
        evaluation.update(series, frames.densities(series), windows)
        self._recent_z[series] = recent_z(windows)
        self._gap[series] = usual_gap(windows)


DENSITIES: Final[tuple[Density, ...]] = ("normal", "tophat")
WORDS: Final = (*STATES, "unknown", "stale")
_UNKNOWN, _STALE = WORDS.index("unknown"), WORDS.index("stale")
# Below this many pairs a calm series is "unknown": too few to call it right.
FEW_PAIRS: Final = 20
# A series is compared regularly while its last pair is not older than so many usual gaps.
GAPS: Final = 3.0
RECENT_GAPS: Final = 20
COMPARED, LATE, LOST = 0, 1, 2


class Evaluation:
    """The last statistics of up to ``capacity`` series, and which of them are out of date."""

    def __init__(self, capacity: int, asked: Sequence[str] = ()) -> None:
        self._asked: Final = {name: name for name in asked}
        self._capacity: Final = capacity
        self._values: dict[str, Float] = {}
        self._changed: Bool = np.zeros(capacity, dtype=np.bool_)

    def mark(self, series: Int) -> None:
        """Note that the windows of ``series`` changed."""
        self._changed[series] = True

    def take_changed(self, among: Int | None = None) -> Int:
        """Return which series' numbers are out of date, and forget that they are."""
        changed = np.flatnonzero(self._changed) if among is None else among[self._changed[among]]
        self._changed[changed] = False
        return changed

    def update(self, series: Int, densities: Sequence[Density], windows: Columns) -> None:
        """Recompute the live statistics of ``series`` from their windows."""
        of = np.array(densities)
        for density in DENSITIES:
            chosen = np.flatnonzero(of == density)
            if chosen.size:
                part = windows if chosen.size == series.size else windows.take(chosen)
                self._store(series[chosen], density, part)

    def _store(self, series: Int, density: Density, windows: Columns) -> None:
        metrics = live_statistics(density) | self._asked
        computed = compute(windows, set(metrics.values()))
        for metric, name in metrics.items():
            self.store(metric, series, computed[name])

    def store(self, name: str, series: Int, values: Float) -> None:
        """Keep one statistic of ``series``."""
        column = self._values.get(name)
        if column is None:
            column = self._values[name] = np.full(self._capacity, np.nan)
        column[series] = values

    def clear(self, series: Int) -> None:
        """Forget the numbers of ``series``: their windows are empty."""
        for column in self._values.values():
            column[series] = np.nan

    def columns(self) -> Iterable[tuple[str, Float]]:
        """Return the statistics by name, one number a series; they change with the series."""
        return self._values.items()


def usual_gap(windows: Columns) -> Float:
    """Return the median time between the last pairs of each series, s; NaN with fewer than three.

    Pairs of one instant are one.
    """
    ends = windows.starts + windows.counts
    rows = ends[:, None] - np.arange(RECENT_GAPS + 1, 0, -1)
    times = np.where(rows >= windows.starts[:, None], windows.time[np.maximum(rows, 0)], np.nan)
    gaps = np.diff(times, axis=1)
    gaps = np.sort(np.where(gaps > 0.0, gaps, np.nan), axis=1)
    known = np.isfinite(gaps).sum(axis=1)
    middle = gaps[np.arange(known.size), np.maximum(known - 1, 0) // 2]
    return np.where(known >= 2, middle, np.nan)


def compared(reading: Float, pair: Float, gap: Float, at_least: Float) -> Int:
    """Return whether series are compared with references still: COMPARED, LATE or LOST.

    Late when the last ``pair`` is older than the last ``reading`` by more than three usual gaps and
    by more than ``at_least``, lost at twice that; times of events, in s. A series without a pair is
    neither.
    """
    limit = np.fmax(GAPS * gap, at_least)
    age = reading - pair
    found: Int = (age > limit).astype(np.int64) + (age > 2.0 * limit)
    return found


def judge(states: Int, pairs: Int, withdrawn: Bool, compared: Int) -> Int:
    """Return the state of each series as an index in ``WORDS``."""
    words = np.array([WORDS.index(state) for state in STATES])[states]
    words[(states == OK) & (pairs < FEW_PAIRS)] = _UNKNOWN
    words[compared == LATE] = _STALE
    words[compared == LOST] = _UNKNOWN
    words[withdrawn] = _STALE
    return words


def active(states: Int, faults: Int) -> dict[str, Bool]:
    """Return for each fault which series it is active for: one fault a firing series.

    ``faults`` are places in ``FAULTS``, other numbers for none of them.
    """
    firing = states == FIRING
    return {fault: firing & (faults == at) for at, fault in enumerate(FAULTS)}
