"""From windows and evidence to a snapshot: statistics, judgements, references, sentences.

Rules of this file: derived numbers only, recomputed for the series that changed since the last
time; it owns none of the rules it applies.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core import conventions
from monitor.core.bets import COVERAGE
from monitor.core.details import RECENT, recent_z
from monitor.core.detection import Detector
from monitor.core.evaluation import Evaluation, usual_gap
from monitor.core.fleet import FleetRules
from monitor.core.framing import Frames
from monitor.core.judgements import Judgement, Judgements
from monitor.core.model import Float, Int
from monitor.core.overview import Known, Overview
from monitor.core.pairing import Pairing
from monitor.core.rules import SeriesRules
from monitor.core.snapshot import SeriesName, Snapshot
from monitor.core.stations import Gathered, IsShared, Station, Stations, gathered, shared
from monitor.core.statistics import compute, live_statistics
from monitor.core.thresholds import Threshold, Thresholds
from monitor.core.windows import History, Windows

# Windows are laid end to end for this many series at a time: temporaries stay in the cache.
_SERIES_AT_ONCE: Final = 256


class Ground(NamedTuple):
    """What a snapshot is derived from, and the settings of it."""

    windows: Windows
    detector: Detector
    pairing: Pairing
    rules: Sequence[SeriesRules]
    frames: Frames
    history: History
    fleet: FleetRules
    thresholds: Sequence[Threshold]


class Arrivals(NamedTuple):
    """Who each series is and when it was heard; ``rejected`` is a share of its sensor's messages.

    Times in s UTC: of its first and last reading, and when one last arrived.
    """

    names: tuple[SeriesName, ...]
    first_reading: Float
    last_reading: Float
    heard: Float
    rejected: Float


class Derived:
    """State: what was derived of each series, and what of it is out of date."""

    def __init__(self, ground: Ground) -> None:
        capacity = ground.windows.capacity
        self._ground: Final = ground
        self._evaluation: Final = Evaluation(capacity)
        self._judgements: Final = Judgements()
        self._overview: Final = Overview(ground.fleet, ground.thresholds)
        self._stations: Final = Stations()
        self._recent_z = np.zeros((capacity, RECENT), dtype=np.float32)
        self._gap = np.full(capacity, np.nan)
        self._asked: Final = sorted(
            {each.statistic for each in ground.thresholds} & set(conventions.STATISTICS)
        )

    def mark(self, series: Int) -> None:
        """Note that the windows of ``series`` changed."""
        self._evaluation.mark(series)

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

    def _told(self, row: int) -> tuple[str, float]:
        rules = self._ground.rules[row]
        return rules.unit, rules.patience

    @property
    def thresholds(self) -> Thresholds:
        """Return who is beyond which threshold."""
        return self._overview.thresholds

    def judgement(self, row: int) -> Judgement | None:
        """Return what is known of a series that is not calm, as of the last snapshot."""
        return self._judgements.get(row)

    def snapshot(self, now: float, arrivals: Arrivals, judged_most: int | None) -> Snapshot:
        """Recompute what changed and return all that is known at ``now``.

        At most ``judged_most`` series that are not calm are judged anew, None for all.
        """
        ground = self._ground
        changed = self._evaluation.take_changed()
        touched = ground.pairing.take_touched().union(changed.tolist())
        if changed.size:
            empty = ground.windows.counts(changed) == 0
            self._evaluation.clear(changed[empty])
            self._gap[changed[empty]] = np.nan
            for row in changed[empty].tolist():
                self._judgements.leave(row)
            changed = changed[~empty]
            for at in range(0, changed.size, _SERIES_AT_ONCE):
                self._evaluate(changed[at : at + _SERIES_AT_ONCE])
            self._judgements.mark(changed, ground.detector)
        judged = self._judgements.update(
            ground.frames, ground.detector, lambda row: ground.rules[row].unit, judged_most
        )
        touched.update(judged.tolist())
        self._measure_availability(touched, arrivals.first_reading)
        self._stations.update(
            changed,
            ground.pairing.buckets,
            ground.frames.last,
            ground.frames.columns,
            self._told,
        )
        return self._overview.snapshot(self._known(now, arrivals), touched)

    # -- inside -----------------------------------------------------------------------------

    def _evaluate(self, part: Int) -> None:
        ground = self._ground
        windows = ground.frames.windows(part)
        self._evaluation.update(part, ground.frames.densities(part), windows)
        self._evaluation.store("calibration_coverage_stated", part, windows.mean(windows.p))
        for name in self._asked:
            self._evaluation.store(name, part, conventions.STATISTICS[name](windows))
        self._recent_z[part] = recent_z(windows)
        self._gap[part] = usual_gap(windows)

    def _measure_availability(self, rows: Iterable[int], first_reading: Float) -> None:
        series = np.array(sorted(rows), dtype=np.int64)
        firsts = first_reading[series].tolist()
        shares = [
            self._ground.pairing.availability(row, first)
            for row, first in zip(series.tolist(), firsts, strict=True)
        ]
        self._evaluation.store("availability_ratio", series, np.array(shares))

    def _known(self, now: float, arrivals: Arrivals) -> Known:
        """Return what is known at ``now``, as the overview wants it."""
        ground, count = self._ground, len(arrivals.names)
        every = np.arange(count)
        pairs = ground.windows.counts(every)
        return Known(
            time=now,
            names=arrivals.names,
            rules=ground.rules,
            statistics=self._evaluation.statistics(count),
            judgements=[self._judgements.get(row) for row in range(count)],
            states=ground.detector.states(every),
            evidence=ground.detector.evidence(every),
            discounted=ground.detector.discounted(every),
            pairs=pairs,
            gap=self._gap[:count],
            heard=arrivals.heard[:count],
            last_reading=arrivals.last_reading[:count].copy(),
            last_pair=ground.windows.newest(every),
            recent_z=np.where(pairs[:, None] > 0, self._recent_z[every], np.float32(np.nan)),
            intervals_only=ground.detector.path[every] == COVERAGE,
            rejected=arrivals.rejected,
            suspects=self._stations.suspects(),
            baseline=self._baseline,
        )

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
