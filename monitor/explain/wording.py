"""Numbers, times and strange texts as a person reads them.

Rules of this file: nothing that a terminal would obey comes out; times are in UTC.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS: Final = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
_DAYS_FROM: Final = 4 * 86_400  # below that, waits and tolerances are thought of in hours
FOUND_CHARACTERS_MAX: Final = 60


def plain(text: str) -> str:
    """Return ``text`` with everything that is not printable escaped: one line, no commands."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in text
    )


def clipped(text: str, most: int = FOUND_CHARACTERS_MAX) -> str:
    """Return ``text`` in at most ``most`` characters."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def as_json(found: object) -> str:
    """Return what stands in a payload as JSON, whatever it is made of, on one safe line."""
    try:
        text = json.dumps(found, ensure_ascii=False, default=_other, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError):
        text = _safe_repr(found)
    return plain(text)


def _safe_repr(found: object) -> str:
    """Return what JSON cannot say: maps by odd keys, loops, numbers of thousands of digits."""
    try:
        return repr(found)
    except (ValueError, RecursionError):
        return f"a {type(found).__name__} that cannot be written out"


def _other(found: object) -> object:
    if isinstance(found, datetime):
        return found.isoformat()
    if isinstance(found, bytes):
        return found.hex()
    return clipped(_safe_repr(found))


def number(x: float) -> str:
    """Return a number with seven significant digits at most."""
    return f"{x:.7g}"


def amount(x: float, unit: str) -> str:
    """Return a number with its unit."""
    return f"{number(x)} {unit}".strip()


def utc(time: float) -> str:
    """Return a time (s since 1970 UTC) in ISO 8601, empty where there is none."""
    if math.isnan(time):
        return ""
    try:
        instant = _EPOCH + timedelta(seconds=time)
    except OverflowError:
        return f"{time:.0f} s from 1970"
    precision = "seconds" if instant.microsecond == 0 else "milliseconds"
    return instant.isoformat(timespec=precision).replace("+00:00", "Z")


def duration(seconds: float) -> str:
    """Return a length of time in its two largest units, such as ``2 h 7 min``."""
    size = abs(seconds)
    if size < 60:
        return f"{size:.3g} s"
    whole = round(size)
    first = 0 if whole >= _DAYS_FROM else 1
    at = next(at for at, (_, unit) in enumerate(_UNITS) if at >= first and whole >= unit)
    (name, unit), (lesser, part) = _UNITS[at], _UNITS[at + 1]
    rest = whole % unit // part
    return f"{whole // unit} {name}" + (f" {rest} {lesser}" if rest else "")


def from_now(seconds_before: float) -> str:
    """Return how far from now something is."""
    if seconds_before == 0:
        return "now"
    return f"{duration(seconds_before)} {'before' if seconds_before > 0 else 'after'} now"
