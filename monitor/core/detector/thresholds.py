"""Thresholds on published statistics, for those who want them: the literal alerts of the papers.

Rules of this file: a threshold compares one statistic of a series' window with a limit: as it is,
or as a ratio to what the sensor's claim predicts, to the same statistic of its first pairs, or to
the median of similar series. It has no guarantee against false alarms; docs/evidence/detection.md
has its false alarms and delays. Time is that of the pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Le, doc

from monitor.core.model import Bool, Float, Int
from monitor.core.registry import SeriesName
from monitor.core.scores.statistics import over_expected, over_usual, threshold_statistics
from monitor.core.setting import Patterns

if TYPE_CHECKING:
    StatisticName = str
else:  # the settings accept these names and list them in their schema
    StatisticName = Literal[tuple(threshold_statistics())]
Limit = Annotated[float, Ge(-1e15), Le(1e15)]
# (threshold, sensor, quantity, since when beyond or None, whether it fires)
Crossings = list[tuple[str, str, str, float | None, bool]]
# (series, statistic, how many of its first pairs, its value over them, time of the last of them)
Bases = list[tuple[int, str, int, float, float]]
LIKE_MIN: Final = 5  # series of a group and quantity before they have a median


class Threshold(NamedTuple):
    """One limit on one statistic; its name is the alert's."""

    name: Annotated[str, doc("Name of the alert: 1 to 32 of a-z 0-9 _, a letter first.")]
    statistic: Annotated[
        StatisticName,
        doc("Name of the metric without `monitor_`, or of a convention (docs/metrics.md)."),
    ]
    against: Annotated[
        Literal["absolute", "expected", "baseline", "fleet_median"],
        doc(
            "What the limit holds for: the statistic itself (absolute), or its ratio to what the "
            "sensor's claim predicts (expected), to its first pairs (baseline), or to the median "
            "of its group (fleet_median)."
        ),
    ] = "absolute"
    above: Annotated[Limit | None, doc("The alert begins above this.")] = None
    below: Annotated[Limit | None, doc("The alert begins below this.")] = None
    for_hours: Annotated[
        float,
        Ge(0),
        Le(87_840),
        doc("How long the statistic must be beyond the limit, in the time of the pairs."),
    ] = 0.0
    hysteresis: Annotated[
        float,
        Ge(0),
        Le(1),
        doc("How far back within the limit, as a share of it, the alert ends."),
    ] = 0.1
    pairs_min: Annotated[
        int, Ge(1), Le(100_000), doc("Windows with fewer pairs are not compared.")
    ] = 20
    baseline_pairs: Annotated[
        int,
        Ge(10),
        Le(100_000),
        doc("How many of the first pairs since the last event form the baseline."),
    ] = 100
    sensors: Annotated[Patterns, doc("Patterns of the sensors.")] = ("*",)
    quantities: Annotated[Patterns, doc("Patterns of the quantities.")] = ("*",)

    @property
    def limits(self) -> tuple[float, float]:
        """``below`` and ``above``, infinite where there is no such limit."""
        below = -math.inf if self.below is None else self.below
        return below, math.inf if self.above is None else self.above

    def applies(self, name: SeriesName) -> bool:
        """Whether the threshold applies to a series."""
        return any(fnmatchcase(name.sensor, each) for each in self.sensors) and any(
            fnmatchcase(name.quantity, each) for each in self.quantities
        )


class Judged(NamedTuple):
    """The input of thresholds, one entry a series in each column.

    ``shown`` marks series whose statistics are of now; ``baseline(row, statistic, pairs)`` gives
    a statistic of a series' first pairs and the time of the last of them, NaN while there are
    fewer.
    """

    names: Sequence[SeriesName]
    statistics: Mapping[str, Float]
    pairs: Int
    last_pair: Float
    shown: Bool
    baseline: Callable[[int, str, int], tuple[float, float]]


@dataclass
class _ThresholdState:
    """Which series are meant, since when each is beyond (NaN: it is not), and which fire."""

    meant: Bool
    since: Float
    active: Bool

    def crossed(self) -> Int:
        """Return which series are beyond, or fire."""
        return np.flatnonzero(self.active | ~np.isnan(self.since))


class Thresholds:
    """State: since when each series has been beyond each threshold."""

    def __init__(self, thresholds: Sequence[Threshold]) -> None:
        self._thresholds: Final = tuple(thresholds)
        self._states: Final = {
            each.name: _ThresholdState(np.zeros(0, np.bool_), np.zeros(0), np.zeros(0, np.bool_))
            for each in self._thresholds
        }
        self._baselines: dict[tuple[int, str, int], tuple[float, float]] = {}
        self._sought: dict[tuple[int, str, int], float] = {}  # in vain, and the last pair then
        self._names: Sequence[SeriesName] = ()
        self._recalled: dict[tuple[str, str, str], tuple[float, bool]] = {}
        self.changed = 0

    def crossings(self) -> Crossings:
        """Return which series are beyond which threshold, for :meth:`recall`."""
        crossings: Crossings = []
        for name, state in self._states.items():
            for row in state.crossed().tolist():
                since, who = float(state.since[row]), self._names[row]
                at = None if np.isnan(since) else since
                crossings.append((name, who.sensor, who.quantity, at, bool(state.active[row])))
        for (name, sensor, quantity), (since, active) in self._recalled.items():
            if name in self._states:
                at = None if np.isnan(since) else since
                crossings.append((name, sensor, quantity, at, active))
        return crossings

    def recall(self, crossings: Crossings) -> None:
        """Load crossings; those of series that are not registered yet apply once they are."""
        self._recalled = {
            (name, sensor, quantity): (np.nan if since is None else since, active)
            for name, sensor, quantity, since, active in crossings
        }

    def bases(self) -> Bases:
        """Return the baselines found, for :meth:`recall_bases`."""
        return [(*key, *found) for key, found in self._baselines.items()]

    def recall_bases(self, bases: Bases) -> None:
        """Load baselines, whose pairs may have been deleted since."""
        for row, statistic, pairs, value, until in bases:
            self._baselines[row, statistic, pairs] = value, until

    def forget(self, row: int, since: float = -math.inf) -> None:
        """Drop the baselines of a series whose past changed from ``since`` on."""
        for key in [key for key in self._sought if key[0] == row]:
            del self._sought[key]
        for key in [key for key in self._baselines if key[0] == row]:
            if self._baselines[key][1] >= since:
                del self._baselines[key]

    def judge(self, facts: Judged) -> dict[str, Bool]:
        """Return for each threshold which series are beyond it for long enough."""
        self._names = facts.names
        return {each.name: self._judge(each, facts) for each in self._thresholds}

    def _judge(self, threshold: Threshold, facts: Judged) -> Bool:
        state = self._states[threshold.name]
        self._grow(state, threshold, facts.names)
        judged = state.meant & facts.shown & (facts.pairs >= threshold.pairs_min)
        values = self._values(threshold, facts, judged)
        with np.errstate(invalid="ignore"):
            below, above = threshold.limits
            beyond = judged & ((values > above) | (values < below))
            back = threshold.hysteresis
            within = (values <= above - back * abs(above)) | np.isinf(above)
            within &= (values >= below + back * abs(below)) | np.isinf(below)
        since = np.where(beyond, np.fmin(state.since, facts.last_pair), np.nan)
        lasting = beyond & (facts.last_pair - since >= threshold.for_hours * 3600.0)
        active = judged & np.isfinite(values) & (lasting | (state.active & ~within))
        same = np.array_equal(since, state.since, equal_nan=True)
        self.changed += not (same and np.array_equal(active, state.active))
        state.since, state.active = since, active
        return active.copy()

    def _grow(
        self, state: _ThresholdState, threshold: Threshold, names: Sequence[SeriesName]
    ) -> None:
        new = names[state.meant.size :]
        if not new:
            return
        known = [(threshold.name, name.sensor, name.quantity) for name in new]
        before = [self._recalled.pop(each, (np.nan, False)) for each in known]
        meant = np.array([threshold.applies(name) for name in new])
        state.meant = np.concatenate([state.meant, meant])
        state.since = np.concatenate([state.since, np.array([since for since, _ in before])])
        state.active = np.concatenate([state.active, np.array([active for _, active in before])])

    def _values(self, threshold: Threshold, facts: Judged, judged: Bool) -> Float:
        values = facts.statistics.get(threshold.statistic)
        if values is None:
            return np.full(judged.size, np.nan)
        if threshold.against == "expected":
            return over_expected(threshold.statistic, facts.statistics)
        if threshold.against == "baseline":
            usual = self._of_first_pairs(threshold, facts, judged)
            return over_usual(threshold.statistic, values, usual)
        if threshold.against == "fleet_median":
            usual = _of_their_like(values, facts.names, judged)
            return over_usual(threshold.statistic, values, usual)
        return values

    def _of_first_pairs(self, threshold: Threshold, facts: Judged, judged: Bool) -> Float:
        """Return the statistic over each series' first pairs, looked up once."""
        base = np.full(judged.size, np.nan)
        ready = judged & (
            facts.pairs >= min(threshold.baseline_pairs, int(facts.pairs.max(initial=0)))
        )
        for row in np.flatnonzero(ready).tolist():
            key = (row, threshold.statistic, threshold.baseline_pairs)
            baseline, newest = self._baselines.get(key), float(facts.last_pair[row])
            if baseline is None and self._sought.get(key) != newest:
                baseline = facts.baseline(*key)
                if np.isfinite(baseline[0]):
                    self._baselines[key] = baseline
                    self._sought.pop(key, None)
                else:
                    self._sought[key] = newest
            base[row] = np.nan if baseline is None else baseline[0] or np.nan
        return base


def _of_their_like(values: Float, names: Sequence[SeriesName], judged: Bool) -> Float:
    """Return the median over the judged series of the same kind, of five or more.

    They have the same quantity, group and unit.
    """
    like: dict[tuple[str, str, str], list[int]] = {}
    for row in np.flatnonzero(judged & np.isfinite(values)).tolist():
        name = names[row]
        like.setdefault((name.quantity, name.group, name.unit), []).append(row)
    median = np.full(values.size, np.nan)
    for rows in like.values():
        if len(rows) >= LIKE_MIN:
            median[rows] = np.median(values[rows])
    return median


def over_fleet(thresholds: Iterable[Threshold]) -> tuple[Threshold, ...]:
    """Return the thresholds that compare with the whole fleet."""
    return tuple(each for each in thresholds if each.against == "fleet_median")
