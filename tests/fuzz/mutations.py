"""Inputs made of valid ones by chance: bytes, pieces of text, and whatever a codec adds.

Rules of this file: all chance is a ``random.Random`` that is handed in; what comes out is bytes, at
most ``BYTES_MAX`` of them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Final

BYTES_MAX: Final = 65_536  # mqtt.max_packet_bytes: more is refused unread
_KEPT_MAX: Final = 400
_KEPT_BYTES_MAX: Final = 4096
_PIECES: Final = re.compile(rb'([\s,;=:/{}\[\]"|\\]+)')
_NUMBER: Final = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_BYTES: Final = b'\x00\x01\x7f\x80\xbf\xc0\xc1\xc7\xd4\xd8\xed\xf4\xf7\xf9\xfb\xff"[{}],:;=\\/ \n\r'

Mutation = Callable[[random.Random, bytes, Sequence[bytes]], bytes]

NUMBERS: Final = (
    b"0", b"-0", b"-0.0", b"1", b"-1", b"2", b"1e15", b"1e16", b"-1e15", b"1e-12", b"9e-13",
    b"1e308", b"-1e308", b"1e999", b"-1e999", b"1e-999", b"5e-324", b"1e", b"1.", b".5", b"+1",
    b"NaN", b"nan", b"Infinity", b"-inf", b"0x10", b"1_000", b"1,5", b"9007199254740993",
    b"18446744073709551615", b"18446744073709551616", b"-9223372036854775809", b"9" * 400,
    b"9" * 4400, b"1" + b"0" * 309, b"0." + b"0" * 400 + b"1", b"true", b"null", b"253402300799",
    b"253402300800", b"-62135596800", b"-62135596801", b"-253402300799", b"1e11", b"1e14", b"1e17",
)  # fmt: skip
TEXTS: Final = (
    b"", b" ", b"\\ud800", b"\\udc00\\ud800", b"\\u0000", b"\\u202e", b"\\n", b"\xed\xa0\x80",
    b"\xff", b"\x00", b"\xc2\x85", b"\xe2\x80\xa8", b"\xf0\x9f\x90\x84", b"\xef\xbb\xbf", b"#",
    b"+",
    b"../..", b"$SYS", b"a/b", b"%s%n", b"{0}", b"{sensor}", b"<b>", b"'", b"`", b"A" * 129,
    b"A" * 257, b"A" * 5000, b"2026-03-01T06:00:00Z", b"2026-03-01T06:00:00", b"0001-01-01T00:00Z",
    b"9999-12-31T23:59:59-23:59", b"0001-01-01T00:00:00+23:59", b"2026-02-30T00:00Z", b"24:00",
    b"2026-03-01T06:00:60Z", b"2026-W09-7", b"20260301", b"2026-10-25T02:30:00",
)  # fmt: skip


class Pool:
    """Valid inputs, and those that gave something new; keeps a bounded number."""

    def __init__(self, seeds: Sequence[bytes]) -> None:
        self.inputs: Final = list(seeds)
        self.seeds: Final = len(seeds)
        self._met: set[object] = set()

    def learn(self, chance: random.Random, raw: bytes, outcome: object) -> None:
        """Keep ``raw`` if it is short and nothing gave ``outcome`` before."""
        if outcome in self._met or len(raw) > _KEPT_BYTES_MAX:
            return
        if len(self._met) < 100 * _KEPT_MAX:
            self._met.add(outcome)
        if len(self.inputs) < self.seeds + _KEPT_MAX:
            self.inputs.append(raw)
        else:
            self.inputs[self.seeds + chance.randrange(_KEPT_MAX)] = raw


def mutated(
    chance: random.Random, pool: Pool, tokens: Sequence[bytes], codec: Mutation | None
) -> bytes:
    """Return an input changed by ``codec``, by a few mutations of bytes, or by both."""
    inputs = pool.inputs
    raw = chance.choice(inputs[: pool.seeds] if chance.random() < 0.5 else inputs)
    by_codec = codec is not None and chance.random() < 0.75
    if by_codec and codec is not None:
        raw = codec(chance, raw, inputs)
    if not by_codec or chance.random() < 0.1:
        for _ in range(1 + int(chance.expovariate(0.7))):
            raw = chance.choice(_MUTATIONS)(
                chance, raw, inputs if chance.random() < 0.2 else tokens
            )
    return raw[:BYTES_MAX]


def _range(chance: random.Random, raw: bytes) -> tuple[int, int]:
    at = chance.randrange(len(raw) + 1)
    return at, min(len(raw), at + int(chance.expovariate(0.15)))


def _flip(chance: random.Random, raw: bytes, _others: Sequence[bytes]) -> bytes:
    if not raw:
        return b"\x00"
    at = chance.randrange(len(raw))
    return raw[:at] + bytes([raw[at] ^ (1 << chance.randrange(8))]) + raw[at + 1 :]


def _set(chance: random.Random, raw: bytes, _others: Sequence[bytes]) -> bytes:
    at = chance.randrange(len(raw) + 1)
    byte = chance.choice(_BYTES) if chance.random() < 0.7 else chance.randrange(256)
    return raw[:at] + bytes([byte]) + raw[at + 1 :]


def _truncate(chance: random.Random, raw: bytes, _others: Sequence[bytes]) -> bytes:
    at = chance.randrange(len(raw) + 1)
    return raw[:at] if chance.random() < 0.7 else raw[at:]


def _cut(chance: random.Random, raw: bytes, _others: Sequence[bytes]) -> bytes:
    begin, end = _range(chance, raw)
    return raw[:begin] + raw[end:]


def _repeat(chance: random.Random, raw: bytes, _others: Sequence[bytes]) -> bytes:
    begin, end = _range(chance, raw)
    times = chance.choice((2, 2, 3, 10, 100, 1000) if len(raw) < 2000 else (2, 3))
    return raw[:begin] + raw[begin:end] * times + raw[end:]


def _insert(chance: random.Random, raw: bytes, others: Sequence[bytes]) -> bytes:
    at = chance.randrange(len(raw) + 1)
    return raw[:at] + chance.choice(others) + raw[at:]


def _overwrite(chance: random.Random, raw: bytes, others: Sequence[bytes]) -> bytes:
    begin, end = _range(chance, raw)
    return raw[:begin] + chance.choice(others) + raw[end:]


def _splice(chance: random.Random, raw: bytes, others: Sequence[bytes]) -> bytes:
    other = chance.choice(others)
    return raw[: chance.randrange(len(raw) + 1)] + other[chance.randrange(len(other) + 1) :]


def _number(chance: random.Random, raw: bytes, _others: Sequence[bytes]) -> bytes:
    """Another number in the place of one."""
    found = list(_NUMBER.finditer(raw))
    if not found:
        return raw
    one = chance.choice(found)
    return raw[: one.start()] + chance.choice(NUMBERS) + raw[one.end() :]


def _piece(chance: random.Random, raw: bytes, others: Sequence[bytes]) -> bytes:
    """A word, or what stands between two, taken out, doubled, replaced or changed with another."""
    pieces = _PIECES.split(raw)
    at = chance.randrange(len(pieces))
    what = chance.randrange(4)
    if what == 0:
        pieces[at] = b""
    elif what == 1:
        pieces[at] *= 2
    elif what == 2:
        pieces[at] = chance.choice(others)
    else:
        with_ = chance.randrange(len(pieces))
        pieces[at], pieces[with_] = pieces[with_], pieces[at]
    return b"".join(pieces)


def _lines(chance: random.Random, raw: bytes, _others: Sequence[bytes]) -> bytes:
    """A line taken out, doubled, moved or indented."""
    lines = raw.split(b"\n")
    at = chance.randrange(len(lines))
    what = chance.randrange(4)
    if what == 0:
        del lines[at]
    elif what == 1:
        lines.insert(at, lines[at])
    elif what == 2:
        lines.insert(chance.randrange(len(lines)), lines.pop(at))
    else:
        lines[at] = b" " * chance.randrange(1, 5) + lines[at]
    return b"\n".join(lines)


_MUTATIONS: Final[tuple[Mutation, ...]] = (
    _flip, _flip, _set, _set, _truncate, _cut, _repeat, _insert, _overwrite, _splice,
    _number, _number, _piece, _piece, _lines,
)  # fmt: skip
