"""What is known of series besides their own pairs: references, messages, thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from monitor.core.model import Bool, Float, Int
from monitor.core.snapshot.state_sentences import Circumstances


class CircumstanceColumns(NamedTuple):
    """What is known of each series besides its pairs; 0, False or absent where there is nothing."""

    uncompared: Float
    rejected: Float
    beyond: Mapping[str, Bool]
    suspicion: Mapping[int, str]

    def is_any(self) -> Bool:
        """Return for which series there is anything."""
        found = (self.uncompared != 0.0) | (self.rejected != 0.0)
        for crossed in self.beyond.values():
            found |= crossed
        found[[*self.suspicion]] = True
        return found

    def of(self, row: int) -> Circumstances:
        """Return what is known of one series."""
        return Circumstances(
            uncompared_seconds=float(self.uncompared[row]),
            rejected=float(self.rejected[row]),
            suspicion=self.suspicion.get(row, ""),
            beyond=tuple(name for name, crossed in self.beyond.items() if crossed[row]),
        )

    def changed_since(self, before: CircumstanceColumns) -> Int:
        """Return the series of which something else was known ``before``."""
        known = before.uncompared.size
        other = self.uncompared[:known] != before.uncompared
        other |= self.rejected[:known] != before.rejected
        for name, crossed in self.beyond.items():
            other |= crossed[:known] != before.beyond[name]
        rows = [
            row
            for row in self.suspicion.keys() | before.suspicion.keys()
            if self.suspicion.get(row) != before.suspicion.get(row)
        ]
        return np.union1d(np.flatnonzero(other), np.array(rows, dtype=np.int64))
