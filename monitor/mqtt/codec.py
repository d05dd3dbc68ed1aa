"""The packets a client sends, as bytes, and those a broker sends, read from bytes; no I/O.

There is one writer for each type of packet. What MQTT cannot express, such as a text of 70 000
bytes, is a ValueError.

There is one reader for each first byte. A packet that is not MQTT raises MalformedError and nothing
else. The table is indexed by the whole first byte, so that it also refuses reserved flags. This
client offers no topic aliases, so that every PUBLISH names its topic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from monitor.mqtt import primitives
from monitor.mqtt.packets import (
    CONNACK_311,
    Connack,
    Connect,
    Control,
    Disconnect,
    Pingreq,
    Pingresp,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Sent,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
    Version,
)
from monitor.mqtt.primitives import (
    RECEIVE_MAXIMUM,
    SESSION_EXPIRY,
    MalformedError,
    Reader,
    dump_binary,
    dump_properties,
    dump_text,
    dump_varint,
    read_properties,
    varint_at,
)

# -- writing --------------------------------------------------------------------------------------


def encode(packet: Sent, version: Version) -> bytes:
    """Return a packet as bytes; raises ValueError for what MQTT cannot express."""
    first, write = _WRITERS[type(packet)]
    body = write(packet, version)
    return bytes((first,)) + dump_varint(len(body)) + body


def _write_connect(packet: Connect, version: Version) -> bytes:
    flags = 0 if packet.username is None else 0x80
    flags |= 0 if packet.password is None else 0x40
    parts = [
        dump_text("MQTT"),
        bytes((version, flags)),
        packet.keepalive_seconds.to_bytes(2, "big"),
    ]
    if version == Version.V5:
        # No maximum packet size: a broker that is told one drops what is larger, uncounted.
        wanted = {
            SESSION_EXPIRY: packet.session_expiry_seconds,
            RECEIVE_MAXIMUM: packet.receive_maximum,
        }
        parts.append(dump_properties(wanted))
    parts.append(dump_text(packet.client_id))
    if packet.username is not None:
        parts.append(dump_text(packet.username))
    if packet.password is not None:
        parts.append(dump_binary(packet.password.encode()))
    return b"".join(parts)


def _write_subscribe(packet: Subscribe, version: Version) -> bytes:
    # Retained messages are sent for new subscriptions only, not after each reconnect.
    options = 0x10 if version == Version.V5 else 0
    filters = (dump_text(wanted) + bytes((qos | options,)) for wanted, qos in packet.filters)
    return _id_and_no_properties(packet.packet_id, version) + b"".join(filters)


def _write_unsubscribe(packet: Unsubscribe, version: Version) -> bytes:
    filters = b"".join(map(dump_text, packet.filters))
    return _id_and_no_properties(packet.packet_id, version) + filters


def _id_and_no_properties(packet_id: int, version: Version) -> bytes:
    return packet_id.to_bytes(2, "big") + b"\0" * (version == Version.V5)


def _write_acknowledgement(packet: Puback | Pubrec | Pubrel | Pubcomp, version: Version) -> bytes:
    code = bytes((packet.code,)) if packet.code and version == Version.V5 else b""
    return packet.packet_id.to_bytes(2, "big") + code


def _write_disconnect(packet: Disconnect, version: Version) -> bytes:
    return bytes((packet.code,)) if packet.code and version == Version.V5 else b""


def _write_nothing(_packet: Pingreq, _version: Version) -> bytes:
    return b""


_WRITERS: Final[Mapping[type, tuple[int, Callable[..., bytes]]]] = {
    Connect: (0x10, _write_connect),
    Puback: (0x40, _write_acknowledgement),
    Pubrec: (0x50, _write_acknowledgement),
    Pubrel: (0x62, _write_acknowledgement),
    Pubcomp: (0x70, _write_acknowledgement),
    Subscribe: (0x82, _write_subscribe),
    Unsubscribe: (0xA2, _write_unsubscribe),
    Pingreq: (0xC0, _write_nothing),
    Disconnect: (0xE0, _write_disconnect),
}


# -- reading --------------------------------------------------------------------------------------

# Bytes of the packet identifier of a PUBLISH, by its first byte; None where the packet is no
# PUBLISH. QoS 3 is not MQTT.
ID_BYTES: Final = tuple(
    (2 if first & 6 else 0) if first & 0xF0 == 0x30 and first & 6 != 6 else None
    for first in range(256)
)
_NO_ID: Final = b"\0\0"
_TOPIC: Final = re.compile(r"[^\0+#]+")


def decode(first: int, body: bytes, version: Version) -> Control | Publish:
    """Return the packet of a first byte and the bytes after its length; raises MalformedError."""
    if ID_BYTES[first] is None:
        return decode_control(first, body, version)
    return _read_publish(first, body, version)


def decode_control(first: int, body: bytes, version: Version) -> Control:
    """Return a packet other than a PUBLISH, as :func:`decode` does."""
    read = _READERS.get(first)
    if read is None:
        raise MalformedError(f"no packet from a broker begins with {first:#04x}")
    reader = Reader(body)
    packet = read(reader, version)
    if reader.has_more:
        raise MalformedError(f"{len(reader.rest())} bytes follow {type(packet).__name__.upper()}")
    return packet


def publish_places(
    data: bytes, start: int, stop: int, id_bytes: int, *, has_properties: bool
) -> tuple[int, int]:
    """Return where the topic of a PUBLISH ends, and where its payload begins.

    ``data[start:stop]`` is the packet's body, which begins with the topic. Raises MalformedError if
    it ends too early or has the packet identifier 0. Properties are skipped: nothing uses them.
    """
    if stop - start < 2:
        raise MalformedError("a PUBLISH ends within its topic")
    topic_stop = start + 2 + (data[start] << 8 | data[start + 1])
    payload = topic_stop + id_bytes
    if has_properties:
        has_none = payload < stop and not data[payload]
        size, payload = (0, payload + 1) if has_none else varint_at(data, payload) or (stop, stop)
        payload += size
    if payload > stop:
        raise MalformedError("a PUBLISH ends before its payload begins")
    if id_bytes and data[topic_stop : topic_stop + 2] == _NO_ID:
        raise MalformedError("a PUBLISH of QoS 1 or 2 has the packet identifier 0")
    return topic_stop, payload


def topic_text(name: bytes) -> str:
    """Return the topic of a PUBLISH; raises MalformedError for bytes that cannot be one."""
    try:
        topic = name.decode()
    except UnicodeDecodeError as error:
        raise MalformedError(f"a topic is not UTF-8: {error.reason}") from error
    if _TOPIC.fullmatch(topic) is None:
        raise MalformedError("a topic is empty, or contains a wildcard or U+0000")
    return topic


def _read_publish(first: int, body: bytes, version: Version) -> Publish:
    id_bytes = ID_BYTES[first] or 0
    topic_stop, payload = publish_places(
        body, 0, len(body), id_bytes, has_properties=version == Version.V5
    )
    packet_id = int.from_bytes(body[topic_stop : topic_stop + id_bytes], "big")
    return Publish(first, topic_text(body[2:topic_stop]), packet_id, body[payload:])


def _read_connack(reader: Reader, version: Version) -> Connack:
    flags, code = reader.integer(1), reader.integer(1)
    if flags > 1:
        raise MalformedError("CONNACK has reserved flags set")
    if version == Version.V3_1_1:
        return Connack(bool(flags), CONNACK_311.get(code, code | 0x80))
    properties = read_properties(reader, primitives.CONNACK)
    return Connack(
        bool(flags),
        code,
        properties.text(primitives.REASON_STRING),
        properties.number(primitives.SERVER_KEEP_ALIVE),
        properties.number(SESSION_EXPIRY),
    )


def _read_suback(reader: Reader, version: Version) -> Suback:
    packet_id, reason = _read_id(reader), ""
    if version == Version.V5:
        properties = read_properties(reader, primitives.SUBACK)
        reason = properties.text(primitives.REASON_STRING)
    return Suback(packet_id, tuple(reader.rest()), reason)


def _read_unsuback(reader: Reader, version: Version) -> Unsuback:
    packet_id = _read_id(reader)
    if version == Version.V5:
        read_properties(reader, primitives.UNSUBACK)
    return Unsuback(packet_id, tuple(reader.rest()) if version == Version.V5 else ())


def _read_id(reader: Reader) -> int:
    packet_id = reader.integer(2)
    if not packet_id:
        raise MalformedError("a packet has the packet identifier 0")
    return packet_id


def _acknowledgement(kind: Callable[[int, int], Control], packet: int) -> _Read:
    """Return the reader of PUBACK, PUBREC, PUBREL or PUBCOMP; a code that is left out is 0."""

    def read(reader: Reader, version: Version) -> Control:
        packet_id, code = _read_id(reader), 0
        if version == Version.V5 and reader.has_more:
            code = reader.integer(1)
            _read_more(reader, packet)
        return kind(packet_id, code)

    return read


def _read_disconnect(reader: Reader, version: Version) -> Disconnect:
    if version == Version.V3_1_1 or not reader.has_more:
        return Disconnect()
    code = reader.integer(1)
    return Disconnect(code, _read_more(reader, primitives.DISCONNECT))


def _read_more(reader: Reader, packet: int) -> str:
    """Return the reason string of the optional properties at the end of a packet."""
    if not reader.has_more:
        return ""
    return read_properties(reader, packet).text(primitives.REASON_STRING)


def _read_pingresp(_reader: Reader, _version: Version) -> Pingresp:
    return Pingresp()


_Read = Callable[[Reader, Version], Control]
_READERS: Final[Mapping[int, _Read]] = {
    0x20: _read_connack,
    0x40: _acknowledgement(Puback, primitives.PUBACK),
    0x50: _acknowledgement(Pubrec, primitives.PUBREC),
    0x62: _acknowledgement(Pubrel, primitives.PUBREL),
    0x70: _acknowledgement(Pubcomp, primitives.PUBCOMP),
    0x90: _read_suback,
    0xB0: _read_unsuback,
    0xD0: _read_pingresp,
    0xE0: _read_disconnect,
}
