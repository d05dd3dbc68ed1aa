"""Along the covariates that are watched, where is each series wrong? Looked for as time allows.

Rules of this file: a series is looked at again after it got pairs, the one that has waited longest
first; its pairs since its last event and the numbers beside them are read from the journal on the
data's thread, what they say is worked out on a thread of its own. After each look the daemon waits
until the time that it took is a hundredth of the time that passed. So what is told follows from the
journal alone, and a restart finds the same.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, NamedTuple

import numpy as np

from monitor.core.analysis.where import (
    Conditional,
    Covariate,
    along_hour,
    along_level,
    calibrated_where,
)
from monitor.core.columns import Columns
from monitor.core.model import Float, Int, Records
from monitor.core.pairing.covariate_samples import CovariateRule, numbers_of
from monitor.core.state.network import Network
from monitor.daemon.covariate_keeper import CovariateKeeper
from monitor.daemon.self_check import SHARE
from monitor.journal.store import Store

_ONE: Final = np.zeros(1, dtype=np.int64)


class _Look(NamedTuple):
    """All that is asked of one series."""

    columns: Columns
    covariates: Sequence[Covariate]
    systematic: Float  # share of the uncertainty, [1]


class WhereCheck:
    """State: what was found last of each series, and the look under way."""

    def __init__(self, network: Network, store: Store, keeper: CovariateKeeper) -> None:
        self._network: Final = network
        self._store: Final = store
        self._keeper: Final = keeper
        self._worker: Final = ThreadPoolExecutor(1, thread_name_prefix="where")
        self._under_way: tuple[int, Future[tuple[tuple[Conditional, ...], float]], float] | None
        self._under_way = None
        self._due = -math.inf
        keeper.changed.update(dict.fromkeys(range(len(network.registry.keys))))
        self.found: Mapping[int, tuple[Conditional, ...]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether no look is under way."""
        return self._under_way is None

    def work(self, now: float) -> None:
        """Begin or end a look if it is due at ``now``, s of a clock that goes forward."""
        if self._under_way is not None:
            row, look, spent = self._under_way
            if look.done():
                self._under_way = None
                told, more = look.result()
                self.found = {**self.found, row: told}
                self._due = now + (spent + more) / SHARE
        elif now >= self._due and self._keeper.changed:
            row = next(iter(self._keeper.changed))
            del self._keeper.changed[row]
            began = time.thread_time()
            asked = self.asked_of(row)
            spent = time.thread_time() - began
            self._due = now + spent / SHARE
            if asked is not None:
                self._under_way = row, self._worker.submit(_looked, asked), spent

    def asked_of(self, row: int) -> _Look | None:
        """Return the pairs of a series since its last event, and what they are looked at along.

        None without a pair that has a standard uncertainty.
        """
        pairs = self._network.since_event(row, self._store.pairs_of(row))
        if not pairs.size:
            return None
        c, name = self._network.as_columns(row, pairs), self._network.names()[row]
        beside = self._store.covariates_of(row)
        asked = [_covariate(rule, c, pairs, beside, name.unit) for rule in self._keeper.rules]
        known = np.flatnonzero(np.isfinite(c.z))
        if not known.size:
            return None
        if known.size < c.z.size:
            c, asked = c.select(known, _ONE), [_of_pairs(each, known) for each in asked]
        share = self._network.rules[row].systematic.share_of(c.u, c.u_ref).max(keepdims=True)
        return _Look(c, asked, share)

    def close(self) -> None:
        """Let a look under way end unseen."""
        self._worker.shutdown(wait=False, cancel_futures=True)


def _looked(asked: _Look) -> tuple[tuple[Conditional, ...], float]:
    """Return what is found, and the processor time it took, s."""
    began = time.thread_time()
    many = len(asked.covariates)
    told = tuple(
        calibrated_where(asked.columns, each, asked=many, systematic=asked.systematic)
        for each in asked.covariates
    )
    return told, time.thread_time() - began


def _covariate(
    rule: CovariateRule, c: Columns, pairs: Records, beside: Records, unit: str
) -> Covariate:
    """Return what a series is looked at along: made of its pairs, or the numbers beside them."""
    if rule.name == "hour":
        return along_hour(c.time)
    if rule.name == "level":
        return along_level(c, unit)
    return Covariate(rule.name, numbers_of(beside, pairs, rule.name), rule.unit)


def _of_pairs(covariate: Covariate, rows: Int) -> Covariate:
    other = None if covariate.other is None else covariate.other[rows]
    return covariate._replace(numbers=covariate.numbers[rows], other=other)
