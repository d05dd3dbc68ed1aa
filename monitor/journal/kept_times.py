"""Tracks until which event time a journal keeps evidence of each series, and what becomes void.

Rules of this file: the times may be later than the file's, never earlier: too much is deleted
rather than too little. So a transaction that fails needs no undoing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from monitor.core.detector.kept_evidence import KeptEvidence
from monitor.core.model import Records
from monitor.journal.database import Database


class KeptTimes:
    """State: the times, by series; ``dropped`` are series whose evidence a transaction deletes.

    ``Writer.write`` clears them when it begins a transaction.
    """

    def __init__(self, database: Database) -> None:
        self._database: Final = database
        self._times = np.full(1, -np.inf)  # the last one is that of all series beyond
        self.dropped: Final[list[int]] = []
        rows = list(database.read("evidence", bodies=False))
        self.keep([KeptEvidence(series, time, b"") for series, time, _ in rows])

    def keep(self, kept: Sequence[KeptEvidence]) -> None:
        """Note what is written."""
        lacking = max((each.series for each in kept), default=-1) + 2 - self._times.size
        if lacking > 0:
            self._times = np.append(self._times, np.full(lacking, -np.inf))
        for series, time, _ in kept:
            self._times[series] = max(time, self._times[series])
        self.dropped[:] = {*self.dropped}.difference(each.series for each in kept)

    def drop_before(self, pairs: Records) -> None:
        """Delete the evidence of series whose pairs up to its time change."""
        series = pairs["series"]
        kept = self._times[np.minimum(series, self._times.size - 1)]
        void = np.flatnonzero(pairs["time"] <= kept)
        for row in np.unique(series[void]).tolist():
            self._database.delete("evidence", "series = ?", row)
            self.dropped.append(row)

    def settle(self) -> None:
        """Note that the transaction is durable."""
        self._times[self.dropped] = -np.inf
