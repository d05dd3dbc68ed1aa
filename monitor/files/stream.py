"""A file of a stream: readings and references in the order they were recorded, CSV or JSON lines.

Rules of this file: a row passes the same checks as a message to the daemon (``decode.checks``);
after the first mistake no more rows are returned, the rest is only read for further mistakes.
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
from monitor.files.input_file import (
    FileError,
    Mistakes,
    file_label,
    header,
    is_json_lines,
    listing,
    opened,
    rows,
)
from monitor.files.layout import AS_USUAL, FileLayout

_NUMBERS: Final = ("value", "lower", "upper", "alpha", "sigma")
_TEXTS: Final = ("time", "sensor", "quantity", "kind", "unit", "key", "sequence")
_COLUMN_OF: Final = {
    "bad_uncertainty": "sigma",
    "bad_level": "alpha",
    "inverted_interval": "lower",
    "zero_width": "lower",
    "missing_field": "lower",
    "missing_uncertainty": "sigma",
}


class _Stated(NamedTuple):
    """What one row states; numbers are NaN and texts empty where it states nothing."""

    time: str
    kind: str
    value: float
    sensor: str = ""
    quantity: str = "value"
    lower: float = NAN
    upper: float = NAN
    alpha: float = NAN
    sigma: float = NAN
    unit: str = ""
    key: str = ""
    sequence: str = ""


class _Line(msgspec.Struct, gc=False):
    """One line of JSON: the columns' names with their types."""

    time: str
    kind: Literal["reading", "reference"]
    value: float
    sensor: str = ""
    quantity: str = "value"
    lower: float | None = None
    upper: float | None = None
    alpha: float | None = None
    sigma: float | None = None
    unit: str | None = ""
    key: str | int | None = ""
    sequence: str | int | None = ""


class _MistakeError(Exception):
    """One row is wrong: column and sentence."""

    def __init__(self, column: str, what: str) -> None:
        super().__init__(what)
        self.column = column
        self.what = what


class _Source(NamedTuple):
    """The lines of an open file with their numbers, and how to read one."""

    lines: Iterator[tuple[int, Any]]
    parse: Callable[[Any], _Stated]


class Stream(Iterator[Reading | Reference]):
    """Iterates over a stream file; raises FileError with its first mistakes, if any.

    ``units`` maps (sensor, quantity) to the unit stated so far, ``notes`` says what is not used.
    Observations before the first mistake have already been returned when it is raised.
    """

    def __init__(self, path: str | Path, layout: FileLayout = AS_USUAL) -> None:
        self.path: Final = Path(path)
        self._layout: Final = layout
        self._seconds: Final = layout.seconds_of()
        self.units: dict[tuple[str, str], str] = {}
        self.notes: list[str] = []
        self._names: set[tuple[str, str]] = set()
        self._observations = self._read()

    def __next__(self) -> Reading | Reference:
        return next(self._observations)

    def _read(self) -> Iterator[Reading | Reference]:
        mistakes = Mistakes(self.path)
        json_lines = is_json_lines(self.path)
        with opened(self.path) as text:
            source: _Source = _json_source(text) if json_lines else self._csv_source(text)
            for line, content in source.lines:
                try:
                    observation = self._observation(source.parse(content))
                except _MistakeError as mistake:
                    mistakes.add(line, mistake.column, mistake.what)
                    if mistakes.enough:
                        break
                else:
                    if not mistakes:
                        yield observation
        mistakes.refuse()

    def _csv_source(self, text: TextIO) -> _Source:
        table = rows(text, decimal_comma=self._layout.decimal_comma)
        names = header(self.path, table)
        for needed in ("time", "kind", "value"):
            if needed not in names:
                raise FileError(
                    f"{self.path}:1:{needed}: this column is missing; there are {listing(names)}"
                )
        unused = [name for name in names if name not in (*_TEXTS, *_NUMBERS)]
        if unused:
            self.notes.append(f"{self.path}: columns not used: {listing(unused)}")
        texts = [(at, name) for at, name in enumerate(names) if name in _TEXTS]
        numbers = [(at, name) for at, name in enumerate(names) if name in _NUMBERS]
        width, number = len(names), self._layout.number
        parse = partial(_of_cells, width=width, texts=texts, numbers=numbers, number=number)
        return _Source(table, parse)

    def _observation(self, stated: _Stated) -> Reading | Reference:
        name = (stated.sensor or file_label(self.path), stated.quantity or "value")
        if name not in self._names:
            self._check_name(name)
        if stated.unit and self.units.setdefault(name, stated.unit) != stated.unit:
            was = self.units[name]
            raise _MistakeError("unit", f"is {stated.unit!r}, was {was!r}; convert one of them")
        try:
            time = self._seconds(stated.time)
        except ValueError as error:
            raise _MistakeError("time", str(error)) from error
        try:
            check_key(stated.key)
            if stated.kind == "reading":
                return check_reading(_reading(stated, name, time), math.inf)
            return _reference(stated, name, time)
        except Rejected as error:
            raise _MistakeError(_COLUMN_OF.get(error.reason, ""), error.detail) from error

    def _check_name(self, name: tuple[str, str]) -> None:
        for column, text in zip(("sensor", "quantity"), name, strict=True):
            try:
                check_name(column, text)
            except Rejected as error:
                raise _MistakeError(column, error.detail) from error
        self._names.add(name)


def read_stream(path: str | Path, layout: FileLayout = AS_USUAL) -> Stream:
    """Return an iterator over the observations of a CSV or JSON lines file, plain or gzip."""
    return Stream(path, layout)


def _reading(stated: _Stated, name: tuple[str, str], time: float) -> Reading:
    return Reading(
        sensor=name[0],
        quantity=name[1],
        time=time,
        value=stated.value,
        u=stated.sigma,
        lower=stated.lower,
        upper=stated.upper,
        p=1.0 - stated.alpha,
        key=stated.key,
        sequence=stated.sequence,
    )


def _reference(stated: _Stated, name: tuple[str, str], time: float) -> Reference:
    """Return a reference; its u is ``sigma``, 0 where not stated. It concerns its sensor."""
    u = stated.sigma
    if math.isnan(u):
        u = 0.0
    elif u != 0.0:
        check_u("sigma", u)
    return Reference(
        subject=name[0], quantity=name[1], time=time, value=stated.value, u=u, key=stated.key
    )


def _json_source(text: TextIO) -> _Source:
    decode = msgspec.json.Decoder(_Line).decode
    lines = ((at, content) for at, content in enumerate(text, start=1) if content.strip())
    return _Source(lines, partial(_of_json, decode=decode))


def _of_cells(
    cells: list[str],
    width: int,
    texts: list[tuple[int, str]],
    numbers: list[tuple[int, str]],
    number: Callable[[str], float],
) -> _Stated:
    if len(cells) != width:
        raise _MistakeError("", f"has {len(cells)} cells, the header has {width}; make them equal")
    stated: dict[str, Any] = {name: cells[at] for at, name in texts}
    for at, name in numbers:
        if cells[at]:
            try:
                stated[name] = number(cells[at])
            except ValueError as error:
                raise _MistakeError(name, str(error)) from error
    if "value" not in stated:
        raise _MistakeError("value", "a value is needed in every row")
    if stated["kind"] not in ("reading", "reference"):
        raise _MistakeError("kind", f"is {stated['kind'][:40]!r}; write reading or reference")
    return _Stated(**stated)


def _of_json(content: str, decode: Callable[[str], _Line]) -> _Stated:
    try:
        line = decode(content)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$.")
        raise _MistakeError(place.rstrip("`"), what) from error
    except msgspec.DecodeError as error:
        raise _MistakeError("", f"is not a JSON object on one line: {error}") from error
    for name in _NUMBERS:
        if abs(getattr(line, name) or 0.0) > VALUE_MAX:
            raise _MistakeError(name, f"is larger than {VALUE_MAX:g}")
    return _Stated(
        time=line.time,
        kind=line.kind,
        value=line.value,
        sensor=line.sensor,
        quantity=line.quantity,
        lower=NAN if line.lower is None else line.lower,
        upper=NAN if line.upper is None else line.upper,
        alpha=NAN if line.alpha is None else line.alpha,
        sigma=NAN if line.sigma is None else line.sigma,
        unit=line.unit or "",
        key="" if line.key is None else str(line.key),
        sequence="" if line.sequence is None else str(line.sequence),
    )
