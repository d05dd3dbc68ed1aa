"""The file of the journal: one connection, its lock, transactions, rows. The only user of SQLite.

Rules of this file: one connection; fdatasync before a transaction ends; what is not a journal of
ours is left as it is; every failure is told as a :class:`JournalError` with what to do.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from monitor.journal.errors import JournalBusyError, JournalError, JournalFullError
from monitor.journal.schema import SCHEMA, SCHEMA_VERSION


class Database:
    """An open file; holds its lock until :meth:`close`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = _open(path)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all that is written within durable together, or none of it."""
        db = self.connection
        try:
            db.execute("begin immediate")
            yield
            db.execute("commit")
        except sqlite3.DatabaseError as error:
            raise self._failure(error) from error
        finally:
            if db.in_transaction:
                with suppress(sqlite3.DatabaseError):
                    db.execute("rollback")

    def rows(self, query: str, *values: object) -> Iterator[Any]:
        """Yield the rows of a query; raises JournalError where the file is damaged."""
        try:
            yield from self.connection.execute(query, values)
        except sqlite3.DatabaseError as error:
            raise self._failure(error) from error

    def part(self, batch: int, start: int, length: int) -> bytes:
        """Return some bytes of a batch of pairs."""
        try:
            with self.connection.blobopen("pairs", "body", batch, readonly=True) as body:
                body.seek(start)
                return body.read(length)
        except sqlite3.DatabaseError as error:
            raise self._failure(error) from error

    def bodies(self, table: str, query: str, *values: int) -> Iterator[tuple[int, bytes]]:
        """Yield (batch, body) by batch; raises JournalError where a checksum differs."""
        for batch, crc, body in self.rows(query + " order by batch", *values):
            self.check(table, batch, crc, body)
            yield batch, body

    def check(self, table: str, batch: int, crc: int, body: bytes) -> None:
        """Raise JournalError unless a body has its checksum."""
        if zlib.crc32(body) != crc:
            raise JournalError(
                f"{self.path}: batch {batch} of {table} is damaged (its checksum differs); "
                "restore a backup of the file, or move it away to begin anew"
            )

    def close(self) -> None:
        """Let go of the file; what was committed stays."""
        self.connection.close()

    def _failure(self, error: sqlite3.DatabaseError) -> JournalError:
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL:
            return JournalFullError(
                f"{self.path}: no space left to write the journal; "
                "free some space, the daemon goes on by itself"
            )
        return JournalError(
            f"{self.path}: the journal cannot be read or written ({error}); check the disk, "
            "restore a backup of the file, or move it away to begin anew"
        )


def _open(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(path, isolation_level=None, timeout=0.0)
    except (OSError, sqlite3.DatabaseError) as error:
        raise _refusal(path, error) from error
    try:
        _prepare(db, path)
    except sqlite3.DatabaseError as error:
        db.close()
        raise _refusal(path, error) from error
    except JournalError:
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    """Lock the file and give it its tables; what is not a journal of ours is left as it is."""
    db.execute("pragma locking_mode = exclusive")
    version = db.execute("pragma user_version").fetchone()[0]
    is_empty = not version and not db.execute("select count(*) from sqlite_master").fetchone()[0]
    if version != SCHEMA_VERSION and not is_empty:
        raise JournalError(
            f"{path}: written by another program or another version of this one (schema "
            f"{version}, this one writes {SCHEMA_VERSION}); use that program or another path"
        )
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = full")
    db.execute("begin immediate")
    if is_empty:
        for statement in SCHEMA.split(";"):
            db.execute(statement)
        db.execute(f"pragma user_version = {SCHEMA_VERSION}")
    db.execute("commit")


def _refusal(path: Path, error: Exception) -> JournalError:
    if "locked" in str(error):
        return JournalBusyError(
            f"{path}: another process has this journal open; stop it, or give this daemon "
            "a path of its own (journal.path)"
        )
    return JournalError(
        f"{path}: cannot be opened as a journal ({error}); check the path, its permissions and "
        "the free space, restore a backup, or move the file away to begin anew"
    )
