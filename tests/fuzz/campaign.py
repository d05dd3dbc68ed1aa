"""Many inputs by several processes, watched by one: what they found, and how many there were.

Rules of this file: a worker writes each input where the parent can see it before it is read, so
that one that kills the worker, or keeps it in C for ever, is found all the same. With ``inputs``
instead of ``seconds`` one seed and number of workers give the same inputs.
"""

from __future__ import annotations

import faulthandler
import mmap
import multiprocessing
import random
import resource
import struct
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from typing import Final, NamedTuple

from . import guards
from .examining import Fault, examine, minimised
from .mutations import BYTES_MAX, Pool, mutated
from .targets import TARGETS

_CHUNK: Final = 200
_HEAD: Final = struct.Struct("<QII")
_STUCK_SECONDS: Final = 60.0
_RESTARTS_MAX: Final = 20
_CONTEXT: Final = multiprocessing.get_context("fork")


class Finding(NamedTuple):
    """An input that broke something of a target."""

    target: str
    fault: Fault
    raw: bytes


class Plan(NamedTuple):
    """How much is to be done by each worker, from which seed, to which targets."""

    targets: Sequence[str]
    seed: str
    inputs: int
    seconds: float


class Tally:
    """How many inputs each target had, and what came out of them."""

    def __init__(self) -> None:
        self.inputs: Counter[str] = Counter()
        self.words: Counter[tuple[str, str]] = Counter()

    def add(self, inputs: Mapping[str, int], words: Mapping[tuple[str, str], int]) -> None:
        """Take what a worker counted."""
        self.inputs.update(inputs)
        self.words.update(words)


def inputs(name: str, seed: str) -> Iterator[tuple[bytes, Pool, random.Random]]:
    """Yield inputs of a target for ever, with the pool that is to learn from them."""
    target = TARGETS[name]
    chance = random.Random(f"{seed}/{name}")
    pool = Pool(target.seeds)
    while True:
        yield mutated(chance, pool, target.tokens, target.codec), pool, chance


def fuzz(plan: Plan, workers: int, found: dict[str, Finding]) -> Tally:
    """Run ``plan`` in each of several processes; findings are added to ``found`` by their kind."""
    tally = Tally()
    running = [_Worker(plan._replace(seed=f"{plan.seed}.{at}")) for at in range(workers)]
    restarts = 0
    while running:
        wait([each.connection for each in running], timeout=1.0)
        for worker in list(running):
            try:
                while worker.connection.poll():
                    _take(worker.connection.recv(), tally, found)
                over = worker.stuck()
            except EOFError:
                over = "the worker ended"
            if over is None:
                continue
            running.remove(worker)
            if lost := worker.end(over):
                found.setdefault(f"{lost.target}: {lost.fault.kind}", lost)
                restarts += 1
                if restarts <= _RESTARTS_MAX and worker.left() > 0.0:
                    running.append(_Worker(worker.again(restarts)))
    return tally


def _take(message: tuple[object, ...], tally: Tally, found: dict[str, Finding]) -> None:
    if isinstance(message, Finding):
        found.setdefault(f"{message.target}: {message.fault.kind}", message)
    else:
        tally.add(*message)  # type: ignore[arg-type]


class _Worker:
    """A process that fuzzes, and the page on which it says what it is at."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._page = mmap.mmap(-1, _HEAD.size + BYTES_MAX)
        self.connection, theirs = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(target=_work, args=(plan, self._page, theirs))
        self._process.start()
        theirs.close()
        self._began = self._moved = time.monotonic()
        self._at = 0

    def stuck(self) -> str | None:
        """Return what to say of a worker whose input has been the same for long."""
        at = _HEAD.unpack_from(self._page)[0]
        now = time.monotonic()
        if at != self._at or at == 0:
            self._at, self._moved = at, now
        return "does not come back" if now - self._moved > _STUCK_SECONDS else None

    def left(self) -> float:
        """Return how many seconds of the plan are left; many where inputs are counted."""
        return self._plan.seconds - (time.monotonic() - self._began)

    def again(self, number: int) -> Plan:
        """Return a plan for who goes on after this one."""
        return self._plan._replace(seed=f"{self._plan.seed}.{number}", seconds=self.left())

    def end(self, why: str) -> Finding | None:
        """End the process; return a finding unless it had done all it should."""
        self._process.kill() if why != "the worker ended" else None
        self._process.join()
        code = self._process.exitcode
        number, target, size = _HEAD.unpack_from(self._page)
        raw = bytes(self._page[_HEAD.size : _HEAD.size + size])
        self.connection.close()
        self._page.close()
        self._process.close()
        if code == 0:
            return None
        name = self._plan.targets[target] if number else "no target"
        return Finding(
            name, Fault(f"{why} ({code})", "no traceback: it happened outside Python"), raw
        )


def _work(plan: Plan, page: mmap.mmap, out: Connection) -> None:
    """Fuzz all targets in turns; the body of a worker."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    guards.limit_memory()
    streams = {name: inputs(name, plan.seed) for name in plan.targets}
    whole = sum(TARGETS[name].share for name in plan.targets)
    due = {name: plan.inputs * TARGETS[name].share / whole for name in plan.targets}
    done: Counter[str] = Counter()
    known: set[str] = set()
    deadline = time.monotonic() + plan.seconds
    with guards.alarm():
        while time.monotonic() < deadline and any(done[name] < due[name] for name in due):
            for number, name in enumerate(plan.targets):
                many = min(int(_CHUNK * TARGETS[name].share), int(due[name] - done[name]) + 1)
                if done[name] >= due[name] or time.monotonic() >= deadline:
                    continue
                words: Counter[tuple[str, str]] = Counter()
                for _ in range(many):
                    raw, pool, chance = next(streams[name])
                    done[name] += 1
                    page[: _HEAD.size + len(raw)] = _HEAD.pack(done.total(), number, len(raw)) + raw
                    outcome = examine(TARGETS[name], raw)
                    if isinstance(outcome, Fault):
                        words[name, "FAULT"] += 1
                        if outcome.kind not in known:
                            known.add(outcome.kind)
                            raw = minimised(TARGETS[name], raw, outcome.kind)
                            out.send(Finding(name, outcome, raw))
                        continue
                    pool.learn(chance, raw, outcome.novelty)
                    words.update((name, word) for word in outcome.words)
                out.send(({name: many}, words))
    out.close()
