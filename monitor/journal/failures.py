"""What SQLite and the disk complain about, in sentences that say what to do."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from monitor.errors import JOURNAL
from monitor.journal.errors import (
    JournalBusyError,
    JournalDamagedError,
    JournalError,
    JournalFullError,
)

UNREADABLE: Final = (sqlite3.DatabaseError, UnicodeDecodeError)
_DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_DAMAGE_IN_WORDS: Final = ("decode", "no such", "out of range", "malformed")


def damaged(path: Path, what: str) -> JournalDamagedError:
    """Return the refusal of a file that does not hold what was written."""
    return JournalDamagedError(
        f"{path}: {what}; `monitor journal repair` moves the file aside and keeps what is sound "
        "in a new one (so does `monitor run --recover`), or restore a backup "
        "(`monitor journal restore`)"
    )


def failure(path: Path, error: Exception) -> JournalError:
    """Return what went wrong with an open journal."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
        return JournalFullError(
            f"{path}: no space left to write the journal; "
            "free some space, the daemon goes on by itself"
        )
    if _is_damage(error):
        return damaged(path, f"the journal is damaged ({error})")
    return JournalError(
        f"{path}: the journal cannot be read or written ({error}); check the disk, "
        "restore a backup of the file, or move it away to begin anew"
    )


def _is_damage(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in _DAMAGE or any(word in str(error) for word in _DAMAGE_IN_WORDS)


def refusal(path: Path, error: Exception) -> JournalError:
    """Return why a file cannot be opened."""
    if "locked" in str(error):
        return JournalBusyError(
            f"{path}: another process has this journal open; stop it, or give this daemon "
            f"a path of its own (journal.path); see {JOURNAL}"
        )
    if _is_damage(error):
        return damaged(path, f"is no journal, or one whose first page is damaged ({error})")
    return JournalError(
        f"{path}: cannot be opened as a journal ({error}); check the path, its permissions and "
        "the free space, restore a backup, or move the file away to begin anew"
    )
