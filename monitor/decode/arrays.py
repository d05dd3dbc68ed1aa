"""JSON records that state a time, a value and u, read as columns: no object a record but its own.

Rules of this file: what it reads, the mapping reads the same, bit for bit; a payload of which any
record is otherwise is for the mapping as a whole. Records go through MessagePack to numpy: there
each takes the same number of bytes, so that columns cost a third of a list of each field.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, Final, NamedTuple

import msgspec
import numpy as np

from monitor.core.model import Float, Int, Reference
from monitor.core.pairing.observations import Name
from monitor.decode.checks import (
    U_MIN,
    VALUE_MAX,
    Rejected,
    latest_time,
)
from monitor.decode.specification import MapSpec, SeriesSpec
from monitor.decode.times import divisors, reader
from monitor.decode.units import conversion

_KEY: Final = re.compile(r"\A[A-Za-z_][A-Za-z0-9_-]*\Z")
_SAME: Final = (1.0, 0.0)
_FIELDS: Final = ("time", "value", "u")
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_encode: Final = msgspec.msgpack.Encoder().encode

Columns = tuple[Float, Float, Float]


class Packed(NamedTuple):
    """The records of a payload, each of the same width, and the unit of their times."""

    body: bytes
    unit: str


class Arrays:
    """Reads the payloads of a source whose records have ``keys`` and lie at ``each``."""

    def __init__(self, each: str, keys: dict[str, str], time_unit: str) -> None:
        self._numbered: Final = _decoder(each, keys, float)
        self._written: Final = _decoder(each, keys, Annotated[datetime, msgspec.Meta(tz=True)])
        self._unit: Final = time_unit
        self._seconds: Final = reader(time_unit)
        self._layout: Final = _layout(_record(keys, float))

    def packed(self, payload: bytes) -> Packed | None:
        """Return the records of a payload, None if any is unusual."""
        width = self._layout.itemsize
        try:
            found = self._numbered(payload)
        except UNREADABLE:
            return self._packed_texts(payload)
        body = _encode(found)
        return Packed(body[len(body) - width * len(found) :], self._unit) if found else None

    def _packed_texts(self, payload: bytes) -> Packed | None:
        """Do the same where times are texts; they become seconds."""
        try:
            found = self._written(payload)
        except UNREADABLE:
            return None
        rows = np.zeros(len(found), self._layout)
        rows["time"] = [each.time.timestamp() for each in found]
        rows["value"] = [each.value for each in found]
        rows["u"] = [each.u for each in found]
        return Packed(rows.tobytes(), "s") if found else None

    def reference(
        self, payload: bytes, name: Name, _unit: str, received: float
    ) -> Reference | None:
        """Return the reference of a payload with one record, None if anything of it is unusual."""
        for decode in (self._numbered, self._written):
            with suppress(*UNREADABLE, Rejected):
                found = decode(payload)
                time = self._seconds(found[0].time) if len(found) == 1 else math.inf
                if time > latest_time(received):
                    return None
                return Reference(*name, time, found[0].value, found[0].u)
        return None

    def columns(self, bodies: Sequence[bytes], unit: str) -> tuple[Columns, Int]:
        """Return times (s since 1970 UTC), values and u of packed records, all of one unit.

        Beside them, how many records there are of each body.
        """
        rows = np.frombuffer(b"".join(bodies), self._layout)
        times, values, us = (rows[name].astype(np.float64) for name in _FIELDS)
        counts = np.array([len(body) for body in bodies]) // self._layout.itemsize
        return (times / divisors(times, unit), values, us), counts


def arrays(spec: MapSpec, unit: str) -> Arrays | None:
    """Return what reads the payloads of a source with a mapping; None if it maps anything else.

    ``unit`` is that of the source's values.
    """
    series = spec.series[0] if len(spec.series) == 1 else SeriesSpec()
    plain = SeriesSpec(value=series.value, unit=series.unit, to_unit=series.to_unit, u=series.u)
    wanted = MapSpec(series=(plain,), each=spec.each, time=spec.time, time_unit=spec.time_unit)
    if spec != wanted or not _is_same_unit(series, unit):
        return None
    stated = {"time": spec.time, "value": series.value, "u": series.u}
    keys = {name: key for name, key in stated.items() if isinstance(key, str) and _KEY.match(key)}
    if len(set(keys.values())) < len(stated):
        return None
    if not (spec.each in ("", "$") or _KEY.match(spec.each)):
        return None
    return Arrays(spec.each, keys, spec.time_unit)


def _is_same_unit(series: SeriesSpec, unit: str) -> bool:
    wanted = series.to_unit or unit or series.unit
    try:
        return conversion(series.unit, wanted) == _SAME
    except Rejected:
        return False


def _record(keys: dict[str, str], instant: Any) -> type[msgspec.Struct]:  # noqa: ANN401 - a type
    limits = msgspec.Meta(ge=-VALUE_MAX, le=VALUE_MAX)
    return msgspec.defstruct(
        "Record",
        [
            ("time", instant),
            ("value", Annotated[float, limits]),
            ("u", Annotated[float, msgspec.Meta(ge=U_MIN, le=VALUE_MAX)]),
        ],
        rename=keys,
        gc=False,
    )


def _decoder(each: str, keys: dict[str, str], instant: Any) -> Callable[[bytes], Sequence[Any]]:  # noqa: ANN401 - a type
    record = _record(keys, instant)
    if each == "$":
        return msgspec.json.Decoder(list[record]).decode  # type: ignore[valid-type]
    if each:
        frame = msgspec.defstruct("Frame", [("records", list[record])], rename={"records": each})  # type: ignore[valid-type]
        whole = msgspec.json.Decoder(frame).decode
        return lambda payload: whole(payload).records  # type: ignore[attr-defined]
    one = msgspec.json.Decoder(record).decode
    return lambda payload: (one(payload),)


def _layout(record: type[msgspec.Struct]) -> np.dtype[np.void]:
    """Return where the numbers of a record lie in MessagePack, eight bytes each."""
    numbers = (1.5, 2.5, 3.5)
    body = _encode(record(*numbers))
    places = [body.index(struct.pack(">d", number)) for number in numbers]
    return np.dtype(
        {"names": _FIELDS, "formats": [">f8"] * 3, "offsets": places, "itemsize": len(body)}
    )
