"""What the references of a lane pair with, settled anew where something came or went.

Rules of this file: what changes is said as rows (``PAIR``), a removed pair by its ``removed`` flag;
of one arrival the removed ones come first, so that a pair that moved between references stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from monitor.core.model import (
    NAN,
    Records,
    Reference,
    pair_records,
)
from monitor.core.pairing.buffers import (
    CRPS,
    REMOVED,
    Bucket,
    Identity,
    Lane,
    Near,
    Row,
    Slot,
)
from monitor.core.pairing.join_index import Matching
from monitor.core.pairing.pairing_rules import Place, neighbours
from monitor.core.pairing.reference_revisions import Held, References


class Settling:
    """Keeps the pairs of every reference what they should be; its changes wait to be taken."""

    def __init__(self, matching: Matching, references: References) -> None:
        self._matching: Final = matching
        self._references: Final = references
        self._changes: list[Row] = []
        self._removed: Final[list[Row]] = []
        self._added: Final[list[Row]] = []

    def take_changes(self) -> Records:
        """Return what changed since the last call, later rows over earlier ones of the same id."""
        rows, self._changes = self._changes, []
        return pair_records(rows)

    def say(self, rows: Iterable[Row]) -> None:
        """Let rows be among the changes."""
        self._changes += rows

    def around_reading(self, lane: Lane, at: int) -> None:
        """Settle the references that the reading at a place of a lane may touch."""
        mode, rules = self._matching.modes[lane.series], self._matching.rules[lane.series]
        for link in lane.links:
            if link.bucket.times:
                self._settle(
                    lane, link.bucket, mode.touched_by_reading(lane, link.bucket, at, rules)
                )
                self._note()

    def around_reference(self, bucket: Bucket, at: int) -> None:
        """Settle the reference at a place and those it competes with, in every lane."""
        for lane in bucket.lanes:
            mode = self._matching.modes[lane.series]
            self._settle(lane, bucket, mode.touched_by_reference(lane, bucket, at))
        self._note()

    def begin(self, lane: Lane, bucket: Bucket, near: Near | None) -> None:
        """Pair the last reference of a bucket, which is new and touches no other, in its only lane.

        ``near`` is the reading nearest to it; None if it is to be looked for.
        """
        at = len(bucket.times) - 1
        time, mode = bucket.times[at], self._matching.modes[lane.series]
        link = lane.link(bucket, time)
        rows = None
        if link is not None and mode.newest is not None:
            rows = mode.newest(lane, link, at, time, self._matching.rules[lane.series], near)
            if rows:
                bucket.taken = rows[0][2] - lane.lag_seconds
        if rows is None:
            rows = self._made(lane, bucket, at)
        if rows:
            lane.slots[bucket.identities[at]] = Slot(rows)
            self._changes += rows

    def all_of(self, lane: Lane, bucket: Bucket) -> None:
        """Settle every reference of a bucket in one lane."""
        self._settle(lane, bucket, range(len(bucket.times)))
        self._note()

    def revise(self, held: Held, identity: Identity) -> None:
        """Give a reference that stays in its place its new value, in every pair it made."""
        at = held.bucket.find(held.reference, identity)
        held.bucket.references[at] = held.reference
        held.bucket.taken = NAN
        for lane in held.bucket.lanes:
            slot = lane.slots.get(identity)
            if slot is not None:
                rows = [revised(row, held.reference) for row in slot.rows]
                if any(row[CRPS] == row[CRPS] for row in slot.rows):
                    rows = self._rescored(lane, held.bucket, at, rows)
                self._replace(lane, identity, rows)
        self._note()

    def withdraw(self, held: Held, identity: Identity) -> None:
        """Take a reference out of its bucket, with its pairs, and let its neighbours settle."""
        bucket = held.bucket
        at = bucket.find(held.reference, identity)
        bucket.remove(at)
        for lane in bucket.lanes:
            self._replace(lane, identity, [])
        self._note()
        for near in (at - 1, at):
            if 0 <= near < len(bucket.times):
                for lane in bucket.lanes:
                    self._settle(lane, bucket, neighbours(bucket, near))
        self._note()

    def makes_the_same(self, lane: Lane, identity: Identity) -> bool:
        """Return whether what is held makes the pairs that a reference has in a lane."""
        held = self._references.get(identity)
        if held is None:
            return False
        rows = self._made(lane, held.bucket, held.bucket.find(held.reference, identity))
        return repr(rows) == repr(lane.slots[identity].rows)

    # -- inside -----------------------------------------------------------------------------

    def _settle(self, lane: Lane, bucket: Bucket, places: Iterable[int]) -> None:
        """Make the pairs of some references in one lane what they should be."""
        bucket.taken = NAN
        for at in places:
            identity = bucket.identities[at]
            slot = lane.slots.get(identity)
            if slot is not None and slot.frozen:
                continue
            rows = self._made(lane, bucket, at)
            if rows or slot is not None:
                self._replace(lane, identity, rows)

    def _made(self, lane: Lane, bucket: Bucket, at: int) -> list[Row]:
        """Return the pairs that the reference at a place makes with what a lane holds."""
        time, series = bucket.times[at], lane.series
        link = lane.link(bucket, time)
        if link is None:
            return []
        return self._matching.modes[series].pairs(
            Place(lane, link, at, time, self._matching.rules[series])
        )

    def _replace(self, lane: Lane, identity: Identity, rows: list[Row]) -> None:
        slot = lane.slots.get(identity)
        if slot is None:
            if rows:
                lane.slots[identity] = Slot(rows)
                self._added.extend(rows)
            return
        before = {row[1]: row for row in slot.rows}
        for row in rows:
            old = before.pop(row[1], None)
            if old is not None and old[2] != row[2]:
                self._removed.append((*old[:REMOVED], True))
            if not _same(old, row):
                self._added.append(row)
        self._removed.extend((*row[:REMOVED], True) for row in before.values())
        if rows:
            slot.rows = rows
        else:
            del lane.slots[identity]

    def _note(self) -> None:
        """Note the changes of one arrival: a pair that moved between references stays."""
        self._changes += self._removed
        self._changes += self._added
        self._removed.clear()
        self._added.clear()

    def _rescored(self, lane: Lane, bucket: Bucket, at: int, rows: list[Row]) -> list[Row]:
        """Return pairs with the CRPS of their readings' distributions, where these are held."""
        known = {repr(row[:CRPS]): row for row in self._made(lane, bucket, at)}
        return [known.get(repr(row[:CRPS]), row) for row in rows]


def revised(row: Row, reference: Reference) -> Row:
    """Return a pair with the value that a revision of its reference gives it, without a CRPS."""
    if reference.void:
        return (*row[:REMOVED], True)
    return (*row[:8], reference.value, reference.u, *row[10:CRPS], NAN, False)


def _same(one: Row | None, other: Row) -> bool:
    """Return whether two rows are equal, NaN being equal to NaN."""
    return one is not None and (one == other or repr(one) == repr(other))
