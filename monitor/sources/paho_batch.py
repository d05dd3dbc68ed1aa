"""A paho client that reads many packets at once and acknowledges them in one write.

Rules of this file: PUBLISH and PUBREL are split here, in one loop over a large read; everything
else goes to paho's own handlers. Nothing is acknowledged but by :meth:`BatchClient.acknowledge`.
The private names of paho that are used stand in ``PRIVATE``; a contract test watches them.

QoS 2 is made safe: a message is handed over when its PUBLISH comes, PUBREC follows only when it is
durable (paho would send it before anything is stored), and PUBREL is answered at once. A PUBLISH
that comes again until then is removed by the journal's identity.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Final

import paho.mqtt.client as paho
from paho.mqtt import MQTTException
from paho.mqtt.enums import MQTTErrorCode, MQTTProtocolVersion

PRIVATE: Final = (
    "_sock_recv",
    "_packet_handle",
    "_packet_queue",
    "_loop_rc_handle",
    "_in_packet",
    "_last_bytes_received",
)
READ_BYTES: Final = 262_144
_TOPICS_MAX: Final = 65_536

_PUBLISH: Final = 0x30
_PUBACK: Final = 0x40
_PUBREC: Final = 0x50
_PUBREL: Final = 0x62
_PUBACK_HEAD: Final = bytes((_PUBACK, 2))
_PUBREC_HEAD: Final = bytes((_PUBREC, 2))
_PUBCOMP: Final = 0x70


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


class MalformedError(Exception):
    """The broker sent what is not MQTT."""


class BatchClient(paho.Client):
    """A paho client whose messages wait in ``arrived`` until somebody takes them."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - paho's own options
        super().__init__(**options)
        self.arrived: list[Message] = []
        self.generation = 0
        self._rest = b""
        self._topics: dict[bytes, str] = {}
        self._has_properties: Final = self._protocol == MQTTProtocolVersion.MQTTv5

    def begin_generation(self) -> None:
        """Forget what is left of a former connection: none of it may ever be acknowledged."""
        self.generation += 1
        self._rest = b""
        self.arrived = []

    def read(self, messages_max: int) -> MQTTErrorCode:
        """Read until the socket is empty or ``messages_max`` wait; returns paho's code."""
        while len(self.arrived) < messages_max:
            try:
                chunk = self._sock_recv(READ_BYTES)
            except BlockingIOError:
                return MQTTErrorCode.MQTT_ERR_SUCCESS
            except OSError:
                return self._loop_rc_handle(MQTTErrorCode.MQTT_ERR_CONN_LOST)
            if not chunk:
                return self._loop_rc_handle(MQTTErrorCode.MQTT_ERR_CONN_LOST)
            self._last_bytes_received = time.monotonic()
            try:
                code = self._split(self._rest + chunk if self._rest else chunk)
            except (MalformedError, IndexError, UnicodeDecodeError, MQTTException):
                code = MQTTErrorCode.MQTT_ERR_PROTOCOL
            if code != MQTTErrorCode.MQTT_ERR_SUCCESS:
                return self._loop_rc_handle(code)
        return MQTTErrorCode.MQTT_ERR_SUCCESS

    def acknowledge(self, messages: Iterable[Message]) -> int:
        """Send PUBACK or PUBREC for messages of this connection; return how many."""
        generation = self.generation
        packets = [
            (_PUBACK_HEAD if message.flags & 6 == 2 else _PUBREC_HEAD) + message.mid
            for message in messages
            if message.generation == generation and message.flags & 6
        ]
        if packets:
            self._packet_queue(_PUBACK, b"".join(packets), 0, 0)
        return len(packets)

    def _split(self, data: bytes) -> MQTTErrorCode:
        """Take whole packets off the front of ``data``; what is left waits for the next read."""
        start, end = 0, len(data)
        while end - start >= 2:
            length, body = data[start + 1], start + 2
            if length & 0x80:
                length, body = _long_length(data, start + 1)
                if not body:
                    break
            stop = body + length
            if stop > end:
                break
            first = data[start]
            if first & 0xF0 == _PUBLISH:
                self._publish(first, data, body, stop)
            elif first == _PUBREL:
                self._packet_queue(_PUBCOMP, bytes((_PUBCOMP, 2)) + data[body : body + 2], 0, 0)
            else:
                code = self._hand_to_paho(first, data[body:stop])
                if code != MQTTErrorCode.MQTT_ERR_SUCCESS:
                    return code
            start = stop
        self._rest = data[start:]
        return MQTTErrorCode.MQTT_ERR_SUCCESS

    def _publish(self, first: int, data: bytes, at: int, stop: int) -> None:
        """Take one PUBLISH apart (MQTT 5.0 section 3.3)."""
        payload = at + 2 + ((data[at] << 8) | data[at + 1])
        name = data[at + 2 : payload]
        mid = b""
        if first & 6:
            mid = data[payload : payload + 2]
            payload += 2
        if self._has_properties:
            size = data[payload]
            payload += 1
            if size & 0x80:
                size, payload = _long_length(data, payload - 1)
            payload += size
        if payload > stop or first & 6 == 6 or not name:
            raise MalformedError
        topic = self._topics.get(name)
        if topic is None:
            if len(self._topics) >= _TOPICS_MAX:
                self._topics.clear()
            topic = self._topics[name] = name.decode()
        self.arrived.append(Message(topic, data[payload:stop], first, mid, self.generation))

    def _hand_to_paho(self, first: int, packet: bytes) -> MQTTErrorCode:
        self._in_packet = {
            "command": first,
            "have_remaining": 1,
            "remaining_count": [],
            "remaining_mult": 1,
            "remaining_length": len(packet),
            "packet": bytearray(packet),
            "to_process": 0,
            "pos": 0,
        }
        return self._packet_handle()


def _long_length(data: bytes, at: int) -> tuple[int, int]:
    """Return (length, place after it) of a variable byte integer; place 0 if it is cut off."""
    length = 0
    for shift in range(4):
        if at + shift >= len(data):
            return 0, 0
        byte = data[at + shift]
        length |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return length, at + shift + 1
    raise MalformedError
