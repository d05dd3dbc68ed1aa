"""Messages as they came from a broker: one by one, or a whole read as columns.

Rules of this file: columns are of one connection and of equal length; a message is made of them
only where somebody asks for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, overload

_PUBACK: Final = b"\x40\x02"
_PUBREC: Final = b"\x50\x02"
_QOS: Final = 6  # the bits of the first byte of a PUBLISH that say its quality of service
_QOS_1: Final = 2
_ONCE_DELIVERED: Final = frozenset((0x32, 0x33, 0x3A, 0x3B))  # QoS 1, retained or not, again or not


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
    """Messages of one connection, in the order they came: a column a field of :class:`Message`."""

    __slots__ = ("flags", "generation", "mids", "payloads", "topics")

    def __init__(self, generation: int) -> None:
        self.generation: Final = generation
        self.topics: list[str] = []
        self.payloads: list[bytes] = []
        self.flags: list[int] = []
        self.mids: list[bytes] = []

    def __len__(self) -> int:
        return len(self.topics)

    @overload
    def __getitem__(self, place: int) -> Message: ...

    @overload
    def __getitem__(self, place: slice) -> Arrivals: ...

    def __getitem__(self, place: int | slice) -> Message | Arrivals:
        if isinstance(place, int):
            return Message(
                self.topics[place],
                self.payloads[place],
                self.flags[place],
                self.mids[place],
                self.generation,
            )
        part = Arrivals(self.generation)
        part.topics, part.payloads = self.topics[place], self.payloads[place]
        part.flags, part.mids = self.flags[place], self.mids[place]
        return part

    def acknowledgements(self) -> tuple[int, bytes]:
        """Return how many messages are to be acknowledged, and the packets that do it."""
        if self.mids and _ONCE_DELIVERED.issuperset(self.flags):
            return len(self.mids), _PUBACK + _PUBACK.join(self.mids)
        packets = [
            (_PUBACK if flags & _QOS == _QOS_1 else _PUBREC) + mid
            for flags, mid in zip(self.flags, self.mids, strict=True)
            if flags & _QOS
        ]
        return len(packets), b"".join(packets)


def arrivals(messages: Sequence[Message], generation: int) -> Arrivals:
    """Return those of ``messages`` that came on a connection, as columns."""
    if isinstance(messages, Arrivals):
        return messages if messages.generation == generation else Arrivals(generation)
    found = Arrivals(generation)
    for message in messages:
        if message.generation == generation:
            found.topics.append(message.topic)
            found.payloads.append(message.payload)
            found.flags.append(message.flags)
            found.mids.append(message.mid)
    return found
