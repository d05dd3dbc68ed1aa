"""What the next start goes on from: the evidence of long series, kept in the journal in portions.

Rules of this file: a portion is small, so that the commits beside it do not feel it; there is one
whenever the house is kept, and several when the daemon ends in good order. A journal that is full
gets none: evidence is found again from pairs.
"""

from __future__ import annotations

import logging
import math
from typing import Final

from monitor.core.state.network import Network
from monitor.journal.failures import JournalFullError
from monitor.journal.store import Batch, Store

PORTION: Final = 512  # series at once: some ten milliseconds
LAST_PORTIONS: Final = 16

_log: Final = logging.getLogger("monitor")


class EvidenceKeeping:
    """State: from which event time on the journal has all pairs that evidence rests on."""

    def __init__(self, network: Network, store: Store) -> None:
        self._network: Final = network
        self._store: Final = store
        self._kept_from = -math.inf

    def dropped(self, pairs_before: float) -> None:
        """Note that the journal has dropped pairs, all older than an event time."""
        self._kept_from = max(self._kept_from, pairs_before)
        self._network.drop_kept()

    def work(self) -> int:
        """Keep the evidence of a portion of the series; return of how many."""
        kept = self._network.keep_evidence(self._kept_from, PORTION)
        if kept:
            self._store.append(Batch(evidence=kept))
        return len(kept)

    def finish(self) -> None:
        """Keep what there is to keep, as far as it goes in a moment."""
        try:
            for _ in range(LAST_PORTIONS):
                if self.work() < PORTION:
                    return
        except JournalFullError as error:
            _log.error("%s", error)
