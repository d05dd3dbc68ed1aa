"""Where readings and references wait for each other: lanes and buckets, both in event order.

Rules of this file: a bucket holds the references that agree in quantity and match key, a lane
the readings of one series that may pair with them. Both lists are sorted by (time, content), so
their order is a function of what they hold and never of how it arrived.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from hashlib import blake2b
from typing import Final

import msgspec

from monitor.core.model import Reading, Reference

_encode: Final = msgspec.msgpack.Encoder().encode

Identity = tuple[str, ...]
Row = tuple[int, int, float, float, float, float, float, float, float, float, float, int, bool]
REMOVED: Final = 12  # place of the flag in a row; the other places are those of PAIR


def digest(*parts: object) -> int:
    """Return a 64-bit number that names ``parts`` the same way in every process."""
    return int.from_bytes(blake2b(_encode(parts), digest_size=8).digest(), "little")


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


class Slot:
    """The pairs that one reference has made in one lane.

    ``frozen`` once a reading it used is gone: then only the reference's own revisions change it.
    """

    __slots__ = ("frozen", "rows")

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.frozen = False


class Bucket:
    """References that agree in quantity and match key, in event order, and the lanes they serve."""

    __slots__ = ("identities", "lanes", "received", "references", "times")

    def __init__(self) -> None:
        self.times: list[float] = []
        self.references: list[Reference] = []
        self.identities: list[Identity] = []
        self.received: list[float] = []
        self.lanes: list[Lane] = []

    def insert(self, reference: Reference, identity: Identity, received: float) -> int:
        """Put a reference in its place and return the place."""
        place = bisect_left(self.times, reference.time)
        while place < len(self.times) and self.times[place] == reference.time:
            if self.identities[place] > identity:
                break
            place += 1
        self.times.insert(place, reference.time)
        self.references.insert(place, reference)
        self.identities.insert(place, identity)
        self.received.insert(place, received)
        return place

    def find(self, reference: Reference, identity: Identity) -> int:
        """Return the place of a reference that is here."""
        place = bisect_left(self.times, reference.time)
        while self.identities[place] != identity:
            place += 1
        return place

    def remove(self, place: int) -> None:
        """Take the reference at ``place`` out."""
        for column in (self.times, self.references, self.identities, self.received):
            del column[place]


class Lane:
    """Readings of one series in event order; of one key where keys must agree."""

    __slots__ = ("bucket", "readings", "received", "series", "slots", "times")

    def __init__(self, series: int, bucket: Bucket) -> None:
        self.series = series
        self.bucket = bucket
        self.times: list[float] = []
        self.readings: list[Reading] = []
        self.received: list[float] = []
        self.slots: dict[Identity, Slot] = {}

    def insert(self, reading: Reading, received: float) -> int:
        """Put a reading in its place and return the place; -1 if it is here already."""
        time, times = reading.time, self.times
        if not times or time > times[-1]:
            times.append(time)
            self.readings.append(reading)
            self.received.append(received)
            return len(times) - 1
        first = place = bisect_left(times, time)
        last = bisect_right(times, time, lo=first)
        if first < last:
            if any(same_reading(reading, other) for other in self.readings[first:last]):
                return -1
            mine = _encode(reading)
            while place < last and _encode(self.readings[place]) < mine:
                place += 1
        times.insert(place, time)
        self.readings.insert(place, reading)
        self.received.insert(place, received)
        return place


def nearest(times: list[float], time: float) -> int:
    """Return the place in sorted ``times`` (not empty) nearest to ``time``; the earlier on a tie.

    Among equal times the first place is returned.
    """
    after = bisect_left(times, time)
    if after == len(times):
        return bisect_left(times, times[-1])
    if after and time - times[after - 1] <= times[after] - time:
        return bisect_left(times, times[after - 1])
    return after
