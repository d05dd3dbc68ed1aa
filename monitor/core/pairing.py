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
from typing import Final, Literal, NamedTuple

import msgspec
import numpy as np

from monitor.core.holding import expire_lane, forget, is_frozen, oldest_arrival
from monitor.core.lanes import (
    CRPS,
    REFERENCE_ID,
    REMOVED,
    Bucket,
    Identity,
    Lane,
    Link,
    Row,
    Scope,
    Slot,
    covered,
    digest,
    reference_identity,
)
from monitor.core.model import NAN, Reading, Records, Reference, pair_records
from monitor.core.modes import MARGIN_SECONDS, MODES, Mode, Place, Rules, neighbours
from monitor.core.past import Memory, Past, names_nobody
from monitor.core.references import Held, References

Added = Literal["accepted", "duplicate"]
MatchKey = tuple[str, str, str]


class Taken(NamedTuple):
    """What a batch came to: places of those accepted; rows and times of the readings."""

    accepted: list[int]
    rows: list[int]
    times: list[float]


class Concern(NamedTuple):
    """The references of ``subject`` concern a sensor, from ``start`` to ``end`` (s UTC)."""

    subject: str
    start: float = -float("inf")
    end: float = float("inf")
    distance_km: float = 0.0


class Pairing:
    """Holds readings and references until the other side comes, and for corrections after that.

    ``rules_of(sensor, quantity)`` gives the rules of a series; ``match_on`` names what must agree
    besides the quantity: ``subject``, ``key``, both or neither. ``concerns_of(sensor)`` names the
    subjects besides the sensor itself whose references are its own; ``past`` knows the pairs and
    revisions of references that are no longer held.
    """

    def __init__(
        self,
        rules_of: Callable[[str, str], Rules],
        match_on: frozenset[str],
        concerns_of: Callable[[str], Iterable[Concern]] = lambda _sensor: (),
        past: Past | None = None,
    ) -> None:
        self._rules_of: Final = rules_of
        self._concerns_of: Final = concerns_of
        self._by_subject: Final = "subject" in match_on
        self._by_key: Final = "key" in match_on
        self.lanes: dict[tuple[str, str, str], Lane] = {}
        self.buckets: dict[MatchKey, Bucket] = {}
        self.references: Final = References(past if past is not None else Memory())
        self._scopes: dict[tuple[str, str], Scope] = {}
        self._touched: set[Scope] = set()
        self._lanes_of: dict[int, dict[Lane, None]] = {}
        self._rules: dict[int, Rules] = {}
        self._modes: dict[int, Mode] = {}
        self._names: dict[int, tuple[str, str]] = {}
        self._changes: list[Row] = []
        self._removed: list[Row] = []
        self._added: list[Row] = []
        self.readings = 0
        self._arrivals: Counter[float] = Counter()  # how many of the readings held came when
        self.corrections = 0
        self.expired_unpaired = 0

    # -- what comes in ----------------------------------------------------------------------

    def add_reading(self, reading: Reading, series: int, received: float) -> Added:
        """Take one reading of ``series``; its changes wait in :meth:`take_changes`."""
        if self.take_newest((reading,), 0, received, Taken([], [], [])):
            return "accepted"
        lane = self.lane_of(reading) or self.open_lane(reading, series)
        return self.take_reading(lane, reading, received)

    def lane_of(self, reading: Reading) -> Lane | None:
        """Return the lane of a reading, None if it is the first of its series (and key)."""
        key = reading.key if self._by_key else ""
        return self.lanes.get((reading.sensor, reading.quantity, key))

    def open_lane(self, reading: Reading, series: int) -> Lane:
        """Return a new lane for a reading that has none."""
        key = reading.key if self._by_key else ""
        return self._open_lane((reading.sensor, reading.quantity, key), series)

    def take_reading(self, lane: Lane, reading: Reading, received: float) -> Added:
        """Take one reading into its lane."""
        at = lane.insert(reading.time - lane.lag_seconds, reading, received)
        if at < 0:
            return "duplicate"
        self._hold(1, received)
        self._settle_reading(lane, at)
        return "accepted"

    def take_newest(
        self, observations: Sequence[object], first: int, received: float, taken: Taken
    ) -> int:
        """Take readings from a place on that are newer than all in their lanes: most are.

        Returns the place of the first observation that is anything else, for others to take.
        """
        lanes, by_key = self.lanes, self._by_key
        add_row, add_time = taken.rows.append, taken.times.append
        for place in range(first, len(observations)):
            observation = observations[place]
            if type(observation) is not Reading:
                break
            key = observation.key if by_key else ""
            lane = lanes.get((observation.sensor, observation.quantity, key))
            if lane is None:
                break
            time, times = observation.time, lane.times
            if lane.lag_seconds:
                time -= lane.lag_seconds
            before = times[-1] if times else -inf
            if not time > before:
                break
            times.append(time)
            lane.readings.append(observation)
            lane.received.append(received)
            add_row(lane.series)
            add_time(observation.time)
            if lane.latest_reference >= before - lane.reach_seconds:
                self._settle_reading(lane, len(times) - 1)
        else:
            place = len(observations)
        if place > first:
            self._hold(place - first, received)
        taken.accepted.extend(range(first, place))
        return place

    def _hold(self, readings: int, received: float) -> None:
        self.readings += readings
        self._arrivals[received] += readings

    def _settle_reading(self, lane: Lane, at: int) -> None:
        """Settle the references that the reading at a place of a lane may touch."""
        mode, rules = self._modes[lane.series], self._rules[lane.series]
        for link in lane.links:
            if link.bucket.times:
                self._settle(
                    lane, link.bucket, mode.touched_by_reading(lane, link.bucket, at, rules)
                )
                self._note()

    def add_reference(
        self, reference: Reference, received: float, *, recalled: bool = False
    ) -> Added:
        """Take one reference or a revision of one; the highest revision stands.

        ``recalled`` says that it is not new: a journal gives back what it kept.
        """
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
        known = self.references.get(identity)
        outdone = () if stands is came else (came,)
        if known is None:
            made = [] if recalled else self._revise_let_go(came, stands, identity)
            if made is None:
                return "duplicate"
            self._stand(identity, Held(stands, self._bucket_of(stands), received, outdone), made)
            return "accepted"
        if known.knows(came):
            return "duplicate"
        if _rank(stands) <= _rank(known.reference):
            self.references.keep(identity, known._replace(outdone=(*known.outdone, came)))
            return "accepted"
        self.corrections += not recalled
        outdone = (*known.outdone, known.reference, *outdone)
        if _in_place(known.reference, stands):
            self._revise(identity, Held(stands, known.bucket, received, outdone))
        else:
            self._withdraw(known, identity)
            self._stand(identity, Held(stands, self._bucket_of(stands), received, outdone))
        return "accepted"

    def add_concern(self, sensor: str, concern: Concern) -> None:
        """From now on the references of a subject concern a sensor, whenever they came."""
        for (name, quantity, key), lane in list(self.lanes.items()):
            if name == sensor:
                bucket = self._bucket(concern.subject, quantity, key)
                self._link(lane, Link(bucket, *concern[1:]))
                self._settle(lane, bucket, range(len(bucket.times)))
                self._note()

    def take_changes(self) -> Records:
        """Return what changed since the last call, later rows over earlier ones of the same id."""
        rows, self._changes = self._changes, []
        return pair_records(rows)

    # -- how long things are held -----------------------------------------------------------

    def expire(self, received_before: float) -> None:
        """Let go of what arrived before a time; pairs stay, unpaired readings are counted."""
        for name, lane in list(self.lanes.items()):
            rules = self._rules[lane.series]
            gone, unpaired = expire_lane(lane, received_before, rules, self._makes_the_same)
            self.readings -= gone
            self.expired_unpaired += unpaired
            if not lane.times and not lane.slots:
                self._close_lane(name, lane)
        for time in [time for time in self._arrivals if time < received_before]:
            del self._arrivals[time]
        for identity, held in self.references.expire(received_before):
            forget(held.reference, held.bucket, identity)
            self._touched.add(held.bucket.scope)
        for key, bucket in list(self.buckets.items()):
            if not bucket.times and not bucket.lanes:
                del self.buckets[key]
        used = {key[:2] for key in self.buckets}
        self._scopes = {key: scope for key, scope in self._scopes.items() if key in used}

    def recall(self, standing: Records, names: Sequence[tuple[str, str]]) -> None:
        """Give the references held the pairs they made, as a journal knows them, and no others.

        ``standing`` are all pairs that stand, ``names`` the (sensor, quantity) of each series. To
        pair anew would not do: readings and references that are gone had their part in it.
        """
        self._names.update(enumerate(names))
        held: dict[int, tuple[Identity, Held]] = {}
        for identity, each in self.references:
            if self.references.is_outdated(identity, each):
                self.references.let_go(identity)
                forget(each.reference, each.bucket, identity)
            else:
                held[digest(*identity)] = identity, each
        for lane in self.lanes.values():
            lane.slots.clear()
        theirs = np.isin(standing["reference_id"], np.array([*held], dtype=np.uint64))
        rows: dict[int, list[Row]] = {}
        for row in standing[theirs].tolist():
            rows.setdefault(row[REFERENCE_ID], []).append(row)
        for name, made in rows.items():
            self._give_back(*held[name], made)

    def oldest(self, share: float) -> float:
        """Return the time of arrival below which ``share`` of all that is held arrived."""
        return oldest_arrival(self._arrivals + Counter(self.references.arrivals()), share)

    # -- what is known ----------------------------------------------------------------------

    def rules_of_series(self, series: int) -> Rules:
        """Return the rules by which a series that has sent a reading is paired."""
        return self._rules[series]

    def take_touched(self) -> set[int]:
        """Return the series whose references are others than at the last call."""
        touched, self._touched = self._touched, set()
        return set().union(*(scope.series for scope in touched))

    def availability(self, series: int, first: float) -> float:
        """Return the share of the references held that came with a usable reading of a series.

        Counted from ``first``, the time of its first reading, on; NaN if none concerns it.
        """
        lanes = self._lanes_of.get(series)
        if not lanes:
            return NAN
        paired = sum(len(lane.slots) for lane in lanes)
        due = covered(next(iter(lanes)).links, first - self._rules[series].lag_seconds)
        return paired / max(due, paired) if due or paired else NAN

    def made_in(self, series: int) -> Iterator[tuple[Reference, Row]]:
        """Yield the pairs of a series whose references are held, each with its reference."""
        for lane in self._lanes_of.get(series, ()):
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

    def _open_lane(self, name: tuple[str, str, str], series: int) -> Lane:
        sensor, quantity, key = name
        self._names[series] = (sensor, quantity)
        rules = self._rules_of(sensor, quantity)
        reach = MARGIN_SECONDS if MODES[rules.mode].is_local else inf
        lane = self.lanes[name] = Lane(series, sensor, rules.lag_seconds, reach)
        self._lanes_of.setdefault(series, {})[lane] = None
        self._rules[series], self._modes[series] = rules, MODES[rules.mode]
        for concern in (Concern(sensor), *self._concerns_of(sensor)):
            bucket = self._bucket(concern.subject, quantity, key)
            self._link(lane, Link(bucket, *concern[1:]))
        return lane

    def _link(self, lane: Lane, link: Link) -> None:
        if link not in lane.links:
            lane.links.append(link)
        if lane not in link.bucket.lanes:
            link.bucket.lanes.append(lane)
            latest = link.bucket.times[-1] if link.bucket.times else -inf
            lane.latest_reference = max(lane.latest_reference, latest)
            link.bucket.scope.series.add(lane.series)
            self._touched.add(link.bucket.scope)

    def _close_lane(self, name: tuple[str, str, str], lane: Lane) -> None:
        for link in lane.links:
            if lane in link.bucket.lanes:
                link.bucket.lanes.remove(lane)
        del self.lanes[name]
        del self._lanes_of[lane.series][lane]

    def _bucket_of(self, reference: Reference) -> Bucket:
        return self._bucket(reference.subject, reference.quantity, reference.key)

    def _bucket(self, subject: str, quantity: str, key: str) -> Bucket:
        match = (quantity, subject if self._by_subject else "", key if self._by_key else "")
        bucket = self.buckets.get(match)
        if bucket is None:
            scope = self._scopes.setdefault(match[:2], Scope())
            bucket = self.buckets[match] = Bucket(digest(*match), scope)
        return bucket

    def _settle_near(self, bucket: Bucket, at: int) -> None:
        """Settle the reference at a place and those it competes with, in every lane."""
        for lane in bucket.lanes:
            mode = self._modes[lane.series]
            self._settle(lane, bucket, mode.touched_by_reference(lane, bucket, at))
        self._note()

    def _settle(self, lane: Lane, bucket: Bucket, places: Iterable[int]) -> None:
        """Make the pairs of some references in one lane what they should be."""
        rules, pairs_of = self._rules[lane.series], self._modes[lane.series].pairs
        for at in places:
            identity = bucket.identities[at]
            slot = lane.slots.get(identity)
            if slot is not None and slot.frozen:
                continue
            link = lane.link(bucket, bucket.times[at])
            rows = pairs_of(Place(lane, link, at, rules)) if link is not None else []
            if rows or slot is not None:
                self._replace(lane, identity, rows)

    def _makes_the_same(self, lane: Lane, identity: Identity) -> bool:
        """Return whether what is held makes the pairs that a reference has in a lane."""
        held = self.references.get(identity)
        if held is None:
            return False
        at = held.bucket.find(held.reference, identity)
        link = lane.link(held.bucket, held.bucket.times[at])
        rules, pairs_of = self._rules[lane.series], self._modes[lane.series].pairs
        rows = pairs_of(Place(lane, link, at, rules)) if link is not None else []
        return repr(rows) == repr(lane.slots[identity].rows)

    def _replace(self, lane: Lane, identity: Identity, rows: list[Row]) -> None:
        slot = lane.slots.get(identity)
        if slot is None:
            if rows:
                lane.slots[identity] = Slot(rows)
                self._added += rows
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

    def _stand(self, identity: Identity, held: Held, made: Sequence[Row] = ()) -> None:
        """Let a reference stand with the pairs it made before; pair it if it is not void."""
        self.references.keep(identity, held)
        if not held.reference.void:
            self._touched.add(held.bucket.scope)
            at = held.bucket.insert(held.reference, identity)
            if made:
                self._give_back(identity, held, made)
            self._settle_near(held.bucket, at)

    def _revise(self, identity: Identity, held: Held) -> None:
        """Give a reference that stays in its place its new value, in every pair it made."""
        self.references.keep(identity, held)
        at = held.bucket.find(held.reference, identity)
        held.bucket.references[at] = held.reference
        for lane in held.bucket.lanes:
            slot = lane.slots.get(identity)
            if slot is not None:
                rows = [_revised(row, held.reference) for row in slot.rows]
                if any(row[CRPS] == row[CRPS] for row in slot.rows):
                    rows = self._rescored(lane, held.bucket, at, rows)
                self._replace(lane, identity, rows)
        self._note()

    def _rescored(self, lane: Lane, bucket: Bucket, at: int, rows: list[Row]) -> list[Row]:
        """Return pairs with the CRPS of their readings' distributions, where these are held."""
        link = lane.link(bucket, bucket.times[at])
        rules, pairs_of = self._rules[lane.series], self._modes[lane.series].pairs
        made = pairs_of(Place(lane, link, at, rules)) if link is not None else []
        known = {repr(row[:CRPS]): row for row in made}
        return [known.get(repr(row[:CRPS]), row) for row in rows]

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
        rows = [_revised(row, stands) for row in self.references.pairs_let_go(identity).tolist()]
        self.corrections += bool(rows)
        self._changes += rows
        return [] if stands.void else rows

    def _give_back(self, identity: Identity, held: Held, rows: Iterable[Row]) -> None:
        """Let a reference have the pairs that it made before, each in the lane it is of."""
        lanes: list[Lane] = []
        for row in rows:
            name = (*self._names[row[0]], held.reference.key if self._by_key else "")
            lane = self.lanes.get(name) or self._open_lane(name, row[0])
            if any(link.bucket is held.bucket for link in lane.links):
                lane.slots.setdefault(identity, Slot([])).rows.append(row)
                lanes.append(lane)
        for lane in lanes:
            rules, slot = self._rules[lane.series], lane.slots[identity]
            slot.frozen = is_frozen(lane, identity, slot, rules, self._makes_the_same)

    def _withdraw(self, known: Held, identity: Identity) -> None:
        """Take a reference out of its bucket, with its pairs, and let its neighbours settle."""
        if known.reference.void:
            return
        bucket = known.bucket
        at = bucket.find(known.reference, identity)
        bucket.remove(at)
        self._touched.add(bucket.scope)
        for lane in bucket.lanes:
            self._replace(lane, identity, [])
        self._note()
        for near in (at - 1, at):
            if 0 <= near < len(bucket.times):
                for lane in bucket.lanes:
                    self._settle(lane, bucket, neighbours(bucket, near))
        self._note()


def _revised(row: Row, reference: Reference) -> Row:
    """Return a pair with the value that a revision of its reference gives it, without a CRPS."""
    if reference.void:
        return (*row[:REMOVED], True)
    return (*row[:8], reference.value, reference.u, *row[10:CRPS], NAN, False)


def _rank(reference: Reference) -> tuple[object, ...]:
    """Order of the revisions of one reference; on equal revisions the content decides."""
    return (reference.revision, reference.void, msgspec.msgpack.encode(reference))


def _in_place(old: Reference, new: Reference) -> bool:
    """Return whether a revision changes the reference's value alone."""
    places = [(each.time, each.key, repr(each.start), repr(each.end)) for each in (old, new)]
    return not (old.void or new.void) and places[0] == places[1]


def _same(one: Row | None, other: Row) -> bool:
    """Return whether two rows are equal, NaN being equal to NaN."""
    return one is not None and (one == other or repr(one) == repr(other))
