"""Where readings and references wait for each other: one buffer for each side of a join.

Rules of this file: a :class:`ReferenceBuffer` holds the references that agree in quantity and match
key, a :class:`ReadingBuffer` the readings of one series that may pair with them. Both are sorted by
(time, content), so their order is a function of what they hold, never of how it arrived.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from monitor.core.model import NAN, Float, Reading, Reference
from monitor.core.pairing.identities import Identity, digest, encode, reference_identity
from monitor.core.pairing.matches import Match, Matches
from monitor.core.pairing.observations import Watermarks, is_plain
from monitor.core.pairing.series_rules import Rules

NearestReading = tuple[float, float, float]  # a plain reading: its time, value and u
BufferKey = tuple[str, str, str]  # sensor, quantity, match key


class Scope:
    """The times, in order, of references whatever their key, and the series they concern."""

    __slots__ = ("series", "times")

    def __init__(self) -> None:
        self.times = array("d")
        self.series: set[int] = set()


class Tally:
    """How many references all buffers together hold as columns alone."""

    __slots__ = ("plain",)

    def __init__(self) -> None:
        self.plain = 0


class ReferenceBuffer:
    """References that agree in quantity and match key, in event order.

    ``name`` is the subject, quantity and key of the plain references. ``full_references`` holds
    the others, as :class:`ReadingBuffer` does. ``reading_buffers`` are those joined to it. Buffers
    that differ only in their key share a ``scope``; ``digest`` names the buffer.
    ``has_reference_ids`` is true once a reference has stated what measured it. ``last_match_time``
    caches the time of the reading that the last reference is paired with, for a buffer joined to a
    single reading buffer: NaN where it must be looked up.
    """

    __slots__ = (
        "digest",
        "full_references",
        "has_reference_ids",
        "identities",
        "last_match_time",
        "name",
        "reading_buffers",
        "received",
        "scope",
        "span_seconds",
        "tally",
        "times",
        "us",
        "values",
    )

    def __init__(self, name: tuple[str, str, str], digest: int, scope: Scope, tally: Tally) -> None:
        self.name = name
        self.digest = digest
        self.scope = scope
        self.tally = tally
        self.times = array("d")
        self.values = array("d")
        self.us = array("d")
        self.received = array("d")
        self.identities = array("Q")
        self.full_references: list[Reference | None] = []
        self.reading_buffers: list[ReadingBuffer] = []
        self.has_reference_ids = False
        self.last_match_time = NAN
        self.span_seconds = 0.0  # the furthest that a reference's interval reaches from its time

    def is_plain(self, reference: Reference) -> bool:
        """Return whether the columns and the buffer's name hold all that a reference states."""
        return (
            not (reference.identity or reference.revision or reference.void)
            and not reference.reference_id
            and (reference.subject, reference.quantity, reference.key) == self.name
            and reference.start != reference.start
            and reference.end != reference.end
        )

    def insert(
        self, reference: Reference, identity: Identity, received: float, *, is_plain: bool
    ) -> int:
        """Insert a reference at its place and return the place.

        ``is_plain`` if the columns are to hold it alone.
        """
        time, times = reference.time, self.times
        if not times or time > times[-1]:
            self.append(reference, identity, received, is_plain=is_plain)
            return len(times) - 1
        place = bisect_left(times, time)
        if place < len(times) and times[place] == time:  # then the content decides
            mine, stop = reference_identity(reference), bisect_right(times, time)
            place = bisect_left(range(stop), mine, place, key=self._named)
        times.insert(place, time)
        insort(self.scope.times, time)
        self.values.insert(place, reference.value)
        self.us.insert(place, reference.u)
        self.received.insert(place, received)
        self.identities.insert(place, identity)
        self.last_match_time = NAN
        for readings in self.reading_buffers:
            readings.record_reference(time)
        self.tally.plain += is_plain
        if not is_plain or self.full_references:
            self._put_full(place, None if is_plain else reference)
        return place

    def _named(self, place: int) -> tuple[str, ...]:
        return reference_identity(self.reference(place))

    def extend(self, columns: Float, identities: Sequence[Identity]) -> None:
        """Append plain references that are later than all others, in event order.

        ``columns`` are their times, values, u and times of arrival.
        """
        scope = self.scope.times
        is_last = not scope or columns[0, 0] >= scope[-1]
        scope.frombytes(columns[0].tobytes())
        if not is_last:
            self.scope.times = array("d", sorted(scope))
        own = (self.times, self.values, self.us, self.received)
        for column, more in zip(own, columns, strict=True):
            column.frombytes(more.tobytes())
        self.identities.extend(identities)
        self.last_match_time = NAN
        for readings in self.reading_buffers:
            readings.record_reference(self.times[-1])
        self.tally.plain += len(identities)
        if self.full_references:
            self.full_references += [None] * len(identities)

    def append(
        self, reference: Reference, identity: Identity, received: float, *, is_plain: bool
    ) -> None:
        """Append a reference that is later than all others."""
        time, scope = reference.time, self.scope.times
        if scope and time < scope[-1]:
            insort(scope, time)
        else:
            scope.append(time)
        self.times.append(time)
        self.values.append(reference.value)
        self.us.append(reference.u)
        self.received.append(received)
        self.identities.append(identity)
        self.last_match_time = NAN
        for readings in self.reading_buffers:
            readings.record_reference(time)
        self.tally.plain += is_plain
        if not is_plain or self.full_references:
            self._put_full(len(self.times) - 1, None if is_plain else reference)

    def _put_full(self, place: int, reference: Reference | None) -> None:
        """Keep whole what the columns do not hold of a new reference; None if they hold it all."""
        if not self.full_references:
            self.full_references = [None] * (len(self.times) - 1)
        self.full_references.insert(place, reference)
        if reference is None:
            return
        if reference.reference_id:
            self.has_reference_ids = True
        if reference.start < reference.end:
            before, after = reference.time - reference.start, reference.end - reference.time
            self.span_seconds = max(self.span_seconds, abs(before), abs(after))

    def reference(self, at: int) -> Reference:
        """Return the reference at a place."""
        full_reference = self.full_references[at] if self.full_references else None
        subject, quantity, key = self.name
        return full_reference or Reference(
            subject, quantity, self.times[at], self.values[at], self.us[at], key
        )

    def references(self) -> Iterator[Reference]:
        """Yield all references, in event order."""
        return map(self.reference, range(len(self.times)))

    def places_named(self, name: str) -> list[int]:
        """Return the places of the references whose key or identity is ``name``."""
        if not self.full_references and name not in (self.name[2], ""):
            return []
        names = ((each.key, each.identity) for each in self.references())
        return [at for at, own in enumerate(names) if name in own]

    def place_of(self, time: float, identity: Identity) -> int:
        """Return the place of the reference of that time and identity, -1 if it is not held."""
        place = bisect_left(self.times, time)
        while place < len(self.times) and self.times[place] == time:
            if self.identities[place] == identity:
                return place
            place += 1
        return -1

    def replace(self, place: int, reference: Reference, received: float) -> None:
        """Put a whole reference at ``place``, of the same time and subject as the one there."""
        self.values[place], self.us[place] = reference.value, reference.u
        self.received[place] = received
        if self.full_references:
            self.tally.plain -= self.full_references.pop(place) is None
        else:
            self.tally.plain -= 1
        self.last_match_time = NAN
        self._put_full(place, reference)

    def remove(self, places: Sequence[int]) -> None:
        """Remove the references at ascending ``places``; fastest where they are the first."""
        self.last_match_time = NAN
        full_references, scope = self.full_references, self.scope.times
        times = array("d", [self.times[at] for at in places])
        if scope[: len(times)] == times:
            del scope[: len(times)]
        else:
            for time in times:
                del scope[bisect_left(scope, time)]
        columns: list[Any] = [self.times, self.values, self.us, self.received, self.identities]
        self.tally.plain -= len(places)
        if full_references:
            self.tally.plain += sum(full_references[at] is not None for at in places)
            columns.append(full_references)
        for column in columns:
            if places and places[-1] == len(places) - 1:
                del column[: len(places)]
            else:
                for at in reversed(places):
                    del column[at]


class Join(NamedTuple):
    """When (s UTC), and at what distance, the references of a buffer concern a reading buffer."""

    references: ReferenceBuffer
    start: float = -float("inf")
    end: float = float("inf")
    distance_km: float = 0.0


class ReadingBuffer:
    """Readings of one series, and of one key where keys must agree, in event order.

    ``times`` are the readings' times less the series' lag: when a matching reference was measured.
    ``full_readings`` holds the readings that state more than a value and u, and is empty until the
    first of them: an object for each reading would take ten times the memory. ``is_plain`` says
    whether plain readings may come through staging. A reading newer than all others can only affect
    references later than its predecessor less ``reach_seconds``. ``in_order`` is true while the
    times of arrival ascend with the times. ``watermark`` is the buffer's number in ``watermarks``.
    ``apart_seconds`` is the largest distance between reading and reference in the pairs restored
    from a journal, which other rules may have made.
    """

    __slots__ = (
        "apart_seconds",
        "digest",
        "full_readings",
        "in_order",
        "is_plain",
        "joins",
        "lag_seconds",
        "matches",
        "name",
        "reach_seconds",
        "received",
        "rules",
        "series",
        "times",
        "until",
        "us",
        "values",
        "watermark",
        "watermarks",
    )

    def __init__(
        self,
        series: int,
        name: BufferKey,
        rules: Rules,
        reach_seconds: float,
        watermarks: Watermarks,
    ) -> None:
        self.series = series
        self.name = name[:2]
        self.rules = rules
        self.lag_seconds = rules.lag_seconds
        self.is_plain = rules.lag_seconds == 0.0 and not name[2]
        self.reach_seconds = reach_seconds
        self.watermarks = watermarks
        self.watermark = watermarks.open(series)
        self.until = -math.inf  # as in watermarks
        self.in_order = True
        self.apart_seconds = 0.0
        self.digest = digest(name[0])
        self.joins: list[Join] = []
        self.times = array("d")
        self.values = array("d")
        self.us = array("d")
        self.received = array("d")
        self.full_readings: list[Reading | None] = []
        self.matches = Matches()

    def insert(self, time: float, reading: Reading, received: float) -> int:
        """Insert a reading at its place and return the place; -1 for a duplicate."""
        times = self.times
        first = place = last = len(times)
        if first and not time > times[-1]:
            first = place = bisect_left(times, time)
            last = bisect_right(times, time, lo=first)
        if first < last:  # of one time they are in the order of their content
            mine, all_of = encode(reading), range(len(times))
            place = bisect_left(all_of, mine, first, last, key=self._encoded)
            if reading.sequence:
                same = (self.reading(at).sequence for at in range(first, last))
                is_known = reading.sequence in same
            else:
                is_known = place < last and self._encoded(place) == mine
            if is_known:
                return -1
        self.in_order = self.in_order and place == len(times)
        times.insert(place, time)
        self.watermarks.newest[self.watermark] = times[-1]
        self.values.insert(place, reading.value)
        self.us.insert(place, reading.u)
        self.received.insert(place, received)
        is_whole = not (self.is_plain and is_plain(reading))
        if is_whole and not self.full_readings:
            self.full_readings = [None] * (len(times) - 1)
        if is_whole or self.full_readings:
            self.full_readings.insert(place, reading if is_whole else None)
        return place

    def insert_all(self, came: Sequence[tuple[Reading, float]]) -> list[float]:
        """Insert readings, each with its time of arrival, given in the order they came.

        Returns the times of arrival of duplicates.
        """
        times = np.array([reading.time for reading, _ in came]) - self.lag_seconds
        order = np.argsort(times, kind="stable")
        newest = self.times[-1] if self.times else -math.inf
        came, times = [came[at] for at in order.tolist()], times[order]
        duplicates = []
        if (np.diff(times, prepend=newest) > 0.0).all():
            self._append_all(times, came)
        else:
            timed = zip(times.tolist(), came, strict=True)
            duplicates = [
                received
                for time, (reading, received) in timed
                if self.insert(time, reading, received) < 0
            ]
        # A batch may have been appended in between, so the arrivals themselves decide.
        self.in_order = bool((np.diff(np.frombuffer(self.received)) >= 0.0).all())
        return duplicates

    def _append_all(self, times: Float, came: Sequence[tuple[Reading, float]]) -> None:
        """Append readings that are newer than all others, in event order."""
        full_readings = [
            None if self.is_plain and is_plain(reading) else reading for reading, _ in came
        ]
        if any(full_readings) and not self.full_readings:
            self.full_readings = [None] * len(self.times)
        if self.full_readings or any(full_readings):
            self.full_readings += full_readings
        self.times.frombytes(times.tobytes())
        self.values.extend(reading.value for reading, _ in came)
        self.us.extend(reading.u for reading, _ in came)
        self.received.extend(received for _, received in came)
        self.watermarks.newest[self.watermark] = self.times[-1]

    def append(self, time: float, value: float, u: float, received: float) -> None:
        """Append a plain reading that is newer than all others."""
        self.times.append(time)
        self.values.append(value)
        self.us.append(u)
        self.received.append(received)
        if self.full_readings:
            self.full_readings.append(None)
        self.watermarks.newest[self.watermark] = time

    def extend(self, times: bytes, values: bytes, us: bytes, received: bytes) -> None:
        """Append plain readings in the order of their times, given as columns of doubles."""
        self.times.frombytes(times)
        self.values.frombytes(values)
        self.us.frombytes(us)
        self.received.frombytes(received)
        if self.full_readings:
            self.full_readings += [None] * (len(times) // 8)

    def _encoded(self, place: int) -> bytes:
        return encode(self.reading(place))

    def reading(self, at: int) -> Reading:
        """Return the reading at a place."""
        full_readings = self.full_readings[at] if self.full_readings else None
        return full_readings or Reading(*self.name, self.times[at], self.values[at], self.us[at])

    def drop(self, places: Sequence[int]) -> None:
        """Remove the readings at ``places``; fastest where they are a range from 0 on."""
        columns: list[Any] = [self.times, self.values, self.us, self.received]
        if self.full_readings:
            columns.append(self.full_readings)
        for column in columns:
            if isinstance(places, range) and places.start == 0:
                del column[: places.stop]
            else:
                for place in sorted(places, reverse=True):
                    del column[place]
        self.watermarks.newest[self.watermark] = self.times[-1] if self.times else -math.inf

    def match_of(self, references: ReferenceBuffer, at: int) -> Match | None:
        """Return the pairs of a reference with these readings, None if it has none."""
        return self.matches.get(references.times[at], references.identities[at])

    def may_match(self, before: float) -> bool:
        """Return whether a reading newer than all may pair, given the time of the one before."""
        return before < self.until

    def record_reference(self, reference: float) -> None:
        """Raise the watermark to a reference that concerns these readings."""
        until = reference + self.reach_seconds
        if until > self.until:
            self.until = self.watermarks.until[self.watermark] = until

    def nearest_join(self, references: ReferenceBuffer, time: float) -> Join | None:
        """Return the shortest join by which a reference at ``time`` concerns these readings."""
        if len(self.joins) == 1:
            only = self.joins[0]
            return (
                only if only.references is references and only.start <= time <= only.end else None
            )
        best = None
        for join in self.joins:
            concerns = join.references is references and join.start <= time <= join.end
            if concerns and (best is None or join.distance_km < best.distance_km):
                best = join
        return best
