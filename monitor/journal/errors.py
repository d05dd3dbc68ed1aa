"""What ends the use of a journal, and with which exit code."""

from __future__ import annotations

from monitor.errors import CANNOT_CREATE, TRY_AGAIN, MonitorError


class JournalError(MonitorError):
    """The journal cannot be used; the message says why and what to do."""

    exit_code = TRY_AGAIN


class JournalBusyError(JournalError):
    """Another process has the journal open."""

    exit_code = CANNOT_CREATE


class JournalFullError(JournalError):
    """There is no space; nothing was committed, the same batch may be tried again."""
