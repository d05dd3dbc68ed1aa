"""The published statistics of every series, recomputed for those that changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from monitor.core.columns import Columns
from monitor.core.model import Bool, Float, Int
from monitor.core.scores.proper_scores import Density
from monitor.core.scores.statistics import compute, live_statistics

DENSITIES: Final[tuple[Density, ...]] = ("normal", "tophat")


class StatisticColumns:
    """The last statistics of up to ``capacity`` series, and which of them are out of date."""

    def __init__(self, capacity: int, asked: Sequence[str] = ()) -> None:
        self._asked: Final = {name: name for name in asked}
        self._capacity: Final = capacity
        self._values: dict[str, Float] = {}
        self._changed: Bool = np.zeros(capacity, dtype=np.bool_)

    def mark(self, series: Int) -> None:
        """Note that the windows of ``series`` changed."""
        self._changed[series] = True

    def drain_changed(self, among: Int | None = None) -> Int:
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
