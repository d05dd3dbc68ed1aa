"""Native payloads that are written alike, digits apart: one is taken to pieces, the rest by column.

Rules of this file: what is read here is what msgspec reads of each message. A number of up to
fifteen digits is exact as a whole number, and so is the power of ten it is divided by: the
quotient is the float nearest to what is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import (
    NAN,
    Bool,
    Float,
    Int,
)
from monitor.decode.instants import (
    CLOCK,
    FRACTION,
    digits_of,
    of_one_day,
)
from monitor.mqtt.payload_slices import (
    Octets,
    Packed,
    all_of,
    octets_at,
)

ENOUGH: Final = 256  # so few alike cost less one by one
LONGEST: Final = 256  # bytes
_DIGITS_MAX: Final = 15
_ZERO: Final = np.uint8(ord("0"))
_SPACE: Final = rb"[ \t\n\r]*"
_BEGIN: Final = re.compile(_SPACE + rb"\{")
_MEMBER: Final = re.compile(
    _SPACE + rb'"(time|value|u|unit)"' + _SPACE + rb":" + _SPACE
    + rb'(?:"([^"\\\x00-\x1f]*)"|(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?)'
    + _SPACE + rb"([,}])"
)  # fmt: skip
_TEXT, _SIGN, _WHOLE, _FRACTION, _NEXT = 2, 3, 4, 5, 6


class Alike(NamedTuple):
    """What messages at some places say: s since 1970 UTC, value, u, unit.

    The time is NaN for a message that is to be read by itself.
    """

    places: Int
    times: Float
    values: Float
    us: Float
    unit: str | None


class _Number(NamedTuple):
    """Where the digits of a number stand, how many of them after the point, and its sign."""

    columns: list[int]
    decimals: int
    is_negative: bool

    def read(self, rows: Octets) -> Float:
        """Return the numbers; NaN for one below zero that is zero."""
        digits = (rows[:, self.columns] - _ZERO).astype(np.float64)
        powers = 10.0 ** np.arange(len(self.columns) - 1, -1, -1)
        found: Float = digits @ powers / 10.0**self.decimals
        return np.where(found == 0.0, NAN, -found) if self.is_negative else found


class _Form(NamedTuple):
    """How a message is written: where its time begins and ends, its numbers, its unit."""

    time: slice
    value: _Number
    u: _Number
    unit: str | None

    @property
    def digits(self) -> list[int]:
        """The places of digits that may differ."""
        begin, fractions = self.time.start, range(FRACTION, self.time.stop - self.time.start - 1)
        clock = [begin + at for at in (*CLOCK, *fractions)]
        return [*clock, *self.value.columns, *self.u.columns]

    @property
    def leading(self) -> list[int]:
        """The places of digits before which a number has no other: zero is none there."""
        numbers = (self.value, self.u)
        return [each.columns[0] for each in numbers if len(each.columns) - each.decimals > 1]

    def is_of(self, rows: Octets, row: Octets) -> Bool:
        """Return which messages are written as ``row`` is, digits apart."""
        digits = self.digits
        is_same = rows == row
        is_same[:, digits] = rows[:, digits] - _ZERO < 10
        for column in self.leading:
            is_same[:, column] &= rows[:, column] != _ZERO
        return all_of(is_same)


def read_alike(packed: Packed, longest: int = LONGEST) -> Iterator[Alike]:
    """Yield what payloads say of which many are written alike, those of at most ``longest`` bytes.

    A payload that is yielded is in one of them; what is not is left to be read by itself.
    """
    longest = min(longest, LONGEST)
    lengths = np.minimum(packed.stops - packed.starts, longest + 1)
    counts = np.bincount(lengths, minlength=1)[: longest + 1]
    for length in np.flatnonzero(counts >= ENOUGH).tolist():
        if length:
            yield from _of_length(packed, np.flatnonzero(lengths == length), length)


def _of_length(packed: Packed, places: Int, length: int) -> Iterator[Alike]:
    rows = octets_at(packed.data, packed.starts[places], length)
    while places.size >= ENOUGH:
        row = rows[places.size // 2]
        form = _form(row.tobytes())
        if form is None:
            return
        is_alike = form.is_of(rows, row)
        if np.count_nonzero(is_alike) < ENOUGH:
            return
        own = rows[is_alike]
        times, values, us = of_one_day(own[:, form.time]), form.value.read(own), form.u.read(own)
        times[np.isnan(values) | np.isnan(us)] = NAN
        yield Alike(places[is_alike], times, values, us, form.unit)
        places, rows = places[~is_alike], rows[~is_alike]


def _form(text: bytes) -> _Form | None:
    """Return how a message is written, None if it is not as most are."""
    members = _members(text)
    if {*members} - {b"unit"} != {b"time", b"value", b"u"}:
        return None
    value, u = _number(members[b"value"]), _number(members[b"u"])
    time, unit = members[b"time"], members.get(b"unit")
    if value is None or u is None or digits_of((time[_TEXT] or b"").decode("latin-1")) is None:
        return None
    if unit is not None and unit[_TEXT] is None:
        return None
    try:
        said = None if unit is None else unit[_TEXT].decode()
    except UnicodeDecodeError:
        return None
    return _Form(slice(*time.span(_TEXT)), value, u, said)


def _members(text: bytes) -> dict[bytes, re.Match[bytes]]:
    """Return the members of an object by their names; nothing if it has others, or any twice."""
    found: dict[bytes, re.Match[bytes]] = {}
    before = _BEGIN.match(text)
    while before is not None:
        member = _MEMBER.match(text, before.end())
        if member is None or member[1] in found:
            return {}
        found[member[1]] = before = member
        if member[_NEXT] == b"}":
            return found if not text[member.end() :].strip(b" \t\n\r") else {}
    return {}


def _number(member: re.Match[bytes]) -> _Number | None:
    if member[_WHOLE] is None:
        return None
    decimals = range(*member.span(_FRACTION)) if member[_FRACTION] is not None else range(0)
    columns = [*range(*member.span(_WHOLE)), *decimals]
    if len(columns) > _DIGITS_MAX:
        return None
    return _Number(columns, len(decimals), bool(member[_SIGN]))
