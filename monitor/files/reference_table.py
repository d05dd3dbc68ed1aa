"""A table of references from laboratories, stations and databases, read as references.

Rules of this file: the readers of files of pairs read it, whatever its shape; the user names the
columns, and nothing that changes a number is guessed. A table is refused as a whole with its first
mistakes listed, so that it is never half published. Rows without a value, with a limit in its place
(``<0.5``) and those whose mean has not ended are left out and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from monitor.core.model import NAN, Reference
from monitor.decode.checks import (
    Rejected,
    check_key,
    check_name,
    check_number,
    check_span,
    check_time,
    check_u,
    latest_time,
)
from monitor.decode.paths import says_no_value
from monitor.decode.units import is_understood
from monitor.files.cells import Chunks, as_texts, table_chunks
from monitor.files.input_file import (
    EXPANDED,
    AmbiguousError,
    FileError,
    Mistakes,
    RowError,
    column_name,
    is_parquet,
    listing,
    logger_notes,
    refuse_doubled,
)
from monitor.files.json_records import is_json, json_table
from monitor.files.layout import (
    AS_USUAL,
    AUTO,
    FileLayout,
    is_thousands,
    typed_number,
)
from monitor.files.pair_fields import common_unit, k_in, unit_in
from monitor.files.repeated_hour import RepeatedHours
from monitor.files.shapes import ShapedTable, shaped
from monitor.files.time_layouts import found_format

REFERENCE_FIELDS: Final = (
    *("subject", "quantity", "value", "u", "U", "k", "unit", "time", "start", "end"),
    *("key", "id", "rev", "status", "reference_id"),
)
STATUSES: Final = ("prelim", "final", "void")  # their place is the rank in a revision
_USUAL: Final = {field: (field,) for field in REFERENCE_FIELDS}
_NEEDED: Final = ("subject", "quantity", "value", "time")
_LIMITS: Final = tuple("<>≤≥")
_NO_VALUE: Final = "without a value"
_LIMIT: Final = "with a limit in place of a value"
_NOT_ENDED: Final = "whose mean has not ended"
_NO_WORDS: Final[Mapping[str, str]] = {}
_UTC: Final = ("UTC", "GMT", "Z")

_Row = tuple[int, Mapping[str, str]]  # its line, and a text for each field that has a column


def is_revision(text: str) -> bool:
    """Return whether a text is a revision: a whole number from 0."""
    return text.isascii() and text.isdecimal() and len(text) < 10


def revision_of(rev: int, status: str) -> int:
    """Return the revision of a reference that states a ``rev`` and one of ``STATUSES``."""
    return 4 * rev + STATUSES.index(status)


class TableLayout(NamedTuple):
    """How to read a table: how it is written, and what stands in place of columns.

    The columns of ``written`` are those, or in JSON paths, of some of :data:`REFERENCE_FIELDS`,
    ``constants`` their texts. ``records`` is the path to a JSON list. Each value is a mean over
    ``duration_seconds`` if these are given, stamped with its ``start`` or ``end``.
    ``status_words`` are other words for the status, in small letters.
    """

    written: FileLayout = AS_USUAL
    constants: Mapping[str, str] = {}
    records: str = ""
    duration_seconds: float = 0.0
    stamp: str = "end"
    status_words: Mapping[str, str] = _NO_WORDS


class ReferenceRow(NamedTuple):
    """A reference with its unit ("" for none); ``is_exact``: it is stated that its u is 0."""

    reference: Reference
    unit: str
    is_exact: bool = False


class ReferenceRows(NamedTuple):
    """The references of a table, how many rows were left out for which reason, and what to say."""

    references: list[ReferenceRow]
    left_out: Mapping[str, int]
    notes: list[str]

    @property
    def is_complete(self) -> bool:
        """Whether the same table can say no more later."""
        return not self.left_out.get(_NOT_ENDED)


def read_references(path: Path, how: TableLayout, now: float) -> ReferenceRows:
    """Return the references of a table; raises FileError.

    Times may be at most a little after ``now`` (s since 1970 UTC).
    """
    with _opened_table(path, how) as table:
        fields = table.fields()
        _refuse_lacking(table, fields, how)
        refuse_doubled(path, table.names, fields.values())
        rows: list[_Row] = []
        comma = how.written.decimal_comma
        for chunk in table.chunks({name: field for field, name in fields.items()}):
            columns = [as_texts(chunk.cells[name], decimal_comma=comma) for name in fields.values()]
            for line, *cells in zip(chunk.lines, *columns, strict=True):
                rows.append((line, dict(zip(fields, cells, strict=True))))
        return _Reader(table, fields, how, now).read(rows)


@contextmanager
def _opened_table(path: Path, how: TableLayout) -> Iterator[ShapedTable]:
    """Give the table of a file with one reference in each row; raises FileError."""
    layout, mistakes = how.written, Mistakes(path)

    def table(names: list[str], chunks: Chunks, notes: list[str]) -> ShapedTable:
        has_subject = "subject" in {*how.constants, *layout.columns, *names}
        wide = "quantity" if has_subject else "subject"
        plain = ShapedTable(path, names, chunks, layout.columns, mistakes, notes, _USUAL, wide)
        return shaped(plain, layout)

    if not is_parquet(path) and is_json(path, layout.opening):
        yield table(*json_table(path, mistakes, layout, how.records), [])
        return
    notes = [] if is_parquet(path) else logger_notes(path, layout.opening)
    with table_chunks(path, mistakes, layout) as (names, chunks):
        yield table(names, chunks, notes)


def _refuse_lacking(table: ShapedTable, fields: Mapping[str, str], how: TableLayout) -> None:
    """Raise FileError if a field that every reference needs has no column and no constant."""
    there = {*fields, *how.constants} | ({"time"} if "end" in fields else set())
    for field in _NEEDED:
        if field not in there and table.names:
            raise FileError(
                f"{table.path}:1:{field}: there is no such column for {field}; there are "
                f"{listing([*map(table.mistakes.written_name, table.names)])}. Name it with "
                f"--columns {field}=COLUMN"
            )


class _Reader:
    """Reads the rows of a table as references."""

    def __init__(
        self, table: ShapedTable, fields: Mapping[str, str], how: TableLayout, now: float
    ) -> None:
        self._how: Final = how
        self._now: Final = now
        self._fields: Final = fields
        self._mistakes: Final = table.mistakes
        self._notes: Final = table.notes
        self._left_out: Final = Counter[str]()
        self._limits: Final = Mistakes(table.path)
        self._hours: Final = RepeatedHours()
        self._is_status_used = True
        written = {name: table.mistakes.written_name(of) for name, of in fields.items()}
        in_units = {name: of for name, of in written.items() if is_understood(unit_in(of))}
        self._unit = common_unit(table.path, in_units)
        self._usual_k: Final = float(k_in(written.get(EXPANDED, "")))
        zone = "UTC" if unit_in(written.get("time", "")).upper() in _UTC else ""
        self._layout = how.written._replace(time_zone=how.written.time_zone or zone)
        self._seconds = self._layout.seconds_of()

    def read(self, rows: Sequence[_Row]) -> ReferenceRows:
        """Return the references; raises FileError."""
        if rows and (unit := self._unit_below_header(rows[0][1])):
            self._unit, rows = unit, rows[1:]
            self._notes.append(f"{self._label}the row below the header has units: values in {unit}")
        self._find_times(rows)
        self._leave_strange_status(rows)
        references = []
        for line, cells in rows:
            try:
                row = self._row(line, cells)
            except RowError as error:
                self._mistakes.add(line, error.column, str(error))
            else:
                references += [row] if row else []
        self._mistakes.refuse()
        if not references:
            self._limits.refuse()
        notes = [*self._notes, *map(self._label.__add__, self._hours.notes(self._layout.time_zone))]
        return ReferenceRows(references, self._left_out, notes)

    @property
    def _label(self) -> str:
        return self._mistakes.label()

    def _cell(self, cells: Mapping[str, str], field: str) -> str:
        """Return a field of a row, or the constant in its place."""
        return cells.get(field, "").strip() or self._how.constants.get(field, "")

    def _unit_below_header(self, cells: Mapping[str, str]) -> str:
        """Return the unit in place of a value in a row without a time, else nothing."""
        unit, time = self._cell(cells, "value"), self._time_text(cells)
        has_digits = any(map(str.isdigit, unit[:1] + time))
        return unit if unit and not has_digits and is_understood(unit) else ""

    def _time_text(self, cells: Mapping[str, str]) -> str:
        return self._cell(cells, "time") or self._cell(cells, "end")

    def _find_times(self, rows: Sequence[_Row]) -> None:
        """Learn from the rows with a value how times are written."""
        column = self._fields.get("time", "end")
        texts = [
            (line, self._layout.plain_time(self._time_text(cells)))
            for line, cells in rows
            if not says_no_value(self._cell(cells, "value"))
        ]
        if self._layout.time_format == AUTO:
            form = found_format(texts, self._mistakes, column)
            self._layout = self._layout._replace(time_format=form)
        days = bool(texts) and self._layout.has_days(texts[0][1])
        if days:
            zone = self._layout.time_zone
            self._notes.append(f"{self._label}times are the days of a spreadsheet, in {zone}")
        self._seconds = self._layout.seconds_of(days=days)

    def _leave_strange_status(self, rows: Sequence[_Row]) -> None:
        """Say that a column called status, which nobody named, is about something else."""
        written = self._how.written
        if "status" in written.columns:
            return
        words = {self._status_word(cells) for _, cells in rows} - {"", *STATUSES}
        if words:
            self._is_status_used = False
            if column_name(self._fields["status"]) not in {
                column_name(of) for of, _ in written.where
            }:
                self._notes.append(
                    f"{self._label}its column status is not used: {min(words)!r} is none of "
                    f"{', '.join(STATUSES)}; if it is one, say so with --status-words"
                )

    def _row(self, line: int, cells: Mapping[str, str]) -> ReferenceRow | None:
        """Return what a row states, None if it has no value; raises RowError."""
        status, value = self._status(cells), self._cell(cells, "value")
        is_void = status == "void"
        if says_no_value(value) and not is_void:
            self._left_out[_NO_VALUE] += 1
            return None
        if value.startswith(_LIMITS):
            self._left_out[_LIMIT] += 1
            self._limits.add(line, self._fields["value"], f"{value[:40]!r} is a limit, not a value")
            return None
        number = NAN if is_void else self._number("value", value)
        with self._placed():
            subject = check_name("subject", self._cell(cells, "subject"))
            quantity = check_name("quantity", self._cell(cells, "quantity"))
            key, identity, station = (
                check_key(self._cell(cells, field), field)
                for field in ("key", "id", "reference_id")
            )
            check_number("value", 0.0 if is_void else number)
            time = self._time("time", self._time_text(cells), (subject, quantity))
            start, end = self._interval(cells, time, (subject, quantity))
            if start <= self._now and end > latest_time(self._now):
                self._left_out[_NOT_ENDED] += 1
                return None
            check_time(time, self._now)
            check_span(start, end)
        u, revision = self._u(cells), revision_of(self._revision(cells), status or STATUSES[0])
        reference = Reference(
            *(subject, quantity, time, number, u or 0.0, key, identity, revision, is_void),
            *(start, end, station),
        )
        unit = self._cell(cells, "unit") or self._unit
        return ReferenceRow(reference, unit, is_exact=u == 0.0)

    @contextmanager
    def _placed(self) -> Iterator[None]:
        """Make a refusal the mistake of a row, with its column."""
        try:
            yield
        except Rejected as error:
            raise RowError(self._column(error.field), error.detail) from error

    def _time(self, field: str, text: str, series: tuple[str, str]) -> float:
        """Return a time in s since 1970 UTC; raises RowError."""
        if not text:
            raise RowError(self._column(field), "a time is missing")
        try:
            time = self._seconds(text)
            shift = self._layout.shift(text, time) if self._layout.time_zone else 0.0
        except ValueError as error:
            raise RowError(self._column(field), str(error)) from error
        return self._hours.placed((field, *series), time, shift)

    def _interval(
        self, cells: Mapping[str, str], time: float, series: tuple[str, str]
    ) -> tuple[float, float]:
        """Return over what a value is a mean: start and end, NaN if it is none."""
        if {"start", "end"} <= self._fields.keys():
            start, end = (
                self._time(field, self._cell(cells, field), series) for field in ("start", "end")
            )
            return start, end
        length = self._how.duration_seconds
        if not length:
            return NAN, NAN
        start = time - {"start": 0.0, "middle": 0.5, "end": 1.0}[self._how.stamp] * length
        return start, start + length

    def _status_word(self, cells: Mapping[str, str]) -> str:
        word = self._cell(cells, "status").casefold()
        return self._how.status_words.get(word, word)

    def _status(self, cells: Mapping[str, str]) -> str:
        """Return prelim, final or void, empty if none is stated; raises RowError."""
        word = self._status_word(cells) if self._is_status_used else ""
        if word in ("", *STATUSES):
            return word
        raise RowError(
            self._column("status"),
            f"{self._cell(cells, 'status')[:40]!r} is none of {', '.join(STATUSES)}; say which it "
            "means, such as --status-words P=prelim,V=void",
        )

    def _u(self, cells: Mapping[str, str]) -> float | None:
        """Return the standard uncertainty of a row, None if it states none."""
        stated = {name: self._cell(cells, name) for name in ("u", "U", "k")}
        numbers = {
            name: self._number(name, text)
            for name, text in stated.items()
            if not says_no_value(text)
        }
        factor = numbers.get("k", self._usual_k)
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
        text = self._cell(cells, "rev")
        if text and not is_revision(text):
            raise RowError(self._column("rev"), f"{text[:40]!r} is not a whole number from 0")
        return int(text or 0)

    def _number(self, field: str, text: str) -> float:
        """Return a number; a comma that cannot separate thousands is a decimal comma."""
        try:
            try:
                return self._layout.number(text)
            except AmbiguousError as error:
                if is_thousands(text):
                    raise RowError(self._column(field), str(error)) from error
                return typed_number(text, decimal_comma=False)
        except ValueError as error:
            raise RowError(self._column(field), str(error)) from error

    def _column(self, field: str) -> str:
        return self._fields.get(field, field)
