"""The file of the journal: one connection, its lock, transactions, rows with their checksums.

One connection; fdatasync before a transaction ends; the checksums of the tables are written with
every transaction; no row is given out whose checksum differs; every failure is raised as a
:class:`JournalError` with what to do.
"""

from __future__ import annotations

import sqlite3
import weakref
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from monitor.journal.failures import (
    UNREADABLE,
    JournalDamagedError,
    JournalError,
    JournalFormError,
    JournalLogLostError,
    cannot_open,
    cannot_use,
    target_of,
)
from monitor.journal.log_end import (
    LogEndFile,
    close_marked,
    is_log_empty,
    is_marked,
    mark,
    remove_end_file,
    without_mark,
)
from monitor.journal.opening import find_or_create, prepare
from monitor.journal.schema import (
    TABLES,
    Checksums,
    Row,
    insert,
    insertion,
    read_checksums,
    row_crc,
    write_checksums,
)

_ROWS_AT_ONCE: Final = 4096
_MAPPED_BYTES: Final = 1 << 40  # of the file; SQLite maps 2 GB of it at most


class Database:
    """An open file whose structure, small tables and checksums are sound; holds its lock."""

    def __init__(self, path: Path, *, may_upgrade: bool = True) -> None:
        self.path = path = target_of(path)
        self.connection = _open(path, may_upgrade=may_upgrade)
        self._is_marked = False
        self._log_end: Final = LogEndFile(path)
        # A process that ends without closing would leave the mark, but SQLite merges and deletes
        # the log as soon as it lets go of the connection.
        self._end: Final = weakref.finalize(self, _end, self.connection, path, self._log_end)
        try:
            self.checksums = self._read_checksums()
            self._file: Final = _file_at(path)
            for table in (name for name, form in TABLES.items() if not form.blobs):
                if not self._is_sound(table):
                    for _ in self.whole(table):  # says what is wrong
                        pass
        except BaseException:
            self.close()
            raise

    def check_place(self) -> None:
        """Raise JournalError unless the open file is the one that the path leads to.

        A file that was removed, renamed or replaced still accepts writes, which nobody would find.
        """
        if self._file is None or _file_at(self.path) != self._file:
            raise JournalError(
                f"{self.path}: the journal was removed, renamed or replaced while it was open; "
                "messages written only to that file are not acknowledged; put it back, then start "
                "again"
            )

    # -- writing ----------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make everything written within the block durable together, or none of it."""
        db, durable = self.connection, self.checksums
        self.checksums = durable.copy()
        try:
            if not self._is_marked:
                if not is_marked(db):
                    remove_end_file(self.path)
                mark(db)
                self._log_end.begin()
                self._is_marked = True
            db.execute("begin immediate")
            yield
            write_checksums(db, self.checksums)
            db.execute("commit")
            durable = self.checksums
            self._log_end.write()
        except sqlite3.DatabaseError as error:
            raise cannot_use(self.path, error) from error
        finally:
            self.checksums = durable
            if db.in_transaction:
                with suppress(sqlite3.DatabaseError):
                    db.execute("rollback")

    def insert(self, table: str, rows: Iterable[Row], blobs: Row = ()) -> None:
        """Insert rows; ``blobs`` are those of each of them."""
        self.checksums.add(table, insert(self.connection, table, rows, blobs))

    def insert_new(self, table: str, rows: Iterable[Row]) -> None:
        """Insert those of the rows that are not there."""
        put = insertion("insert or ignore", table)
        for row in rows:
            crc = row_crc(table, row)
            if self.connection.execute(put, (*row, crc)).rowcount == 1:
                self.checksums.add(table, (crc,))

    def delete(self, table: str, where: str, *values: object) -> None:
        """Delete rows."""
        sums = self.connection.execute(
            f"select count(*), coalesce(sum(crc), 0) from {table} where {where}", values
        ).fetchone()
        if sums[0]:
            self.connection.execute(f"delete from {table} where {where}", values)
            self.checksums.drop(table, *sums)

    # -- reading ----------------------------------------------------------------------------

    @contextmanager
    def mapped(self) -> Iterator[None]:
        """Read large bodies through mapped memory: a fourth of the cost of reading page by page.

        Only for what was read once since the file was opened (which looks all of it over): a
        disk that fails here ends the process, without a JournalError.
        """
        self.connection.execute(f"pragma mmap_size = {_MAPPED_BYTES}")
        try:
            yield
        finally:
            self.connection.execute("pragma mmap_size = 0")

    def read(
        self, table: str, where: str = "", values: Sequence[object] = (), *, bodies: bool = True
    ) -> Iterator[Row]:
        """Yield the rows of a table in its order: columns, then blobs.

        Without ``bodies`` the last blob is left out. Raises JournalDamagedError where a checksum
        differs.
        """
        for row, _ in self._checked(table, where, values, bodies=bodies):
            yield row

    def whole(self, table: str, *, bodies: bool = True) -> Iterator[Row]:
        """Yield all rows, as :meth:`read` does; raises JournalDamagedError if some are missing."""
        sums = Checksums.empty()
        for row, crc in self._checked(table, "", (), bodies=bodies):
            sums.add(table, (crc,))
            yield row
        if sums.tables[table] != self.checksums.tables[table]:
            had, wanted = sums.tables[table][0], self.checksums.tables[table][0]
            raise JournalDamagedError(
                self.path, f"{table}: {had} rows are there, {wanted} were written"
            )

    def _is_sound(self, table: str) -> bool:
        """Return whether a table without blobs has all its rows, each with its checksum.

        It takes a third of the time of reading them by :meth:`whole`, and a long journal has
        millions. False may also mean that a row cannot be read.
        """
        db, sums = self.connection, Checksums.empty()
        db.text_factory = str
        try:
            cursor = db.execute(TABLES[table].query(table, (), ""))
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                crcs = [row_crc(table, row[:-1]) for row in rows]
                if crcs != [row[-1] for row in rows]:
                    return False
                sums.add(table, crcs)
        except UNREADABLE:
            return False
        finally:
            db.text_factory = text_of
        return sums.tables[table] == self.checksums.tables[table]

    def _checked(
        self, table: str, where: str, values: Sequence[object], *, bodies: bool
    ) -> Iterator[tuple[Row, int]]:
        form = TABLES[table]
        blobs = form.blobs if bodies else form.blobs[:-1]
        width = len(form.columns)
        places = [form.columns.index(f"{blob}_crc") for blob in blobs]
        for row in self.rows(form.query(table, blobs, where), *values):
            columns, crc, bodies_found = row[:width], row[width], row[width + 1 :]
            if row_crc(table, columns) != crc:
                raise self._differs(table, columns)
            for place, body in zip(places, bodies_found, strict=True):
                self.check(table, columns, columns[place], body)
            yield (*columns, *bodies_found), crc

    def check(self, table: str, columns: Row, crc: int, body: bytes | None) -> None:
        """Raise JournalDamagedError unless a body has its checksum."""
        if zlib.crc32(body or b"") != crc:
            raise self._differs(table, columns)

    def _differs(self, table: str, columns: Row) -> JournalDamagedError:
        key = TABLES[table].columns[0]
        return JournalDamagedError(
            self.path, f"{key} {columns[0]!r} of {table} is damaged, its checksum differs"
        )

    def part(self, table: str, batch: int, start: int, length: int) -> bytes:
        """Return some bytes of a batch of pairs, without reading the others."""
        try:
            with self.connection.blobopen(table, "body", batch, readonly=True) as body:
                body.seek(start)
                return body.read(length)
        except ValueError as error:
            raise self._differs(table, (batch,)) from error  # it is shorter than it was
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:  # there is no such row any more
                raise self._differs(table, (batch,)) from error
            raise cannot_use(self.path, error) from error

    def rows(self, query: str, *values: object) -> Iterator[Any]:
        """Yield the rows of a query; raises JournalError where the file cannot be read."""
        try:
            yield from self.connection.execute(query, values)
        except UNREADABLE as error:
            raise cannot_use(self.path, error) from error

    def _read_checksums(self) -> Checksums:
        try:
            checksums = read_checksums(self.connection)
        except UNREADABLE as error:
            raise cannot_use(self.path, error) from error
        if checksums is None:
            raise JournalDamagedError(self.path, "the seal, which says what it holds, is damaged")
        return checksums

    def copy(self) -> bytes:
        """Return the content of the file as of the last transaction."""
        try:
            return without_mark(self.connection.serialize())
        except UNREADABLE as error:
            raise cannot_use(self.path, error) from error

    def close(self) -> None:
        """Close the file; what was committed stays."""
        self._end()


def _end(db: sqlite3.Connection, path: Path, end_file: LogEndFile) -> None:
    close_marked(db, path)
    end_file.close()


def _file_at(path: Path) -> tuple[int, int] | None:
    """Return which file is at a path, None if there is none that can be seen."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def text_of(raw: bytes) -> str:
    """Return a text as SQLite has it; what is not UTF-8 is left to the checksum of its row."""
    return raw.decode("utf-8", "replace")


def _open(path: Path, *, may_upgrade: bool) -> sqlite3.Connection:
    try:
        find_or_create(path)
        log_was_empty = is_log_empty(path)
        # One thread uses it; whatever thread collects an object that was left open may close it.
        db = sqlite3.connect(path, isolation_level=None, timeout=0.0, check_same_thread=False)
    except (OSError, sqlite3.DatabaseError) as error:
        raise cannot_open(path, error) from error
    db.text_factory = text_of
    try:
        prepare(db, path, log_was_empty=log_was_empty, may_upgrade=may_upgrade)
    except UNREADABLE as error:
        close_marked(db, path)
        raise cannot_open(path, error) from error
    except (JournalFormError, JournalLogLostError):
        db.close()  # it stays as it is
        raise
    except BaseException:
        close_marked(db, path)
        raise
    return db
