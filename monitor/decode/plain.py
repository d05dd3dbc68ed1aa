"""Native readings and references that state a time, a value and u: many messages as columns.

Rules of this file: what is read here is what :mod:`monitor.decode.native` reads of each message;
what may be more is left to that. References are read here only where many messages are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, TypeVar

import numpy as np

from monitor.core.model import (
    NAN,
    Bool,
    Float,
    Int,
)
from monitor.core.pairing.interning import NONE, Lookup
from monitor.decode import native
from monitor.decode.alike import read_alike
from monitor.decode.checks import TIME_MIN, U_MIN, latest_time
from monitor.decode.instants import read_instants
from monitor.mqtt.payload_slices import Packed, Payloads
from monitor.mqtt.topic_templates import Topics

Body = TypeVar("Body")
FEW: Final = 100  # so few messages cost less one by one


class Stream(NamedTuple):
    """Whom the messages of a topic are about: a place in a list of names; their unit."""

    which: int
    unit: str
    is_reference: bool = False


class Columns(NamedTuple):
    """Whose, times in s since 1970 UTC, values, u."""

    which: Int
    times: Float
    values: Float
    us: Float

    def part(self, places: Int | Bool) -> Columns:
        """Return the rows at some places."""
        return Columns(self.which[places], self.times[places], self.values[places], self.us[places])


class Read(NamedTuple):
    """Plain readings and plain references as columns.

    ``places`` are those of the messages of readings, ``of_references`` those of references,
    ``left`` those of the messages that are neither.
    """

    readings: Columns
    places: list[int]
    references: Columns
    of_references: list[int]
    left: list[int]


NO_COLUMNS: Final = Columns(np.zeros(0, dtype=np.int64), *np.zeros((3, 0)))


class PlainMessages:
    """State: the topics whose messages are plain readings or references."""

    def __init__(self, payload_bytes_max: int) -> None:
        self._bytes_max: Final = payload_bytes_max
        self._streams: dict[str, Stream] = {}
        self._lookup: Final = Lookup(self._number_of)
        self._is_changed = False  # since they were looked up
        self._are_bare = True

    def add(self, topic: str, stream: Stream) -> None:
        """Read the messages of a topic from now on."""
        self._streams[topic] = stream
        self._is_changed = True

    def remove(self, topic: str) -> None:
        """Read the messages of a topic no longer."""
        if self._streams.pop(topic, None) is not None:
            self._is_changed = True

    def clear(self) -> None:
        """Forget all topics."""
        self._streams.clear()
        self._is_changed = True

    def read(self, topics: Topics, payloads: Payloads, received: float) -> Read:
        """Return what is plain among messages that arrived at ``received``, s since 1970 UTC."""
        if len(topics) <= FEW:
            return self._read_few(topics, payloads, received)
        if self._is_changed:
            self._lookup.forget()
            self._is_changed = False
        numbers = self._lookup.numbers(topics.names, topics.which)
        places = np.flatnonzero(numbers >= 0)
        which, is_reference = numbers[places] // 2, numbers[places] % 2 == 1
        known = Topics(topics.names, topics.which[places])
        said = Columns(which, *np.full((3, places.size), NAN))
        self._say_alike(said, known, _part(payloads.packed(), places))
        rest = np.flatnonzero(np.isnan(said.times) & ~is_reference)
        if rest.size:
            self._say_others(said, rest, known, payloads.part(places[rest]))
        is_good = (said.times >= TIME_MIN) & (said.times <= latest_time(received))
        is_good &= (said.us >= U_MIN) | (is_reference & (said.us == 0.0))
        of_readings, of_references = is_good & ~is_reference, is_good & is_reference
        is_left = np.ones(numbers.size, dtype=np.bool_)
        is_left[places[is_good]] = False
        return Read(
            said.part(of_readings),
            places[of_readings].tolist(),
            said.part(of_references),
            places[of_references].tolist(),
            np.flatnonzero(is_left).tolist(),
        )

    # -- inside -----------------------------------------------------------------------------

    def _read_few(self, topics: Topics, payloads: Payloads, received: float) -> Read:
        """Do the same with less that costs as much for one message as for many."""
        latest = latest_time(received)
        streams = list(map(self._streams.get, topics))
        some = [at for at, each in enumerate(streams) if each and not each.is_reference]
        read = self._bodies(payloads.part(some), native.plain_reading)
        rows: dict[int, tuple[int, float, float, float]] = {}
        for at, body in zip(some, read, strict=True):
            stream = streams[at]
            if stream is not None and body is not None and not (body.key or body.seq):
                time = body.time.timestamp()
                is_own = body.unit is None or body.unit == stream.unit
                if is_own and TIME_MIN <= time <= latest:
                    rows[at] = (stream.which, time, body.value, body.u)
        left = [at for at in range(len(topics)) if at not in rows]
        which = np.array([row[0] for row in rows.values()], dtype=np.int64)
        times, values, us = (np.array([row[at] for row in rows.values()]) for at in (1, 2, 3))
        return Read(Columns(which, times, values, us), [*rows], NO_COLUMNS, [], left)

    def _number_of(self, topic: str) -> int:
        """Return twice the place of whom a topic is about, and one more for references."""
        stream = self._streams.get(topic)
        return NONE if stream is None else 2 * stream.which + stream.is_reference

    def _say_alike(self, said: Columns, topics: Topics, packed: Packed) -> None:
        """Write down what messages say of which many are written alike."""
        for each in read_alike(packed, self._bytes_max):
            places = each.places
            said.times[places], said.values[places], said.us[places] = each[1:4]
            if each.unit is not None:
                units = [self._streams[topic].unit for topic in topics.part(places)]
                said.times[places[[unit != each.unit for unit in units]]] = NAN

    def _say_others(
        self, said: Columns, places: Int, topics: Topics, payloads: Sequence[bytes]
    ) -> None:
        """Write down what the messages at some places say, if it is a plain reading."""
        bodies: Sequence[native.BareReading] | None = self._bare(payloads)
        if bodies is None:
            read = self._bodies(payloads, native.written_reading)
            units = [self._streams[topic].unit for topic in topics.part(places)]
            kept = [at for at, unit in enumerate(units) if _is_plain(read[at], unit)]
            self._are_bare = not any(each is None or _says_more(each) for each in read)
            places, bodies = places[kept], [each for at in kept if (each := read[at]) is not None]
        said.times[places] = read_instants([body.time for body in bodies])
        said.values[places] = [body.value for body in bodies]
        said.us[places] = [body.u for body in bodies]

    def _bare(self, payloads: Sequence[bytes]) -> list[native.BareReading] | None:
        """Return what payloads say if all say the least, as those before did; else None."""
        if self._are_bare and max(map(len, payloads), default=0) <= self._bytes_max:
            with suppress(*native.UNREADABLE):
                return list(map(native.bare_reading, payloads))
        return None

    def _bodies(
        self, payloads: Sequence[bytes], decode: Callable[[bytes], Body]
    ) -> list[Body | None]:
        """Return what payloads say, None for those that are too long or not plain readings."""
        if max(map(len, payloads), default=0) <= self._bytes_max:
            with suppress(*native.UNREADABLE):
                return list(map(decode, payloads))
        return [self._body(payload, decode) for payload in payloads]

    def _body(self, payload: bytes, decode: Callable[[bytes], Body]) -> Body | None:
        if len(payload) <= self._bytes_max:
            with suppress(*native.UNREADABLE):
                return decode(payload)
        return None


def _part(packed: Packed, places: Int) -> Packed:
    if places.size == packed.starts.size:
        return packed
    return Packed(packed.data, packed.starts[places], packed.stops[places])


def _says_more(body: native.WrittenReading) -> bool:
    return bool(body.unit is not None or body.key or body.seq)


def _is_plain(body: native.WrittenReading | None, unit: str) -> bool:
    if body is None or body.key or body.seq:
        return False
    return body.unit is None or body.unit == unit
