"""No program outlives the tests that started it, even if the tests are killed.

Each process that runs tests marks its environment, which every program it starts inherits, and
starts this file as a process of its own. That process waits until the tests end, however they end,
and then kills whatever still carries the mark: also what was started by a program in its turn, or
in a session of its own. It reads /proc; where there is none, it does nothing.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

MARK: Final = "MONITOR_TESTS"
_LOOK_SECONDS: Final = 0.5


@contextmanager
def reaped() -> Iterator[None]:
    """Kill what was started in this context and still runs at its end, or at that of this process.

    A session inside another one, as a test of these tests has it, has a mark of its own.
    """
    before = os.environ.get(MARK)
    mark = os.environ[MARK] = uuid.uuid4().hex
    command = [sys.executable, "-I", "-S", __file__, mark, str(os.getpid())]
    try:
        with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True):
            yield
    finally:
        os.environ.pop(MARK)
        if before is not None:
            os.environ[MARK] = before


def _wait_for_the_end(parent: int) -> None:
    """Return when the tests closed our input, or their process is no more."""
    while os.getppid() == parent:
        if select.select([sys.stdin], [], [], _LOOK_SECONDS)[0]:
            return


def _marked(mark: str) -> list[int]:
    """Return the processes that carry the mark, without this one."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile, or belongs to somebody else
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return [each for each in found if each != os.getpid()]


def main(mark: str, parent: int) -> None:
    """Wait for the end, then kill until nothing with the mark is left."""
    _wait_for_the_end(parent)
    while left := _marked(mark):
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.02)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
