"""Event times as the world writes them, to seconds since 1970 UTC.

Rules of this file: a time without a zone is refused unless the settings name one; the unit of a
number is told by its size unless the settings say it; a year is 1 to 9999.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from monitor.core.model import Float
from monitor.decode.checks import Rejected, check_era
from monitor.decode.fetching import to_number

_DIVISORS: Final = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_SIZES: Final = {"ns": 1e17, "us": 1e14, "ms": 1e11}  # a number as large is of this unit
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Reader = Callable[[object], float]


def reader(unit: str = "auto", zone: str = "", layout: str = "") -> Reader:
    """Return a function from what a payload states as time to seconds since 1970 UTC.

    ``unit``: auto, s, ms, us or ns for numbers; ``zone``: of texts without one; ``layout``: of
    texts that are not ISO 8601, in the words of strptime. Raises ValueError for a bad setting.
    """
    if unit not in ("auto", *_DIVISORS):
        raise ValueError(f"time unit {unit!r} is not one of auto, s, ms, us, ns")
    _check_layout(layout)
    local = _zone(zone)

    def read(stated: object) -> float:
        return check_era(read_any(stated))

    def read_any(stated: object) -> float:
        if isinstance(stated, int | float) and not isinstance(stated, bool):
            return _of_number(to_number("time", stated, texts=False), unit)
        if isinstance(stated, datetime):
            return _of_datetime(stated, local)
        if not isinstance(stated, str):
            what = f"time is a {type(stated).__name__}; send a text or a number"
            raise Rejected("bad_field", what)
        return _of_text(stated, unit, local, layout)

    return read


def _zone(zone: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(zone) if zone else None
    except (ZoneInfoNotFoundError, OSError, ValueError) as error:  # a folder of zones too
        raise ValueError(f"{zone!r} is not a time zone such as Pacific/Auckland") from error


def _check_layout(layout: str) -> None:
    try:
        datetime.strptime(_EPOCH.strftime(layout), layout)  # noqa: DTZ007 - only whether it can be
    except (ValueError, re.error) as error:
        raise ValueError("not a layout of strptime such as %d.%m.%Y %H:%M") from error


def _of_number(number: float, unit: str) -> float:
    if unit == "auto":
        size = abs(number)
        unit = next((unit for unit, least in _SIZES.items() if size >= least), "s")
    return number / _DIVISORS[unit]


def divisors(numbers: Float, unit: str) -> Float:
    """Return what times stated as numbers are divided by to be seconds; as for each of them."""
    if unit != "auto":
        return np.full(numbers.shape, _DIVISORS[unit])
    sizes = np.abs(numbers)
    return np.select(
        [sizes >= least for least in _SIZES.values()], [_DIVISORS[unit] for unit in _SIZES], 1.0
    )


def _of_text(text: str, unit: str, local: ZoneInfo | None, layout: str) -> float:
    try:
        if layout:
            return _of_datetime(datetime.strptime(text, layout), local)  # noqa: DTZ007 - zone follows
        return _of_datetime(datetime.fromisoformat(text.strip()), local)
    except ValueError as error:
        try:
            number = to_number("time", text, texts=True)
        except Rejected as refused:
            if refused.reason != "bad_field":
                raise
            wanted = f"of the layout {layout!r}" if layout else "an ISO 8601 time"
            raise Rejected("bad_field", f"time {text[:60]!r} is not {wanted}") from error
        return _of_number(number, unit)


def _of_datetime(time: datetime, local: ZoneInfo | None) -> float:
    if time.tzinfo is None:
        if local is None:
            raise Rejected(
                "naive_time",
                f"time {time.isoformat()} has no zone; send one, or set time_zone for the source",
            )
        time = time.replace(tzinfo=local)
    return (time - _EPOCH) / timedelta(seconds=1)
