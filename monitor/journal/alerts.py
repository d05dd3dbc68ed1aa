"""What was told of alerts: their transitions, which of them stand, and how far each sink is.

Rules of this file: bodies are the callers'; the newest so many transitions are kept, and those that
stand.
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
        db = self._database
        with db.transaction():
            db.insert("transitions", [(each.seq, each.body) for each in told])
            for each in told:
                db.delete("standing", "sensor = ? and quantity = ? and alert = ?", *each.alert)
                if each.stands:
                    db.insert("standing", [(*each.alert, each.seq)])
            if told:
                db.delete(
                    "transitions",
                    "seq <= ? and seq not in (select seq from standing)",
                    told[-1].seq - self._kept,
                )
            for sink, seq in done.items():
                db.delete("deliveries", "sink = ?", sink)
                db.insert("deliveries", [(sink, seq)])

    def last(self) -> int:
        """Return the number of the last transition, 0 if there is none."""
        return max((seq for seq, _ in self._read("order by seq desc limit 1")), default=0)

    def after(self, seq: int, limit: int) -> list[bytes]:
        """Return the first transitions after a number, in their order."""
        found = self._read("where seq > ? order by seq limit ?", seq, limit)
        return [body for _, body in found]

    def newest(self, limit: int) -> list[bytes]:
        """Return the last transitions, the newest first."""
        return [body for _, body in reversed(self._read("order by seq desc limit ?", limit))]

    def standing(self) -> list[bytes]:
        """Return the last transition of each alert that is pending or fires, in their order."""
        rows = self._database.read("transitions", "seq in (select seq from standing)")
        return [body for _, body in rows]

    def done(self) -> dict[str, int]:
        """Return how far each sink is: the last transition that needs nothing more."""
        return dict(self._database.read("deliveries"))

    def _read(self, which: str, *values: int) -> list[tuple[int, bytes]]:
        """Return some transitions in their order."""
        where = f"seq in (select seq from transitions {which})"
        return [(seq, body) for seq, body in self._database.read("transitions", where, values)]
