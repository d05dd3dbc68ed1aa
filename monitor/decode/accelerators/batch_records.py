"""JSON records that state a time, a value and u, read as columns without an object for each.

When: for JSON whose mapping asks for exactly these three members, in one record or in an array of
them, unless maintenance is set or values are converted. Gain (``python
benchmarks/accelerators.py``): a message of 100 records costs 35 us instead of 1580 us. Cost of
deleting it: only speed.

Records go through MessagePack to numpy: there each takes the same number of bytes, so that columns
cost a third of a list of each field. A payload with more members than the mapping asks for is
checked by the JSON parser, which refuses a doubled member.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final, NamedTuple

import msgspec
import numpy as np

from monitor.core.model import Float, Int
from monitor.decode import checks
from monitor.decode.accelerators import (
    UNREADABLE,
    Gathered,
    MessageBatch,
    Rows,
    are_good,
)
from monitor.decode.checks import Rejected
from monitor.decode.fields import ARRIVAL
from monitor.decode.formats import mapped_json
from monitor.decode.spec import MapSpec, SeriesSpec
from monitor.decode.time import divisors, seconds_of
from monitor.decode.units import conversion

_KEY: Final = re.compile(r"\A[A-Za-z_][A-Za-z0-9_-]*\Z")
_SAME: Final = (1.0, 0.0)
_FIELDS: Final = ("time", "value", "u")
_encode: Final = msgspec.msgpack.Encoder().encode

Columns = tuple[Float, Float, Float]


class PackedRecords(NamedTuple):
    """The records of a payload, each of the same width, and the unit of their times."""

    body: bytes
    unit: str


class Arrays:
    """Reads the payloads of a source whose records have ``keys`` and lie at ``each``."""

    def __init__(self, each: str, keys: dict[str, str], time_unit: str) -> None:
        self._numbered: Final = _decoder(each, keys, float)
        self._written: Final = _decoder(each, keys, str)
        self._unit: Final = time_unit
        self._layout: Final = _layout(_record(keys, float))
        self._quotes: Final = 2 if each not in ("", "$") else 0

    def packed(self, payload: bytes) -> PackedRecords | None:
        """Return the records of a payload, None if any is unusual."""
        width = self._layout.itemsize
        try:
            records = self._numbered(payload)
        except UNREADABLE:
            return self._packed_texts(payload)
        if not self._is_sound(payload, len(records), 6):
            return None
        body = _encode(records)
        return PackedRecords(body[len(body) - width * len(records) :], self._unit)

    def columns(self, bodies: Sequence[bytes], unit: str) -> tuple[Columns, Int]:
        """Return times (s since 1970 UTC), values and u of packed records, all of one unit.

        Also how many records each body has.
        """
        rows = np.frombuffer(b"".join(bodies), self._layout)
        times, values, us = (rows[name].astype(np.float64) for name in _FIELDS)
        counts = np.array([len(body) for body in bodies]) // self._layout.itemsize
        return (times / divisors(times, unit), values, us), counts

    def _packed_texts(self, payload: bytes) -> PackedRecords | None:
        """Pack records whose times are texts, which become seconds."""
        try:
            records = self._written(payload)
            times = seconds_of([each.time for each in records])
        except UNREADABLE:
            return None
        if not self._is_sound(payload, len(records), 8):
            return None
        rows = np.zeros(len(records), self._layout)
        rows["time"] = times
        rows["value"] = [each.value for each in records]
        rows["u"] = [each.u for each in records]
        return PackedRecords(rows.tobytes(), "s")

    def _is_sound(self, payload: bytes, records: int, quotes: int) -> bool:
        """Return whether a payload has a record, and no member that hides another."""
        if not records:
            return False
        if payload.count(b'"') == self._quotes + quotes * records:
            return True
        with suppress(Rejected):
            mapped_json.parse(payload)
            return True
        return False


def read_records(batch: MessageBatch, gathered: Gathered, readers: Sequence[Arrays]) -> list[int]:
    """Add the content of messages to ``gathered``; return the places of those handed back."""
    left: list[int] = []
    alike: dict[tuple[Arrays, str], list[tuple[int, bytes]]] = {}
    for at, (reader, payload) in enumerate(zip(readers, batch.payloads, strict=True)):
        packed = reader.packed(payload)
        if packed is None:
            left.append(int(batch.places[at]))
        else:
            alike.setdefault((reader, packed.unit), []).append((at, packed.body))
    for (reader, unit), messages in alike.items():
        columns, counts = reader.columns([body for _, body in messages], unit)
        places = np.array([at for at, _ in messages])
        left += _add(batch, places, Records(columns, counts), gathered)
    return sorted(left)


class Records(NamedTuple):
    """The records of messages as columns, and how many there are of each."""

    columns: Columns
    counts: Int


def _add(batch: MessageBatch, at: Int, records: Records, gathered: Gathered) -> list[int]:
    """Add the records of the messages numbered ``at``; all of a message, or none."""
    (columns, counts), are_references = records, batch.are_references
    good = are_good(columns[0], columns[2], batch.now, are_references=are_references)
    is_whole = np.logical_and.reduceat(good, np.cumsum(counts) - counts)
    whole = np.repeat(is_whole, counts)
    repeated = np.repeat(at[is_whole], counts[is_whole])
    rows = Rows(batch.which[repeated], *(column[whole] for column in columns))
    all_good = np.ones(repeated.size, dtype=np.bool_)
    gathered.add_good(rows, batch.places[repeated], all_good, are_references=are_references)
    return batch.places[at[~is_whole]].tolist()


def arrays(spec: MapSpec, unit: str) -> Arrays | None:
    """Return the reader of payloads of a source with a mapping; None if it maps anything else.

    ``unit`` is that of the source's values.
    """
    series = spec.series[0] if len(spec.series) == 1 else SeriesSpec()
    plain = SeriesSpec(value=series.value, unit=series.unit, to_unit=series.to_unit, u=series.u)
    wanted = MapSpec(series=(plain,), each=spec.each, time=spec.time, time_unit=spec.time_unit)
    if spec != wanted or spec.time == ARRIVAL or not _is_same_unit(series, unit):
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
    return msgspec.defstruct(
        "Record",
        [
            ("time", instant),
            ("value", Annotated[float, checks.VALUE.meta()]),
            ("u", Annotated[float, checks.U.meta()]),
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
    """Return the positions of a record's numbers in MessagePack, eight bytes each."""
    numbers = (1.5, 2.5, 3.5)
    body = _encode(record(*numbers))
    places = [body.index(struct.pack(">d", number)) for number in numbers]
    return np.dtype(
        {"names": _FIELDS, "formats": [">f8"] * 3, "offsets": places, "itemsize": len(body)}
    )
