"""A batch into the tables, within a transaction."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from monitor.core.model import Records, Reference
from monitor.core.pairing.buffers import digest, reference_identity
from monitor.core.pairing.history import name_alone, names_nobody
from monitor.core.pairing.observations import PackedReadings
from monitor.core.state.network import KnownSeries
from monitor.journal.batch import Batch, DeadLetter
from monitor.journal.database import Database
from monitor.journal.reading import Reader
from monitor.journal.schema import TABLES, signed


class Writer:
    """Writes batches into an open file."""

    def __init__(self, database: Database, reader: Reader, dead_letters_kept: int) -> None:
        self._database = database
        self._reader = reader
        self._dead_letters_kept: Final = dead_letters_kept
        self._encoder = msgspec.msgpack.Encoder()
        self._has_revisions = bool(database.seal.tables["revisions"][0])

    def write(self, batch: Batch) -> None:
        """Write ``batch``; most have neither series nor events."""
        if batch.series:
            self._replace_series(batch.series)
        if batch.observations:
            self._insert_observations(batch)
            self._note_revisions(batch)
        if batch.pairs.size:
            self._insert_pairs(batch.pairs)
        if batch.dead_letters:
            self._insert_dead_letters(batch.dead_letters)
        if batch.events or batch.collocations:
            self._insert_events(batch)
        self.note(batch.notes)
        self._database.seal.totals.update(batch.totals)

    def note(self, notes: Mapping[str, bytes]) -> None:
        """Write notes in place of earlier ones of their names."""
        for name, body in notes.items():
            self._database.delete("notes", "name = ?", name)
            self._database.insert("notes", [(name, body)])

    def _insert_events(self, batch: Batch) -> None:
        self._database.insert_new(
            "events", [(e.sensor, _real(e.time), e.event, e.note) for e in batch.events]
        )
        self._database.insert_new(
            "collocations",
            [
                (c.sensor, c.subject, _real(c.start), _real(c.end), _real(c.distance_km))
                for c in batch.collocations
            ],
        )

    def _replace_series(self, series: Sequence[KnownSeries]) -> None:
        for known in series:
            same = "row = ? or (sensor = ? and quantity = ?)"
            self._database.delete("series", same, known.row, known.sensor, known.quantity)
        self._database.insert("series", [(*known[:4], _real(known.since)) for known in series])

    def _insert_observations(self, batch: Batch) -> None:
        body = self._encoder.encode(batch.observations)
        number = self._next("observations")
        count = sum(
            len(each) if isinstance(each, PackedReadings) else 1 for each in batch.observations
        )
        row = (number, _real(batch.received), count, zlib.crc32(body))
        self._database.insert("observations", [row], (body,))

    def _insert_pairs(self, pairs: Records) -> None:
        body = pairs.tobytes()
        batch = self._next("pairs")
        newest = _real(pairs["time"].max())
        row = (batch, newest, pairs.size, zlib.crc32(body), zlib.crc32(b""))
        self._database.insert("pairs", [row], (None, body))
        if self._has_revisions:
            references = np.unique(pairs["reference_id"]).view(np.int64).tolist()
            known = [each for each in references if self._is_known(each)]
            self._database.insert("made", [(reference, batch) for reference in known])

    def _is_known(self, reference: int) -> bool:
        query = "select 1 from revisions where reference = ?"
        return bool(list(self._database.rows(query, reference)))

    def _next(self, table: str) -> int:
        """Return the number of the next batch or dead letter."""
        key = TABLES[table].columns[0]
        ((number,),) = self._database.rows(f"select coalesce(max({key}), 0) + 1 from {table}")
        return int(number)

    def _note_revisions(self, batch: Batch) -> None:
        """Note the references that can be revised, and how far they were."""
        for each in batch.observations:
            if type(each) is Reference and (each.identity or each.revision):
                self._has_revisions = True
                self._note_revision(each, batch.received)

    def _note_revision(self, reference: Reference, received: float) -> None:
        name, identity = digest(*reference_identity(reference)), reference.identity
        known = [self._reader.revision(name)]
        if identity:
            known.append(self._reader.revision(name_alone(identity)))
        revision = max(reference.revision, *known)
        row = (signed(name), identity, reference.subject, reference.quantity)
        self._database.delete("revisions", "reference = ?", row[0])
        self._database.insert("revisions", [(*row, revision, _real(received))])
        if names_nobody(reference):
            self._raise_revisions(identity, reference.revision)

    def _raise_revisions(self, identity: str, revision: int) -> None:
        """Let a word on all references of a name count for each of them."""
        rows = list(self._database.read("revisions", "identity = ?", (identity,)))
        lower = [row for row in rows if row[4] < revision]
        for row in lower:
            self._database.delete("revisions", "reference = ?", row[0])
        self._database.insert("revisions", [(*row[:4], revision, row[5]) for row in lower])

    def _insert_dead_letters(self, letters: Sequence[DeadLetter]) -> None:
        first, kept = self._next("dead_letters"), letters[-self._dead_letters_kept :]
        self._database.insert(
            "dead_letters",
            [(first + at, _real(letter[0]), *letter[1:]) for at, letter in enumerate(kept)],
        )
        last = first + len(kept) - 1
        self._database.delete("dead_letters", "id <= ?", last - self._dead_letters_kept)


def _real(value: float) -> float:
    """Return a number as SQLite gives it back: a float, and no negative zero."""
    return float(value) + 0.0
