"""A table in CSV, JSON lines or Parquet as rows of cells, so that one gate checks them all.

Rules of this file: the first row is the names of the columns; a cell is the text that CSV would
have, with all digits of a number; only Parquet needs pyarrow.

A row may state a distribution: quantiles (``q0.05``, ``q0.5`` ...) or ``members``. As in a mapping,
the outermost quantiles are the interval and sigma is that of one more member, the quantile 0.5 or
the mean of the members is the value, unless the row states them itself; the CRPS is that of the
whole distribution.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

import numpy as np

from monitor.core.collecting import without_collecting
from monitor.core.model import NAN, Float, Int
from monitor.core.scores.ensembles import crps_ensemble, crps_quantiles, mean_and_u
from monitor.decode.checks import NOT_CENTRAL, Rejected, central
from monitor.decode.time import divisors
from monitor.errors import USAGE, MonitorError, install_hint
from monitor.files.arrow_csv import ArrowTable, ArrowTexts, arrow_csv
from monitor.files.input_file import (
    BLOCK_ROWS,
    Block,
    FileError,
    Mistakes,
    Row,
    cell_text,
    flattened,
    header,
    is_json_lines,
    is_parquet,
    json_value,
    opened,
    row_blocks,
)
from monitor.files.layout import FileLayout

# -- rows of cells --------------------------------------------------------------------------------

_BATCH_ROWS: Final = 65_536
_CONSTANT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|NaN|-?Infinity')
_TEXTS: Final = ("sensor", "quantity", "unit", "reference_id", "reference_event", "members")
MISSING: Final = f"Parquet needs pyarrow: {install_hint('parquet')}"


class ParquetMissingError(MonitorError):
    """The program that reads and writes Parquet is not installed."""

    exit_code = USAGE


def arrow(part: str) -> Any:  # noqa: ANN401 - a module without types
    """Return a module of pyarrow; raises ParquetMissingError."""
    try:
        return import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError as error:
        raise ParquetMissingError(MISSING) from error


class Coded(Sequence[str]):
    """A column with few distinct texts: row by row ``texts[which[row]]``."""

    def __init__(self, rows: Int, texts: Sequence[str]) -> None:
        self.which: Final = rows
        self.texts: Final = texts

    def __len__(self) -> int:
        return self.which.size

    def __getitem__(self, at: Any) -> Any:  # noqa: ANN401 - a sequence's has two meanings
        return [*self][at]

    def __iter__(self) -> Iterator[str]:
        return map(self.texts.__getitem__, self.which.tolist())


def encoded_column(cells: Sequence[str]) -> Coded:
    """Return a column of texts as its distinct texts in the order of appearance."""
    if isinstance(cells, Coded):
        return cells
    if isinstance(cells, ArrowTexts):
        return Coded(*cells.codes())
    code = {text: at for at, text in enumerate(dict.fromkeys(cells))}
    return Coded(np.array([*map(code.__getitem__, cells)], dtype=np.int64), [*code])


class Chunk(NamedTuple):
    """Some rows of a table: their lines, and each column as texts or as numbers (NaN for none)."""

    lines: Sequence[int]
    cells: Mapping[str, Sequence[str] | Float]

    def taken(self, rows: Int) -> Chunk:
        """Return some of the rows."""
        lines = [self.lines[row] for row in rows.tolist()]
        return Chunk(lines, {name: _taken(cells, rows) for name, cells in self.cells.items()})


def _taken(cells: Sequence[str] | Float, rows: Int) -> Sequence[str] | Float:
    if isinstance(cells, np.ndarray):
        return cells[rows]
    if isinstance(cells, Coded):
        return Coded(cells.which[rows], cells.texts)
    if isinstance(cells, ArrowTexts):
        return cells.taken(rows)
    return [cells[row] for row in rows.tolist()]


# The chunks of a table; of Parquet they have the columns whose names are given, with their fields.
Chunks = Callable[[Mapping[str, str]], Iterator[Chunk]]


@contextmanager
def table_chunks(
    path: Path, mistakes: Mistakes, layout: FileLayout
) -> Iterator[tuple[list[str], Chunks]]:
    """Give the names of a table's columns, and its rows in chunks; raises FileError."""
    if is_parquet(path):
        yield _parquet(path, mistakes, layout)
        return
    if (table := arrow_csv(path)) is not None:
        names = header(path, iter([(1, table.names)]), mistakes)
        yield names, lambda _used: _renamed(names, table)
        return
    with opened(path) as text, without_collecting():  # of rows, which have millions of texts
        if is_json_lines(path):
            blocks = _in_blocks(_of_objects(path, _json_lines(text, mistakes), layout))
        else:
            blocks = row_blocks(text, decimal_comma=layout.decimal_comma)
        names = header(path, flattened(islice(blocks, 1)), mistakes)
        if not names:
            mistakes.refuse()
        yield names, lambda _used: _chunks(names, blocks, mistakes)


def _renamed(names: list[str], table: ArrowTable) -> Iterator[Chunk]:
    for lines, columns in table.batches:
        yield Chunk(lines, dict(zip(names, columns.values(), strict=True)))


def _chunks(names: list[str], blocks: Iterator[Block], mistakes: Mistakes) -> Iterator[Chunk]:
    for written_lines, rows in blocks:
        lines, table = written_lines, rows
        if set(map(len, table)) != {len(names)}:
            for line, cells in zip(lines, table, strict=True):
                if len(cells) != len(names):
                    fault = f"has {len(cells)} cells, the header has {len(names)}; make them equal"
                    mistakes.add(line, "", fault)
            good = [at for at, cells in enumerate(table) if len(cells) == len(names)]
            if not good:
                continue
            lines, table = [lines[at] for at in good], [table[at] for at in good]
        yield Chunk(lines, dict(zip(names, zip(*table, strict=True), strict=True)))


def _in_blocks(table: Iterator[Row]) -> Iterator[Block]:
    """Return rows in blocks: the first row alone, then many."""
    size = 1
    while block := list(islice(table, size)):
        size = BLOCK_ROWS
        yield [line for line, _ in block], [cells for _, cells in block]


def _json_lines(text: TextIO, mistakes: Mistakes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for at, line in enumerate(text, 1):
        if not line.strip():
            continue
        try:
            has_constants = "NaN" in line or "Infinity" in line
            value = json_value(_CONSTANT.sub(_as_null, line) if has_constants else line)
        except Rejected as error:
            mistakes.add(at, "", f"is {error.detail}; write one object per line")
            continue
        if isinstance(value, dict):
            yield at, value
        else:
            mistakes.add(at, "", "is not an object; write one per line")


def _as_null(match: re.Match[str]) -> str:
    """Return a text of JSON as it stands, and null for a number that is none."""
    return match[0] if match[0].startswith('"') else "null"


def _of_objects(
    path: Path, objects: Iterable[tuple[int, Mapping[str, Any]]], layout: FileLayout
) -> Iterator[Row]:
    """Yield the names that the first object has, then each object's cells in their order."""
    names: list[str] = []
    for line, record in objects:
        if not names:
            names = list(record)
            yield line, names
        unknown = next((name for name in record if name not in names), None)
        if unknown is not None:
            raise FileError(
                f"{path}:{line}:{unknown[:40]}: the first line has no such key; give it there, too"
            )
        comma = layout.decimal_comma
        yield line, [cell_text(record.get(name), decimal_comma=comma) for name in names]


def _parquet(path: Path, mistakes: Mistakes, layout: FileLayout) -> tuple[list[str], Chunks]:
    parquet, library = arrow("parquet"), arrow("")
    try:
        file = parquet.ParquetFile(path)
        names = header(path, iter([(1, file.schema_arrow.names)]), mistakes)
    except (library.ArrowException, OSError) as error:
        raise FileError(f"{path}: cannot be read as Parquet: {error}") from error

    def chunks(used: Mapping[str, str]) -> Iterator[Chunk]:
        written = dict(zip(names, file.schema_arrow.names, strict=True))
        first = 1
        try:
            for batch in file.iter_batches(_BATCH_ROWS, columns=[written[name] for name in used]):
                columns = {
                    name: _of_arrow(path, name, field, batch.column(written[name]), layout)
                    for name, field in used.items()
                }
                yield Chunk(range(first, first + batch.num_rows), columns)
                first += batch.num_rows
        except (library.ArrowException, OSError) as error:
            raise FileError(f"{path}: cannot be read as Parquet: {error}") from error
        finally:
            file.close()

    return names, chunks


def _of_arrow(
    path: Path,
    name: str,
    field: str,
    column: Any,  # noqa: ANN401
    layout: FileLayout,
) -> Sequence[str] | Float:
    """Return a column of a field as numbers (a time as s since 1970 UTC) or as texts."""
    types, compute = arrow("types"), arrow("compute")
    if types.is_timestamp(column.type):
        whole = compute.cast(column, arrow("").timestamp("us", column.type.tz), safe=False)
        if column.type.tz is None:
            return _local_times(path, name, whole, layout)
        seconds = compute.cast(whole, "int64").to_numpy(zero_copy_only=False) / 1e6
        return np.asarray(seconds, dtype=np.float64)
    is_number = types.is_floating(column.type) or types.is_decimal(column.type)
    if field == "time" and (is_number or types.is_integer(column.type)):
        cast = compute.cast(column, "float64", safe=False)  # ns have more digits than a float
        numbers = np.asarray(cast.to_numpy(zero_copy_only=False))
        start = layout.time_start
        return numbers / divisors(numbers, "auto") if start is None else numbers + start
    if is_number or (types.is_integer(column.type) and field not in _TEXTS):
        return np.asarray(compute.cast(column, "float64").to_numpy(zero_copy_only=False))
    if types.is_string(column.type) or types.is_large_string(column.type):
        column = column.dictionary_encode()  # there are far fewer names than rows
    if not types.is_dictionary(column.type):
        return [cell_text(each) for each in column.to_pylist()]
    texts = [*map(cell_text, column.dictionary.to_pylist()), cell_text(None)]
    codes = compute.fill_null(compute.cast(column.indices, "int64"), len(texts) - 1)
    return Coded(codes.to_numpy(), texts)


def _local_times(
    path: Path,
    name: str,
    column: Any,  # noqa: ANN401
    layout: FileLayout,
) -> Float:
    if not layout.time_zone:
        raise FileError(
            f"{path}:1:{name}: has times without a zone; give it as --time-zone, or when you write "
            f"the file, such as df[{name!r}].dt.tz_localize('UTC')"
        )
    read, times = layout.reader(), np.full(len(column), NAN)
    for at, each in enumerate(column.to_pylist()):
        try:
            times[at] = NAN if each is None else read(each, name)
        except Rejected as error:
            raise FileError(f"{path}:{at + 1}:{name}: {error.detail}") from error
    return times


# -- distributions --------------------------------------------------------------------------------

MEMBERS: Final = "members"
CRPS: Final = "crps_stated"
MEDIAN: Final = 0.5

_QUANTILE: Final = re.compile(r"q(0?\.\d+)")
_BETWEEN: Final = re.compile(r"[ ;]+")

Numbers = dict[str, Float]


def of_distributions(names: Iterable[str]) -> list[str]:
    """Return the names of columns that state distributions."""
    return [name for name in names if name == MEMBERS or _QUANTILE.fullmatch(name)]


class Claims:
    """Which columns of a file state distributions; raises FileError for invalid quantiles."""

    def __init__(self, path: Path, names: Sequence[str], layout: FileLayout) -> None:
        self._number: Final = layout.number
        matches = ((_QUANTILE.fullmatch(name), name) for name in names)
        levels = sorted((float(match[1]), name) for match, name in matches if match)
        self.quantiles: Final = tuple(name for _, name in levels)
        self._levels: Final = np.array([level for level, _ in levels])
        self._has_members: Final = MEMBERS in names
        twice = np.flatnonzero(np.diff(self._levels) == 0.0)
        if twice.size:
            raise FileError(f"{path}:1:{levels[twice[0]][1]}: a level appears twice; keep one")
        ends = central(self._levels.tolist())
        if levels and ends is None:
            raise FileError(f"{path}:1:{levels[0][1]}: {NOT_CENTRAL}")
        self._ends: Final = ends or (0, 0)  # of the interval, where there are quantiles

    def __bool__(self) -> bool:
        return bool(self.quantiles) or self._has_members

    @property
    def have_value(self) -> bool:
        """Whether they give the value of a row that states none."""
        return self._has_members or MEDIAN in self._levels

    def column_of(self, field: str) -> str:
        """Return the column that gives a field which no column of its own states."""
        if not self.quantiles or (field == "u" and self._has_members):
            return MEMBERS if self._has_members else field
        return self.quantiles[self._ends[field == "upper"]]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns it reads."""
        return (*self.quantiles, *([MEMBERS] if self._has_members else []))

    def fill(
        self,
        into: Numbers,
        cells: Mapping[str, Sequence[str] | Float],
        read: Callable[[str], Float],
        lines: Sequence[int],
        mistakes: Mistakes,
    ) -> None:
        """Fill in value, sigma, interval and CRPS where rows omit them.

        ``read`` returns a column. The columns in ``into`` are written to.
        """
        if self.quantiles:
            self._of_quantiles(into, np.stack([read(name) for name in self.quantiles]).T, lines,
                               mistakes)  # fmt: skip
        if self._has_members:
            self._of_members(into, [str(each) for each in cells[MEMBERS]], lines, mistakes)

    def _of_quantiles(
        self, into: Numbers, table: Float, lines: Sequence[int], mistakes: Mistakes
    ) -> None:
        there = ~np.isnan(table)
        whole = there.all(axis=1)
        crossing = whole & (np.diff(table) < 0.0).any(axis=1)
        for row in np.flatnonzero(there.any(axis=1) & ~whole).tolist():
            mistakes.add(lines[row], self.quantiles[0], "state all quantiles of the row or none")
        for row in np.flatnonzero(crossing).tolist():
            mistakes.add(lines[row], self.quantiles[0], "the quantiles do not ascend")
        whole &= ~crossing
        into[CRPS][whole] = crps_quantiles(table[whole], self._levels, into["reference"][whole])
        bare = whole & np.isnan(into["value"])
        if MEDIAN in self._levels:
            median = int(np.searchsorted(self._levels, MEDIAN))
            into["value"][bare] = table[bare, median]
        bare = whole & np.isnan(into["lower"]) & np.isnan(into["upper"])
        low, high = self._ends
        into["lower"][bare], into["upper"][bare] = table[bare, low], table[bare, high]
        into["p"][bare] = round(float(self._levels[high] - self._levels[low]), 12)

    def _of_members(
        self, into: Numbers, texts: Sequence[str], lines: Sequence[int], mistakes: Mistakes
    ) -> None:
        for row, text in enumerate(texts):
            if not text.strip():
                continue
            try:
                members = np.array([self._number(each) for each in _BETWEEN.split(text.strip())])
            except ValueError as error:
                mistakes.add(lines[row], MEMBERS, str(error))
                continue
            if members.size < 2:
                mistakes.add(lines[row], MEMBERS, "must be two or more numbers separated by blanks")
                continue
            reference = np.array(into["reference"][row])
            into[CRPS][row] = float(crps_ensemble(members, reference))
            mean, u = mean_and_u(members.tolist())
            if np.isnan(into["value"][row]):
                into["value"][row] = mean
            if np.isnan(into["u"][row]):
                into["u"][row] = u
