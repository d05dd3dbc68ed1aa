"""Compares the daemon's memory with its journal, series by series, as long as it runs.

Rules of this file: which series comes next is random; a check runs in steps of some milliseconds,
and after each the daemon waits until the time that it took is a five-hundredth of the time that
passed: an idle daemon should cost next to nothing. A series that differs is counted, logged with
all that is needed to reproduce it, and recomputed from the journal.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from random import Random
from typing import Final

from monitor.core.state.network import Network
from monitor.core.state.self_check import Compared
from monitor.core.steps import Steps

SHARE: Final = 0.002  # of one core

_log: Final = logging.getLogger("monitor")


class SelfCheck:
    """State: the results since the start, the check under way, and when its next step is due.

    ``seconds`` measures what a check takes.
    """

    def __init__(
        self,
        network: Network,
        chance: Random,
        seconds: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._network: Final = network
        self._chance: Final = chance
        self._seconds: Final = seconds
        self._due = -math.inf
        self._row = 0
        self._steps: Steps[Compared | None] | None = None
        self.results: Final = {"same": 0, "different": 0}

    def work(self, now: float) -> None:
        """Continue a check by one step if it is due at ``now``, s of a monotonic clock."""
        count = len(self._network.registry.keys)
        if now < self._due or not count:
            return
        began = self._seconds()
        if self._steps is None:
            self._row = self._chance.randrange(count)
            self._steps = self._network.self_check(self._row)
        try:
            next(self._steps)
        except StopIteration as end:
            self._steps = None
            self._take(self._row, end.value)
        self._due = now + (self._seconds() - began) / SHARE

    def _take(self, row: int, compared: Compared | None) -> None:
        if compared is None:
            return
        self.results["different" if compared.differing else "same"] += 1
        if compared.differing:
            sensor, quantity = self._network.registry.keys[row]
            _log.error(
                "self-check: %s/%s differs from the journal in %s (%d pairs from %s to %s; "
                "memory %s, journal %s); it is computed again; please report this",
                *(sensor, quantity, ", ".join(compared.differing), compared.pairs),
                *(compared.first, compared.last, compared.live, compared.journal),
                extra={"fields": {"sensor": sensor, "quantity": quantity}},
            )
            self._network.renew(row)
