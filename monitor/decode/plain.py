"""Native readings that state a time, a value and u: many messages as columns.

Rules of this file: what is read here is what :mod:`monitor.decode.native` reads of each message;
what may be more than a plain reading is left to that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, TypeVar

import numpy as np

from monitor.core.lookup import NONE, Lookup
from monitor.core.model import Float, Int
from monitor.decode import native
from monitor.decode.checks import TIME_MIN, latest_time
from monitor.decode.instants import read_instants
from monitor.topics import Topics

Body = TypeVar("Body")
FEW: Final = 100  # so few messages cost less one by one


class Stream(NamedTuple):
    """Whom the messages of a topic are about: a place in a list of names; their unit."""

    which: int
    unit: str


class Read(NamedTuple):
    """Plain readings as columns: whose, times in s since 1970 UTC, values, u.

    ``places`` are those of their messages, ``left`` those of the messages that are none.
    """

    columns: tuple[Int, Float, Float, Float]
    places: list[int]
    left: list[int]


class PlainMessages:
    """State: the topics whose messages are plain readings."""

    def __init__(self, payload_bytes_max: int) -> None:
        self._bytes_max: Final = payload_bytes_max
        self._streams: dict[str, Stream] = {}
        self._lookup: Final = Lookup(self._which_of)
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

    def read(self, topics: Topics, payloads: Sequence[bytes], received: float) -> Read:
        """Return the plain readings among messages that arrived at ``received``, s since 1970."""
        if len(topics) <= FEW:
            return self._read_few(topics, payloads, received)
        if self._is_changed:
            self._lookup.forget()
            self._is_changed = False
        streams = self._lookup.numbers(topics.names, topics.which)
        places = np.flatnonzero(streams >= 0)
        some = payloads if places.size == streams.size else [payloads[at] for at in places.tolist()]
        bodies: Sequence[native.BareReading] | None = self._bare(some)
        if bodies is None:
            read = self._bodies(some, native.written_reading)
            units = [self._streams[topic].unit for topic in topics.part(places)]
            kept = [at for at, unit in enumerate(units) if _is_plain(read[at], unit)]
            self._are_bare = not any(each is None or _says_more(each) for each in read)
            places, bodies = places[kept], [each for at in kept if (each := read[at]) is not None]
        times = read_instants([body.time for body in bodies])
        values = np.array([body.value for body in bodies])
        us = np.array([body.u for body in bodies])
        is_good = (times >= TIME_MIN) & (times <= latest_time(received))
        if not is_good.all():
            times, values, us = (each[is_good] for each in (times, values, us))
            places = places[is_good]
        is_left = np.ones(streams.size, dtype=np.bool_)
        is_left[places] = False
        left = np.flatnonzero(is_left).tolist()
        return Read((streams[places], times, values, us), places.tolist(), left)

    # -- inside -----------------------------------------------------------------------------

    def _read_few(self, topics: Topics, payloads: Sequence[bytes], received: float) -> Read:
        """Do the same with less that costs as much for one message as for many."""
        latest = latest_time(received)
        streams = list(map(self._streams.get, topics))
        some = [at for at, stream in enumerate(streams) if stream is not None]
        read = self._bodies([payloads[at] for at in some], native.plain_reading)
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
        return Read((which, times, values, us), [*rows], left)

    def _which_of(self, topic: str) -> int:
        stream = self._streams.get(topic)
        return NONE if stream is None else stream.which

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


def _says_more(body: native.WrittenReading) -> bool:
    return bool(body.unit is not None or body.key or body.seq)


def _is_plain(body: native.WrittenReading | None, unit: str) -> bool:
    if body is None or body.key or body.seq:
        return False
    return body.unit is None or body.unit == unit
