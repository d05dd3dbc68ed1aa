"""What a client sends, as bytes: one writer for each type of packet.

What MQTT cannot express, such as a text of 70 000 bytes, is a ValueError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from monitor.mqtt.fields import dump_binary, dump_text, dump_varint
from monitor.mqtt.packets import (
    Connect,
    Disconnect,
    Pingreq,
    Puback,
    Pubcomp,
    Pubrec,
    Pubrel,
    Sent,
    Subscribe,
    Unsubscribe,
    Version,
)
from monitor.mqtt.properties import (
    MAXIMUM_PACKET_SIZE,
    RECEIVE_MAXIMUM,
    SESSION_EXPIRY,
    dump_properties,
)


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
        wanted = {
            SESSION_EXPIRY: packet.session_expiry_seconds,
            RECEIVE_MAXIMUM: packet.receive_maximum,
            MAXIMUM_PACKET_SIZE: packet.maximum_packet_bytes,
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
