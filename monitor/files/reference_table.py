"""A table of references from laboratories, stations and databases, read as references.

Rules of this file: the user names the columns; nothing that changes a number is guessed. The
separator of columns is a tab, a semicolon or a comma, whichever the header has; JSON is one object,
a list of them, or one per line, whose columns are paths. A table is refused as a whole with its
first mistakes listed, so that it is never half published; rows without a value are counted and left
out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from monitor.core.model import Reference
from monitor.decode.checks import (
    Rejected,
    check_key,
    check_name,
    check_number,
    check_time,
    check_u,
)
from monitor.decode.paths import MISSING, Getter, getter
from monitor.files.input_file import (
    FileError,
    Mistakes,
    RowError,
    cell_text,
    decoded_text,
    json_value,
    listing,
    says_nothing,
    separator_of,
)
from monitor.files.layout import AS_USUAL, FileLayout, LayoutError, typed_number

REFERENCE_FIELDS: Final = (
    "subject",
    "quantity",
    "value",
    "u",
    "U",
    "k",
    "unit",
    "time",
    "key",
    "id",
    "rev",
)
_CHARACTERS_MAX: Final = 64 * 1024 * 1024
_NEEDED: Final = ("subject", "quantity", "value", "time")
_IN_ALL: Final = ("subject", "quantity", "time")  # a record of JSON may lack a value
_USUAL_K: Final = 2.0  # JCGM 100 section 6.3.1: about 95 %

_Record = tuple[int, Mapping[str, str]]


class TableLayout(NamedTuple):
    """How to read a table: how it is written, and the constants in place of columns.

    The columns of ``written`` are those, or in JSON paths, of some of :data:`REFERENCE_FIELDS`,
    ``constants`` their texts. ``records`` is the path to a JSON list.
    """

    written: FileLayout = AS_USUAL
    constants: Mapping[str, str] = {}
    records: str = ""


class ReferenceRow(NamedTuple):
    """A reference with its unit ("" for none); ``is_exact``: it is stated that its u is 0."""

    reference: Reference
    unit: str
    is_exact: bool = False


class ReferenceRows(NamedTuple):
    """The references of a table, and how many of its rows had no value."""

    found: list[ReferenceRow]
    skipped: int


def read_references(name: str, raw: bytes, how: TableLayout, now: float) -> ReferenceRows:
    """Return the references of a table; ``name`` is its name in mistakes.

    Times may be at most a little after ``now`` (s since 1970 UTC). Raises FileError.
    """
    mistakes = Mistakes(Path(name))
    rows = _Rows(how, now)
    references: list[ReferenceRow] = []
    skipped = 0
    for line, cells in _records(name, raw, how):
        try:
            row = rows.row(cells)
        except RowError as error:
            mistakes.add(line, error.column, str(error))
            if mistakes.enough:
                break
        else:
            skipped += row is None
            if row is not None:
                references.append(row)
    mistakes.refuse()
    return ReferenceRows(references, skipped)


class _Rows:
    """Reads rows of cells, a text for each field that has a column."""

    def __init__(self, how: TableLayout, now: float) -> None:
        self._how: Final = how
        self._now: Final = now
        self._time: Final = how.written.reader()

    def cell(self, cells: Mapping[str, str], field: str) -> str:
        """Return a field of a row, or the constant in its place."""
        return cells.get(field, "").strip() or self._how.constants.get(field, "")

    def row(self, cells: Mapping[str, str]) -> ReferenceRow | None:
        """Return what a row states, None if it has no value; raises RowError."""
        value = self.cell(cells, "value")
        if says_nothing(value):
            return None
        field = "value"
        try:
            number = check_number("value", self._number("value", value))
            field = "time"
            time = check_time(self._time(self.cell(cells, "time"), "time"), self._now)
            field = "subject"
            subject = check_name("subject", self.cell(cells, "subject"))
            field = "quantity"
            quantity = check_name("quantity", self.cell(cells, "quantity"))
            field = "key"
            key, identity = check_key(self.cell(cells, "key")), check_key(self.cell(cells, "id"))
        except Rejected as error:
            raise RowError(self._column(field), error.detail) from error
        u, revision = self._u(cells), self._revision(cells)
        built = Reference(subject, quantity, time, number, u or 0.0, key, identity, 4 * revision)
        return ReferenceRow(built, self.cell(cells, "unit"), is_exact=u == 0.0)

    def _u(self, cells: Mapping[str, str]) -> float | None:
        """Return the standard uncertainty of a row, None if it states none."""
        stated = {name: self.cell(cells, name) for name in ("u", "U", "k")}
        numbers = {
            name: self._number(name, text)
            for name, text in stated.items()
            if not says_nothing(text)
        }
        factor = numbers.get("k", _USUAL_K)
        if not factor > 0.0:
            raise RowError(self._column("k"), "is not above 0")
        name = "u" if "u" in numbers else "U"
        if name not in numbers:
            return None
        u = numbers[name] / (1.0 if name == "u" else factor)
        try:
            return check_u(name, u) if u else 0.0
        except Rejected as error:
            raise RowError(self._column(name), error.detail) from error

    def _revision(self, cells: Mapping[str, str]) -> int:
        text = self.cell(cells, "rev")
        if text and not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise RowError(self._column("rev"), f"{text[:40]!r} is not a whole number from 0")
        return int(text or 0)

    def _number(self, field: str, text: str) -> float:
        try:
            return typed_number(text, decimal_comma=self._how.written.decimal_comma)
        except ValueError as error:
            raise RowError(self._column(field), str(error)) from error

    def _column(self, field: str) -> str:
        return self._how.written.columns.get(field, field)


# -- from bytes to rows ---------------------------------------------------------------------------


def _records(name: str, raw: bytes, how: TableLayout) -> Iterator[_Record]:
    text = _text(name, raw)
    first = text.lstrip()[:1]
    if first and first in "{[":
        yield from _of_json(name, text, how)
    else:
        yield from _of_csv(name, text, how)


def _text(name: str, raw: bytes) -> str:
    with decoded_text(name, io.BufferedReader(io.BytesIO(raw))) as opened_text:
        text = opened_text.read(_CHARACTERS_MAX + 1)
    if len(text) > _CHARACTERS_MAX:
        raise FileError(f"{name}: has more than {_CHARACTERS_MAX} characters; split it")
    return text


def _of_csv(name: str, text: str, how: TableLayout) -> Iterator[_Record]:
    head = text.lstrip("\r\n").partition("\n")[0]
    separator = separator_of(head)
    table = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows = ((table.line_num, cells) for cells in table if any(cell.strip() for cell in cells))
    try:
        line, header = next(rows, (1, []))
        places = _places(f"{name}:{line}", [cell.strip() for cell in header], how)
        for at, cells in rows:
            if len(cells) > len(header):
                raise FileError(
                    f"{name}:{at}: has {len(cells)} cells, the header has {len(header)}; quote a "
                    f"cell that has {separator!r} in it"
                )
            yield at, {field: cells[i] for field, i in places.items() if i < len(cells)}
    except csv.Error as error:
        raise FileError(f"{name}: is not CSV: {error}") from error


def _places(where: str, header: list[str], how: TableLayout) -> dict[str, int]:
    """Return the place of each field's column: with the exact name, else with any case."""
    columns: dict[str, int] = {}
    for field in REFERENCE_FIELDS:
        column = how.written.columns.get(field, field)
        places = [at for at, each in enumerate(header) if each == column] or [
            at
            for at, each in enumerate(header)
            if each.casefold() == column.casefold() and each not in REFERENCE_FIELDS
        ]
        if len(places) > 1:
            raise FileError(f"{where}:{column}: this column appears twice; keep one")
        if places:
            columns[field] = places[0]
        elif field in how.written.columns or (field in _NEEDED and field not in how.constants):
            raise FileError(
                f"{where}:{column}: there is no such column for {field}; there are "
                f"{listing(header)}. Name it with --columns {field}=COLUMN"
            )
    return columns


def _of_json(name: str, text: str, how: TableLayout) -> Iterator[_Record]:
    columns, comma = how.written.columns, how.written.decimal_comma
    gets = {
        field: _getter(f"--columns {field}", columns.get(field, field))
        for field in REFERENCE_FIELDS
    }
    at, has_value = 0, False
    for at, record in _objects(name, text, how.records):
        cells = {field: get(record) for field, get in gets.items()}
        has_value |= cells["value"] is not MISSING
        missing = next((f for f in columns if cells.get(f) is MISSING and f in _IN_ALL), None)
        if missing is not None:
            raise FileError(f"{name}:{at}:{columns[missing]}: there is nothing at this path")
        yield (
            at,
            {
                field: cell_text(cell, decimal_comma=comma)
                for field, cell in cells.items()
                if cell is not MISSING
            },
        )
    if at and not has_value:
        path = columns.get("value", "value")
        raise FileError(f"{name}:{at}:{path}: there is nothing at this path in any record")


def _getter(option: str, path: str) -> Getter:
    """Return what finds a path in a record; raises LayoutError."""
    try:
        return getter(path)
    except ValueError as error:
        raise LayoutError(f"{option}: {error}") from error


def _lines_of(name: str, text: str, fault: Rejected) -> Iterator[tuple[int, object]]:
    """Yield the records of JSON lines; ``fault`` says why the text as a whole is no JSON."""
    for at, (line, each) in enumerate(
        (line, each) for line, each in enumerate(text.splitlines(), 1) if each.strip()
    ):
        try:
            yield line, json_value(each)
        except Rejected as error:
            if not at:  # no record on a line of its own: one value, written on several lines
                raise FileError(f"{name}: is {fault.detail}") from error
            raise FileError(f"{name}:{line}: is {error.detail}") from error


def _objects(name: str, text: str, records: str) -> Iterator[tuple[int, object]]:
    """Yield the records of JSON with the line, or in a list the place, of each."""
    try:
        whole = json_value(text)
    except Rejected as error:
        yield from _lines_of(name, text, error)
        return
    value = _getter("--records", records)(whole) if records else whole
    if value is MISSING:
        raise FileError(f"{name}: there is nothing at --records {records}")
    yield from enumerate(value if isinstance(value, list) else [value], 1)
