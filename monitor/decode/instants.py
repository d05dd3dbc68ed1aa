"""Times of many messages at once: RFC 3339, as nearly all senders write it.

Rules of this file: what is read by the column is what msgspec reads one by one; whatever is not of
one day, one length and in UTC throughout is left to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Final

import msgspec
import numpy as np

from monitor.core.model import NAN, Float
from monitor.mqtt.payload_slices import Octets, all_of

Instant = Annotated[datetime, msgspec.Meta(tz=True)]
FRACTION: Final = len("2026-01-01T00:00:00.")
_DIGITS_MAX: Final = 6  # of a fraction of a second: what a datetime can hold
_END: Final = "\n"
_COMMON: Final = [*range(len("2026-01-01T")), 13, 16]  # places that are the same in all of them
CLOCK: Final = [11, 12, 14, 15, 17, 18]
_ZERO: Final = np.uint8(ord("0"))
_HIGHEST: Final = np.array([2, 9, 5, 9, 5, 9], dtype=np.uint8)
_MICROSECONDS: Final = 1e6 * np.array([36_000.0, 3600.0, 600.0, 60.0, 10.0, 1.0])
_DAY: Final = 86_400e6
_EXACT: Final = 2.0**53  # microseconds that a float tells apart


def read_instants(texts: Sequence[str]) -> Float:
    """Return times in s since 1970 UTC; NaN for what is no time with an offset from UTC."""
    found = _of_one_day(texts) if texts else None
    return np.array(_one_by_one(texts)) if found is None else found


def _of_one_day(texts: Sequence[str]) -> Float | None:
    """Return times of one day in UTC that are written alike, else None."""
    digits = digits_of(texts[0])
    rows = None if digits is None else _rows(texts, digits)
    found = None if rows is None else of_one_day(rows[:, :-1])
    return None if found is None or np.isnan(found).any() else found


def of_one_day(rows: Octets) -> Float:
    """Return times, s since 1970 UTC, of texts of octets (a row each) that are written alike.

    They must differ in no place but ``CLOCK`` and those from ``FRACTION`` to the last but one. NaN
    for what is no time, and for all if the first is not written as most are.
    """
    first = rows[0].tobytes().decode("latin-1")
    digits, midnight = digits_of(first), 1e6 * _one(first[:11] + "00:00:00Z")
    if digits is None or not abs(midnight) < _EXACT - _DAY:
        return np.full(len(rows), NAN)
    clock = rows[:, CLOCK] - _ZERO
    fraction = rows[:, FRACTION : FRACTION + digits] - _ZERO
    since_midnight = clock @ _MICROSECONDS + fraction @ 10.0 ** np.arange(5, 5 - digits, -1)
    found: Float = (midnight + since_midnight) / 1e6
    is_time = all_of(clock <= _HIGHEST) & all_of(fraction <= 9)
    found[~is_time | (since_midnight >= _DAY)] = NAN
    return found


def digits_of(text: str) -> int | None:
    """Return how many digits the seconds have after their point, None if it is another form."""
    if text[13:14] + text[16:17] + text[-1:] != "::Z":
        return None
    if len(text) == FRACTION:
        return 0
    digits = len(text) - FRACTION - 1
    return digits if text[FRACTION - 1] == "." and 0 < digits <= _DIGITS_MAX else None


def _rows(texts: Sequence[str], digits: int) -> Octets | None:
    """Return a row of octets a text, None if they differ in length, day or what is no digit."""
    octets = np.frombuffer(_END.join([*texts, ""]).encode(errors="replace"), np.uint8)
    if octets.size != len(texts) * (len(texts[0]) + 1):
        return None
    rows = octets.reshape(len(texts), -1)
    # An end in each row, and digits between: so each row is one of the texts.
    alike = [*_COMMON, -2, -1, *([FRACTION - 1] if digits else [])]
    return None if (rows[:, alike] != rows[0, alike]).any() else rows


def _one_by_one(texts: Sequence[str]) -> list[float]:
    with suppress(msgspec.ValidationError):
        return [time.timestamp() for time in msgspec.convert(texts, list[Instant])]
    return [_one(text) for text in texts]


def _one(text: str) -> float:
    with suppress(msgspec.ValidationError):
        return msgspec.convert(text, Instant).timestamp()
    return NAN
