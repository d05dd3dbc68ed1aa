"""Messages of a read as columns; a message object is made only on request.

All columns of an inbox have the same length, and all its messages came on one connection. Payloads
are slices of the bytes they came in; one is copied only on request.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Protocol, overload

import numpy as np
import numpy.typing as npt

from monitor.mqtt.topic_templates import Topics, topics_of

# -- payloads -------------------------------------------------------------------------------------

Places = npt.NDArray[np.int64]
Octets = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]


class Packed(NamedTuple):
    """Payloads in one buffer: each is ``data[start:stop]``."""

    data: bytes
    starts: Places
    stops: Places

    def part(self, places: Places) -> list[bytes]:
        """Return the payloads at some places."""
        data = self.data
        spans = zip(self.starts[places].tolist(), self.stops[places].tolist(), strict=True)
        return [data[start:stop] for start, stop in spans]


class Payloads(Sequence[bytes]):
    """Payloads in the order they came; ``loose`` are those after the last packed ones."""

    __slots__ = ("_pieces", "_size", "loose")

    def __init__(self, loose: Sequence[bytes] = ()) -> None:
        self._pieces: list[Packed] = []
        self._size = 0  # of the packed ones
        self.loose: Final = list(loose)

    def add(self, packed: Packed) -> None:
        """Add payloads that came together."""
        self._pack_loose()
        self._pieces.append(packed)
        self._size += packed.starts.size

    def packed(self) -> Packed:
        """Return all of them in one buffer."""
        self._pack_loose()
        if len(self._pieces) != 1:
            self._pieces = [_joined(self._pieces)]
        return self._pieces[0]

    def part(self, places: Sequence[int] | Places) -> list[bytes]:
        """Return the payloads at some places."""
        if self._pieces:
            return self.packed().part(np.asarray(places, dtype=np.int64))
        return [self.loose[at] for at in places]

    def sizes(self) -> Places:
        """Return how many bytes each has."""
        packed = self.packed()
        return packed.stops - packed.starts

    def __len__(self) -> int:
        return self._size + len(self.loose)

    @overload
    def __getitem__(self, place: int) -> bytes: ...

    @overload
    def __getitem__(self, place: slice) -> Payloads: ...

    def __getitem__(self, place: int | slice) -> bytes | Payloads:
        if isinstance(place, slice):
            return Payloads(self.part(range(*place.indices(len(self)))))
        return self.part((range(len(self))[place],))[0]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.part(range(len(self))))

    def _pack_loose(self) -> None:
        if self.loose:
            stops = np.cumsum(np.fromiter(map(len, self.loose), np.int64, len(self.loose)))
            starts = np.concatenate(([0], stops[:-1]))
            self._pieces.append(Packed(b"".join(self.loose), starts, stops))
            self._size += len(self.loose)
            self.loose.clear()


def octets_at(data: bytes, starts: Places, width: int) -> Octets:
    """Return the ``width`` bytes from each place on, one row each; all must exist."""
    windows = np.ndarray((len(data) - width + 1,), f"V{width}", data, strides=(1,))
    return windows[starts].view(np.uint8).reshape(starts.size, width)


def all_of(rows: Bools) -> Bools:
    """Return which rows are true throughout.

    If hardly any entry is false this takes a tenth of the time of ``all(axis=1)``.
    """
    wrong = rows.size - np.count_nonzero(rows)
    if wrong > len(rows):
        return np.asarray(rows.all(axis=1))
    mask = np.ones(len(rows), dtype=np.bool_)
    if wrong:
        mask[np.flatnonzero(~rows) // rows.shape[1]] = False
    return mask


def payloads_of(payloads: Sequence[bytes]) -> Payloads:
    """Return payloads as :class:`Payloads`, unchanged if they are already."""
    return payloads if isinstance(payloads, Payloads) else Payloads(payloads)


def _joined(pieces: Sequence[Packed]) -> Packed:
    starts, stops, before = [], [], 0
    for piece in pieces:
        starts.append(piece.starts + before)
        stops.append(piece.stops + before)
        before += len(piece.data)
    nothing = np.zeros(0, dtype=np.int64)
    return Packed(
        b"".join(piece.data for piece in pieces),
        np.concatenate([nothing, *starts]),
        np.concatenate([nothing, *stops]),
    )


# -- messages -------------------------------------------------------------------------------------

_PUBACK: Final = b"\x40\x02\0\0"
_PUBREC: Final = b"\x50\x02"
_QOS: Final = 6  # the bits of the first byte of a PUBLISH that say its quality of service
_QOS_2: Final = 4
_QOS_0: Final = b"\x30\x31\x38\x39"  # retained or not, duplicate or not
_QOS_1: Final = b"\x32\x33\x3a\x3b"
_NOT_RETAINED: Final = bytes(range(0, 256, 2))
NO_MID: Final = b"\0\0"


class InboxMessage:
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
        """Whether the broker had kept it, and sends it because a subscription is new.

        What is published to a subscription that exists comes without this flag (MQTT 3.1.1 section
        3.3.1.3; in MQTT 5 unless it is asked for).
        """
        return bool(self.flags & 1)

    @property
    def duplicate(self) -> bool:
        """Whether the broker says that it may have come before."""
        return bool(self.flags & 8)


class Inbox(Sequence[InboxMessage]):
    """Messages of one connection in order of arrival: a column per field of :class:`InboxMessage`.

    ``numbers`` are the places of their topics in ``names``; ``mids`` lie end to end, ``NO_MID`` for
    messages of QoS 0.
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
    def __getitem__(self, place: int) -> InboxMessage: ...

    @overload
    def __getitem__(self, place: slice) -> Inbox: ...

    def __getitem__(self, place: int | slice) -> InboxMessage | Inbox:
        if isinstance(place, int):
            at = range(len(self))[place]
            flags = self.flags[at]
            mid = bytes(self.mids[2 * at : 2 * at + 2]) if flags & _QOS else b""
            topic = self.names[self.numbers[at]]
            return InboxMessage(topic, self.payloads[at], flags, mid, self.generation)
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
        """Return how many messages are to be acknowledged, and the packets that do so."""
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


class Incoming(Protocol):
    """A message as far as its content goes."""

    @property
    def topic(self) -> str:
        """Its topic."""

    @property
    def payload(self) -> bytes:
        """Its payload."""


def topics_and_payloads(
    messages: Sequence[Incoming],
) -> tuple[Sequence[str], Sequence[bytes]]:
    """Return both of some messages, as they are where they came as columns."""
    if isinstance(messages, Inbox):
        return messages.topics, messages.payloads
    return [message.topic for message in messages], [message.payload for message in messages]


def retained_among(messages: Sequence[Incoming]) -> frozenset[int]:
    """Return the places of those that the broker had kept for new subscribers; files tell none."""
    if not isinstance(messages, Inbox):
        retained = (at for at, each in enumerate(messages) if getattr(each, "retain", False))
        return frozenset(retained)
    if not messages.flags.translate(None, _NOT_RETAINED):
        return frozenset()
    flags = np.frombuffer(messages.flags, np.uint8)
    return frozenset(np.flatnonzero(flags & 1).tolist())


def owed(messages: Sequence[InboxMessage]) -> int:
    """Return how many messages, of whatever connection, are to be acknowledged."""
    if isinstance(messages, Inbox):
        return messages.owed()
    return sum(1 for each in messages if each.qos)


def inbox_of(messages: Sequence[InboxMessage], generation: int) -> Inbox:
    """Return those of ``messages`` that came on one connection, as columns."""
    if isinstance(messages, Inbox):
        return messages if messages.generation == generation else Inbox(generation, ())
    own = [message for message in messages if message.generation == generation]
    topics = topics_of([message.topic for message in own])
    inbox = Inbox(generation, topics.names)
    inbox.numbers.frombytes(topics.which.tobytes())
    inbox.payloads = Payloads([message.payload for message in own])
    inbox.flags = bytearray(message.flags for message in own)
    inbox.mids = bytearray(b"".join(message.mid or NO_MID for message in own))
    return inbox
