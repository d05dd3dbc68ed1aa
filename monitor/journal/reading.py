"""What the journal holds, read back; each body is held against its checksum first."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from monitor.core.model import (
    PAIR,
    Collocation,
    Event,
    Observation,
    Records,
    in_event_order,
)
from monitor.core.network import KnownSeries
from monitor.journal.batch import DeadLetter
from monitor.journal.database import Database
from monitor.journal.schema import PLACE, signed


class Reader:
    """Reads an open file."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._decoder = msgspec.msgpack.Decoder(list[Observation])

    def series(self) -> list[KnownSeries]:
        """Return every series, by row."""
        query = "select row, sensor, quantity, unit, since from series order by row"
        return [KnownSeries(*row) for row in self._database.rows(query)]

    def events(self) -> list[Event]:
        """Return every event, by time."""
        query = "select sensor, time, event, note from events order by time, sensor, event, note"
        return [Event(*row) for row in self._database.rows(query)]

    def collocations(self) -> list[Collocation]:
        """Return every collocation."""
        query = "select sensor, subject, start, end, distance_km from collocations order by 1,2,3,4"
        return [Collocation(*row) for row in self._database.rows(query)]

    def note(self, name: str) -> bytes:
        """Return what was last noted under a name, empty if nothing was."""
        found = list(self._database.rows("select body from notes where name = ?", name))
        return found[0][0] if found else b""

    def totals(self) -> dict[str, int]:
        """Return the counters as of the last commit."""
        return dict(self._database.rows("select name, value from totals"))

    def observations(self) -> Iterator[tuple[float, list[Observation]]]:
        """Yield (time of arrival, observations) of each batch kept, in order of arrival."""
        query = "select batch, crc, body, received from observations order by batch"
        for batch, crc, body, received in self._database.rows(query):
            self._database.check("observations", batch, crc, body)
            yield received, self._decoder.decode(body)

    def pairs(self) -> Records:
        """Return all rows of pairs, those of each series in the order they were made."""
        bodies = [
            body for _, body in self._database.bodies("pairs", "select batch, crc, body from pairs")
        ]
        return np.frombuffer(b"".join(bodies), dtype=PAIR)

    def history(self, series: int) -> Records:
        """Return all standing pairs of one series in event order."""
        found = [np.zeros(0, dtype=PAIR)]
        for batch, places in list(
            self._database.rows("select batch, places from pairs order by batch")
        ):
            if places is None:
                query = "select batch, crc, body from pairs where batch = ?"
                for _, body in self._database.bodies("pairs", query, batch):
                    rows = np.frombuffer(body, dtype=PAIR)
                    found.append(rows[rows["series"] == series])
            else:
                found.append(self._part(batch, np.frombuffer(places, dtype=PLACE), series))
        return in_event_order(np.concatenate(found))

    def _part(self, batch: int, places: Records, series: int) -> Records:
        """Return the pairs of one series in a batch, reading no others."""
        at = int(np.searchsorted(places["series"], series))
        if at == places.size - 1 or places["series"][at] != series:  # the last place is the end
            return np.zeros(0, dtype=PAIR)
        first, stop = places["first"][at : at + 2].tolist()
        start, length = first * PAIR.itemsize, (stop - first) * PAIR.itemsize
        part = self._database.part(batch, start, length)
        self._database.check("pairs", batch, int(places["crc"][at]), part)
        return np.frombuffer(part, dtype=PAIR)

    def made_by(self, reference_id: int) -> Records:
        """Return all standing pairs that one reference made that came with an identity."""
        name = signed(reference_id)
        query = (
            "select batch, crc, body from pairs "
            "where batch in (select batch from made where reference = ?)"
        )
        found = [np.zeros(0, dtype=PAIR)]
        found += [
            np.frombuffer(body, dtype=PAIR)
            for _, body in self._database.bodies("pairs", query, name)
        ]
        rows = np.concatenate(found)
        ids = rows["id"][rows["reference_id"] == np.uint64(reference_id)]
        standing = in_event_order(rows[np.isin(rows["id"], ids)])
        return standing[standing["reference_id"] == np.uint64(reference_id)]

    def named(self, identity: str) -> list[tuple[str, str]]:
        """Return (subject, quantity) of every reference that came with this identity."""
        query = (
            "select subject, quantity from revisions "
            "where identity = ? and not (subject = '' and quantity = '') order by 1, 2"
        )
        return list(self._database.rows(query, identity))

    def revision(self, reference_id: int) -> int:
        """Return the highest revision that came of a reference, -1 if none is known."""
        query = "select revision from revisions where reference = ?"
        found = list(self._database.rows(query, signed(reference_id)))
        return found[0][0] if found else -1

    def dead_letters(self, limit: int = 100) -> list[DeadLetter]:
        """Return the newest dead letters, newest first."""
        query = (
            "select received, topic, reason, detail, payload from dead_letters "
            "order by id desc limit ?"
        )
        return [DeadLetter(*row) for row in self._database.rows(query, limit)]
