"""Rows into tables with their checksums, and the seal."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from functools import cache
from typing import Any

from monitor.journal.schema import TABLES
from monitor.journal.seal import Seal, row_crc

Row = tuple[Any, ...]


@cache
def statement(verb: str, table: str) -> str:
    """Return the SQL that puts a row into a table."""
    return TABLES[table].statement(verb, table)


def insert(db: sqlite3.Connection, table: str, rows: Iterable[Row], blobs: Row = ()) -> list[int]:
    """Put rows in with their checksums; return these."""
    made = [(*row, row_crc(table, row), *blobs) for row in rows]
    if len(made) == 1:
        db.execute(statement("insert", table), made[0])
    elif made:
        db.executemany(statement("insert", table), made)
    at = len(TABLES[table].columns)
    return [row[at] for row in made]


def write_seal(db: sqlite3.Connection, seal: Seal) -> None:
    """Write the seal in place of the former one."""
    body = seal.dump()
    db.execute("insert or replace into seal values (1, ?, ?)", (body, row_crc("seal", body)))
