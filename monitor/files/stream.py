"""A file of a stream: readings and references in the order they were recorded, CSV or JSON lines.

Rules of this file: a row passes the same checks as a message to the daemon (``decode.checks``); as
there, one that does not is left out and counted by reason. A file without any other is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TextIO

import msgspec

from monitor.core.model import NAN, Reading, Reference
from monitor.decode.checks import (
    VALUE_MAX,
    Rejected,
    check_key,
    check_name,
    check_reading,
    check_u,
)
from monitor.decode.formats.mapped_json import json_fault
from monitor.decode.paths import says_no_value
from monitor.decode.units import is_same_unit
from monitor.files.input_file import (
    EXPANDED,
    EXPANDED_REFERENCE,
    AmbiguousError,
    FileError,
    Mistakes,
    RowError,
    cell_text,
    file_label,
    first_json_line,
    header,
    listing,
    opened,
    refuse_doubled,
    rows,
    unused_columns,
)
from monitor.files.layout import AS_USUAL, FileLayout
from monitor.files.pair_fields import NOT_STANDARD, plain_name
from monitor.files.repeated_hour import RepeatedHours

_NUMBERS: Final = ("value", "lower", "upper", "alpha", "p", "sigma", "u", "u_reference")
_TEXTS: Final = ("time", "sensor", "quantity", "kind", "unit", "key", "sequence")
_JSON_KEYS: Final = frozenset((*_TEXTS, *_NUMBERS))
_COLUMN_OF: Final = {
    "bad_uncertainty": "sigma",
    "bad_level": "alpha",
    "inverted_interval": "lower",
    "zero_width": "lower",
    "missing_field": "lower",
    "missing_uncertainty": "sigma",
}
_OTHER_NAMES: Final = {"sigma": "u", "alpha": "p"}
_OUT_OF_RANGE: Final = f"is larger than {VALUE_MAX:g}"
_EXPANDED_ALONE: Final = f"{NOT_STANDARD}, or write a small u if it is a standard uncertainty"


class _Stated(NamedTuple):
    """The statement of one row; numbers are NaN and texts empty where it states nothing."""

    time: str
    kind: str
    value: float
    sensor: str = ""
    quantity: str = ""
    lower: float = NAN
    upper: float = NAN
    alpha: float = NAN
    p: float = NAN
    sigma: float = NAN
    u: float = NAN
    u_reference: float = NAN
    unit: str = ""
    key: str = ""
    sequence: str = ""

    def first(self, *names: str) -> tuple[str, float]:
        """Return the first of some numbers that is stated, with its name; else the last, NaN."""
        named = ((name, getattr(self, name)) for name in names)
        return next((each for each in named if not math.isnan(each[1])), (names[-1], NAN))


class _Line(msgspec.Struct, gc=False):
    """One line of JSON: the columns' names with their types."""

    time: str | int | float
    kind: Literal["reading", "reference"]
    value: float
    sensor: str | int | None = ""
    quantity: str | int | None = ""
    lower: float | None = None
    upper: float | None = None
    alpha: float | None = None
    p: float | None = None
    sigma: float | None = None
    u: float | None = None
    u_reference: float | None = None
    unit: str | None = ""
    key: str | int | None = ""
    sequence: str | int | None = ""


class _KnownLine(_Line, gc=False, forbid_unknown_fields=True):
    """The same without any other key."""


_decode: Final = msgspec.json.Decoder(_Line).decode
_decode_known: Final = msgspec.json.Decoder(_KnownLine).decode


class _Source(NamedTuple):
    """The lines of an open file with their numbers, and how to read one."""

    lines: Iterator[tuple[int, Any]]
    parse: Callable[[Any], _Stated]


class Stream(Iterator[Reading | Reference]):
    """Iterates over a stream file; raises FileError if there is no observation in it.

    ``units`` maps (sensor, quantity) to the unit stated so far, ``notes`` says what is not used and
    in the end which rows were left out, and why.
    """

    def __init__(self, path: str | Path, layout: FileLayout = AS_USUAL) -> None:
        self.path: Final = Path(path)
        self._layout: Final = layout
        self._seconds = layout.seconds_of()
        self.units: dict[tuple[str, str], str] = {}
        self.notes: list[str] = []
        self._names: set[tuple[str, str]] = set()
        self._hours: Final = RepeatedHours()
        self._unused: dict[str, None] = {}  # keys of JSON
        self._observations = self._read()

    def __next__(self) -> Reading | Reference:
        return next(self._observations)

    def _read(self) -> Iterator[Reading | Reference]:
        mistakes, good = Mistakes(self.path), 0
        how = self._layout.opening
        json_lines = bool(first_json_line(self.path, how))
        with opened(self.path, how) as text:
            source = self._json_source(text) if json_lines else self._csv_source(text)
            for line, content in source.lines:
                try:
                    observation = self._observation(source.parse(content))
                except AmbiguousError as error:
                    raise FileError(f"{self.path}:{line}: {error}") from error
                except RowError as mistake:
                    mistakes.add(line, mistake.column, str(mistake))
                else:
                    good += 1
                    yield observation
        if self._unused:
            self.notes.append(f"{self.path}: keys not used: {listing([*self._unused])}")
        if not good:
            mistakes.refuse()
        hours = self._hours.notes(self._layout.time_zone)
        self.notes += [f"{self.path}: {note}" for note in hours]
        self.notes += mistakes.notes(good + len(mistakes))

    def _csv_source(self, text: TextIO) -> _Source:
        layout = self._layout
        table = rows(text, as_written=layout.as_written, skipped=layout.skip_lines)
        names = header(self.path, table)
        for needed in ("time", "kind", "value"):
            if needed not in names:
                raise FileError(
                    f"{self.path}:1:{needed}: this column is missing; there are {listing(names)}"
                )
        refuse_doubled(self.path, names, (*_TEXTS, *_NUMBERS))
        for expanded, usual in (
            (EXPANDED, {"u", "sigma"}),
            (EXPANDED_REFERENCE, {"u_reference"}),
        ):
            if expanded in map(plain_name, names) and usual.isdisjoint(names):
                raise FileError(f"{self.path}:1:{expanded}: {expanded} {_EXPANDED_ALONE}")
        if unused := unused_columns(names, (*_TEXTS, *_NUMBERS)):
            self.notes.append(f"{self.path}: columns not used: {listing(unused)}")
        texts = [(at, name) for at, name in enumerate(names) if name in _TEXTS]
        numbers = [(at, name) for at, name in enumerate(names) if name in _NUMBERS]
        width, number = len(names), layout.number
        parse = partial(_of_cells, width=width, texts=texts, numbers=numbers, number=number)
        return _Source(table, parse)

    def _json_source(self, text: TextIO) -> _Source:
        first = 1 + self._layout.skip_lines
        lines = ((at, content) for at, content in enumerate(text, first) if content.strip())
        return _Source(lines, partial(_of_json, unused=self._unused))

    def _observation(self, stated: _Stated) -> Reading | Reference:
        sensor, quantity = stated.sensor.strip(), stated.quantity.strip()
        name = (sensor or file_label(self.path), quantity or "value")
        if name not in self._names:
            self._add_name(name, stated.time)
        unit = stated.unit.strip()
        if unit and not is_same_unit(was := self.units.setdefault(name, unit), unit):
            raise RowError("unit", f"is {unit!r}, was {was!r}; convert one of them")
        try:
            time = self._seconds(stated.time)
            if self._layout.time_zone:
                shift = self._layout.shift(stated.time, time)
                time = self._hours.placed((name, stated.kind), time, shift)
        except ValueError as error:
            raise RowError("time", str(error)) from error
        try:
            check_key(stated.key)
            if stated.kind == "reading":
                return check_reading(_reading(stated, name, time), math.inf)
            return _reference(stated, name, time)
        except Rejected as error:
            column = _COLUMN_OF.get(error.reason, "")
            if column in _OTHER_NAMES:
                column, _ = stated.first(_OTHER_NAMES[column], column)
            raise RowError(column, error.detail) from error

    def _add_name(self, name: tuple[str, str], time: str) -> None:
        """Check a new name; the time of the first says whether times are a spreadsheet's days."""
        if not self._names and self._layout.has_days(time):
            self._seconds = self._layout.seconds_of(days=True)
            zone = self._layout.time_zone
            note = f"{self.path}: times are the days of a spreadsheet, in {zone}"
            self.notes += [note] * (note not in self.notes)
        for column, text in zip(("sensor", "quantity"), name, strict=True):
            try:
                check_name(column, text)
            except Rejected as error:
                raise RowError(column, error.detail) from error
        self._names.add(name)


def read_stream(path: str | Path, layout: FileLayout = AS_USUAL) -> Stream:
    """Return an iterator over the observations of a CSV or JSON lines file, plain or gzip."""
    return Stream(path, layout)


def _reading(stated: _Stated, name: tuple[str, str], time: float) -> Reading:
    _, u = stated.first("u", "sigma")
    return Reading(
        sensor=name[0],
        quantity=name[1],
        time=time,
        value=stated.value,
        u=u,
        lower=stated.lower,
        upper=stated.upper,
        p=1.0 - stated.alpha if math.isnan(stated.p) else stated.p,
        key=stated.key,
        sequence=stated.sequence,
    )


def _reference(stated: _Stated, name: tuple[str, str], time: float) -> Reference:
    """Return a reference of its sensor; its u is that of the reference, else the row's, else 0."""
    column, u = stated.first("u_reference", "u", "sigma")
    if math.isnan(u):
        u = 0.0
    elif u != 0.0:
        check_u(column, u)
    return Reference(
        subject=name[0], quantity=name[1], time=time, value=stated.value, u=u, key=stated.key
    )


def _of_cells(
    cells: list[str],
    width: int,
    texts: list[tuple[int, str]],
    numbers: list[tuple[int, str]],
    number: Callable[[str], float],
) -> _Stated:
    if len(cells) != width:
        raise RowError("", f"has {len(cells)} cells, the header has {width}; make them equal")
    stated: dict[str, Any] = {name: cells[at] for at, name in texts}
    for at, name in numbers:
        if not says_no_value(cells[at]):
            try:
                stated[name] = number(cells[at])
            except ValueError as error:
                raise RowError(name, str(error)) from error
    if "value" not in stated:
        raise RowError("value", "a value is needed in every row")
    if stated["kind"] not in ("reading", "reference"):
        raise RowError("kind", f"is {stated['kind'][:40]!r}; write reading or reference")
    return _Stated(**stated)


def _line(content: str, unused: dict[str, None]) -> _Line:
    try:
        return _decode_known(content)
    except msgspec.ValidationError:
        line = _decode(content)
    others = [key for key in msgspec.json.decode(content) if key not in _JSON_KEYS]
    is_stated = (line.u, line.sigma, line.u_reference, line.lower) != (None, None, None, None)
    if EXPANDED in others and not is_stated:
        raise RowError(EXPANDED, f"{EXPANDED} {_EXPANDED_ALONE}")
    if EXPANDED_REFERENCE in others and line.u_reference is None:
        raise RowError(EXPANDED_REFERENCE, f"{EXPANDED_REFERENCE} {_EXPANDED_ALONE}")
    unused.update(dict.fromkeys(others))
    return line


def _time_text(time: str | float) -> str:
    """Return the cell that a time would have in CSV, without an exponent."""
    is_whole = isinstance(time, float) and time.is_integer()
    return cell_text(int(time) if is_whole else time)


def _stated(number: float | None) -> float:
    return NAN if number is None else number


def _of_json(content: str, unused: dict[str, None]) -> _Stated:
    """Return what a line states; keys that are not used are added to ``unused``."""
    try:
        line = _line(content, unused)
    except msgspec.ValidationError as error:
        fault, _, place = str(error).partition(" - at `$.")
        fault = _OUT_OF_RANGE if fault == "Number out of range" else fault
        raise RowError(place.rstrip("`"), fault) from error
    except msgspec.DecodeError as error:
        fault = json_fault(content) or str(error)
        raise RowError("", f"is not a JSON object on one line: {fault}") from error
    for name in _NUMBERS:
        if abs(getattr(line, name) or 0.0) > VALUE_MAX:
            raise RowError(name, _OUT_OF_RANGE)
    return _Stated(
        time=_time_text(line.time),
        kind=line.kind,
        value=line.value,
        sensor=cell_text(line.sensor),
        quantity=cell_text(line.quantity),
        lower=_stated(line.lower),
        upper=_stated(line.upper),
        alpha=_stated(line.alpha),
        p=_stated(line.p),
        sigma=_stated(line.sigma),
        u=_stated(line.u),
        u_reference=_stated(line.u_reference),
        unit=line.unit or "",
        key=cell_text(line.key),
        sequence=cell_text(line.sequence),
    )
