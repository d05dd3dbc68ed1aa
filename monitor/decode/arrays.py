"""JSON records that state a time, a value and u, read as columns: no object a record but its own.

Rules of this file: what it reads, the mapping reads the same, bit for bit; a payload of which any
record is otherwise is for the mapping as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, NamedTuple

import msgspec
import numpy as np

from monitor.core.model import Float
from monitor.decode.checks import TIME_MIN, U_MIN, VALUE_MAX, Rejected, latest_time
from monitor.decode.specification import MapSpec, SeriesSpec
from monitor.decode.times import divisors
from monitor.decode.units import conversion

_KEY: Final = re.compile(r"\A[A-Za-z_][A-Za-z0-9_-]*\Z")
_INSTANTS: Final = (float, Annotated[datetime, msgspec.Meta(tz=True)])
_SAME: Final = (1.0, 0.0)
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

Columns = tuple[Float, Float, Float]


class Arrays(NamedTuple):
    """Reads the payloads of a source: ``records`` by the form of their times."""

    records: tuple[Callable[[bytes], Sequence[Any]], ...]
    time_unit: str

    def read(self, payload: bytes, received: float) -> Columns | None:
        """Return times (s since 1970 UTC), values and u of the records; None if any is unusual."""
        for decode in self.records:
            try:
                found = decode(payload)
            except UNREADABLE:
                continue
            times = self._times([each.time for each in found])
            if not found or times.min() < TIME_MIN or times.max() > latest_time(received):
                return None
            values = np.array([each.value for each in found])
            return times, values, np.array([each.u for each in found])
        return None

    def _times(self, stated: list[Any]) -> Float:
        if stated and isinstance(stated[0], datetime):
            return np.array([time.timestamp() for time in stated])
        numbers = np.array(stated, dtype=np.float64)
        return numbers / divisors(numbers, self.time_unit)


def arrays(spec: MapSpec, unit: str) -> Arrays | None:
    """Return what reads the payloads of a source with a mapping; None if it maps anything else.

    ``unit`` is that of the source's values.
    """
    series = spec.series[0] if len(spec.series) == 1 else SeriesSpec()
    plain = SeriesSpec(value=series.value, unit=series.unit, to_unit=series.to_unit, u=series.u)
    wanted = MapSpec(series=(plain,), each=spec.each, time=spec.time, time_unit=spec.time_unit)
    if spec != wanted or not _is_same_unit(series, unit):
        return None
    keys = {"time": spec.time, "value": series.value, "u": series.u}
    if not all(isinstance(key, str) and _KEY.match(key) for key in keys.values()):
        return None
    if len(set(keys.values())) < len(keys) or not (spec.each in ("", "$") or _KEY.match(spec.each)):
        return None
    return Arrays(tuple(_decoder(spec.each, keys, each) for each in _INSTANTS), spec.time_unit)


def _is_same_unit(series: SeriesSpec, unit: str) -> bool:
    wanted = series.to_unit or unit or series.unit
    try:
        return conversion(series.unit, wanted) == _SAME
    except Rejected:
        return False


def _decoder(each: str, keys: dict[str, Any], instant: Any) -> Callable[[bytes], Sequence[Any]]:  # noqa: ANN401 - a type
    limits = msgspec.Meta(ge=-VALUE_MAX, le=VALUE_MAX)
    record = msgspec.defstruct(
        "Record",
        [
            ("time", instant),
            ("value", Annotated[float, limits]),
            ("u", Annotated[float, msgspec.Meta(ge=U_MIN, le=VALUE_MAX)]),
        ],
        rename=keys,
        gc=False,
    )
    if each == "$":
        return msgspec.json.Decoder(list[record]).decode  # type: ignore[valid-type]
    if each:
        frame = msgspec.defstruct("Frame", [("records", list[record])], rename={"records": each})  # type: ignore[valid-type]
        whole = msgspec.json.Decoder(frame).decode
        return lambda payload: whole(payload).records  # type: ignore[attr-defined]
    one = msgspec.json.Decoder(record).decode
    return lambda payload: (one(payload),)
