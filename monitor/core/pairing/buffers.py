"""Where readings and references wait for each other: lanes and buckets, both in event order.

Rules of this file: a bucket holds the references that agree in quantity and match key, a lane
the readings of one series that may pair with them. Both lists are sorted by (time, content), so
their order is a function of what they hold and never of how it arrived.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from monitor.core.model import (
    NAN,
    Float,
    Int,
    Reading,
    Reference,
)
from monitor.core.pairing.observations import is_plain

_encode: Final = msgspec.msgpack.Encoder().encode
_BLANK: Final = blake2b(digest_size=8)
_WORD: Final = (1 << 64) - 1

Identity = tuple[str, ...]
Near = tuple[float, float, float]  # a plain reading: its time, value and u
LaneName = tuple[str, str, str]  # sensor, quantity, key
Row = tuple[
    int, int, float, float, float, float, float, float, float, float, float, int, float, bool
]  # one pair: the places are those of PAIR
REFERENCE_ID: Final = 11  # place of the reference's identity in a row
CRPS: Final = 12  # place of the CRPS of the stated distribution in a row
REMOVED: Final = 13  # place of the flag in a row


def digest(*parts: object) -> int:
    """Return a 64-bit number that names ``parts`` the same way in every process."""
    state = _BLANK.copy()  # in two thirds of the time of a new one
    state.update(_encode(parts))
    return int.from_bytes(state.digest(), "little")


def combine(one: int, other: int) -> int:
    """Return a 64-bit number that names the ordered pair of two such numbers."""
    mixed = (one * 0x9E3779B97F4A7C15 + other) & _WORD
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    return mixed ^ (mixed >> 27)


def reading_digest(reading: Reading) -> int:
    """Return the identity of a reading: its sequence number at its time, else its content."""
    if reading.sequence:
        return digest(reading.sensor, reading.quantity, reading.time, reading.sequence)
    return digest(reading)


def reference_identity(reference: Reference) -> Identity:
    """Return what names a reference over its revisions: its own identity, else key and time."""
    if reference.identity:
        return (reference.subject, reference.quantity, reference.identity)
    return (reference.subject, reference.quantity, reference.key, repr(reference.time))


def same_content(one: Reading | Reference, other: Reading | Reference) -> bool:
    """Return whether two observations are equal in every field, NaN being equal to NaN."""
    return _encode(one) == _encode(other)


def same_reading(one: Reading, other: Reading) -> bool:
    """Return whether two readings of one series at one time are the same message."""
    if one.sequence or other.sequence:
        return one.sequence == other.sequence
    return same_content(one, other)


class Slot(msgspec.Struct, eq=False, gc=False):
    """The pairs that one reference has made in one lane.

    ``frozen`` once a reading it used is gone: then only the reference's own revisions change it.
    """

    rows: list[Row]
    frozen: bool = False


class Scope:
    """The times, in order, of references whatever their key, and the series they concern."""

    __slots__ = ("series", "times")

    def __init__(self) -> None:
        self.times: list[float] = []
        self.series: set[int] = set()


class Bucket:
    """References that agree in quantity and match key, in event order, and the lanes they serve.

    Buckets that differ in their key alone share a ``scope``; ``digest`` names the bucket.
    ``named`` once a reference said what measured it. ``taken`` is the time of the reading that the
    last reference pairs with in the only lane, where that is known without a look: else NaN.
    """

    __slots__ = (
        "digest",
        "digests",
        "identities",
        "lanes",
        "named",
        "references",
        "scope",
        "span_seconds",
        "taken",
        "times",
    )

    def __init__(self, digest: int, scope: Scope) -> None:
        self.digest = digest
        self.scope = scope
        self.times: list[float] = []
        self.references: list[Reference] = []
        self.identities: list[Identity] = []
        self.digests: list[int] = []
        self.lanes: list[Lane] = []
        self.named = False
        self.taken = NAN
        self.span_seconds = 0.0  # how far a reference's interval reaches from its time, at most

    def insert(self, reference: Reference, identity: Identity) -> int:
        """Put a reference in its place and return the place."""
        time, times = reference.time, self.times
        if not times or time > times[-1]:
            self.append(reference, identity)
            return len(times) - 1
        place = bisect_left(times, time)
        while place < len(times) and times[place] == time and self.identities[place] < identity:
            place += 1
        times.insert(place, time)
        insort(self.scope.times, time)
        self.references.insert(place, reference)
        self.identities.insert(place, identity)
        self.digests.insert(place, digest(*identity))
        self._note(reference)
        return place

    def append(self, reference: Reference, identity: Identity) -> None:
        """Put a reference that is later than all at the end."""
        time, scope = reference.time, self.scope.times
        self.times.append(time)
        if scope and time < scope[-1]:
            insort(scope, time)
        else:
            scope.append(time)
        self.references.append(reference)
        self.identities.append(identity)
        self.digests.append(digest(*identity))
        self._note(reference)

    def _note(self, reference: Reference) -> None:
        """Note what a reference that came means for those it concerns."""
        self.taken = NAN
        if reference.reference_id:
            self.named = True
        for lane in self.lanes:
            lane.meet(reference.time)
        if reference.start < reference.end:
            before, after = reference.time - reference.start, reference.end - reference.time
            self.span_seconds = max(self.span_seconds, abs(before), abs(after))

    def find(self, reference: Reference, identity: Identity) -> int:
        """Return the place of a reference that is here."""
        place = bisect_left(self.times, reference.time)
        while self.identities[place] != identity:
            place += 1
        return place

    def remove_first(self, count: int) -> set[Identity]:
        """Take the first so many references out, and return who they were."""
        self.taken = NAN
        scope, times = self.scope.times, self.times[:count]
        if scope[:count] == times:
            del scope[:count]
        else:
            for time in times:
                del scope[bisect_left(scope, time)]
        gone = set(self.identities[:count])
        for column in (self.times, self.references, self.identities, self.digests):
            del column[:count]
        return gone

    def remove(self, place: int) -> None:
        """Take the reference at ``place`` out."""
        self.taken = NAN
        times = self.scope.times
        del times[bisect_left(times, self.times[place])]
        for column in (self.times, self.references, self.identities, self.digests):
            del column[place]


class Link(NamedTuple):
    """When, and how near, the references of a bucket concern a lane."""

    bucket: Bucket
    start: float = -float("inf")
    end: float = float("inf")
    distance_km: float = 0.0


def covered(links: Sequence[Link], first: float) -> int:
    """Count the references since ``first`` that links concern, those of any key, each once."""
    if len(links) == 1:
        return _covered(links, first)
    spans: dict[int, list[Link]] = {}
    for link in links:
        spans.setdefault(id(link.bucket.scope), []).append(link)
    return sum(
        _covered(sorted(each, key=lambda link: link.start), first) for each in spans.values()
    )


def _covered(links: Sequence[Link], first: float) -> int:
    """Do the same with links of one scope, in the order of their starts."""
    times, count, place = links[0].bucket.scope.times, 0, 0
    for link in links:
        begin = max(place, bisect_left(times, max(link.start, first)))
        place = max(begin, len(times) if link.end == math.inf else bisect_right(times, link.end))
        count += place - begin
    return count


class Fronts:
    """What a reading must be held against when it comes: one number a lane, as columns.

    ``series`` is the lane's own; ``newest`` the time of its newest reading. A reading touches no
    reference if it is newer than all, and the one before it is not before ``until``. ``fresh``
    counts the readings of a lane that are not in it yet.
    """

    def __init__(self) -> None:
        self.size = 0
        self._free: list[int] = []
        self.series: Int = np.zeros(0, dtype=np.int64)
        self.newest: Float = np.zeros(0)
        self.until: Float = np.zeros(0)
        self.fresh: Int = np.zeros(0, dtype=np.int64)

    def open(self, series: int) -> int:
        """Return the number of a new lane of a series."""
        if not self._free:
            more = max(64, self.size // 2)
            self._free = list(range(self.size + more - 1, self.size - 1, -1))
            self.size += more
            for name in ("series", "newest", "until", "fresh"):
                column = getattr(self, name)
                setattr(self, name, np.concatenate((column, np.zeros(more, column.dtype))))
        number = self._free.pop()
        self.series[number], self.fresh[number] = series, 0
        self.newest[number] = self.until[number] = -math.inf
        return number

    def close(self, number: int) -> None:
        """Give a number back."""
        self._free.append(number)


class Lane:
    """Readings of one series in event order; of one key where keys must agree.

    ``times`` are the readings' times less the series' lag: when a reference would have been taken.
    ``whole`` holds those that state more than a value and u, and nothing before the first of them:
    an object each would be ten times the memory. ``is_plain`` says whether there may be others.
    A reading newer than all here touches only references that are later than the one before it less
    ``reach_seconds``. ``in_order`` while what is here came in the order of its times. ``front`` is
    its number in ``fronts``. ``apart_seconds`` is how far a pair's reading lies from its reference
    at most, where a journal gave the pair back: other rules may have made it.
    """

    __slots__ = (
        "apart_seconds",
        "digest",
        "front",
        "fronts",
        "in_order",
        "is_plain",
        "lag_seconds",
        "links",
        "name",
        "reach_seconds",
        "received",
        "series",
        "slots",
        "times",
        "until",
        "us",
        "values",
        "whole",
    )

    def __init__(
        self,
        series: int,
        name: LaneName,
        lag_seconds: float,
        reach_seconds: float,
        fronts: Fronts,
    ) -> None:
        self.series = series
        self.name = name[:2]
        self.is_plain = lag_seconds == 0.0 and not name[2]
        self.lag_seconds = lag_seconds
        self.reach_seconds = reach_seconds
        self.fronts = fronts
        self.front = fronts.open(series)
        self.until = -math.inf  # as in fronts
        self.in_order = True
        self.apart_seconds = 0.0
        self.digest = digest(name[0])
        self.links: list[Link] = []
        self.times = array("d")
        self.values = array("d")
        self.us = array("d")
        self.received = array("d")
        self.whole: list[Reading | None] = []
        self.slots: dict[Identity, Slot] = {}

    def insert(self, time: float, reading: Reading, received: float) -> int:
        """Put a reading in its place and return the place; -1 if it is here already."""
        times = self.times
        first = place = bisect_left(times, time)
        last = bisect_right(times, time, lo=first)
        if first < last:
            if any(same_reading(reading, self.reading(at)) for at in range(first, last)):
                return -1
            mine = _encode(reading)
            while place < last and _encode(self.reading(place)) < mine:
                place += 1
        self.in_order = self.in_order and place == len(times)
        times.insert(place, time)
        self.fronts.newest[self.front] = times[-1]
        self.values.insert(place, reading.value)
        self.us.insert(place, reading.u)
        self.received.insert(place, received)
        is_whole = not (self.is_plain and is_plain(reading))
        if is_whole and not self.whole:
            self.whole = [None] * (len(times) - 1)
        if is_whole or self.whole:
            self.whole.insert(place, reading if is_whole else None)
        return place

    def append(self, time: float, value: float, u: float, received: float) -> None:
        """Put a plain reading that is newer than all at the end."""
        self.times.append(time)
        self.values.append(value)
        self.us.append(u)
        self.received.append(received)
        if self.whole:
            self.whole.append(None)
        self.fronts.newest[self.front] = time

    def extend(self, times: bytes, values: bytes, us: bytes, received: bytes) -> None:
        """Put plain readings at the end, in the order of their times; columns of doubles."""
        self.times.frombytes(times)
        self.values.frombytes(values)
        self.us.frombytes(us)
        self.received.frombytes(received)
        if self.whole:
            self.whole += [None] * (len(times) // 8)

    def reading(self, at: int) -> Reading:
        """Return the reading at a place."""
        whole = self.whole[at] if self.whole else None
        return whole or Reading(*self.name, self.times[at], self.values[at], self.us[at])

    def drop(self, places: Sequence[int]) -> None:
        """Take the readings at ``places`` out; fastest where they are a range from 0 on."""
        columns: list[Any] = [self.times, self.values, self.us, self.received]
        if self.whole:
            columns.append(self.whole)
        for column in columns:
            if isinstance(places, range) and places.start == 0:
                del column[: places.stop]
            else:
                for place in sorted(places, reverse=True):
                    del column[place]
        self.fronts.newest[self.front] = self.times[-1] if self.times else -math.inf

    def is_awaited(self, before: float) -> bool:
        """Return whether a reading newer than all, the one before it at a time, may pair."""
        return before < self.until

    def meet(self, reference: float) -> None:
        """Note the time of a reference that concerns this lane."""
        until = reference + self.reach_seconds
        if until > self.until:
            self.until = self.fronts.until[self.front] = until

    def link(self, bucket: Bucket, time: float) -> Link | None:
        """Return the nearest link by which a reference at ``time`` concerns this lane."""
        if len(self.links) == 1:
            only = self.links[0]
            return only if only.bucket is bucket and only.start <= time <= only.end else None
        best = None
        for link in self.links:
            concerns = link.bucket is bucket and link.start <= time <= link.end
            if concerns and (best is None or link.distance_km < best.distance_km):
                best = link
        return best


def nearest(times: Sequence[float], time: float) -> int:
    """Return the place in sorted ``times`` (not empty) nearest to ``time``; the earlier on a tie.

    Among equal times the first place is returned.
    """
    after = bisect_left(times, time)
    if after == len(times):
        return bisect_left(times, times[-1])
    if after and time - times[after - 1] <= times[after] - time:
        return bisect_left(times, times[after - 1])
    return after


def is_nearest(times: Sequence[float], at: int, time: float) -> bool:
    """Return whether ``nearest(times, time)`` is ``at``: it takes a look at the neighbours only."""
    own = times[at]
    if at and not (times[at - 1] < own and time - times[at - 1] > own - time):
        return False
    if time <= own or at == len(times) - 1:
        return True
    later = times[at + 1]
    return time - own <= later - time if later > own else nearest(times, time) == at
