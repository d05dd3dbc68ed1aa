"""Files written so that reading them back gives the same bits: pairs and streams.

Rules of this file: pairs become CSV, JSON lines or Parquet that ``monitor score`` reads back, one
row per pair in the order (series, time); observations become a stream file. A value that was not
stated is left empty; numbers have all their digits, so that the score of the file is the score of
the pairs.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TextIO

import msgspec
import numpy as np

from monitor.core.formatting import instant
from monitor.core.model import NAN, Observation, Reading, Records, Reference
from monitor.core.registry import SeriesName
from monitor.files.cells import arrow

# -- pairs ----------------------------------------------------------------------------------------

Form = Literal["csv", "jsonl", "parquet"]

FORMS: Final[tuple[Form, ...]] = ("csv", "jsonl", "parquet")
COLUMNS: Final = (
    *("time", "sensor", "quantity", "unit", "value", "sigma", "lower", "upper", "alpha"),
    *("reference", "reference_sigma", "reference_event", "crps_stated"),
)
_TEXTS: Final = ("time", "sensor", "quantity", "unit")
_BATCH: Final = 10_000
_ALPHA_DIGITS: Final = 12  # 1 - 0.9 is written 0.1


def write_text(out: TextIO, names: Sequence[SeriesName], pairs: Records, form: Form) -> None:
    """Write pairs as CSV or JSON lines."""
    if form == "jsonl":
        out.writelines(msgspec.json.encode(row).decode() + "\n" for row in _rows(names, pairs))
        return
    table = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(_rows(names, pairs))


def write_parquet(path: Path, names: Sequence[SeriesName], pairs: Records) -> None:
    """Write pairs as Parquet; raises ParquetMissingError, OSError."""
    library, parquet = arrow(""), arrow("parquet")
    types = {
        name: library.string() if name in _TEXTS else library.float64() for name in COLUMNS
    } | {"reference_event": library.uint64()}
    schema = library.schema(types.items())
    with parquet.ParquetWriter(path, schema) as out:
        for first in range(0, pairs.size, _BATCH):
            rows = list(_rows(names, pairs[first : first + _BATCH]))
            out.write_table(library.Table.from_pylist(rows, schema=schema))


def _rows(names: Sequence[SeriesName], pairs: Records) -> Iterator[dict[str, Any]]:
    """Yield each pair by column, None for values that were not stated."""
    u_ref = np.hypot(pairs["u_ref"], pairs["u_pair"]).tolist()
    times = np.datetime_as_string(
        np.round(pairs["time"] * 1e6).astype(np.int64).view("M8[us]"), timezone="UTC"
    )
    columns = ("series", "value", "u", "lower", "upper", "p", "reference", "reference_id", "crps")
    rows = zip(times.tolist(), u_ref, *(pairs[name].tolist() for name in columns), strict=True)
    for time, spread, series, value, u, lower, upper, p, reference, identity, crps in rows:
        name = names[series]
        yield {
            "time": time,
            "sensor": name.sensor,
            "quantity": name.quantity,
            "unit": name.unit,
            "value": value,
            "sigma": _stated(u),
            "lower": _stated(lower),
            "upper": _stated(upper),
            "alpha": _stated(round(1.0 - p, _ALPHA_DIGITS)),
            "reference": reference,
            "reference_sigma": spread,
            "reference_event": identity,
            "crps_stated": _stated(crps),
        }


def _stated(number: float) -> float | None:
    return None if math.isnan(number) else number


# -- streams --------------------------------------------------------------------------------------

Layout = Literal["csv", "jsonl"]

STREAM_COLUMNS: Final = (
    "time",
    "sensor",
    "quantity",
    "kind",
    "value",
    "lower",
    "upper",
    "alpha",
    "sigma",
    "unit",
    "key",
    "sequence",
)


def write_stream(
    out: TextIO,
    observations: Iterable[Observation],
    units: Mapping[tuple[str, str], str],
    layout: Layout,
) -> int:
    """Write readings and references to ``out``; return how many. Events are not written.

    ``units`` is by (sensor or subject, quantity).
    """
    write = _csv(out) if layout == "csv" else _json_lines(out)
    count = 0
    for observation in observations:
        if isinstance(observation, Reading | Reference):
            write(_row(observation, units))
            count += 1
    return count


def _csv(out: TextIO) -> Callable[[dict[str, str | float]], object]:
    rows = csv.DictWriter(out, STREAM_COLUMNS, restval="", lineterminator="\n")
    rows.writeheader()
    return rows.writerow


def _json_lines(out: TextIO) -> Callable[[dict[str, str | float]], object]:
    return lambda row: out.write(msgspec.json.encode(row).decode() + "\n")


def _row(
    observation: Reading | Reference, units: Mapping[tuple[str, str], str]
) -> dict[str, str | float]:
    """Return the values of an observation by column, without those that it does not state."""
    if isinstance(observation, Reading):
        name, kind, alpha = observation.sensor, "reading", 1.0 - observation.p
        limits, sequence = (observation.lower, observation.upper), observation.sequence
        u = observation.u
    else:
        name, kind, alpha = observation.subject, "reference", NAN
        limits, sequence = (NAN, NAN), ""
        u = observation.u or NAN
    row: dict[str, str | float] = {
        "time": instant(observation.time),
        "sensor": name,
        "quantity": observation.quantity,
        "kind": kind,
        "value": observation.value,
        "lower": limits[0],
        "upper": limits[1],
        "alpha": round(alpha, _ALPHA_DIGITS),
        "sigma": u,
        "unit": units.get((name, observation.quantity), ""),
        "key": observation.key,
        "sequence": sequence,
    }
    return {
        name: one
        for name, one in row.items()
        if (one != "" if isinstance(one, str) else not math.isnan(one))
    }
