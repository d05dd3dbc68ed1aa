"""Searches, as time allows, for the parts of watched covariates in which a series is wrong.

Rules of this file: a series is looked at again after it got pairs, the one that has waited longest
first; its pairs since its last event and the numbers beside them are read from the journal on the
data's thread, the analysis runs in a thread of its own. After each look the daemon waits until the
time that it took is a hundredth of the time that passed. So the result follows from the journal
alone, and a restart finds the same.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from monitor.core.analysis.where import BUILT_IN, Conditional, Covariate, calibrated_where
from monitor.core.columns import Columns
from monitor.core.model import Records
from monitor.core.pairing.covariate_samples import CovariateRule, numbers_of
from monitor.core.pairing.series_rules import Systematic
from monitor.core.state.network import Network
from monitor.daemon.covariate_keeper import CovariateKeeper
from monitor.daemon.self_check import SHARE
from monitor.journal.store import Store

_log: Final = logging.getLogger("monitor")


class _Asked(NamedTuple):
    """The input of a look: pairs of a series since its last event, and all numbers beside them."""

    row: int
    pairs: Records
    beside: Records
    unit: str
    systematic: Systematic


class WhereCheck:
    """State: the last finding on each series, and the look under way."""

    def __init__(self, network: Network, store: Store, keeper: CovariateKeeper) -> None:
        self._network: Final = network
        self._store: Final = store
        self._keeper: Final = keeper
        self._look: _Look | None = None
        self._due = -math.inf
        keeper.changed.update(dict.fromkeys(range(len(network.registry.keys))))
        self.found: Mapping[int, tuple[Conditional, ...]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether no look is under way."""
        return self._look is None

    def work(self, now: float) -> None:
        """Begin or end a look if it is due at ``now``, s of a monotonic clock."""
        look = self._look
        if look is not None:
            if not look.is_alive():
                self._look = None
                self.found = {**self.found, look.asked.row: look.found}
                self._due = now + look.seconds / SHARE
        elif now >= self._due and self._keeper.changed:
            began = time.thread_time()
            row = next(iter(self._keeper.changed))
            del self._keeper.changed[row]
            asked = self._asked_of(row)
            spent = time.thread_time() - began
            self._due = now + spent / SHARE
            if asked.pairs.size:
                self._look = _Look(asked, self._keeper.rules, self._network.as_columns, spent)
                self._look.start()

    def wrong(self) -> dict[tuple[str, ...], float]:
        """Return 1 by sensor, quantity and covariate where a part of it stands out, else 0."""
        names, gone = self._network.registry.keys, self._network.eviction.evicted
        return {
            (*names[row], each.covariate): float(each.state == "found")
            for row, told in sorted(self.found.items())
            for each in told
            if row not in gone
        }

    def _asked_of(self, row: int) -> _Asked:
        network, store = self._network, self._store
        pairs = network.since_event(row, store.pairs_of(row))
        unit, systematic = network.names()[row].unit, network.rules[row].systematic
        return _Asked(row, pairs, store.covariates_of(row), unit, systematic)


class _Look(threading.Thread):
    """Analyses one series; the daemon does not wait for it when it stops.

    ``seconds`` of processor time it took, with those before; nothing is ``found`` if it fails.
    """

    def __init__(
        self,
        asked: _Asked,
        rules: Sequence[CovariateRule],
        as_columns: Callable[[int, Records], Columns],
        seconds: float,
    ) -> None:
        super().__init__(name="where", daemon=True)
        self.asked: Final = asked
        self.found: tuple[Conditional, ...] = ()
        self.seconds = seconds
        self._rules: Final = rules
        self._as_columns: Final = as_columns

    def run(self) -> None:
        """Run the analysis."""
        began = time.thread_time()
        try:
            self.found = self._looked()
        except Exception:  # noqa: BLE001 - a fault here must never cost the daemon
            _log.exception("covariates: an internal error; this series is not judged by them")
        self.seconds += time.thread_time() - began

    def _looked(self) -> tuple[Conditional, ...]:
        row, pairs, beside, unit, systematic = self.asked
        c = self._as_columns(row, pairs)
        asked = [_covariate(rule, c, pairs, beside, unit) for rule in self._rules]
        share = systematic.share_of(c.u, c.u_ref).max(keepdims=True)
        return tuple(
            calibrated_where(c, each, asked=len(asked), systematic=share) for each in asked
        )


def _covariate(
    rule: CovariateRule, c: Columns, pairs: Records, beside: Records, unit: str
) -> Covariate:
    """Return a covariate of a series: made from its pairs, or the numbers beside them."""
    if rule.name in BUILT_IN:
        return BUILT_IN[rule.name](c, unit)
    return Covariate(rule.name, numbers_of(beside, pairs, rule.name), rule.unit)
