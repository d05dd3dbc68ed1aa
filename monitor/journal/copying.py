"""Copies of a journal, taken also while a daemon writes it, each proven before it is kept.

Rules of this file: a copy is read without a lock and believed only if it opens, and every checksum
and the seal agree; so a copy taken while the file changed is thrown away and taken again.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from monitor.journal import log
from monitor.journal.database import Database
from monitor.journal.errors import JournalBusyError, JournalDamagedError, JournalError
from monitor.journal.files import (
    link,
    move_aside,
    put_in_place,
    refuse_busy,
    sync_folder,
)
from monitor.journal.schema import TABLES

_TRIES: Final = 20
_PAUSE_SECONDS: Final = 0.25


def verify(path: Path) -> dict[str, int]:
    """Hold all that a journal holds against its checksums; return the rows of each table.

    Raises JournalDamagedError, JournalFormError, JournalBusyError, JournalError. The file must not
    be in use; its log is merged into it.
    """
    database = Database(path, may_upgrade=False)
    try:
        for table in (name for name, form in TABLES.items() if form.blobs):
            for _ in database.whole(table):
                pass
        return {table: rows for table, (rows, _) in database.seal.tables.items()}
    finally:
        database.close()


def check(path: Path) -> tuple[dict[str, int], bool]:
    """Verify a journal, or a copy of it where a daemon has it open; return also which of both."""
    with _copy(path, path.parent) as (_, rows):
        return rows, is_busy(path)


def backup(path: Path, target: Path) -> dict[str, int]:
    """Write a proven copy of a journal, as one file; return the rows of each table.

    Raises JournalError where ``target`` exists, where the journal is damaged, and where it was
    written too fast to be copied.
    """
    if target.exists():
        raise JournalError(f"{target}: is there already; give another name")
    target.parent.mkdir(parents=True, exist_ok=True)
    with _copy(path, target.parent) as (copy, rows):
        link(copy, target)
        sync_folder(target.parent)
        return rows


def restore(copy: Path, path: Path, stamp: str) -> tuple[dict[str, int], Path | None]:
    """Put a proven copy in place of a journal that no daemon has open; return where that went."""
    refuse_busy(path)
    with _copy(copy, path.parent) as (proven, rows):
        there = path.exists() or log.of(path).exists()
        aside = move_aside(path, f"replaced.{stamp}") if there else None
        put_in_place(proven, path)
        return rows, aside


def is_busy(path: Path) -> bool:
    """Say whether another process has the journal open."""
    try:
        refuse_busy(path)
    except JournalBusyError:
        return True
    return False


@contextmanager
def _copy(path: Path, folder: Path) -> Iterator[tuple[Path, dict[str, int]]]:
    """Yield a proven copy of a journal in a folder, and its rows; it is gone afterwards."""
    if not path.exists():
        raise JournalError(f"{path}: there is no such journal")
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.copy.", dir=folder) as place:
        for left in reversed(range(_TRIES)):
            copy = Path(place, f"{left}.sqlite")
            was = _state(path)
            for source, goal in ((path, copy), (log.of(path), log.of(copy))):
                if source.exists():
                    shutil.copyfile(source, goal)
            is_still = _state(path) == was
            try:
                rows = verify(copy)
            except JournalDamagedError as error:
                if is_still and not is_busy(path):
                    raise JournalDamagedError(str(error).replace(str(copy), str(path))) from error
                rows = None
            if rows is not None and is_still:
                yield copy, rows
                return
            copy.unlink()
            log.of(copy).unlink(missing_ok=True)
            time.sleep(_PAUSE_SECONDS if left else 0.0)
    raise JournalError(
        f"{path}: was written too fast to be copied {_TRIES} times, or is damaged; try again, or "
        "stop the daemon first"
    )


def _state(path: Path) -> tuple[object, ...]:
    """Return what changes when the journal itself is written, or its log begins anew."""
    try:
        with log.of(path).open("rb") as file:
            head = file.read(32)
    except OSError:
        head = b""
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino, head
