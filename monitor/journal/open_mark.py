"""Whether a journal was closed: a mark in the file itself that its log is needed.

SQLite takes a log that was deleted or emptied for an empty log, and a copy of the file alone for
the whole journal. So the file is marked before anything is written that only the log holds, and the
mark is removed at a clean end, once the log is merged.

Rules of this file: the mark is in the file only while the log beside it has content, whatever ends
the process and whenever. The mark is written to the log first and merged from there, which does not
shorten the log; it is removed the same way, before SQLite deletes the log. It stands in the
header's application id, which nothing else uses; any other value means no mark.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from monitor.journal.failures import UNREADABLE, JournalLogLostError, wal_of

_OPEN: Final = 0x6D4C6F67  # "mLog"
_CLOSED: Final = 0
_PLACE: Final = slice(68, 72)  # of the header: sqlite.org/fileformat2.html, 1.3


def is_log_empty(path: Path) -> bool:
    """Return whether the log of a journal is missing or without content."""
    try:
        with wal_of(path).open("rb") as log:
            return not any(log.read(32))  # its header, which is never zero
    except OSError:
        return True


def misses_log(path: Path) -> bool:
    """Return whether a file that nobody has open needs a log that is not there; raises OSError."""
    return is_log_empty(path) and is_marked_open(path)


def is_marked_open(path: Path) -> bool:
    """Return whether a file has the mark, whatever its log says; raises OSError.

    Never of a file that this process has open: closing it would end SQLite's locks.
    """
    with path.open("rb") as file:
        header = file.read(_PLACE.stop)
    return header[_PLACE] == _OPEN.to_bytes(4, "big")


def check_log(db: sqlite3.Connection, path: Path) -> None:
    """Raise JournalLogLostError if a locked file, whose log was empty, needed that log."""
    if is_marked(db):
        raise JournalLogLostError(path)


def mark(db: sqlite3.Connection) -> None:
    """Say in a locked file that its log is needed; raises sqlite3.DatabaseError."""
    if not is_marked(db):
        db.execute(f"pragma application_id = {_OPEN}")
    _merge(db)


def end(db: sqlite3.Connection, path: Path) -> None:
    """Close a file, and take off the mark if all of its log is in it.

    Where that fails the mark stays as long as the log does.
    """
    is_done = False
    with suppress(*UNREADABLE):
        _unmark(db)
        is_done = True
    db.close()
    if not is_done and path.exists() and is_log_empty(path):  # SQLite could merge it after all
        with suppress(*UNREADABLE), closing(_connect(path)) as again:
            _unmark(again)


def without_mark(content: bytes) -> bytes:
    """Return the content of a whole file without its mark."""
    return content[: _PLACE.start] + _CLOSED.to_bytes(4, "big") + content[_PLACE.stop :]


def take_off(db: sqlite3.Connection) -> None:
    """Take the mark off a copy that has no log; raises sqlite3.DatabaseError."""
    db.execute(f"pragma application_id = {_CLOSED}")


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, timeout=0.0)


def _unmark(db: sqlite3.Connection) -> None:
    if is_marked(db):
        _merge(db)  # what follows overwrites the log's beginning, and needs no space
        take_off(db)


def is_marked(db: sqlite3.Connection) -> bool:
    """Return whether an open file has the mark; raises sqlite3.DatabaseError."""
    return bool(db.execute("pragma application_id").fetchone()[0] == _OPEN)


def _merge(db: sqlite3.Connection) -> None:
    busy, length, merged = db.execute("pragma wal_checkpoint(full)").fetchone()
    if busy or merged < length:
        raise sqlite3.OperationalError("the log cannot be merged")
