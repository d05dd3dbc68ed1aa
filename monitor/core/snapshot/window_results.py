"""What extensions compute of the pairs in a window, anew only where these changed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Generic, TypeVar

import numpy as np

from monitor.core.columns import Columns
from monitor.core.diagnosis.columns_of import SeriesColumns
from monitor.core.model import Int
from monitor.core.steps import Steps, portions

Result = TypeVar("Result")


class WindowResults(Generic[Result]):
    """State: an extension's result for each series that asks for one, of its last pairs."""

    def __init__(self) -> None:
        self.of: dict[int, Result] = {}
        self._pairs: dict[int, int] = {}

    def steps(
        self,
        asking: Collection[int],
        changed: Int,
        columns_of: SeriesColumns,
        pairs: Int,
        result_of: Callable[[int, Columns], Result],
        at_once: int,
    ) -> Steps[None]:
        """Compute the results of the series ``asking`` whose pairs or their number changed.

        ``pairs`` is of how many of its last pairs the result of each series is, at most those of
        its window; ``at_once`` series are one step.
        """
        present = columns_of.present(np.array([*asking])).tolist()
        outdated = set(changed.tolist())
        current = {
            row for row in present if row not in outdated and self._pairs.get(row) == pairs[row]
        }
        self.of = {row: result for row, result in self.of.items() if row in current}
        for part in portions([row for row in present if row not in current], at_once):
            series = columns_of.present(np.array(part))  # a void may have emptied one since
            if series.size:
                windows = columns_of.windows(series)
                begins = np.maximum(windows.counts - np.maximum(pairs[series], 1), 0)
                for at, row in enumerate(series.tolist()):
                    own = windows.ends(np.array([at]), begins[at : at + 1])
                    self.of[row], self._pairs[row] = result_of(row, own), int(pairs[row])
            yield
