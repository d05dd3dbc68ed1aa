"""An open journal: batches in, everything out."""

from __future__ import annotations

from pathlib import Path

from monitor.journal import housekeeping
from monitor.journal.alerts import AlertLog
from monitor.journal.batch import Batch
from monitor.journal.database import Database
from monitor.journal.reading import Reader
from monitor.journal.writing import Writer


class Journal(Reader):
    """An open journal; holds the file's lock until :meth:`close`."""

    def __init__(
        self, path: Path, *, dead_letters_kept: int = 10_000, transitions_kept: int = 10_000
    ) -> None:
        super().__init__(Database(path))
        self.path = path
        self.alerts = AlertLog(self._database, transitions_kept)
        self._writer = Writer(self._database, self, dead_letters_kept)

    def commit(self, batch: Batch) -> None:
        """Make ``batch`` durable: when this returns, it survives a power cut.

        Raises JournalFullError when there is no space (nothing was written), JournalError when
        the file cannot be trusted any more (stop and start again).
        """
        with self._database.transaction():
            self._writer.write(batch)

    def remember(self, name: str, body: bytes) -> None:
        """Make a note durable, in place of an earlier one of its name; raises JournalError."""
        with self._database.transaction():
            self._writer.note({name: body})

    def forget(self, *, observations_before: float, pairs_before: float) -> None:
        """Drop observations that arrived before a time, and batches of pairs all older than one.

        Of pairs only the first batches go, so that no row outlives one that replaced it.
        """
        housekeeping.forget(
            self._database, observations_before=observations_before, pairs_before=pairs_before
        )

    def compact(self) -> None:
        """Lay the small batches after the last large one together once there are many."""
        housekeeping.compact(self._database)

    def close(self) -> None:
        """Let go of the file; what was committed stays."""
        self._database.close()
