"""The columns of a snapshot: numbers, evidence and times of each series, all of one moment.

A series is refreshed when it has changed: everything shown is then read anew, and its published
statistics are computed again. Until the next refresh it keeps its numbers, which stay correct as
long as it does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.detector import Detector
from monitor.core.detector.e_values import COVERAGE
from monitor.core.detector.lifecycle import OK
from monitor.core.diagnosis.columns_of import SeriesColumns
from monitor.core.diagnosis.fault_reports import FaultReport, calm_pairs, last_pairs
from monitor.core.fleet.presence import HeardTimes
from monitor.core.model import Bool, Float, Int
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.scores.proper_scores import Density
from monitor.core.scores.statistics import ASSUMED, AVAILABILITY, compute, live_statistics
from monitor.core.steps import Steps
from monitor.core.verdict import UNDECIDED, screened
from monitor.core.windows.windows import Windows

DENSITIES: Final[tuple[Density, ...]] = ("normal", "tophat")


class StatisticColumns:
    """The latest statistics of up to ``capacity`` series, and which of them are out of date."""

    def __init__(self, capacity: int, asked: Sequence[str]) -> None:
        self._asked: Final = {name: name for name in asked}
        self._capacity: Final = capacity
        self._values: dict[str, Float] = {}
        self._changed: Bool = np.zeros(capacity, dtype=np.bool_)

    def mark(self, series: Int) -> None:
        """Note that the windows of ``series`` changed."""
        self._changed[series] = True

    def drain_changed(self, among: Int | None = None) -> Int:
        """Return the series whose numbers are out of date, and unmark them."""
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
        """Store one statistic of ``series``."""
        column = self._values.get(name)
        if column is None:
            column = self._values[name] = np.full(self._capacity, np.nan)
        column[series] = values

    def is_current(self, row: int) -> bool:
        """Return whether the numbers of a series belong to its present window."""
        return not self._changed[row]

    def both(self, row: int, density: Density, window: Columns) -> tuple[bytes, bytes]:
        """Return the live statistics of a series as they are kept, and as its window gives them."""
        again = StatisticColumns(1, [*self._asked])
        again.update(np.zeros(1, dtype=np.int64), [density], window)
        nothing = np.full(row + 1, np.nan)
        live = [self._values.get(name, nothing)[row].tobytes() for name in again._values]
        return b"".join(live), b"".join(each.tobytes() for each in again._values.values())

    def clear(self, series: Int) -> None:
        """Drop the numbers of ``series``, whose windows are empty."""
        for column in self._values.values():
            column[series] = np.nan

    def columns(self) -> Iterable[tuple[str, Float]]:
        """Return the statistics by name, one number a series: the live arrays, not copies."""
        return self._values.items()


# How many of the last z of each series a snapshot carries, for its line on the fleet's page.
RECENT: Final = 20
RECENT_GAPS: Final = 20
_COLUMNS_AT_ONCE: Final = 4


class StatsSources(NamedTuple):
    """Where numbers of series come from; ``availability(row, time of its first reading)``."""

    windows: Windows
    detector: Detector
    columns_of: SeriesColumns
    rules: Sequence[SeriesRules]
    arrivals: HeardTimes
    availability: Callable[[int, float], float]
    report_of: Callable[[int], FaultReport | None]


class SnapshotColumns(NamedTuple):
    """Columns of a snapshot, one entry a series: copies, which nobody changes.

    ``pairs`` counts those in memory. Statistics are of the pairs that the sentence is from: the
    last ``window_pairs`` of the window, from ``first_pair`` (event time, s UTC) on. ``calm`` says
    within what a series is right while no alert of it fires or is pending, ``right`` whether that
    is enough to call it right; ``right_since`` is when it was repaired, NaN without a repair.
    ``calm`` and ``error_model`` are texts.
    """

    statistics: Mapping[str, Float]
    states: Int
    evidence: Float
    discounted: Float
    pairs: Int
    window_pairs: Int
    gap: Float
    heard: Float
    last_reading: Float
    last_pair: Float
    recent_z: Float
    intervals_only: Bool
    calm: Any
    error_model: Any
    right: Bool
    right_since: Float
    first_pair: Float


class SeriesStats:
    """State: what is shown of up to ``capacity`` series, and which series are out of date."""

    def __init__(self, sources: StatsSources, asked: Sequence[str]) -> None:
        """``asked`` are statistics to compute besides the live ones."""
        capacity = sources.windows.capacity
        self._sources: Final = sources
        self._columns: Final = StatisticColumns(capacity, asked)
        self._states: Int = np.zeros(capacity, dtype=np.int64)
        self._evidence = np.zeros(capacity)
        self._discounted = np.zeros(capacity)
        self._pairs: Int = np.zeros(capacity, dtype=np.int64)
        self._window_pairs: Int = np.zeros(capacity, dtype=np.int64)
        self._gap = np.full(capacity, np.nan)
        self._last_pair = np.full(capacity, np.nan)
        self._last_reading = np.full(capacity, np.nan)
        self._heard = np.full(capacity, -np.inf)
        # Zeros take no memory; every series is refreshed before it is shown.
        self._recent_z: Any = np.zeros((capacity, RECENT), dtype=np.float32)
        self._intervals_only = np.zeros(capacity, dtype=np.bool_)
        self._calm: Any = np.full(capacity, "", dtype=np.object_)
        self._error_model: Any = np.full(capacity, UNDECIDED, dtype=np.object_)
        self._right, self._suspicious = np.zeros((2, capacity), dtype=np.bool_)
        self._right_since, self._first_pair = np.full((2, capacity), np.nan)
        self._known = 0
        self._shown: SnapshotColumns | None = None

    def mark(self, series: Int) -> None:
        """Note that ``series`` changed."""
        self._columns.mark(series)

    def drain_changed(self, count: int) -> Int:
        """Return which of ``count`` series must be refreshed, and unmark them."""
        self._columns.mark(np.arange(self._known, count))
        self._known = count
        arrivals = self._sources.arrivals
        self._last_reading[:count] = arrivals.last_reading[:count]
        self._heard[:count] = arrivals.heard[:count]
        return self._columns.drain_changed()

    def refresh(self, series: Int) -> Int:
        """Refresh everything that is shown of ``series``; return those that have pairs."""
        sources, detector = self._sources, self._sources.detector
        self._shown = None
        self._pairs[series] = counts = sources.windows.counts(series)
        self._states[series] = detector.states(series)
        self._evidence[series] = detector.evidence(series)
        self._discounted[series] = detector.discounted(series)
        self._intervals_only[series] = detector.path[series] == COVERAGE
        self._last_pair[series] = sources.windows.newest(series)
        empty, present = series[counts == 0], series[counts > 0]
        self._columns.clear(empty)
        self._window_pairs[empty] = 0
        self._gap[empty] = self._recent_z[empty] = self._first_pair[empty] = np.nan
        self._calm[empty], self._right[empty], self._suspicious[empty] = "", False, False
        if present.size:
            self._evaluate(present)
        self.refresh_arrivals(series)
        return present

    def follow_reports(self, series: Int) -> None:
        """Compute the statistics of series anew whose report has come to be of other pairs.

        A series that has changed since it was refreshed is refreshed in the next round anyway.
        """
        reported = (row for row in series.tolist() if self._sources.report_of(row) is not None)
        series = np.array([row for row in reported if self.is_current(row)], dtype=np.int64)
        series = self._sources.columns_of.present(series)
        if series.size:
            windows = self._sources.columns_of.windows(series)
            begins = self._reported_from(series, windows)
            others = np.flatnonzero(windows.counts - begins != self._window_pairs[series])
            if others.size:
                self._shown = None
                self._compute(series[others], windows.take(others), begins[others])

    def suspicious(self, series: Int) -> Bool:
        """Return which series are to be examined for a fault although no alert gathers."""
        return self._suspicious[series]

    def is_current(self, row: int) -> bool:
        """Return whether a series has not changed since it was refreshed."""
        return row < self._known and self._columns.is_current(row)

    def both(self, row: int, density: Density, window: Columns) -> tuple[bytes, bytes]:
        """Return the live statistics of a series as they are kept, and as its window gives them."""
        part = window.rows(slice(-int(self._window_pairs[row]), None))
        return self._columns.both(row, density, part)

    def drain_changed_of(self, series: Int) -> Int:
        """Return which of ``series`` must be refreshed, and unmark them."""
        return self._columns.drain_changed(series)

    def refresh_arrivals(self, series: Int) -> None:
        """Refresh everything shown of ``series`` except their pairs, which did not change."""
        self._shown = None
        arrivals = self._sources.arrivals
        self._last_reading[series] = arrivals.last_reading[series]
        self._heard[series] = arrivals.heard[series]
        firsts = arrivals.first_reading[series].tolist()
        shares = map(self._sources.availability, series.tolist(), firsts)
        self._columns.store(AVAILABILITY.name, series, np.array([*shares], dtype=np.float64))
        self._columns.store(ASSUMED.name, series, np.where(arrivals.assumed[series], 1.0, np.nan))

    def shown(self, count: int) -> Steps[SnapshotColumns]:
        """Return copies of the columns of the first ``count`` series; unchanged ones are reused.

        Nothing may be refreshed between the steps.
        """
        if self._shown is None or self._shown.states.size != count:
            statistics = yield from _copies(self._columns.columns(), count)
            own = ((name, getattr(self, f"_{name}")) for name in SnapshotColumns._fields[1:])
            self._shown = SnapshotColumns(statistics, **(yield from _copies(own, count)))
            return self._shown
        return self._shown._replace(
            heard=self._heard[:count].copy(), last_reading=self._last_reading[:count].copy()
        )

    # -- inside -----------------------------------------------------------------------------

    def _evaluate(self, series: Int) -> None:
        windows = self._sources.columns_of.windows(series)
        self._recent_z[series] = recent_z(windows)
        self._gap[series] = usual_gap(windows)
        begins = self._screen(series, windows)
        is_calm = (self._states[series] == OK) & ~self._suspicious[series]
        if (others := np.flatnonzero(~is_calm)).size:
            begins[others] = self._reported_from(series[others], windows.take(others))
        self._compute(series, windows, begins)

    def _compute(self, series: Int, windows: Columns, begins: Int) -> None:
        """Compute the statistics of the pairs of windows from the places ``begins`` on."""
        part = windows.ends(np.arange(series.size), begins) if begins.any() else windows
        self._columns.update(series, self._sources.columns_of.densities(series), part)
        self._window_pairs[series] = part.counts
        self._first_pair[series] = part.time[part.starts]

    def _reported_from(self, series: Int, windows: Columns) -> Int:
        """Return the place of the first pair in each window that the report on its series is of."""
        places = np.zeros(series.size, dtype=np.int64)
        ends = windows.starts + windows.counts
        for at, (row, start, end) in enumerate(
            zip(series.tolist(), windows.starts, ends, strict=True)
        ):
            report = self._sources.report_of(row)
            if report is not None:
                places[at] = report.verdict.begin_in(windows.time[start:end])
        return places

    def _screen(self, series: Int, windows: Columns) -> Int:
        """Note within what series are right whose alert neither fires nor is pending.

        Return the place of the first pair in each window that shows it.
        """
        self._calm[series], self._right[series], self._suspicious[series] = "", False, False
        self._right_since[series], self._error_model[series] = np.nan, UNDECIDED
        begins = np.zeros(series.size, dtype=np.int64)
        places = np.flatnonzero(self._states[series] == OK)
        calm = series[places]
        since, rules = self._sources.detector.since_clear(calm), self._sources.rules
        if not calm.size:
            return begins
        part = windows if calm.size == series.size else windows.take(places)
        of_calm = [rules[row] for row in calm.tolist()]
        pairs, is_part = calm_pairs(last_pairs(part, of_calm), since)
        shown = screened(pairs, unit=[each.unit for each in of_calm], is_part=is_part)
        self._calm[calm], self._right[calm] = shown.sentence, shown.is_right
        self._right_since[calm], self._suspicious[calm] = shown.right_since, shown.is_suspicious
        self._error_model[calm] = shown.error_model
        begins[places] = part.counts - pairs.n
        return begins


def recent_z(windows: Columns) -> Float:
    """Return the last ``RECENT`` z of each series (series x RECENT), NaN before the first."""
    ends = windows.starts + windows.counts
    rows = ends[:, None] - np.arange(RECENT, 0, -1)
    known = rows >= windows.starts[:, None]
    return np.where(known, windows.z[np.maximum(rows, 0)], np.nan)


def usual_gap(windows: Columns) -> Float:
    """Return the median time between the last pairs of each series, s; NaN with fewer than three.

    Pairs of one instant count as one.
    """
    ends = windows.starts + windows.counts
    rows = ends[:, None] - np.arange(RECENT_GAPS + 1, 0, -1)
    times = np.where(rows >= windows.starts[:, None], windows.time[np.maximum(rows, 0)], np.nan)
    gaps = np.diff(times, axis=1)
    gaps = np.sort(np.where(gaps > 0.0, gaps, np.nan), axis=1)
    known = np.isfinite(gaps).sum(axis=1)
    middle = gaps[np.arange(known.size), np.maximum(known - 1, 0) // 2]
    return np.where(known >= 2, middle, np.nan)


def _copies(columns: Iterable[tuple[str, Any]], count: int) -> Steps[dict[str, Any]]:
    """Copy the first ``count`` entries of columns, a few columns a step."""
    copies = {}
    for at, (name, column) in enumerate(columns):
        copies[name] = column[:count].copy()
        if at % _COLUMNS_AT_ONCE == 0:
            yield
    return copies
