"""From windows to published numbers: statistics of what changed, states, sentences.

Rules of this file: derived numbers only, recomputed from the windows of the series that changed
since the last time; what did not change keeps the number it had, which is the same number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from monitor.core.bets import FAMILIES
from monitor.core.columns import Columns
from monitor.core.lifecycle import FIRING, STATES
from monitor.core.model import Bool, Float, Int
from monitor.core.scores import Density
from monitor.core.statistics import compute, live_statistics

DENSITIES: Final[tuple[Density, ...]] = ("normal", "tophat")
# The alerts of a series; docs/metrics.md has those of references and sources besides.
ALERTS: Final = (*FAMILIES, "stuck", "gain")
# Below this many pairs a calm series is "unknown": too few to call it right.
FEW_PAIRS: Final = 20


class Evaluation:
    """The last statistics of up to ``capacity`` series, and which of them are out of date."""

    def __init__(self, capacity: int) -> None:
        self._capacity: Final = capacity
        self._values: dict[str, Float] = {}
        self._changed: set[int] = set()

    def mark(self, series: Int) -> None:
        """Note that the windows of ``series`` changed."""
        self._changed.update(series.tolist())

    def take_changed(self) -> Int:
        """Return the series whose numbers are out of date, and forget that they are."""
        changed = np.array(sorted(self._changed), dtype=np.int64)
        self._changed.clear()
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

    def statistics(self, count: int) -> Mapping[str, Float]:
        """Return a copy of the statistics of the first ``count`` series, by name."""
        return {name: column[:count].copy() for name, column in self._values.items()}


def judge(states: Int, pairs: Int, withdrawn: Bool) -> tuple[str, ...]:
    """Return the state of each series in words: unknown, ok, pending, firing or stale."""
    words = np.array(STATES, dtype=object)[states]
    words[(words == "ok") & (pairs < FEW_PAIRS)] = "unknown"
    words[withdrawn] = "stale"
    return tuple(words.tolist())


def active(states: Int, alerts: Sequence[str]) -> dict[str, Bool]:
    """Return for each alert which series it is active for: one alert a firing series."""
    firing, of = states == FIRING, np.array(alerts, dtype=object)
    return {alert: firing & (of == alert) for alert in ALERTS}
