"""The fields and properties that MQTT packets are made of (MQTT 5.0 sections 1.5 and 2.2.2).

A peer may send any bytes. Whatever is not MQTT raises :class:`MalformedError`, and nothing else; a
value that this side cannot express (a text of 70 000 bytes) is a ValueError.

The properties that a broker's packets may have are in a table, one line each. A property that is
not in the table, is in the wrong packet, or occurs twice is malformed. Those of PUBLISH are left
out: nothing uses them, so they are skipped by their length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

# -- fields ---------------------------------------------------------------------------------------

VARINT_MAX: Final = 268_435_455
_TEXT_BYTES_MAX: Final = 65_535
_MORE: Final = 0x80  # in a byte of a variable byte integer: another byte follows


class MalformedError(Exception):
    """The peer sent something that is not MQTT; the message says what is wrong with it."""


class Reader:
    """Reads fields from the front of some bytes; raises MalformedError where they end early."""

    __slots__ = ("_at", "_data", "_stop")

    def __init__(self, data: bytes) -> None:
        self._data: Final = data
        self._at = 0
        self._stop: Final = len(data)

    @property
    def has_more(self) -> bool:
        """Whether anything is left."""
        return self._at < self._stop

    def read(self, count: int) -> bytes:
        """Return the next ``count`` bytes."""
        start = self._at
        if start + count > self._stop:
            raise MalformedError(f"a packet ends {start + count - self._stop} bytes too early")
        self._at = start + count
        return self._data[start : self._at]

    def rest(self) -> bytes:
        """Return everything that is left."""
        return self.read(self._stop - self._at)

    def integer(self, count: int) -> int:
        """Return an integer of ``count`` bytes."""
        return int.from_bytes(self.read(count), "big")

    def varint(self) -> int:
        """Return a variable byte integer."""
        parsed = varint_at(self._data, self._at)
        if parsed is None:
            raise MalformedError("a packet ends within a variable byte integer")
        value, self._at = parsed
        return value

    def binary(self) -> bytes:
        """Return binary data."""
        return self.read(self.integer(2))

    def text(self) -> str:
        """Return a text."""
        try:
            text = self.binary().decode()
        except UnicodeDecodeError as error:
            raise MalformedError(f"a text is not UTF-8: {error.reason}") from error
        if "\0" in text:
            raise MalformedError("a text contains U+0000")
        return text


def varint_at(data: bytes, at: int) -> tuple[int, int] | None:
    """Return (value, place after it) of a variable byte integer, None if it is cut off."""
    value = 0
    for shift in (0, 7, 14, 21):
        if at >= len(data):
            return None
        byte = data[at]
        value |= (byte & ~_MORE) << shift
        at += 1
        if byte < _MORE:
            return value, at
    raise MalformedError("a variable byte integer takes more than four bytes")


def dump_varint(value: int) -> bytes:
    """Return a variable byte integer; raises ValueError beyond 268 435 455."""
    if not 0 <= value <= VARINT_MAX:
        raise ValueError(f"{value} does not fit a variable byte integer")
    octets = bytearray()
    while True:
        value, low = divmod(value, 128)
        octets.append(low | (_MORE if value else 0))
        if not value:
            return bytes(octets)


def dump_binary(data: bytes) -> bytes:
    """Return binary data with its length before it; raises ValueError beyond 65 535 bytes."""
    if len(data) > _TEXT_BYTES_MAX:
        raise ValueError(f"{len(data)} bytes do not fit a field of MQTT; at most 65535 do")
    return len(data).to_bytes(2, "big") + data


def dump_text(text: str) -> bytes:
    """Return a text with its length before it; raises ValueError if MQTT cannot express it."""
    if "\0" in text:
        raise ValueError("MQTT cannot express a text that contains U+0000")
    return dump_binary(text.encode())


# -- properties -----------------------------------------------------------------------------------

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
    """Properties by their identifiers; the last one of a property that occurs several times."""

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
    inside = Reader(reader.read(reader.varint()))
    properties = Properties()
    while inside.has_more:
        identifier = inside.varint()
        read, packets = _PROPERTIES.get(identifier, (_BYTE, ()))
        if packet not in packets:
            raise MalformedError(f"property {identifier:#04x} does not belong to its packet")
        if identifier in properties and identifier != USER_PROPERTY:
            raise MalformedError(f"property {identifier:#04x} appears twice in a packet")
        properties[identifier] = read(inside)
    return properties


def dump_properties(numbers: Mapping[int, int]) -> bytes:
    """Return integer properties with their length before them."""
    body = b"".join(
        bytes((identifier,)) + value.to_bytes(_WIDTHS[identifier], "big")
        for identifier, value in numbers.items()
    )
    return dump_varint(len(body)) + body
