"""A store in memory, for recorded files, explanations and tests, and the base of a block's store.

It answers as a journal does; tests compare the two. Its whole content fits in one value,
:class:`Image`, and is restored from it bit for bit. There are no checksums: whoever keeps the bytes
of a copy is responsible for them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Self

import msgspec
import numpy as np

from monitor.core.detector.kept_evidence import KeptEvidence
from monitor.core.model import BESIDE, PAIR, Collocation, Event, Records, Reference, in_event_order
from monitor.core.pairing.identities import digest, reference_digest
from monitor.core.pairing.observations import Durable
from monitor.core.pairing.reference_revisions import is_revisable, name_alone, names_nobody
from monitor.core.registry import KnownSeries
from monitor.core.windows.windows import EVENTS_MAX
from monitor.journal.store import NO_NUMBERS, NO_PAIRS, Batch, DeadLetter

_encode: Final = msgspec.msgpack.Encoder().encode
_observations: Final = msgspec.msgpack.Decoder(list[Durable]).decode


class Image(msgspec.Struct, array_like=True):
    """All that a store holds besides dead letters; pairs by the column, as :class:`PackedPairs`."""

    series: list[tuple[int, str, str, str, float]]
    pairs: tuple[int, dict[str, bytes]]
    observations: list[tuple[float, bytes]]
    events: list[Event]
    collocations: list[Collocation]
    revisions: dict[int, int]
    named: dict[str, list[tuple[str, str]]]
    totals: dict[str, int]
    notes: dict[str, bytes]


class WholeImage(Image, array_like=True):
    """The state with the numbers beside pairs, of ``BESIDE``, and the evidence that is kept."""

    covariates: bytes = b""
    evidence: list[KeptEvidence] = []


class InMemoryStore:
    """State: all that was appended; see :class:`monitor.journal.store.Store`."""

    def __init__(self, *, dead_letters_kept: int = 10_000) -> None:
        self._series: dict[int, KnownSeries] = {}
        self._rows: dict[tuple[str, str], int] = {}
        self._changes: list[Records] = []
        self._covariates: Records = NO_NUMBERS
        self._evidence: dict[int, KeptEvidence] = {}
        self._observations: list[tuple[float, bytes]] = []
        self._events: dict[tuple[Any, ...], Event] = {}
        self._collocations: dict[tuple[Any, ...], Collocation] = {}
        self._revisions: dict[int, int] = {}
        self._named: dict[str, set[tuple[str, str]]] = {}
        self._totals: dict[str, int] = {}
        self._notes: dict[str, bytes] = {}
        self._dead_letters: deque[DeadLetter] = deque(maxlen=dead_letters_kept)

    @classmethod
    def open(cls, copy: bytes) -> Self:
        """Return a store with the content of a :meth:`copy`; raises msgspec's errors."""
        store = cls()
        image = msgspec.msgpack.decode(copy, type=WholeImage)
        store._load(image)
        store._covariates = np.frombuffer(image.covariates, BESIDE)
        store._evidence = {each.series: each for each in image.evidence}
        return store

    # -- append -----------------------------------------------------------------------------

    def append(self, batch: Batch) -> None:
        """Keep a batch, for as long as this store is kept."""
        observations = _encode(batch.observations)  # raises before anything is changed
        if batch.observations:
            self._observations.append((batch.received, observations))
            self._record_revisions(batch.observations)
        if batch.pairs.size:
            self._changes.append(batch.pairs)
        if batch.covariates.size:
            self._covariates = np.concatenate([self._covariates, batch.covariates])
        self._replace_series(batch.series)
        self._events.update((_event_key(each), each) for each in batch.events)
        self._replace_evidence(batch, [*batch.events, *self._drop_events(batch.events)])
        self._collocations.update((_collocation_key(each), each) for each in batch.collocations)
        self._totals.update(batch.totals)
        for name, body in batch.notes.items():
            if body:
                self._notes[name] = body
            else:
                self._notes.pop(name, None)
        self._dead_letters += batch.dead_letters

    def _replace_series(self, series: Iterable[KnownSeries]) -> None:
        """Keep series, each in place of one of the same row and of one of the same name."""
        for known in series:
            name = known.sensor, known.quantity
            if name in self._rows:
                del self._series[self._rows.pop(name)]
            if (other := self._series.pop(known.row, None)) is not None:
                del self._rows[other.sensor, other.quantity]
            self._series[known.row], self._rows[name] = known, known.row

    def _drop_events(self, added: Iterable[Event]) -> list[Event]:
        """Drop the oldest events of sensors that have too many, and return them."""
        dropped = []
        for sensor in {each.sensor for each in added} if len(self._events) > EVENTS_MAX else ():
            known = sorted(key for key, each in self._events.items() if each.sensor == sensor)
            dropped += [self._events.pop(key) for key in known[:-EVENTS_MAX]]
        return dropped

    def _replace_evidence(self, batch: Batch, events: Sequence[Event]) -> None:
        """Drop the evidence that a batch and its changes of events void; keep what it brings."""
        for row, each in [*self._evidence.items()]:
            of_one = batch.pairs["time"][batch.pairs["series"] == row]
            name = self._series.get(row)
            times = [e.time for e in events if name is not None and e.sensor == name.sensor]
            is_renamed = any(known.row == row for known in batch.series)
            if is_renamed or min([*of_one.tolist(), *times], default=math.inf) <= each.time:
                del self._evidence[row]
        self._evidence.update((each.series, each) for each in batch.evidence)

    def _record_revisions(self, observations: Iterable[Durable]) -> None:
        for each in observations:
            if type(each) is Reference and is_revisable(each):
                self._record_revision(each)

    def _record_revision(self, reference: Reference) -> None:
        name, identity = reference_digest(reference), reference.identity
        highest = max(reference.revision, self._revisions.get(name, -1))
        if not identity:
            self._revisions[name] = highest
            return
        self._revisions[name] = max(highest, self._revisions.get(name_alone(identity), -1))
        known = self._named.setdefault(identity, set())
        if not names_nobody(reference):
            known.add((reference.subject, reference.quantity))
            return
        for subject, quantity in known:
            one = digest(subject, quantity, identity)
            self._revisions[one] = max(reference.revision, self._revisions.get(one, -1))

    # -- read -------------------------------------------------------------------------------

    def series(self) -> list[KnownSeries]:
        """Return every series, by row."""
        return [self._series[row] for row in sorted(self._series)]

    def observations(self) -> Iterator[tuple[float, list[Durable]]]:
        """Yield (time of arrival, observations) of each batch that had some."""
        for received, body in self._observations:
            yield received, _observations(body)

    def pairs(self) -> Records:
        """Return all changes of pairs in the order they were made."""
        if len(self._changes) > 1:
            self._changes = [np.concatenate(self._changes)]
        return self._changes[0] if self._changes else NO_PAIRS

    def covariates(self) -> Records:
        """Return all numbers beside pairs in the order they were made."""
        return self._covariates

    def covariates_of(self, series: int) -> Records:
        """Return the numbers beside the pairs of one series in the order they were made."""
        return self._covariates[self._covariates["series"] == series]

    def evidence(self) -> list[KeptEvidence]:
        """Return the evidence that is kept, one of a series, by row."""
        return [self._evidence[row] for row in sorted(self._evidence)]

    def events(self) -> list[Event]:
        """Return every event, by time."""
        return [self._events[key] for key in sorted(self._events)]

    def collocations(self) -> list[Collocation]:
        """Return every collocation, by sensor, subject and start."""
        return [self._collocations[key] for key in sorted(self._collocations)]

    def totals(self) -> dict[str, int]:
        """Return the counters of messages as of the last batch."""
        return dict(self._totals)

    def note(self, name: str) -> bytes:
        """Return the last note of a name, empty if there is none."""
        return self._notes.get(name, b"")

    def dead_letters(self, limit: int = 100) -> list[DeadLetter]:
        """Return the newest dead letters that are kept, newest first."""
        return [*self._dead_letters][::-1][:limit]

    def pairs_of(self, series: int) -> Records:
        """Return all standing pairs of one series in event order."""
        changes = self.pairs()
        return in_event_order(changes[changes["series"] == series])

    def pairs_of_each(self, series: Sequence[int], since: float = -math.inf) -> dict[int, Records]:
        """Return what :meth:`pairs_of` does of each series, from an event time on."""
        whole = {row: self.pairs_of(row) for row in series}
        return {row: pairs[np.searchsorted(pairs["time"], since) :] for row, pairs in whole.items()}

    def changes_of(self, series: int) -> int:
        """Return how many changes of pairs of one series there are."""
        return int(np.count_nonzero(self.pairs()["series"] == series))

    def made_by(self, reference_id: int) -> Records:
        """Return all standing pairs that a reference made, in event order."""
        standing = in_event_order(self.pairs())
        return standing[standing["reference_id"] == np.uint64(reference_id)]

    def named(self, identity: str) -> list[tuple[str, str]]:
        """Return (subject, quantity) of every reference that came with this identity, sorted."""
        return sorted(self._named.get(identity, ())) if identity else []

    def revisions(self, reference_ids: Collection[int]) -> dict[int, int]:
        """Return the highest revision that came of each reference; those not known are left out."""
        known = self._revisions
        return {name: known[name] for name in reference_ids if name in known}

    def has_voids_by_name(self) -> bool:
        """Return whether a void that names an identity and no subject may be kept."""
        return bool(self._named)

    # -- expire -----------------------------------------------------------------------------

    def expire(self, *, observations_before: float, pairs_before: float) -> bool:
        """Drop observations that arrived before a time, and pairs older than an event time."""
        remaining = [each for each in self._observations if each[0] >= observations_before]
        self._observations = remaining
        changes = self.pairs()
        young = np.flatnonzero(changes["time"] >= pairs_before)
        first = int(young[0]) if young.size else changes.size
        if first:
            self._replace_pairs(changes[first:])
            self._evidence.clear()
            self._forget_events(pairs_before)
        young = np.flatnonzero(self._covariates["time"] >= pairs_before)
        self._covariates = self._covariates[young[0] :] if young.size else NO_NUMBERS
        return first > 0

    def _forget_events(self, before: float) -> None:
        """Drop collocations that ended before a time, and older events but the last of a sensor."""
        last: dict[str, float] = {}
        for each in self._events.values():
            last[each.sensor] = max(each.time, last.get(each.sensor, -math.inf))
        for key, event in [*self._events.items()]:
            if event.time < min(before, last[event.sensor]):
                del self._events[key]
        ended = [key for key, each in self._collocations.items() if each.end < before]
        for key in ended:
            del self._collocations[key]

    def _replace_pairs(self, changes: Records) -> None:
        self._changes = [changes]

    # -- copy -------------------------------------------------------------------------------

    def copy(self) -> bytes:
        """Return all of it but the dead letters as bytes, which :meth:`open` takes."""
        packed = PackedPairs(PAIR)
        packed.append(self.pairs())
        image = msgspec.structs.asdict(self._image(packed.dump()))
        covariates = self._covariates.tobytes()
        return _encode(WholeImage(**image, covariates=covariates, evidence=self.evidence()))

    def _image(self, pairs: tuple[int, dict[str, bytes]]) -> Image:
        return Image(
            series=[(*each,) for each in self.series()],
            pairs=pairs,
            observations=self._observations,
            events=self.events(),
            collocations=self.collocations(),
            revisions=self._revisions,
            named={name: sorted(known) for name, known in self._named.items()},
            totals=self._totals,
            notes=self._notes,
        )

    def _load(self, image: Image) -> None:
        self._replace_series(KnownSeries(*each) for each in image.series)
        self._changes = [unpacked(image.pairs, PAIR)]
        self._observations = image.observations
        self._events = {_event_key(each): each for each in image.events}
        self._collocations = {_collocation_key(each): each for each in image.collocations}
        self._revisions = image.revisions
        self._named = {name: set(known) for name, known in image.named.items()}
        self._totals, self._notes = image.totals, image.notes


def _event_key(each: Event) -> tuple[Any, ...]:
    return each.time, each.sensor, each.event, each.note


def _collocation_key(each: Collocation) -> tuple[Any, ...]:
    return each.sensor, each.subject, each.start, each.end, each.distance_km


class PackedPairs:
    """Pairs as bytes, by the column: one number for a column in which all bits are the same.

    Pairs are appended; those that are packed already are not looked at again.
    """

    def __init__(self, kind: np.dtype[Any]) -> None:
        self._columns: Final = {name: bytearray() for name in kind.names or ()}
        self.count = 0

    def append(self, pairs: Records) -> None:
        """Put pairs behind those that are packed."""
        if not pairs.size:
            return
        for name, known in self._columns.items():
            column: np.ndarray[Any, Any] = np.ascontiguousarray(pairs[name])
            width = column.itemsize
            if len(known) <= width:
                bits = column.view(f"u{width}")
                same = bits[0] if not self.count else np.frombuffer(bytes(known), bits.dtype)[0]
                if bits[-1] == same and (bits == same).all():
                    known[:] = same.tobytes()
                    continue
                known[:] = known * self.count
            known.extend(column.tobytes())
        self.count += pairs.size

    def dump(self) -> tuple[int, dict[str, bytes]]:
        """Return how many pairs, and their columns; no columns where there are no pairs."""
        columns = {name: bytes(column) for name, column in self._columns.items()}
        return self.count, columns if self.count else {}


def unpacked(packed: tuple[int, Mapping[str, bytes]], kind: np.dtype[Any]) -> Records:
    """Return packed pairs; a column that was unknown when they were packed is NaN, or 0."""
    count, columns = packed
    pairs = np.zeros(count, dtype=kind)
    for name in kind.names or ():
        if name in columns:
            pairs[name] = np.frombuffer(columns[name], kind[name])
        elif kind[name].kind == "f":
            pairs[name] = np.nan
    return pairs
