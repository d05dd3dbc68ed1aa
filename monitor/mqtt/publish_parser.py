"""Accelerator: the PUBLISH packets at the front of a large read, parsed all at once with numpy.

It takes packets that have the same first byte, hence the same quality of service, and leaves the
rest to the loop in ``receiver``. It takes exactly what that loop would take: tests compare both
with ``codec.decode``. At 2000 messages a read it costs a fifth of the loop; without it nothing
changes but speed (``benchmarks/hotway.py``).

Topics are numbers, looked up one by one or, for a large read, all at once. A topic is stored as in
its packet, with its length before it. Matches of the column lookup are compared byte by byte;
topics it does not find are looked up in the dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from monitor.core.model import Int
from monitor.mqtt.inbox import Octets, Packed, all_of, octets_at

# -- topics as numbers ----------------------------------------------------------------------------

Words = npt.NDArray[np.uint64]

NOBODY: Final = -1
_BYTES_MAX: Final = 128  # of a topic that the column lookup can find
_WORD_BYTES: Final = 8
_ROOM_FIRST: Final = 64
_CELLS_A_NAME: Final = 8
_FACTORS: Final = np.cumprod(np.full(_BYTES_MAX // _WORD_BYTES, 0x9E3779B97F4A7C15, np.uint64))
# By length of a topic: the bytes that belong to it, and those after it.
_MASKS: Final = np.where(np.arange(_BYTES_MAX) < np.arange(_BYTES_MAX + 1)[:, None], 255, 0)
_WORD_MASKS: Final = _MASKS.astype(np.uint8).view(np.uint64)


class TopicIndex:
    """State: topics in the order of their first message; the number of each is its position."""

    def __init__(self) -> None:
        self.names: Final[list[str]] = []
        self.size = 0
        """Bytes of all topics."""
        self._numbers: Final[dict[bytes, int]] = {}
        self._table = _Table(0, _WORD_BYTES)
        self._longest = _WORD_BYTES

    def get(self, name: bytes) -> int | None:
        """Return the number of a topic, None if it is new."""
        return self._numbers.get(name)

    def learn(self, name: bytes, topic: str) -> int:
        """Return the number of a new topic; ``name`` has its length before it."""
        number = len(self.names)
        self.names.append(topic)
        self._numbers[name] = number
        self.size += len(name)
        self._longest = min(max(self._longest, len(name)), _BYTES_MAX)
        return number

    def find(self, data: bytes, starts: Int, stops: Int) -> Int | None:
        """Return the numbers of the topics at some places of ``data``, None if any is new."""
        numbers = self._up_to_date().find(data, starts, stops)
        left = np.flatnonzero(numbers == NOBODY)
        spans = zip(starts[left].tolist(), stops[left].tolist(), strict=True)
        others = [self._numbers.get(data[start:stop], NOBODY) for start, stop in spans]
        if NOBODY in others:
            return None
        numbers[left] = others
        return numbers

    def _up_to_date(self) -> _Table:
        table, count = self._table, len(self.names)
        if table.size < count:
            if table.room < count or table.width < self._longest:
                table = self._table = _Table(2 * count, self._longest)
            table.add(list(islice(self._numbers, table.size, None)))
        return table


class _Table:
    """Topics as words, and where to look for each: if two share a place, the later one is found.

    There is ``room`` for that many, of at most ``width`` bytes.
    """

    def __init__(self, names: int, longest: int) -> None:
        self.size = 0
        self.room: Final = 1 << max(names, _ROOM_FIRST).bit_length()
        self._count: Final = -(-longest // _WORD_BYTES)  # words
        self.width: Final = self._count * _WORD_BYTES
        self._words: Final[Words] = np.zeros((self.room, self._count), dtype=np.uint64)
        self._cells: Final[Int] = np.full(self.room * _CELLS_A_NAME, NOBODY, dtype=np.int64)
        self._shift: Final = np.uint64(65 - self._cells.size.bit_length())

    def add(self, names: Sequence[bytes]) -> None:
        """Add topics that are new."""
        fitting = [at for at, name in enumerate(names) if len(name) <= self.width]
        padded = b"".join(names[at].ljust(self.width, b"\0") for at in fitting)
        words = np.frombuffer(padded, np.uint64).reshape(-1, self._count)
        numbers = self.size + np.array(fitting, dtype=np.int64)
        self._words[numbers] = words
        self._cells[self._cells_of(words)] = numbers
        self.size += len(names)

    def find(self, data: bytes, starts: Int, stops: Int) -> Int:
        """Return the numbers of topics, NOBODY for those not found here."""
        last, lengths = len(data) - self.width, stops - starts
        if last < 0:
            return np.full(starts.size, NOBODY)
        is_whole = (starts <= last) & (lengths <= self.width)
        words = octets_at(data, np.minimum(starts, last), self.width).view(np.uint64)
        words &= _WORD_MASKS[np.where(is_whole, lengths, 0), : self._count]
        numbers = self._cells[self._cells_of(words)]
        is_found = all_of(self._words[numbers] == words)
        return np.where(is_found & is_whole, numbers, NOBODY)

    def _cells_of(self, words: Words) -> Int:
        mixed = words @ _FACTORS[: self._count]
        return (mixed >> self._shift).astype(np.int64)


# -- packets --------------------------------------------------------------------------------------

ENOUGH_BYTES: Final = 8192  # below, a loop costs less
_HEADER_BYTES: Final = 4  # of the shortest packet whose length is looked for in two bytes
_MORE: Final = 0x80  # in a byte of a length: another byte follows


class Publishes(NamedTuple):
    """Packets of one first byte: numbers of topics, payloads, two-byte identifiers end to end.

    ``stop`` is the place after the last packet.
    """

    numbers: Int
    payloads: Packed
    mids: bytes
    stop: int


def parse_publishes(
    data: bytes,
    topic_index: TopicIndex,
    mid_bytes: int,
    payload_bytes_max: int,
    *,
    has_properties: bool,
) -> Publishes | None:
    """Return the PUBLISH packets that ``data`` begins with, of one kind; None if any is unusual.

    ``topic_index`` is that of topics; ``mid_bytes`` has a packet identifier (MQTT 5.0 section
    3.3.2.2), and payloads are cut to ``payload_bytes_max``. Unusual is a packet that has
    properties, an unknown topic or the identifier 0, or that holds less than it says.
    """
    octets = np.frombuffer(data, np.uint8)
    starts = _starts(data, octets)
    start, stop = starts[:-1], starts[1:]
    if not start.size:
        return None
    body = start + 2 + (octets[start + 1] >> 7)
    if (stop - body < 2).any():
        return None
    name = body + 2 + (octets[body].astype(np.int64) << 8) + octets[body + 1]
    payload = name + mid_bytes + has_properties
    if (payload > stop).any() or (has_properties and octets[payload - 1].any()):
        return None
    numbers = topic_index.find(data, body, name)
    if numbers is None:
        return None
    mids = bytes(2 * start.size)
    if mid_bytes:
        pairs = np.stack((octets[name], octets[name + 1]), axis=1)
        if not pairs.any(axis=1).all():
            return None
        mids = pairs.tobytes()
    cut = np.minimum(stop, payload + payload_bytes_max)
    return Publishes(numbers, Packed(data, payload, cut), mids, int(starts[-1]))


def _starts(data: bytes, octets: Octets) -> Int:
    """Return where the packets begin that are like the first, and where the last of them ends.

    Their lengths take one or two bytes each. Most are found by columns, the others by stepping from
    each packet to the next.
    """
    chain = _chain(octets)
    start, first, last = int(chain[-1]), data[0], len(data) - _HEADER_BYTES
    starts: list[int] = []
    while start <= last and data[start] == first:
        length, body = data[start + 1], start + 2
        if length & _MORE:
            more, body = data[body], body + 1
            if more & _MORE:
                break
            length += (more << 7) - _MORE
        if body + length > len(data):
            break
        starts.append(start)
        start = body + length
    return np.append(chain[:-1], [*starts, start])


def _chain(octets: Octets) -> Int:
    """Return where packets begin, each where the one before ends, and where the last one ends.

    A topic of less than 256 bytes begins with a zero byte (its length takes two bytes, MQTT 5.0
    section 1.5.4), and text has none: so packets are looked for before zeros. A false match hardly
    ever ends where another packet begins.
    """
    size, first = octets.size, octets[0]
    is_first, is_topic = octets == first, octets == 0
    is_topic[3:] &= is_first[1:-2] | is_first[:-3]
    topic = np.flatnonzero(is_topic[2:]) + 2
    low, length = octets[topic - 2], octets[topic - 1].astype(np.int64)
    is_long = low >= _MORE
    is_likely = (is_long | (low == first)) & (length < _MORE)
    topic, low, length, is_long = (each[is_likely] for each in (topic, low, length, is_long))
    length = np.where(is_long, (length << 7) + (low ^ _MORE), length)
    start, stop = topic - 2 - is_long, topic + length
    is_start = np.zeros(size + 1, dtype=np.bool_)
    is_start[start] = True
    is_followed = (stop > size - _HEADER_BYTES) | is_start[np.minimum(stop, size)]
    start, stop = start[is_followed], stop[is_followed]
    if not start.size or start[0] or stop[0] > size:
        return np.zeros(1, dtype=np.int64)
    apart = np.flatnonzero((start[1:] != stop[:-1]) | (stop[1:] > size))
    count = int(apart[0]) + 1 if apart.size else start.size
    return np.append(start[:count], stop[count - 1])
