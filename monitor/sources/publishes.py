"""PUBLISH packets that stand at the front of a large read, taken apart by the column.

Rules of this file: it takes what is alike (one first byte, so one quality of service) and leaves
the rest; what it takes is what a loop over the packets would take.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Int
from monitor.payloads import Packed
from monitor.sources.numbering import Numbering

ENOUGH_BYTES: Final = 8192  # below, a loop costs less
_HEADER_BYTES: Final = 4  # of the shortest packet whose length is looked for in two bytes


class Publishes(NamedTuple):
    """Packets of one first byte: numbers of topics, payloads, identifiers of two bytes end to end.

    ``stop`` is the place after the last packet.
    """

    numbers: Int
    payloads: Packed
    mids: bytes
    stop: int


def taken_apart(
    data: bytes,
    numbering: Numbering,
    mid_bytes: int,
    *,
    has_properties: bool,
) -> Publishes | None:
    """Return the PUBLISH packets like the first that ``data`` begins with, None if any is odd.

    ``numbering`` is that of topics; ``mid_bytes`` has a packet identifier (MQTT 5.0 section
    3.3.2.2). What has properties is odd, what says a topic that is not known, and what holds less
    than it says.
    """
    starts = _starts(data)
    octets = np.frombuffer(data, np.uint8)
    start = np.array(starts[:-1], dtype=np.int64)
    unlike = np.flatnonzero(octets[start] != data[0])
    count = int(unlike[0]) if unlike.size else start.size
    if not count:
        return None
    start, stop = start[:count], np.array(starts[1 : count + 1])
    body = start + 2 + (octets[start + 1] >> 7)
    name = body + 2 + (octets[body].astype(np.int64) << 8) + octets[body + 1]
    payload = name + mid_bytes + has_properties
    if (payload > stop).any() or (has_properties and octets[payload - 1].any()):
        return None
    numbers = numbering.find(data, body, name)
    if numbers is None:
        return None
    mids = np.stack((octets[name], octets[name + 1]), axis=1).tobytes() if mid_bytes else b""
    return Publishes(numbers, Packed(data, payload, stop), mids or bytes(2 * count), starts[count])


def _starts(data: bytes) -> list[int]:
    """Return where packets begin whose length takes one or two bytes, and where the last ends."""
    start, last = 0, len(data) - _HEADER_BYTES
    starts: list[int] = []
    add = starts.append
    while start <= last:
        add(start)
        length = data[start + 1]
        if length & 0x80:
            more = data[start + 2]
            if more & 0x80:
                return starts
            start += 3 + (length & 0x7F) + (more << 7)
        else:
            start += 2 + length
    if start <= len(data):
        add(start)
    return starts
