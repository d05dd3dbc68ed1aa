"""The core on a block of sensors: load, apply a batch of messages, dump.

Rules of this file: pure, but for what it is handed; messages are taken by the daemon's own intake
into the daemon's own network, so that a block gives what the daemon gives, bit for bit, whatever
the order, the repetition and the cut of the batches, and whether the block was kept in memory or
written and read between them. The bytes of a state say their version; older ones are upgraded.

What is too late for the pairs that a block keeps changes nothing and is counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from monitor.core.model import Int, Records
from monitor.core.network import Network, Plan
from monitor.core.snapshot import Snapshot
from monitor.core.watch import Checkpoint
from monitor.decode import Router
from monitor.decode.sparkplug_births import Births
from monitor.engine.keeping import Keeping, Kept
from monitor.engine.records import Message
from monitor.errors import UNAVAILABLE, MonitorError
from monitor.intake import BIRTHS, Intake, recover
from monitor.journal.batch import DeadLetter
from monitor.sinks.ledger import Ledger, View
from monitor.transition import Transition

VERSION: Final = 2
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
    """

    plan: Plan
    router_of: Callable[[Births, int | None], Router]
    history_pairs: int = 1000


class Results(NamedTuple):
    """What a batch came to: ``rows`` of the snapshot are those that were heard or changed."""

    snapshot: Snapshot
    rows: Int
    transitions: list[Transition]
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
    """A block as bytes know it. Version 1 had no ``refusals``."""

    version: int
    expired: float
    too_late: int
    kept: Kept
    rows: list[_Row]
    standing: list[Transition]
    told: int
    refusals: tuple[list[int], dict[str, int], dict[str, tuple[float, float, int]]]


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(_State).decode


def _with_refusals(old: list[Any]) -> list[Any]:
    return [2, *old[1:], [[], {}, {}]]


_UPGRADES: Final[dict[int, Callable[[list[Any]], list[Any]]]] = {1: _with_refusals}


class Block:
    """State of the sensors of one block; made anew, or from what :meth:`dump` returned.

    ``number`` says which block it is; None takes every sensor that comes.
    """

    def __init__(
        self, recipe: Recipe, state: bytes | None = None, number: int | None = None
    ) -> None:
        self._recipe: Final = recipe
        loaded = None if state is None else _loaded(state)
        self._keeping: Final = Keeping(None if loaded is None else loaded.kept)
        # A block may keep fewer pairs than a replay looks back on.
        plan = recipe.plan._replace(
            known_series=len(self._keeping.series()), replay_in_windows=False
        )
        self.network: Final = Network(plan, self._keeping)
        self._expired = -math.inf if loaded is None else loaded.expired
        self._too_late = 0 if loaded is None else loaded.too_late
        births = Births()
        if noted := self._keeping.note(BIRTHS):
            births.load(noted)
        if loaded is not None:
            self._resume(loaded)
        standing, told = ([], 0) if loaded is None else (loaded.standing, loaded.told)
        self._ledger: Final = Ledger(standing, told)
        journal: Any = self._keeping  # answers as a journal does
        self._intake: Final = Intake(
            recipe.router_of(births, number), self.network, journal, births
        )

    def apply(self, messages: Sequence[Message]) -> Results:
        """Take messages, in any order, and return what they come to."""
        network = self.network
        changed: list[Int] = []
        before = network.heard.copy()
        network.heard[:] = -math.inf
        pairs = 0
        ordered = sorted(messages, key=attrgetter("received"))
        for _, group in groupby(ordered, key=lambda each: each.received // _TOGETHER_SECONDS):
            together = list(group)
            batch = self._intake.prepare(together, float(together[-1].received))
            batch = batch._replace(pairs=self._in_time(batch.pairs))
            self._intake.commit(batch)
            changed.append(batch.pairs["series"])
            pairs += batch.pairs.size
        touched = np.flatnonzero(np.isfinite(network.heard))
        np.maximum(network.heard, before, out=network.heard)
        now = float(ordered[-1].received) if ordered else self._expired
        self._expire(now)
        snapshot = network.evaluate(now)
        told = self._tell(snapshot)
        self._trim()
        letters, self._keeping.dead_letters = self._keeping.dead_letters, []
        return Results(
            snapshot=snapshot,
            rows=np.unique(np.concatenate([touched, *changed])),
            transitions=told,
            dead_letters=letters,
            totals=self._keeping.totals(),
            too_late=self._too_late,
            pairs=pairs,
        )

    def dump(self) -> bytes:
        """Return the whole state as bytes."""
        return _encode(
            _State(
                version=VERSION,
                expired=self._expired,
                too_late=self._too_late,
                kept=self._keeping.dump(),
                rows=[self._row(row) for row in range(len(self.network.registry))],
                standing=self._ledger.standing(),
                told=self._ledger.last,
                refusals=self.network.refusals.dump(len(self.network.registry)),
            )
        )

    # -- inside -----------------------------------------------------------------------------

    def _resume(self, loaded: _State) -> None:
        """Rebuild the network; its evidence is what was saved, not stepped anew."""
        network = self.network
        for row in range(len(loaded.rows)):
            network.watch.disturb(row, math.inf)
        journal: Any = self._keeping
        recover(network, journal, self._expired)
        network.watch.disturbed.clear()
        for row, each in enumerate(loaded.rows):
            root = None if each.root is None else Checkpoint(*each.root)
            network.watch.resume(row, each.path, each.state, root)
            network.last_reading[row], network.heard[row] = each.last_reading, each.heard
        network.refusals.load(*loaded.refusals)

    def _row(self, row: int) -> _Row:
        network = self.network
        root = network.watch.root(row)
        return _Row(
            int(network.detector.path[row]),
            network.detector.dump(row),
            None if root is None else (root.time, root.id, root.state),
            float(network.last_reading[row]),
            float(network.heard[row]),
        )

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
            self._keeping.forget(now - self._recipe.plan.max_wait_seconds)

    def _tell(self, snapshot: Snapshot) -> list[Transition]:
        network = self.network
        found = self._ledger.differences(
            View(
                snapshot,
                network.judgement,
                network.take_transitions(),
                frozenset(network.watch.taken_back),
            )
        )
        self._ledger.take(found)
        return found

    def _trim(self) -> None:
        """Keep the newest pairs of series that have more than twice what is to be kept."""
        if not self._keeping.is_grown():
            return
        kept = self._recipe.history_pairs
        counts = self._keeping.compact()
        first = {row: count - kept for row, count in counts.items() if count > 2 * kept}
        for row, count in first.items():
            self.network.watch.move_root(row, count)
        self._keeping.drop(first)


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
