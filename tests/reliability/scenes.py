"""What is done to a daemon while a publisher goes on: kills, restarts, cuts, partitions.

Each scene is a function of (yard, how many times); it ends with the daemon stopped in good order.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.programs import WAIT_SECONDS, need, until
from harness.proxy import Proxy
from harness.publishing import Publishing

from monitor.errors import TRY_AGAIN
from monitor.mqtt.pacing import TAKEOVER_WINDOW_SECONDS, TAKEOVERS_MAX

from .crowd import PASSWORD, Door, authorization
from .histories import History, history

# Longer than the daemon lets messages gather before it reads them.
_CALM_SECONDS: Final = 1.0
# A start writes less before it says its address; a second under load writes more.
_WRITES_LEAST: Final = 60
_WRITES_MOST: Final = 200
_LOG_CHARACTERS: Final = 1000
USUAL: Final = """
windows: {pairs: 20000}
pairing: {mode: nearest, tolerance_seconds: 5}
"""
# What may be held is held after a minute or two: from then on nothing has a reason to grow.
SOON_FULL: Final = """
windows: {pairs: 1000}
pairing: {mode: nearest, tolerance_seconds: 5, max_pending: 20000}
"""


class Field:
    """Broker, proxy, daemon and publisher in one folder; a context that ends all of them."""

    def __init__(
        self,
        folder: Path,
        keepalive: int = 5,
        rate: float = 100.0,
        seed: int = 0,
        more: str = USUAL,
        door: Door | None = None,
        interval: float = 0.2,
    ) -> None:
        """``more`` are settings besides those of the harness; ``door`` locks the page.

        ``interval`` s are between two publications, ``rate`` a second are rounds of messages.
        """
        self.folder: Final = folder
        self.chance: Final = random.Random(seed)
        (folder / "broker").mkdir()
        # However far behind the daemon is, the broker drops nothing that it has promised.
        self.broker: Final = Mosquitto(folder / "broker", "max_queued_messages 0")
        self.proxy: Final = Proxy(self.broker.port)
        self.daemon: Final = Daemon(
            folder,
            self.proxy.port,
            more,
            "reliability",
            interval=interval,
            mqtt=f"keepalive_seconds: {keepalive}",
            http="" if door is None else door.setting,
        )
        if door is not None:
            self.daemon.tls = door.context()
            self.daemon.headers = {"Authorization": authorization(PASSWORD)}
        self.publishing: Final = Publishing(self.broker.port, rate)
        self.seconds: list[float] = []

    def __enter__(self) -> Self:
        self.daemon.start()
        self.publishing.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.publishing.finish()
        self.daemon.kill()
        self.proxy.close()
        self.broker.stop()

    def committed(self) -> float:
        """Return how many messages are committed, -1 while nobody answers; it must be alive."""
        process = self.daemon.process
        assert process is not None
        assert process.poll() is None, self.daemon.log()[-_LOG_CHARACTERS:]
        return self.daemon.value("monitor_messages_committed_total")

    def note_first_commit(self, killed: float) -> None:
        """Wait until a new process has acknowledged messages, which are committed before that."""

        def first() -> float:
            return next((told for came, told in self.proxy.acknowledged if came > killed), 0.0)

        self.seconds.append(float(until("messages are committed after a kill", first)) - killed)

    def note_recovery(self, what: str) -> None:
        """Wait until messages are seen to be committed again; note how long that took."""
        began = time.monotonic()
        before = float(until(f"it answers {what}", lambda: self.committed() + 1.0)) - 1.0
        until(f"messages flow {what}", lambda: self.committed() > before)
        self.seconds.append(time.monotonic() - began)

    def end(self) -> History:
        """Let all that was promised arrive, stop in good order, and read what is left."""
        self.publishing.finish()
        promised = self.publishing.messages
        until(f"{promised} messages came: {self.daemon.log()}", lambda: self._came(promised))
        assert self.daemon.stop() == 0, self.daemon.log()
        return history(self.daemon.settings, self.publishing, self.folder)

    def _came(self, promised: int) -> bool:
        """Return whether all came: of a flood some is committed that nobody promised."""
        before = self.committed()
        time.sleep(_CALM_SECONDS)
        is_calm = promised <= before == self.committed()
        return is_calm and self.daemon.get("/readyz")[0] == 200


def kills(field: Field, times: int) -> None:
    """Kill the daemon at any instant, also while it starts."""
    for _ in range(times):
        time.sleep(field.chance.uniform(0.0, 0.5))
        field.daemon.kill()
        killed = time.monotonic()
        field.daemon.start(ready=False)
        if field.chance.random() < 0.2:
            field.note_first_commit(killed)


def terminations(field: Field, times: int) -> None:
    """Ask it to end under load; it ends in good order within seconds."""
    for _ in range(times):
        time.sleep(0.4)
        began = time.monotonic()
        assert field.daemon.stop() == 0, field.daemon.log()
        field.seconds.append(time.monotonic() - began)
        field.daemon.start(ready=False)


def broker_restarts(field: Field, times: int) -> None:
    """Restart the broker; it keeps its sessions.

    One that hangs up ten times a minute and is back at once looks like another client that takes
    the session over, which ends the daemon.
    """
    apart = 1.2 if times < TAKEOVERS_MAX else 1.3 * TAKEOVER_WINDOW_SECONDS / TAKEOVERS_MAX
    for _ in range(times):
        time.sleep(apart)
        field.broker.stop()
        field.broker.start()
        field.note_recovery("after the broker's restart")


def cuts(field: Field, times: int) -> None:
    """Cut the connection, also while packets are under way."""
    for _ in range(times):
        time.sleep(0.3)
        field.proxy.cut()
        field.note_recovery("after a cut")


def partitions(field: Field, times: int) -> None:
    """Let the network swallow everything; the daemon says that it is not ready, then comes back."""
    for _ in range(times):
        began = time.monotonic()
        field.proxy.swallow = True
        until("it is not ready", lambda: field.daemon.get("/readyz")[0] == 503)
        field.seconds.append(time.monotonic() - began)
        field.proxy.swallow = False
        field.proxy.cut()
        field.note_recovery("after the partition")


def half_opens(field: Field, times: int) -> None:
    """Let the broker's machine be gone without a word: no connection there was ends."""
    for _ in range(times):
        before, began = field.proxy.accepted, time.monotonic()
        field.proxy.hold()
        until("it connects anew", lambda before=before: field.proxy.accepted > before)
        field.seconds.append(time.monotonic() - began)
        start = field.committed()
        until("messages flow again", lambda start=start: field.committed() > start)


def read_onlies(field: Field, times: int) -> None:
    """Let the file system of the journal become read-only at some write, and writable again."""
    calls = ("pwrite64", "fdatasync", "ftruncate", "unlink")
    for _ in range(times):
        assert field.daemon.stop() == 0, field.daemon.log()
        when = field.chance.randint(_WRITES_LEAST, _WRITES_MOST)
        fault = f"inject={','.join(calls)}:error=EROFS:when={when}+"
        options = ("-f", "-qq", "-o", "/dev/null", "-e", f"trace={','.join(calls)}", "-e", fault)
        field.daemon.under = (need("strace"), *options)
        field.daemon.start(ready=False)
        assert field.daemon.process.wait(WAIT_SECONDS) == TRY_AGAIN, field.daemon.log()
        assert "the journal cannot be written: Read-only file system" in field.daemon.log()
        field.daemon.under = ()
        field.daemon.start(ready=False)
        field.note_recovery("after the file system is writable again")


def deaf_brokers(field: Field, times: int) -> None:
    """Let the broker's answers be lost at the start of a connection: no CONNACK ever comes."""
    for _ in range(times):
        field.proxy.swallow_answers = True
        field.proxy.cut()
        wanted = field.proxy.accepted + 2
        until("it gave up and tried again", lambda w=wanted: field.proxy.accepted >= w)
        field.proxy.swallow_answers = False
        field.proxy.cut()
        field.note_recovery("after a broker without answers")


Scene = Callable[[Field, int], None]
SCENES: Final[dict[str, Scene]] = {
    "kills": kills,
    "terminations": terminations,
    "broker restarts": broker_restarts,
    "cuts": cuts,
    "partitions": partitions,
    "deaf brokers": deaf_brokers,
    "half-open connections": half_opens,
    "read-only file systems": read_onlies,
}
