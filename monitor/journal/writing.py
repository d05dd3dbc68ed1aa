"""Changes of the tables: a batch is written, old rows are deleted, small batches merge."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from monitor.core.detector.kept_evidence import KeptEvidence
from monitor.core.model import Records, Reference
from monitor.core.pairing.identities import reference_digest
from monitor.core.pairing.observations import Durable, PackedReadings
from monitor.core.pairing.reference_revisions import is_revisable, name_alone, names_nobody
from monitor.core.registry import KnownSeries
from monitor.core.windows.windows import EVENTS_MAX
from monitor.journal.database import Database
from monitor.journal.schema import ROWS, TABLES, Row, places_of, signed_64
from monitor.journal.store import Batch, DeadLetter

# Small batches are merged once there are this many, so that a slow stream starts fast too.
_COMPACT_AT_BATCHES: Final = 512
_COMPACT_AT_PAIRS: Final = 131_072
_SEGMENT_PAIRS: Final = 65_536
_DAY_SECONDS: Final = 86_400.0
_encode: Final = msgspec.msgpack.Encoder().encode
_VOIDS_BY_NAME: Final = "select 1 from revisions where subject = '' and quantity = '' limit 1"
_ALL_OLDER: Final = (
    "batch < coalesce((select min(batch) from {} where newest >= ?), 9223372036854775807)"
)
_SUPERSEDED: Final = (
    "time < ? and time < (select max(time) from events as its where its.sensor = events.sensor)"
)


class KeptTimes:
    """State: until which event time the file keeps evidence of each series.

    The times may be later than the file's, never earlier: too much is deleted rather than too
    little, so a transaction that fails needs no undoing. ``dropped`` are series whose evidence a
    transaction deletes; ``Writer.write`` clears them when it begins one.
    """

    def __init__(self, database: Database) -> None:
        self._database: Final = database
        self._times = np.full(1, -np.inf)  # the last one is that of all series beyond
        self.dropped: Final[list[int]] = []
        rows = list(database.read("evidence", bodies=False))
        self.keep([KeptEvidence(series, time, b"") for series, time, _ in rows])

    def keep(self, evidence: Sequence[KeptEvidence]) -> None:
        """Note what is written."""
        lacking = max((each.series for each in evidence), default=-1) + 2 - self._times.size
        if lacking > 0:
            self._times = np.append(self._times, np.full(lacking, -np.inf))
        for series, time, _ in evidence:
            self._times[series] = max(time, self._times[series])
        self.dropped[:] = {*self.dropped}.difference(each.series for each in evidence)

    def drop_before(self, pairs: Records) -> None:
        """Delete the evidence of series whose pairs up to its time change."""
        series = pairs["series"]
        until = self._times[np.minimum(series, self._times.size - 1)]
        void = np.flatnonzero(pairs["time"] <= until)
        for row in np.unique(series[void]).tolist():
            self._database.delete("evidence", "series = ?", row)
            self.dropped.append(row)

    def settle(self) -> None:
        """Note that the transaction is durable."""
        self._times[self.dropped] = -np.inf


class Writer:
    """Writes batches into an open file."""

    def __init__(self, database: Database, dead_letters_kept: int) -> None:
        self._database = database
        self._dead_letters_kept: Final = dead_letters_kept
        self._has_revisions = bool(database.checksums.tables["revisions"][0])
        self.has_voids_by_name = bool(list(database.rows(_VOIDS_BY_NAME)))
        self.kept: Final = KeptTimes(database)

    def write(self, batch: Batch) -> None:
        """Write ``batch``; most have neither series nor events."""
        self.kept.dropped.clear()  # of a transaction that failed, too
        if batch.series:
            self._replace_series(batch.series)
        if batch.observations:
            self._insert_observations(batch)
            self._record_revisions(batch)
        if batch.pairs.size:
            self._insert_pairs(batch.pairs)
            self.kept.drop_before(batch.pairs)
        if batch.covariates.size:
            self._insert_rows("covariates", batch.covariates)
        if batch.dead_letters:
            self._insert_dead_letters(batch.dead_letters)
        if batch.events or batch.collocations:
            self._insert_events(batch)
        if batch.evidence:
            self._replace_evidence(batch.evidence)
        self._replace_notes(batch.notes)
        self._database.checksums.totals.update(batch.totals)

    def _replace_evidence(self, evidence: Sequence[KeptEvidence]) -> None:
        self.kept.keep(evidence)
        for series, time, body in evidence:
            self._database.delete("evidence", "series = ?", series)
            self._database.insert("evidence", [(series, _real(time), zlib.crc32(body))], (body,))

    def _replace_notes(self, notes: Mapping[str, bytes]) -> None:
        for name, body in notes.items():
            self._database.delete("notes", "name = ?", name)
            if body:  # no note reads as an empty one
                self._database.insert("notes", [(name, body)])

    def _insert_events(self, batch: Batch) -> None:
        for each in batch.events:
            self._drop_evidence(each.sensor, each.time)
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
        for sensor in {each.sensor for each in batch.events}:
            self._drop_events(sensor)

    def _drop_events(self, sensor: str) -> None:
        """Drop the oldest events of a sensor that has too many, and the evidence after them."""
        too_many = "sensor = ? order by time desc, event desc, note desc limit -1 offset ?"
        values = (sensor, EVENTS_MAX)
        times = [
            time
            for (time,) in self._database.rows(f"select time from events where {too_many}", *values)
        ]
        if times:
            self._drop_evidence(sensor, times[-1])
            oldest = f"rowid in (select rowid from events where {too_many})"
            self._database.delete("events", oldest, *values)

    def _drop_evidence(self, sensor: str, since: float) -> None:
        theirs = "time >= ? and series in (select row from series where sensor = ?)"
        self._database.delete("evidence", theirs, since, sensor)

    def _replace_series(self, series: Sequence[KnownSeries]) -> None:
        for known in series:
            same = "row = ? or (sensor = ? and quantity = ?)"
            self._database.delete("series", same, known.row, known.sensor, known.quantity)
            self._database.insert("series", [(*known[:4], _real(known.since))])
            self._database.delete("evidence", "series = ?", known.row)

    def _insert_observations(self, batch: Batch) -> None:
        number = self._next("observations")
        row, blobs = observations_row(number, batch.received, batch.observations)
        self._database.insert("observations", [row], blobs)

    def _insert_pairs(self, pairs: Records) -> None:
        batch = self._insert_rows("pairs", pairs)
        if self._has_revisions:
            references = np.unique(pairs["reference_id"]).view(np.int64).tolist()
            known = [each for each in references if self._is_known(each)]
            self._database.insert("made", [(reference, batch) for reference in known])

    def _insert_rows(self, table: str, rows: Records) -> int:
        """Insert pairs, or numbers beside them, as one batch; return its number."""
        body = rows.tobytes()
        batch = self._next(table)
        newest = _real(rows["time"].max())
        row = (batch, newest, rows.size, zlib.crc32(body), zlib.crc32(b""))
        self._database.insert(table, [row], (None, body))
        return batch

    def _is_known(self, reference: int) -> bool:
        query = "select 1 from revisions where reference = ?"
        return bool(list(self._database.rows(query, reference)))

    def _next(self, table: str) -> int:
        """Return the number of the next batch or dead letter."""
        key = TABLES[table].columns[0]
        ((number,),) = self._database.rows(f"select coalesce(max({key}), 0) + 1 from {table}")
        return int(number)

    def _insert_dead_letters(self, letters: Sequence[DeadLetter]) -> None:
        first, newest = self._next("dead_letters"), letters[-self._dead_letters_kept :]
        self._database.insert(
            "dead_letters",
            [(first + at, _real(letter[0]), *letter[1:]) for at, letter in enumerate(newest)],
        )
        last = first + len(newest) - 1
        self._database.delete("dead_letters", "id <= ?", last - self._dead_letters_kept)

    # -- revisions --------------------------------------------------------------------------

    def _record_revisions(self, batch: Batch) -> None:
        """Record the references that can be revised, and the highest revision of each."""
        for each in batch.observations:
            if type(each) is Reference and is_revisable(each):
                self._has_revisions = True
                self._record_revision(each, batch.received)

    def _record_revision(self, reference: Reference, received: float) -> None:
        name, identity = reference_digest(reference), reference.identity
        names = (name, name_alone(identity)) if identity and self.has_voids_by_name else (name,)
        highest = max((reference.revision, *revisions_of(self._database, names).values()))
        row = (signed_64(name), identity, reference.subject, reference.quantity)
        self._database.delete("revisions", "reference = ?", row[0])
        self._database.insert("revisions", [(*row, highest, _real(received))])
        if names_nobody(reference):
            self.has_voids_by_name = True
            if identity:
                self._raise_revisions(identity, reference.revision)

    def _raise_revisions(self, identity: str, revision: int) -> None:
        """Let a void that gives an identity alone count for each reference that has it."""
        rows = list(self._database.read("revisions", "identity = ?", (identity,)))
        lower = [row for row in rows if row[4] < revision]
        for row in lower:
            self._database.delete("revisions", "reference = ?", row[0])
        self._database.insert("revisions", [(*row[:4], revision, row[5]) for row in lower])


def observations_row(
    number: int, received: float, observations: Sequence[Durable]
) -> tuple[Row, Row]:
    """Return the columns and the blobs of a batch of observations."""
    body = _encode(observations)
    count = sum(len(each) if isinstance(each, PackedReadings) else 1 for each in observations)
    return (number, _real(received), count, zlib.crc32(body)), (body,)


def revisions_of(database: Database, reference_ids: Collection[int]) -> dict[int, int]:
    """Return the highest revision that came of each reference; those not known are left out."""
    names = {signed_64(each): each for each in reference_ids}
    listed = msgspec.json.encode([*names]).decode()
    rows = database.read("revisions", "reference in (select value from json_each(?))", (listed,))
    return {names[row[0]]: row[4] for row in rows}


# -- housekeeping -------------------------------------------------------------------------------


def expire(
    database: Database, *, observations_before: float, pairs_before: float, share: float
) -> bool:
    """Delete observations that arrived before a time, and batches of pairs all older than one.

    Of pairs only the first batches go, so that no row outlives one that replaced it: together at
    most ``share`` of all pairs or one day's worth, whichever is more, and one batch at least. With
    them all evidence that is kept goes: the next start has to find what the pairs that are left
    say; so do collocations that ended and events that are that old, but the last of each sensor.
    Return whether any went.
    """
    with database.transaction():
        before = database.checksums.tables["pairs"]
        _delete_sound(database, "observations", "received < ?", observations_before)
        last = _last_of(database, share)
        older = f"{_ALL_OLDER.format('pairs')} and batch <= ?"
        _delete_sound(database, "pairs", older, pairs_before, last)
        _delete_sound(database, "covariates", _ALL_OLDER.format("covariates"), pairs_before)
        database.delete("made", "batch not in (select batch from pairs)")
        _delete_sound(database, "revisions", "received < ?", pairs_before)
        is_less = database.checksums.tables["pairs"] != before
        if is_less:
            database.delete("evidence", "true")
            _delete_sound(database, "events", _SUPERSEDED, pairs_before)
            _delete_sound(database, "collocations", "collocations.end < ?", pairs_before)
    return is_less


def _last_of(database: Database, share: float) -> int:
    """Return the last of the first batches that are a share of all pairs, or one day's worth."""
    batches = list(database.rows("select batch, newest, count from pairs order by batch"))
    left = share * sum(count for _, _, count in batches)
    day = min((newest for _, newest, _ in batches), default=0.0) + _DAY_SECONDS
    last = -1
    for batch, newest, count in batches:
        left -= count
        if left < 0.0 and newest > day and last >= 0:
            break
        last = batch
    return last


def _delete_sound(database: Database, table: str, where: str, *values: float) -> None:
    """Delete rows, once it is sure that none goes because its time is damaged."""
    for _ in database.read(table, where, values, bodies=False):
        pass
    database.delete(table, where, *values)


def compact(database: Database) -> None:
    """Merge the small batches of pairs after the last large one once there are many.

    Numbers beside pairs likewise.
    """
    for table in ROWS:
        _compact(database, table)


def _compact(database: Database, table: str) -> None:
    query = (
        f"select batch, count from {table} where batch > "
        f"(select coalesce(max(batch), 0) from {table} where count >= ?) order by batch"
    )
    tail = list(database.rows(query, _SEGMENT_PAIRS // 4))
    is_long = sum(count for _, count in tail) >= _COMPACT_AT_PAIRS and len(tail) > 1
    if len(tail) < _COMPACT_AT_BATCHES and not is_long:
        return
    with database.transaction():
        run: list[int] = []
        run_pairs = 0
        for batch, count in tail:
            run.append(batch)
            run_pairs += count
            if run_pairs >= _SEGMENT_PAIRS:
                _merge(database, table, run)
                run, run_pairs = [], 0
        _merge(database, table, run)


def _merge(database: Database, table: str, batches: list[int]) -> None:
    """Make one batch, ordered by series, of several that follow each other."""
    if len(batches) < 2:
        return
    first, last = batches[0], batches[-1]
    run = list(database.read(table, "batch between ? and ?", (first, last)))
    rows = np.frombuffer(b"".join(row[-1] for row in run), dtype=ROWS[table])
    rows = rows[np.argsort(rows["series"], kind="stable")]
    body, places = rows.tobytes(), places_of(rows).tobytes()
    newest = float(rows["time"].max()) + 0.0
    row = (first, newest, rows.size, zlib.crc32(body), zlib.crc32(places))
    database.delete(table, "batch between ? and ?", first, last)
    database.insert(table, [row], (places, body))
    if table != "pairs":
        return
    made = {name for name, _ in database.read("made", "batch between ? and ?", (first, last))}
    database.delete("made", "batch between ? and ?", first, last)
    database.insert("made", [(reference, first) for reference in sorted(made)])


def _real(value: float) -> float:
    """Return a number as SQLite gives it back: a float, and no negative zero."""
    return float(value) + 0.0
