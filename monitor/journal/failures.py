"""Why a journal cannot be used: what the disk and SQLite report, and what SQLite passes over.

SQLite is asked for its error codes, never read: its sentences differ from version to version.

Its write-ahead log is held against its checksums before SQLite reads it. SQLite reads a log up to
the first frame with a wrong checksum and ignores the rest without a word. That is right after a
power cut, which tears what was not durable yet, and wrong after damage. At most one transaction is
not durable at any time; so if others follow a wrong frame, durable ones are lost. The format is
that of https://www.sqlite.org/fileformat2.html, section 4.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from monitor.errors import BAD_INPUT, CANNOT_CREATE, JOURNAL, TRY_AGAIN, MonitorError

# -- what is reported -----------------------------------------------------------------------------

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


class JournalLogLostError(JournalDamagedError):
    """The log of a journal that was not closed is gone, and what was in it alone."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            f"its log {wal_of(path).name} is missing or empty though the journal was not closed: "
            "all that was written since the two were last merged is lost, unless the log can be "
            "put back",
        )


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
            "free some space, and the daemon continues by itself"
        )
    if code in _DAMAGE:
        return JournalDamagedError(path, f"the journal is damaged ({error})")
    if refusal := refusal_of(path.parent):
        return JournalError(
            f"{path}: the journal cannot be written: {refusal} ({error}); messages that are not in "
            "it are not acknowledged and come again; mend or mount the disk, then start again"
        )
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
            path, f"is not a journal, or its first page is damaged ({error})"
        )
    if path.exists() and (refusal := refusal_of(path.parent)):
        return JournalError(
            f"{path}: the journal cannot be written: {refusal} ({error}); check its permissions, "
            "mend or mount the disk, then start again"
        )
    return JournalError(
        f"{path}: cannot be opened as a journal ({error}); check the path, its permissions and "
        "the free space, restore a backup, or move the file away to begin anew"
    )


def refusal_of(folder: Path) -> str:
    """Return what the system says to a file that is written in a folder, nothing if it may be.

    SQLite says "disk I/O error" alike of a read-only file system and of a broken disk.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            os.pwrite(file.fileno(), b"\0", 0)
            os.fdatasync(file.fileno())
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _code(error: Exception) -> int:
    """Return SQLite's primary result code; 0 for what SQLite did not report itself.

    A file that was cut is damaged: newer versions of SQLite report a short read of it.
    """
    code = int(getattr(error, "sqlite_errorcode", 0))
    if isinstance(error, UnicodeDecodeError) or code == sqlite3.SQLITE_IOERR_SHORT_READ:
        return sqlite3.SQLITE_CORRUPT
    return code & 0xFF


# -- the write-ahead log --------------------------------------------------------------------------

_HEADER: Final = 32
_FRAME: Final = 24
_MAGIC: Final = {0x377F0682: "<u4", 0x377F0683: ">u4"}
Words = npt.NDArray[np.uint32]
Sums = tuple[int, int]


def target_of(path: Path) -> Path:
    """Return where a journal is: the file that its path leads to, if that is a link.

    SQLite puts its log beside the file, not beside the link, and so do all files of ours. Raises
    JournalError for a folder.
    """
    if path.is_dir():
        raise JournalError(f"{path}: is a folder; journal.path must name a file, perhaps in it")
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def wal_of(path: Path) -> Path:
    """Return where the log of a journal is."""
    return path.with_name(f"{path.name}-wal")


def lost_transactions(wal: Path) -> int:
    """Return how many transactions at least were durable and cannot be read any more."""
    try:
        content = wal.read_bytes()
    except OSError:
        return 0
    if not content.strip(b"\0"):
        return 0
    magic, _, page, _, *salts = struct.unpack_from(">6I", content.ljust(_HEADER, b"\0"))
    words = _MAGIC.get(magic)
    if words is None or not _is_page_size(page) or not _has_sums(content, words):
        return max(1, _commits_anywhere(content))
    return _lost(content, words, page, (salts[0], salts[1]))


def _lost(content: bytes, words: str, page: int, salts: Sums) -> int:
    """Count the transactions after the first wrong frame, but the last one, which may be torn."""
    places = range(_HEADER, len(content) - _FRAME - page + 1, _FRAME + page)
    heads = [struct.unpack_from(">6I", content, at) for at in places]
    sums: Sums = struct.unpack_from(">2I", content, 24)
    sound = 0
    for at, head in zip(places, heads, strict=True):
        body = content[at : at + 8] + content[at + _FRAME : at + _FRAME + page]
        sums = _sums(np.frombuffer(body, dtype=words), sums)
        if head[2:] != (*salts, *sums):
            break
        sound += 1
    rest = [at for at in range(sound, len(heads)) if heads[at][2:4] == salts]
    return sum(1 for at in rest if heads[at][1] and at < rest[-1])


def _commits_anywhere(content: bytes) -> int:
    """Count commits in a log whose header is damaged, for pages of the usual size."""
    step = _FRAME + 4096
    frames = range(_HEADER, len(content) - step + 1, step)
    return sum(1 for at in frames if struct.unpack_from(">I", content, at + 4)[0])


def _is_page_size(page: int) -> bool:
    return 512 <= page <= 65_536 and not page & (page - 1)


def _has_sums(content: bytes, words: str) -> bool:
    if len(content) < _HEADER:
        return False
    sums = _sums(np.frombuffer(content[:24], dtype=words), (0, 0))
    return sums == struct.unpack_from(">2I", content, 24)


def _sums(words: Words, sums: Sums) -> Sums:
    """Return SQLite's two running sums over pairs of words; s0 += x0 + s1, s1 += x1 + s0."""
    weights, carried = _weights(words.size // 2)
    pairs = words.astype(np.uint64).reshape(-1, 2)
    new = (weights * pairs[:, None, :]) & 0xFFFFFFFF
    total = new.sum(axis=(0, 2)) + ((carried * np.array(sums, dtype=np.uint64)) & 0xFFFFFFFF).sum(
        axis=1
    )
    return int(total[0]) & 0xFFFFFFFF, int(total[1]) & 0xFFFFFFFF


@cache
def _weights(pairs: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return what each pair of words, and the sums before, count for: (pairs, 2, 2) and (2, 2)."""
    step = [[1, 1], [1, 2]]
    power, weights = [[1, 0], [0, 1]], np.zeros((pairs, 2, 2), dtype=np.uint64)
    for at in reversed(range(pairs)):
        weights[at] = [[(row[0] + row[1]) & 0xFFFFFFFF, row[1]] for row in power]
        power = [
            [
                sum(a * b for a, b in zip(row, column, strict=True)) & 0xFFFFFFFF
                for column in zip(*step, strict=True)
            ]
            for row in power
        ]
    return weights, np.array(power, dtype=np.uint64)
