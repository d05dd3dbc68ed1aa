"""A table in CSV, JSON lines or Parquet as rows of cells, so that one gate checks them all.

Rules of this file: the first row is the names of the columns; a cell is the text that CSV would
have, with all digits of a number; pyarrow is wanted for Parquet alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TextIO

import orjson

from monitor.errors import USAGE, MonitorError
from monitor.files.opening import (
    FileError,
    Row,
    is_json_lines,
    is_parquet,
    opened,
    rows,
)

MISSING: Final = "Parquet needs pyarrow: pip install 'monitor[parquet]'"


class ParquetMissingError(MonitorError):
    """The program that reads and writes Parquet is not installed."""

    exit_code = USAGE


def arrow(part: str) -> Any:  # noqa: ANN401 - a module without types
    """Return a module of pyarrow; raises ParquetMissingError."""
    try:
        return import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError as error:
        raise ParquetMissingError(MISSING) from error


@contextmanager
def table_rows(path: Path) -> Iterator[Iterator[Row]]:
    """Give the rows of a table of any format, the header first; raises FileError."""
    if is_parquet(path):
        yield _of_objects(path, _parquet(path))
    elif is_json_lines(path):
        with opened(path) as text:
            yield _of_objects(path, _json_lines(path, text))
    else:
        with opened(path) as text:
            yield rows(text)


def _json_lines(path: Path, text: TextIO) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        try:
            found = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise FileError(f"{path}:{number}: is not JSON: {error}") from error
        if not isinstance(found, dict):
            raise FileError(f"{path}:{number}: is no object; write one a line")
        yield number, found


def _parquet(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    parquet, library = arrow("parquet"), arrow("")
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches():
                for found in batch.to_pylist():
                    number += 1
                    yield number, found
    except (library.ArrowException, OSError) as error:
        raise FileError(f"{path}: cannot be read as Parquet: {error}") from error


def _of_objects(path: Path, objects: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[Row]:
    """Yield the names that the first object has, then each object's cells in their order."""
    names: list[str] = []
    for line, found in objects:
        if not names:
            names = list(found)
            yield line, names
        unknown = next((name for name in found if name not in names), None)
        if unknown is not None:
            raise FileError(
                f"{path}:{line}:{unknown[:40]}: the first line has no such key; give it there, too"
            )
        yield line, [_cell(found.get(name)) for name in names]


def _cell(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else repr(value)
