"""A batch into the tables, within a transaction."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from monitor.core.lanes import digest, reference_identity
from monitor.core.model import Records, Reference
from monitor.core.past import name_alone, names_nobody
from monitor.journal.batch import Batch, DeadLetter
from monitor.journal.database import Database
from monitor.journal.reading import Reader
from monitor.journal.schema import signed


class Writer:
    """Writes batches into an open file."""

    def __init__(self, database: Database, reader: Reader, dead_letters_kept: int) -> None:
        self._db = database.connection
        self._reader = reader
        self._dead_letters_kept: Final = dead_letters_kept
        self._encoder = msgspec.msgpack.Encoder()
        self._has_revisions = bool(list(database.rows("select 1 from revisions limit 1")))

    def write(self, batch: Batch) -> None:
        """Write ``batch``."""
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
            by_name = (
                self._reader.revision(name_alone(reference.identity)) if reference.identity else -1
            )
            self._db.execute(
                "insert into revisions values (?, ?, ?, ?, ?, ?) on conflict do update "
                "set revision = max(revision, excluded.revision), received = excluded.received",
                (
                    signed(digest(*reference_identity(reference))),
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
