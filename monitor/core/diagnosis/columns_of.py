"""Windows of series as columns, each series by its own settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from monitor.core.columns import Columns, columns
from monitor.core.detector.detector import Detector
from monitor.core.detector.e_values import COVERAGE
from monitor.core.model import Int, Records
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.scores.proper_scores import Density
from monitor.core.windows.rings import WINDOW
from monitor.core.windows.windows import Windows

_BEFORE_ALARM: Final = 256


def pairs_to_alarm(window: int) -> int:
    """Return from how many pairs up to its alarm the onset of an incident is read."""
    return min(_BEFORE_ALARM, 1 + window // 2)


class SeriesColumns:
    """Lays pairs of series end to end, as the statistics need them."""

    def __init__(self, windows: Windows, detector: Detector, rules: Sequence[SeriesRules]) -> None:
        self._windows: Final = windows
        self._detector: Final = detector
        self._rules: Final = rules

    def window_rows(self, series: Int) -> tuple[Int, Records]:
        """Return the windows of ``series`` end to end: (start of each, rows); none is empty."""
        rules = self._rules_of(series)
        sizes = np.array([each.window_pairs for each in rules])
        ages = np.array([each.window_seconds for each in rules])
        return self._windows.gather(series, sizes, ages)

    def windows(self, series: Int) -> Columns:
        """Return the windows of ``series``; each must hold a pair."""
        return self.columns(series, *self.window_rows(series))

    def columns(self, series: Int, starts: Int, rows: Records) -> Columns:
        """Return rows (``WINDOW``) of ``series``, at least one of each, as columns."""
        counts = np.diff(starts, append=rows.size)
        levels = np.repeat([each.level for each in self._rules_of(series)], counts)
        names = ("time", "value", "reference", "u", "lower", "upper", "p", "u_ref", "crps")
        parts = {name: np.ascontiguousarray(rows[name]) for name in names}
        return columns(starts, level=levels, **parts)

    def present(self, series: Int) -> Int:
        """Return those of ``series`` that hold a pair."""
        return series[self._windows.counts(series) > 0]

    def last(self, series: Int, most: int) -> tuple[Int, Int, Records]:
        """Return which of ``series`` have pairs, and the last ``most`` of each end to end."""
        present = self.present(series)
        if not present.size:
            return present, present, np.zeros(0, WINDOW)
        sizes, ages = np.full(present.size, most), np.full(present.size, np.inf)
        return present, *self._windows.gather(present, sizes, ages)

    def up_to_alarm(self, series: int, since: int) -> Columns | None:
        """Return pairs of one series that end ``since`` pairs before its newest; None if gone.

        At most half a window and 256 pairs, so that memory usually still holds them.
        """
        rows = self._windows.up_to(series, since, pairs_to_alarm(self._windows.size))
        one = np.array([series])
        return self.columns(one, np.zeros(1, dtype=np.int64), rows) if rows.size else None

    def densities(self, series: Int) -> list[Density]:
        """Return the density that each series' scores use."""
        usual: list[Density] = ["normal", "tophat"]
        by_intervals = (self._detector.path[series] == COVERAGE).tolist()
        return [
            usual[intervals] if rules.density == "auto" else rules.density
            for rules, intervals in zip(self._rules_of(series), by_intervals, strict=True)
        ]

    def _rules_of(self, series: Int) -> list[SeriesRules]:
        return [self._rules[row] for row in series.tolist()]
