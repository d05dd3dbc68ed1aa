"""From messages to durable pairs: decode, observe, commit, apply. The same for every source.

Rules of this file: a message counts once: as committed if any of its observations is new, else as
duplicate if any is known, else as rejected for its first reason; bad records of an otherwise good
message are counted separately; rejected messages become dead letters in the same transaction;
memory takes pairs only after the journal has them.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Collocation, Event, Reading, Reference
from monitor.core.pairing.observations import Durable, Observed
from monitor.core.state.network import Network, Outcome
from monitor.daemon.checkpoints import Checkpoints
from monitor.daemon.clock_guard import ClockGuard, Delays, decode_guarded, stamps_of
from monitor.daemon.listeners import NOTHING, Addendum, Listener, Taken
from monitor.daemon.newest_letters import NewestLetters
from monitor.daemon.redeliveries import Redeliveries
from monitor.decode.checks import NO_FAULT, REASONS, RETAINED, Rejected, refusal
from monitor.decode.formats.sparkplug_births import Births
from monitor.decode.router import Decoded, Router
from monitor.decode.units import Units
from monitor.journal.store import Batch, DeadLetter, Store
from monitor.mqtt.inbox import Incoming, retained_among, topics_and_payloads

_DEAD_LETTER_BYTES: Final = 1024
_TOPIC_CHARACTERS: Final = 1000  # of a dead letter
_DEAD_LETTERS_A_MESSAGE: Final = 8
HOUSEKEEPING_SECONDS: Final = 60.0  # between two rounds in which what waited too long is dropped
UNITS: Final = "units"  # name of the journal's note
SILENT: Final = "silent"  # another one, of series whose readings have left the journal
_DELAYS_A_BATCH: Final = 8
_MEASURED: Final = frozenset((Reading, Reference))
Assume = Callable[[Reading], Reading]
_REJECTED, _DUPLICATE, _COMMITTED, _COUNTED = range(4)


class Counts:
    """Counts of messages received and of their outcomes, over the life of the journal."""

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


class Intake:
    """Commits batches of messages to the journal and applies them to the network.

    ``births`` is what ``router`` knows of Sparkplug births; they are stored in the journal, and so
    are the units that it learned, and the caller loads both. ``clock`` says whether the time can be
    believed; ``listeners`` of extensions see each batch and add to it. ``letters`` gets the dead
    letters that are durable.
    """

    def __init__(
        self,
        router: Router,
        network: Network,
        store: Store,
        births: Births | None = None,
        clock: ClockGuard | None = None,
        listeners: Sequence[Listener] = (),
        letters: NewestLetters | None = None,
    ) -> None:
        self.listeners: Final = listeners
        self._router: Final = router
        self.sensor_of: Final = router.sensor_of
        self.shared_topics: Final = router.shared
        self._clock: Final = clock if clock is not None else ClockGuard()
        self._births: Final = births if births is not None else Births()
        self._births_noted = self._births.changed
        self._units: Final = router.units if router.units is not None else Units()
        self._units_noted = self._units.changed
        self._checkpoints: Final = Checkpoints(network)
        self.delays: Final = Delays()
        self.redeliveries: Final = Redeliveries(router, store.note)
        self._network: Final = network
        self._store: Final = store
        self._letters: Final = letters
        self.counts: Final = Counts(store.totals())
        self.commits = 0
        self.commit_seconds = 0.0

    def prepare(
        self, messages: Sequence[Incoming], received: float, latest: float | None = None
    ) -> Batch:
        """Return the batch that ``messages``, arrived at ``received`` (s since 1970 UTC), make.

        Times after ``latest`` are refused as ``future``; None: as the clock guard decides.
        """
        held = self.redeliveries.hold(messages)
        self.counts.received += len(held.again)
        self.counts.duplicate += len(held.again)
        if held.again:
            gone = frozenset(held.again)
            messages = [each for at, each in enumerate(messages) if at not in gone]
        topics, payloads = topics_and_payloads(messages)
        retained = retained_among(messages)
        if latest is None:
            router, clock = self._router, self._clock
            decoded, received = decode_guarded(router, clock, topics, payloads, received, retained)
        else:
            decoded = self._router.decode_all(topics, payloads, received, latest, retained)
        outcome = self._network.observe(decoded.observations, received)
        for at, reason in outcome.refused:
            decoded.refused.append((decoded.sources[at], refusal(reason)))
        parts = _sort(decoded.observations, outcome)
        added = self._added(decoded, parts, outcome, received)
        counted = self._count(len(topics), decoded, outcome, added.repeated)
        self._note_refusals(topics, decoded)
        self._note_delays(topics, decoded, received)
        return Batch(
            received=received,
            observations=[*parts.measured, *outcome.waiting.values(), *added.samples],
            pairs=outcome.pairs,
            covariates=added.beside,
            series=outcome.series,
            dead_letters=[
                _dead(topics[at], payloads[at], received, refused) for at, refused in counted
            ],
            totals=self.counts.totals(),
            events=parts.events,
            collocations=parts.collocations,
            notes={
                **self._notes(received),
                **held.notes,
                **added.notes,
            },
        )

    def _added(
        self, decoded: Decoded, parts: _Sorted, outcome: Outcome, received: float
    ) -> Addendum:
        """Return what the listeners add to a batch, together."""
        if not self.listeners:
            return NOTHING
        measured = [*parts.measured, *outcome.begun]
        taken = Taken(decoded, measured, parts.events, outcome.pairs, received)
        each = [listener.prepare(taken) for listener in self.listeners]
        return Addendum(
            [sample for one in each for sample in one.samples],
            np.concatenate([one.beside for one in each]),
            frozenset[int]().union(*(one.repeated for one in each)),
            {name: note for one in each for name, note in one.notes.items()},
        )

    def commit(self, batch: Batch) -> None:
        """Make ``batch`` durable, then apply its pairs; raises JournalError."""
        began = time.perf_counter()
        self._store.append(batch)
        self.commit_seconds += time.perf_counter() - began
        self.commits += 1
        self._network.apply(batch.pairs)
        if self._letters is not None:
            self._letters.add(batch.dead_letters)
        for each in self.listeners:
            each.committed()

    def _notes(self, received: float) -> Mapping[str, bytes]:
        """Return the notes to write with the batch: births, units and summaries that changed."""
        notes = self._checkpoints.notes(received)
        if self._births.changed != self._births_noted:
            self._births_noted = self._births.changed
            notes = {**notes, **self._births.notes()}
        if self._units.changed != self._units_noted:
            self._units_noted = self._units.changed
            notes = {**notes, UNITS: self._units.dump()}
        return notes

    def _note_delays(self, topics: Sequence[str], decoded: Decoded, received: float) -> None:
        """Record the delays of a few messages, spread over the batch."""
        stamps = stamps_of(topics, decoded, max(1, len(decoded.sources) // _DELAYS_A_BATCH))
        for topic, stated in stamps:
            self.delays.add(self._router.filter_of(topic), received - stated)
        self._clock.hear(stamps)

    def _note_refusals(self, topics: Sequence[str], decoded: Decoded) -> None:
        """Report to the network whose messages could not be used, not even in part."""
        faulty = {at for at, refused in decoded.refused if refused.reason not in NO_FAULT}
        for at in faulty and faulty.difference(decoded.sources):
            self._network.refusals.refuse(self._router.sensor_of(topics[at]))

    def _count(
        self, messages: int, decoded: Decoded, outcome: Outcome, repeated: Collection[int]
    ) -> list[tuple[int, Rejected]]:
        """Count each message once; return which refusals to keep as dead letters.

        ``repeated``: messages of extensions that say nothing new.
        """
        if decoded.refused or outcome.duplicates or repeated:
            return self._count_each(messages, decoded, outcome, repeated)
        self.counts.received += messages
        self.counts.committed += messages
        self.counts.check()
        return []

    def _count_each(
        self, messages: int, decoded: Decoded, outcome: Outcome, repeated: Collection[int]
    ) -> list[tuple[int, Rejected]]:
        """Count messages of which some are not committed."""
        fates = _fates(messages, decoded, outcome)
        for at in repeated:
            fates[at] = _DUPLICATE
        counts = self.counts
        counts.received += messages
        counts.committed += fates.count(_COMMITTED)
        counts.duplicate += fates.count(_DUPLICATE)
        refusals: list[tuple[int, Rejected]] = []
        letters: Counter[int | str] = Counter()
        for at, refused in decoded.refused:
            if fates[at] == _REJECTED:
                counts.rejected[refused.reason] += 1
                fates[at] = _COUNTED
            elif fates[at] != _COUNTED:
                counts.records_rejected[refused.reason] += 1
            # Retained messages come by the thousand, and the broker still has them.
            whose = refused.reason if refused.reason == RETAINED else at
            letters[whose] += 1
            if letters[whose] <= _DEAD_LETTERS_A_MESSAGE:
                refusals.append((at, refused))
        counts.check()
        return refusals


def _fates(messages: int, decoded: Decoded, outcome: Outcome) -> bytearray:
    """Return what becomes of each message: the best of what becomes of its observations."""
    fates = bytearray([_COMMITTED]) * messages
    for at, _ in decoded.refused:
        fates[at] = _REJECTED
    for at in outcome.duplicates:
        fates[decoded.sources[at]] = _DUPLICATE
    gone = outcome.gone
    for at, source in enumerate(decoded.sources):
        if at not in gone:
            fates[source] = _COMMITTED
    return fates


def recover(
    network: Network,
    store: Store,
    now: float,
    *,
    is_resumed: bool = False,
    listeners: Sequence[Listener] = (),
    assume: Assume | None = None,
) -> None:
    """Rebuild ``network`` from ``store``: series, pairs and what waits for its other side.

    What waits goes to ``listeners`` too, readings with an assumed u through ``assume`` first.
    ``is_resumed``: evidence that is marked as disturbed is loaded afterwards.
    """
    network.restore_series(store.series())
    network.liveness.recall_silent(store.note(SILENT))
    checkpoints = Checkpoints(network)
    checkpoints.load(store, early=True)
    network.restore(_kept(network, store, now, listeners, assume))
    network.recall(store.pairs(), store.evidence(), is_resumed=is_resumed)
    network.expire(now)
    checkpoints.load(store)


def _kept(
    network: Network,
    store: Store,
    now: float,
    listeners: Sequence[Listener],
    assume: Assume | None,
) -> Iterator[tuple[float, Sequence[Durable]]]:
    """Yield what the store kept, by its time of arrival; ``listeners`` take it too."""
    yield now, [*store.events(), *store.collocations()]
    expired = -math.inf
    if any(each.wait_more_seconds for each in listeners):
        # For a listener a batch outlasts its readings, which expired and were counted before.
        expired = now - network.settings.max_wait_seconds - HOUSEKEEPING_SECONDS
    for received, observations in store.observations():
        if assume is not None:
            observations[:] = [
                assume(each) if isinstance(each, Reading) and each.assumed else each
                for each in observations
            ]
        if received >= expired:
            yield received, observations
        for each in listeners:
            each.restore(received, observations)


class _Sorted(NamedTuple):
    """Observations by what the journal does with them."""

    measured: Sequence[Durable]
    events: Sequence[Event] = ()
    collocations: Sequence[Collocation] = ()


def _sort(batch: Observed, outcome: Outcome) -> _Sorted:
    """Return those that were accepted and do not wait, sorted."""
    others = batch.others
    if outcome.duplicates or outcome.refused or outcome.waiting:
        first = len(batch.plain)
        gone = outcome.gone.union(outcome.waiting)
        others = [each for at, each in enumerate(others, first) if at not in gone]
    measured: list[Durable] = [] if outcome.packed is None else [outcome.packed]
    if _MEASURED.issuperset(map(type, others)):
        return _Sorted([*measured, *others])
    measured += [each for each in others if isinstance(each, Reading | Reference)]
    return _Sorted(
        measured,
        [each for each in others if isinstance(each, Event)],
        [each for each in others if isinstance(each, Collocation)],
    )


def _dead(topic: str, payload: bytes, received: float, refused: Rejected) -> DeadLetter:
    head = bytes(payload[:_DEAD_LETTER_BYTES])
    return DeadLetter(
        received, topic[:_TOPIC_CHARACTERS], refused.reason, refused.detail, refused.where, head
    )
