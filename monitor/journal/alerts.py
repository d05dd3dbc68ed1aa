"""What was told of alerts: their transitions, which of them stand, and how far each sink is.

Rules of this file: bodies are the callers'; each row is held against its checksum; the newest so
many transitions are kept, and those that stand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from monitor.journal.database import Database


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

    def write(self, told: Sequence[Told], done: Mapping[str, int]) -> None:
        """Make transitions durable, and how far sinks are, in one transaction.

        Raises JournalFullError when there is no space (nothing was written), and JournalError.
        """
        database = self._database
        with database.transaction():
            for each in told:
                self._write_one(each)
            database.delete(
                "transitions",
                "seq <= (select max(seq) from transitions) - ? "
                "and seq not in (select seq from standing)",
                self._kept,
            )
            for sink, seq in done.items():
                database.delete("deliveries", "sink = ?", sink)
                database.insert("deliveries", [(sink, seq)])

    def _write_one(self, told: Told) -> None:
        database = self._database
        database.delete("transitions", "seq = ?", told.seq)
        database.insert("transitions", [(told.seq, told.body)])
        database.delete("standing", "sensor = ? and quantity = ? and alert = ?", *told.alert)
        if told.stands:
            database.insert("standing", [(*told.alert, told.seq)])

    def last(self) -> int:
        """Return the number of the last transition, 0 if there is none."""
        return int(next(self._database.rows("select coalesce(max(seq), 0) from transitions"))[0])

    def after(self, seq: int, limit: int) -> list[bytes]:
        """Return the first transitions after a number, in their order."""
        first = "seq in (select seq from transitions where seq > ? order by seq limit ?)"
        return self._bodies(first, seq, limit)

    def newest(self, limit: int) -> list[bytes]:
        """Return the last transitions, the newest first."""
        newest = "seq in (select seq from transitions order by seq desc limit ?)"
        return self._bodies(newest, limit)[::-1]

    def standing(self) -> list[bytes]:
        """Return the last transition of each alert that is pending or fires."""
        return self._bodies("seq in (select seq from standing)")

    def done(self) -> dict[str, int]:
        """Return how far each sink is: the last transition that needs nothing more."""
        return dict(self._database.whole("deliveries"))

    def _bodies(self, where: str, *values: int) -> list[bytes]:
        return [body for _, body in self._database.read("transitions", where, values)]
