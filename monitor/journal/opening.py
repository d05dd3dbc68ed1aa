"""Opens a journal that can be trusted: created if missing, locked, checked, in the present form.

What is not a sound journal of ours is refused and left as it is. A new file appears complete or not
at all. A file of an earlier form is copied, then upgraded in one transaction: whatever interrupts
that, the file is complete and in one form or the other.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from monitor.journal.failures import (
    UNREADABLE,
    JournalBusyError,
    JournalDamagedError,
    JournalError,
    JournalFormError,
    lost_transactions,
    refusal_of,
    target_of,
    wal_of,
)
from monitor.journal.log_end import check_end, check_log, take_off
from monitor.journal.schema import SCHEMA_VERSION, create_tables

_log: Final = logging.getLogger("monitor")

_WAL_BYTES: Final = 64 * 1024 * 1024  # the log is cut to this once it is merged
_CHECKED_KIB: Final = 64 * 1024  # of pages in memory while the structure is checked
_OURS: Final = frozenset(("dead_letters", "observations", "seal"))  # in all forms there were
_SHOWN: Final = 4
_FOLDER_MODE: Final = 0o750  # other users must not read messages
_FILE_MODE: Final = 0o600
_GROWING: Final = ".journal.copy."  # how the name of a folder begins in which a file grows
_FLOCK: Final = "hhqqi"  # Linux' struct flock: kind, from where, first byte, how many, whose
_FIRST_LOCK: Final = 0x40000000  # the bytes that SQLite locks: sqlite.org/fileformat2.html, 1.3.1
_LOCKS: Final = 512


class Upgrade(NamedTuple):
    """How a file of an earlier form is recognised and brought to this one.

    ``names`` are its tables and indices, ``apply`` changes them within a transaction and writes
    the checksums; it raises JournalDamagedError rather than take over what is damaged.
    """

    names: frozenset[str]
    apply: Callable[[sqlite3.Connection, Path], None]


# From the first release on, every form that was released has an entry here.
UPGRADES: Final[dict[int, Upgrade]] = {}


def find_or_create(path: Path) -> None:
    """Make sure that a file exists; raises JournalDamagedError for remains of one, OSError."""
    target_of(path)  # which is no folder
    path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    if not path.exists():
        if wal_of(path).exists():
            raise JournalDamagedError(
                path, f"the file is missing, only {wal_of(path).name} is there"
            )
        create(path)
    elif path.is_file() and not path.stat().st_size:
        raise JournalDamagedError(path, "the file is empty (0 bytes), which a journal never is")
    refuse_foreign(path)
    if lost := lost_transactions(wal_of(path)):
        refuse_busy(path)
        raise JournalDamagedError(
            path, f"its log is damaged, and at least {lost} transactions that were durable in it"
        )
    try:
        check_end(path)
    except JournalDamagedError:
        refuse_busy(path)
        raise


def prepare(db: sqlite3.Connection, path: Path, *, log_was_empty: bool, may_upgrade: bool) -> None:
    """Lock the file, check it, and upgrade it to this version's form.

    ``log_was_empty`` says whether there was nothing in its log before SQLite opened it.
    Raises sqlite3.DatabaseError and JournalError.
    """
    db.execute("pragma locking_mode = exclusive")
    db.execute("pragma cell_size_check = on")
    version = form_of(db)
    check_form(path, version)
    if log_was_empty:
        check_log(db, path)
    if not _has_the_tables_of(db, version):
        raise JournalDamagedError(path, "the journal's tables are not as they were created")
    if (report := _integrity(db)) != "ok":
        raise JournalDamagedError(path, f"the journal is damaged ({' '.join(report.split())})")
    if version != SCHEMA_VERSION and not may_upgrade:
        raise JournalFormError(
            path,
            f"has form {version}, this version of monitor has {SCHEMA_VERSION}; "
            "`monitor run` upgrades it to that form and keeps a copy",
        )
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = full")
    db.execute(f"pragma journal_size_limit = {_WAL_BYTES}")
    db.execute("begin immediate")
    db.execute("commit")
    if version != SCHEMA_VERSION:
        _upgrade(db, path, version)


def _integrity(db: sqlite3.Connection) -> str:
    """Return what SQLite's own check finds first, "ok" for nothing.

    It looks each row up in its index, all over the file; with few pages in memory most of its time
    goes into reading the same ones again.
    """
    (usual,) = db.execute("pragma cache_size").fetchone()
    db.execute(f"pragma cache_size = -{_CHECKED_KIB}")
    (report,) = db.execute("pragma integrity_check(1)").fetchone()
    db.execute(f"pragma cache_size = {usual}")
    db.execute("pragma shrink_memory")
    return str(report)


def refuse_foreign(path: Path) -> None:
    """Raise JournalFormError for a database of another program, which is left as it is.

    Such a database has tables, none of them ours. Its log and its locks are not touched; a file
    that SQLite cannot read is not checked here.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as db:
            db.text_factory = bytes
            tables = db.execute("select name from sqlite_master where type = 'table'").fetchall()
    except UNREADABLE:
        return
    names = [name.decode("utf-8", "replace") for (name,) in tables]
    if names and _OURS.isdisjoint(names):
        shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        raise JournalFormError(
            path,
            f"cannot be opened as a journal: it is another program's file (its tables: "
            f"{shown}) and was not changed; use another path (journal.path)",
        )


# -- forms --------------------------------------------------------------------------------------


def form_of(db: sqlite3.Connection) -> int:
    """Return the number of a file's form; 0 if it has none, as other programs' files."""
    return int(db.execute("pragma user_version").fetchone()[0])


def check_form(path: Path, version: int) -> None:
    """Raise JournalFormError unless this version reads that form, or can bring it to its own."""
    if version == SCHEMA_VERSION or version in UPGRADES:
        return
    if version > SCHEMA_VERSION:
        raise JournalFormError(
            path,
            f"written by a newer version of monitor (form {version}, this one writes "
            f"{SCHEMA_VERSION}); install that version, or restore the copy from before its upgrade",
        )
    if version > 0:
        raise JournalFormError(
            path,
            f"has form {version}, from before the first release; this version of monitor "
            f"reads form {SCHEMA_VERSION} only; move the file away to begin anew, or use another "
            "path (journal.path)",
        )
    raise JournalFormError(
        path,
        "cannot be opened as a journal: it is another program's file; use another "
        "path (journal.path)",
    )


def _has_the_tables_of(db: sqlite3.Connection, version: int) -> bool:
    form = _form(db)
    if version in UPGRADES:
        return frozenset(name for _, name, sql in form if sql) == UPGRADES[version].names
    return form == _form_wanted()


def _form(db: sqlite3.Connection) -> list[tuple[str, str, str]]:
    return db.execute("select type, name, sql from sqlite_master order by 1, 2").fetchall()


@cache
def _form_wanted() -> list[tuple[str, str, str]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        create_tables(db)
        return _form(db)


def _upgrade(db: sqlite3.Connection, path: Path, version: int) -> None:
    """Bring a locked journal to this form; raises sqlite3.DatabaseError, OSError, JournalError."""
    copy = Path(f"{path}.form{version}")
    _back_up(db, copy)
    db.execute("begin immediate")
    try:
        UPGRADES[version].apply(db, path)
        db.execute(f"pragma user_version = {SCHEMA_VERSION}")
        db.execute("commit")
    finally:
        if db.in_transaction:
            with suppress(sqlite3.DatabaseError):
                db.execute("rollback")
    _log.warning(
        "%s: upgraded from form %d to %d; the previous file is kept as %s, delete it when all is "
        "well",
        path,
        version,
        SCHEMA_VERSION,
        copy.name,
    )


def _back_up(db: sqlite3.Connection, target: Path) -> None:
    """Write a copy of an open journal, which is there whole or not at all."""
    part = Path(f"{target}.part")
    part.unlink(missing_ok=True)
    with closing(sqlite3.connect(part, isolation_level=None)) as copy:
        db.backup(copy)
        take_off(copy)
    put_in_place(part, target)


# -- files --------------------------------------------------------------------------------------


def try_folder(path: Path) -> None:
    """Raise JournalError where neither a journal nor its folder could be created; create none."""
    target = Path(os.path.realpath(target_of(path)))
    folder = next(each for each in target.parents if each.exists())
    if refusal := refusal_of(folder):
        raise JournalError(
            f"{path}: the journal (journal.path) could not be written: {folder}: {refusal}"
        )


def empty_journal() -> bytes:
    """Return the content of a journal in which there is nothing."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        create_tables(db)
        return db.serialize()


def create(path: Path) -> None:
    """Create an empty journal, readable by its owner only; keep one that appeared meanwhile."""
    with growing(path.parent) as folder:
        made = folder / path.name
        write_through(made, empty_journal())
        with suppress(FileExistsError):
            link(made, path)
    sync_folder(path.parent)


def refuse_busy(path: Path) -> None:
    """Raise JournalBusyError if SQLite holds a lock on the file, in whatever process.

    The file is not opened by SQLite for this: that would merge a log which may be damaged.
    """
    try:
        number = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, _FIRST_LOCK, _LOCKS, 0)
        lock = fcntl.fcntl(number, fcntl.F_OFD_GETLK, asked)
    finally:
        os.close(number)
    if struct.unpack(_FLOCK, lock)[0] != fcntl.F_UNLCK:
        raise JournalBusyError(path)


def remove_left_folders(folder: Path) -> None:
    """Remove what :func:`growing` made in a folder and killed processes left; others are locked.

    One that is empty may have just been made, and not be locked yet.
    """
    for place in folder.glob(f"{_GROWING}*"):
        with suppress(OSError), _locked(place, fcntl.LOCK_EX | fcntl.LOCK_NB) as is_free:
            if is_free and any(place.iterdir()):
                shutil.rmtree(place)


@contextmanager
def _locked(folder: Path, kind: int) -> Iterator[bool]:
    """Hold a lock on a folder where that can be had, and yield whether it is held."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        is_held = False
        with suppress(OSError):
            fcntl.flock(number, kind)
            is_held = True
        yield is_held
    finally:
        os.close(number)


@contextmanager
def growing(folder: Path) -> Iterator[Path]:
    """Yield a locked folder in another one, where a file grows; it is gone afterwards.

    What a killed process left unlocked goes first.
    """
    remove_left_folders(folder)
    with tempfile.TemporaryDirectory(prefix=_GROWING, dir=folder) as name:
        place = Path(name)
        with _locked(place, fcntl.LOCK_SH):
            yield place


def write_through(path: Path, content: bytes) -> None:
    """Write a file, readable by its owner only, and make it durable."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _FILE_MODE)
    with os.fdopen(number, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def move_aside(path: Path, suffix: str) -> Path:
    """Give a journal and its log another name, and return it; the journal itself stays as well.

    The log goes first: a log beside a file that it does not belong to is worse than none.
    """
    aside = path.with_name(f"{path.name}.{suffix}")
    if wal_of(path).exists():
        wal_of(path).rename(wal_of(aside))
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
    """Make a finished file durable under another name, in one step.

    Only its owner may read it: whose the replaced file is, else whose the folder is. So the daemon
    can open, under its own account, what root has restored or repaired.
    """
    owner = (path if path.exists() else path.parent).stat()
    with suppress(PermissionError):  # of a file system that has no owners, or another root
        new.chmod(_FILE_MODE)
        if os.geteuid() == 0:
            os.chown(new, owner.st_uid, owner.st_gid)
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
