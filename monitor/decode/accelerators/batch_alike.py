"""Native messages that differ only in digits: one is taken apart, all are read by columns.

When: for native readings and references of one length if a read has 256 or more of them, unless
maintenance is set or the unit of the source is not the one of its quantity. Gain: a third of the
processor time of the row ``qos-1`` of docs/performance.md (``python benchmarks/accelerators.py``).
Cost of deleting it: only speed.

It takes a time in UTC on the day of the others, a value, u and a unit, in any order, without
exponents. It hands back all else.

Why the numbers equal those of the struct: a number of up to fifteen digits is exact as a whole
number, and so is the power of ten that divides it; the quotient is the float nearest to the written
number. The same holds for microseconds within 285 years of 1970.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import msgspec
import numpy as np

from monitor.core.model import NAN, Bool, Float, Int
from monitor.decode.accelerators import Gathered, Rows, are_good
from monitor.decode.time import Instant
from monitor.mqtt.inbox import Octets, Packed, all_of, octets_at

ENOUGH: Final = 256  # fewer cost less through the struct
_BYTES_MAX: Final = 256
_DIGITS_MAX: Final = 15
_ZERO: Final = np.uint8(ord("0"))
_DATE: Final = len("2026-01-01T")
_CLOCK: Final = (0, 1, 3, 4, 6, 7)  # digits of 10:20:30
_SPACE: Final = rb"[ \t\n\r]*"
_MEMBER: Final = re.compile(
    rb"""[{,] SPACE "(?P<name>time|value|u|unit)" SPACE : SPACE
    (?:"(?P<time>[0-9]{4}-[0-9]{2}-[0-9]{2}T
        [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.(?P<fraction>[0-9]{1,6}))?Z)"
      |"(?P<unit>[^"\\\x00-\x1f\x80-\xff]*)"
      |(?P<minus>-?)(?P<whole>0|[1-9][0-9]*)(?:\.(?P<decimals>[0-9]+))?
    ) SPACE (?=[,}])""".replace(b"SPACE", _SPACE),
    re.VERBOSE,
)
_HIGHEST: Final = np.array([2, 9, 5, 9, 5, 9], dtype=np.uint8)  # digits of hh, mm and ss
_MICROSECONDS: Final = 1e6 * np.array([36_000.0, 3600.0, 600.0, 60.0, 10.0, 1.0])
_FRACTIONS: Final = 10.0 ** np.arange(5, -1, -1)
_DAY: Final = 86_400e6
_EXACT: Final = 2.0**53


class PackedBatch(NamedTuple):
    """Messages of one kind that arrived together; their times may not be ahead of ``now``.

    ``packed`` holds the whole batch, ``places`` selects messages of it; ``which`` are the places of
    their names, and ``unit_of`` says in which unit a message's value is kept.
    """

    packed: Packed
    places: Int
    which: Int
    unit_of: Callable[[int], str]
    now: float  # s since 1970 UTC
    are_references: bool


def read_alike(batch: PackedBatch, found: Gathered, bytes_max: int) -> Int:
    """Add the content of messages to ``found``; return the ``batch.places`` handed back."""
    packed, places = batch.packed, batch.places
    lengths = packed.stops[places] - packed.starts[places]
    longest = min(bytes_max, _BYTES_MAX)
    counts = np.bincount(np.minimum(lengths, longest + 1))[: longest + 1]
    said = Rows(batch.which, *np.full((3, places.size), NAN))
    for length in np.flatnonzero(counts >= ENOUGH).tolist():
        of_length = np.flatnonzero(lengths == length)
        rows = octets_at(packed.data, packed.starts[places[of_length]], length)
        while of_length.size >= ENOUGH:
            row = rows[of_length.size // 2]
            form = _form(row.tobytes())
            if form is None:
                break
            is_alike = form.is_of(rows, row)
            if np.count_nonzero(is_alike) < ENOUGH:
                break
            _read(batch, form, of_length[is_alike], rows[is_alike], said)
            of_length, rows = of_length[~is_alike], rows[~is_alike]
    good = are_good(said.times, said.us, batch.now, are_references=batch.are_references)
    found.add_good(said, places, good, are_references=batch.are_references)
    return np.flatnonzero(~good)


class _Number(NamedTuple):
    """Which columns hold the digits of a number, and how many of them follow its point."""

    columns: Sequence[int]
    decimals: int
    sign: float

    def read(self, rows: Octets) -> Float:
        digits = (rows[:, self.columns] - _ZERO).astype(np.float64)
        powers = 10.0 ** np.arange(len(self.columns) - 1, -1, -1)
        return np.asarray(self.sign * (digits @ powers) / 10.0**self.decimals)


class _Form(NamedTuple):
    """How a message is written: midnight of its day, us since 1970 UTC, and its digits' places."""

    midnight: float
    clock: Sequence[int]
    fraction: Sequence[int]
    value: _Number
    u: _Number
    unit: str | None

    def is_of(self, rows: Octets, row: Octets) -> Bool:
        """Return which messages are written as ``row`` is, digits apart."""
        digits = [*self.clock, *self.fraction, *self.value.columns, *self.u.columns]
        is_same = rows == row
        is_same[:, digits] = rows[:, digits] - _ZERO < 10
        for each in (self.value, self.u):
            if len(each.columns) - each.decimals > 1:  # no number begins with a zero
                is_same[:, each.columns[0]] &= rows[:, each.columns[0]] != _ZERO
        return all_of(is_same)

    def times(self, rows: Octets) -> Float:
        """Return times, s since 1970 UTC; NaN for an invalid time of day."""
        clock, fraction = rows[:, self.clock] - _ZERO, rows[:, self.fraction] - _ZERO
        since_midnight = clock @ _MICROSECONDS + fraction @ _FRACTIONS[: len(self.fraction)]
        is_time = all_of(clock <= _HIGHEST) & (since_midnight < _DAY)
        return np.where(is_time, (self.midnight + since_midnight) / 1e6, NAN)


def _read(batch: PackedBatch, form: _Form, which: Int, rows: Octets, said: Rows) -> None:
    """Write the content of the messages ``which``, of one form; no time where handed back."""
    times = form.times(rows)
    if form.unit is not None:
        units = map(batch.unit_of, batch.places[which].tolist())
        times[[unit != form.unit for unit in units]] = NAN
    said.times[which], said.values[which], said.us[which] = (
        times,
        form.value.read(rows),
        form.u.read(rows),
    )


def _form(text: bytes) -> _Form | None:
    """Return how a message is written, None if it is unusual."""
    members = _members(text)
    if {*members} - {b"unit"} != {b"time", b"value", b"u"}:
        return None
    time, unit = members[b"time"], members.get(b"unit")
    value, u = _number(members[b"value"]), _number(members[b"u"])
    if time["time"] is None or value is None or u is None:
        return None
    midnight = _midnight(time["time"])
    if midnight is None or (unit is not None and unit["unit"] is None):
        return None
    begin = time.start("time") + _DATE
    return _Form(
        midnight,
        [begin + at for at in _CLOCK],
        range(*time.span("fraction")) if time["fraction"] else (),
        value,
        u,
        None if unit is None else unit["unit"].decode("ascii"),
    )


def _members(text: bytes) -> dict[bytes, re.Match[bytes]]:
    """Return the members of an object by name; empty if it has others, or one twice."""
    found: dict[bytes, re.Match[bytes]] = {}
    at = 0
    while (member := _MEMBER.match(text, at)) is not None:
        if member["name"] in found or (text[at : at + 1] == b"{") != (at == 0):
            return {}
        found[member["name"]] = member
        at = member.end()
    return found if text[at:] == b"}" else {}


def _number(member: re.Match[bytes]) -> _Number | None:
    if member["whole"] is None:
        return None
    decimals = range(*member.span("decimals")) if member["decimals"] else range(0)
    columns = [*range(*member.span("whole")), *decimals]
    if len(columns) > _DIGITS_MAX:
        return None
    return _Number(columns, len(decimals), -1.0 if member["minus"] else 1.0)


def _midnight(time: bytes) -> float | None:
    """Return the midnight before a time, us since 1970 UTC; None if no day, or far away."""
    with suppress(msgspec.ValidationError):
        midnight = msgspec.convert(time[:_DATE].decode() + "00:00:00Z", Instant)
        microseconds = 1e6 * midnight.timestamp()
        return microseconds if abs(microseconds) < _EXACT - _DAY else None
    return None
