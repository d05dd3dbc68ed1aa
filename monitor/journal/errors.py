"""Why a journal cannot be used: what the disk and SQLite report, with what to do about it.

SQLite is asked for its error codes, never read: its sentences differ from version to version.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from monitor.errors import BAD_INPUT, CANNOT_CREATE, JOURNAL, TRY_AGAIN, MonitorError

# What reading a file may raise: an error of SQLite that quotes the damaged text of a table comes
# as a UnicodeDecodeError.
UNREADABLE: Final = (sqlite3.DatabaseError, UnicodeDecodeError)
_DAMAGE: Final = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))
_BUSY: Final = frozenset((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED))


class JournalError(MonitorError):
    """The journal cannot be used; the message says why and what to do."""

    exit_code = TRY_AGAIN


class JournalBusyError(JournalError):
    """Another process has the journal open."""

    exit_code = CANNOT_CREATE

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path}: another process has this journal open; stop it, or give this daemon "
            f"a path of its own (journal.path); see {JOURNAL}"
        )


class JournalFullError(JournalError):
    """There is no space; nothing was written, the same batch may be appended again."""


class JournalDamagedError(JournalError):
    """The file does not hold what was written; starting again does not help, a repair does."""

    exit_code = BAD_INPUT

    def __init__(self, path: Path, damage: str) -> None:
        super().__init__(
            f"{path}: {damage}; `monitor journal repair` moves the file aside and keeps what is "
            "sound in a new one (so does `monitor run --recover`), or restore a backup "
            "(`monitor journal restore`)"
        )
        self.damage: Final = damage


class JournalFormError(JournalError):
    """The file is another program's, or of another version of this one; it is left as it is."""

    exit_code = BAD_INPUT

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.reason: Final = reason


def cannot_use(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> JournalError:
    """Return what went wrong with an open journal."""
    code = _code(error)
    if code == sqlite3.SQLITE_FULL:
        return JournalFullError(
            f"{path}: no space left to write the journal; "
            "free some space, the daemon goes on by itself"
        )
    if code in _DAMAGE:
        return JournalDamagedError(path, f"the journal is damaged ({error})")
    return JournalError(
        f"{path}: the journal cannot be read or written ({error}); check the disk, "
        "restore a backup of the file, or move it away to begin anew"
    )


def cannot_open(path: Path, error: sqlite3.Error | UnicodeDecodeError | OSError) -> JournalError:
    """Return why a file cannot be opened as a journal."""
    code = _code(error)
    if code in _BUSY:
        return JournalBusyError(path)
    if code in _DAMAGE:
        return JournalDamagedError(
            path, f"is no journal, or one whose first page is damaged ({error})"
        )
    return JournalError(
        f"{path}: cannot be opened as a journal ({error}); check the path, its permissions and "
        "the free space, restore a backup, or move the file away to begin anew"
    )


def _code(error: Exception) -> int:
    """Return SQLite's primary result code; 0 for what SQLite did not report itself."""
    if isinstance(error, UnicodeDecodeError):
        return sqlite3.SQLITE_CORRUPT
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
