"""One round: from windows and evidence to a snapshot.

It refreshes the series that changed and owns none of the rules it applies. It works in steps
between which pairs may come: all numbers of a series belong to one moment between the first step
and the last, or to an earlier one if the series had not changed by then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core.detector.detector import Detector
from monitor.core.detector.thresholds import Threshold, Thresholds
from monitor.core.diagnosis.columns_of import SeriesColumns
from monitor.core.diagnosis.fault_reports import FaultReports
from monitor.core.fleet.call_out import FleetRules
from monitor.core.fleet.presence import HeardTimes
from monitor.core.fleet.reference_stations import (
    IsShared,
    MeetingPairs,
    ReferenceStations,
    SeriesFacts,
    Station,
    gathered,
    shared,
)
from monitor.core.model import Event, Float, Int
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import SeriesKey, SeriesName
from monitor.core.scores.statistics import STATISTICS, compute, live_statistics
from monitor.core.snapshot.additions import Addition, FleetFacts, with_addition
from monitor.core.snapshot.series_stats import SeriesStats, StatsSources
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.snapshot.states import SeriesStates, StatesInput
from monitor.core.steps import Steps, portions, weighed
from monitor.core.windows.series_rings import History
from monitor.core.windows.windows import Windows

# Pairs processed at a time: a step takes a few milliseconds, and temporaries stay in the cache.
_PAIRS_AT_ONCE: Final = 1 << 16
_OF_SERIES: Final = 128  # cost of a series besides its pairs, in pairs
# Cost of a series whose evidence must be replayed from its past. A replay takes as long as its
# longest series, some tenths of a second, however many there are: 512 of them share a step.
_OF_REPLAY: Final = 1 << 7
_REFERENCES_AT_ONCE: Final = 1024


class SnapshotSources(NamedTuple):
    """The sources of a snapshot, and its settings."""

    windows: Windows
    detector: Detector
    pairing: Pairing
    rules: Sequence[SeriesRules]
    keys: Sequence[SeriesKey]
    columns_of: SeriesColumns
    history: History
    fleet: FleetRules
    thresholds: Sequence[Threshold]
    arrivals: HeardTimes
    disturbed: Collection[int]  # series whose evidence belongs to a past that has changed since
    settle: Callable[[Int], None]  # recomputes that evidence from their windows
    events_of: Callable[[int], list[Event]]  # events of the sensor of a series
    additions: Sequence[Addition] = ()  # of extensions


class SnapshotBuilder:
    """State: everything derived from each series, and which of it is out of date."""

    def __init__(self, sources: SnapshotSources) -> None:
        self._sources: Final = sources
        self.reports: Final = FaultReports()
        # A threshold may be put on a statistic that is computed only because of it.
        asked = {each.statistic for each in sources.thresholds} & set(STATISTICS)
        self.stats: Final = SeriesStats(
            StatsSources(
                sources.windows,
                sources.detector,
                sources.columns_of,
                sources.rules,
                sources.arrivals,
                sources.pairing.availability,
                self.reports.get,
            ),
            sorted(asked),
        )
        self._states: Final = SeriesStates(sources.fleet, sources.thresholds)
        self._stations: Final = ReferenceStations()

    def mark(self, series: Int) -> None:
        """Note that the windows of ``series`` changed."""
        self.stats.mark(series)

    def forget(self, row: int, since: float = -math.inf) -> None:
        """Note that the past of a series changed from an event time on."""
        self.reports.forget(row, since)
        self._states.thresholds.forget(row, since)

    def shared_references(
        self, concerned: Int, is_shared: IsShared
    ) -> list[tuple[Station, MeetingPairs | None]]:
        """Return the references that are shared; gathered where one of ``concerned`` meets them."""
        sources = self._sources
        return [
            (
                station,
                gathered(station, sources.columns_of.last, sources.columns_of.columns, self._told)
                if np.isin(station.rows, concerned).any()
                else None,
            )
            for station in shared(
                sources.pairing.reference_buffers, is_shared, lambda row: sources.rules[row].unit
            )
        ]

    def _told(self, row: int) -> SeriesFacts:
        rules, key = self._sources.rules[row], self._sources.keys[row]
        return SeriesFacts((key.sensor, key.quantity), rules.unit, rules.patience, rules.systematic)

    @property
    def thresholds(self) -> Thresholds:
        """Return which series are beyond which threshold."""
        return self._states.thresholds

    def steps(
        self, now: float, names: tuple[SeriesName, ...], rejected: Float, judged_most: int | None
    ) -> Steps[Snapshot]:
        """Refresh what changed and return all that is known of ``names`` at ``now``.

        ``rejected`` is the share of messages of each series' sensor that could not be used. At most
        ``judged_most`` series that are not calm are judged anew, None for all.
        """
        sources, stats = self._sources, self.stats
        changed = stats.drain_changed(len(names))
        touched = sources.pairing.drain_changed_series().difference(changed.tolist())
        yield
        present = [np.zeros(0, np.int64)]
        for part in weighed(changed, self._weights(changed), _PAIRS_AT_ONCE):
            present.append(self._refresh(part))
            yield
        for rows in portions(sorted(touched), _REFERENCES_AT_ONCE):
            others = np.array(rows)
            since = stats.drain_changed_of(others)
            present.append(self._refresh(since))
            stats.refresh_arrivals(np.setdiff1d(others, since))
            changed = np.union1d(changed, since)
            yield
        yield from self._stations.steps(
            np.concatenate(present),
            sources.pairing.reference_buffers,
            sources.columns_of.last,
            sources.columns_of.columns,
            self._told,
        )
        self.reports.follow_clocks(self._stations.clocks())
        judged = yield from self.reports.steps(
            sources.columns_of, sources.detector, sources.rules, judged_most, sources.disturbed
        )
        for rows in portions(judged.tolist(), _REFERENCES_AT_ONCE):
            stats.follow_reports(np.array(rows))
            yield
        shown = yield from stats.shown(len(names))
        suspects, former = self._stations.suspects(), self._stations.former()
        reports = self.reports.known()
        known = StatesInput(
            *(now, names, sources.rules, shown, reports, rejected, suspects, former),
            self._baseline,
        )
        built = yield from self._states.steps(known, np.union1d(changed, judged))
        facts = FleetFacts(
            names,
            sources.rules,
            reports,
            lambda row: [each.time for each in sources.events_of(row)],
            lambda row: sources.windows.as_kept(sources.history(row)),
        )
        for each in sources.additions:
            added = yield from each.steps(np.concatenate(present), sources.columns_of, facts, built)
            built = built if added is None else with_addition(built, each.name, added)
        return built

    # -- inside -----------------------------------------------------------------------------

    def _weights(self, series: Int) -> Int:
        disturbed = np.isin(series, np.array([*self._sources.disturbed], dtype=np.int64))
        counts = self._sources.windows.counts(series) + _OF_SERIES
        weights: Int = np.where(disturbed, _OF_REPLAY, counts)
        return weights

    def _refresh(self, series: Int) -> Int:
        """Refresh everything about ``series``; return those that have pairs."""
        self._sources.settle(series)
        present = self.stats.refresh(series)
        if present.size < series.size:
            for row in np.setdiff1d(series, present, assume_unique=True).tolist():
                self.reports.leave(row)
        self.reports.mark(present, self._sources.detector, self.stats.suspicious(present))
        return present

    def _baseline(self, row: int, metric: str, pairs: int) -> tuple[float, float]:
        """Return a live statistic of the first ``pairs`` pairs of a series' epoch.

        Also the time of the last of them. NaN if there are fewer.
        """
        sources = self._sources
        history = sources.history(row)
        since = np.searchsorted(history["time"], sources.windows.epoch(row))
        first = sources.windows.as_kept(history[since : since + pairs])
        if first.size < pairs:
            return math.nan, math.nan
        one = np.array([row])
        statistic = live_statistics(sources.columns_of.densities(one)[0])[metric]
        known = sources.columns_of.columns(one, np.zeros(1, np.int64), first)
        return float(compute(known, [statistic])[statistic][0]), float(first["time"][-1])
