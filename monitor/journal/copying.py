"""Copies of a journal, also of one that a daemon is writing, each proven before it is kept.

A copy is read without a lock and trusted only if it opens and every checksum agrees. A copy that
was taken while the file changed is thrown away and taken again.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from monitor.journal.database import Database
from monitor.journal.failures import (
    JournalBusyError,
    JournalDamagedError,
    JournalError,
    JournalFormError,
    JournalLogLostError,
    target_of,
    wal_of,
)
from monitor.journal.opening import (
    growing,
    link,
    move_aside,
    put_in_place,
    refuse_busy,
    refuse_foreign,
    sync_folder,
)
from monitor.journal.schema import TABLES

_TRIES: Final = 20
_PAUSE_SECONDS: Final = 0.25


def verify(path: Path) -> dict[str, int]:
    """Hold every row of a journal against its checksum; return the rows of each table.

    Raises JournalDamagedError, JournalFormError, JournalBusyError, JournalError. The file must not
    be in use; its log is merged into it.
    """
    database = Database(path, may_upgrade=False)
    try:
        for table in (name for name, form in TABLES.items() if form.blobs):
            for _ in database.whole(table):
                pass
        return {table: rows for table, (rows, _) in database.checksums.tables.items()}
    finally:
        database.close()


def check_copy(path: Path) -> tuple[dict[str, int], bool]:
    """Verify a copy of a journal; return also whether a daemon has the journal open."""
    with _copy(path, target_of(path).parent) as (_, rows):
        return rows, is_busy(path)


def backup(path: Path, target: Path) -> dict[str, int]:
    """Write a proven copy of a journal, as one file; return the rows of each table.

    Raises JournalError where ``target`` exists or its folder does not, where the journal is
    damaged, and where it was written too fast to be copied.
    """
    if target.exists():
        raise JournalError(f"{target}: already exists; give another name")
    if not target.parent.is_dir():
        raise JournalError(
            f"{target}: there is no folder {target.parent}; create it, or mount what belongs there"
        )
    with _copy(path, target.parent) as (copy, rows):
        link(copy, target)
        sync_folder(target.parent)
        return rows


def restore(copy: Path, path: Path, stamp: str) -> tuple[dict[str, int], Path | None]:
    """Put a proven copy in place of a journal that no daemon has open; return where that went."""
    path = target_of(path)
    refuse_foreign(path)
    refuse_busy(path)
    with _copy(copy, path.parent) as (proven, rows):
        there = path.exists() or wal_of(path).exists()
        aside = move_aside(path, f"replaced.{stamp}") if there else None
        put_in_place(proven, path)
        return rows, aside


def is_busy(path: Path) -> bool:
    """Return whether another process has the journal open."""
    try:
        refuse_busy(path)
    except JournalBusyError:
        return True
    return False


@contextmanager
def _copy(path: Path, folder: Path) -> Iterator[tuple[Path, dict[str, int]]]:
    """Yield a proven copy of a journal in a folder, and its rows; it is gone afterwards."""
    path = target_of(path)
    if not path.exists():
        raise JournalError(f"{path}: there is no such journal")
    with growing(folder) as place:
        for left in reversed(range(_TRIES)):
            copy = place / f"{left}.sqlite"
            was = _state(path)
            for source, goal in ((path, copy), (wal_of(path), wal_of(copy))):
                if source.exists():
                    shutil.copyfile(source, goal)
            is_still = _state(path) == was
            rows = _verified(copy, path, is_still=is_still)
            if rows is not None and is_still:
                yield copy, rows
                return
            copy.unlink()
            wal_of(copy).unlink(missing_ok=True)
            time.sleep(_PAUSE_SECONDS if left else 0.0)
    raise JournalError(
        f"{path}: could not be copied in {_TRIES} attempts: it changes too fast to copy, or is "
        "damaged; try again, or stop the daemon first"
    )


def _verified(copy: Path, path: Path, *, is_still: bool) -> dict[str, int] | None:
    """Return the rows of a copy of ``path``; None if it is damaged, perhaps only in the copy."""
    try:
        return verify(copy)
    except JournalFormError as error:
        raise JournalFormError(path, error.reason) from error
    except JournalDamagedError as error:
        if is_still and not is_busy(path):
            if isinstance(error, JournalLogLostError):
                raise JournalLogLostError(path) from error
            raise JournalDamagedError(path, error.damage) from error
        return None


def _state(path: Path) -> tuple[object, ...]:
    """Return what changes when the journal itself is written, or its log begins anew."""
    try:
        with wal_of(path).open("rb") as file:
            head = file.read(32)
    except OSError:
        head = b""
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino, head
