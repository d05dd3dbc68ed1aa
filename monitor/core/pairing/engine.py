"""Pairing in event time: readings and references in, changes of pairs out.

Rules of this file: the set of pairs is a function of the set of observations, whatever their order,
repetition or lateness. Changes are rows (``PAIR``), a removed pair with its ``removed`` flag set.
There is no clock: the caller passes the time of arrival, which only decides how long observations
are held.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import Final, Literal

import msgspec
import numpy as np

from monitor.core.model import Int, Observation, Reading, Records, Reference, pair_records
from monitor.core.pairing.buffers import BufferKey, ReadingBuffer, ReferenceBuffer
from monitor.core.pairing.identities import (
    REFERENCE_ID,
    REMOVED,
    Identity,
    Row,
    digest,
    reference_digest,
    revised,
)
from monitor.core.pairing.in_order import InOrderPath
from monitor.core.pairing.join_index import Concern, JoinIndex, MatchKey
from monitor.core.pairing.observations import PlainReadings
from monitor.core.pairing.reconcile import Reconciler
from monitor.core.pairing.reference_revisions import (
    HeldReference,
    History,
    ReferenceStore,
    is_in_place,
    is_revisable,
    names_nobody,
    rank,
)
from monitor.core.pairing.retention import (
    Home,
    ReadingCount,
    expire_readings,
    expire_references,
    restore_all,
    restore_pairs,
)
from monitor.core.pairing.series_rules import Rules

Added = Literal["accepted", "duplicate"]
BufferOf = Callable[[Reading], ReadingBuffer | str]
_Recalled = tuple[ReadingBuffer, list[tuple[Reading, float]]]  # with its readings as they arrived


class Pairing:
    """Holds readings and references until the other side comes, and for corrections after that.

    ``rules_of``, ``match_on`` and ``concerns_of`` are those of :class:`.JoinIndex`; ``history`` has
    the pairs and revisions of references that were evicted.
    """

    def __init__(
        self,
        rules_of: Callable[[str, str], Rules],
        match_on: frozenset[str],
        history: History,
        concerns_of: Callable[[str], Iterable[Concern]] = lambda _sensor: (),
    ) -> None:
        self._index: Final = JoinIndex(rules_of, match_on, concerns_of)
        self.references: Final = ReferenceStore(
            history, self._index.reference_buffers, self._index.tally
        )
        self._reconciler: Final = Reconciler()
        self._in_order: Final = InOrderPath(self._index, self.references, self._reconciler)
        self._held: Final = ReadingCount()
        self._recalled: Final[dict[BufferKey, _Recalled]] = {}
        self._recalled_plain: Final[dict[ReferenceBuffer, array[float]]] = {}
        self._recalled_others: Final[list[tuple[Reference, float]]] = []
        self._expired_before = -inf
        self.corrections = 0
        self.expired_unpaired = 0

    @property
    def readings(self) -> int:
        """How many readings are held."""
        return self._held.total

    def holds_more_than(self, most: int) -> bool:
        """Return whether there are more readings and references; repeated ones count once."""
        if self.readings + len(self.references) > most:
            self._insert_recalled()
        return self.readings + len(self.references) > most

    @property
    def reading_buffers(self) -> dict[BufferKey, ReadingBuffer]:
        """The buffers of readings, by (sensor, quantity, key)."""
        self._index.staging.flush()
        return self._index.reading_buffers

    @property
    def reference_buffers(self) -> dict[MatchKey, ReferenceBuffer]:
        """The buffers of references, by (quantity, subject, key)."""
        return self._index.reference_buffers

    # -- ingestion --------------------------------------------------------------------------

    def buffer_of(self, reading: Reading) -> ReadingBuffer | None:
        """Return the buffer of a reading, None if it is the first of its series and key."""
        return self._index.buffer_of(reading)

    def open_buffer(self, reading: Reading, series: int) -> ReadingBuffer:
        """Return a new buffer for a reading that has none."""
        return self._index.open_buffer(self._index.key_of(reading), series)

    def ingest_reading(self, readings: ReadingBuffer, reading: Reading, received: float) -> Added:
        """Ingest one reading into its buffer."""
        if readings.watermarks.staged[readings.watermark]:
            self._index.flush_staged((readings,))
        before = readings.times[-1] if readings.times else -inf
        at = readings.insert(reading.time - readings.lag_seconds, reading, received)
        if at < 0:
            return "duplicate"
        self._add_held(1, received)
        if not readings.times[at] > before or readings.may_match(before):
            self._reconciler.reading_added(readings, at)
        return "accepted"

    @property
    def is_recalling(self) -> bool:
        """Whether a journal is restoring observations."""
        return self._reconciler.is_recalling

    def hold_again(self, readings: Sequence[Reading], buffers: BufferOf, received: float) -> Int:
        """Hold readings that a journal restores; return the row of the series of each.

        ``buffers`` returns the buffer for a reading that is the first of its buffer, or the reason
        why its series is refused; the row is then -1.
        """
        by_key, recalled, rows = self._index.by_key, self._recalled, []
        for reading in readings:
            name = (reading.sensor, reading.quantity, reading.key if by_key else "")
            held = recalled.get(name)
            if held is None:
                buffer = buffers(reading)
                if isinstance(buffer, str):
                    rows.append(-1)
                    continue
                held = recalled[name] = (buffer, [])
            rows.append(held[0].series)
            held[1].append((reading, received))
        found_rows = np.array(rows, dtype=np.int64)
        self._add_held(int(np.count_nonzero(found_rows >= 0)), received)
        return found_rows

    def ingest_plain(self, plain: PlainReadings, received: float) -> Int:
        """Ingest the readings that are newer than all others of their buffers, as most are.

        Returns the row of the series of each, -1 for those left to :meth:`ingest_reading`.
        """
        may_pair = not self._reconciler.is_recalling
        rows = self._index.staging.ingest(plain, received, may_pair=may_pair)
        ingested = int(np.count_nonzero(rows >= 0))
        if ingested:
            self._add_held(ingested, received)
        return rows

    def ingest_in_order(self, observations: Sequence[Observation], received: float) -> list[int]:
        """Ingest the references that are new and later than all others of their buffers, as most.

        Returns the places of the observations left to :meth:`add_reference`. References that a
        journal restores are all taken, and enter their buffers later.
        """
        if self._reconciler.is_recalling:
            return self._hold_references_again(observations, received)
        candidates = self._in_order.candidates(observations)
        near = self._in_order.nearest(candidates)
        unknown = (candidates[at][2] for at, reading in enumerate(near) if reading is None)
        self._index.flush_staged(each for buffer in unknown for each in buffer.reading_buffers)
        ingested = set(self._in_order.ingest(candidates, near, received))
        return [at for at in range(len(observations)) if at not in ingested]

    def _hold_references_again(
        self, observations: Sequence[Observation], received: float
    ) -> list[int]:
        """Hold references that a journal restores; return the places of what is none."""
        buffer_of, plain, left = self._index.references_of, self._recalled_plain, []
        for at, each in enumerate(observations):
            if type(each) is not Reference:
                left.append(at)
            elif each.identity or each.void or not (references := buffer_of(each)).is_plain(each):
                self._recalled_others.append((each, received))
            else:
                row = each.time, each.value, each.u, received
                plain.setdefault(references, array("d")).extend(row)
        self._index.tally.plain += len(observations) - len(left)
        return left

    def _add_held(self, count: int, received: float) -> None:
        if count and self._held.add(count, received):
            for readings in self._index.reading_buffers.values():
                readings.in_order = False

    def look_up(self, observations: Sequence[Observation]) -> None:
        """Read from the history, in one pass, all about the references in the next observations."""
        references = [
            each
            for each in observations
            if type(each) is Reference and (each.identity or each.revision)
        ]
        names = [each.identity for each in references if each.identity]
        self.references.look_up(map(reference_digest, references), names)

    def add_reference(self, reference: Reference, received: float) -> Added:
        """Ingest a reference or a revision of one; the highest revision stands."""
        if not (reference.identity or reference.revision or reference.void):
            return self._ingest_reference(reference, reference, received)
        if names_nobody(reference):
            is_recalling = self._reconciler.is_recalling
            voids = self.references.void_by_name(reference, received, recalled=is_recalling)
            for void in voids or ():
                self._ingest_reference(void, void, received)
            return "duplicate" if voids is None else "accepted"
        return self._ingest_reference(reference, self.references.effective(reference), received)

    def _ingest_reference(self, came: Reference, effective: Reference, received: float) -> Added:
        """Ingest a reference that came as ``came`` and counts as ``effective``."""
        identity = reference_digest(came)
        references = self._index.references_of(effective)
        known = self.references.find(came, identity, references)
        superseded = () if effective is came else (came,)
        if known is None:
            digests = tuple(map(digest, superseded))
            held = HeldReference(effective, references, received, digests)
            return self._ingest_unknown(came, held, identity)
        if known.has_seen(came):
            return "duplicate"
        if rank(effective) <= rank(known.reference):
            held = msgspec.structs.replace(known, seen=known.seen_with(came))
            if identity not in self.references:  # the columns hold it alone
                at = references.place_of(came.time, identity)
                references.replace(at, held.reference, held.received)
            self.references.put(identity, held)
            return "accepted"
        digests = known.seen_with(known.reference, *superseded)
        held = HeldReference(effective, references, received, digests)
        self._supersede(known, held, identity)
        return "accepted"

    def _ingest_unknown(self, came: Reference, held: HeldReference, identity: Identity) -> Added:
        """Ingest a reference of which no revision is held."""
        self._index.flush_staged(held.references.reading_buffers)
        pairs = self._revise_evicted(came, held.reference, identity)
        if pairs is None:
            return "duplicate"
        self._install(identity, held, pairs)
        return "accepted"

    def _supersede(self, known: HeldReference, held: HeldReference, identity: Identity) -> None:
        """Put a higher revision in the place of a reference."""
        self.corrections += not self._reconciler.is_recalling
        for references in (known.references, held.references):
            self._index.flush_staged(references.reading_buffers)
        if is_in_place(known.reference, held.reference):
            held = msgspec.structs.replace(held, references=known.references)
            self.references.put(identity, held)
            self._reconciler.revise(held, identity)
            return
        if not known.reference.void:
            self._index.mark_changed(known.references)
            self._reconciler.withdraw(known, identity)
        self._install(identity, held)

    def _install(self, identity: Identity, held: HeldReference, pairs: Sequence[Row] = ()) -> None:
        """Hold a reference with the pairs it has already made; pair it if it is not void."""
        references = held.references
        if not held.is_plain:
            self.references.put(identity, held)
        if not held.reference.void:
            self._index.mark_changed(references)
            at = references.insert(held.reference, identity, held.received, is_plain=held.is_plain)
            if pairs:
                of_each, time = np.full(len(pairs), at), references.times[at]
                home = Home([references], 0 * of_each, of_each, np.full(len(pairs), time))
                restore_pairs(self._index, self._reconciler, home, pair_records([*pairs]))
            self._reconciler.reference_added(references, at)

    def _revise_evicted(
        self, came: Reference, effective: Reference, identity: Identity
    ) -> list[Row] | None:
        """Revise the pairs of an evicted reference, and return those that stand.

        Returns None if ``came`` was already superseded.
        """
        if self._reconciler.is_recalling or not (is_revisable(came) or came.void):
            return []
        if self.references.evicted_revision(identity) >= came.revision:
            return None
        rows = [revised(row, effective) for row in self._evicted_pairs(came, identity).tolist()]
        self.corrections += bool(rows)
        self._reconciler.emit(rows)
        return [] if effective.void else rows

    def _evicted_pairs(self, came: Reference, identity: Identity) -> Records:
        """Return the pairs of an evicted reference.

        One that stated neither identity nor revision is in no index. Its pairs are looked for where
        a correction is so late that the reference may have been evicted.
        """
        pairs = self.references.evicted_pairs(identity)
        if pairs.size or came.identity or came.time >= self._expired_before:
            return pairs
        return self.references.evicted_pairs_of(identity, *self._index.may_have_paired(came))

    def add_concern(self, sensor: str, concern: Concern) -> None:
        """Make the references of a subject concern a sensor from now on, whenever they came."""
        for (name, quantity, key), readings in list(self.reading_buffers.items()):
            if name == sensor:
                references = self._index.reference_buffer(concern.subject, quantity, key)
                self._index.join(readings, references, concern)
                self._reconciler.reconcile_all(readings, references)

    def drain_changes(self) -> Records:
        """Return the changes since the last call; the last row of an id counts."""
        return self._reconciler.drain_changes()

    # -- how long things are held -----------------------------------------------------------

    def expire(self, received_before: float) -> None:
        """Evict what arrived before a time; pairs stay, unpaired readings are counted."""
        self._expired_before = max(self._expired_before, received_before)
        self._insert_recalled()
        for name, readings in list(self.reading_buffers.items()):
            gone, unpaired = expire_readings(readings, received_before, self._reconciler.reproduces)
            self._held.total -= gone
            self.expired_unpaired += unpaired
            if not readings.times and not readings.matches:
                self._index.close_buffer(name, readings)
        self._held.expire(received_before)
        self.references.expire(received_before)
        for references in self._index.reference_buffers.values():
            if expire_references(references, received_before):
                self._index.mark_changed(references)
        self._index.drop_empty_buffers()

    @contextmanager
    def recalling(self) -> Iterator[None]:
        """Within this context a journal restores observations: they are held and make no pairs.

        :meth:`recall` restores the pairs. Readings and references enter their buffers at the end
        of the context, all of a buffer at once.
        """
        self._reconciler.is_recalling = True
        try:
            yield
            self._insert_recalled()
        finally:
            self._recalled.clear()
            self._recalled_plain.clear()
            self._recalled_others.clear()
            self._reconciler.is_recalling = False

    def _insert_recalled(self) -> None:
        self._index.staging.flush()
        for readings, came in self._recalled.values():
            for received in readings.insert_all(came):
                self._held.remove(received)
        self._recalled.clear()
        self._insert_recalled_references()

    def _insert_recalled_references(self) -> None:
        """Let the references that a journal restored enter their buffers."""
        plain, others = self._recalled_plain, self._recalled_others
        self._index.tally.plain -= sum(map(len, plain.values())) // 4 + len(others)
        for references, columns in plain.items():
            self._insert_recalled_plain(references, columns)
        self.references.look_up((), [each.identity for each, _ in others if each.identity])
        for each, received in sorted(others, key=lambda one: one[0].time):
            self.add_reference(each, received)
        plain.clear()
        others.clear()

    def _insert_recalled_plain(self, references: ReferenceBuffer, columns: array[float]) -> None:
        """Let plain references enter their buffer: by the column, where each has its own time."""
        came = np.frombuffer(columns).reshape(-1, 4)
        came = came[np.argsort(came[:, 0], kind="stable")]
        times, newest = came[:, 0], references.times[-1] if references.times else -inf
        subject, quantity, key = references.name
        if times[0] > newest and (times[1:] > times[:-1]).all():
            identities = [digest(*references.name, repr(time)) for time in times.tolist()]
            if not any(map(self.references.__contains__, identities)):
                self._index.mark_changed(references)
                references.extend(came.T, identities)
                return
        for time, value, u, received in came.tolist():
            reference = Reference(subject, quantity, time, value, u, key)
            self._ingest_reference(reference, reference, received)

    def recall(self, pairs: Records, standing: Int, names: Sequence[tuple[str, str]]) -> None:
        """Restore the pairs of the references held, exactly as a journal has them.

        ``standing`` are the places among ``pairs`` of all that stand, in event order, ``names`` the
        (sensor, quantity) of each series. Pairing anew would give other pairs, because evicted
        readings and references contributed to them.
        """
        self._index.staging.flush()
        restore_all(self._index, self._reconciler, self.references, pairs, standing, names)

    def pair_anew(
        self, stored: Records, rows: Collection[int], whole_from: float
    ) -> set[tuple[int, int]]:
        """Make the pairs of the series ``rows`` again, those ``stored``, as the rules are now.

        Nothing observed from ``whole_from`` on (event time, s UTC) was evicted. Returns which
        pairs were made again, as (series, identity of the reference); the others stay.
        """
        buffers = [each for each in self.reading_buffers.values() if each.series in rows]
        joined = [
            (readings, references)
            for readings in buffers
            for references in dict.fromkeys(join.references for join in readings.joins)
        ]
        concerned = {(each.series, name) for each, other in joined for name in other.identities}
        held = {
            identity: time
            for references in self.reference_buffers.values()
            for identity, time in zip(references.identities, references.times, strict=True)
        }
        anew, known = set(), {each.series for each in buffers}
        for row in stored.tolist():
            pair, time = (row[0], row[REFERENCE_ID]), held.get(row[REFERENCE_ID])
            if pair in concerned or time is None or row[0] not in known:
                continue
            if min(row[2], time) >= whole_from:
                self._reconciler.emit([(*row[:REMOVED], True)])
                anew.add(pair)
        for readings, references in joined:
            names = self._reconciler.pair_anew(readings, references, whole_from)
            anew.update((readings.series, name) for name in names)
        return anew

    @property
    def limited_references(self) -> int:
        """How often a reference reached the maximum number of pairs with a series."""
        return self._reconciler.limited

    def oldest_readings(self) -> dict[int, float]:
        """Return the event time, s UTC, of the oldest reading held of each series."""
        oldest: dict[int, float] = {}
        for readings in self.reading_buffers.values():
            if readings.times:
                time = readings.reading(0).time
                oldest[readings.series] = min(time, oldest.get(readings.series, time))
        return oldest

    def oldest(self, share: float) -> float:
        """Return the time of arrival before which ``share`` of everything held arrived."""
        self._insert_recalled()
        return self._held.oldest(share, self.references.arrivals())

    # -- queries ----------------------------------------------------------------------------

    def drain_changed_series(self) -> set[int]:
        """Return the series whose references have changed since the last call."""
        return self._index.drain_changed_series()

    def availability(self, series: int, first: float) -> float:
        """Return the share of the references held that came with a usable reading of a series.

        It counts from ``first`` on, the time of the first reading; NaN if no reference concerns it.
        """
        return self._index.availability(series, first)

    def pairs_of_series(self, series: int) -> Iterator[tuple[Reference, Row]]:
        """Yield the pairs of a series whose references are held, each with its reference."""
        for readings in self._index.buffers_of(series):
            for references in dict.fromkeys(join.references for join in readings.joins):
                for at, reference in enumerate(references.references()):
                    match = readings.match_of(references, at)
                    if match is not None:
                        yield from ((reference, row) for row in match.rows)

    def pairs_of_reference(self, name: str) -> Iterator[tuple[Reference, Row]]:
        """Yield the pairs of the references held whose key or identity is ``name``."""
        for references in self.reference_buffers.values():
            for at in references.places_named(name):
                reference = references.reference(at)
                for readings in references.reading_buffers:
                    match = readings.match_of(references, at)
                    if match is not None:
                        yield from ((reference, row) for row in match.rows)
