"""One daemon a journal; a damaged one is refused, and mended when asked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.broker import Mosquitto
from harness.cases import further
from harness.daemon import Daemon
from harness.programs import WAIT_SECONDS, until

from monitor.journal import Journal
from monitor.mqtt.publish import BrokerPublisher

READING = b'{"time": "2026-01-01T00:00:00Z", "value": 1.0, "u": 1.0}'


@pytest.fixture
def daemon(tmp_path: Path, mosquitto: Mosquitto) -> Iterator[Daemon]:
    made = Daemon(tmp_path, mosquitto.port)
    yield made
    made.kill()


def ended(daemon: Daemon, *more: str) -> tuple[int, str]:
    """Run a daemon that is expected to end by itself; return its exit code and last words."""
    command = [sys.executable, "-m", "monitor", "run", "--config", str(daemon.settings), *more]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=WAIT_SECONDS
    )
    return done.returncode, done.stderr.splitlines()[-1]


def test_a_second_daemon_on_the_same_journal_ends_with_73_and_says_why(daemon):
    daemon.start()
    code, words = ended(daemon)

    assert code == 73
    assert "journal.sqlite: another process has this journal open; stop it, or give" in words
    assert daemon.get("/readyz")[0] == 200


@pytest.mark.parametrize("content", [b"", b"\0" * 40_000])
def test_a_damaged_journal_is_refused_and_mended_when_asked(content, daemon, tmp_path):
    path = tmp_path / "journal.sqlite"
    path.write_bytes(content)
    code, words = ended(daemon)
    assert code == 65
    assert "`monitor run --recover`" in words
    assert path.read_bytes() == content

    command = [sys.executable, "-m", "monitor", "run", "--config", str(daemon.settings)]
    with subprocess.Popen([*command, "--recover"], stderr=subprocess.PIPE, text=True) as process:
        said = [process.stderr.readline() for _ in range(5)]
        process.terminate()
        process.communicate()
    (aside,) = tmp_path.glob("journal.sqlite.corrupt.*")

    assert f"the damaged file is kept as {aside}" in said[0]
    assert "kept: nothing" in said[1]
    assert "lost: unknown" in said[2]
    assert f"journal {path}: new" in said[3]
    assert "page and metrics on" in said[4]
    assert aside.read_bytes() == content
    Journal(path).close()


def test_a_journal_of_a_newer_version_is_refused_and_left(daemon, tmp_path):
    path = tmp_path / "journal.sqlite"
    Journal(path).close()
    content = bytearray(path.read_bytes())
    content[63] = 9  # the form's number, in the file's head
    path.write_bytes(content)
    code, words = ended(daemon, "--recover")

    assert code == 65
    assert "written by a newer version of monitor" in words
    assert path.read_bytes() == bytes(content)


def removed(folder: Path) -> None:
    shutil.rmtree(folder)


def renamed(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def replaced(folder: Path) -> None:
    file = folder / "journal.sqlite"
    shutil.copy(file, folder / "copy")
    (folder / "copy").rename(file)


@pytest.mark.parametrize(
    "case",
    [
        *((removed, 1), (renamed, 0), (replaced, 1)),
        *further((removed, 0), (renamed, 1), (replaced, 0)),
    ],
)
def test_a_journal_that_goes_while_it_is_open_acknowledges_nothing_and_ends_with_75(
    case, tmp_path, mosquitto
):
    happens, messages = case
    state = tmp_path / "state"
    state.mkdir()
    daemon = Daemon(state, mosquitto.port)
    try:
        daemon.start()
        happens(state)
        with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
            for _ in range(messages):
                out.publish("monitor/a/x/reading", READING)
        assert daemon.process.wait(WAIT_SECONDS) == 75
    finally:
        daemon.kill()


def test_what_was_not_acknowledged_then_comes_to_the_next_daemon(tmp_path, mosquitto):
    state, elsewhere = tmp_path / "state", tmp_path / "elsewhere"
    state.mkdir()
    daemon = Daemon(state, mosquitto.port, interval=3600.0)
    try:
        daemon.start()
        state.rename(elsewhere)
        with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
            out.publish("monitor/a/x/reading", READING)
        assert daemon.process.wait(WAIT_SECONDS) == 75
        state.mkdir()
        daemon = Daemon(state, mosquitto.port)
        daemon.start()
        until("it came", lambda: daemon.value("monitor_messages_committed_total") == 1)
    finally:
        daemon.kill()


def test_others_may_not_look_into_the_folder_that_is_made(tmp_path):
    before = os.umask(0)
    try:
        Journal(tmp_path / "state" / "journal.sqlite").close()
    finally:
        os.umask(before)

    assert (tmp_path / "state").stat().st_mode & 0o007 == 0
