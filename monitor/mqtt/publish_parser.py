"""Accelerator: the PUBLISH packets at the front of a large read, parsed all at once with numpy.

It takes packets that have the same first byte, hence the same quality of service, and leaves the
rest to the loop in ``receiver``. It takes exactly what that loop would take: tests compare both
with ``decoding.decode``. At 2000 messages a read it costs a fifth of the loop; without it nothing
changes but speed (``benchmarks/hotway.py``).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Int
from monitor.mqtt.payload_slices import Octets, Packed
from monitor.mqtt.topic_index import TopicIndex

ENOUGH_BYTES: Final = 8192  # below, a loop costs less
_HEADER_BYTES: Final = 4  # of the shortest packet whose length is looked for in two bytes
_MORE: Final = 0x80  # in a byte of a length: another byte follows


class Publishes(NamedTuple):
    """Packets of one first byte: numbers of topics, payloads, identifiers of two bytes end to end.

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
    """Return the PUBLISH packets like the first that ``data`` begins with, None if any is odd.

    ``topic_index`` is that of topics; ``mid_bytes`` has a packet identifier (MQTT 5.0 section
    3.3.2.2), and payloads are cut to ``payload_bytes_max``. What has properties is odd, what says a
    topic that is not known or the identifier 0, and what holds less than it says.
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

    Their lengths take one or two bytes each. Most are found by the column, what is left by going
    from each to the next.
    """
    found = _chain(octets)
    start, first, last = int(found[-1]), data[0], len(data) - _HEADER_BYTES
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
    return np.append(found[:-1], [*starts, start])


def _chain(octets: Octets) -> Int:
    """Return where some packets begin, each where the one before it ends, and where the last ends.

    A topic of less than 256 bytes begins with a zero (its length takes two bytes, MQTT 5.0 section
    1.5.4), and text has none: so packets are looked for before zeros. What only looks like one
    hardly ever ends where another begins.
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
