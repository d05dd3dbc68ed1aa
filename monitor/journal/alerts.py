"""What was told of alerts: their transitions, which of them stand, and how far each sink is.

Rules of this file: bodies are the callers'; each is held against its checksum; the newest so many
transitions are kept, and those that stand. The tables are made by :meth:`AlertLog.prepare`: a
journal that never told of an alert has not got them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from monitor.journal.database import Database
from monitor.journal.errors import JournalError

_TABLES: Final = """
create table if not exists transitions (seq integer primary key, crc integer not null,
                                        body blob not null);
create table if not exists standing (sensor text not null, quantity text not null,
                                     alert text not null, seq integer not null,
                                     primary key (sensor, quantity, alert));
create table if not exists deliveries (sink text primary key, seq integer not null)
"""


class Told(NamedTuple):
    """One transition: its number, the alert's name (sensor, quantity, alert), its body.

    ``stands`` says that the alert is pending or fires from now on.
    """

    seq: int
    alert: tuple[str, str, str]
    stands: bool
    body: bytes


class AlertLog:
    """The alerts' part of an open file; ``kept`` transitions are kept at most."""

    def __init__(self, database: Database, kept: int) -> None:
        self._database: Final = database
        self._kept: Final = kept

    def prepare(self) -> None:
        """Make the tables if they are not there."""
        with self._database.transaction():
            for statement in _TABLES.split(";"):
                self._database.connection.execute(statement)

    def write(self, told: Sequence[Told], done: Mapping[str, int]) -> None:
        """Make transitions durable, and how far sinks are, in one transaction.

        Raises JournalFullError when there is no space (nothing was written), and JournalError.
        """
        with self._database.transaction():
            db = self._database.connection
            for each in told:
                row = (each.seq, zlib.crc32(each.body), each.body)
                db.execute("insert or replace into transitions values (?, ?, ?)", row)
                if each.stands:
                    db.execute(
                        "insert or replace into standing values (?, ?, ?, ?)",
                        (*each.alert, each.seq),
                    )
                else:
                    db.execute(
                        "delete from standing where sensor = ? and quantity = ? and alert = ?",
                        each.alert,
                    )
            db.execute(
                "delete from transitions where seq <= (select max(seq) from transitions) - ? "
                "and seq not in (select seq from standing)",
                (self._kept,),
            )
            db.executemany("insert or replace into deliveries values (?, ?)", done.items())

    def last(self) -> int:
        """Return the number of the last transition, 0 if there is none."""
        return int(next(self._database.rows("select coalesce(max(seq), 0) from transitions"))[0])

    def after(self, seq: int, limit: int) -> list[bytes]:
        """Return the first transitions after a number, in their order."""
        query = "select seq, crc, body from transitions where seq > ? order by seq limit ?"
        return self._bodies(query, seq, limit)

    def newest(self, limit: int) -> list[bytes]:
        """Return the last transitions, the newest first."""
        return self._bodies(
            "select seq, crc, body from transitions order by seq desc limit ?", limit
        )

    def standing(self) -> list[bytes]:
        """Return the last transition of each alert that is pending or fires."""
        return self._bodies(
            "select seq, crc, body from transitions where seq in (select seq from standing) "
            "order by seq"
        )

    def done(self) -> dict[str, int]:
        """Return how far each sink is: the last transition that needs nothing more."""
        return dict(self._database.rows("select sink, seq from deliveries"))

    def _bodies(self, query: str, *values: int) -> list[bytes]:
        rows: Iterable[tuple[int, int, bytes]] = self._database.rows(query, *values)
        found = []
        for number, crc, body in rows:
            if zlib.crc32(body) != crc:
                raise JournalError(
                    f"{self._database.path}: row {number} of the alerts' history is damaged (its "
                    "checksum differs); restore a backup of the file, or move it away to begin anew"
                )
            found.append(body)
        return found
