"""How a recorded table is written: the options of every command that reads one.

Rules of this file: the user says which column holds what and how times and numbers are written;
nothing that changes a number is guessed. ``decode.time`` reads the times.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, Protocol
from zoneinfo import ZoneInfo

import numpy as np

from monitor.core.formatting import instant
from monitor.core.model import Float
from monitor.decode.checks import VALUE_MAX, Rejected
from monitor.decode.spec import MapError
from monitor.decode.time import Reader, is_number, parsed, reader
from monitor.errors import USAGE, MonitorError
from monitor.files.input_file import MINUS, AmbiguousError, Opening, number, seconds
from monitor.files.pair_fields import COLUMNS_HELP, USUAL, listed_parts, parse_columns, unquoted

_BLANKS: Final = " \u00a0\u202f\u2009'\u2019"  # that separate thousands
_ASSUMED: Final = re.compile(
    r"\s*(?:(\d*\.?\d+(?:[eE][-+]?\d+)?)(?![\d.]*\s*%))?\s*\+?\s*(?:(\d*\.?\d+)\s*%)?\s*", re.ASCII
)
_WHERE: Final = re.compile(
    r'\s*(?P<name>"[^"]+"|[^=]*[^=!\s])\s*(?P<not>!?)=(?P<texts>.*)', re.DOTALL
)
AUTO: Final = "auto"  # the time format that is found in the file
_DAY_0: Final = datetime(1899, 12, 30)  # noqa: DTZ001 - of no zone
_DAY_END: Final = re.compile(r"(?<=[T\s])24(?=[:.]?00\b(?![:.]?0*[1-9]))")
_DAY_2000: Final = 36_526.0
_DAY_2100: Final = 73_051.0
_EARLY: Final = datetime(1980, 1, 1, tzinfo=UTC).timestamp()


def _number_pattern(separators: str, comma: str) -> re.Pattern[str]:
    """Return the form of a number; one with separated thousands has no exponent."""
    thousands = rf"[1-9]\d{{0,2}}(?P<separator>[{separators}])\d{{3}}((?P=separator)\d{{3}})*"
    whole = rf"(?=.*\d)(?P<whole>[-+]?({thousands}|\d*))"
    rest = rf"({comma}(?P<rest>\d*))?(?P<exponent>(?(separator)|([eE][-+]?\d+)?))"
    return re.compile(whole + rest, re.ASCII)


_NUMBER: Final = _number_pattern(_BLANKS, "[.,]")
_POINT_NUMBER: Final = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", re.ASCII)
_IS_THOUSANDS: Final = re.compile(r",.*[,.]")  # 1,021 may be a decimal number
_NO_BLANKS: Final = str.maketrans("", "", _BLANKS)
_COMMA_NUMBER: Final = _number_pattern(f"{_BLANKS}.", ",")
_NO_COLUMNS: Final[Mapping[str, str]] = {}


class TakesOptions(Protocol):
    """A parser of options, or a group of them."""

    def add_argument(self, *names: str, **how: Any) -> object:  # noqa: ANN401 - argparse has many
        """Add an option."""


class LayoutError(MonitorError):
    """An option that says how a table is written cannot be used."""

    exit_code = USAGE


Test = Callable[[str], bool]


class AssumedU(NamedTuple):
    """The standard uncertainty of rows that state none: a number and a share of the value."""

    number: float
    share: float

    def of(self, value: Float) -> Float:
        """Return it for each value."""
        return self.number + self.share * np.abs(value)


class FileLayout(NamedTuple):
    """The column of each field, and how cells state times and numbers.

    ``time_zone`` is that of times without one, ``time_format`` in the format of strptime; numbers
    are seconds after ``time_start`` (s since 1970 UTC) if that is given. With ``decimal_comma`` a
    point separates thousands, with ``decimal_point`` a comma. The ``skip_lines`` above the header
    are not read. Rows count if ``where`` columns pass their tests, and lack no reference unless
    they may be ``unpaired``; ``long`` is a column of names and one of values, ``wide`` are patterns
    of columns that are a sensor each (:mod:`monitor.files.shapes`).
    """

    columns: Mapping[str, str] = _NO_COLUMNS
    time_zone: str = ""
    time_format: str = ""
    decimal_comma: bool = False
    time_start: float | None = None
    decimal_point: bool = False
    skip_lines: int = 0
    where: tuple[tuple[str, Test], ...] = ()
    long: tuple[str, str] | None = None
    wide: tuple[str, ...] = ()
    assume_u: AssumedU | None = None
    encoding: str = ""
    unpaired: bool = False

    @property
    def opening(self) -> Opening:
        """How the text of the table is opened."""
        return Opening(self.skip_lines, self.encoding)

    @property
    def as_written(self) -> bool:
        """Whether the user says what points and commas in numbers are."""
        return self.decimal_comma or self.decimal_point

    @property
    def numbers(self) -> list[str]:
        """The columns that may be named by their number, from 1."""
        named = [part for name in self.columns.values() for part in name.split("+")]
        named += [*(name for name, _ in self.where), *(self.long or ())]
        return [*dict.fromkeys(name.strip() for name in named if name.strip().isdecimal())]

    @property
    def usual_times(self) -> bool:
        """Whether times are as RFC 3339 has them, with a zone."""
        return not (self.time_zone or self.time_format or self.time_start is not None)

    def reader(self) -> Reader:
        """Return what reads times; raises LayoutError."""
        try:
            return reader("auto", self.time_zone, self.time_format.replace(AUTO, ""))
        except MapError as error:
            option = "--time-zone" if error.place == ("time_zone",) else "--time-format"
            raise LayoutError(f"{option}: {error}") from error

    def seconds_of(self, *, days: bool = False) -> Callable[[str], float]:
        """Return a function from a text to s since 1970 UTC, which raises ValueError.

        ``days``: numbers are those of a spreadsheet.
        """
        read = self.reader()
        read_day = reader("none", self.time_zone)

        def stated(text: str) -> float:
            text = self.plain_time(text)
            if days and is_number(text):
                return _of_day(text, read_day)
            self._refuse_comma(text)
            try:
                if begun := day_begun(text):
                    return read(parsed(begun, self.time_format) + timedelta(days=1), "time")
                if self.time_start is not None and is_number(text):
                    return self.time_start + float(text)
                is_usual = self.usual_times and not is_number(text)
                return seconds(text) if is_usual else read(text, "time")
            except ValueError as error:
                raise ValueError(f"{error}, or give --time-zone, or --time-format auto") from error
            except Rejected as error:
                if error.reason != "naive_time":
                    raise ValueError(error.detail) from error
                raise ValueError(f"{text[:40]!r} has no zone; give it as --time-zone") from error

        return stated

    def plain_time(self, text: str) -> str:
        """Return a time; one that is a number with the decimal point that a comma stands for."""
        text = text.strip()
        if self.time_format.replace(AUTO, ""):
            return text
        if self.decimal_comma and "," in text and _COMMA_NUMBER.fullmatch(text):
            return text.translate(_NO_BLANKS).replace(".", "").replace(",", ".")
        is_pointed = self.decimal_point and _POINT_NUMBER.fullmatch(text)
        return text.replace(",", "") if is_pointed else text

    def _refuse_comma(self, text: str) -> None:
        """Raise ValueError for a number with a comma, which may be one of several times."""
        if not self.time_format and "," in text and _COMMA_NUMBER.fullmatch(text):
            raise ValueError(f"{text[:40]!r} is no time with a point; give --decimal-comma")

    def has_days(self, first: str) -> bool:
        """Return whether times are a spreadsheet's days, of 2000 to 2099, by the first of them."""
        first = self.plain_time(first)
        is_day = is_number(first) and _DAY_2000 <= float(first) < _DAY_2100
        return is_day and self.time_start is None

    def shift(self, text: str, time: float) -> float:
        """Return by how many seconds the same clock shows a time again, 0 if it does not."""
        local = datetime.fromtimestamp(time, ZoneInfo(self.time_zone))
        before, after = local.utcoffset(), local.replace(fold=1).utcoffset()
        if before is None or after is None or before <= after:
            return 0.0
        text = self.plain_time(text)
        has_zone = not is_number(text) and parsed(text, self.time_format).tzinfo is not None
        return 0.0 if has_zone else (before - after).total_seconds()

    def number(self, text: str) -> float:
        """Return the number that a cell states; raises ValueError with a sentence.

        Raises AmbiguousError where all cells may mean something else.
        """
        text = text.replace(MINUS, "-")
        if text.lstrip().startswith(tuple("<>≤≥")):
            raise ValueError(f"{text.strip()[:40]!r} is a limit, not a value")
        if self.decimal_point and _POINT_NUMBER.fullmatch(text.strip()):
            return number(text.replace(",", ""))
        if self.decimal_comma:
            stated = typed_number(text, decimal_comma=True)
            if abs(stated) > VALUE_MAX:
                raise ValueError(f"{text[:40]!r} is larger than {VALUE_MAX:g}")
            return stated
        try:
            return number(text)
        except ValueError:
            if (with_thousands := _with_thousands(text.strip())) is None:
                raise
            return with_thousands


def _with_thousands(text: str) -> float | None:
    """Return a number with separated thousands, None if it is none; raises AmbiguousError."""
    is_pointed = _POINT_NUMBER.fullmatch(text) is not None
    if is_pointed and _IS_THOUSANDS.search(text):
        return number(text.replace(",", ""))
    if "," not in text and _NUMBER.fullmatch(text):
        return number(text.translate(_NO_BLANKS))
    if _COMMA_NUMBER.fullmatch(text) and "," in text:
        if {*text} & {*_BLANKS}:  # they separate thousands, so that the comma does not
            return typed_number(text, decimal_comma=True)
        point = "give --decimal-point if commas separate thousands, or " if is_pointed else ""
        raise AmbiguousError(
            f"{text[:40]!r} is not a number with a decimal point; {point}give --decimal-comma"
        )
    return None


AS_USUAL: Final = FileLayout()


def _of_day(text: str, read: Reader) -> float:
    """Return the time of a spreadsheet's day; raises ValueError if it has no zone."""
    day = _DAY_0 + timedelta(milliseconds=round(float(text) * 86_400_000.0))
    try:
        return read(day.isoformat(timespec="milliseconds"), "time")
    except Rejected as error:
        raise ValueError(
            f"{text[:40]!r} is a day of a spreadsheet ({day:%Y-%m-%d %H:%M}) and has no zone; give "
            "it as --time-zone; if it is seconds since 1970, give --time-start 1970-01-01T00:00Z"
        ) from error


def day_begun(text: str) -> str:
    """Return a time at the end of a day (24:00) as the begin of the same day, else nothing."""
    match = _DAY_END.search(text)
    return f"{text[: match.start()]}00{text[match.start() + 2 :]}" if match else ""


_SHAPES: Final = (
    ("--wide", "PATTERN,...", "columns that are a sensor each, such as 'sensor_*'"),
    ("--long", "NAMES=VALUES", "a column of names and one of values, such as variable=value"),
    ("--where", "COLUMN=TEXT,...", "use only these rows, such as qc=0 or 'qc=0|1,flag!=x'"),
    ("--skip-lines", "N", "number of lines above the header"),
    ("--assume-u", "U", "u of rows that state none: 0.5, 5%% of the value, or '3 + 10%%'"),
)


def layout_arguments(parser: TakesOptions, columns_help: str = "") -> None:
    """Add the options that say how a table is written; ``columns_help`` is for other than pairs."""
    parser.add_argument(
        "--columns", metavar="FIELD=COLUMN,...", default="", help=columns_help or COLUMNS_HELP
    )
    for option, metavar, text in _SHAPES[: len(_SHAPES) - bool(columns_help)]:
        parser.add_argument(option, metavar=metavar, default="", help=text)
    notation_arguments(parser)


def notation_arguments(parser: TakesOptions) -> None:
    """Add the options that say how times and numbers are written."""
    parser.add_argument(
        "--time-zone",
        default="",
        metavar="ZONE",
        help="time zone of times that state none, such as Pacific/Auckland",
    )
    parser.add_argument(
        "--time-format",
        default="",
        metavar="FORMAT",
        help="layout of times, such as '%%d.%%m.%%Y %%H:%%M'; auto: the one that reads them all",
    )
    parser.add_argument(
        "--time-start",
        default="",
        metavar="TIME",
        help="times are numbers of seconds after this one: 2026-03-01T06:00Z",
    )
    parser.add_argument(
        "--encoding",
        default="",
        metavar="NAME",
        help="encoding of the text, such as cp1252 (default: UTF-8, or UTF-16 with its mark)",
    )
    parser.add_argument(
        "--decimal-comma",
        action="store_true",
        help="read 1.021,5 as 1021.5 (21,5 needs no option)",
    )
    parser.add_argument(
        "--decimal-point",
        action="store_true",
        help="read 1,021 as 1021 (1,021.5 needs no option)",
    )


_FOR_FILE: Final = "is for FILE; a daemon's settings say how messages are read"


def refuse_layout(
    options: argparse.Namespace, why: str = _FOR_FILE, others: Iterable[str] = ("decimal_comma",)
) -> None:
    """Raise LayoutError, saying ``why``, if an option says how a table is written, or ``others``.

    By default for where a daemon is asked.
    """
    shapes = (option[2:].replace("-", "_") for option, _, _ in _SHAPES)
    usual = ("columns", "time_zone", "time_format", "time_start", "decimal_point", "encoding")
    for name in (*usual, *others, *shapes):
        if getattr(options, name, ""):
            raise LayoutError(f"--{name.replace('_', '-')} {why}")


def layout_of(options: argparse.Namespace, fields: Iterable[str] = USUAL) -> FileLayout:
    """Return what the options say; raises ColumnsError or LayoutError."""
    columns = parse_columns(getattr(options, "columns", ""), fields)
    start = None
    if options.time_start:
        try:
            start = seconds(options.time_start)
        except ValueError as error:
            raise LayoutError(f"--time-start: {error}") from error
    layout = FileLayout(
        *(columns, options.time_zone, options.time_format, options.decimal_comma, start),
        decimal_point=options.decimal_point,
        encoding=_known_encoding(options.encoding),
    )
    layout.reader()
    return with_shape(
        layout,
        **{name: getattr(options, name, "") for name in ("wide", "long", "where", "assume_u")},
        skip_lines=getattr(options, "skip_lines", ""),
    )


def with_shape(
    layout: FileLayout,
    *,
    wide: str = "",
    long: str = "",
    where: str = "",
    assume_u: float | str = "",
    skip_lines: str = "",
) -> FileLayout:
    """Return a layout with the shape that options say; raises LayoutError."""
    names = tuple(part.strip() for part in long.split("=")) if long else None
    if names is not None and (len(names) != 2 or not all(names)):
        raise LayoutError(f"--long {long}: write NAMES=VALUES, such as variable=value")
    if skip_lines and not skip_lines.isdecimal():
        raise LayoutError(f"--skip-lines {skip_lines}: must be a number of lines, such as 4")
    return layout._replace(
        wide=tuple(map(unquoted, listed_parts(wide))),
        long=None if names is None else (names[0], names[1]),
        where=tuple(map(_test_of, listed_parts(where))),
        assume_u=_assumed(str(assume_u)) if assume_u else None,
        skip_lines=int(skip_lines or 0),
    )


def _test_of(text: str) -> tuple[str, Test]:
    """Return the column and the test of ``qc=0|1`` or ``qc!=9``; numbers are equal as numbers."""
    match = _WHERE.fullmatch(text)
    if match is None:
        raise LayoutError(f"--where {text}: write COLUMN=TEXT, such as qc=0")
    texts = {_alike(unquoted(each.strip())) for each in match["texts"].split("|")}
    is_wanted = not match["not"]
    return unquoted(match["name"].strip()), lambda cell: (_alike(cell) in texts) is is_wanted


def _known_encoding(name: str) -> str:
    """Return the name of an encoding of texts; raises LayoutError."""
    try:
        "".encode(name or "utf-8")
    except (LookupError, ValueError) as error:
        raise LayoutError(f"--encoding {name}: is no encoding such as cp1252 or utf-16") from error
    return name


def _alike(text: str) -> float | str:
    """Return what is equal for two cells that say the same."""
    return float(text) if is_number(text.strip()) else text.strip()


def _assumed(text: str) -> AssumedU:
    """Return the u of ``0.5``, ``5 %`` or ``3 + 10 %``; raises LayoutError."""
    match = _ASSUMED.fullmatch(text)
    assumed = AssumedU(*(float(match[at] or 0.0) for at in (1, 2))) if match else AssumedU(0, 0)
    if not max(assumed) > 0.0:
        raise LayoutError(
            f"--assume-u {text}: write a standard uncertainty such as 0.5, a share of the value "
            "such as 5%, or both: '3 + 10%'"
        )
    return assumed._replace(share=assumed.share / 100.0)


def early_times(latest: float, how: str = "name it with --time-start") -> str:
    """Return what to do about times that seem to count from a start, not from 1970; else nothing.

    ``latest`` is the last of them, s since 1970 UTC; ``how`` says what to do about the start.
    """
    if latest >= _EARLY:
        return ""
    return (
        f"its times end at {instant(latest)}: numbers are seconds since 1970; if they count from a "
        f"start, {how}"
    )


def is_thousands(text: str) -> bool:
    """Return whether commas in a number may separate thousands."""
    return _POINT_NUMBER.fullmatch(text.strip()) is not None


def typed_number(text: str, *, decimal_comma: bool) -> float:
    """Return a number as people write it: 21.5, 21,5 or 1 021,5.

    Blanks and apostrophes separate thousands. A single comma without a point is a decimal comma;
    with ``decimal_comma`` every comma is, and points separate thousands. Raises ValueError.
    """
    text = text.strip().replace(MINUS, "-")
    match = (_COMMA_NUMBER if decimal_comma else _NUMBER).fullmatch(text)
    stated = math.nan
    if match is not None:
        whole = match["whole"].replace(match["separator"] or " ", "")
        stated = float(f"{whole}.{match['rest'] or '0'}{match['exponent'] or ''}")
    if not math.isfinite(stated):
        write = "1.021,5" if decimal_comma else "21.5 or 21,5"
        if not decimal_comma and _COMMA_NUMBER.fullmatch(text):
            write += ", or give --decimal-comma"
        raise ValueError(f"{text[:40]!r}: is not a number; write {write}")
    return stated
