"""One life of a daemon by a seed: what it is sent, what befalls it, and whether it comes out right.

Every other world has messages without a time as well, each of which must become one reading, and a
broker that keeps the identifiers of its packets, as MQTT wants it.

What is real: the daemon's loop, the intake, decoders, pairing, windows, statistics, the journal and
the splitting and acknowledging of MQTT packets. What is a model: broker, network, disk, clock, and
that a process can be killed at any statement. After the faults end, the world waits until the
broker has nothing left, and compares all there is, bit for bit, with a daemon that was told each
message once and was never disturbed.
"""

from __future__ import annotations

import logging
import random
import sqlite3
import tempfile
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple
from unittest import mock

import numpy as np

import monitor.daemon.loop
from monitor.config import Settings, parse
from monitor.core.detector import kept_evidence
from monitor.core.model import in_event_order
from monitor.core.pairing.observations import Durable, PackedReadings
from monitor.daemon.assembly import Parts, assemble
from monitor.daemon.loop import Daemon
from monitor.journal import JournalError, database

from .broker import Broker, Sent
from .disk import Disk, KilledError
from .source import ModelSource
from .stories import NAMELESS, START, punctual, story

STEPS: Final = 50
_QUIET_ROUNDS: Final = 400
_LIVES_MAX: Final = 200
_KEPT_PAIRS: Final = 4  # so that evidence is kept many times in a life
_SETTINGS: Final = b"""
windows: {pairs: 40}
series: {max: 4}
pairing: {mode: nearest, tolerance_seconds: 30, max_wait_hours: 2000}
journal: {path: ":", dead_letters: 20}
sources:
  - {topic: "monitor/{sensor}/{quantity}/reading", kind: reading}
  - {topic: "monitor/{subject}/{quantity}/reference", kind: reference}
  - {topic: "monitor/{sensor}/event", kind: event}
  - topic: "now/{sensor}/{quantity}/reading"
    kind: reading
    decoder: json
    map: {time: arrival, series: [{value: v, u: u}]}
"""
MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a name of its own is made in it

Plant = Callable[[Parts, ModelSource], None]


class Wrong(NamedTuple):
    """What a seed shows: what should be and is not."""

    seed: int
    what: str


class Left(NamedTuple):
    """What is left at the end: pairs and figures by sensor, and messages counted as committed.

    ``arrivals`` are the values that came without a time.
    """

    committed: int
    arrivals: list[float]
    pairs: dict[str, bytes]
    figures: dict[str, dict[str, bytes]]


class World:
    """State: a seed's chance, the broker, the disk, the clock, the daemon that is alive."""

    def __init__(self, seed: int, steps: int, folder: Path, plant: Plant | None) -> None:
        self._chance: Final = random.Random(seed)
        self._steps_left = steps
        self._quiet_left = _QUIET_ROUNDS
        self._folder: Final = folder
        self._plant: Final = plant
        self._broker: Final = Broker()
        self._disk: Final = Disk(folder)
        self._story: Final = story(random.Random(seed + 1))
        self._told: Final[list[Sent]] = []
        self._is_punctual: Final = seed % 2 == 0
        self._arrivals = 0
        self._now = START
        self._daemon: Daemon | None = None
        self._source: ModelSource | None = None
        self._parts: Parts | None = None
        self._left: Left | None = None

    def live(self) -> str:
        """Run until the broker has nothing left; return what is wrong, empty if nothing is."""
        with self._models():
            try:
                for _ in range(_LIVES_MAX):
                    self._live_once()
                    if self._left is not None:
                        return _difference(self._left, self._undisturbed())
                    if self._quiet_left <= 0:
                        break
            except AssertionError as error:
                return f"the daemon found itself wrong: {error}"
        return f"no end: {self._broker.left} messages stay unacknowledged"

    def _live_once(self) -> None:
        """Start a daemon and let it work until it is killed, or ends; it will be started again."""
        try:
            self._parts = assemble(_settings(self._disk.folder), self._now)
            self._source = ModelSource(self._broker, self._between, keeps_names=self._is_punctual)
            if self._plant is not None:
                self._plant(self._parts, self._source)
            self._daemon = Daemon(
                self._parts, self._source, _Silent(), clock=self._clock, monotonic=self._clock
            )
            self._daemon.run()
        except (KilledError, JournalError, RuntimeError):
            self._quiet_left -= self._steps_left <= 0
        finally:
            self._disk.evict()

    def _undisturbed(self) -> Left:
        """Return what is left where each message came once, in the order of its first sending."""
        folder = self._folder / "undisturbed"
        folder.mkdir()
        parts = assemble(_settings(folder), self._now)
        once = list(dict.fromkeys(self._told))
        for at in range(0, len(once), 50):
            parts.intake.commit(parts.intake.prepare(once[at : at + 50], self._now))
        left = _left(parts, self._now)
        parts.journal.close()
        return left._replace(
            committed=left.committed + self._arrivals,
            arrivals=[float(number) for number in range(self._arrivals)],
        )

    # -- what befalls it ----------------------------------------------------------------------

    def _between(self) -> None:
        """Let something happen before the daemon reads on."""
        self._now += self._chance.random()
        if self._steps_left <= 0:
            self._be_quiet()
            return
        self._steps_left -= 1
        dice = self._chance.random()
        for share, happen in _HAPPENINGS:
            dice -= share
            if dice < 0.0:
                happen(self)
                return

    def _be_quiet(self) -> None:
        """Let the daemon work undisturbed; once nothing is left, look at all there is."""
        self._disk.calm()
        self._quiet_left -= 1
        if self._broker.is_empty:
            self._left = _left(self._parts, self._now)
        if self._left is not None or self._quiet_left <= 0:
            self._daemon.stop()

    def _publish(self) -> None:
        for _ in range(self._chance.randint(1, 6)):
            time, message = next(self._story)
            self._now = max(self._now, time)
            self._told.append(message)
            self._broker.take(message)
            if self._is_punctual and self._chance.random() < 0.3:
                self._broker.take(punctual(self._arrivals))
                self._arrivals += 1

    def _publish_again(self) -> None:
        """Let a publisher that is not sure whether it was heard say something again."""
        if self._told:
            self._broker.take(self._chance.choice(self._told[-30:]))

    def _cut(self) -> None:
        self._source.reconnect(restart=self._chance.random() < 0.5)

    def _kill(self) -> None:
        self._disk.kill()

    def _stop(self) -> None:
        self._daemon.stop()

    def _kill_while_writing(self) -> None:
        kind = self._chance.choice(("killed before", "killed after"))
        self._disk.fail(kind, self._chance.randint(0, 12))

    def _fill_disk(self) -> None:
        self._disk.fail("full", self._chance.randint(0, 8), self._chance.randint(1, 3))

    def _break_disk(self) -> None:
        self._disk.fail("broken", self._chance.randint(0, 8))

    def _wait(self) -> None:
        """Let an hour pass, so that the journal is tidied; or so."""
        self._now += self._chance.choice((70.0, 3600.0))

    # -- models in place of what the daemon uses ------------------------------------------------

    def _clock(self) -> float:
        return self._now

    def _sleep(self, seconds: float) -> None:
        """Let time pass; the connection may be lost meanwhile and come back."""
        self._now += seconds
        if self._chance.random() < 0.5:
            self._cut()

    @contextmanager
    def _models(self) -> Iterator[None]:
        sqlite = types.SimpleNamespace(**vars(sqlite3))
        sqlite.connect = self._disk.connect
        time = types.SimpleNamespace(sleep=self._sleep)
        logging.disable(logging.CRITICAL)
        try:
            with (
                mock.patch.object(database, "sqlite3", sqlite),
                mock.patch.object(monitor.daemon.loop, "time", time),
                mock.patch.object(kept_evidence, "PAIRS", _KEPT_PAIRS),
            ):
                yield
        finally:
            logging.disable(logging.NOTSET)


_HAPPENINGS: Final[tuple[tuple[float, Callable[[World], None]], ...]] = (
    (0.53, World._publish),
    (0.08, World._publish_again),
    (0.05, World._cut),
    (0.02, World._kill),
    (0.05, World._kill_while_writing),
    (0.05, World._fill_disk),
    (0.01, World._break_disk),
    (0.02, World._wait),
    (0.01, World._stop),
)


class _Silent:
    """Publishes nothing: what is published is compared at the end."""

    is_busy = False
    shown_connected = False

    def begin(self, now: float, source: Broker) -> None:
        """Show the connection as it is."""
        del now
        self.shown_connected = source.connected

    def work(self, seconds: float) -> None:
        """Do nothing."""

    def publish(self, now: float, source: object, trouble: str = "") -> None:
        """Do nothing."""

    def finish(self, now: float, source: object, seconds: float) -> None:
        """Do nothing."""

    def answer(self, now: float) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def simulate(seed: int, steps: int = STEPS, plant: Plant | None = None) -> Wrong | None:
    """Return what is wrong after one seed, None if nothing is."""
    memory = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        what = World(seed, steps, Path(folder), plant).live()
    return Wrong(seed, what) if what else None


def _settings(folder: Path) -> Settings:
    settings = _parsed()
    journal = settings.journal.model_copy(update={"path": str(folder / "journal.sqlite")})
    return settings.model_copy(update={"journal": journal})


@cache
def _parsed() -> Settings:
    return parse(_SETTINGS, "settings.yaml")


def _left(parts: Parts, now: float) -> Left:
    """Look at all there is: pairs as the journal has them, figures as memory has them."""
    standing = in_event_order(parts.journal.pairs())
    snapshot = parts.network.evaluate(now)
    pairs, figures = {}, {}
    for row, key in enumerate(parts.network.registry.keys):
        own = standing[standing["series"] == row].copy()
        own["series"] = 0
        pairs[key.sensor] = own.tobytes()
        figures[key.sensor] = {
            name: np.asarray(column)[row].tobytes()
            for name, column in (*snapshot.statistics.items(), ("evidence", snapshot.evidence))
        }
    arrivals = [
        float(value)
        for _, observations in parts.journal.observations()
        for each in observations
        for row, value in _values(each)
        if parts.network.registry.keys[row].sensor == NAMELESS
    ]
    for found in (pairs, figures):
        found.pop(NAMELESS, None)
    return Left(parts.journal.totals().get("committed", 0), sorted(arrivals), pairs, figures)


def _values(kept: Durable) -> Iterator[tuple[int, float]]:
    """Yield the series and the value of each plain reading."""
    if isinstance(kept, PackedReadings):
        rows, _, values, _ = kept.columns()
        yield from zip(rows.tolist(), values.tolist(), strict=True)


def _difference(left: Left, wanted: Left) -> str:
    for sensor in sorted(wanted.pairs):
        if left.pairs.get(sensor, b"") != wanted.pairs[sensor]:
            return f"sensor {sensor}: its pairs differ from those of an undisturbed life"
        for name, figure in wanted.figures[sensor].items():
            if left.figures[sensor][name] != figure:
                return f"sensor {sensor}: {name} differs from that of an undisturbed life"
    if left.arrivals != wanted.arrivals:
        return f"{left.arrivals} came without a time, {wanted.arrivals} were sent"
    if left.committed != wanted.committed:
        return f"{left.committed} messages counted as committed, {wanted.committed} were sent"
    return ""
