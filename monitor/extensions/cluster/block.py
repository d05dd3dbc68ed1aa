"""The core on a block of sensors: load, apply a batch of messages, dump.

Rules of this file: pure except for its arguments. Messages pass the daemon's intake into the
daemon's own network, so a block gives the daemon's results bit for bit, whatever the order,
repetition and batch boundaries, and whether it stayed in memory or was dumped and loaded between
batches.

Large batches cost less, and for most messages the time of arrival only decides what is too far in
the future and how long it is held. So those of a minute are processed together, at the time of the
last, messages of one series beside each other. Where the arrival may be all the time that a message
has, or where messages define what later ones mean, those of one read of a bridge are, in their
order.

Changes older than all pairs that a block keeps have no effect and are counted. The driver judges,
from the blocks' reports, what needs more sensors than a block's own (lists over the fleet, medians,
references that sensors of several blocks meet).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np

from monitor.config.core_plan import with_units
from monitor.core.detector.lifecycle import FIRING
from monitor.core.detector.replay import Checkpoint
from monitor.core.model import (
    Int,
    Records,
)
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.daemon.clock_guard import ERA_END
from monitor.daemon.intake import UNITS, Intake, recover
from monitor.decode.formats.sparkplug_births import Births
from monitor.decode.router import Router
from monitor.extensions.cluster.block_store import (
    VERSION,
    BlockState,
    BlockStore,
    SeriesState,
    encode_state,
    load_state,
)
from monitor.extensions.cluster.log_records import IN_DOUBT, TRUSTED, LogMessage
from monitor.extensions.cluster.results import (
    CORRECTIONS,
    EXPIRED,
    TOO_LATE,
    Results,
    not_calm,
    states_and_alerts,
)
from monitor.extensions.cluster.too_late import late_changes, late_revisions
from monitor.journal.store import DeadLetter

DEAD_LETTERS_A_BATCH: Final = 100
_EXPIRE_EVERY_SECONDS: Final = 60.0
_TOGETHER_SECONDS: Final = 60


class Recipe(NamedTuple):
    """How blocks are made: the settings in the core's terms.

    At least ``history_pairs`` of each series are kept, and at most twice as many plus those of one
    batch. ``router_of(births, block)`` makes the decoder, with the births that the block knows.
    ``shared_subjects`` are the subjects whose references apply to sensors of other names.
    ``medians`` are the statistics that are compared with their median over the fleet.
    """

    plan: CoreSettings
    router_of: Callable[[Births, int | None], Router]
    history_pairs: int = 1000
    shared_subjects: frozenset[str] = frozenset()
    medians: tuple[str, ...] = ()


class Block:
    """The state of one block's sensors, new or from the bytes of :meth:`dump`.

    ``number`` is the number of the block; None accepts every sensor.
    """

    def __init__(
        self, recipe: Recipe, state: bytes | None = None, number: int | None = None
    ) -> None:
        self._recipe: Final = recipe
        loaded = None if state is None else load_state(state)
        self._store: Final = BlockStore(None if loaded is None else loaded.stored)
        births = Births()
        births.load_notes(self._store.note)
        router, rules = recipe.router_of(births, number), recipe.plan.rules_of
        if router.units is not None:
            if noted := self._store.note(UNITS):
                router.units.load(noted)
            rules = with_units(rules, router.units.unit_of)
        # A block may keep fewer pairs than a replay covers.
        plan = recipe.plan._replace(
            known_series=len(self._store.series()),
            replay_in_windows=False,
            rules_of=rules,
        )
        self.network: Final = Network(plan, self._store, self._in_time)
        self._expired = -math.inf if loaded is None else loaded.expired
        self._too_late = 0 if loaded is None else loaded.too_late
        self._noted: list[int] = []
        self._shown: list[list[str]] = []
        self._losses = (0, 0)
        self._kept_from = -math.inf
        if loaded is not None:
            self._resume(loaded)
        self._are_ordered: Final = router.any_needs_packet
        self._intake: Final = Intake(router, self.network, self._store, births)

    def apply(self, messages: Sequence[LogMessage]) -> Results:
        """Apply messages, in any order, and return the results."""
        network, totals_before = self.network, self._totals()
        changed: list[Int] = []
        letters: list[DeadLetter] = []
        known = len(network.registry)
        before = network.liveness.heard[:known].copy()
        network.liveness.heard[:known] = -math.inf
        pairs = 0
        for together in _taken_together(messages, in_order=self._are_ordered):
            received = float(max(each.received for each in together))
            is_doubted = together[0].clock == IN_DOUBT
            batch = self._intake.prepare(together, received, ERA_END if is_doubted else None)
            self._too_late += late_revisions(batch.observations, network, self._store)
            self._intake.commit(batch)
            changed.append(batch.pairs["series"])
            letters += batch.dead_letters
            pairs += batch.pairs.size
        heard = network.liveness.heard[: len(network.registry)]
        touched = np.flatnonzero(np.isfinite(heard))
        # As in the daemon the last arrival counts, also after one by a clock that was ahead.
        heard[:known] = np.where(np.isneginf(heard[:known]), before, heard[:known])
        trusted = (float(each.received) for each in messages if each.clock == TRUSTED)
        self._expire(max(trusted, default=self._expired))
        now = max([self._expired, *(float(each.received) for each in messages)])
        snapshot = network.evaluate(now)
        shown_before, self._shown = self._shown, states_and_alerts(snapshot)
        others = [at for at, each in enumerate(self._shown) if shown_before[at : at + 1] != [each]]
        rows = np.unique(np.concatenate([touched, *changed, np.array(others, dtype=np.int64)]))
        before_now, self._noted = self._noted, not_calm(snapshot)
        every, medians = np.arange(len(snapshot.names)), self._recipe.medians
        results = Results(
            snapshot=snapshot,
            rows=rows,
            noted=sorted({*before_now, *self._noted, *(rows.tolist() if medians else ())}),
            medians=medians,
            firing=network.detector.states(every) == FIRING,
            discounted=network.detector.discounted(every),
            rejected=network.refusals.shares(network.registry.keys),
            changed_at={each.series: each.time for each in network.drain_transitions()},
            taken_back=network.drain_taken_back(),
            references=network.shared_references(rows, self._is_shared),
            dead_letters=letters[-DEAD_LETTERS_A_BATCH:],
            totals=self._totals(),
            totals_before=totals_before,
            pairs=pairs,
        )
        self._trim()
        return results

    def dump(self) -> bytes:
        """Return the whole state as bytes, in single precision if the windows are."""
        is_single = self._recipe.plan.window_precision == "single"
        held = self._held_from() if is_single else None
        return encode_state(
            BlockState(
                version=VERSION,
                expired=self._expired,
                too_late=self._too_late,
                stored=self._store.dump(held),
                rows=self._rows(),
                noted=self._noted,
                refusals=self.network.refusals.dump(len(self.network.registry)),
                crossings=self.network.thresholds.crossings(),
                bases=self.network.thresholds.bases(),
                losses=self._lost(),
                onsets=self.network.reports.onsets(),
                shown=self._shown,
            )
        )

    # -- inside -----------------------------------------------------------------------------

    def _resume(self, loaded: BlockState) -> None:
        """Rebuild the network; its evidence is the saved one, not recomputed."""
        network = self.network
        for row in range(len(loaded.rows)):
            network.replayer.disturb(row, math.inf)
        recover(network, self._store, self._expired, is_resumed=True)
        network.replayer.disturbed.clear()
        for row, each in enumerate(loaded.rows):
            root = None if each.root is None else Checkpoint(*each.root)
            share = None
            if each.systematic is not None and each.systematic[1] == network.rules[row].systematic:
                share = each.systematic[0]
            network.replayer.resume(row, each.path, each.state, root, share)
            network.liveness.last_reading[row] = each.last_reading
            network.liveness.heard[row] = each.heard
        network.refusals.load(*loaded.refusals)
        network.thresholds.recall(loaded.crossings)
        network.thresholds.recall_bases(loaded.bases)
        network.reports.recall(loaded.onsets)
        self._noted, (expired, corrections) = loaded.noted, loaded.losses
        self._shown = loaded.shown
        self._losses = expired, corrections - network.pairing.corrections
        self._forget()

    def _lost(self) -> tuple[int, int]:
        """Return how many readings ever expired unpaired, and how many corrections there were."""
        expired, corrections = self._losses
        pairing = self.network.pairing
        return expired + pairing.expired_unpaired, corrections + pairing.corrections

    def _totals(self) -> dict[str, int]:
        expired, corrections = self._lost()
        late = self._too_late
        return {**self._store.totals(), EXPIRED: expired, CORRECTIONS: corrections, TOO_LATE: late}

    def _is_shared(self, subject: str, series: Collection[int]) -> bool:
        """Whether a reference may apply to sensors of other blocks."""
        keys = self.network.registry.keys
        return bool(series) and (
            subject in self._recipe.shared_subjects
            or any(keys[row].sensor != subject for row in series)
        )

    def _rows(self) -> list[SeriesState]:
        network = self.network
        count = len(network.registry)
        roots = [network.replayer.root(row) for row in range(count)]
        return [
            SeriesState(
                path,
                state,
                None if root is None else (root.time, root.id, root.state),
                last_reading,
                heard,
                (share, tuple(rules.systematic)) if rules.systematic.is_declared else None,
            )
            for path, state, root, rules, share, last_reading, heard in zip(
                network.detector.path[:count].tolist(),
                network.detector.dumps(np.arange(count)),
                roots,
                network.rules,
                network.detector.systematic[:count].tolist(),
                network.liveness.last_reading[:count].tolist(),
                network.liveness.heard[:count].tolist(),
                strict=True,
            )
        ]

    def _in_time(self, changes: Records) -> Records:
        """Return changes of pairs without those older than every kept pair."""
        late = late_changes(changes, self.network)
        self._too_late += int(late.sum())
        return changes[~late] if late.any() else changes

    def _expire(self, now: float) -> None:
        if now - self._expired >= _EXPIRE_EVERY_SECONDS:
            self._expired = now
            self.network.expire(now)
            self._forget()
        elif self.network.held_from > self._kept_from:
            self._forget()

    def _forget(self) -> None:
        """Let the store forget what the network dropped, which would be dropped again otherwise."""
        self._kept_from = self.network.held_from
        waited = self._expired - self._recipe.plan.max_wait_seconds
        self._store.expire(observations_before=max(waited, self._kept_from))

    def _trim(self) -> None:
        """Drop the oldest pairs of series that have more than twice ``history_pairs``.

        Pairs whose reading or reference is still held are kept, because later messages may change
        them.
        """
        if not self._store.is_grown():
            return
        most, counts = self._recipe.history_pairs, self._store.compact()
        grown = {row: count for row, count in counts.items() if count > 2 * most}
        held = self._held_from() if grown else {}
        first: dict[int, int] = {}
        for row, count in grown.items():
            times = self._store.pairs_of(row)["time"]
            older = np.searchsorted(times, held.get(row, math.inf))
            first[row] = min(count - most, int(older))
        first = {row: count for row, count in first.items() if count > most}
        if first:
            self.network.replayer.move_roots(first)
            self._store.drop(first)

    def _held_from(self) -> dict[int, float]:
        """Return for each series the earliest event time of its held readings and references."""
        pairing, pairs = self.network.pairing, self._store.pairs()
        oldest = pairing.oldest_readings()
        names = [
            name for bucket in pairing.reference_buffers.values() for name in bucket.identities
        ]
        theirs = pairs[np.isin(pairs["reference_id"], np.array(names, dtype=np.uint64))]
        for row, time in zip(theirs["series"].tolist(), theirs["time"].tolist(), strict=True):
            oldest[row] = min(time, oldest.get(row, time))
        return oldest


def _taken_together(
    messages: Sequence[LogMessage], *, in_order: bool
) -> Iterator[list[LogMessage]]:
    """Yield messages that are processed together; ``in_order``: those of one read, as they came."""
    key = _of_one_read if in_order else _of_one_minute
    ordered = sorted(messages, key=lambda each: (*key(each), each.received))
    for _, group in groupby(ordered, key=key):
        together = list(group)
        if not in_order:
            together.sort(key=attrgetter("topic"))
        yield together


def _of_one_minute(message: LogMessage) -> tuple[float, bool]:
    return message.received // _TOGETHER_SECONDS, message.clock == IN_DOUBT


def _of_one_read(message: LogMessage) -> tuple[float, bool]:
    return message.received, message.clock == IN_DOUBT
