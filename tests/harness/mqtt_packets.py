"""Packets of a broker, written down from the standard once more (MQTT 3.1.1 and 5.0 section 3)."""

from __future__ import annotations


def varint(value: int) -> bytes:
    """Return a variable byte integer."""
    found = b""
    while True:
        value, digit = divmod(value, 128)
        found += bytes((digit | (0x80 if value else 0),))
        if not value:
            return found


def packet(first: int, body: bytes) -> bytes:
    """Return a packet of any type."""
    return bytes((first,)) + varint(len(body)) + body


def publish(
    topic: bytes, payload: bytes, qos: int, mid: int, *, properties: bytes | None, flags: int = 0
) -> bytes:
    """Return a PUBLISH; ``properties`` without their length, None for MQTT 3.1.1."""
    body = len(topic).to_bytes(2, "big") + topic
    body += mid.to_bytes(2, "big") if qos else b""
    body += b"" if properties is None else varint(len(properties)) + properties
    return packet(0x30 | qos << 1 | flags, body + payload)
