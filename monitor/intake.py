"""From messages to durable pairs: decode, observe, commit, apply. The same for every source.

Rules of this file: a message counts once: committed if any of its observations is new, else
duplicate if any came before, else rejected for its first reason; bad records of a message that is
otherwise good count apart; what is rejected is kept as a dead letter in the same transaction;
memory takes pairs only after the journal has them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from monitor.core.model import Event, Observation
from monitor.core.network import Network, Outcome
from monitor.core.windows import in_event_order
from monitor.decode import REASONS, Rejected, Router
from monitor.journal import Batch, DeadLetter, Journal

_DEAD_LETTER_BYTES: Final = 1024
_DEAD_LETTERS_A_MESSAGE: Final = 8
_REJECTED, _DUPLICATE, _COMMITTED, _COUNTED = range(4)


class Incoming(Protocol):
    """What the intake needs to know of a message."""

    topic: str
    payload: bytes


class Counts:
    """How many messages came and what became of them, over the life of the journal."""

    def __init__(self, totals: dict[str, int]) -> None:
        self.received = totals.get("received", 0)
        self.committed = totals.get("committed", 0)
        self.duplicate = totals.get("duplicate", 0)
        self.rejected = {reason: totals.get(f"rejected.{reason}", 0) for reason in REASONS}
        self.records_rejected = {
            reason: totals.get(f"records_rejected.{reason}", 0) for reason in REASONS
        }

    def totals(self) -> dict[str, int]:
        """Return the counters as the journal keeps them."""
        rejected = {f"rejected.{reason}": n for reason, n in self.rejected.items() if n}
        records = {
            f"records_rejected.{reason}": n for reason, n in self.records_rejected.items() if n
        }
        return {
            "received": self.received,
            "committed": self.committed,
            "duplicate": self.duplicate,
            **rejected,
            **records,
        }

    def check(self) -> None:
        """Raise AssertionError if a message was lost or counted twice."""
        accounted = self.committed + self.duplicate + sum(self.rejected.values())
        if self.received != accounted:
            raise AssertionError(
                f"{self.received} messages received but {accounted} accounted for: "
                f"{self.totals()}; please report this"
            )


class Decoded(NamedTuple):
    """What a batch of messages said; ``sources`` says which message an observation is from."""

    observations: list[Observation]
    sources: list[int]
    refused: list[tuple[int, Rejected]]


class Intake:
    """Takes batches of messages into journal and network."""

    def __init__(self, router: Router, network: Network, journal: Journal) -> None:
        self._router: Final = router
        self._network: Final = network
        self._journal: Final = journal
        self.counts: Final = Counts(journal.totals())
        self.commits = 0
        self.commit_seconds = 0.0

    def prepare(self, messages: Sequence[Incoming], received: float) -> Batch:
        """Return what ``messages``, arrived at ``received`` (s since 1970 UTC), come to."""
        decoded = self._decode(messages, received)
        outcome = self._network.observe(decoded.observations, received)
        for at, reason in outcome.refused:
            decoded.refused.append((decoded.sources[at], Rejected(reason, REASONS[reason])))
        accepted = [decoded.observations[at] for at in outcome.accepted]
        counted = self._count(len(messages), decoded, outcome)
        return Batch(
            received=received,
            observations=[each for each in accepted if not isinstance(each, Event)],
            pairs=outcome.pairs,
            new_series=outcome.new_series,
            dead_letters=[_dead(messages[at], received, refused) for at, refused in counted],
            totals=self.counts.totals(),
            events=[each for each in accepted if isinstance(each, Event)],
        )

    def commit(self, batch: Batch) -> None:
        """Make ``batch`` durable, then let memory have its pairs; raises JournalError."""
        began = time.perf_counter()
        self._journal.commit(batch)
        self.commit_seconds += time.perf_counter() - began
        self.commits += 1
        self._network.apply(batch.pairs)

    def _decode(self, messages: Sequence[Incoming], received: float) -> Decoded:
        observations: list[Observation] = []
        sources: list[int] = []
        refused: list[tuple[int, Rejected]] = []
        decode = self._router.decode
        for at, message in enumerate(messages):
            try:
                for found in decode(message.topic, message.payload, received):
                    if isinstance(found, Rejected):
                        refused.append((at, found))
                    else:
                        observations.append(found)
                        sources.append(at)
            except Rejected as error:
                refused.append((at, error))
        return Decoded(observations, sources, refused)

    def _count(
        self, messages: int, decoded: Decoded, outcome: Outcome
    ) -> list[tuple[int, Rejected]]:
        """Count each message once; return which refusals to keep as dead letters."""
        fates = bytearray([_COMMITTED]) * messages
        for at, _ in decoded.refused:
            fates[at] = _REJECTED
        for at in outcome.duplicates:
            fates[decoded.sources[at]] = _DUPLICATE
        for at in outcome.accepted:
            fates[decoded.sources[at]] = _COMMITTED
        counts = self.counts
        counts.received += messages
        counts.committed += fates.count(_COMMITTED)
        counts.duplicate += fates.count(_DUPLICATE)
        kept: list[tuple[int, Rejected]] = []
        letters: dict[int, int] = {}
        for at, refused in decoded.refused:
            if fates[at] == _REJECTED:
                counts.rejected[refused.reason] += 1
                fates[at] = _COUNTED
            elif fates[at] != _COUNTED:
                counts.records_rejected[refused.reason] += 1
            letters[at] = letters.get(at, 0) + 1
            if letters[at] <= _DEAD_LETTERS_A_MESSAGE:
                kept.append((at, refused))
        counts.check()
        return kept


def recover(network: Network, journal: Journal, now: float) -> None:
    """Rebuild ``network`` from ``journal``: series, pairs and what waits for its other side."""
    network.restore_series((sensor, quantity) for _, sensor, quantity, _ in journal.series())
    network.restore(now, journal.events())
    for received, observations in journal.observations():
        network.restore(received, observations)
    network.apply(in_event_order(journal.pairs()))
    network.expire(now)


def _dead(message: Incoming, received: float, refused: Rejected) -> DeadLetter:
    payload = bytes(message.payload[:_DEAD_LETTER_BYTES])
    return DeadLetter(received, message.topic, refused.reason, refused.detail, payload)
