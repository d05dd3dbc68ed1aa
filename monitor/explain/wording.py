"""Numbers, times and strange texts as a person reads them.

Rules of this file: nothing that a terminal would obey comes out; times are in UTC.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Final

from monitor.core import formatting
from monitor.core.formatting import duration, instant, significant

__all__ = [
    "amount",
    "as_json",
    "clipped",
    "duration",
    "from_now",
    "number",
    "plain",
    "utc",
]
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
    return significant(x, 7)


def amount(x: float, unit: str) -> str:
    """Return a number with its unit."""
    return formatting.amount(x, unit, 7)


def utc(time: float) -> str:
    """Return a time (s since 1970 UTC) in RFC 3339, empty where there is none."""
    return instant(time, "shortest")


def from_now(seconds_before: float) -> str:
    """Return how far from now something is."""
    if seconds_before == 0:
        return "now"
    return f"{duration(seconds_before)} {'before' if seconds_before > 0 else 'after'} now"
