"""Properties that a broker's packets may have (MQTT 5.0 section 2.2.2): one line each in a table.

A property that is not in the table, stands in the wrong packet, or stands twice is malformed.
Those of PUBLISH are left out: nobody asks for them, so that they are skipped by their length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from monitor.mqtt.fields import MalformedError, Reader, dump_varint

SESSION_EXPIRY: Final = 0x11
SERVER_KEEP_ALIVE: Final = 0x13
REASON_STRING: Final = 0x1F
RECEIVE_MAXIMUM: Final = 0x21
USER_PROPERTY: Final = 0x26
MAXIMUM_PACKET_SIZE: Final = 0x27

# Types of packets, by the upper half of their first byte.
CONNACK, PUBACK, PUBREC, PUBREL, PUBCOMP = 2, 4, 5, 6, 7
SUBACK, UNSUBACK, DISCONNECT = 9, 11, 14
_ACKS: Final = (PUBACK, PUBREC, PUBREL, PUBCOMP)

Value = int | str | bytes | tuple[str, str]
_Read = Callable[[Reader], Value]


class Properties(dict[int, Value]):
    """Properties by their identifiers; of a property that stands several times the last one."""

    def number(self, identifier: int) -> int | None:
        """Return the value of a property that is an integer, None if it is not there."""
        value = self.get(identifier)
        return value if isinstance(value, int) else None

    def text(self, identifier: int) -> str:
        """Return the value of a property that is a text, empty if it is not there."""
        value = self.get(identifier)
        return value if isinstance(value, str) else ""


def _integer(count: int) -> _Read:
    return lambda reader: reader.integer(count)


def _pair(reader: Reader) -> tuple[str, str]:
    return reader.text(), reader.text()


_BYTE: Final = _integer(1)
_TWO_BYTES: Final = _integer(2)
_FOUR_BYTES: Final = _integer(4)
_TEXT: Final = Reader.text
_BINARY: Final = Reader.binary

_PROPERTIES: Final[Mapping[int, tuple[_Read, tuple[int, ...]]]] = {
    SESSION_EXPIRY: (_FOUR_BYTES, (CONNACK, DISCONNECT)),
    0x12: (_TEXT, (CONNACK,)),  # assigned client identifier
    SERVER_KEEP_ALIVE: (_TWO_BYTES, (CONNACK,)),
    0x15: (_TEXT, (CONNACK,)),  # authentication method
    0x16: (_BINARY, (CONNACK,)),  # authentication data
    0x1A: (_TEXT, (CONNACK,)),  # response information
    0x1C: (_TEXT, (CONNACK, DISCONNECT)),  # server reference
    REASON_STRING: (_TEXT, (CONNACK, *_ACKS, SUBACK, UNSUBACK, DISCONNECT)),
    RECEIVE_MAXIMUM: (_TWO_BYTES, (CONNACK,)),
    0x22: (_TWO_BYTES, (CONNACK,)),  # topic alias maximum
    0x24: (_BYTE, (CONNACK,)),  # maximum QoS
    0x25: (_BYTE, (CONNACK,)),  # retain available
    USER_PROPERTY: (_pair, (CONNACK, *_ACKS, SUBACK, UNSUBACK, DISCONNECT)),
    MAXIMUM_PACKET_SIZE: (_FOUR_BYTES, (CONNACK,)),
    0x28: (_BYTE, (CONNACK,)),  # wildcard subscription available
    0x29: (_BYTE, (CONNACK,)),  # subscription identifier available
    0x2A: (_BYTE, (CONNACK,)),  # shared subscription available
}
_WIDTHS: Final = {SESSION_EXPIRY: 4, RECEIVE_MAXIMUM: 2, MAXIMUM_PACKET_SIZE: 4}


def read_properties(reader: Reader, packet: int) -> Properties:
    """Return the properties that come next in a packet of some type."""
    inside = Reader(reader.take(reader.varint()))
    found = Properties()
    while inside.has_more:
        identifier = inside.varint()
        read, packets = _PROPERTIES.get(identifier, (_BYTE, ()))
        if packet not in packets:
            raise MalformedError(f"property {identifier:#04x} does not belong to its packet")
        if identifier in found and identifier != USER_PROPERTY:
            raise MalformedError(f"property {identifier:#04x} stands twice in a packet")
        found[identifier] = read(inside)
    return found


def dump_properties(numbers: Mapping[int, int]) -> bytes:
    """Return properties of integers with their length before them."""
    body = b"".join(
        bytes((identifier,)) + value.to_bytes(_WIDTHS[identifier], "big")
        for identifier, value in numbers.items()
    )
    return dump_varint(len(body)) + body
