"""Mutations that know the fields of protobuf, and which of them are messages.

Source: the encoding of protobuf (tag = number << 3 | wire type; varint 0, 64-bit 1, length 2,
32-bit 5); which fields of Sparkplug B hold messages is in its sparkplug_b.proto.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from typing import Any, Final

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_METRIC: Final[dict[int, Any]] = {9: {2: {}}}
_PAYLOAD: Final[dict[int, Any]] = {2: _METRIC}
_VARINTS: Final = (
    0, 1, 7, 8, 127, 128, 192, 300, 500, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63, 2**64 - 1,
    1_772_298_600_000, 253_402_300_800_000,
)  # fmt: skip
_DOUBLES: Final = (0.0, -0.0, 1e15, 1e16, 1e308, 5e-324, float("inf"), float("-inf"), float("nan"))
_TEXTS: Final = (
    b"", b"\xff", b"\xed\xa0\x80", b"\x00", b"density/value", b"density/U95", b"quality",
    b"Quality",
    b"a/b", b"x" * 1001, "\u20ac".encode() * 400, b"GOOD",
)  # fmt: skip


class _MalformedError(ValueError):
    """Not protobuf."""


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(raw) and shift < 70:
        value |= (raw[at] & 127) << shift
        at += 1
        if raw[at - 1] < 128:
            return value, at
        shift += 7
    raise _MalformedError


def _written(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(128 | (value & 127))
        value >>= 7
    out.append(value)
    return bytes(out)


def _read(raw: bytes, messages: dict[int, Any]) -> list[list[Any]]:
    """Return [number, wire type, value] of each field; the value of a message is such a list."""
    fields: list[list[Any]] = []
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value: Any
            value, at = _varint(raw, at)
        else:
            size = {_EIGHT: 8, _FOUR: 4}.get(wire, -1)
            if wire == _BYTES:
                size, at = _varint(raw, at)
            if size < 0 or at + size > len(raw):
                raise _MalformedError
            value, at = raw[at : at + size], at + size
            if wire == _BYTES and number in messages:
                value = _read(value, messages[number])
        fields.append([number, wire, value])
    return fields


def _write(fields: Sequence[Sequence[Any]]) -> bytes:
    out = bytearray()
    for number, wire, value in fields:
        out += _written(number << 3 | wire)
        body = _write(value) if isinstance(value, list) else value
        if isinstance(body, int):
            out += _written(body)
        else:
            out += (_written(len(body)) if wire == _BYTES else b"") + body
    return bytes(out)


def _lists(fields: list[list[Any]]) -> list[list[list[Any]]]:
    """Return the fields of the message and of those inside it."""
    return [fields, *(at for each in fields if isinstance(each[2], list) for at in _lists(each[2]))]


def _change(chance: random.Random, fields: list[list[Any]], other: list[list[Any]]) -> None:
    inside = [each for each in _lists(fields) if each]
    if not inside:
        return
    at_random = chance.choice(inside)
    field = chance.choice(at_random)
    what = chance.randrange(8)
    if what == 0:
        at_random.remove(field)
    elif what == 1:
        at_random.extend([list(field)] * chance.choice((1, 1, 2, 200)))
    elif what == 2:
        field[0] = chance.randrange(1, 20)
    elif what == 3:
        field[1:] = [_VARINT, chance.choice(_VARINTS)]
    elif what == 4:
        field[1:] = [_EIGHT, struct.pack("<d", chance.choice(_DOUBLES))]
    elif what == 5:
        field[1:] = [_FOUR, struct.pack("<f", chance.choice((1.5, 3e38, float("nan"))))]
    elif what == 6:
        field[1:] = [_BYTES, chance.choice(_TEXTS)]
    else:
        at_random.insert(0, chance.choice(chance.choice([each for each in _lists(other) if each])))


def sparkplug(chance: random.Random, raw: bytes, others: Sequence[bytes]) -> bytes:
    """Change a few fields of a payload of Sparkplug B."""
    try:
        fields, other = _read(raw, _PAYLOAD), _read(chance.choice(others), _PAYLOAD)
        for _ in range(1 + int(chance.expovariate(0.8))):
            _change(chance, fields, other)
        return _write(fields)
    except (_MalformedError, IndexError, RecursionError):
        return raw
