"""The core on a block of sensors: load, apply a batch of messages, dump.

Rules of this file: pure, but for what it is handed; messages are taken by the daemon's own intake
into the daemon's own network, so that a block gives what the daemon gives, bit for bit, whatever
the order, the repetition and the cut of the batches, and whether the block was kept in memory or
written and read between them. The bytes of a state say their version; older ones are upgraded.

What is too late for the pairs that a block keeps changes nothing and is counted. What takes more
sensors than a block's own (lists over the fleet, medians, references that sensors of several blocks
meet) is judged by the driver: a block says what is needed for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from monitor.alerts.transition import PENDING
from monitor.cluster.block_store import BlockImage, BlockStore
from monitor.cluster.records import Message
from monitor.core.detector.lifecycle import FIRING
from monitor.core.detector.replay import Checkpoint
from monitor.core.detector.thresholds import Bases, Crossings
from monitor.core.diagnosis.fault_reports import FaultReport
from monitor.core.fleet.reference_stations import Gathered, Station
from monitor.core.model import (
    Bool,
    Float,
    Int,
    Records,
)
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.state.core_settings import Plan
from monitor.core.state.network import Network
from monitor.daemon.intake import BIRTHS, Intake, recover
from monitor.decode import Router
from monitor.decode.sparkplug_births import Births
from monitor.errors import UNAVAILABLE, MonitorError
from monitor.journal import DeadLetter

VERSION: Final = 3
DEAD_LETTERS_A_BATCH: Final = 100
# Totals besides those of the intake: what a daemon counts since it began, a block for its life.
EXPIRED: Final = "expired_unpaired"
CORRECTIONS: Final = "corrections"
_EXPIRE_EVERY_SECONDS: Final = 60.0
# What came within so many seconds is taken as if it came with the last of it: large batches cost
# less, and a time of arrival only decides what is too far in the future and how long it is held.
_TOGETHER_SECONDS: Final = 60


class StateError(MonitorError):
    """The state of a block cannot be used; the message says what to do."""

    exit_code = UNAVAILABLE


class Recipe(NamedTuple):
    """How blocks are made: the settings as the core wants them.

    ``history_pairs`` are kept of each series at least; twice as many at most, and what a batch
    brings. ``router_of(births, block)`` makes what decodes, with the births that the block knows.
    ``shared_subjects`` are those of references that concern sensors of other names. ``medians`` are
    the statistics that are held against their median over the fleet.
    """

    plan: Plan
    router_of: Callable[[Births, int | None], Router]
    history_pairs: int = 1000
    shared_subjects: frozenset[str] = frozenset()
    medians: tuple[str, ...] = ()


class Results(NamedTuple):
    """What a batch came to: ``rows`` of the snapshot are those that were heard or changed.

    ``noted`` are the rows that are not calm, or were not after the batch before, and all of
    ``rows`` if there are ``medians``, as of :class:`Recipe`; of all rows
    ``discounted`` is the evidence that a fleet's list goes by and ``rejected`` the share of a
    sensor's messages. ``changed_at`` has the event time of the last change of an alert by row.
    ``references`` are those that may have sensors elsewhere, with what was gathered of them if one
    of ``rows`` meets them.
    """

    snapshot: Snapshot
    rows: Int
    noted: list[int]
    medians: tuple[str, ...]
    judgement_of: Callable[[int], FaultReport | None]
    firing: Bool
    discounted: Float
    rejected: Float
    changed_at: dict[int, float]
    taken_back: frozenset[int]
    references: list[tuple[Station, Gathered | None]]
    dead_letters: list[DeadLetter]
    totals: dict[str, int]
    too_late: int
    pairs: int


class _Row(msgspec.Struct, array_like=True):
    """The evidence of one series, and when it was heard."""

    path: int
    state: bytes
    root: tuple[float, int, bytes] | None
    last_reading: float
    heard: float


class _State(msgspec.Struct, array_like=True):
    """A block as bytes know it; :data:`_UPGRADES` says what earlier versions had."""

    version: int
    expired: float
    too_late: int
    stored: BlockImage
    rows: list[_Row]
    noted: list[int]
    refusals: tuple[list[int], dict[str, int], dict[str, tuple[float, float, int]]]
    crossings: Crossings
    bases: Bases
    losses: tuple[int, int]


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(_State).decode


def _with_refusals(old: list[Any]) -> list[Any]:
    """Version 1 did not know what was refused."""
    return [2, *old[1:], [[], {}, {}]]


def _with_thresholds(old: list[Any]) -> list[Any]:
    """Version 2 had the transitions that were told, and nothing of thresholds and losses."""
    _, expired, too_late, kept, rows, standing, _, refusals = old
    told = {(each["sensor"], each["quantity"]) for each in standing}
    noted = [row for row, sensor, quantity, *_ in kept[0] if (sensor, quantity) in told]
    return [3, expired, too_late, kept, rows, noted, refusals, [], [], [0, 0]]


_UPGRADES: Final[dict[int, Callable[[list[Any]], list[Any]]]] = {
    1: _with_refusals,
    2: _with_thresholds,
}


class Block:
    """State of the sensors of one block; made anew, or from what :meth:`dump` returned.

    ``number`` says which block it is; None takes every sensor that comes.
    """

    def __init__(
        self, recipe: Recipe, state: bytes | None = None, number: int | None = None
    ) -> None:
        self._recipe: Final = recipe
        loaded = None if state is None else _loaded(state)
        self._store: Final = BlockStore(None if loaded is None else loaded.stored)
        # A block may keep fewer pairs than a replay looks back on.
        plan = recipe.plan._replace(known_series=len(self._store.series()), replay_in_windows=False)
        self.network: Final = Network(plan, self._store)
        self._expired = -math.inf if loaded is None else loaded.expired
        self._too_late = 0 if loaded is None else loaded.too_late
        births = Births()
        if noted := self._store.note(BIRTHS):
            births.load(noted)
        self._noted: list[int] = []
        self._losses = (0, 0)
        if loaded is not None:
            self._resume(loaded)
        self._intake: Final = Intake(
            recipe.router_of(births, number), self.network, self._store, births
        )

    def apply(self, messages: Sequence[Message]) -> Results:
        """Take messages, in any order, and return what they come to."""
        network = self.network
        changed: list[Int] = []
        letters: list[DeadLetter] = []
        known = len(network.registry)
        before = network.hearing.heard[:known].copy()
        network.hearing.heard[:known] = -math.inf
        pairs = 0
        ordered = sorted(messages, key=attrgetter("received"))
        for _, group in groupby(ordered, key=lambda each: each.received // _TOGETHER_SECONDS):
            together = list(group)
            received = float(together[-1].received)
            together.sort(key=attrgetter("topic"))  # what is of one series is near in memory
            batch = self._intake.prepare(together, received)
            batch = batch._replace(pairs=self._in_time(batch.pairs))
            self._intake.commit(batch)
            changed.append(batch.pairs["series"])
            letters += batch.dead_letters
            pairs += batch.pairs.size
        touched = np.flatnonzero(np.isfinite(network.hearing.heard[: len(network.registry)]))
        np.maximum(network.hearing.heard[:known], before, out=network.hearing.heard[:known])
        now = float(ordered[-1].received) if ordered else self._expired
        self._expire(now)
        snapshot = network.evaluate(now)
        rows = np.unique(np.concatenate([touched, *changed]))
        before_now, self._noted = self._noted, _not_calm(snapshot)
        every, medians = np.arange(len(snapshot.names)), self._recipe.medians
        results = Results(
            snapshot=snapshot,
            rows=rows,
            noted=sorted({*before_now, *self._noted, *(rows.tolist() if medians else ())}),
            medians=medians,
            judgement_of=network.judgement,
            firing=network.detector.states(every) == FIRING,
            discounted=network.detector.discounted(every),
            rejected=network.refusals.shares(network.registry.keys),
            changed_at={each.series: each.time for each in network.take_transitions()},
            taken_back=frozenset(network.watch.taken_back),
            references=network.shared_references(rows, self._is_shared),
            dead_letters=letters[-DEAD_LETTERS_A_BATCH:],
            totals=self._totals(),
            too_late=self._too_late,
            pairs=pairs,
        )
        self._trim()
        return results

    def dump(self) -> bytes:
        """Return the whole state as bytes; in single precision if the windows are."""
        is_single = self._recipe.plan.window_precision == "single"
        held = self._held_from() if is_single else None
        return _encode(
            _State(
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
            )
        )

    # -- inside -----------------------------------------------------------------------------

    def _resume(self, loaded: _State) -> None:
        """Rebuild the network; its evidence is what was saved, not stepped anew."""
        network = self.network
        for row in range(len(loaded.rows)):
            network.watch.disturb(row, math.inf)
        recover(network, self._store, self._expired)
        network.watch.disturbed.clear()
        for row, each in enumerate(loaded.rows):
            root = None if each.root is None else Checkpoint(*each.root)
            network.watch.resume(row, each.path, each.state, root)
            network.hearing.last_reading[row] = each.last_reading
            network.hearing.heard[row] = each.heard
        network.refusals.load(*loaded.refusals)
        network.thresholds.recall(loaded.crossings)
        network.thresholds.recall_bases(loaded.bases)
        self._noted, pairing = loaded.noted, network.pairing
        expired, corrections = loaded.losses
        self._losses = expired - pairing.expired_unpaired, corrections - pairing.corrections

    def _lost(self) -> tuple[int, int]:
        """Return how many readings expired unpaired, and corrections, since the block began."""
        expired, corrections = self._losses
        pairing = self.network.pairing
        return expired + pairing.expired_unpaired, corrections + pairing.corrections

    def _totals(self) -> dict[str, int]:
        expired, corrections = self._lost()
        return {**self._store.totals(), EXPIRED: expired, CORRECTIONS: corrections}

    def _is_shared(self, subject: str, series: Collection[int]) -> bool:
        """Whether a reference may have sensors in other blocks: it is not of one of its own."""
        keys = self.network.registry.keys
        return bool(series) and (
            subject in self._recipe.shared_subjects
            or any(keys[row].sensor != subject for row in series)
        )

    def _rows(self) -> list[_Row]:
        network = self.network
        count = len(network.registry)
        roots = [network.watch.root(row) for row in range(count)]
        return [
            _Row(path, state, None if root is None else (root.time, root.id, root.state), *times)
            for path, state, root, *times in zip(
                network.detector.path[:count].tolist(),
                network.detector.dumps(np.arange(count)),
                roots,
                network.hearing.last_reading[:count].tolist(),
                network.hearing.heard[:count].tolist(),
                strict=True,
            )
        ]

    def _in_time(self, pairs: Records) -> Records:
        """Return changes of pairs without those that are older than all that is kept."""
        roots = [(row, self.network.watch.root(row)) for row in np.unique(pairs["series"]).tolist()]
        late = np.zeros(pairs.size, dtype=np.bool_)
        for row, root in roots:
            if root is not None:
                late |= (pairs["series"] == row) & (pairs["time"] <= root.time)
        self._too_late += int(late.sum())
        return pairs[~late] if late.any() else pairs

    def _expire(self, now: float) -> None:
        if now - self._expired >= _EXPIRE_EVERY_SECONDS:
            self._expired = now
            self.network.expire(now)
            self._store.forget(observations_before=now - self._recipe.plan.max_wait_seconds)

    def _trim(self) -> None:
        """Keep the newest pairs of series that have more than twice what is to be kept.

        Pairs whose reading or reference is held are kept: what is to come may be about them.
        """
        if not self._store.is_grown():
            return
        kept, counts = self._recipe.history_pairs, self._store.compact()
        grown = {row: count for row, count in counts.items() if count > 2 * kept}
        held = self._held_from() if grown else {}
        first: dict[int, int] = {}
        for row, count in grown.items():
            times = self._store.pairs_of(row)["time"]
            older = np.searchsorted(times, held.get(row, math.inf))
            first[row] = min(count - kept, int(older))
        first = {row: count for row, count in first.items() if count > kept}
        if first:
            self.network.watch.move_roots(first)
            self._store.drop(first)

    def _held_from(self) -> dict[int, float]:
        """Return for each series the event time from which on readings and references are held."""
        pairing, pairs = self.network.pairing, self._store.pairs()
        found = pairing.oldest_readings()
        names = [name for bucket in pairing.buckets.values() for name in bucket.digests]
        theirs = pairs[np.isin(pairs["reference_id"], np.array(names, dtype=np.uint64))]
        for row, time in zip(theirs["series"].tolist(), theirs["time"].tolist(), strict=True):
            found[row] = min(time, found.get(row, time))
        return found


def _not_calm(snapshot: Snapshot) -> list[int]:
    """Return the rows with an alert, or with one that may come."""
    found = np.array([state == PENDING for state in snapshot.states], dtype=np.bool_)
    for active in snapshot.alerts.values():
        found |= active
    return np.flatnonzero(found).tolist()


def _loaded(state: bytes) -> _State:
    """Return a state of this version; raises StateError."""
    try:
        version = msgspec.msgpack.decode(state, type=list[Any])[0]
        if version == VERSION:
            return _decode(state)
        plain = msgspec.msgpack.decode(state, type=list[Any])
        while plain[0] in _UPGRADES:
            plain = _UPGRADES[plain[0]](plain)
        if plain[0] == VERSION:
            return msgspec.convert(plain, _State)
    except (msgspec.DecodeError, msgspec.ValidationError, IndexError) as error:
        raise StateError(f"the state of a block is damaged: {error}") from error
    raise StateError(
        f"the state of a block is of version {version}, newer than this program's {VERSION}; "
        "run the program that wrote it"
    )
