"""The log beside a journal: a mark that it is needed, and a note of where it ends.

SQLite takes whatever lies at the log's name: none for an empty log, another journal's, one that was
cut between two transactions. The mark, the application id of the file's header, is there before
anything is written that only the log holds, and only while the log has content, whatever ends the
process and whenever. It is written to the log first and merged from there, which does not shorten
the log; it is removed the same way, before SQLite deletes the log.

The note, a small file, has the log's two salts and its number of pages. It follows each durable
transaction and nothing waits for it, so after a power cut it may be behind the log, never ahead. It
counts only while the journal is marked. Without a note, as in a copy, nothing is checked. SQLite
adds one to the first salt whenever it begins the log anew.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import zlib
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NamedTuple

from monitor.journal.failures import UNREADABLE, JournalDamagedError, JournalLogLostError, wal_of

# -- the mark -------------------------------------------------------------------------------------

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
    return is_log_empty(path) and _is_marked_open(path)


def _is_marked_open(path: Path) -> bool:
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


def close_marked(db: sqlite3.Connection, path: Path) -> None:
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


# -- the end in a file of its own ------------------------------------------------------------------

_HEAD: Final = struct.Struct(">8x I 4x 2I 8x")  # of the log: page size, salts
_FRAME: Final = struct.Struct(">2I 2I 8x")  # page number, pages after a commit or 0, salts
_RECORD: Final = struct.Struct(">3I I")  # salts, pages, their checksum
_NEWER_MOST: Final = 1 << 24  # times that a log is begun anew without any record


class LogEnd(NamedTuple):
    """The salts of a log, and its pages up to the end of its last transaction."""

    salt: int
    other_salt: int
    pages: int


def end_file_of(path: Path) -> Path:
    """Return where the file with the end of a journal's log is."""
    return path.with_name(f"{path.name}-wal-end")


def end_of(log: int, known: LogEnd | None = None) -> LogEnd | None:
    """Return the end of an open log, searching from a ``known`` end; None without a header."""
    head = os.pread(log, _HEAD.size, 0)
    if len(head) < _HEAD.size:
        return None
    size, *salts = _HEAD.unpack(head)
    pages = known.pages if known is not None and [*known[:2]] == salts else 0
    step, length = _FRAME.size + size, os.fstat(log).st_size
    at = pages
    while _HEAD.size + (at + 1) * step <= length:
        _, commit, *own = _FRAME.unpack(os.pread(log, _FRAME.size, _HEAD.size + at * step))
        if own != salts:
            break
        at += 1
        pages = at if commit else pages
    return LogEnd(salts[0], salts[1], pages)


def check_end(path: Path) -> None:
    """Raise JournalDamagedError unless the log is the one of its end file, and as long at least."""
    recorded = _end_in_file(path)
    if recorded is None or is_log_empty(path):
        return  # a missing log is reported elsewhere
    try:
        log = os.open(wal_of(path), os.O_RDONLY)
    except OSError:
        return
    try:
        end = end_of(log)
    finally:
        os.close(log)
    if end is None:
        return
    name = wal_of(path).name
    newer = (end.salt - recorded.salt) % (1 << 32)
    damage = ""
    if end[:2] == recorded[:2]:
        if end.pages < recorded.pages:
            damage = f"was truncated: {end.pages} pages of {recorded.pages} are left"
    elif not 0 < newer < _NEWER_MOST:
        damage = "is another journal's, or an earlier one"
    if damage and _is_marked_open(path):
        raise JournalDamagedError(path, f"its log {name} {damage}")


class LogEndFile:
    """Records the end of the log of a journal that is open, after each transaction."""

    def __init__(self, path: Path) -> None:
        self._path: Final = path
        self._log = self._file = -1
        self._known: LogEnd | None = None

    def begin(self) -> None:
        """Begin with the log that is there now."""
        with suppress(OSError):
            self._log = os.open(wal_of(self._path), os.O_RDONLY)
            self._file = os.open(end_file_of(self._path), os.O_WRONLY | os.O_CREAT, 0o600)

    def write(self) -> None:
        """Record where the log ends."""
        if self._file < 0:
            return
        with suppress(OSError):
            self._known = end_of(self._log, self._known)
            if self._known is not None:
                body = struct.pack(">3I", *self._known)
                os.pwrite(self._file, body + struct.pack(">I", zlib.crc32(body)), 0)

    def close(self) -> None:
        """Close both files; remove the end file if the journal is complete without its log."""
        for number in (self._log, self._file):
            if number >= 0:
                os.close(number)
        self._log = self._file = -1
        with suppress(OSError):
            if self._path.exists() and not _is_marked_open(self._path):
                remove_end_file(self._path)


def remove_end_file(path: Path) -> None:
    """Remove the end file of a log that is gone."""
    with suppress(OSError):
        end_file_of(path).unlink(missing_ok=True)


def _end_in_file(path: Path) -> LogEnd | None:
    try:
        body = end_file_of(path).read_bytes()
    except OSError:
        return None
    if len(body) != _RECORD.size:
        return None
    *fields, crc = _RECORD.unpack(body)
    return LogEnd(*fields) if zlib.crc32(body[:-4]) == crc else None
