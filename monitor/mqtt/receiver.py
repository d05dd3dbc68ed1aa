"""From the bytes of a connection to messages in an inbox and control packets; no I/O.

Bytes may be cut anywhere. Messages are appended to the columns of an inbox, all other packets are
returned. A payload longer than the limit is cut to one byte more than the limit, and the rest of
its packet is dropped as it arrives: the message takes the ordinary way, where it is refused as
oversize, counted and acknowledged, so that it never comes again. Whatever length a packet
announces, a connection buffers at most twice the limit and a topic (64 KiB) of it.
"""

from __future__ import annotations

from typing import Final

from monitor.mqtt.codec import ID_BYTES, decode_control, publish_places, topic_text
from monitor.mqtt.inbox import NO_MID, Inbox
from monitor.mqtt.packets import Control, Version
from monitor.mqtt.primitives import MalformedError, varint_at
from monitor.mqtt.publish_parser import ENOUGH_BYTES, TopicIndex, parse_publishes

CONTROL_BYTES_MAX: Final = 65_536
_TOPICS_MAX: Final = 65_536
TOPIC_BYTES_MAX: Final = 8_388_608  # of all topics: each may have 65 535
_HEADER_BYTES_MIN: Final = 2
_VARINT_BYTES_MAX: Final = 4


class Receiver:
    """State: the inbox, the beginning of an incomplete packet, the connection's number."""

    def __init__(self, version: Version, payload_bytes_max: int) -> None:
        self.generation = 0
        self._version: Final = version
        self._has_properties: Final = version == Version.V5
        self._payload_bytes_kept: Final = payload_bytes_max + 1
        self._topics = TopicIndex()
        self._begin_inbox()
        self._forget()

    def begin_connection(self) -> None:
        """Drop what is left of a former connection: none of it may ever be acknowledged."""
        self.generation += 1
        self._begin_inbox()
        self._forget()

    def take(self) -> Inbox:
        """Return the messages that have come since the last call."""
        taken = self.inbox
        self._begin_inbox()
        return taken

    def feed(self, data: bytes) -> list[Control]:
        """Take bytes of the connection; return the packets in them other than messages.

        Raises MalformedError; then neither the connection nor its messages can be used.
        """
        if self._skip:
            dropped = min(self._skip, len(data))
            self._skip -= dropped
            data = data[dropped:]
        self._pieces.append(data)
        self._size += len(data)
        if self._size < self._wanted:
            return []
        return self._split(b"".join(self._pieces))

    # -- inside -----------------------------------------------------------------------------

    def _begin_inbox(self) -> None:
        """Begin the inbox of the next :meth:`take`; topics may be forgotten in between."""
        if len(self._topics.names) >= _TOPICS_MAX or self._topics.size >= TOPIC_BYTES_MAX:
            self._topics = TopicIndex()
        self.inbox = Inbox(self.generation, self._topics.names)

    def _forget(self) -> None:
        self._skip = 0  # bytes that are still to be dropped
        self._wanted = _HEADER_BYTES_MIN  # bytes that must be there before parsing is worthwhile
        self._keep(b"")

    def _keep(self, rest: bytes) -> None:
        self._pieces = [rest]
        self._size = len(rest)

    def _split(self, data: bytes) -> list[Control]:
        """Take packets off the front of ``data``; an incomplete one waits for more."""
        controls: list[Control] = []
        self._wanted = _HEADER_BYTES_MIN
        start, before = self._take_columns(data), -1
        while start > before:
            before = self._take_publishes(data, start)
            start = self._take_other(data, before, controls)
        self._keep(data[start:])
        return controls

    def _take_columns(self, data: bytes) -> int:
        """Take the messages at the front of a large read; return the place after them.

        An accelerator: it takes what :meth:`_take_publishes` would take.
        """
        id_bytes = ID_BYTES[data[0]] if len(data) >= ENOUGH_BYTES else None
        if id_bytes is None:
            return 0
        limit, has_properties = self._payload_bytes_kept, self._has_properties
        parsed = parse_publishes(data, self._topics, id_bytes, limit, has_properties=has_properties)
        if parsed is None:
            return 0
        inbox = self.inbox
        inbox.numbers.frombytes(parsed.numbers.tobytes())
        inbox.payloads.add(parsed.payloads)
        inbox.flags += data[:1] * len(parsed.numbers)
        inbox.mids += parsed.mids
        return parsed.stop

    def _take_publishes(self, data: bytes, start: int) -> int:
        """Take the complete messages at a place; return the place after them."""
        inbox, learn, has_properties = self.inbox, self._topics.learn, self._has_properties
        number_of = self._topics.get
        add_number, add_payload = inbox.numbers.append, inbox.payloads.loose.append
        add_flags, mids = inbox.flags.append, inbox.mids
        most, end = self._payload_bytes_kept, len(data)
        while end - start >= _HEADER_BYTES_MIN:
            first, length, body = data[start], data[start + 1], start + 2
            if length & 0x80:
                length, body = varint_at(data, start + 1) or (end, body)
            stop, id_bytes = body + length, ID_BYTES[first]
            if stop > end or length > most or id_bytes is None:
                break
            topic_stop, payload = publish_places(
                data, body, stop, id_bytes, has_properties=has_properties
            )
            name = data[body:topic_stop]
            number = number_of(name)
            add_number(learn(name, topic_text(name[2:])) if number is None else number)
            add_payload(data[payload:stop])
            add_flags(first)
            mids += data[topic_stop : topic_stop + id_bytes] or NO_MID
            start = stop
        return start

    def _take_other(self, data: bytes, start: int, controls: list[Control]) -> int:
        """Take a packet other than a plain message; return the place after it, or ``start``."""
        header = varint_at(data, start + 1)
        if header is None:
            self._wanted = len(data) - start + 1
            return start
        first, (length, body) = data[start], header
        id_bytes = ID_BYTES[first]
        if id_bytes is not None and length > self._payload_bytes_kept:
            return self._take_large(data, start, body, body + length)
        if id_bytes is None and length > CONTROL_BYTES_MAX:
            raise MalformedError(f"a packet that is not a PUBLISH has {length} bytes")
        if body + length > len(data):
            self._wanted = body + length - start
            return start
        controls.append(decode_control(first, data[body : body + length], self._version))
        return body + length

    def _take_large(self, data: bytes, start: int, body: int, stop: int) -> int:
        """Take a message once the part that is kept has arrived; the rest is dropped."""
        first, limit = data[start], self._payload_bytes_kept
        id_bytes = ID_BYTES[first] or 0
        head = body + 2
        if len(data) >= head:
            head += int.from_bytes(data[body:head], "big") + id_bytes + _VARINT_BYTES_MAX
        if len(data) < min(head, stop):
            self._wanted = min(head, stop) - start
            return start
        topic_stop, payload = publish_places(
            data, body, stop, id_bytes, has_properties=self._has_properties
        )
        after_id = topic_stop + id_bytes
        if payload - after_id > limit:
            payload = after_id  # its properties alone exceed what is kept
        cut = min(stop, payload + limit)
        if len(data) < cut:
            self._wanted = cut - start
            return start
        inbox, topics, name = self.inbox, self._topics, data[body:topic_stop]
        number = topics.get(name)
        inbox.numbers.append(topics.learn(name, topic_text(name[2:])) if number is None else number)
        inbox.payloads.loose.append(data[payload:cut])
        inbox.flags.append(first)
        inbox.mids += data[topic_stop:after_id] or NO_MID
        self._skip = max(0, stop - len(data))
        return min(stop, len(data))
