"""Lines of comma-separated values; the settings name the columns, an empty name skips one."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator
from typing import Final

from monitor.core.formatting import count_of
from monitor.core.setting import Contradiction
from monitor.decode.checks import Rejected
from monitor.decode.paths import steps
from monitor.decode.route import Call, Decoder, mapping_of
from monitor.decode.spec import MapSpec

# What of a series is a path, or may be one.
_PATHS: Final = (
    "value",
    "unit_path",
    "u",
    "U",
    "percent",
    "k",
    "p",
    "lower",
    "upper",
    "plus_minus",
)


def parse(call: Call) -> Iterator[object]:
    """Yield one record per line, all texts; a Rejected for a line of another width."""
    try:
        text = call.payload.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        detail = f"not UTF-8: {error}"
        raise Rejected("bad_payload", detail, byte=error.start) from error
    spec = mapping_of(call.route).spec
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise Rejected("bad_payload", "there is no line")
    for line in lines:
        yield _record(line, spec.columns, spec.delimiter)


def _record(line: str, columns: tuple[str, ...], delimiter: str) -> object:
    try:
        (cells,) = csv.reader([line], delimiter=delimiter, strict=True)
    except (csv.Error, ValueError) as error:
        return Rejected("bad_payload", f"line {line[:60]!r} is not CSV: {error}")
    if len(cells) != len(columns):
        detail = f"line {line[:60]!r} has {count_of(len(cells), 'cell')}; map.columns names "
        other = next((x for x in ";,\t|" if line.count(x) == len(columns) - 1), delimiter)
        hint = f". They are apart by {other!r}: set delimiter" if other != delimiter else ""
        return Rejected("bad_payload", f"{detail}{len(columns)}{hint}")
    named = zip(columns, cells, strict=True)
    return {column: cell.strip() for column, cell in named if column and cell.strip()}


def _contradictions(spec: MapSpec, _names: Collection[str]) -> Iterator[Contradiction]:
    if not spec.columns:
        yield Contradiction(("map", "columns"), "is missing; name the cells of a line")
        return
    twice = sorted({each for each in spec.columns if each and spec.columns.count(each) > 1})
    if twice:
        yield Contradiction(("map", "columns"), f"{twice[0]!r} appears twice; name each cell once")
    there = ", ".join(filter(None, spec.columns))
    for at, series in enumerate(spec.series):
        for name in _PATHS:
            path = getattr(series, name)
            if isinstance(path, str) and path and not _is_there(path, spec):
                detail = f"{path!r} is none of map.columns; there are {there}"
                yield Contradiction(("map", "series", at, name), detail)


def _is_there(path: str, spec: MapSpec) -> bool:
    try:
        first = steps(path)[0]
    except ValueError:
        return True  # reported as no path
    return first in ("$", "@", *spec.columns) or path in spec.defaults


decode: Final = Decoder(
    parse,
    many=True,
    help="lines of cells",
    contradictions=_contradictions,
    number_texts=True,
)
