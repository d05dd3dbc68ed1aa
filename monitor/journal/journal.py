"""The daemon's store: a file of SQLite. Every row that is read is held against its checksum."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from monitor.core.detector.kept_evidence import KeptEvidence
from monitor.core.formatting import grouped_count
from monitor.core.model import Collocation, Event, Int, Records, in_event_order
from monitor.core.pairing.observations import Durable
from monitor.core.registry import KnownSeries
from monitor.journal import writing
from monitor.journal.database import Database
from monitor.journal.schema import PLACE, ROWS, signed_64
from monitor.journal.store import Batch, DeadLetter, Notification

_COUNTED_MAX: Final = 100_000  # changes of pairs, some 10 MB


class Journal:
    """An open journal, see :class:`monitor.journal.store.Store`; holds the file's lock.

    ``alerts`` are the transitions of alerts in the same file.
    """

    def __init__(
        self, path: Path, *, dead_letters_kept: int = 10_000, transitions_kept: int = 10_000
    ) -> None:
        self._database: Final = Database(path)
        self.path: Final = self._database.path
        self._decode: Final = msgspec.msgpack.Decoder(list[Durable]).decode
        self._writer: Final = writing.Writer(self._database, dead_letters_kept)
        self.alerts: Final = JournalAlerts(self._database, transitions_kept)

    def close(self) -> None:
        """Close the file; what was appended stays."""
        self._database.close()

    # -- append -----------------------------------------------------------------------------

    def append(self, batch: Batch) -> None:
        """Make ``batch`` durable: when this returns, it survives a power cut.

        Raises JournalFullError when there is no space (nothing was written), JournalError when
        the file cannot be trusted any more (stop and start again).
        """
        with self._database.transaction():
            self._writer.write(batch)
        if self._writer.kept.dropped:
            self._writer.kept.settle()
        self.check_place()

    def check_place(self) -> None:
        """Raise JournalError unless the open file is the one that the path leads to."""
        self._database.check_place()

    # -- read -------------------------------------------------------------------------------

    def series(self) -> list[KnownSeries]:
        """Return every series, by row."""
        return [KnownSeries(*row) for row in self._database.whole("series")]

    def observations(self) -> Iterator[tuple[float, list[Durable]]]:
        """Yield (time of arrival, observations) of each batch that had some."""
        for _, received, _, _, body in self._database.whole("observations"):
            yield received, self._decode(body)

    def oldest(self) -> tuple[float, bool]:
        """Return when the oldest observation arrived, and whether none before it was dropped.

        The arrival is inf if there is none.
        """
        query = "select coalesce(min(received), 9e999), count(*), coalesce(max(batch), 0) "
        ((received, batches, last),) = self._database.rows(query + "from observations")
        return float(received), batches == last

    def pairs(self) -> Records:
        """Return all changes of pairs; those of one series in the order they were made."""
        return self._whole("pairs")

    def covariates(self) -> Records:
        """Return all numbers beside pairs; those of one series in the order they were made."""
        return self._whole("covariates")

    def evidence(self) -> list[KeptEvidence]:
        """Return the evidence that is kept, one of a series, by row."""
        rows = self._database.whole("evidence")
        return [KeptEvidence(series, time, body) for series, time, _, body in rows]

    def _whole(self, table: str) -> Records:
        query = f"select coalesce(sum(length(body)), 0) from {table}"
        ((size,),) = self._database.rows(query)
        memory, first = np.empty(size, dtype=np.uint8), 0
        with self._database.mapped():
            for *_, body in self._database.whole(table):
                memory[first : first + len(body)] = np.frombuffer(body, dtype=np.uint8)
                first += len(body)
        return memory.view(ROWS[table])

    def events(self) -> list[Event]:
        """Return every event, by time."""
        events = [Event(*row) for row in self._database.whole("events")]
        return sorted(events, key=lambda event: (event.time, event.sensor, event.event, event.note))

    def collocations(self) -> list[Collocation]:
        """Return every collocation, by sensor, subject and start."""
        return [Collocation(*row) for row in self._database.whole("collocations")]

    def newest(self) -> float:
        """Return when something last arrived, or the last pairs' time; -inf if there is nothing.

        It is that of the last batch, not the latest time: a wrong clock may have been ahead.
        """
        for time, table in (("received", "observations"), ("newest", "pairs")):
            last = f"select {time} from {table} order by batch desc limit 1"
            for (newest,) in self._database.rows(last):
                return float(newest)
        return -math.inf

    def totals(self) -> dict[str, int]:
        """Return the counters of messages as of the last batch."""
        return dict(self._database.checksums.totals)

    def note(self, name: str) -> bytes:
        """Return the last note of a name, empty if there is none."""
        bodies = [body for _, body in self._database.read("notes", "name = ?", (name,))]
        return bodies[0] if bodies else b""

    def dead_letters(self, limit: int = 100) -> list[DeadLetter]:
        """Return the newest dead letters that are kept, newest first."""
        newest = "id in (select id from dead_letters order by id desc limit ?)"
        letters = [
            DeadLetter(*row[1:]) for row in self._database.read("dead_letters", newest, (limit,))
        ]
        return letters[::-1]

    def contents(self) -> str:
        """Return in words how much is in it; many pairs are not read for that."""
        ((changes,),) = self._database.rows("select coalesce(sum(count), 0) from pairs")
        sensors = len({each.sensor for each in self.series()})
        if not (changes or sensors or self.totals()):
            return "new"
        held = f"up to {grouped_count(changes, 'pair')}"
        if changes <= _COUNTED_MAX:
            held = grouped_count(in_event_order(self.pairs()).size, "pair")
        return f"{held} of {grouped_count(sensors, 'sensor')}"

    # -- read what memory no longer holds ---------------------------------------------------

    def pairs_of(self, series: int) -> Records:
        """Return all standing pairs of one series in event order."""
        return self.pairs_of_each((series,))[series]

    def pairs_of_each(self, series: Sequence[int], since: float = -math.inf) -> dict[int, Records]:
        """Return what :meth:`pairs_of` does of each series, from an event time on.

        Every batch that may have one of them is read once.
        """
        wanted = np.unique(np.array(series, dtype=np.int64))
        standing = in_event_order(self._of_series("pairs", wanted, since))
        ends = np.searchsorted(standing["series"], wanted, side="right").tolist()
        return {
            row: standing[first:stop]
            for row, first, stop in zip(wanted.tolist(), [0, *ends], ends, strict=False)
        }

    def changes_of(self, series: int) -> int:
        """Return how many changes of pairs of one series there are; large batches are not read."""
        count = 0
        for batch, *_, places in list(self._database.whole("pairs", bodies=False)):
            if places is None:
                count += int(np.count_nonzero(self._batch("pairs", batch)["series"] == series))
            else:
                _, first, stop = _place(np.frombuffer(places, dtype=PLACE), series)
                count += stop - first
        return count

    def covariates_of(self, series: int) -> Records:
        """Return the numbers beside the pairs of one series in the order they were made."""
        return self._of_series("covariates", np.array([series]))

    def _of_series(self, table: str, wanted: Int, since: float = -math.inf) -> Records:
        """Return the rows of some series from an event time on; every batch is read once."""
        parts = [np.zeros(0, dtype=ROWS[table])]
        database = self._database
        # A row that removes a pair has the pair's time, so that both are read, or neither.
        for batch, newest, *_, places in list(database.whole(table, bodies=False)):
            if newest < since:
                continue
            if places is None:
                rows = self._batch(table, batch)
                parts.append(rows[np.isin(rows["series"], wanted)])
            else:
                known = np.frombuffer(places, dtype=PLACE)
                there = wanted[np.isin(wanted, known["series"][:-1])]
                parts += [self._part(table, batch, known, row) for row in there.tolist()]
        rows = np.concatenate(parts)
        return rows if since == -math.inf else rows[rows["time"] >= since]

    def _batch(self, table: str, batch: int) -> Records:
        bodies = [row[-1] for row in self._database.read(table, "batch = ?", (batch,))]
        return np.frombuffer(b"".join(bodies), dtype=ROWS[table])

    def _part(self, table: str, batch: int, places: Records, series: int) -> Records:
        """Return the rows of one series in a batch, reading no others."""
        kind = ROWS[table]
        at, first, stop = _place(places, series)
        if first == stop:
            return np.zeros(0, dtype=kind)
        start, length = first * kind.itemsize, (stop - first) * kind.itemsize
        part = self._database.part(table, batch, start, length)
        self._database.check(table, (batch,), int(places["crc"][at]), part)
        return np.frombuffer(part, dtype=kind)

    def made_by(self, reference_id: int) -> Records:
        """Return all standing pairs that a reference made which can be revised."""
        made = self._database.read("made", "reference = ?", (signed_64(reference_id),))
        nothing = np.zeros(0, dtype=ROWS["pairs"])
        parts = [nothing, *(self._batch("pairs", batch) for _, batch in list(made))]
        rows = np.concatenate(parts)
        ids = rows["id"][rows["reference_id"] == np.uint64(reference_id)]
        standing = in_event_order(rows[np.isin(rows["id"], ids)])
        return standing[standing["reference_id"] == np.uint64(reference_id)]

    def named(self, identity: str) -> list[tuple[str, str]]:
        """Return (subject, quantity) of every reference that came with this identity, sorted."""
        if not identity:
            return []
        rows = self._database.read("revisions", "identity = ?", (identity,))
        names = ((subject, quantity) for _, _, subject, quantity, *_ in rows)
        return sorted(each for each in names if each != ("", ""))

    def revisions(self, reference_ids: Collection[int]) -> dict[int, int]:
        """Return the highest revision that came of each reference; those not known are left out."""
        return writing.revisions_of(self._database, reference_ids)

    def has_voids_by_name(self) -> bool:
        """Return whether a void that names an identity and no subject may be kept."""
        return self._writer.has_voids_by_name

    # -- expire -----------------------------------------------------------------------------

    def expire(
        self, *, observations_before: float, pairs_before: float, share: float = 1.0
    ) -> bool:
        """Drop observations that arrived before a time, and batches of pairs all older than one.

        Of pairs at most ``share`` of all or one day's worth goes at once, and one batch at least.
        Return whether there were any.
        """
        return writing.expire(
            self._database,
            observations_before=observations_before,
            pairs_before=pairs_before,
            share=share,
        )

    def compact(self) -> None:
        """Merge the small batches of pairs after the last large one once there are many."""
        writing.compact(self._database)

    # -- copy -------------------------------------------------------------------------------

    def copy(self) -> bytes:
        """Return the whole file as of the last batch.

        All of it is in memory then: :func:`monitor.journal.copying.backup` copies from file to
        file, also beside a daemon.
        """
        return self._database.copy()


def _place(places: Records, series: int) -> tuple[int, int, int]:
    """Return which of ``places`` is that of a series, its first row there, and the end of them."""
    at = int(np.searchsorted(places["series"], series))
    if at == places.size - 1 or places["series"][at] != series:  # the last place is the end
        return at, 0, 0
    first, stop = places["first"][at : at + 2].tolist()
    return at, first, stop


class JournalAlerts:
    """The transitions of alerts in an open file, and how far each sink has been notified of them.

    The newest ``retained`` transitions stay, and the last one of each alert that is active. What is
    recorded is durable, as in a store, from which this is apart because a block of the cluster has
    no sinks: its driver notifies.
    """

    def __init__(self, database: Database, retained: int) -> None:
        self._database: Final = database
        self._kept: Final = retained

    def record(self, notifications: Sequence[Notification], delivered: Mapping[str, int]) -> None:
        """Make transitions durable, and how far sinks are, in one transaction.

        Raises JournalFullError (nothing was written) and JournalError.
        """
        db = self._database
        with db.transaction():
            db.insert("transitions", [(each.seq, each.body) for each in notifications])
            for each in notifications:
                db.delete("standing", "sensor = ? and quantity = ? and alert = ?", *each.alert)
                if each.is_active:
                    db.insert("standing", [(*each.alert, each.seq)])
            if notifications:
                db.delete(
                    "transitions",
                    "seq <= ? and seq not in (select seq from standing)",
                    notifications[-1].seq - self._kept,
                )
            for sink, seq in delivered.items():
                db.delete("deliveries", "sink = ?", sink)
                db.insert("deliveries", [(sink, seq)])

    def last_seq(self) -> int:
        """Return the number of the last transition, 0 if there was none.

        A repair may have lost the last ones themselves, but not how far the sinks were.
        """
        newest = [seq for seq, _ in self._read("order by seq desc limit 1")]
        standing = (seq for *_, seq in self._database.read("standing"))
        return max([*newest, *standing, *self.delivered().values()], default=0)

    def after(self, seq: int, limit: int) -> list[bytes]:
        """Return the first transitions after a number, oldest first."""
        rows = self._read("where seq > ? order by seq limit ?", seq, limit)
        return [body for _, body in rows]

    def newest(self, limit: int) -> list[bytes]:
        """Return the last transitions, newest first."""
        return [body for _, body in reversed(self._read("order by seq desc limit ?", limit))]

    def active(self) -> list[bytes]:
        """Return the last transition of each alert that is pending or firing, oldest first."""
        rows = self._database.read("transitions", "seq in (select seq from standing)")
        return [body for _, body in rows]

    def delivered(self) -> dict[str, int]:
        """Return for each sink the last transition that needs nothing more."""
        return dict(self._database.read("deliveries"))

    def _read(self, clause: str, *values: int) -> list[tuple[int, bytes]]:
        """Return some transitions, oldest first."""
        where = f"seq in (select seq from transitions {clause})"
        return [(seq, body) for seq, body in self._database.read("transitions", where, values)]
