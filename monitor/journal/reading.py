"""What the journal holds, read back; each body is held against its checksum first."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from monitor.core.model import (
    PAIR,
    Collocation,
    Event,
    Records,
    in_event_order,
)
from monitor.core.pairing.observations import Durable
from monitor.core.state.network import KnownSeries
from monitor.journal.batch import DeadLetter
from monitor.journal.database import Database
from monitor.journal.schema import PLACE, signed


class Reader:
    """Reads an open file; every row is held against its checksum."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._decoder = msgspec.msgpack.Decoder(list[Durable])

    def series(self) -> list[KnownSeries]:
        """Return every series, by row."""
        return [KnownSeries(*row) for row in self._database.whole("series")]

    def events(self) -> list[Event]:
        """Return every event, by time."""
        found = [Event(*row) for row in self._database.whole("events")]
        return sorted(found, key=lambda event: (event.time, event.sensor, event.event, event.note))

    def collocations(self) -> list[Collocation]:
        """Return every collocation."""
        return [Collocation(*row) for row in self._database.whole("collocations")]

    def note(self, name: str) -> bytes:
        """Return what was last noted under a name, empty if nothing was."""
        found = [body for _, body in self._database.read("notes", "name = ?", (name,))]
        return found[0] if found else b""

    def totals(self) -> dict[str, int]:
        """Return the counters as of the last commit."""
        return dict(self._database.seal.totals)

    def observations(self) -> Iterator[tuple[float, list[Durable]]]:
        """Yield (time of arrival, observations) of each batch kept, in order of arrival."""
        for _, received, _, _, body in self._database.whole("observations"):
            yield received, self._decoder.decode(body)

    def pairs(self) -> Records:
        """Return all rows of pairs, those of each series in the order they were made."""
        query = "select coalesce(sum(length(body)), 0) from pairs"
        ((size,),) = self._database.rows(query)
        memory, first = np.empty(size, dtype=np.uint8), 0
        with self._database.mapped():
            for *_, body in self._database.whole("pairs"):
                memory[first : first + len(body)] = np.frombuffer(body, dtype=np.uint8)
                first += len(body)
        return memory.view(PAIR)

    def history(self, series: int) -> Records:
        """Return all standing pairs of one series in event order."""
        found = [np.zeros(0, dtype=PAIR)]
        for batch, *_, places in list(self._database.whole("pairs", bodies=False)):
            if places is None:
                rows = self._batch(batch)
                found.append(rows[rows["series"] == series])
            else:
                found.append(self._part(batch, np.frombuffer(places, dtype=PLACE), series))
        return in_event_order(np.concatenate(found))

    def _batch(self, batch: int) -> Records:
        bodies = [row[-1] for row in self._database.read("pairs", "batch = ?", (batch,))]
        return np.frombuffer(b"".join(bodies), dtype=PAIR)

    def _part(self, batch: int, places: Records, series: int) -> Records:
        """Return the pairs of one series in a batch, reading no others."""
        at = int(np.searchsorted(places["series"], series))
        if at == places.size - 1 or places["series"][at] != series:  # the last place is the end
            return np.zeros(0, dtype=PAIR)
        first, stop = places["first"][at : at + 2].tolist()
        start, length = first * PAIR.itemsize, (stop - first) * PAIR.itemsize
        part = self._database.part(batch, start, length)
        self._database.check("pairs", (batch,), int(places["crc"][at]), part)
        return np.frombuffer(part, dtype=PAIR)

    def made_by(self, reference_id: int) -> Records:
        """Return all standing pairs that one reference made that came with an identity."""
        made = self._database.read("made", "reference = ?", (signed(reference_id),))
        found = [np.zeros(0, dtype=PAIR), *(self._batch(batch) for _, batch in list(made))]
        rows = np.concatenate(found)
        ids = rows["id"][rows["reference_id"] == np.uint64(reference_id)]
        standing = in_event_order(rows[np.isin(rows["id"], ids)])
        return standing[standing["reference_id"] == np.uint64(reference_id)]

    def named(self, identity: str) -> list[tuple[str, str]]:
        """Return (subject, quantity) of every reference that came with this identity."""
        rows = self._database.read("revisions", "identity = ?", (identity,))
        found = ((subject, quantity) for _, _, subject, quantity, *_ in rows)
        return sorted(each for each in found if each != ("", ""))

    def revision(self, reference_id: int) -> int:
        """Return the highest revision that came of a reference, -1 if none is known."""
        rows = self._database.read("revisions", "reference = ?", (signed(reference_id),))
        return max((row[4] for row in rows), default=-1)

    def dead_letters(self, limit: int = 100) -> list[DeadLetter]:
        """Return the newest dead letters, newest first."""
        newest = "id in (select id from dead_letters order by id desc limit ?)"
        found = [
            DeadLetter(*row[1:]) for row in self._database.read("dead_letters", newest, (limit,))
        ]
        return found[::-1]
