"""Messages of a read as columns; a message object is made only when somebody asks for one.

All columns of an inbox have the same length, and all its messages came on one connection.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final, overload

import numpy as np

from monitor.mqtt.payload_slices import Payloads
from monitor.mqtt.topic_templates import Topics, topics_of

_PUBACK: Final = b"\x40\x02\0\0"
_PUBREC: Final = b"\x50\x02"
_QOS: Final = 6  # the bits of the first byte of a PUBLISH that say its quality of service
_QOS_2: Final = 4
_QOS_0: Final = b"\x30\x31\x38\x39"  # retained or not, again or not
_QOS_1: Final = b"\x32\x33\x3a\x3b"
NO_MID: Final = b"\0\0"


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


class Inbox(Sequence[Message]):
    """Messages of one connection, in the order they came: a column a field of :class:`Message`.

    ``numbers`` are the places of their topics in ``names``; ``mids`` lie end to end, ``NO_MID`` for
    what came with QoS 0.
    """

    __slots__ = ("_topics", "flags", "generation", "mids", "names", "numbers", "payloads")

    def __init__(self, generation: int, names: Sequence[str]) -> None:
        self.generation: Final = generation
        self.names: Final = names
        self.numbers = array("q")
        self.payloads = Payloads()
        self.flags = bytearray()
        self.mids = bytearray()
        self._topics: Topics | None = None

    @property
    def topics(self) -> Topics:
        """Their topics."""
        if self._topics is None or len(self._topics) != len(self):
            self._topics = Topics(self.names, np.array(self.numbers))
        return self._topics

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> Message: ...

    @overload
    def __getitem__(self, place: slice) -> Inbox: ...

    def __getitem__(self, place: int | slice) -> Message | Inbox:
        if isinstance(place, int):
            at = range(len(self))[place]
            flags = self.flags[at]
            mid = bytes(self.mids[2 * at : 2 * at + 2]) if flags & _QOS else b""
            topic = self.names[self.numbers[at]]
            return Message(topic, self.payloads[at], flags, mid, self.generation)
        part = Inbox(self.generation, self.names)
        part.numbers, part.payloads = self.numbers[place], self.payloads[place]
        part.flags = self.flags[place]
        part.mids = bytearray(2 * len(part.flags))
        part.mids[::2], part.mids[1::2] = self.mids[::2][place], self.mids[1::2][place]
        return part

    def owed(self) -> int:
        """Return how many of them are to be acknowledged."""
        return len(self.flags.translate(None, _QOS_0))

    def acknowledgements(self) -> tuple[int, bytes]:
        """Return how many messages are to be acknowledged, and the packets that do it."""
        if not self.owed():
            return 0, b""
        packets = bytearray(_PUBACK * len(self))
        packets[2::4], packets[3::4] = self.mids[::2], self.mids[1::2]
        if not self.flags.translate(None, _QOS_1):
            return len(self), bytes(packets)
        asked = [
            (_PUBREC if flags & _QOS == _QOS_2 else packets[4 * at : 4 * at + 2])
            + packets[4 * at + 2 : 4 * at + 4]
            for at, flags in enumerate(self.flags)
            if flags & _QOS
        ]
        return len(asked), b"".join(asked)


def owed(messages: Sequence[Message]) -> int:
    """Return how many messages, of whatever connection, are to be acknowledged."""
    if isinstance(messages, Inbox):
        return messages.owed()
    return sum(1 for each in messages if each.qos)


def inbox_of(messages: Sequence[Message], generation: int) -> Inbox:
    """Return those of ``messages`` that came on a connection, as columns."""
    if isinstance(messages, Inbox):
        return messages if messages.generation == generation else Inbox(generation, ())
    own = [message for message in messages if message.generation == generation]
    topics = topics_of([message.topic for message in own])
    found = Inbox(generation, topics.names)
    found.numbers.frombytes(topics.which.tobytes())
    found.payloads = Payloads([message.payload for message in own])
    found.flags = bytearray(message.flags for message in own)
    found.mids = bytearray(b"".join(message.mid or NO_MID for message in own))
    return found
