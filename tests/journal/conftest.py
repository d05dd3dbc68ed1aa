"""Fixtures for the tests of journal."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.damaged_journals import HOLDING, KILLED, ended, filled

from monitor.journal.failures import wal_of


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("sound") / "journal.sqlite"
    filled(path)
    return path.read_bytes()


@pytest.fixture
def path(sound: bytes, tmp_path: Path) -> Path:
    made = tmp_path / "journal.sqlite"
    made.write_bytes(sound)
    return made


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """Return a journal whose last transactions are in its log."""
    path = tmp_path / "killed.sqlite"
    assert ended(KILLED, path) == 9
    assert wal_of(path).stat().st_size > 4096
    return path


@pytest.fixture(params=["idle", "busy"])
def running(request, path: Path) -> Iterator[subprocess.Popen]:
    """Let another process have the journal open."""
    here = f"{Path(__file__).parents[1]}:{Path(__file__).parents[2]}"
    command = [sys.executable, "-c", HOLDING, here, str(path), request.param]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()
