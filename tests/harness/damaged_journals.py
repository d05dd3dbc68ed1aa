"""A journal with something in every table, and what its readers give."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from harness.batches import (
    COLLOCATION,
    EVENTS,
    EVIDENCE,
    LETTER,
    READINGS,
    REFERENCE,
    batch,
    beside,
    contents,
    numbered,
    pairs,
)
from monitor.core.pairing.identities import digest, reference_identity
from monitor.core.registry import KnownSeries
from monitor.journal import Journal, Notification
from monitor.journal import writing as module
from monitor.journal.failures import wal_of

NAME = digest(*reference_identity(REFERENCE))
SERIES = [KnownSeries(at, f"s{at}", "x", "kg", float(at)) for at in range(3)]


def filled(path: Path) -> None:
    """Make a journal with something in every table, and a batch laid together."""
    journal = Journal(path)
    journal.append(batch(0.0, numbered(1500), series=SERIES, observations=READINGS))
    for start in range(1500, 1560, 10):
        number = beside((start % 3, start, float(start), 7, start / 9.0))
        journal.append(
            batch(
                1.0,
                numbered(10, start),
                observations=READINGS[: start % 3 + 1],
                covariates=number,
            )
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_COMPACT_AT_BATCHES", 2)
        journal.compact()
    journal.append(
        batch(
            2.0,
            pairs((0, 7, 1.0, 2.0, NAME), (1, 8, 2.0, 3.0)),
            observations=[*READINGS, REFERENCE],
            dead_letters=[LETTER] * 3,
            events=EVENTS,
            collocations=[COLLOCATION],
            notes={"births": b"\x01\x02"},
            totals={"received": 9, "committed": 8, "rejected.bad_name": 1},
        )
    )
    journal.alerts.record(
        [Notification(1, ("s0", "x", "offset"), is_active=True, body=b"body")], {"web": 1}
    )
    for start in range(1560, 1590, 10):
        journal.append(batch(3.0, numbered(10, start)))
    journal.append(batch(evidence=EVIDENCE))
    journal.close()


def everything(path: Path) -> dict[str, object]:
    """Open a journal and return all that its readers give."""
    journal = Journal(path)
    try:
        return {
            **contents(journal),
            "histories": [journal.pairs_of(at).tobytes() for at in range(4)],
            "made": journal.made_by(NAME).tobytes(),
            "revision": journal.revisions([NAME]),
            "named": journal.named("lab-7"),
            "note": journal.note("births"),
            "alerts": (
                journal.alerts.active(),
                journal.alerts.newest(9),
                journal.alerts.delivered(),
            ),
        }
    finally:
        journal.close()


def spoil(path: Path, at: int, length: int = 1) -> None:
    content = bytearray(path.read_bytes())
    for place in range(at, at + length):
        content[place] ^= 0x15
    path.write_bytes(content)


WRITING = """
import os, sys
from pathlib import Path
sys.path[:0] = sys.argv[1].split(":")
from harness.batches import batch, numbered
from tests.journal.test_repairing import SERIES
from monitor.journal import Journal
journal = Journal(Path(sys.argv[2]))
for start in range(0, 60, 10):
    journal.append(batch(1.0, numbered(10, start), series=SERIES))
"""
KILLED = f"{WRITING}os._exit(9)"


def ended(program: str, path: Path) -> int:
    """Run a program that writes a journal, and return its exit code."""
    here = f"{Path(__file__).parents[1]}:{Path(__file__).parents[2]}"
    command = [sys.executable, "-c", program, here, str(path)]
    return subprocess.run(command, check=False).returncode


def commits_of(path: Path) -> list[int]:
    """Return where in the log each transaction's last frame begins."""
    content = wal_of(path).read_bytes()
    frames = range(32, len(content) - 4119, 4120)
    return [at for at in frames if struct.unpack_from(">I", content, at + 4)[0]]


# Begins a backup into a folder, and stops when the copy is there but not proven.
COPYING = """
import sys
from pathlib import Path
from monitor.journal import copying
def verify(copy):
    print("copied", flush=True)
    sys.stdin.read()
copying.verify = verify
copying.backup(Path(sys.argv[1]), Path(sys.argv[2], "never.sqlite"))
"""
REPAIRING = """
import os, signal, sys
from pathlib import Path
from monitor.journal import repairing
repairing.move_aside = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
repairing.repair(Path(sys.argv[1]), "never")
"""
HOLDING = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[1].split(":")
from harness.batches import batch, numbered
from monitor.journal import Journal
journal = Journal(Path(sys.argv[2]))
journal.append(batch(1.0, numbered(10, 500)))
print("open", flush=True)
for start in range(1000, 10_000_000, 10):
    if sys.argv[3] == "idle":
        sys.stdin.read()
        break
    journal.append(batch(1.0, numbered(10, start)))
"""
