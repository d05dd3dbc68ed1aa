"""The fields that MQTT packets are made of: integers, text, binary data (MQTT 5.0 section 1.5).

A peer may send any bytes. Whatever is not MQTT raises :class:`MalformedError`, and nothing else;
what this side cannot express (a text of 70 000 bytes) is a ValueError.
"""

from __future__ import annotations

from typing import Final

VARINT_MAX: Final = 268_435_455
_TEXT_BYTES_MAX: Final = 65_535
_MORE: Final = 0x80  # in a byte of a variable byte integer: another byte follows


class MalformedError(Exception):
    """The peer sent what is not MQTT; the message says what is wrong with it."""


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

    def take(self, count: int) -> bytes:
        """Return the next ``count`` bytes."""
        start = self._at
        if start + count > self._stop:
            raise MalformedError(f"a packet ends {start + count - self._stop} bytes too early")
        self._at = start + count
        return self._data[start : self._at]

    def rest(self) -> bytes:
        """Return everything that is left."""
        return self.take(self._stop - self._at)

    def integer(self, count: int) -> int:
        """Return an integer of ``count`` bytes."""
        return int.from_bytes(self.take(count), "big")

    def varint(self) -> int:
        """Return a variable byte integer."""
        found = varint_at(self._data, self._at)
        if found is None:
            raise MalformedError("a packet ends within a variable byte integer")
        value, self._at = found
        return value

    def binary(self) -> bytes:
        """Return binary data."""
        return self.take(self.integer(2))

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
    """Return (value, place after it) of a variable byte integer, None where it is cut off."""
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
    found = bytearray()
    while True:
        value, low = divmod(value, 128)
        found.append(low | (_MORE if value else 0))
        if not value:
            return bytes(found)


def dump_binary(data: bytes) -> bytes:
    """Return binary data with its length before it; raises ValueError beyond 65 535 bytes."""
    if len(data) > _TEXT_BYTES_MAX:
        raise ValueError(f"{len(data)} bytes do not fit a field of MQTT; at most 65535 do")
    return len(data).to_bytes(2, "big") + data


def dump_text(text: str) -> bytes:
    """Return a text with its length before it; raises ValueError where MQTT cannot express it."""
    if "\0" in text:
        raise ValueError("MQTT cannot express a text that contains U+0000")
    return dump_binary(text.encode())
