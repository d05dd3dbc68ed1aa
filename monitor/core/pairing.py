"""Pairing in event time: readings and references in, changes of pairs out.

Rules of this file: the set of pairs is a function of the set of observations, whatever their
order, repetition or lateness; what changes is said as rows (``PAIR``), a removed pair by its
``removed`` flag. No clock: the time of arrival is handed in and only decides how long an
observation is held.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from monitor.core.lanes import (
    REMOVED,
    Bucket,
    Identity,
    Lane,
    Row,
    Slot,
    reference_identity,
    same_content,
)
from monitor.core.model import Reading, Reference, Records, pair_records
from monitor.core.modes import MODES, Rules

Added = Literal["accepted", "duplicate"]
MatchKey = tuple[str, str, str]


class Held(NamedTuple):
    """A reference that is known, its bucket and when it came."""

    reference: Reference
    bucket: Bucket
    received: float


class Pairing:
    """Holds readings and references until the other side comes, and for corrections after that.

    ``rules_of(sensor, quantity)`` gives the rules of a series; ``match_on`` names what must agree
    besides the quantity: ``subject``, ``key``, both or neither.
    """

    def __init__(self, rules_of: Callable[[str, str], Rules], match_on: frozenset[str]) -> None:
        self._rules_of: Final = rules_of
        self._by_subject: Final = "subject" in match_on
        self._by_key: Final = "key" in match_on
        self._lanes: dict[tuple[str, str, str], Lane] = {}
        self._buckets: dict[MatchKey, Bucket] = {}
        self._held: dict[Identity, Held] = {}
        self._rules: dict[int, Rules] = {}
        self._changes: list[Row] = []
        self._removed: list[Row] = []
        self._added: list[Row] = []
        self.readings = 0
        self.references = 0
        self.corrections = 0
        self.expired_unpaired = 0

    # -- what comes in ----------------------------------------------------------------------

    def add_reading(self, reading: Reading, series: int, received: float) -> Added:
        """Take one reading of ``series``; its changes wait in :meth:`take_changes`."""
        name = (reading.sensor, reading.quantity, reading.key if self._by_key else "")
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = self._open_lane(reading, series)
        place = lane.insert(reading, received)
        if place < 0:
            return "duplicate"
        self.readings += 1
        if lane.bucket.times:
            rules = self._rules[series]
            mode = MODES[rules.mode]
            for at in mode.touched_by_reading(lane, lane.bucket, place, rules):
                self._settle(lane, at)
            self._note()
        return "accepted"

    def add_reference(self, reference: Reference, received: float) -> Added:
        """Take one reference or a revision of one; the highest revision stands."""
        identity = reference_identity(reference)
        known = self._held.get(identity)
        if known is None:
            self.references += 1
        else:
            if same_content(reference, known.reference):
                return "duplicate"
            if _rank(reference) <= _rank(known.reference):
                return "accepted"
            self.corrections += 1
            if _in_place(known.reference, reference):
                self._revise(known, reference, identity)
                return "accepted"
            if not known.reference.void:
                self._withdraw(known, identity)
        bucket = self._bucket(reference.subject, reference.quantity, reference.key)
        self._held[identity] = Held(reference, bucket, received)
        if not reference.void:
            self._settle_near(bucket, bucket.insert(reference, identity, received))
        return "accepted"

    def take_changes(self) -> Records:
        """Return what changed since the last call, later rows over earlier ones of the same id."""
        rows, self._changes = self._changes, []
        return pair_records(rows)

    # -- how long things are held -----------------------------------------------------------

    def expire(self, received_before: float) -> None:
        """Let go of what arrived before a time; pairs stay, unpaired readings are counted."""
        for name, lane in list(self._lanes.items()):
            self._expire_lane(lane, received_before)
            if not lane.times and not lane.slots:
                lane.bucket.lanes.remove(lane)
                del self._lanes[name]
        for identity, held in list(self._held.items()):
            if held.received < received_before:
                self._forget(identity, held)
        for key, bucket in list(self._buckets.items()):
            if not bucket.times and not bucket.lanes:
                del self._buckets[key]

    def oldest(self, share: float) -> float:
        """Return the time of arrival below which ``share`` of all that is held arrived."""
        arrivals = sorted(
            [time for lane in self._lanes.values() for time in lane.received]
            + [held.received for held in self._held.values()]
        )
        return arrivals[min(int(share * len(arrivals)), len(arrivals) - 1)] if arrivals else 0.0

    # -- inside -----------------------------------------------------------------------------

    def _open_lane(self, reading: Reading, series: int) -> Lane:
        bucket = self._bucket(reading.sensor, reading.quantity, reading.key)
        lane = Lane(series, bucket)
        bucket.lanes.append(lane)
        self._rules[series] = self._rules_of(reading.sensor, reading.quantity)
        return lane

    def _bucket(self, subject: str, quantity: str, key: str) -> Bucket:
        match = (quantity, subject if self._by_subject else "", key if self._by_key else "")
        bucket = self._buckets.get(match)
        if bucket is None:
            bucket = self._buckets[match] = Bucket()
        return bucket

    def _settle_near(self, bucket: Bucket, place: int) -> None:
        """Settle the reference at ``place`` and those it competes with, in every lane."""
        for lane in bucket.lanes:
            mode = MODES[self._rules[lane.series].mode]
            for at in mode.touched_by_reference(bucket, place):
                self._settle(lane, at)
        self._note()

    def _settle(self, lane: Lane, place: int) -> None:
        """Make the pairs of one reference in one lane what they should be; note the changes."""
        bucket = lane.bucket
        identity = bucket.identities[place]
        slot = lane.slots.get(identity)
        if slot is not None and slot.frozen:
            return
        rules = self._rules[lane.series]
        rows = MODES[rules.mode].pairs(lane, bucket, place, rules)
        if rows or slot is not None:
            self._replace(lane, identity, rows)

    def _replace(self, lane: Lane, identity: Identity, rows: list[Row]) -> None:
        slot = lane.slots.get(identity)
        before = {row[1]: row for row in slot.rows} if slot is not None else {}
        for row in rows:
            if not _same(before.pop(row[1], None), row):
                self._added.append(row)
        self._removed.extend((*row[:REMOVED], True) for row in before.values())
        if not rows:
            lane.slots.pop(identity, None)
        elif slot is None:
            lane.slots[identity] = Slot(rows)
        else:
            slot.rows = rows

    def _note(self) -> None:
        """Note the changes of one arrival: a pair that moved between references stays."""
        self._changes += self._removed
        self._changes += self._added
        self._removed.clear()
        self._added.clear()

    def _revise(self, known: Held, reference: Reference, identity: Identity) -> None:
        """Give a reference that stays in its place its new value, in every pair it made."""
        bucket = known.bucket
        self._held[identity] = Held(reference, bucket, known.received)
        bucket.references[bucket.find(reference, identity)] = reference
        for lane in bucket.lanes:
            slot = lane.slots.get(identity)
            if slot is not None:
                rows = [(*row[:8], reference.value, reference.u, *row[10:]) for row in slot.rows]
                self._replace(lane, identity, rows)
        self._note()

    def _withdraw(self, known: Held, identity: Identity) -> None:
        """Take a reference out of its bucket, with its pairs, and let its neighbours settle."""
        bucket = known.bucket
        place = bucket.find(known.reference, identity)
        bucket.remove(place)
        for lane in bucket.lanes:
            self._replace(lane, identity, [])
        self._note()
        for near in (place - 1, place):
            if 0 <= near < len(bucket.times):
                self._settle_near(bucket, near)

    def _expire_lane(self, lane: Lane, received_before: float) -> None:
        if not lane.received or min(lane.received) >= received_before:
            return
        used = {row[2]: slot for slot in lane.slots.values() for row in slot.rows}
        kept = [at for at, time in enumerate(lane.received) if time >= received_before]
        gone = set(range(len(lane.times))).difference(kept)
        for at in gone:
            slot = used.get(lane.times[at])
            if slot is None:
                self.expired_unpaired += 1
            else:
                slot.frozen = True
        self.readings -= len(gone)
        lane.times = [lane.times[at] for at in kept]
        lane.readings = [lane.readings[at] for at in kept]
        lane.received = [lane.received[at] for at in kept]

    def _forget(self, identity: Identity, held: Held) -> None:
        del self._held[identity]
        self.references -= 1
        if held.reference.void:
            return
        held.bucket.remove(held.bucket.find(held.reference, identity))
        for lane in held.bucket.lanes:
            lane.slots.pop(identity, None)


def _rank(reference: Reference) -> tuple[object, ...]:
    """Order of the revisions of one reference; on equal revisions the content decides."""
    return (reference.revision, reference.void, reference.time, reference.value, reference.u)


def _in_place(old: Reference, new: Reference) -> bool:
    """Return whether a revision changes the reference's value alone."""
    places = [(each.time, each.key, repr(each.start), repr(each.end)) for each in (old, new)]
    return not (old.void or new.void) and places[0] == places[1]


def _same(one: Row | None, other: Row) -> bool:
    """Return whether two rows are equal, NaN being equal to NaN."""
    return one is not None and repr(one) == repr(other)
