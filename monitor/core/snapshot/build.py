"""From windows and evidence to a snapshot: statistics, judgements, references, sentences.

Rules of this file: derived numbers only, recomputed for the series that changed since the last
time; it owns none of the rules it applies. It works in steps between which pairs may come: all
numbers of a series are as of one moment between the first step and the last (or since before, if it
had not changed by then); what comes after its moment is in the next snapshot. Its words may be of a
later moment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core.detector.detector import Detector
from monitor.core.detector.thresholds import Threshold, Thresholds
from monitor.core.diagnosis.columns_of import Frames
from monitor.core.diagnosis.fault_reports import FaultReport, FaultReports
from monitor.core.fleet.call_out import FleetRules
from monitor.core.fleet.liveness import Arrivals
from monitor.core.fleet.reference_stations import (
    Gathered,
    IsShared,
    Station,
    Stations,
    Told,
    gathered,
    shared,
)
from monitor.core.model import Float, Int
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import SeriesKey, SeriesName
from monitor.core.scores.statistics import STATISTICS, compute, live_statistics
from monitor.core.snapshot.series_stats import Facts, Sources
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.snapshot.states import Known, Overview
from monitor.core.steps import Steps, portions, weighed
from monitor.core.windows.windows import History, Windows

# Series are looked at so many pairs at a time: a few milliseconds, temporaries stay in the cache.
_PAIRS_AT_ONCE: Final = 1 << 16
_OF_SERIES: Final = 256  # pairs that a series weighs besides its own
_OF_REPLAY: Final = 1 << 12  # and one whose evidence is to be made anew from its past
_REFERENCES_AT_ONCE: Final = 1024


class Ground(NamedTuple):
    """What a snapshot is derived from, and the settings of it."""

    windows: Windows
    detector: Detector
    pairing: Pairing
    rules: Sequence[SeriesRules]
    keys: Sequence[SeriesKey]
    frames: Frames
    history: History
    fleet: FleetRules
    thresholds: Sequence[Threshold]
    arrivals: Arrivals
    disturbed: Collection[int]  # series whose evidence is that of a past which changed since
    settle: Callable[[Int], None]  # makes it that of their windows


class Derived:
    """State: what was derived of each series, and what of it is out of date."""

    def __init__(self, ground: Ground) -> None:
        self._ground: Final = ground
        # A threshold may be put on a statistic that is computed only because of it.
        asked = {each.statistic for each in ground.thresholds} & set(STATISTICS)
        self._facts: Final = Facts(
            Sources(
                ground.windows,
                ground.detector,
                ground.frames,
                ground.arrivals,
                ground.pairing.availability,
            ),
            sorted(asked),
        )
        self._judgements: Final = FaultReports()
        self._overview: Final = Overview(ground.fleet, ground.thresholds)
        self._stations: Final = Stations()

    def mark(self, series: Int) -> None:
        """Note that the windows of ``series`` changed."""
        self._facts.mark(series)

    def forget(self, row: int, since: float = -math.inf) -> None:
        """Note that from an event time on the past of a series is another now."""
        self._overview.thresholds.forget(row, since)

    def shared_references(
        self, concerned: Int, is_shared: IsShared
    ) -> list[tuple[Station, Gathered | None]]:
        """Return the references that are shared; gathered where one of ``concerned`` meets them."""
        ground = self._ground
        return [
            (
                station,
                gathered(station, ground.frames.last, ground.frames.columns, self._told)
                if np.isin(station.rows, concerned).any()
                else None,
            )
            for station in shared(ground.pairing.buckets, is_shared)
        ]

    def _told(self, row: int) -> Told:
        rules, key = self._ground.rules[row], self._ground.keys[row]
        return Told((key.sensor, key.quantity), rules.unit, rules.patience)

    @property
    def thresholds(self) -> Thresholds:
        """Return who is beyond which threshold."""
        return self._overview.thresholds

    def judgement(self, row: int) -> FaultReport | None:
        """Return what is known of a series that is not calm, as of the last snapshot."""
        return self._judgements.get(row)

    def steps(
        self, now: float, names: tuple[SeriesName, ...], rejected: Float, judged_most: int | None
    ) -> Steps[Snapshot]:
        """Look at what changed and return all that is known of ``names`` at ``now``.

        ``rejected`` is the share of messages of each series' sensor that could not be used. At most
        ``judged_most`` series that are not calm are judged anew, None for all.
        """
        ground, facts = self._ground, self._facts
        changed = facts.take_changed(len(names))
        touched = ground.pairing.take_touched().difference(changed.tolist())
        yield
        present = [np.zeros(0, np.int64)]
        for part in weighed(changed, self._weights(changed), _PAIRS_AT_ONCE):
            present.append(self._look(part))
            yield
        for rows in portions(sorted(touched), _REFERENCES_AT_ONCE):
            others = np.array(rows)
            since = facts.take_changed_of(others)
            present.append(self._look(since))
            facts.look_at_arrivals(np.setdiff1d(others, since))
            changed = np.union1d(changed, since)
            yield
        judged = yield from self._judgements.steps(
            ground.frames, ground.detector, lambda row: ground.rules[row].unit, judged_most
        )
        yield from self._stations.steps(
            np.concatenate(present),
            ground.pairing.buckets,
            ground.frames.last,
            ground.frames.columns,
            self._told,
        )
        shown = yield from facts.shown(len(names))
        suspects, judgement = self._stations.suspects(), self._judgements.get
        known = Known(
            now, names, ground.rules, shown, judgement, rejected, suspects, self._baseline
        )
        return (yield from self._overview.steps(known, np.union1d(changed, judged)))

    # -- inside -----------------------------------------------------------------------------

    def _weights(self, series: Int) -> Int:
        disturbed = np.isin(series, np.array([*self._ground.disturbed], dtype=np.int64))
        weights: Int = self._ground.windows.counts(series) + _OF_SERIES + _OF_REPLAY * disturbed
        return weights

    def _look(self, series: Int) -> Int:
        """Take all there is of ``series`` anew; return those that have pairs."""
        self._ground.settle(series)
        present = self._facts.look(series)
        if present.size < series.size:
            for row in np.setdiff1d(series, present, assume_unique=True).tolist():
                self._judgements.leave(row)
        self._judgements.mark(present, self._ground.detector)
        return present

    def _baseline(self, row: int, metric: str, pairs: int) -> tuple[float, float]:
        """Return a live statistic of the first pairs of a series' epoch and the last one's time.

        NaN if there are fewer.
        """
        ground = self._ground
        history = ground.history(row)
        since = np.searchsorted(history["time"], ground.windows.epoch(row))
        first = ground.windows.as_kept(history[since : since + pairs])
        if first.size < pairs:
            return math.nan, math.nan
        one = np.array([row])
        statistic = live_statistics(ground.frames.densities(one)[0])[metric]
        known = ground.frames.columns(one, np.zeros(1, np.int64), first)
        return float(compute(known, [statistic])[statistic][0]), float(first["time"][-1])
