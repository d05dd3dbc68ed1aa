"""Times, durations and numbers as text: the same in every sentence, document and page.

Everything is in UTC. NaN, infinities and times outside the calendar never raise here, because these
functions are called with what sensors send.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Final, Literal
from urllib.parse import quote

Precision = Literal["auto", "seconds", "milliseconds", "microseconds", "shortest"]
TO_THE_MINUTE: Final = "%Y-%m-%d %H:%M"
_UNITS: Final = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
_DAYS_FROM: Final = 4 * 86_400  # below that, people think of waits and tolerances in hours
# A spreadsheet takes a text that begins with one of these for a formula.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_WHOLE_BELOW: Final = 1e15  # from here on a number is written with an exponent


def instant(time: float, precision: Precision = "auto") -> str:
    """Return a time (s since 1970 UTC) in RFC 3339, such as "2026-03-01T06:12:00Z".

    ``auto`` writes microseconds where there are any, ``shortest`` milliseconds where there are any.
    Empty for NaN; a time outside the calendar is counted in seconds.
    """
    if math.isnan(time):
        return ""
    try:
        at = datetime.fromtimestamp(time, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{time:.0f} s from 1970"
    if precision == "shortest":
        precision = "milliseconds" if at.microsecond else "seconds"
    return at.isoformat(timespec=precision).replace("+00:00", "Z")


def date_time(time: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """Return a time (s since 1970 UTC) for people, in a strftime ``form``; a hyphen for none."""
    try:
        return datetime.fromtimestamp(time, UTC).strftime(form)
    except (ValueError, OverflowError, OSError):
        return "-"


def duration(seconds: float, parts: int = 2) -> str:
    """Return a duration in its largest units, such as "2 h 7 min", or "2 h" with one part.

    A hyphen for one that is not finite.
    """
    size = abs(seconds)
    if not math.isfinite(size):
        return "-"
    whole = round(size)
    if whole < 60:
        return f"{size:.3g} s"
    first = 0 if whole >= _DAYS_FROM else 1
    at = next(at for at, (_, unit) in enumerate(_UNITS) if at >= first and whole >= unit)
    (name, unit), (lesser, part) = _UNITS[at], _UNITS[at + 1]
    rest = whole % unit // part if parts > 1 else 0
    return f"{whole // unit} {name}" + (f" {rest} {lesser}" if rest else "")


def significant(number: float, digits: int = 2) -> str:
    """Return a number with ``digits`` significant digits, and all digits before the point."""
    if 10.0**digits - 0.5 <= abs(number) < _WHOLE_BELOW:
        return f"{number:.0f}"
    return f"{number:.{digits}g}"


def amount(number: float, unit: str, digits: int = 2) -> str:
    """Return a number with its unit."""
    return f"{significant(number, digits)} {unit}".strip()


def count_of(count: int, noun: str) -> str:
    """Return "1 reading" or "2 readings"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def grouped_count(count: int, noun: str) -> str:
    """Return the same with its digits in threes: "7 800 readings"."""
    return count_of(count, noun).replace(str(count), f"{count:,}".replace(",", " "), 1)


def probability(share: float) -> str:
    """Return a probability of 0 to 1 in percent; one that is almost certain is not 100 %."""
    percent = significant(100.0 * share)
    return "more than 99 %" if percent == "100" and share < 1.0 else f"{percent} %"


def finite(number: float) -> float | None:
    """Return a number for JSON, None if it is not finite."""
    return float(number) if math.isfinite(number) else None


def series_path(sensor: str, quantity: str) -> str:
    """Return the path of the page of a series, below the address of the pages."""
    return f"/series/{quote(sensor, safe='')}/{quote(quantity, safe='')}"


def safe_cell(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def aligned(lines: list[tuple[str, ...]]) -> list[str]:
    """Return a table as lines of text."""
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
