"""Messages as they came from a broker: one by one, or a whole read as columns.

Rules of this file: columns are of one connection and of equal length; a message is made of them
only where somebody asks for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, overload

import numpy as np
import numpy.typing as npt

from monitor.topics import Topics, topics_of

_PUBACK: Final = 0x40
_PUBREC: Final = 0x50
_REST: Final = 2  # bytes that follow
_QOS: Final = 6  # the bits of the first byte of a PUBLISH that say its quality of service
_QOS_2: Final = 4
NO_MID: Final = b"\0\0"

Octets = npt.NDArray[np.uint8]


class Message:
    """One message as it came; ``mid`` (two bytes) and ``generation`` say how to acknowledge it."""

    __slots__ = ("flags", "generation", "mid", "payload", "topic")

    def __init__(self, topic: str, payload: bytes, flags: int, mid: bytes, generation: int) -> None:
        self.topic = topic
        self.payload = payload
        self.flags = flags
        self.mid = mid
        self.generation = generation

    @property
    def qos(self) -> int:
        """Quality of service it came with."""
        return (self.flags >> 1) & 3

    @property
    def retain(self) -> bool:
        """Whether the broker kept it for those who come later."""
        return bool(self.flags & 1)

    @property
    def duplicate(self) -> bool:
        """Whether the broker says that it may have come before."""
        return bool(self.flags & 8)


class Arrivals(Sequence[Message]):
    """Messages of one connection, in the order they came: a column a field of :class:`Message`.

    ``numbers`` are the places of their topics in ``names``; ``mids`` lie end to end, ``NO_MID`` for
    what came with QoS 0.
    """

    __slots__ = ("_topics", "flags", "generation", "mids", "names", "numbers", "payloads")

    def __init__(self, generation: int, names: Sequence[str]) -> None:
        self.generation: Final = generation
        self.names: Final = names
        self.numbers: list[int] = []
        self.payloads: list[bytes] = []
        self.flags = bytearray()
        self.mids = bytearray()
        self._topics: Topics | None = None

    @property
    def topics(self) -> Topics:
        """Their topics."""
        if self._topics is None or len(self._topics) != len(self):
            self._topics = Topics(self.names, np.array(self.numbers, dtype=np.int64))
        return self._topics

    def __len__(self) -> int:
        return len(self.payloads)

    @overload
    def __getitem__(self, place: int) -> Message: ...

    @overload
    def __getitem__(self, place: slice) -> Arrivals: ...

    def __getitem__(self, place: int | slice) -> Message | Arrivals:
        if isinstance(place, int):
            at = range(len(self))[place]
            flags = self.flags[at]
            mid = bytes(self.mids[2 * at : 2 * at + 2]) if flags & _QOS else b""
            topic = self.names[self.numbers[at]]
            return Message(topic, self.payloads[at], flags, mid, self.generation)
        part = Arrivals(self.generation, self.names)
        part.numbers, part.payloads = self.numbers[place], self.payloads[place]
        part.flags = self.flags[place]
        part.mids = bytearray(self._pairs_of_octets()[place].tobytes())
        return part

    def acknowledgements(self) -> tuple[int, bytes]:
        """Return how many messages are to be acknowledged, and the packets that do it."""
        flags = np.frombuffer(bytes(self.flags), np.uint8)
        packets = np.empty((flags.size, 4), np.uint8)
        packets[:, 0] = np.where(flags & _QOS == _QOS_2, _PUBREC, _PUBACK)
        packets[:, 1] = _REST
        packets[:, 2:] = self._pairs_of_octets()
        is_asked = flags & _QOS != 0
        if not is_asked.all():
            packets = packets[is_asked]
        return len(packets), packets.tobytes()

    def _pairs_of_octets(self) -> Octets:
        return np.frombuffer(bytes(self.mids), np.uint8).reshape(-1, 2)


def arrivals(messages: Sequence[Message], generation: int) -> Arrivals:
    """Return those of ``messages`` that came on a connection, as columns."""
    if isinstance(messages, Arrivals):
        return messages if messages.generation == generation else Arrivals(generation, ())
    own = [message for message in messages if message.generation == generation]
    topics = topics_of([message.topic for message in own])
    found = Arrivals(generation, topics.names)
    found.numbers = topics.which.tolist()
    found.payloads = [message.payload for message in own]
    found.flags = bytearray(message.flags for message in own)
    found.mids = bytearray(b"".join(message.mid or NO_MID for message in own))
    return found
