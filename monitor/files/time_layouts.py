"""``--time-format auto``: the one layout that reads all times of a file.

Rules of this file: ISO 8601 and numbers come first; a layout counts if it reads every time. Two
that read all of them, and differ in one, are both named and none is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Final

from monitor.decode.time import is_number, parsed
from monitor.files.cells import as_texts, table_chunks
from monitor.files.input_file import FileError, Mistakes
from monitor.files.layout import AUTO, FileLayout, day_begun
from monitor.files.shapes import ShapedTable, shaped

_DATES: Final = (
    *(form.replace("-", mark) for mark in "./-" for form in ("%d-%m-%Y", "%m-%d-%Y", "%Y-%m-%d")),
    *(form.replace("-", mark) for mark in "./-" for form in ("%d-%m-%y", "%m-%d-%y")),
    "%y-%m-%d",
    *(form.replace("-", mark) for mark in " -" for form in ("%d-%b-%Y", "%d-%b-%y", "%d-%B-%Y")),
    *("%b %d %Y", "%b %d, %Y", "%B %d %Y", "%B %d, %Y"),
)
_CLOCKS: Final = (
    *("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", "T%H:%M", "T%H:%M:%S", " %H.%M", " %H"),
    *(" %I:%M %p", " %I:%M:%S %p", " %I:%M%p"),
)
_ZONE: Final = re.compile(r".*:\S*\s*([-+]\d\d:?\d\d|Z)")


def with_found_times(path: Path, layout: FileLayout) -> FileLayout:
    """Return the layout of a file of pairs or a stream with its times found, where they shall be.

    Raises FileError.
    """
    if layout.time_format != AUTO:
        return layout
    mistakes = Mistakes(path)
    with table_chunks(path, mistakes, layout) as (names, chunks):
        table = shaped(ShapedTable(path, names, chunks, layout.columns, mistakes, []), layout)
        column = table.fields().get("time", "")
        texts = [
            (line, layout.plain_time(text))
            for chunk in table.chunks({column: "sensor"} if column else {})
            if column
            for line, text in zip(chunk.lines, as_texts(chunk.cells[column]), strict=True)
        ]
    return layout._replace(time_format=found_format(texts, mistakes, column))


def found_format(texts: Iterable[tuple[int, str]], mistakes: Mistakes, column: str) -> str:
    """Return the layout of times, each with its line; empty for ISO 8601 and for numbers.

    Raises FileError where none reads them all, or two do that differ.
    """
    lines: dict[str, int] = {}
    for line, text in texts:
        if text.strip():
            lines.setdefault(day_begun(text.strip()) or text.strip(), line)
    usual = [text for text in lines if not is_number(text) and not _reads(text, "")]
    if not usual:
        return ""
    zones = (" %z", "%z") if _ZONE.fullmatch(usual[0]) else ("",)
    forms = [*map("".join, product(_DATES, _CLOCKS, zones))]
    for text, line in lines.items():
        left = [form for form in forms if _reads(text, form)]
        if not left:
            above = f" and the times above it, such as {usual[0]!r}" if usual[0] != text else ""
            raise FileError(
                f"{mistakes.place(line, column)}: no known layout reads {text[:40]!r}{above}; "
                "give it as --time-format"
            )
        forms = left
    by_times = {tuple(parsed(text, form) for text in lines): form for form in reversed(forms)}
    if len(by_times) == 1:
        return forms[0]
    one, other = [*by_times.values()][:2]
    text = next(text for text in lines if parsed(text, one) != parsed(text, other))
    raise FileError(
        f"{mistakes.place(lines[text], column)}: {text!r} may be {_date(text, one)} or "
        f"{_date(text, other)}, and both layouts read all times; give --time-format {one!r} or "
        f"{other!r}"
    )


def _reads(text: str, form: str) -> bool:
    try:
        parsed(text, form)
    except ValueError:
        return False
    return True


def _date(text: str, form: str) -> str:
    time = parsed(text, form)
    return f"{time.day} {time:%B %Y}"
