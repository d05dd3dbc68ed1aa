"""A table in CSV, JSON lines or Parquet as rows of cells, so that one gate checks them all.

Rules of this file: the first row is the names of the columns; a cell is the text that CSV would
have, with all digits of a number; pyarrow is wanted for Parquet alone.

A row may state a distribution: quantiles (``q0.05``, ``q0.5`` ...) or ``members``. As a mapping
does it, the outermost quantiles are the interval and the standard deviation of the members is
sigma, where the row states none itself; the CRPS is that of all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TextIO

import numpy as np
import orjson

from monitor.core.model import Float
from monitor.core.scores.ensembles import crps_ensemble, crps_quantiles
from monitor.errors import USAGE, MonitorError
from monitor.files.input_file import (
    FileError,
    Mistakes,
    Row,
    is_json_lines,
    is_parquet,
    number,
    opened,
    rows,
)

# -- rows of cells --------------------------------------------------------------------------------

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
    for at, line in enumerate(text, 1):
        if not line.strip():
            continue
        try:
            found = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise FileError(f"{path}:{at}: is not JSON: {error}") from error
        if not isinstance(found, dict):
            raise FileError(f"{path}:{at}: is no object; write one a line")
        yield at, found


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


# -- distributions --------------------------------------------------------------------------------

MEMBERS: Final = "members"
CRPS: Final = "crps_stated"
_QUANTILE: Final = re.compile(r"q(0?\.\d+)")
_BETWEEN: Final = re.compile(r"[ ;]+")

Numbers = dict[str, Float]


class Claims:
    """What columns of a file state distributions; raises FileError where quantiles make none."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        found = ((_QUANTILE.fullmatch(name), name) for name in names)
        levels = sorted((float(match[1]), name) for match, name in found if match)
        self.quantiles: Final = tuple(name for _, name in levels)
        self._levels: Final = np.array([level for level, _ in levels])
        self._has_members: Final = MEMBERS in names
        if levels and not levels[0][0] < 0.5 < levels[-1][0]:
            raise FileError(f"{path}:1:{levels[0][1]}: needs one level below 0.5 and one above")
        if np.any(np.diff(self._levels) == 0.0):
            raise FileError(f"{path}:1:{levels[0][1]}: a level stands twice; keep one")

    def __bool__(self) -> bool:
        return bool(self.quantiles) or self._has_members

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns it reads."""
        return (*self.quantiles, *([MEMBERS] if self._has_members else []))

    def fill(
        self,
        found: Numbers,
        cells: Mapping[str, Sequence[str]],
        read: Callable[[str], Float],
        lines: Sequence[int],
        mistakes: Mistakes,
    ) -> None:
        """Fill in what rows leave out of sigma, interval and CRPS; ``read`` gives a column."""
        if self.quantiles:
            self._of_quantiles(found, np.stack([read(name) for name in self.quantiles]).T, lines,
                               mistakes)  # fmt: skip
        if self._has_members:
            self._of_members(found, cells[MEMBERS], lines, mistakes)

    def _of_quantiles(
        self, found: Numbers, table: Float, lines: Sequence[int], mistakes: Mistakes
    ) -> None:
        there = ~np.isnan(table)
        whole = there.all(axis=1)
        crossing = whole & (np.diff(table) < 0.0).any(axis=1)
        for row in np.flatnonzero(there.any(axis=1) & ~whole).tolist():
            mistakes.add(lines[row], self.quantiles[0], "state all quantiles of the row or none")
        for row in np.flatnonzero(crossing).tolist():
            mistakes.add(lines[row], self.quantiles[0], "the quantiles do not ascend")
        whole &= ~crossing
        found[CRPS][whole] = crps_quantiles(table[whole], self._levels, found["reference"][whole])
        bare = whole & np.isnan(found["lower"]) & np.isnan(found["upper"])
        found["lower"][bare], found["upper"][bare] = table[bare, 0], table[bare, -1]
        found["alpha"][bare] = 1.0 - round(float(self._levels[-1] - self._levels[0]), 12)

    def _of_members(
        self, found: Numbers, texts: Sequence[str], lines: Sequence[int], mistakes: Mistakes
    ) -> None:
        for row, text in enumerate(texts):
            if not text.strip():
                continue
            try:
                members = np.array([number(each) for each in _BETWEEN.split(text.strip())])
            except ValueError as error:
                mistakes.add(lines[row], MEMBERS, str(error))
                continue
            if members.size < 2:
                mistakes.add(lines[row], MEMBERS, "must be two or more numbers with blanks between")
                continue
            reference = np.array(found["reference"][row])
            found[CRPS][row] = float(crps_ensemble(members, reference))
            if np.isnan(found["sigma"][row]):
                found["sigma"][row] = float(members.std(ddof=1))
