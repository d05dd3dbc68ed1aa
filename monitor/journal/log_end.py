"""A note of where a journal's log ends, which reveals a log that was cut or swapped.

SQLite takes whatever lies at the log's name: another journal's, an earlier one, one that was cut
between two transactions. So after each transaction the log's two salts and its number of pages are
noted in a small file.

Rules of this file: the note is written after the transaction it describes is durable, and nothing
waits for it, so after a power cut it may be behind the log, but never ahead. It counts only while
the journal is marked as open. A journal without a note, such as a copy, is not checked; a note that
cannot be written has no other effect. SQLite adds one to the first salt whenever it begins the log
anew.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from monitor.journal.failures import JournalDamagedError, wal_of
from monitor.journal.open_mark import is_log_empty, is_marked_open

_HEAD: Final = struct.Struct(">8x I 4x 2I 8x")  # of the log: page size, salts
_FRAME: Final = struct.Struct(">2I 2I 8x")  # page number, pages after a commit or 0, salts
_NOTE: Final = struct.Struct(">3I I")  # salts, pages, their checksum
_NEWER_MOST: Final = 1 << 24  # times that a log is begun anew without any note


class LogEnd(NamedTuple):
    """The salts of a log, and its pages up to the end of its last transaction."""

    salt: int
    other_salt: int
    pages: int


def note_of(path: Path) -> Path:
    """Return where the note about a journal's log is."""
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
    """Raise JournalDamagedError unless the log is the one of the note, and as long at least."""
    noted = _noted(path)
    if noted is None or is_log_empty(path):
        return  # a missing log is reported elsewhere
    try:
        log = os.open(wal_of(path), os.O_RDONLY)
    except OSError:
        return
    try:
        found = end_of(log)
    finally:
        os.close(log)
    if found is None:
        return
    name = wal_of(path).name
    newer = (found.salt - noted.salt) % (1 << 32)
    damage = ""
    if found[:2] == noted[:2]:
        if found.pages < noted.pages:
            damage = f"was truncated: {found.pages} pages of {noted.pages} are left"
    elif not 0 < newer < _NEWER_MOST:
        damage = "is another journal's, or an earlier one"
    if damage and is_marked_open(path):
        raise JournalDamagedError(path, f"its log {name} {damage}")


class LogEndNote:
    """Notes the end of the log of a journal that is open, after each transaction."""

    def __init__(self, path: Path) -> None:
        self._path: Final = path
        self._log = self._note = -1
        self._known: LogEnd | None = None

    def begin(self) -> None:
        """Begin with the log that is there now."""
        with suppress(OSError):
            self._log = os.open(wal_of(self._path), os.O_RDONLY)
            self._note = os.open(note_of(self._path), os.O_WRONLY | os.O_CREAT, 0o600)

    def write(self) -> None:
        """Note where the log ends."""
        if self._note < 0:
            return
        with suppress(OSError):
            self._known = end_of(self._log, self._known)
            if self._known is not None:
                body = struct.pack(">3I", *self._known)
                os.pwrite(self._note, body + struct.pack(">I", zlib.crc32(body)), 0)

    def close(self) -> None:
        """Close both files; remove the note if the journal is complete without its log."""
        for number in (self._log, self._note):
            if number >= 0:
                os.close(number)
        self._log = self._note = -1
        with suppress(OSError):
            if self._path.exists() and not is_marked_open(self._path):
                forget_end(self._path)


def forget_end(path: Path) -> None:
    """Remove the note about a log that is gone."""
    with suppress(OSError):
        note_of(path).unlink(missing_ok=True)


def _noted(path: Path) -> LogEnd | None:
    try:
        body = note_of(path).read_bytes()
    except OSError:
        return None
    if len(body) != _NOTE.size:
        return None
    *found, crc = _NOTE.unpack(body)
    return LogEnd(*found) if zlib.crc32(body[:-4]) == crc else None
