"""JSON of any nesting as a table: its columns are the paths of what its records hold.

Rules of this file: JSON is one object, a list of them, or one a line; the path of a column that is
asked for always is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from monitor.decode.checks import Rejected
from monitor.decode.paths import MISSING, Getter, below, getter
from monitor.files.cells import Chunk, Chunks
from monitor.files.input_file import (
    FileError,
    Mistakes,
    Opening,
    cell_text,
    column_name,
    json_value,
    opened,
)
from monitor.files.layout import FileLayout, LayoutError

_CHARACTERS_MAX: Final = 64 * 1024 * 1024


def json_table(
    path: Path, mistakes: Mistakes, layout: FileLayout, records: str
) -> tuple[list[str], Chunks]:
    """Return the columns and the rows of a JSON file whose list is at the path ``records``."""
    asked = {name: _getter(option, name) for option, name in _asked(layout).items()}
    lines: list[int] = []
    rows: list[dict[str, object]] = []
    for line, record in _objects(path, _text(path, layout.opening), records):
        cells = {**dict(_flattened(record)), **{name: get(record) for name, get in asked.items()}}
        lines.append(line)
        rows.append({name: cell for name, cell in cells.items() if cell is not MISSING})
    written = [*dict.fromkeys(name for row in rows for name in row)]
    if lacking := [name for name in asked if rows and name not in written]:
        place = f"{path}:{lines[0]}:{lacking[0]}"
        raise FileError(f"{place}: there is nothing at this path in any record")
    names = [column_name(name) for name in written]
    mistakes.written = dict(zip(names, written, strict=True))
    comma = layout.decimal_comma
    columns = {
        column_name(name): [cell_text(row.get(name), decimal_comma=comma) for row in rows]
        for name in written
    }
    return names, lambda _used: iter([Chunk(lines, columns)])


def is_json(path: Path, how: Opening) -> bool:
    """Return whether the first character that is not blank opens an object or a list of JSON."""
    with opened(path, how) as text:
        first = next((line.lstrip()[:1] for line in text if line.strip()), "")
    return first in ("{", "[")


def _asked(layout: FileLayout) -> dict[str, str]:
    """Return the paths that options name, by the option."""
    named = {
        f"--columns {field}": path
        for field, path in layout.columns.items()
        if not {"*", "+"} & {*path}
    }
    return named | {f"--where {path}": path for path, _ in layout.where}


def _getter(option: str, path: str) -> Getter:
    """Return what finds a path in a record; raises LayoutError."""
    try:
        return getter(path)
    except ValueError as error:
        raise LayoutError(f"{option}: {error}") from error


def _flattened(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield the path of everything that a record holds, with its value."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _flattened(part, below(path, name))
    elif isinstance(value, list):
        for at, part in enumerate(value):
            yield from _flattened(part, below(path, at))
    else:
        yield path, value


def _text(path: Path, how: Opening) -> str:
    with opened(path, how) as opened_text:
        text = opened_text.read(_CHARACTERS_MAX + 1)
    if len(text) > _CHARACTERS_MAX:
        raise FileError(f"{path}: has more than {_CHARACTERS_MAX} characters; split it")
    return text


def _objects(path: Path, text: str, records: str) -> Iterable[tuple[int, object]]:
    """Return the records of JSON with the line, or in a list the place, of each."""
    try:
        whole = json_value(text)
    except Rejected as error:
        return _lines_of(path, text, error)
    value = _getter("--records", records)(whole) if records else whole
    if value is MISSING:
        raise FileError(f"{path}: there is nothing at --records {records}")
    return enumerate(value if isinstance(value, list) else [value], 1)


def _lines_of(path: Path, text: str, fault: Rejected) -> Iterator[tuple[int, object]]:
    """Yield the records of JSON lines; ``fault`` says why the text as a whole is no JSON."""
    for at, (line, content) in enumerate(
        (line, content) for line, content in enumerate(text.splitlines(), 1) if content.strip()
    ):
        try:
            yield line, json_value(content)
        except Rejected as error:
            if not at:  # no record on a line of its own: one value, written on several lines
                raise FileError(f"{path}: is {fault.detail}") from error
            raise FileError(f"{path}:{line}: is {error.detail}") from error
