"""From a path to a file that can be trusted: made, locked, looked over, of this version's form.

Rules of this file: what is not a sound journal of ours is refused and left as it is; a new file is
there whole or not at all.
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Final

from monitor.journal import log
from monitor.journal.errors import JournalFormError
from monitor.journal.failures import damaged
from monitor.journal.files import (
    link,
    refuse_busy,
    sync_folder,
    write_through,
)
from monitor.journal.schema import SCHEMA, SCHEMA_VERSION
from monitor.journal.seal import Seal, row_crc
from monitor.journal.upgrading import NAMES, UPGRADES, upgrade

_LOG_BYTES: Final = 64 * 1024 * 1024  # the log is cut to this once it is merged


def find_or_create(path: Path) -> None:
    """See that there is a file; raises JournalDamagedError for remains of one, OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        if log.of(path).exists():
            raise damaged(path, f"the file is gone, only {log.of(path).name} is there")
        create(path)
    elif path.is_file() and not path.stat().st_size:
        raise damaged(path, "the file is empty (0 bytes), a journal never is")
    if lost := log.lost_transactions(log.of(path)):
        refuse_busy(path)
        raise damaged(
            path, f"its log is damaged, and at least {lost} transactions that were durable in it"
        )


def prepare(db: sqlite3.Connection, path: Path, *, may_upgrade: bool = True) -> None:
    """Lock the file, look it over, and bring it to this version's form.

    Raises sqlite3.DatabaseError and JournalError.
    """
    db.execute("pragma locking_mode = exclusive")
    db.execute("pragma cell_size_check = on")
    version = db.execute("pragma user_version").fetchone()[0]
    if version != SCHEMA_VERSION and version not in UPGRADES:
        raise _other_form(path, version)
    form = _form(db)
    if form != _form_wanted() and {name for _, name, sql in form if sql} != NAMES.get(version):
        raise damaged(path, "the journal's tables are not as they were made")
    if (found := db.execute("pragma integrity_check(1)").fetchone()[0]) != "ok":
        raise damaged(path, f"the journal is damaged ({' '.join(found.split())})")
    if version != SCHEMA_VERSION and not may_upgrade:
        raise JournalFormError(
            f"{path}: has form {version}, this version of monitor has {SCHEMA_VERSION}; "
            "`monitor run` brings it to that form, and keeps a copy"
        )
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = full")
    db.execute(f"pragma journal_size_limit = {_LOG_BYTES}")
    db.execute("begin immediate")
    db.execute("commit")
    if version != SCHEMA_VERSION:
        upgrade(db, path, version)


def _other_form(path: Path, version: int) -> JournalFormError:
    if version > SCHEMA_VERSION:
        return JournalFormError(
            f"{path}: written by a newer version of monitor (schema {version}, this one writes "
            f"{SCHEMA_VERSION}); install that version, or restore the copy from before its upgrade"
        )
    return JournalFormError(
        f"{path}: cannot be opened as a journal, it is the file of another program (schema "
        f"{version}, this one writes {SCHEMA_VERSION}); use another path (journal.path)"
    )


def create(path: Path) -> None:
    """Make an empty journal, readable by its owner only; one that came meanwhile stands."""
    with closing(in_memory()) as db:
        content = db.serialize()
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        made = Path(folder, path.name)
        write_through(made, content)
        with suppress(FileExistsError):
            link(made, path)
    sync_folder(path.parent)


def in_memory() -> sqlite3.Connection:
    """Return an empty journal in memory."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    for statement in SCHEMA.split(";"):
        db.execute(statement)
    body = Seal.empty().dump()
    db.execute("insert into seal values (1, ?, ?)", (body, row_crc("seal", body)))
    db.execute(f"pragma user_version = {SCHEMA_VERSION}")
    return db


def _form(db: sqlite3.Connection) -> list[tuple[str, str, str]]:
    return db.execute("select type, name, sql from sqlite_master order by 1, 2").fetchall()


@cache
def _form_wanted() -> list[tuple[str, str, str]]:
    with closing(in_memory()) as db:
        return _form(db)
