"""Limits on what one input may cost: processor time by an alarm, memory by the system."""

from __future__ import annotations

import gc
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

SECONDS_MAX: Final = 2.0
MEMORY_MAX: Final = 64 * 1024 * 1024


class TooLong(BaseException):
    """An input took longer than it may; no Exception, for those a decoder may catch."""


def _alarm(_signal: int, _frame: FrameType | None) -> None:
    raise TooLong(f"more than {SECONDS_MAX:g} s of processor time")


@contextmanager
def alarm() -> Iterator[None]:
    """Let :func:`begin` raise TooLong in this process; the main thread only."""
    before = signal.signal(signal.SIGPROF, _alarm)
    try:
        yield
    finally:
        end()
        signal.signal(signal.SIGPROF, before)


class _Memory:
    """Whether inputs are limited in memory, and what the process may have otherwise."""

    limited = False
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]


def begin() -> None:
    """Count processor time from now on, so that other programs do not matter; limit memory.

    What the process has gathered before is not collected meanwhile: that takes seconds after many
    tests, and is no cost of an input.
    """
    gc.disable()
    if _Memory.limited:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + MEMORY_MAX
        resource.setrlimit(resource.RLIMIT_AS, (most, _Memory.hard))
    signal.setitimer(signal.ITIMER_PROF, SECONDS_MAX)


def end() -> None:
    """Count no longer, and let what makes inputs have the memory it wants."""
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    gc.enable()
    if _Memory.limited:
        resource.setrlimit(resource.RLIMIT_AS, (_Memory.hard, _Memory.hard))


def limit_memory() -> None:
    """Let this process have little more memory than it has whenever it reads an input."""
    _Memory.limited = True
