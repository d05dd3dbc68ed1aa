"""The tables of the journal; a later row of a pair replaces an earlier one of the same id.

Rules of this file: a row's columns up to ``crc`` are what ``crc`` covers; blobs come after it, and
each has a checksum of its own among the columns, so that a row's head can be trusted unread.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Records

SCHEMA_VERSION: Final = 3
SEALED_SINCE: Final = 2  # the first form with a checksum for every row
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
create table dead_letters (id integer primary key, received real not null, topic text not null,
                           reason text not null, detail text not null, payload blob not null,
                           crc integer not null);
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


class Table(NamedTuple):
    """The columns of a table that ``crc`` covers, those first that order it, and its blobs."""

    columns: tuple[str, ...]
    blobs: tuple[str, ...] = ()
    keys: int = 1

    def statement(self, verb: str, name: str) -> str:
        """Return the SQL that puts a row in."""
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
    "dead_letters": Table(("id", "received", "topic", "reason", "detail", "payload")),
    "events": Table(("sensor", "time", "event", "note"), keys=4),
    "collocations": Table(("sensor", "subject", "start", "end", "distance_km"), keys=5),
    "revisions": Table(("reference", "identity", "subject", "quantity", "revision", "received")),
    "made": Table(("reference", "batch"), keys=2),
    "notes": Table(("name", "body")),
    "transitions": Table(("seq", "body")),
    "standing": Table(("sensor", "quantity", "alert", "seq"), keys=3),
    "deliveries": Table(("sink", "seq")),
}


def signed(name: int) -> int:
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
