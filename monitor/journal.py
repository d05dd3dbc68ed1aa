"""The journal: what was accepted, durable before it is acknowledged. The only user of SQLite.

Rules of this file: one connection, one transaction a batch, fdatasync before ``commit`` returns;
observations and pairs are kept as one record a batch with a checksum; a later row of a pair
replaces an earlier one of the same id.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from monitor.core.lanes import digest, reference_identity
from monitor.core.model import (
    PAIR,
    Collocation,
    Event,
    Observation,
    Records,
    Reference,
    in_event_order,
)
from monitor.core.network import KnownSeries
from monitor.core.past import name_alone, names_nobody
from monitor.errors import CANNOT_CREATE, TRY_AGAIN, MonitorError

SCHEMA_VERSION: Final = 1
_SCHEMA: Final = """
create table series (row integer primary key, sensor text not null, quantity text not null,
                     unit text not null, since real not null, unique (sensor, quantity));
create table observations (batch integer primary key, received real not null,
                           count integer not null, crc integer not null, body blob not null);
create table pairs (batch integer primary key, newest real not null, count integer not null,
                    crc integer not null, places blob, body blob not null);
create table dead_letters (id integer primary key, received real not null, topic text not null,
                           reason text not null, detail text not null, payload blob not null);
create table events (sensor text not null, time real not null, event text not null,
                     note text not null, primary key (sensor, time, event, note));
create table collocations (sensor text not null, subject text not null, start real not null,
                           end real not null, distance_km real not null,
                           primary key (sensor, subject, start, end, distance_km));
create table revisions (reference integer primary key, identity text not null,
                        subject text not null, quantity text not null,
                        revision integer not null, received real not null);
create index revisions_by_identity on revisions (identity);
create table made (reference integer not null, batch integer not null,
                   primary key (reference, batch)) without rowid;
create table notes (name text primary key, body blob not null);
create table totals (name text primary key, value integer not null);
"""
# Small batches are laid together once there are this many, so that a slow stream starts fast too.
_COMPACT_AT_BATCHES: Final = 512
_COMPACT_AT_PAIRS: Final = 131_072
_SEGMENT_PAIRS: Final = 65_536
# Where the pairs of a series are in a batch whose pairs are ordered by series.
_PLACE: Final = np.dtype([("series", np.int64), ("first", np.int64), ("crc", np.uint32)])


class JournalError(MonitorError):
    """The journal cannot be used; the message says why and what to do."""

    exit_code = TRY_AGAIN


class JournalBusyError(JournalError):
    """Another process has the journal open."""

    exit_code = CANNOT_CREATE


class JournalFullError(JournalError):
    """There is no space; nothing was committed, the same batch may be tried again."""


class DeadLetter(NamedTuple):
    """A message that was not understood: kept for a person to look at."""

    received: float
    topic: str
    reason: str
    detail: str
    payload: bytes


class Batch(NamedTuple):
    """What one transaction makes durable."""

    received: float
    observations: Sequence[Observation]
    pairs: Records
    series: Sequence[KnownSeries]
    dead_letters: Sequence[DeadLetter]
    totals: Mapping[str, int]
    events: Sequence[Event] = ()
    collocations: Sequence[Collocation] = ()
    notes: Mapping[str, bytes] = MappingProxyType({})


class Journal:
    """An open journal; holds the file's lock until :meth:`close`."""

    def __init__(self, path: Path, *, dead_letters_kept: int = 10_000) -> None:
        self.path = path
        self._dead_letters_kept: Final = dead_letters_kept
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgspec.msgpack.Decoder(list[Observation])
        self._db = _open(path)
        self._has_revisions = bool(list(self._rows("select 1 from revisions limit 1")))

    # -- writing ----------------------------------------------------------------------------

    def commit(self, batch: Batch) -> None:
        """Make ``batch`` durable: when this returns, it survives a power cut.

        Raises JournalFullError when there is no space (nothing was written), JournalError when
        the file cannot be trusted any more (stop and start again).
        """
        with self._transaction():
            self._write(batch)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Make all that is written within durable together, or none of it."""
        db = self._db
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

    def _write(self, batch: Batch) -> None:
        db = self._db
        if batch.series:
            db.executemany("insert or replace into series values (?, ?, ?, ?, ?)", batch.series)
        if batch.observations:
            body = self._encoder.encode(batch.observations)
            db.execute(
                "insert into observations (received, count, crc, body) values (?, ?, ?, ?)",
                (batch.received, len(batch.observations), zlib.crc32(body), body),
            )
            self._note_revisions(batch)
        if batch.pairs.size:
            self._insert_pairs(batch.pairs)
        if batch.dead_letters:
            self._insert_dead_letters(batch.dead_letters)
        if batch.events:
            rows = [(e.sensor, e.time, e.event, e.note) for e in batch.events]
            db.executemany("insert or ignore into events values (?, ?, ?, ?)", rows)
        if batch.collocations:
            rows = [msgspec.structs.astuple(each) for each in batch.collocations]
            db.executemany("insert or ignore into collocations values (?, ?, ?, ?, ?)", rows)
        if batch.notes:
            db.executemany("insert or replace into notes values (?, ?)", batch.notes.items())
        db.executemany("insert or replace into totals values (?, ?)", batch.totals.items())

    def _insert_pairs(self, pairs: Records) -> None:
        body = pairs.tobytes()
        batch = self._db.execute(
            "insert into pairs (newest, count, crc, body) values (?, ?, ?, ?)",
            (float(pairs["time"].max()), pairs.size, zlib.crc32(body), body),
        ).lastrowid
        if self._has_revisions:
            references = np.unique(pairs["reference_id"]).view(np.int64).tolist()
            self._db.executemany(
                "insert or ignore into made select reference, ? from revisions where reference = ?",
                [(batch, reference) for reference in references],
            )

    def _note_revisions(self, batch: Batch) -> None:
        """Note the references that can be revised, and how far they were."""
        for reference in batch.observations:
            if not isinstance(reference, Reference) or not (
                reference.identity or reference.revision
            ):
                continue
            self._has_revisions = True
            by_name = self.revision(name_alone(reference.identity)) if reference.identity else -1
            self._db.execute(
                "insert into revisions values (?, ?, ?, ?, ?, ?) on conflict do update "
                "set revision = max(revision, excluded.revision), received = excluded.received",
                (
                    _signed(digest(*reference_identity(reference))),
                    reference.identity,
                    reference.subject,
                    reference.quantity,
                    max(reference.revision, by_name),
                    batch.received,
                ),
            )
            if names_nobody(reference):
                self._db.execute(
                    "update revisions set revision = max(revision, ?) where identity = ?",
                    (reference.revision, reference.identity),
                )

    def _insert_dead_letters(self, letters: Sequence[DeadLetter]) -> None:
        kept = letters[-self._dead_letters_kept :]
        self._db.executemany(
            "insert into dead_letters (received, topic, reason, detail, payload) "
            "values (?, ?, ?, ?, ?)",
            kept,
        )
        self._db.execute(
            "delete from dead_letters where id <= (select max(id) from dead_letters) - ?",
            (self._dead_letters_kept,),
        )

    def forget(self, *, observations_before: float, pairs_before: float) -> None:
        """Drop observations that arrived before a time, and batches of pairs all older than one.

        Of pairs only the first batches go, so that no row outlives one that replaced it.
        """
        with self._transaction():
            db = self._db
            db.execute("delete from observations where received < ?", (observations_before,))
            db.execute(
                "delete from pairs where batch < coalesce("
                "(select min(batch) from pairs where newest >= ?), 9223372036854775807)",
                (pairs_before,),
            )
            db.execute("delete from made where batch not in (select batch from pairs)")
            db.execute("delete from revisions where received < ?", (pairs_before,))

    def compact(self) -> None:
        """Lay the small batches after the last large one together once there are many."""
        query = (
            "select batch, count from pairs where batch > "
            "(select coalesce(max(batch), 0) from pairs where count >= ?) order by batch"
        )
        tail = list(self._rows(query, _SEGMENT_PAIRS // 4))
        is_long = sum(count for _, count in tail) >= _COMPACT_AT_PAIRS and len(tail) > 1
        if len(tail) < _COMPACT_AT_BATCHES and not is_long:
            return
        with self._transaction():
            run: list[int] = []
            run_pairs = 0
            for batch, count in tail:
                run.append(batch)
                run_pairs += count
                if run_pairs >= _SEGMENT_PAIRS:
                    self._lay_together(run)
                    run, run_pairs = [], 0
            self._lay_together(run)

    def _lay_together(self, batches: list[int]) -> None:
        """Make one batch, ordered by series, of several that follow each other."""
        if len(batches) < 2:
            return
        query = "select batch, crc, body from pairs where batch between ? and ?"
        bodies = self._bodies("pairs", query, batches[0], batches[-1])
        rows = np.frombuffer(b"".join(body for _, body in bodies), dtype=PAIR)
        rows = rows[np.argsort(rows["series"], kind="stable")]
        body, places = rows.tobytes(), _places(rows).tobytes()
        self._db.execute(
            "update pairs set newest = ?, count = ?, crc = ?, places = ?, body = ? where batch = ?",
            (float(rows["time"].max()), rows.size, zlib.crc32(body), places, body, batches[0]),
        )
        merged = (batches[0], batches[-1])
        self._db.execute("delete from pairs where batch > ? and batch <= ?", merged)
        self._db.execute(
            "insert or ignore into made select reference, ? from made "
            "where batch > ? and batch <= ?",
            (batches[0], *merged),
        )
        self._db.execute("delete from made where batch > ? and batch <= ?", merged)

    # -- reading ----------------------------------------------------------------------------

    def series(self) -> list[KnownSeries]:
        """Return every series, by row."""
        query = "select row, sensor, quantity, unit, since from series order by row"
        return [KnownSeries(*row) for row in self._rows(query)]

    def events(self) -> list[Event]:
        """Return every event, by time."""
        query = "select sensor, time, event, note from events order by time, sensor, event, note"
        return [Event(*row) for row in self._rows(query)]

    def collocations(self) -> list[Collocation]:
        """Return every collocation."""
        query = "select sensor, subject, start, end, distance_km from collocations order by 1,2,3,4"
        return [Collocation(*row) for row in self._rows(query)]

    def note(self, name: str) -> bytes:
        """Return what was last noted under a name, empty if nothing was."""
        found = list(self._rows("select body from notes where name = ?", name))
        return found[0][0] if found else b""

    def totals(self) -> dict[str, int]:
        """Return the counters as of the last commit."""
        return dict(self._rows("select name, value from totals"))

    def observations(self) -> Iterator[tuple[float, list[Observation]]]:
        """Yield (time of arrival, observations) of each batch kept, in order of arrival."""
        query = "select batch, crc, body, received from observations order by batch"
        for batch, crc, body, received in self._rows(query):
            self._check("observations", batch, crc, body)
            yield received, self._decoder.decode(body)

    def pairs(self) -> Records:
        """Return all rows of pairs, those of each series in the order they were made."""
        bodies = [body for _, body in self._bodies("pairs", "select batch, crc, body from pairs")]
        return np.frombuffer(b"".join(bodies), dtype=PAIR)

    def history(self, series: int) -> Records:
        """Return all standing pairs of one series in event order."""
        found = [np.zeros(0, dtype=PAIR)]
        for batch, places in list(self._rows("select batch, places from pairs order by batch")):
            if places is None:
                query = "select batch, crc, body from pairs where batch = ?"
                for _, body in self._bodies("pairs", query, batch):
                    rows = np.frombuffer(body, dtype=PAIR)
                    found.append(rows[rows["series"] == series])
            else:
                found.append(self._part(batch, np.frombuffer(places, dtype=_PLACE), series))
        return in_event_order(np.concatenate(found))

    def _part(self, batch: int, places: Records, series: int) -> Records:
        """Return the pairs of one series in a batch, reading no others."""
        at = int(np.searchsorted(places["series"], series))
        if at == places.size - 1 or places["series"][at] != series:  # the last place is the end
            return np.zeros(0, dtype=PAIR)
        first, stop = places["first"][at : at + 2].tolist()
        try:
            with self._db.blobopen("pairs", "body", batch, readonly=True) as body:
                body.seek(first * PAIR.itemsize)
                part = body.read((stop - first) * PAIR.itemsize)
        except sqlite3.DatabaseError as error:
            raise self._failure(error) from error
        self._check("pairs", batch, int(places["crc"][at]), part)
        return np.frombuffer(part, dtype=PAIR)

    def made_by(self, reference_id: int) -> Records:
        """Return all standing pairs that one reference made that came with an identity."""
        name = _signed(reference_id)
        query = (
            "select batch, crc, body from pairs "
            "where batch in (select batch from made where reference = ?)"
        )
        found = [np.zeros(0, dtype=PAIR)]
        found += [np.frombuffer(body, dtype=PAIR) for _, body in self._bodies("pairs", query, name)]
        rows = np.concatenate(found)
        ids = rows["id"][rows["reference_id"] == np.uint64(reference_id)]
        standing = in_event_order(rows[np.isin(rows["id"], ids)])
        return standing[standing["reference_id"] == np.uint64(reference_id)]

    def named(self, identity: str) -> list[tuple[str, str]]:
        """Return (subject, quantity) of every reference that came with this identity."""
        query = (
            "select subject, quantity from revisions "
            "where identity = ? and not (subject = '' and quantity = '') order by 1, 2"
        )
        return list(self._rows(query, identity))

    def revision(self, reference_id: int) -> int:
        """Return the highest revision that came of a reference, -1 if none is known."""
        query = "select revision from revisions where reference = ?"
        found = list(self._rows(query, _signed(reference_id)))
        return found[0][0] if found else -1

    def dead_letters(self, limit: int = 100) -> list[DeadLetter]:
        """Return the newest dead letters, newest first."""
        query = (
            "select received, topic, reason, detail, payload from dead_letters "
            "order by id desc limit ?"
        )
        return [DeadLetter(*row) for row in self._rows(query, limit)]

    def close(self) -> None:
        """Let go of the file; what was committed stays."""
        self._db.close()

    def _rows(self, query: str, *values: object) -> Iterator[Any]:
        """Yield the rows of a query; raises JournalError where the file is damaged."""
        try:
            yield from self._db.execute(query, values)
        except sqlite3.DatabaseError as error:
            raise self._failure(error) from error

    def _bodies(self, table: str, query: str, *values: int) -> Iterable[tuple[int, bytes]]:
        for batch, crc, body in self._rows(query + " order by batch", *values):
            self._check(table, batch, crc, body)
            yield batch, body

    def _check(self, table: str, batch: int, crc: int, body: bytes) -> None:
        if zlib.crc32(body) != crc:
            raise JournalError(
                f"{self.path}: batch {batch} of {table} is damaged (its checksum differs); "
                "restore a backup of the file, or move it away to begin anew"
            )


def _places(rows: Records) -> Records:
    """Return where each series begins in ``rows``, ordered by series, and an end mark."""
    series, first = np.unique(rows["series"], return_index=True)
    places = np.zeros(series.size + 1, dtype=_PLACE)
    places["series"][:-1], places["first"][:-1] = series, first
    places["series"][-1], places["first"][-1] = np.iinfo(np.int64).max, rows.size
    for place, stop in zip(places[:-1], places["first"][1:], strict=True):
        place["crc"] = zlib.crc32(rows[place["first"] : stop].tobytes())
    return places


def _signed(name: int) -> int:
    """Return a 64-bit name as SQLite keeps integers."""
    return name - (1 << 64) if name >> 63 else name


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
        for statement in _SCHEMA.split(";"):
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
