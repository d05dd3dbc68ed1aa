"""A paho client that reads many packets at once and acknowledges them in one write.

Rules of this file: PUBLISH and PUBREL are split here, in one loop over a large read; everything
else goes to paho's own handlers. Nothing is acknowledged but by :meth:`BatchClient.acknowledge`.
The private names of paho that are used stand in ``PRIVATE``; a contract test watches them.

QoS 2 is made safe: a message is handed over when its PUBLISH comes, PUBREC follows only when it is
durable (paho would send it before anything is stored), and PUBREL is answered at once. A PUBLISH
that comes again until then is removed by the journal's identity.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from socket import socket as Socket  # noqa: N812 - a class
from typing import Any, Final

import paho.mqtt.client as paho
from paho.mqtt import MQTTException
from paho.mqtt.enums import MQTTErrorCode, MQTTProtocolVersion

from monitor.mqtt.inbox import (
    NO_MID,
    Arrivals,
    Message,
    arrivals,
)
from monitor.mqtt.publish_parser import ENOUGH_BYTES, taken_apart
from monitor.mqtt.tls import TlsSocket
from monitor.mqtt.topic_index import Numbering

PRIVATE: Final = (
    "_sock_recv",
    "_packet_handle",
    "_packet_queue",
    "_loop_rc_handle",
    "_in_packet",
    "_last_bytes_received",
    "_ssl_wrap_socket",
)
READ_BYTES: Final = 262_144
GATHERED_BYTES: Final = 262_144
BYTES_MAX: Final = 4_194_304
_TOPICS_MAX: Final = 65_536

# Bytes of the packet identifier, by the first byte; None for what is no PUBLISH. What has QoS 3 is
# no MQTT.
_MID_BYTES: Final = tuple(
    (2 if first & 6 else 0) if first & 0xF0 == 0x30 and first & 6 != 6 else None
    for first in range(256)
)
_ANY_PUBLISH: Final = 0x30
_PUBACK: Final = 0x40
_PUBREL: Final = 0x62
_PUBCOMP: Final = 0x70
_CUT_OFF: Final = 1 << 30


class MalformedError(Exception):
    """The broker sent what is not MQTT."""


class BatchClient(paho.Client):
    """A paho client whose messages wait in ``arrived`` until somebody takes them."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - paho's own options
        super().__init__(**options)
        self.generation = 0
        self.was_ended = False
        """Whether the broker ended the connection in good order, and no fault of the network."""
        self._rest = b""
        self._numbering = Numbering()
        self.arrived = Arrivals(self.generation, self._numbering.names)
        self._has_properties: Final = self._protocol == MQTTProtocolVersion.MQTTv5

    def begin_generation(self) -> None:
        """Forget what is left of a former connection: none of it may ever be acknowledged."""
        self.generation += 1
        self.was_ended = False
        self._rest = b""
        self._begin()

    def take(self) -> Arrivals:
        """Return what arrived since the last call."""
        taken = self.arrived
        self._begin()
        return taken

    def _begin(self) -> None:
        """Let what arrives from now on be for the next to take; topics are forgotten between."""
        if len(self._numbering.names) >= _TOPICS_MAX:
            self._numbering = Numbering()
        self.arrived = Arrivals(self.generation, self._numbering.names)

    def read(self, messages_max: int) -> MQTTErrorCode:
        """Read until the socket is empty, or ``messages_max`` or ``BYTES_MAX`` wait.

        Returns paho's code.
        """
        size = 0
        while len(self.arrived) < messages_max and size < BYTES_MAX:
            kept = len(self._rest)
            data, after = self._gather()
            size += len(data) - kept
            try:
                code = self._split(data)
            except (MalformedError, IndexError, UnicodeDecodeError, MQTTException):
                code = MQTTErrorCode.MQTT_ERR_PROTOCOL
            if code == MQTTErrorCode.MQTT_ERR_SUCCESS:
                code = after
            if code == MQTTErrorCode.MQTT_ERR_AGAIN:
                break
            if code != MQTTErrorCode.MQTT_ERR_SUCCESS:
                return self._loop_rc_handle(code)
        return MQTTErrorCode.MQTT_ERR_SUCCESS

    def want_write(self) -> bool:
        """Return whether something waits to be written, encrypted or not."""
        return super().want_write() or self._has_unsent()

    def loop_write(self) -> MQTTErrorCode:
        """Write what waits, if the system takes it."""
        socket = self.socket()
        if isinstance(socket, TlsSocket):
            with suppress(OSError):  # a connection that is lost is noticed when it is read
                socket.flush()
        return super().loop_write()

    def _has_unsent(self) -> bool:
        socket = self.socket()
        return isinstance(socket, TlsSocket) and socket.has_unsent

    def tls_set_context(self, context: ssl.SSLContext) -> None:  # type: ignore[override]
        """Let connections have TLS, as ``context`` says."""
        super().tls_set_context(context)
        self._tls_of: Callable[[Socket], TlsSocket] = lambda plain: TlsSocket.over(
            plain, context, self.host, self.connect_timeout
        )

    def _ssl_wrap_socket(self, tcp_sock: Socket) -> TlsSocket:  # type: ignore[override]
        """Let a connection have TLS; paho's own way asks the system twice for each message."""
        return self._tls_of(tcp_sock)

    def _gather(self) -> tuple[bytes, MQTTErrorCode]:
        """Return what is there, up to ``GATHERED_BYTES``, and whether there may be more.

        The code is MQTT_ERR_AGAIN once the socket is empty. What is large is split at less cost.
        """
        chunks, size, after = [self._rest], 0, MQTTErrorCode.MQTT_ERR_SUCCESS
        while size < GATHERED_BYTES and after == MQTTErrorCode.MQTT_ERR_SUCCESS:
            try:
                chunks.append(self._sock_recv(READ_BYTES))
                size += len(chunks[-1])
                if not chunks[-1]:
                    self.was_ended, after = True, MQTTErrorCode.MQTT_ERR_CONN_LOST
            except BlockingIOError:
                after = MQTTErrorCode.MQTT_ERR_AGAIN
            except OSError:
                after = MQTTErrorCode.MQTT_ERR_CONN_LOST
        if size:
            self._last_bytes_received = time.monotonic()
        return b"".join(chunks), after

    def acknowledge(self, messages: Sequence[Message]) -> int:
        """Send PUBACK or PUBREC for messages of this connection, in one write; return how many."""
        count, packets = arrivals(messages, self.generation).acknowledgements()
        if count:
            self._packet_queue(_PUBACK, packets, 0, 0)
        return count

    def _split(self, data: bytes) -> MQTTErrorCode:
        """Take whole packets off the front of ``data``; what is left waits for the next read.

        PUBLISH is taken apart here (MQTT 5.0 section 3.3), with no call a message but appending.
        """
        arrived, number_of, has_properties = self.arrived, self._numbering.get, self._has_properties
        add_number, add_payload = arrived.numbers.append, arrived.payloads.loose.append
        add_flags, mids = arrived.flags.append, arrived.mids
        start, end = self._take_alike(data), len(data)
        while end - start >= 2:
            first, length, body = data[start], data[start + 1], start + 2
            if length & 0x80:
                length, body = _long_length(data, start + 1)
            stop = body + length
            if stop > end:
                break
            width = _MID_BYTES[first]
            if width is None:
                code = self._other(first, data[body:stop])
                if code != MQTTErrorCode.MQTT_ERR_SUCCESS:
                    return code
                start = stop
                continue
            after_name = body + 2 + (data[body] << 8 | data[body + 1])
            at = after_name + width
            mid = data[after_name:at] or NO_MID
            if has_properties:
                at = _after_properties(data, at) if data[at] else at + 1
            if at > stop:
                raise MalformedError
            name = data[body:after_name]
            number = number_of(name)
            add_number(self._learn(name) if number is None else number)
            add_payload(data[at:stop])
            add_flags(first)
            mids += mid
            start = stop
        self._rest = data[start:]
        return MQTTErrorCode.MQTT_ERR_SUCCESS

    def _take_alike(self, data: bytes) -> int:
        """Take what stands at the front of much, if it is alike; return the place after it."""
        width = _MID_BYTES[data[0]] if len(data) >= ENOUGH_BYTES else None
        if width is None:
            return 0
        found = taken_apart(data, self._numbering, width, has_properties=self._has_properties)
        if found is None:
            return 0
        arrived = self.arrived
        arrived.numbers.frombytes(found.numbers.tobytes())
        arrived.payloads.add(found.payloads)
        arrived.flags += data[:1] * len(found.numbers)
        arrived.mids += found.mids
        return found.stop

    def _learn(self, name: bytes) -> int:
        """Return the number of a topic that is new; ``name`` has its length before it."""
        if len(name) <= 2:
            raise MalformedError
        return self._numbering.learn(name)

    def _other(self, first: int, packet: bytes) -> MQTTErrorCode:
        """Answer a PUBREL; let paho have any other packet that is no PUBLISH."""
        if first & 0xF0 == _ANY_PUBLISH:
            raise MalformedError
        if first == _PUBREL:
            self._packet_queue(_PUBCOMP, bytes((_PUBCOMP, 2)) + packet[:2], 0, 0)
            return MQTTErrorCode.MQTT_ERR_SUCCESS
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
    """Return (length, place after it) of a variable byte integer; it is huge if cut off."""
    length = 0
    for shift in range(4):
        if at + shift >= len(data):
            return _CUT_OFF, at
        byte = data[at + shift]
        length |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return length, at + shift + 1
    raise MalformedError


def _after_properties(data: bytes, at: int) -> int:
    """Return the place after the properties that begin at one."""
    size, place = _long_length(data, at)
    return place + size
