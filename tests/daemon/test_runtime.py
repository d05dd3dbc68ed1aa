"""What the service manager hears: over a real datagram socket, of a real daemon too."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest
from harness.daemon import Daemon
from harness.programs import free_port, until

from monitor.config import parse
from monitor.daemon.assembly import assemble
from monitor.daemon.loop import Daemon as MonitorDaemon
from monitor.daemon.publisher import Publisher
from monitor.daemon.runtime import Supervisor
from monitor.http.published import OnDemandRequests, Page
from monitor.journal import Batch, JournalFullError
from monitor.mqtt.inbox import InboxMessage


class Manager:
    """The other end: keeps what it was told, one list of lines a datagram."""

    def __init__(self, address: str) -> None:
        self.heard: list[list[str]] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(address)
        self._socket.settimeout(0.0)

    def listen(self) -> list[list[str]]:
        while True:
            try:
                self.heard.append(self._socket.recv(4096).decode().split("\n"))
            except BlockingIOError:
                return self.heard

    def lines(self) -> list[str]:
        return [line for datagram in self.listen() for line in datagram]

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "notify")


@pytest.fixture
def manager(path: str):
    listening = Manager(path)
    yield listening
    listening.close()


def test_the_first_sign_of_life_says_ready_and_the_status_in_one_datagram(path, manager):
    with Supervisor(path, 30.0) as supervisor:
        supervisor.alive("connected to broker:1883")

    assert manager.listen() == [["READY=1", "STATUS=connected to broker:1883", "WATCHDOG=1"]]


def test_a_long_read_of_the_journal_is_no_silence(path, manager):
    with Supervisor(path, 30.0) as supervisor:
        supervisor.alive("connected")
        supervisor.reading(600.0)
        supervisor.alive("connected")
        supervisor.alive("connected")

    assert manager.listen() == [
        ["READY=1", "STATUS=connected", "WATCHDOG=1"],
        ["WATCHDOG_USEC=600000000", "WATCHDOG=1"],
        ["WATCHDOG_USEC=30000000", "WATCHDOG=1"],
    ]


def test_a_beat_is_sent_three_times_in_the_time_allowed_and_no_more(path, manager):
    now = [0.0]
    with Supervisor(path, 30.0, monotonic=lambda: now[0]) as supervisor:
        for second in range(60):
            now[0] = float(second)
            supervisor.alive("")
    beats = [datagram for datagram in manager.listen() if "WATCHDOG=1" in datagram]

    assert len(beats) == 6
    assert manager.lines().count("READY=1") == 1


def test_a_status_is_sent_once_while_it_lasts_and_stays_one_line(path, manager):
    with Supervisor(path) as supervisor:
        for status in ("fine", "fine", "no\nspace\nREADY=1", "fine"):
            supervisor.alive(status)

    assert manager.listen() == [
        ["READY=1", "STATUS=fine"],
        ["STATUS=no space READY=1"],
        ["STATUS=fine"],
    ]


def test_an_abstract_address_is_found(path):
    name = f"monitor-{os.getpid()}"
    manager = Manager(f"\0{name}")
    try:
        with Supervisor.of_environment({"NOTIFY_SOCKET": f"@{name}"}) as supervisor:
            supervisor.stopping()

        assert manager.listen() == [["STOPPING=1"]]
    finally:
        manager.close()


@pytest.mark.parametrize(
    ("environment", "beats"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 1),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 1),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, 0),
        ({"WATCHDOG_USEC": "soon"}, 0),
        ({}, 0),
    ],
)
def test_a_watchdog_is_fed_only_if_it_watches_this_process(path, manager, environment, beats):
    with Supervisor.of_environment({"NOTIFY_SOCKET": path, **environment}) as supervisor:
        supervisor.alive("")

    assert manager.lines().count("WATCHDOG=1") == beats


def test_without_a_manager_or_with_one_that_has_gone_nothing_happens(path):
    manager = Manager(path)
    with Supervisor() as nobody, Supervisor(path, 1.0) as deserted:
        manager.close()
        for supervisor in (nobody, deserted):
            supervisor.alive("fine")
            supervisor.stopping()


def test_a_manager_that_does_not_read_is_not_waited_for(path, manager):
    """Without a limit the queue of a datagram socket is full after some ten messages."""
    with Supervisor(path) as supervisor:
        for number in range(5000):
            supervisor.alive(f"status {number}")

    assert 0 < len(manager.listen()) < 5000


def test_a_daemon_is_ready_without_its_broker_beats_and_says_that_it_stops(tmp_path, path, manager):
    told = {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "300000"}
    daemon = Daemon(tmp_path, free_port(), environment=told)
    daemon.start(ready=False)
    try:
        until("three beats", lambda: manager.lines().count("WATCHDOG=1") >= 3)
        first = manager.heard[0]
        assert daemon.stop() == 0
    finally:
        daemon.kill()

    assert first[0] == "READY=1"
    assert first[1].startswith("STATUS=no connection to 127.0.0.1:")
    assert manager.listen()[-1] == ["STOPPING=1"]


class Crowd:
    """A source that sends one message, and ends the work once it is acknowledged."""

    connected, status = True, "connected"
    confirmed = sessions_lost = reconnects = full_reads = stale_acknowledgements = 0
    denied: ClassVar[dict[str, str]] = {}
    last_message: ClassVar[dict[str, float]] = {}
    tls_not_after = None

    def __init__(self) -> None:
        self.daemon: MonitorDaemon | None = None

    def receive(self, timeout: float) -> list[InboxMessage]:
        return [InboxMessage("monitor/a/x/reading", b"{}", 1, b"\0\1", 1)]

    def acknowledge(self, messages: list[InboxMessage]) -> int:
        assert self.daemon is not None
        self.daemon.stop()
        return len(messages)

    def confirm(self, number: int) -> None:
        """Do nothing: no acknowledgement is ever lost."""

    def close(self) -> None:
        self.status = "closed"


class Screen:
    def __init__(self) -> None:
        self.requests = OnDemandRequests(lambda: 0.0)
        self.writable: list[bool] = []

    def publish(self, page: Page) -> None:
        assert page.figures is not None
        self.writable.append(page.figures.journal_writable)

    def tick(self, seconds: float) -> None: ...


def test_a_journal_without_space_is_told_to_manager_and_prometheus_and_does_not_stop_the_beats(
    tmp_path, path, manager, monkeypatch
):
    settings = parse(f'journal: {{path: "{tmp_path}/journal.sqlite"}}'.encode(), "settings")
    parts, source, screen = assemble(settings, 0.0), Crowd(), Screen()
    commit, full = parts.intake.commit, [JournalFullError("no space left")]

    def commit_later(batch: Batch) -> None:
        if full:
            raise full.pop()
        commit(batch)

    monkeypatch.setattr(parts.intake, "commit", commit_later)
    with Supervisor(path, 0.001) as supervisor:
        publisher = Publisher(parts, screen, [])
        source.daemon = MonitorDaemon(parts, source, publisher, supervisor=supervisor)
        source.daemon.run()

    assert manager.listen()[0] == ["READY=1", "STATUS=no space left", "WATCHDOG=1"]
    assert manager.listen()[1] == ["STATUS=connected", "WATCHDOG=1"]
    assert screen.writable[0] is False
    assert screen.writable[-1] is True


POSTPONED = """
import sys
from monitor.daemon.runtime import postpone_imports
postpone_imports()
import numpy as np, scipy.special
assert scipy.special.ndtri(0.5) == 0.0 and np.unique([2, 1, 2]).tolist() == [1, 2]
assert np.median([3.0, 1.0, 2.0]) == 2.0
assert not {"numpy.f2py", "numpy.ma", "numpy.random", "numpy.testing"} & {*sys.modules}
np.testing.assert_equal(np.random.default_rng(1).integers(1), 0)
masked = np.ma.array([1, 1, 2], mask=[False, True, False])
assert np.ma.is_masked(masked) and np.unique(masked).count() == 2
assert np.ma is sys.modules["numpy.ma"]
"""


def test_parts_of_numpy_load_with_their_first_use() -> None:
    subprocess.run([sys.executable, "-c", POSTPONED], check=True)
