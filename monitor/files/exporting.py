"""Pairs written as a file that ``monitor score`` reads back: CSV, JSON lines, Parquet.

Rules of this file: one row a pair in the order (series, time); what was not stated is left empty;
numbers have all their digits, so that a score of the file is the score of the pairs.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TextIO

import numpy as np
import orjson

from monitor.core.model import Records
from monitor.core.registry import SeriesName
from monitor.files.tables import arrow

Form = Literal["csv", "jsonl", "parquet"]

FORMS: Final[tuple[Form, ...]] = ("csv", "jsonl", "parquet")
COLUMNS: Final = (
    *("time", "sensor", "quantity", "unit", "value", "sigma", "lower", "upper", "alpha"),
    *("reference", "reference_sigma", "reference_id", "crps_stated"),
)
_TEXTS: Final = ("time", "sensor", "quantity", "unit")
_BATCH: Final = 10_000
_ALPHA_DIGITS: Final = 12  # 1 - 0.9 is written 0.1


def write_text(out: TextIO, names: Sequence[SeriesName], pairs: Records, form: Form) -> None:
    """Write pairs as CSV or JSON lines."""
    if form == "jsonl":
        out.writelines(orjson.dumps(row).decode() + "\n" for row in _rows(names, pairs))
        return
    table = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(_rows(names, pairs))


def write_parquet(path: Path, names: Sequence[SeriesName], pairs: Records) -> None:
    """Write pairs as Parquet; raises ParquetMissingError, OSError."""
    library, parquet = arrow(""), arrow("parquet")
    types = {
        name: library.string() if name in _TEXTS else library.float64() for name in COLUMNS
    } | {"reference_id": library.uint64()}
    schema = library.schema(types.items())
    with parquet.ParquetWriter(path, schema) as out:
        for first in range(0, pairs.size, _BATCH):
            rows = list(_rows(names, pairs[first : first + _BATCH]))
            out.write_table(library.Table.from_pylist(rows, schema=schema))


def _rows(names: Sequence[SeriesName], pairs: Records) -> Iterator[dict[str, Any]]:
    """Yield each pair by column, None for what was not stated."""
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
            "reference_id": identity,
            "crps_stated": _stated(crps),
        }


def _stated(number: float) -> float | None:
    return None if math.isnan(number) else number
