"""The tables of the journal; a later row of a pair replaces an earlier one of the same id."""

from __future__ import annotations

from typing import Final

import numpy as np

SCHEMA_VERSION: Final = 1
SCHEMA: Final = """
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
# Where the pairs of a series are in a batch whose pairs are ordered by series.
PLACE: Final = np.dtype([("series", np.int64), ("first", np.int64), ("crc", np.uint32)])


def signed(name: int) -> int:
    """Return a 64-bit name as SQLite keeps integers."""
    return name - (1 << 64) if name >> 63 else name
