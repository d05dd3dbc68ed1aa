"""The tables of the journal, and the checksums of their rows.

A row's CRC-32 covers the name of its table and its columns up to ``crc``, so that no row passes for
another. Blobs come after it, and each has a checksum of its own among the columns, so that the head
of a row can be trusted without reading its blobs. :class:`Checksums`, kept in the table ``seal``,
has the number of rows of every table and the sum of their checksums, so that none can be missing;
it is written in the transaction of the rows.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, Self

import msgspec
import numpy as np

from monitor.core.model import BESIDE, PAIR, Records

SCHEMA_VERSION: Final = 5
SCHEMA: Final = """
create table series (row integer primary key, sensor text not null, quantity text not null,
                     unit text not null, since real not null, crc integer not null,
                     unique (sensor, quantity));
create table observations (batch integer primary key, received real not null,
                           count integer not null, body_crc integer not null,
                           crc integer not null, body blob not null);
create table pairs (batch integer primary key, newest real not null, count integer not null,
                    body_crc integer not null, places_crc integer not null,
                    crc integer not null, places blob, body blob not null);
create table covariates (batch integer primary key, newest real not null, count integer not null,
                         body_crc integer not null, places_crc integer not null,
                         crc integer not null, places blob, body blob not null);
create table evidence (series integer primary key, time real not null,
                       body_crc integer not null, crc integer not null, body blob not null);
create table dead_letters (id integer primary key, received real not null, topic text not null,
                           reason text not null, detail text not null, place text not null,
                           payload blob not null, crc integer not null);
create table events (sensor text not null, time real not null, event text not null,
                     note text not null, crc integer not null,
                     primary key (sensor, time, event, note));
create table collocations (sensor text not null, subject text not null, start real not null,
                           end real not null, distance_km real not null, crc integer not null,
                           primary key (sensor, subject, start, end, distance_km));
create table revisions (reference integer primary key, identity text not null,
                        subject text not null, quantity text not null,
                        revision integer not null, received real not null,
                        crc integer not null);
create index revisions_by_identity on revisions (identity);
create table made (reference integer not null, batch integer not null, crc integer not null,
                   primary key (reference, batch)) without rowid;
create table notes (name text primary key, body blob not null, crc integer not null);
create table transitions (seq integer primary key, body blob not null, crc integer not null);
create table standing (sensor text not null, quantity text not null, alert text not null,
                       seq integer not null, crc integer not null,
                       primary key (sensor, quantity, alert));
create table deliveries (sink text primary key, seq integer not null, crc integer not null);
create table seal (id integer primary key, body blob not null, crc integer not null)
"""
# Where the pairs of a series are in a batch whose pairs are ordered by series.
PLACE: Final = np.dtype([("series", np.int64), ("first", np.int64), ("crc", np.uint32)])

# What the batches of a table are made of.
ROWS: Final[Mapping[str, np.dtype[Any]]] = {"pairs": PAIR, "covariates": BESIDE}

Row = tuple[Any, ...]

_ENCODE: Final = msgspec.msgpack.Encoder().encode
_DECODER: Final = msgspec.msgpack.Decoder(tuple[dict[str, int], dict[str, tuple[int, int]]])
_MODULUS: Final = 1 << 63


class Table(NamedTuple):
    """The columns of a table that ``crc`` covers, those first that order it, and its blobs."""

    columns: tuple[str, ...]
    blobs: tuple[str, ...] = ()
    keys: int = 1

    def insertion(self, verb: str, name: str) -> str:
        """Return the SQL that inserts a row."""
        places = ", ".join("?" * (len(self.columns) + 1 + len(self.blobs)))
        return f"{verb} into {name} values ({places})"

    def query(self, name: str, blobs: tuple[str, ...], where: str) -> str:
        """Return the SQL that reads columns, checksum and blobs in the table's order."""
        wanted = ", ".join((*self.columns, "crc", *blobs))
        order = ", ".join(self.columns[: self.keys])
        return f"select {wanted} from {name} {where and 'where ' + where} order by {order}"


TABLES: Final[Mapping[str, Table]] = {
    "series": Table(("row", "sensor", "quantity", "unit", "since")),
    "observations": Table(("batch", "received", "count", "body_crc"), ("body",)),
    "pairs": Table(("batch", "newest", "count", "body_crc", "places_crc"), ("places", "body")),
    "covariates": Table(("batch", "newest", "count", "body_crc", "places_crc"), ("places", "body")),
    "evidence": Table(("series", "time", "body_crc"), ("body",)),
    "dead_letters": Table(("id", "received", "topic", "reason", "detail", "place", "payload")),
    "events": Table(("sensor", "time", "event", "note"), keys=4),
    "collocations": Table(("sensor", "subject", "start", "end", "distance_km"), keys=5),
    "revisions": Table(("reference", "identity", "subject", "quantity", "revision", "received")),
    "made": Table(("reference", "batch"), keys=2),
    "notes": Table(("name", "body")),
    "transitions": Table(("seq", "body")),
    "standing": Table(("sensor", "quantity", "alert", "seq"), keys=3),
    "deliveries": Table(("sink", "seq")),
}


def rows_in_words(rows: Mapping[str, int]) -> str:
    """Return how many rows of which tables there are, in words; a row may be a batch of many."""
    words = []
    for table, count in rows.items():
        batch = f"batch{'es' * (count > 1)} of " if "count" in TABLES[table].columns else ""
        words += [f"{count} {batch}{table}"] * (count > 0)
    return ", ".join(words)


class Checksums:
    """The counters of messages, and (rows, sum of checksums) of each table."""

    def __init__(self, totals: dict[str, int], tables: dict[str, tuple[int, int]]) -> None:
        self.totals: Final = totals
        self.tables: Final = tables

    @classmethod
    def empty(cls) -> Self:
        """Return those of an empty journal."""
        return cls({}, dict.fromkeys(TABLES, (0, 0)))

    @classmethod
    def load(cls, body: bytes) -> Self:
        """Return what :meth:`dump` wrote; raises ValueError where it is something else."""
        totals, tables = _DECODER.decode(body)
        if tables.keys() != TABLES.keys():
            raise ValueError("tables are missing among the checksums")
        return cls(totals, tables)

    def dump(self) -> bytes:
        """Return them as bytes."""
        return _ENCODE((self.totals, self.tables))

    def copy(self) -> Checksums:
        """Return some that can change without these."""
        return Checksums(self.totals.copy(), self.tables.copy())

    def add(self, table: str, crcs: Collection[int]) -> None:
        """Count rows with these checksums in."""
        rows, total = self.tables[table]
        self.tables[table] = rows + len(crcs), (total + sum(crcs)) % _MODULUS

    def drop(self, table: str, rows: int, total: int) -> None:
        """Count rows out whose checksums add up to ``total``."""
        had, sum_ = self.tables[table]
        self.tables[table] = had - rows, (sum_ - total) % _MODULUS


def row_crc(table: str, values: Sequence[object]) -> int:
    """Return the checksum of a row: whole numbers, floats, texts and bytes as SQLite gives them."""
    return zlib.crc32(_ENCODE((table, values)))


@cache
def insertion(verb: str, table: str) -> str:
    """Return the SQL that inserts a row into a table."""
    return TABLES[table].insertion(verb, table)


def insert(db: sqlite3.Connection, table: str, rows: Iterable[Row], blobs: Row = ()) -> list[int]:
    """Insert rows with their checksums; return these."""
    made = [(*row, row_crc(table, row), *blobs) for row in rows]
    if len(made) == 1:
        db.execute(insertion("insert", table), made[0])
    elif made:
        db.executemany(insertion("insert", table), made)
    at = len(TABLES[table].columns)
    return [row[at] for row in made]


def write_checksums(db: sqlite3.Connection, checksums: Checksums) -> None:
    """Write the checksums of the tables in place of the former ones."""
    body = checksums.dump()
    db.execute("insert or replace into seal values (1, ?, ?)", (body, row_crc("seal", body)))


def read_checksums(db: sqlite3.Connection) -> Checksums | None:
    """Return the checksums of the tables, None if they are damaged themselves."""
    for body, crc in db.execute("select body, crc from seal where id = 1"):
        try:
            return Checksums.load(body) if row_crc("seal", body) == crc else None
        except ValueError:
            return None
    return None


def create_tables(db: sqlite3.Connection) -> None:
    """Make the tables of an empty journal."""
    for statement in SCHEMA.split(";"):
        db.execute(statement)
    write_checksums(db, Checksums.empty())
    db.execute(f"pragma user_version = {SCHEMA_VERSION}")


def signed_64(name: int) -> int:
    """Return a 64-bit name as SQLite keeps integers."""
    return name - (1 << 64) if name >> 63 else name


def places_of(rows: Records) -> Records:
    """Return where each series begins in ``rows``, ordered by series, and an end mark."""
    series, first = np.unique(rows["series"], return_index=True)
    places = np.zeros(series.size + 1, dtype=PLACE)
    places["series"][:-1], places["first"][:-1] = series, first
    places["series"][-1], places["first"][-1] = np.iinfo(np.int64).max, rows.size
    for place, stop in zip(places[:-1], places["first"][1:], strict=True):
        place["crc"] = zlib.crc32(rows[place["first"] : stop].tobytes())
    return places
