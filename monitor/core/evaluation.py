"""From windows to published numbers: statistics of what changed, states, sentences.

Rules of this file: derived numbers only, recomputed from the windows of the series that changed
since the last time; what did not change keeps the number it had, which is the same number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from monitor.core.bets import FAMILIES
from monitor.core.columns import Columns
from monitor.core.lifecycle import FIRING, OK, STATES
from monitor.core.model import Bool, Float, Int
from monitor.core.scores import Density
from monitor.core.statistics import compute, live_statistics

DENSITIES: Final[tuple[Density, ...]] = ("normal", "tophat")
# What a series' own evidence raises, and what its references and its messages do.
FAULTS: Final = (*FAMILIES, "stuck", "gain")
ALERTS: Final = (*FAULTS, "reference_stale", "reference_suspect", "rejected_share")
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

    def __init__(self, capacity: int) -> None:
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
        metrics = live_statistics(density)
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

    ``faults`` are indices in ``FAULTS``, others than these for none of them.
    """
    firing = states == FIRING
    return {fault: firing & (faults == at) for at, fault in enumerate(FAULTS)}
