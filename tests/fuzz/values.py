"""Mutations that know the tree a payload is: JSON, CBOR and MessagePack.

Rules of this file: a payload that its codec cannot read is left to the mutations of bytes; the tree
is changed in a few places and written again; a ``Verbatim`` is bytes that stand for a whole value.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NamedTuple

import cbor2
import msgspec
import yaml

from .mutations import NUMBERS, TEXTS, Mutation

_TEXTS: Final = tuple(text.decode("unicode_escape", "replace") for text in TEXTS)
_SCALARS: Final = (
    None, True, False, 0, -1, 1, 2**53 + 1, 2**63, 2**64, -(2**64), 10**400, 0.0, -0.0, 1e15, 1e16,
    1e308, 5e-324, -1e-13, 0.5, "", "GOOD", "1", "1e5", "nan", "\ud800", "\x00", [], {}, [[]],
    [None],
    {"": None}, [1, 2, 3], list(range(300)),
)  # fmt: skip
_SMALL: Final = 200  # places of a tree that may be made fifty times as large
_UNITS: Final = (
    "kg", "lb", "g/cm3", "degC", "K", "1", "%", "kg/m3", "m**9999", "kg^9", "delta_degC", "dB", "e",
    "pi", "kg kg kg kg kg kg kg kg", "ug/m3", "", "x" * 61, "__import__", "1/0", "m\u00b3",
)  # fmt: skip


class Verbatim:
    """Text that JSON gets as it is where a value should stand."""

    def __init__(self, text: bytes) -> None:
        self.text: Final = text.decode("latin-1")


class _Slot(NamedTuple):
    """Where a value stands: in a list or a map, at an index or a key."""

    into: Any
    at: Any

    def get(self) -> Any:
        return self.into[self.at]

    def put(self, value: Any) -> None:
        self.into[self.at] = value


def _slots(root: list[Any]) -> list[_Slot]:
    found: list[_Slot] = []
    waiting: list[Any] = [root]
    while waiting and len(found) < 2000:
        into = waiting.pop()
        keys: Iterator[Any] = iter(range(len(into)) if isinstance(into, list) else list(into))
        for at in keys:
            found.append(_Slot(into, at))
            if isinstance(into[at], list | dict):
                waiting.append(into[at])
    return found


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(each) for each in value]
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    return value


def _changed_scalar(chance: random.Random, value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return chance.choice(_SCALARS)
    if isinstance(value, int | float):
        try:
            return chance.choice(
                (
                    -value,
                    value + 1,
                    value * 1000,
                    value / 1000,
                    value * 1e9,
                    float(value),
                    str(value),
                )
            )
        except (OverflowError, ValueError):
            return 0
    if isinstance(value, str):
        return chance.choice(
            (
                f" {value} ",
                value.upper(),
                value * 2,
                value[1:],
                value[::-1],
                value + "\u0301",
                [value],
            )
        )
    return chance.choice(_SCALARS)


def _change(chance: random.Random, root: list[Any], other: list[Any], odd: Sequence[Any]) -> None:
    """Change one place of ``root``."""
    slots = _slots(root)
    slot = chance.choice(slots)
    what = chance.randrange(12)
    if what < 3:
        slot.put(_copied(chance.choice(odd)))
    elif what < 5:
        slot.put(_changed_scalar(chance, slot.get()))
    elif what == 5:
        if slot.into is not root:
            del slot.into[slot.at]
    elif what == 6:
        slot.put(_copied(chance.choice(slots).get()))
    elif what == 7:
        slot.put(_copied(chance.choice(_slots(other)).get()))
    elif what == 8:
        _wrap(chance, slot)
    elif what == 9:
        if isinstance(slot.into, list):
            times = chance.choice((1, 1, 2, 50)) if len(slots) < _SMALL else 1
            slot.into[slot.at : slot.at] = [_copied(slot.get())] * times
    elif what == 10:
        _rename(chance, slot, slots)
    else:
        slot.put(chance.choice(_UNITS) if chance.random() < 0.5 else chance.choice(_TEXTS))


def _wrap(chance: random.Random, slot: _Slot) -> None:
    value = slot.get()
    for _ in range(chance.choice((1, 1, 2, 20, 500))):
        value = [value] if chance.random() < 0.5 else {"x": value}
    slot.put(value)


def _rename(chance: random.Random, slot: _Slot, slots: Sequence[_Slot]) -> None:
    if not isinstance(slot.into, dict):
        return
    keys = [each.at for each in slots if isinstance(each.into, dict)]
    other = chance.choice(keys) if chance.random() < 0.7 else chance.choice(_TEXTS)
    slot.into[other] = slot.into.pop(slot.at)


def by_value(
    read: Callable[[bytes], Any], write: Callable[[Any], bytes], odd: Sequence[Any] = ()
) -> Mutation:
    """Return a mutation of payloads that ``read`` makes a tree of and ``write`` bytes again."""
    choices = (*_SCALARS, *odd)

    def mutate(chance: random.Random, raw: bytes, others: Sequence[bytes]) -> bytes:
        try:
            root, other = [read(raw)], [read(chance.choice(others))]
            for _ in range(1 + int(chance.expovariate(0.8))):
                _change(chance, root, other, choices)
            return write(root[0])
        except Exception:  # noqa: BLE001 - not of the codec, or what it cannot write
            return raw

    return mutate


def _write_json(value: Any) -> bytes:
    verbatim: list[str] = []

    def other(each: Any) -> str:
        verbatim.append(each.text)
        return f"@verbatim {len(verbatim) - 1}@"

    text = json.dumps(value, default=other, ensure_ascii=False)
    for at, each in enumerate(verbatim):
        text = text.replace(f'"@verbatim {at}@"', each)
    return text.encode("utf-8", "surrogatepass")


_WHEN: Final = datetime(2026, 3, 1, 6, tzinfo=UTC)
_TAGS: Final = (
    cbor2.CBORTag(0, "2026-03-01T06:00:00Z"), cbor2.CBORTag(1, 1.5e300), cbor2.CBORTag(2,
    b"\xff" * 900),
    cbor2.CBORTag(2, b"\xff" * 3000), cbor2.CBORTag(3, b"\xff" * 9), cbor2.CBORTag(4, [-1, 5120]),
    cbor2.CBORTag(4, [10**9, 1]), cbor2.CBORTag(4, [2**62, 1]), cbor2.CBORTag(5, [2**31, 3]),
    cbor2.CBORTag(5, [-(2**31), 3]), cbor2.CBORTag(25, 0), cbor2.CBORTag(256, ["aaaa", "aaaa"]),
    cbor2.CBORTag(28, [cbor2.CBORTag(29, 0)]), cbor2.CBORTag(29, 0), cbor2.CBORTag(30, [1, 3]),
    cbor2.CBORTag(30, [1, 0]), cbor2.CBORTag(35, "(a+)+$"), cbor2.CBORTag(35, "(?:a{999}){999}"),
    cbor2.CBORTag(36, "Content-Type: x\n\nx"), cbor2.CBORTag(37, b"\x00" * 16), cbor2.CBORTag(100,
    1),
    cbor2.CBORTag(258, [1, 2]), cbor2.CBORTag(260, b"\x7f\x00\x00\x01"), cbor2.CBORTag(55799, 1),
    cbor2.CBORTag(2**64 - 1, 0), cbor2.CBORSimpleValue(99), cbor2.undefined, b"bytes", Fraction(1,
    3),
    Decimal("1e-999"), Decimal("NaN"), Decimal("512.5"), _WHEN, {1: 2}, {-5: 1}, float("nan"),
    float("inf"),
)  # fmt: skip
_EXTENSIONS: Final = (
    msgspec.msgpack.Ext(1, b""), msgspec.msgpack.Ext(-128, b"x" * 300), _WHEN, b"bytes", {1: 2},
    {None: 1},
    {1.5: {True: 0}}, float("nan"), float("inf"), -(2**63),
    _WHEN.astimezone(timezone(timedelta(hours=9))),
)  # fmt: skip


def _written(text: bytes) -> bool:
    """Whether JSON may be written so: what may not is left to the mutations of bytes."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


_WRITTEN: Final = [
    Verbatim(each) for each in (*NUMBERS, *(b'"%s"' % each for each in TEXTS)) if _written(each)
]

JSON: Final = by_value(json.loads, _write_json, _WRITTEN)
CBOR: Final = by_value(cbor2.loads, lambda value: cbor2.dumps(value, timezone=UTC), _TAGS)
MSGPACK: Final = by_value(msgspec.msgpack.decode, msgspec.msgpack.encode, _EXTENSIONS)
# Settings come back as JSON, which is YAML too; libyaml reads them in a fifth of the time.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
YAML: Final = by_value(lambda raw: yaml.load(raw, _LOADER), _write_json, _WRITTEN)  # noqa: S506
