"""What ends a command, with the exit code that says why (sysexits.h)."""

from __future__ import annotations

from typing import Final

USAGE: Final = 2
BAD_INPUT: Final = 65
UNAVAILABLE: Final = 69
CANNOT_CREATE: Final = 73
TRY_AGAIN: Final = 75
BAD_SETTINGS: Final = 78


class MonitorError(Exception):
    """An error whose message is meant for the person at the terminal: what, where, what to do."""

    exit_code: int = 1
