"""The journal's files as files: made durable, moved aside, put in place, found busy."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import struct
from pathlib import Path
from typing import Final

from monitor.journal import log
from monitor.journal.failures import refusal

_LOCK: Final = "hhqqi"  # Linux' struct flock: kind, from where, first byte, how many, whose
_FIRST_LOCK: Final = 0x40000000  # SQLite's locks
_LOCKS: Final = 512


def refuse_busy(path: Path) -> None:
    """Raise JournalBusyError if SQLite holds a lock on the file, in whatever process.

    The file is not opened by SQLite for this: that would merge a log which may be damaged.
    """
    try:
        number = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        asked = struct.pack(_LOCK, fcntl.F_WRLCK, os.SEEK_SET, _FIRST_LOCK, _LOCKS, 0)
        found = fcntl.fcntl(number, fcntl.F_OFD_GETLK, asked)
    finally:
        os.close(number)
    if struct.unpack(_LOCK, found)[0] != fcntl.F_UNLCK:
        raise refusal(path, sqlite3.OperationalError("database is locked"))


def write_through(path: Path, content: bytes) -> None:
    """Write a file, readable by its owner only, and make it durable."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(number, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def move_aside(path: Path, suffix: str) -> Path:
    """Give a journal and its log another name, and return it; the journal itself stays as well.

    The log goes first: a log beside a file that it does not belong to is worse than none.
    """
    aside = path.with_name(f"{path.name}.{suffix}")
    if log.of(path).exists():
        log.of(path).rename(log.of(aside))
    if path.exists():
        link(path, aside)
    return aside


def link(path: Path, other: Path) -> None:
    """Give a file a second name, or another one where there are no second ones."""
    try:
        os.link(path, other)
    except FileExistsError:
        raise
    except OSError:
        path.rename(other)


def put_in_place(new: Path, path: Path) -> None:
    """Let a finished file be the journal, in one step."""
    with new.open("rb") as file:
        os.fsync(file.fileno())
    new.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
