"""Saves the evidence of long series in the journal, in portions, for the next start.

Rules of this file: a portion is small, so that it does not delay commits; one is saved at each
round of housekeeping, and several when the daemon stops cleanly. A full journal gets none: evidence
can be recomputed from pairs.
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
        """Save the evidence of a portion of the series; return of how many."""
        kept = self._network.keep_evidence(self._kept_from, PORTION)
        if kept:
            self._store.append(Batch(evidence=kept))
        return len(kept)

    def finish(self) -> None:
        """Save the remaining evidence, as far as a short time allows."""
        try:
            for _ in range(LAST_PORTIONS):
                if self.work() < PORTION:
                    return
        except JournalFullError as error:
            _log.error("%s", error)
