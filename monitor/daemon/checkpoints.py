"""Summaries and evidence that survive a restart beside the pairs, stored in the journal.

Rules of this file: a summary is a note, small, and written with the next batch after it changed, at
most once a second; the last second may be lost, but an alert that rests on it stays. What a batch
makes void goes with that batch, so that no restart finds it again. The evidence of long series is
saved in portions, small ones so that they do not delay commits: one at each round of housekeeping,
several when the daemon stops cleanly. A full journal gets none: evidence can be recomputed from
pairs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from monitor.core.detector.thresholds import Crossings
from monitor.core.diagnosis.onsets import Onsets
from monitor.core.fleet.presence import EvictionSummary, RefusalSummary
from monitor.core.state.network import Network
from monitor.journal.failures import JournalFullError
from monitor.journal.store import Batch, Store

_EVERY_SECONDS: Final = 1.0
_EARLY: Final = frozenset(("silence", "voided"))


class _Checkpoint(NamedTuple):
    """One summary: its note's name and type, a count of changes, how to make and how to load it.

    ``urgent`` counts the changes that must be written with the batch that made them.
    """

    name: str
    form: Any
    changed: Callable[[], int]
    summary: Callable[[], object]
    recall: Callable[[Any], None]
    urgent: Callable[[], int] = lambda: 0


class Checkpoints:
    """State: which of a network's summaries have changed since they were last written."""

    def __init__(self, network: Network) -> None:
        refusals, thresholds = network.refusals, network.thresholds
        eviction, reports = network.eviction, network.reports
        self._summaries: Final = (
            _Checkpoint(
                "refusals",
                RefusalSummary,
                lambda: refusals.changed,
                lambda: refusals.summary(network.registry.rows_of),
                refusals.recall,
            ),
            _Checkpoint(
                "thresholds",
                Crossings,
                lambda: thresholds.changed,
                thresholds.crossings,
                thresholds.recall,
            ),
            _Checkpoint(
                "onsets",
                Onsets,
                lambda: reports.changed,
                reports.onsets,
                reports.recall,
                lambda: reports.voided,
            ),
            _Checkpoint(
                "voided",
                list[int],
                lambda: reports.changed,
                reports.voided_rows,
                reports.recall_voided,
            ),
            _Checkpoint(
                "silence",
                EvictionSummary,
                lambda: eviction.changed,
                eviction.summary,
                eviction.recall,
            ),
        )
        self._noted: Final = {each.name: each.changed() for each in self._summaries}
        self._urgent = self._count_urgent()
        self._last = -_EVERY_SECONDS

    def notes(self, now: float) -> Mapping[str, bytes]:
        """Return the notes that are due at ``now``, s since 1970 UTC."""
        due = [each for each in self._summaries if each.changed() != self._noted[each.name]]
        urgent = self._count_urgent()
        if not due or (urgent == self._urgent and 0.0 <= now - self._last < _EVERY_SECONDS):
            return {}
        self._last, self._urgent = now, urgent
        self._noted.update({each.name: each.changed() for each in due})
        return {each.name: msgspec.json.encode(each.summary()) for each in due}

    def _count_urgent(self) -> int:
        return sum(each.urgent() for each in self._summaries)

    def load(self, store: Store, *, early: bool = False) -> None:
        """Load the summaries into a network that has its series again.

        ``early`` selects those that must be known before readings and pairs are restored.
        """
        for each in self._summaries:
            noted = store.note(each.name)
            if noted and early is (each.name in _EARLY):
                each.recall(msgspec.json.decode(noted, type=each.form))


PORTION: Final = 512  # series at once: some ten milliseconds
LAST_PORTIONS: Final = 16

_log: Final = logging.getLogger("monitor")


def save_evidence(network: Network, store: Store) -> int:
    """Save the evidence of a portion of the series; return of how many."""
    evidence = network.keep_evidence(PORTION)
    if evidence:
        store.append(Batch(evidence=evidence))
    return len(evidence)


def save_all_evidence(network: Network, store: Store) -> None:
    """Save the remaining evidence, as far as a short time allows."""
    try:
        for _ in range(LAST_PORTIONS):
            if save_evidence(network, store) < PORTION:
                return
    except JournalFullError as error:
        _log.error("%s", error)
