"""A small process that takes messages into a journal, to be killed or failed at any system call.

``python -m reliability.victim FOLDER``: goes on where the file of acknowledgements says, batch by
batch: prepare, commit, acknowledge. It has everything loaded before it opens the journal, so that
system calls can be counted from there. Run again without faults it comes to the end.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from harness.publishing import Said, round_of

from monitor.config import parse
from monitor.daemon.assembly import Parts, assemble
from monitor.errors import MonitorError

ROUNDS: Final = 40
A_BATCH: Final = 14
MESSAGES: Final = tuple(message for number in range(ROUNDS) for message in round_of(number))
_ACKNOWLEDGED: Final = "acknowledged"
_NOW: Final = 1_767_300_000.0
_SETTINGS: Final = b"""
windows: {pairs: 100}
series: {max: 10}
pairing: {mode: nearest, tolerance_seconds: 5, max_wait_hours: 1000}
journal: {path: "%s/journal.sqlite"}
"""


def assembled(folder: Path) -> Parts:
    """Open the journal of a folder as the daemon does."""
    return assemble(parse(_SETTINGS % str(folder).encode(), "settings.yaml"), _NOW)


def acknowledged(folder: Path) -> int:
    """Return how many messages were acknowledged: the broker sends the next ones."""
    path = folder / _ACKNOWLEDGED
    return path.stat().st_size if path.exists() else 0


def work(folder: Path) -> None:
    """Take all messages that are left; raises JournalError."""
    told = os.open(folder / _ACKNOWLEDGED, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    parts = assembled(folder)
    try:
        while (at := acknowledged(folder)) < len(MESSAGES):
            batch: tuple[Said, ...] = MESSAGES[at : at + A_BATCH]
            parts.intake.commit(parts.intake.prepare(batch, _NOW))
            if at % 70 == 0:
                parts.journal.expire(observations_before=0.0, pairs_before=0.0)
                parts.journal.compact()
            os.write(told, b"." * len(batch))
    finally:
        parts.journal.close()
        os.close(told)


def main() -> int:
    """Work, and end as the daemon does where the journal fails."""
    try:
        work(Path(sys.argv[1]))
    except MonitorError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
