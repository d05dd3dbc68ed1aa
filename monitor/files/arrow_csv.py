"""An accelerator: large plain CSV files by columns, read by pyarrow if it is installed.

Rules of this file: it reads only what it reads as the plain way does, and hands everything else
back: for another separator, quotes, a row of another length or text that is not UTF-8, it returns
nothing; a column that holds more than numbers or times is an ordinary sequence of texts.
tests/files/test_arrow_csv.py holds both ways equal, docs/evidence/performance.md has the gain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from monitor.core.model import Float, Int
from monitor.files.input_file import BLOCK_ROWS

LEAST_BYTES: Final = 4_000_000  # below which importing pyarrow costs more than it saves
_MOST_BYTES: Final = 500_000_000  # that fit in memory several times
_NOT_PLAIN: Final = (b'"', b"\n\n", b"\n\r", b"\r\r")  # quotes, and lines with nothing in them
_GZIP: Final = b"\x1f\x8b"


class ArrowTexts(Sequence[str]):
    """A column of texts; ``numbers``, ``seconds`` and ``codes`` are None if it must be read."""

    def __init__(self, column: Any) -> None:  # noqa: ANN401 - pyarrow has no types
        self._column: Final = column

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, at: Any) -> Any:  # noqa: ANN401 - a sequence's has two meanings
        return self._column.to_pylist()[at]

    def __iter__(self) -> Iterator[str]:
        return iter(self._column.to_pylist())

    def taken(self, rows: Int) -> ArrowTexts:
        """Return some of the rows."""
        return ArrowTexts(self._column.take(import_module("pyarrow").array(rows)))

    def numbers(self, most: float) -> Float | None:
        """Return the column as numbers, none of them beyond ``most``."""
        cast = self._cast("float64")
        if cast is None:
            return None
        numbers = np.asarray(cast.to_numpy(), dtype=np.float64)
        return None if (np.abs(numbers) > most).any() else numbers

    def seconds(self) -> Float | None:
        """Return the column's times, which state their zones, as s UTC."""
        times = self._cast(import_module("pyarrow").timestamp("us", "UTC"))
        if times is None:
            return None
        whole = times.cast("int64").to_numpy()
        return np.asarray(whole / 1e6, dtype=np.float64)

    def codes(self) -> tuple[Int, list[str]]:
        """Return the distinct texts, in the order of appearance, and the index of each row."""
        encoded = self._column.dictionary_encode()
        codes = encoded.indices.to_numpy().astype(np.int64)
        return codes, encoded.dictionary.to_pylist()

    def _cast(self, kind: Any) -> Any:  # noqa: ANN401
        arrow = import_module("pyarrow")
        try:
            return self._column.cast(kind)
        except arrow.ArrowInvalid:
            return None


class ArrowTable(NamedTuple):
    """The names of the columns as written, and the rows in batches: lines and columns."""

    names: list[str]
    batches: Iterator[tuple[Sequence[int], Mapping[str, ArrowTexts]]]


def arrow_csv(path: Path) -> ArrowTable | None:
    """Return a file's table; None if it is small, not plain, or pyarrow is not installed."""
    try:
        size = path.stat().st_size
        if not LEAST_BYTES <= size <= _MOST_BYTES or find_spec("pyarrow") is None:
            return None
        first = _plain_head(path)
    except OSError:
        return None
    if first is None:
        return None
    arrow, csv = import_module("pyarrow"), import_module("pyarrow.csv")
    names = first.split(",")
    if len(set(names)) < len(names):
        return None
    try:
        table = csv.read_csv(
            path,
            read_options=csv.ReadOptions(use_threads=False, column_names=names, skip_rows=1),
            parse_options=csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, arrow.string()), strings_can_be_null=False
            ),
        )
    except arrow.ArrowInvalid:
        return None
    return ArrowTable(names, _batches(names, table))


def _batches(
    names: Sequence[str],
    table: Any,  # noqa: ANN401
) -> Iterator[tuple[Sequence[int], Mapping[str, ArrowTexts]]]:
    for first in range(0, table.num_rows, BLOCK_ROWS):
        batch = table.slice(first, BLOCK_ROWS)
        lines: Sequence[int] = range(first + 2, first + 2 + batch.num_rows)
        rows = _rows_that_say_anything(batch)
        if rows.size < batch.num_rows:
            batch, lines = batch.take(rows), [lines[row] for row in rows.tolist()]
        columns = (ArrowTexts(column.combine_chunks()) for column in batch.columns)
        yield lines, dict(zip(names, columns, strict=True))


def _rows_that_say_anything(batch: Any) -> Int:  # noqa: ANN401
    """Return the rows that have a cell that is not blank."""
    compute = import_module("pyarrow.compute")
    blank = np.ones(batch.num_rows, dtype=np.bool_)
    for column in batch.columns:
        blank &= compute.equal(compute.utf8_trim_whitespace(column), "").to_numpy()
        if not blank.any():
            break
    return np.flatnonzero(~blank)


def _plain_head(path: Path) -> str | None:
    """Return the first line of a comma-separated file, None if it has special characters."""
    with path.open("rb") as raw, mmap(raw.fileno(), 0, access=ACCESS_READ) as content:
        head = content.readline()
        if head.startswith(_GZIP) or not head.endswith(b"\n") or _has_other_separator(head):
            return None
        if any(content.find(each, 0) >= 0 for each in _NOT_PLAIN):
            return None
    try:
        return head.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        return None


def _has_other_separator(head: bytes) -> bool:
    return head.count(b",") <= max(head.count(b";"), head.count(b"\t"))
