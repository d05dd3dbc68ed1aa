"""Pairing in event time: readings and references in, changes of pairs out.

Rules of this file: the set of pairs is a function of the set of observations, whatever their
order, repetition or lateness; what changes is said as rows (``PAIR``), a removed pair by its
``removed`` flag. No clock: the time of arrival is handed in and only decides how long an
observation is held.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import Final, Literal

import msgspec
import numpy as np

from monitor.core.model import (
    Int,
    Observation,
    Reading,
    Records,
    Reference,
    some_rows,
)
from monitor.core.pairing.buffers import (
    REFERENCE_ID,
    Bucket,
    Identity,
    Lane,
    LaneName,
    Row,
    Slot,
    digest,
    reference_identity,
)
from monitor.core.pairing.history import NO_HISTORY, History, names_nobody
from monitor.core.pairing.in_order import Newest
from monitor.core.pairing.join_index import Concern, Matching, MatchKey
from monitor.core.pairing.observations import PlainReadings
from monitor.core.pairing.pairing_rules import Rules
from monitor.core.pairing.reconcile import Settling, revised
from monitor.core.pairing.reference_revisions import (
    Held,
    References,
    by_bucket,
    is_in_place,
    rank,
)
from monitor.core.pairing.retention import (
    expire_lane,
    forget,
    forget_all,
    is_frozen,
    oldest_arrival,
)

__all__ = ["Added", "Concern", "MatchKey", "Pairing"]

Added = Literal["accepted", "duplicate"]


class Pairing:
    """Holds readings and references until the other side comes, and for corrections after that.

    ``rules_of``, ``match_on`` and ``concerns_of`` are those of :class:`Matching`; ``history`` has
    the pairs and revisions of references that are no longer held.
    """

    def __init__(
        self,
        rules_of: Callable[[str, str], Rules],
        match_on: frozenset[str],
        concerns_of: Callable[[str], Iterable[Concern]] = lambda _sensor: (),
        history: History = NO_HISTORY,
    ) -> None:
        self.references: Final = References(history)
        self._matching: Final = Matching(rules_of, match_on, concerns_of)
        self._settling: Final = Settling(self._matching, self.references)
        self._newest: Final = Newest(self._matching, self.references, self._settling)
        self._by_key: Final = self._matching.by_key
        self._fresh: Final = self._matching.fresh
        self.readings = 0
        self._arrivals: Counter[float] = Counter()  # how many of the readings held came when
        self._last_received = -inf
        self.corrections = 0
        self.expired_unpaired = 0

    @property
    def lanes(self) -> dict[LaneName, Lane]:
        """The lanes of readings, by (sensor, quantity, key)."""
        self._fresh.bring()
        return self._matching.lanes

    @property
    def buckets(self) -> dict[MatchKey, Bucket]:
        """The buckets of references, by (quantity, subject, key)."""
        return self._matching.buckets

    # -- what comes in ----------------------------------------------------------------------

    def add_reading(self, reading: Reading, series: int, received: float) -> Added:
        """Take one reading of ``series``; its changes wait in :meth:`take_changes`."""
        lane = self.lane_of(reading) or self.open_lane(reading, series)
        return self.take_reading(lane, reading, received)

    def lane_of(self, reading: Reading) -> Lane | None:
        """Return the lane of a reading, None if it is the first of its series (and key)."""
        return self._matching.lane_of(reading)

    def open_lane(self, reading: Reading, series: int) -> Lane:
        """Return a new lane for a reading that has none."""
        key = reading.key if self._by_key else ""
        return self._matching.open_lane((reading.sensor, reading.quantity, key), series)

    def take_reading(self, lane: Lane, reading: Reading, received: float) -> Added:
        """Take one reading into its lane."""
        if lane.fronts.fresh[lane.front]:
            self._look_into((lane,))
        before = lane.times[-1] if lane.times else -inf
        at = lane.insert(reading.time - lane.lag_seconds, reading, received)
        if at < 0:
            return "duplicate"
        self._hold(1, received)
        if not lane.times[at] > before or lane.is_awaited(before):
            self._settling.around_reading(lane, at)
        return "accepted"

    def take_plain(self, plain: PlainReadings, received: float) -> Int:
        """Take the readings that are newer than all in their lanes: most are.

        Returns the row of the series of each, -1 for those that are left to be taken one by one.
        """
        rows = self._fresh.take(plain, received)
        taken = int(np.count_nonzero(rows >= 0))
        if taken:
            self._hold(taken, received)
        return rows

    def take_newest(self, observations: Sequence[Observation], received: float) -> list[int]:
        """Take the references that are new and newer than all of their bucket: most are.

        Returns the places of what is left to be taken one by one.
        """
        found = self._newest.candidates(observations)
        near = self._newest.nearest(found)
        unseen = (found[at][2] for at, reading in enumerate(near) if reading is None)
        self._look_into(lane for bucket in unseen for lane in bucket.lanes)
        taken = set(self._newest.take(found, near, received))
        return [at for at in range(len(observations)) if at not in taken]

    def _look_into(self, lanes: Iterable[Lane]) -> None:
        """Have all of some lanes where it can be seen."""
        fresh = self._matching.fronts.fresh
        behind = [lane.front for lane in lanes if fresh[lane.front]]
        if behind:
            self._fresh.bring(np.array(behind))

    def _hold(self, readings: int, received: float) -> None:
        self.readings += readings
        self._arrivals[received] += readings
        if received < self._last_received:  # a clock was set back
            for lane in self._matching.lanes.values():
                lane.in_order = False
        self._last_received = received

    def add_reference(
        self, reference: Reference, received: float, *, recalled: bool = False
    ) -> Added:
        """Take one reference or a revision of one; the highest revision stands.

        ``recalled`` says that it is not new: a journal gives back what it kept.
        """
        if not (reference.identity or reference.revision or reference.void):
            return self._take(reference, reference, received, recalled=recalled)
        if names_nobody(reference):
            voids = self.references.void_by_name(reference, received, recalled=recalled)
            for void in voids or ():
                self._take(void, void, received, recalled=recalled)
            return "duplicate" if voids is None else "accepted"
        stands = self.references.as_it_stands(reference)
        return self._take(reference, stands, received, recalled=recalled)

    def _take(
        self, came: Reference, stands: Reference, received: float, *, recalled: bool
    ) -> Added:
        """Take a reference that came, of which ``stands`` is what stands."""
        identity = reference_identity(came)
        known, bucket = self.references.get(identity), self._matching.bucket_of(stands)
        self._look_into(bucket.lanes)
        outdone = () if stands is came else (came,)
        if known is None:
            made = [] if recalled else self._revise_let_go(came, stands, identity)
            if made is None:
                return "duplicate"
            self._stand(identity, Held(stands, bucket, received, outdone), made)
            return "accepted"
        if known.knows(came):
            return "duplicate"
        if rank(stands) <= rank(known.reference):
            held = msgspec.structs.replace(known, outdone=(*known.outdone, came))
            self.references.keep(identity, held)
            return "accepted"
        self.corrections += not recalled
        outdone = (*known.outdone, known.reference, *outdone)
        self._look_into(known.bucket.lanes)
        if is_in_place(known.reference, stands):
            held = Held(stands, known.bucket, received, outdone)
            self.references.keep(identity, held)
            self._settling.revise(held, identity)
        else:
            if not known.reference.void:
                self._matching.touch(known.bucket)
                self._settling.withdraw(known, identity)
            self._stand(identity, Held(stands, bucket, received, outdone))
        return "accepted"

    def add_concern(self, sensor: str, concern: Concern) -> None:
        """From now on the references of a subject concern a sensor, whenever they came."""
        for (name, quantity, key), lane in list(self.lanes.items()):
            if name == sensor:
                bucket = self._matching.bucket(concern.subject, quantity, key)
                self._matching.link(lane, bucket, concern)
                self._settling.all_of(lane, bucket)

    def take_changes(self) -> Records:
        """Return what changed since the last call, later rows over earlier ones of the same id."""
        return self._settling.take_changes()

    # -- how long things are held -----------------------------------------------------------

    def expire(self, received_before: float) -> None:
        """Let go of what arrived before a time; pairs stay, unpaired readings are counted."""
        leaving = self.references.arrived_before(received_before)
        for name, lane in list(self.lanes.items()):
            rules = self._matching.rules[lane.series]
            gone, unpaired = expire_lane(
                lane, received_before, rules, leaving, self._settling.makes_the_same
            )
            self.readings -= gone
            self.expired_unpaired += unpaired
            if not lane.times and not lane.slots:
                self._matching.close_lane(name, lane)
        for time in [time for time in self._arrivals if time < received_before]:
            del self._arrivals[time]
        self.references.expire(leaving, received_before)
        for bucket, names in by_bucket(leaving).items():
            forget_all(bucket, names)
            self._matching.touch(bucket)
        self._matching.drop_empty_buckets()

    def recall(self, pairs: Records, standing: Int, names: Sequence[tuple[str, str]]) -> None:
        """Give the references held the pairs they made, as a journal knows them, and no others.

        ``standing`` are the places among ``pairs`` of all that stand, in event order, ``names`` the
        (sensor, quantity) of each series. To pair anew would not do: readings and references that
        are gone had their part in it.
        """
        self._matching.names.update(enumerate(names))
        held: dict[int, tuple[Identity, Held]] = {}
        for identity, each in self.references:
            if self.references.is_outdated(identity, each):
                self.references.let_go(identity)
                forget(each.reference, each.bucket, identity)
            else:
                held[digest(*identity)] = identity, each
        for lane in self.lanes.values():
            lane.slots.clear()
        made_by = pairs["reference_id"][standing]
        theirs = standing[np.isin(made_by, np.array([*held], dtype=np.uint64))]
        rows: dict[int, list[Row]] = {}
        for row in some_rows(pairs, theirs).tolist():
            rows.setdefault(row[REFERENCE_ID], []).append(row)
        for name, made in rows.items():
            self._give_back(*held[name], made)

    def oldest_readings(self) -> dict[int, float]:
        """Return the event time, s UTC, of the oldest reading that is held of each series."""
        found: dict[int, float] = {}
        for lane in self.lanes.values():
            if lane.times:
                time = lane.reading(0).time
                found[lane.series] = min(time, found.get(lane.series, time))
        return found

    def oldest(self, share: float) -> float:
        """Return the time of arrival below which ``share`` of all that is held arrived."""
        return oldest_arrival(self._arrivals + Counter(self.references.arrivals()), share)

    # -- what is known ----------------------------------------------------------------------

    def rules_of_series(self, series: int) -> Rules:
        """Return the rules by which a series that has sent a reading is paired."""
        return self._matching.rules[series]

    def take_touched(self) -> set[int]:
        """Return the series whose references are others than at the last call."""
        return self._matching.take_touched()

    def availability(self, series: int, first: float) -> float:
        """Return the share of the references held that came with a usable reading of a series.

        Counted from ``first``, the time of its first reading, on; NaN if none concerns it.
        """
        return self._matching.availability(series, first)

    def made_in(self, series: int) -> Iterator[tuple[Reference, Row]]:
        """Yield the pairs of a series whose references are held, each with its reference."""
        for lane in self._matching.lanes_of(series):
            for identity, slot in lane.slots.items():
                held = self.references.get(identity)
                if held is not None:
                    yield from ((held.reference, row) for row in slot.rows)

    def made_of(self, name: str) -> Iterator[tuple[Reference, Row]]:
        """Yield the pairs of the references held whose key or identity is ``name``."""
        for identity, held in self.references:
            if name in (held.reference.key, held.reference.identity):
                for lane in held.bucket.lanes:
                    slot = lane.slots.get(identity)
                    if slot is not None:
                        yield from ((held.reference, row) for row in slot.rows)

    # -- inside -----------------------------------------------------------------------------

    def _stand(self, identity: Identity, held: Held, made: Sequence[Row] = ()) -> None:
        """Let a reference stand with the pairs it made before; pair it if it is not void."""
        self.references.keep(identity, held)
        if not held.reference.void:
            self._matching.touch(held.bucket)
            at = held.bucket.insert(held.reference, identity)
            if made:
                self._give_back(identity, held, made)
            self._settling.around_reference(held.bucket, at)

    def _revise_let_go(
        self, came: Reference, stands: Reference, identity: Identity
    ) -> list[Row] | None:
        """Revise the pairs of a reference that was let go of, and return those that stand.

        Returns None if what came was outdone before.
        """
        if not came.identity and not came.revision:
            return []
        if self.references.revision_let_go(identity) >= came.revision:
            return None
        rows = [revised(row, stands) for row in self.references.pairs_let_go(identity).tolist()]
        self.corrections += bool(rows)
        self._settling.say(rows)
        return [] if stands.void else rows

    def _give_back(self, identity: Identity, held: Held, rows: Iterable[Row]) -> None:
        """Let a reference have the pairs that it made before, each in the lane it is of."""
        lanes: list[Lane] = []
        for row in rows:
            name = (*self._matching.names[row[0]], held.reference.key if self._by_key else "")
            lane = self._matching.lanes.get(name) or self._matching.open_lane(name, row[0])
            if any(link.bucket is held.bucket for link in lane.links):
                lane.slots.setdefault(identity, Slot([])).rows.append(row)
                apart = abs(row[2] - lane.lag_seconds - held.reference.time)
                lane.apart_seconds = max(lane.apart_seconds, apart)
                lanes.append(lane)
        for lane in lanes:
            rules, slot = self._matching.rules[lane.series], lane.slots[identity]
            slot.frozen = is_frozen(lane, identity, slot, rules, self._settling.makes_the_same)
