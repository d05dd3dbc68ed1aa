"""What ends the use of a journal, and with which exit code."""

from __future__ import annotations

from monitor.errors import (
    BAD_INPUT,
    CANNOT_CREATE,
    TRY_AGAIN,
    MonitorError,
)


class JournalError(MonitorError):
    """The journal cannot be used; the message says why and what to do."""

    exit_code = TRY_AGAIN


class JournalBusyError(JournalError):
    """Another process has the journal open."""

    exit_code = CANNOT_CREATE


class JournalFullError(JournalError):
    """There is no space; nothing was committed, the same batch may be tried again."""


class JournalDamagedError(JournalError):
    """The file does not hold what was written; starting again does not help, a repair does."""

    exit_code = BAD_INPUT


class JournalFormError(JournalError):
    """The file is another program's, or of another version of this one; it is left as it is."""

    exit_code = BAD_INPUT
