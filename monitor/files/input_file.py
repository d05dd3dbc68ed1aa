"""Opening a file, reading its header, and reporting its mistakes.

Rules of this file: gzip is detected by its first bytes, never by the name; a file is refused with
all of its first mistakes listed, each with file:line:column, what is wrong and what to do.
"""

from __future__ import annotations

import csv
import gzip
import operator
import re
import zlib
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from io import BufferedIOBase, BufferedReader, TextIOWrapper
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

import msgspec
import numpy as np

from monitor.core.model import NAN, Float
from monitor.decode.checks import VALUE_MAX
from monitor.decode.formats import mapped_json
from monitor.decode.time import parsed, seconds_of
from monitor.errors import BAD_INPUT, MonitorError

Row = tuple[int, list[str]]
Block = tuple[Sequence[int], Sequence[list[str]]]

MISTAKES_MAX: Final = 20
_ALIKE_MAX: Final = 3
BLOCK_ROWS: Final = 20_000
LINE_BYTES_MAX: Final = 64 << 20
_GZIP_MAGIC: Final = b"\x1f\x8b"
_ZIP_MAGIC: Final = b"PK\x03\x04"
_UTF_16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_SEPARATORS: Final = ";\t,"
_QUOTED: Final = re.compile(r'"[^"]*"')
_TOA5: Final = re.compile(r'"?TOA5"?[,;]')
_CONSTANT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|NaN|-?Infinity')
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
MINUS: Final = "\N{MINUS SIGN}"  # of LibreOffice in some languages
_DECIMAL_COMMA: Final = re.compile(rf"[-+{MINUS}]?\d+,\d+([eE][-+]?\d+)?")
_THOUSANDS: Final = re.compile(rf"[-+{MINUS}]?[1-9]\d{{0,2}}(\.\d{{3}})+")
_WITH_POINT: Final = re.compile(rf"[-+{MINUS}]?\d*(,\d{{3}})*\.\d+([eE][-+]?\d+)?")
_WITH_THOUSANDS: Final = re.compile(rf"[-+{MINUS}]?[1-9]\d{{0,2}}(,\d{{3}})+")
# What a fault says of one cell, so that its rest is the same for all.
_CELL: Final = re.compile(
    r"^((time )?(?P<quote>['\"]).*?(?P=quote):? |[-+.\w]+ (?=is |must |the interval)"
    r"|time \S+ (?=does not exist)|is \S+ (?=s from 1970))"
)
_REASONS_MAX: Final = 8
EXPANDED: Final = "U"
EXPANDED_REFERENCE: Final = "U_reference"
_STANDARD: Final = {
    **dict.fromkeys(("u", "sigma"), EXPANDED),
    **dict.fromkeys(("u_reference", "reference_sigma"), EXPANDED_REFERENCE),
}
_BRACKETS: Final = re.compile(r"\s*[\[(].*")
# Names with a U of their own, or which say in brackets that k is not 1.
_IS_EXPANDED: Final = re.compile(
    r"(U(_[^\[(]*)?|[^\[(]*_U)(\s*[\[(].*)?"
    r"|.*[\[(]\s*(?i:k\s*=(?!\s*1([.,]0*)?\s*[\]),;])|expanded\b).*"
)
PARQUET_MAGIC: Final = b"PAR1"
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_.:-]+")

_NO_COLUMNS: Final[Mapping[str, str]] = {}


class Opening(NamedTuple):
    """How a text is opened: without the lines above its header, in its encoding.

    Without one it is UTF-8, or UTF-16 with a byte order mark.
    """

    skipped: int = 0
    encoding: str = ""


AS_IT_IS: Final = Opening()


class FileError(MonitorError):
    """A file cannot be used. ``mistakes`` holds one line each: file:line:column: what."""

    exit_code = BAD_INPUT

    def __init__(self, *mistakes: str) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes: Final = mistakes


class AmbiguousError(Exception):
    """A file has cells whose points or commas may be decimal or separate thousands."""


class RowError(Exception):
    """One row is wrong, in a column or as a whole (no column)."""

    def __init__(self, column: str, fault: str) -> None:
        super().__init__(fault)
        self.column: Final = column


class Mistakes:
    """The first mistakes of one file, in the order of its lines, and how many rows have which.

    ``written`` has the names of columns as the file writes them.
    """

    row = "line"

    def __init__(self, path: Path) -> None:
        self._path: Final = path
        self._found: list[tuple[int, str, str]] = []  # line, sentence, reason
        self._lines: set[int] = set()
        self._counts: dict[str, list[int]] = {}  # by reason: how many rows, and the first line
        self.written: Mapping[str, str] = _NO_COLUMNS

    def add(self, line: int, column: str, fault: str) -> None:
        """Note one mistake; ``column`` is the column's name, or empty for the whole line."""
        place = self.place(line, column)
        column = self.written_name(column)
        reason = f"{column}: {_CELL.sub('', fault)}" if column else fault
        if len(self._found) <= BLOCK_ROWS:
            self._found.append((line, f"{place}: {fault}", reason))
        if line not in self._lines:
            self._lines.add(line)
            self._counts.setdefault(reason, [0, line])[0] += 1

    def written_name(self, column: str) -> str:
        """Return the name of a column as the file writes it."""
        return self.written.get(column, column)

    def place(self, line: int, column: str) -> str:
        """Return where a mistake is."""
        column = self.written_name(column)
        return f"{self._path}:{line}:{column}" if column else f"{self._path}:{line}"

    def label(self) -> str:
        """Return what a sentence on the rows begins with."""
        return f"{self._path}: "

    def __len__(self) -> int:
        return sum(count for count, _ in self._counts.values())

    def rows_of(self, lines: Sequence[int]) -> list[int]:
        """Return which of some rows have a mistake; they are asked for once."""
        if not self._lines:
            return []
        rows = [row for row, line in enumerate(lines) if line in self._lines]
        self._lines.difference_update([lines[row] for row in rows])
        return rows

    def notes(self, total: int) -> Iterator[str]:
        """Return a sentence for each reason for which rows are left out."""
        for reason, (count, line) in islice(self._counts.items(), _REASONS_MAX):
            verb = "is" if count == 1 else "are"
            out = f"{count} of {total} rows {verb} left out"
            yield f"{self.label()}{out}, first {self.row} {line}: {reason}"
        if rest := [count for count, _ in islice(self._counts.values(), _REASONS_MAX, None)]:
            yield f"{self.label()}{sum(rest)} of {total} rows are left out for other reasons"

    @property
    def enough(self) -> bool:
        """Whether enough mistakes are listed to stop reading."""
        return len(self._found) > MISTAKES_MAX

    def refuse(self) -> None:
        """Raise FileError if there is any mistake; the first three of a kind stand for the rest."""
        if not self._found:
            return
        counts: Counter[str] = Counter()
        sentences = []
        for _, sentence, reason in sorted(self._found, key=operator.itemgetter(0))[:MISTAKES_MAX]:
            counts[reason] += 1
            if counts[reason] <= _ALIKE_MAX:
                sentences.append(sentence)
        if len(sentences) < len(self._found):
            sentences.append(f"{self._path}: there are more mistakes like these")
        raise FileError(*sentences)


@contextmanager
def opened(path: Path, how: Opening = AS_IT_IS) -> Iterator[TextIO]:
    """Open a text file, gzip or plain; every error becomes a FileError."""
    try:
        with path.open("rb") as raw, _decoded_text(str(path), raw, how.encoding) as text:
            for _ in islice(text, how.skipped):
                pass
            yield text
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from error


@contextmanager
def _decoded_text(name: str, raw: BufferedReader, encoding: str) -> Iterator[TextIO]:
    """Give bytes, gzip or plain, as text; errors in them become a FileError.

    ``name`` is the name of the file in the error.
    """
    if raw.peek(4)[:4] == _ZIP_MAGIC:
        fault = "is a zip file, such as an Excel workbook; save the sheet as CSV (UTF-8)"
        raise FileError(f"{name}: {fault}")
    packed = raw.peek(2)[:2] == _GZIP_MAGIC
    plain = _BoundedLines(name, gzip.GzipFile(fileobj=raw) if packed else raw)
    try:
        by_mark = "utf-16" if plain.peek(2)[:2] in _UTF_16_MARKS else "utf-8-sig"
        with TextIOWrapper(plain, encoding=encoding or by_mark, newline="") as text:
            yield text
    except UnicodeError as error:
        how = "name its encoding, such as --encoding cp1252, or save it as UTF-8"
        reason = getattr(error, "reason", error)
        raise FileError(f"{name}: is not {encoding or 'UTF-8'} text: {reason}; {how}") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileError(f"{name}: the gzip file is damaged or cut short: {error}") from error
    except csv.Error as error:
        raise FileError(f"{name}: is not CSV: {error}") from error
    except AmbiguousError as error:
        raise FileError(f"{name}:{error}") from error


class _BoundedLines(BufferedIOBase):
    """The bytes of a file; raises FileError in a line that is too long to be held in memory.

    A gzip file of three megabytes may hold a line of three gigabytes.
    """

    def __init__(self, name: str, plain: BufferedReader | gzip.GzipFile) -> None:
        self.name: Final = name
        self._plain: Final = plain
        self._size = 0  # of the line that has begun

    def readable(self) -> bool:
        return True

    def peek(self, size: int) -> bytes:
        return self._plain.peek(size)

    def read(self, size: int | None = -1, /) -> bytes:
        is_whole = size is None or size < 0
        return b"".join(iter(self.read1, b"")) if is_whole else self.read1(size or 0)

    def read1(self, size: int = -1, /) -> bytes:
        data = self._plain.read1(size)
        ends_at = max(data.rfind(b"\n"), data.rfind(b"\r"))
        self._size = len(data) - ends_at - 1 if ends_at >= 0 else self._size + len(data)
        if self._size > LINE_BYTES_MAX:
            fault = f"has a line of more than {LINE_BYTES_MAX >> 20} MiB"
            raise FileError(f"{self.name}: {fault}; is it a table, with a record on each line?")
        return data

    def close(self) -> None:
        self._plain.close()
        super().close()


def rows(text: TextIO, *, as_written: bool = False, skipped: int = 0) -> Iterator[Row]:
    """Return (line number, cells) of every row that is not blank; see :func:`row_blocks`."""
    return flattened(row_blocks(text, as_written=as_written, skipped=skipped))


def flattened(blocks: Iterable[Block]) -> Iterator[Row]:
    """Return the rows of blocks, one after the other."""
    return chain.from_iterable(zip(*block, strict=True) for block in blocks)


def row_blocks(text: TextIO, *, as_written: bool, skipped: int = 0) -> Iterator[Block]:
    """Return (line numbers, cells) of the rows that are not blank: the first alone, then many.

    The separator of cells is the one in the first line: tabs, semicolons or commas. Between tabs or
    semicolons ``21,5`` is 21.5, unless all cells stay ``as_written`` because the user says what
    commas are; else a file is refused whose points and commas may mean either (:class:`_Marks`). A
    row's line is the one on which it ends, after ``skipped`` lines. Of the file of a Campbell
    logger, the names are in the second line, and units and methods in the next two.
    """
    blank, head = 0, ""
    for head in text:
        if head.strip():
            break
        blank += 1
    separator = separator_of(head)
    blocks = _written_blocks(chain(repeat("\n", blank), [head], text), separator, skipped)
    if _TOA5.match(head):
        blocks = _without_logger_lines(blocks)
    return blocks if as_written or separator == "," else _pointed(blocks)


def logger_notes(path: Path, how: Opening) -> list[str]:
    """Return a sentence on the lines of a Campbell logger that are left out, if it wrote a file."""
    with opened(path, how) as text:
        if not _TOA5.match(next(text, "")):
            return []
    return [f"{path}: is a table of a Campbell logger (TOA5): TIMESTAMP is the time"]


def _without_logger_lines(blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the names of a table of a Campbell logger (TOA5), then its rows."""
    table = flattened(blocks)
    next(table, None)
    for line, cells in islice(table, 1):
        yield [line], [["time" if cell == "TIMESTAMP" else cell for cell in cells]]
    rest = islice(table, 2, None)
    while block := list(islice(rest, BLOCK_ROWS)):
        yield [line for line, _ in block], [cells for _, cells in block]


def _written_blocks(text: Iterable[str], separator: str, skipped: int) -> Iterator[Block]:
    """Yield the rows that are not blank as they are written."""
    reader = csv.reader(text, delimiter=separator)
    before, size = skipped, 1
    while block := list(islice(reader, size)):
        lines: Sequence[int] = range(before + 1, skipped + reader.line_num + 1)
        if len(lines) != len(block):  # a cell spans several lines
            lines = [before := before + _lines_of(cells) for cells in block]
        if not all(map(_states_anything, block)):
            numbered = zip(lines, block, strict=True)
            there = [(line, cells) for line, cells in numbered if _states_anything(cells)]
            lines, block = [line for line, _ in there], [cells for _, cells in there]
        before = skipped + reader.line_num
        if block:
            size = BLOCK_ROWS
            yield lines, block


def _pointed(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield rows with decimal points for decimal commas; raises AmbiguousError."""
    marks = _Marks()
    for lines, written in blocks:
        block = [_with_points(cells) for cells in written]
        marks.has_commas |= any(map(operator.is_not, written, block))
        if marks.has_commas:
            marks.check(lines, written)
        yield lines, block


class _Marks:
    """What the numbers of a file with decimal commas say of its points and commas."""

    def __init__(self) -> None:
        self.has_commas = False
        self._is_decimal = False  # a comma, by a number such as 21,5
        self._thousands: tuple[int, str] | None = None  # the first cell such as 1,004
        self._point = ""  # a cell such as 2.5, or else 1,001.5 or 1,001,500

    def check(self, lines: Sequence[int], block: Sequence[list[str]]) -> None:
        """Raise AmbiguousError if a point or a comma may separate thousands or be decimal.

        So may the point of 1.022 beside decimal commas, and the comma of 1,004 beside points.
        """
        for line, cells in zip(lines, block, strict=True):
            for cell in cells:
                if "." in cell:
                    self._take_point(line, cell.strip())
                elif "," in cell:
                    self._take_comma(line, cell.strip())
        if self._thousands and self._point and ("," in self._point or not self._is_decimal):
            line, cell = self._thousands
            raise AmbiguousError(
                f"{line}: {cell!r} is ambiguous beside {self._point!r}: it may be "
                f"{cell.replace(',', '')} or {cell.replace(',', '.')}; give --decimal-point if "
                "commas separate thousands, else --decimal-comma"
            )

    def _take_point(self, line: int, cell: str) -> None:
        if _THOUSANDS.fullmatch(cell):
            raise AmbiguousError(
                f"{line}: {cell!r} is ambiguous in a file with decimal commas: it may be "
                f"{cell.replace('.', '')} or {cell}; give --decimal-comma if points separate "
                "thousands, --decimal-point if commas do"
            )
        if "," not in self._point and _WITH_POINT.fullmatch(cell):
            self._point = cell

    def _take_comma(self, line: int, cell: str) -> None:
        if cell[-4:-3] == "," and _WITH_THOUSANDS.fullmatch(cell):
            if cell.count(",") > 1:
                self._point = cell
            else:
                self._thousands = self._thousands or (line, cell)
        elif not self._is_decimal:
            self._is_decimal = _DECIMAL_COMMA.fullmatch(cell) is not None


def _states_anything(cells: list[str]) -> bool:
    return any(map(str.strip, cells))


def _lines_of(cells: list[str]) -> int:
    """Return the number of lines that a row spans."""
    return 1 + sum(len(_LINE_END.findall(cell)) for cell in cells)


def separator_of(head: str) -> str:
    """Return what separates the column names: a comma, unless another is there as often."""
    return max(_SEPARATORS, key=_QUOTED.sub("", head).count) if head.strip() else ","


def _with_points(cells: list[str]) -> list[str]:
    """Return a row with decimal points for decimal commas; the same list if it has none."""
    if "," not in "".join(cells):
        return cells
    converted = [
        cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell.strip()) else cell for cell in cells
    ]
    return cells if converted == cells else converted


def column_name(text: str) -> str:
    """Return the name of a column without case, except for U and U_reference.

    Those are u and u_reference, by any of their names, that :func:`is_expanded`.
    """
    name = text.strip()
    stem = _BRACKETS.sub("", name)
    expanded = _STANDARD.get(stem.lower(), "")
    return expanded + name[len(stem) :] if expanded and is_expanded(name) else name.lower()


def is_expanded(name: str) -> bool:
    """Return whether the name of a column, as written, says that it is an expanded uncertainty."""
    return _IS_EXPANDED.fullmatch(name) is not None


def json_value(text: str) -> Any:  # noqa: ANN401 - JSON may hold anything
    """Return the value of JSON, None for a number that is none, such as NaN.

    Raises Rejected, which says where the fault is and what to do.
    """
    if "NaN" in text or "Infinity" in text:
        text = _CONSTANT.sub(_as_null, text)
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return mapped_json.parse(text.encode())


def _as_null(match: re.Match[str]) -> str:
    """Return a text of JSON as it stands, and null for a number that is none."""
    return match[0] if match[0].startswith('"') else "null"


def header(path: Path, table: Iterator[Row], mistakes: Mistakes | None = None) -> list[str]:
    """Return the column names of the first row, as :func:`column_name`; raises FileError.

    ``mistakes`` will name columns as this row does.
    """
    line, cells = next(table, (1, []))
    names = [column_name(cell) for cell in cells]
    if mistakes is not None:
        mistakes.written = dict(zip(names, map(str.strip, cells), strict=True))
    if names and names[0].startswith("["):
        raise FileError(
            f"{path}:{line}: is a JSON array; write one object per line, as jq -c '.[]' does"
        )
    if names and names[0].startswith("sep="):
        raise FileError(f"{path}:{line}: {names[0]} is an instruction to Excel; delete this line")
    return names


def refuse_doubled(path: Path, names: Sequence[str], used: Iterable[str]) -> None:
    """Raise FileError if a column that is used appears twice."""
    twice = sorted(name for name in used if names.count(name) > 1)
    if twice:
        raise FileError(f"{path}:1:{twice[0]}: this column appears twice; keep one")


def unused_columns(names: Sequence[str], used: Container[str]) -> list[str]:
    """Return the names of the columns that are not used, each once."""
    return list(dict.fromkeys(name for name in names if name and name not in used))


def is_parquet(path: Path) -> bool:
    """Return whether a file begins as Parquet does."""
    try:
        with path.open("rb") as raw:
            return raw.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC
    except OSError:
        return False


def first_json_line(path: Path, how: Opening = AS_IT_IS) -> str:
    """Return the first line that is not blank if it opens a JSON object, else nothing."""
    with opened(path, how) as text:
        for line in text:
            if line.strip():
                return line if line.lstrip().startswith("{") else ""
    return ""


def listing(names: Sequence[str]) -> str:
    """Return names for a sentence, cut if there are many."""
    shown = ", ".join(name[:40] for name in names[:12]) or "no columns"
    return shown if len(names) <= 12 else f"{shown}, ..."


def file_label(path: Path) -> str:
    """Return the file's name as a sensor's name, for a series without one."""
    stem = path.name.removesuffix(".gz").rsplit(".", 1)[0]
    return _NOT_IN_NAMES.sub("_", stem)[:128] or "sensor"


def seconds(text: str) -> float:
    """Return an RFC 3339 time as seconds since 1970 UTC; raises ValueError with a sentence.

    The number is the one that the daemon's decoder gets for the same text.
    """
    try:
        time = parsed(text)
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not a time; write it as 2026-03-01T06:12:44Z") from None
    if time.tzinfo is None:
        raise ValueError(f"{text[:40]!r} has no zone; append Z or an offset such as +13:00")
    return time.timestamp()


def all_seconds(texts: Sequence[str]) -> list[float]:
    """Return :func:`seconds` of many texts at once; raises ValueError if any is wrong."""
    try:
        return seconds_of(texts).tolist()
    except msgspec.ValidationError:
        return [seconds(text) for text in texts]


def number(text: str) -> float:
    """Return the number that a cell states; raises ValueError with a sentence."""
    try:
        stated = float(text)
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not a number; use a decimal point, no unit") from None
    if "_" in text:
        raise ValueError(f"{text[:40]!r} is not a number; leave out the underscores")
    if not abs(stated) <= VALUE_MAX:
        raise ValueError(f"{text[:40]!r} is not finite, or is larger than {VALUE_MAX:g}")
    return stated


def cell_text(value: object, *, decimal_comma: bool = False) -> str:
    """Return the text that a cell of JSON or Parquet would have in CSV, with all digits."""
    if value is None:
        return ""
    if decimal_comma and isinstance(value, float):
        return repr(value).replace(".", ",")
    if isinstance(value, list):
        members = (cell_text(each, decimal_comma=decimal_comma) or "null" for each in value)
        return " ".join(members)
    if isinstance(value, date):
        return value.isoformat()
    return value if isinstance(value, str) else repr(value)


def all_numbers(texts: Sequence[str]) -> Float:
    """Return :func:`number` of many cells, NaN for empty ones; raises ValueError."""
    if "_" in "".join(texts):
        raise ValueError("an underscore is not part of a number")
    try:
        numbers = np.array([*map(float, texts)])
    except ValueError:
        numbers = np.array([float(text) if text else NAN for text in texts])
    if np.count_nonzero(~(np.abs(numbers) <= VALUE_MAX)) != texts.count(""):
        raise ValueError("a number is not finite or too large")
    return numbers
