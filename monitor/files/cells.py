"""A table in CSV, JSON lines or Parquet as rows of cells, so that one gate checks them all.

Rules of this file: the first row is the names of the columns; a cell is the text that CSV would
have, with all digits of a number; only Parquet needs pyarrow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TextIO

import numpy as np

from monitor.core.collecting import without_collecting
from monitor.core.model import Float, Int
from monitor.decode.checks import Rejected
from monitor.decode.time import divisors
from monitor.errors import USAGE, MonitorError, install_hint
from monitor.files.arrow_csv import ArrowTable, ArrowTexts, arrow_csv
from monitor.files.input_file import (
    AS_IT_IS,
    BLOCK_ROWS,
    Block,
    FileError,
    Mistakes,
    Opening,
    Row,
    cell_text,
    column_name,
    first_json_line,
    flattened,
    header,
    is_parquet,
    json_value,
    listing,
    opened,
    row_blocks,
    rows,
)
from monitor.files.layout import AS_USUAL, FileLayout
from monitor.files.pair_fields import KNOWN_NAMES, plain_name, proposed_columns, shape_hint

# -- rows of cells --------------------------------------------------------------------------------

_BATCH_ROWS: Final = 65_536
_HEAD_LINES: Final = 50
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
        return Chunk(lines, {name: taken(cells, rows) for name, cells in self.cells.items()})


def as_texts(cells: Sequence[str] | Float, *, decimal_comma: bool = False) -> Sequence[str]:
    """Return a column as the texts that CSV would have."""
    if isinstance(cells, np.ndarray):
        texts = ["" if np.isnan(each) else f"{each:.17g}" for each in cells.tolist()]
        return [text.replace(".", ",") for text in texts] if decimal_comma else texts
    return cells


def taken(cells: Sequence[str] | Float, rows: Int) -> Sequence[str] | Float:
    """Return some of the rows of a column."""
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
    how = layout.opening
    if how == AS_IT_IS and (table := arrow_csv(path)) is not None:
        names = named_by_number(header(path, iter([(1, table.names)]), mistakes), mistakes, layout)
        yield names, lambda _used: _renamed(names, table)
        return
    with opened(path, how) as text, without_collecting():  # rows have millions of texts
        if first_json_line(path, how):
            blocks = _in_blocks(_of_objects(path, _json_lines(text, mistakes, how.skipped), layout))
        else:
            blocks = row_blocks(text, as_written=layout.as_written, skipped=how.skipped)
        names = named_by_number(
            header(path, flattened(islice(blocks, 1)), mistakes), mistakes, layout
        )
        if not names:
            mistakes.refuse()
        yield names, lambda _used: _chunks(names, blocks, mistakes)


def named_by_number(names: list[str], mistakes: Mistakes, layout: FileLayout) -> list[str]:
    """Return the names of columns, where one that is asked for by its number is called that."""
    names = [*names]
    for number in layout.numbers:
        if number not in names and 0 < int(number) <= len(names):
            name = names[int(number) - 1]
            mistakes.written = {**mistakes.written, number: mistakes.written.get(name, name)}
            names[int(number) - 1] = number
    return names


def _renamed(names: list[str], table: ArrowTable) -> Iterator[Chunk]:
    for lines, columns in table.batches:
        yield Chunk(lines, dict(zip(names, columns.values(), strict=True)))


def _chunks(names: list[str], blocks: Iterator[Block], mistakes: Mistakes) -> Iterator[Chunk]:
    for written_lines, written in blocks:
        lines, table = written_lines, written
        if set(map(len, table)) != {len(names)}:
            for line, cells in zip(lines, table, strict=True):
                if len(cells) != len(names):
                    fault = f"has {len(cells)} cells, the header has {len(names)}; make them equal"
                    is_longer = len(cells) > len(names)
                    hint = "; quote a cell that has a separator in it" if is_longer else ""
                    mistakes.add(line, "", f"{fault}{hint}")
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


def _json_lines(
    text: TextIO, mistakes: Mistakes, skipped: int
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for at, line in enumerate(text, 1 + skipped):
        if not line.strip():
            continue
        try:
            value = json_value(line)
        except Rejected as error:
            mistakes.add(at, "", f"is {error.detail}; write one object per line")
            continue
        if isinstance(value, dict):
            yield at, value
        else:
            mistakes.add(at, "", "is not an object; write one per line")


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
        written = file.schema_arrow.names
        names = named_by_number(header(path, iter([(1, written)]), mistakes), mistakes, layout)
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
        except MemoryError:  # an ArrowException too
            raise
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
) -> Sequence[str]:
    """Return times without a zone as the texts that the layout reads."""
    if not layout.time_zone:
        raise FileError(
            f"{path}:1:{name}: has times without a zone; give it as --time-zone, or when you write "
            f"the file, such as df[{name!r}].dt.tz_localize('UTC')"
        )
    form = layout.time_format
    return [
        "" if each is None else each.strftime(form) if form else each.isoformat()
        for each in column.to_pylist()
    ]


# -- what a file holds ----------------------------------------------------------------------------

_JSON_KEY: Final = re.compile(r'"(\w+)"\s*:')


def detect(
    path: str | Path, layout: FileLayout = AS_USUAL
) -> Literal["pairs", "stream", "messages"]:
    """Return what a file holds; raises FileError where it is none of these.

    JSON lines are messages if they have a ``topic``; a layout that names columns, or a column or
    key ``reference``, makes pairs, else ``kind`` makes a stream; Parquet holds pairs.
    """
    path, columns, how = Path(path), layout.columns, layout.opening
    if is_parquet(path):
        return "pairs"
    first = first_json_line(path, how)
    if first.strip() == "{":
        raise FileError(f"{path}:1: is JSON on several lines; write each object on one line")
    shapes = columns or layout.wide or layout.long
    if first:
        names = [*dict.fromkeys(_JSON_KEY.findall(first))]
        if "topic" in names and not shapes:
            return "messages"
    else:
        with opened(path, how) as text:
            names = header(path, rows(text, skipped=how.skipped))
    plain = [*map(plain_name, names)]
    if "kind" in names and "reference" not in (*plain, *columns) and not layout.long:
        if shapes:
            fault = "is a stream (it has a kind), whose columns cannot be given by --columns"
            raise FileError(f"{path}:1: {fault}; rename them in the file")
        return "stream"
    if shapes or "reference" in plain:
        return "pairs"
    raise FileError(
        f"{path}:1: is neither a file of pairs (columns value, reference, and u or lower, upper) "
        f"nor a stream (columns time, sensor, kind, value, ...); it has {listing(names)}. If it "
        f"holds pairs, say which column holds what: {proposed_columns(names)}"
        f"{shape_hint(names)}{_header_hint(path, how)}"
    )


def _header_hint(path: Path, how: Opening) -> str:
    """Return how many lines to skip if a line near the top names the columns of pairs."""
    with opened(path, how) as text:
        lines = [*islice(text, _HEAD_LINES)]
    for at, line in enumerate(lines):
        names = {plain_name(column_name(each.strip(' "\r\n'))) for each in re.split("[,;\t]", line)}
        if at and len(KNOWN_NAMES & names) > 1:
            above = how.skipped + at
            return f". Line {above + 1} looks like the names: --skip-lines {above}"
    return ""
