"""Event times in all usual notations, to seconds since 1970 UTC: the one parser of times.

Rules of this file: a text is RFC 3339, which msgspec reads, or another form that ISO 8601 allows;
digits beyond microseconds are rounded in the former. A text that is a plain number is a number,
except for the eight digits of a date; what may be date and clock too is refused unless the settings
say which. A time without a zone is refused unless the settings name one; the unit of a number
follows from its size unless the settings name it; a year is 1 to 9999.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Any, Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
import numpy as np

from monitor.core.formatting import instant
from monitor.core.model import Bool, Float
from monitor.decode.checks import (
    PAST_END,
    TIME_MIN,
    Rejected,
    check_era,
    latest_time,
)
from monitor.decode.paths import to_number, type_of
from monitor.decode.spec import MapError, MapSpec

# RFC 3339 with a zone, read as :func:`reader` does.
_Instant = Annotated[datetime, msgspec.Meta(tz=True)]
# Texts in UTC that are written alike are read in columns: between which characters each lies, by
# what each digit counts in year, month, day, seconds of the day and microseconds, and the first
# days of months.
_LEAST: Final = b"0000-00-00T00:00:00.000000Z"
_MOST: Final = b"9999-19-39T29:59:59.999999Z"
_PLACES: Final = ((0, 4, 0, 1), (5, 7, 1, 1), (8, 10, 2, 1), (20, 26, 4, 1))
_CLOCK_PLACES: Final = ((11, 13, 3, 3600), (14, 16, 3, 60), (17, 19, 3, 1))
_FIRST_YEAR, _END_YEAR = 1970, 2100
_MONTHS: Final = np.arange(f"{_FIRST_YEAR}-01", f"{_END_YEAR}-02", dtype="datetime64[M]")
_FIRST_DAYS: Final = _MONTHS.astype("datetime64[D]").astype(np.float64)
_ALIKE_LEAST: Final = 64  # texts, for which columns are faster
_DIVISORS: Final = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_SIZES: Final = {"ns": 1e17, "us": 1e14, "ms": 1e11}  # a number at least as large is in this unit
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SOME_TIME: Final = datetime(2026, 11, 23, 17, 45, 56, tzinfo=UTC)  # in the afternoon
_DATE_CHARACTERS: Final = len("2026-01-01")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)", re.ASCII)
_DATE_DIGITS: Final = len("20260101")
_DATE_AND_CLOCK: Final = re.compile(
    r"(199\d|20\d\d|2100)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([01]\d|2[0-3])[0-5]\d([0-5]\d)?",
    re.ASCII,
)

_RFC_2822: Final = re.compile(
    r"([A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d(:\d\d)? ([+-]\d{4}|GMT|UTC|UT)",
    re.ASCII,
)

# What a text ends with that names its zone, and layouts that a text may have.
_ZONE_NAME: Final = re.compile(
    r"\s*\[?[A-Z][A-Za-z]+(?:/[A-Z][\w+-]*)+\]?\Z|\s(?![AP]M)[A-Z]{2,5}\Z", re.ASCII
)
_LAYOUTS: Final = (
    *("%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"),
    *("%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S"),
    *("%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S"),
    *("%d/%m/%Y %I:%M %p", "%m/%d/%Y %I:%M %p", "%a %b %d %H:%M:%S %Y", "%b %d, %Y %H:%M"),
)
_NATIVE_HINT: Final = (
    "not a text such as 2026-03-01T06:12:44Z; a source with decoder json and a map reads numbers "
    "too (time_unit: ms)"
)

_LEAP_SECOND: Final = ":59:60"
_LIKELY_END: Final = 4_102_444_800.0  # 2100-01-01 UTC
_DAY: Final = 86_400.0
_QUARTER: Final = 900.0
_NOT_SET: Final = "the sensor's clock is not set: set it, or map time: arrival"
_NATIVE_ZONE: Final = "read it with decoder json and time_zone in its map"

Reader = Callable[[object, str], float]


def reader(unit: str = "auto", zone: str = "", layout: str = "") -> Reader:
    """Return a function from a stated time and its name to s since 1970 UTC.

    ``unit``: auto, s, ms, us or ns for numbers, none where numbers are not times; ``zone``: of
    texts without one; ``layout``: of texts that are not ISO 8601, in the format of strptime. Raises
    MapError for a bad setting.
    """
    if unit not in ("auto", "none", *_DIVISORS):
        raise MapError(("time_unit",), f"{unit!r} is not one of auto, s, ms, us, ns")
    _check_layout(layout)
    local = _zone(zone)

    def read(stated: object, field: str) -> float:
        if isinstance(stated, str):
            return _of_text(_Text(stated, field, layout), unit, local)
        if isinstance(stated, datetime):
            return _seconds(stated, local, field, unit)
        is_number = isinstance(stated, int | float) and not isinstance(stated, bool)
        if is_number and unit != "none":
            return check_era(_of_number(to_number(field, stated, texts=False), unit), field)
        if unit == "none" and is_number:
            raise Rejected("bad_field", f"{field} is a number, {_NATIVE_HINT}")
        raise Rejected("bad_field", f"{field} is {type_of(stated)}; send a text")

    return read


def seconds_of(texts: Sequence[str]) -> Float:
    """Return times in RFC 3339 with a zone as s since 1970 UTC; raises msgspec.ValidationError.

    Many texts that are written alike are read in columns, to the same bits as one by one.
    """
    if len(texts) >= _ALIKE_LEAST and {*map(len, texts)} == {len(texts[0])}:
        seconds = _of_alike("".join(texts), len(texts[0]))
        if seconds is not None:
            return seconds
    return np.array([second_of(each) for each in texts], dtype=np.float64)


def second_of(text: str) -> float:
    """Return one such time."""
    return msgspec.convert(text, _Instant).timestamp()


class _Form(NamedTuple):
    """How texts of one length state a time in UTC: bounds of characters, and what digits count."""

    least: Any
    spread: Any
    counts: Float
    zeros: Float


@lru_cache
def _form(size: int) -> _Form | None:
    """Return the form of texts of so many characters, None if there is none."""
    if not (size == len(_LEAST) - 7 or len(_LEAST) - 5 <= size <= len(_LEAST)):
        return None
    columns = [*range(size - 1), len(_LEAST) - 1]
    least, most = (np.frombuffer(each, np.uint8)[columns] for each in (_LEAST, _MOST))
    counts = np.zeros((len(_LEAST), 5))
    for begin, end, part, times in (*_PLACES, *_CLOCK_PLACES):
        counts[begin:end, part] = times * 10.0 ** np.arange(end - begin - 1, -1, -1)
    return _Form(least, most - least, counts[columns], ord("0") * counts[columns].sum(axis=0))


def _of_alike(texts: str, size: int) -> Float | None:
    """Return the times of texts of so many characters each, None if one is not as the others."""
    form = _form(size)
    if form is None or not texts.isascii():
        return None
    characters = np.frombuffer(texts.encode(), np.uint8).reshape(-1, size)
    if (characters - form.least > form.spread).any():  # what is less than the least wraps around
        return None
    stated = characters.astype(np.float64) @ form.counts - form.zeros
    year, month, day, second, microsecond = stated.T
    at = ((year - _FIRST_YEAR) * 12.0 + month).astype(np.int64)
    are_months = (month >= 1.0) & (month <= 12.0) & (at >= 1) & (at < _FIRST_DAYS.size)
    if not are_months.all():
        return None
    days = _FIRST_DAYS[at - 1] + (day - 1.0)
    if not ((day >= 1.0) & (days < _FIRST_DAYS[at]) & (second < _DAY)).all():
        return None
    return ((days * _DAY + second) * 1e6 + microsecond) / 1e6


def _zone(zone: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(zone) if zone else None
    except (ZoneInfoNotFoundError, OSError, ValueError) as error:  # OSError: a folder of zones
        detail = f"{zone!r} is not a time zone such as Pacific/Auckland"
        raise MapError(("time_zone",), detail) from error


def _check_layout(layout: str) -> None:
    """Raise MapError unless a time that the layout states keeps its date and its hour."""
    if not layout:
        return
    detail = "not a layout of strptime such as %d.%m.%Y %H:%M"
    if "%" not in layout:
        raise MapError(("time_layout",), detail)
    if "%Z" in layout.replace("%%", ""):  # strptime drops the zone that it names
        raise MapError(("time_layout",), "has %Z, which names a zone in vain; use %z, or time_zone")
    try:
        with warnings.catch_warnings():  # Python deprecates days without a year, refused here
            warnings.simplefilter("ignore", DeprecationWarning)
            parsed = datetime.strptime(_SOME_TIME.strftime(layout), layout)  # noqa: DTZ007
    except (ValueError, re.error) as error:
        raise MapError(("time_layout",), detail) from error
    if parsed.date() != _SOME_TIME.date():
        raise MapError(("time_layout",), "has no full date: it needs day, month and year")
    if parsed.hour not in (0, _SOME_TIME.hour) or ("%p" in layout and "%I" not in layout):
        raise MapError(("time_layout",), "has %I or %p without the other, which loses AM or PM")


def _of_number(number: float, unit: str) -> float:
    if unit == "auto":
        size = abs(number)
        unit = next((unit for unit, least in _SIZES.items() if size >= least), "s")
    return number / _DIVISORS[unit]


def divisors(numbers: Float, unit: str) -> Float:
    """Return the divisors from times stated as numbers to seconds, as for each of them alone."""
    if unit != "auto":
        return np.full(numbers.shape, _DIVISORS[unit])
    sizes = np.abs(numbers)
    return np.select(
        [sizes >= least for least in _SIZES.values()], [_DIVISORS[unit] for unit in _SIZES], 1.0
    )


def likelier_occurrence(time: float, stated: object, spec: MapSpec, received: float) -> float:
    """Return the occurrence nearest ``received`` of a time that the clocks of its zone show twice.

    ``time`` is what was read from ``stated``: the first occurrence. Any other time stays as it is.
    """
    if not spec.time_zone or not isinstance(stated, str) or math.isnan(received):
        return time
    if not PAST_END <= time <= received + _DAY:  # refused, as its check says
        return time
    if not _is_shown_twice(spec.time_zone, time // _QUARTER):
        return time
    second = second_occurrence(datetime.fromtimestamp(time, ZoneInfo(spec.time_zone)))
    if second is None or parsed(stated, spec.time_layout).tzinfo is not None:
        return time
    return min(time, second.timestamp(), key=lambda each: abs(each - received))


@lru_cache(maxsize=256)
def _is_shown_twice(zone: str, quarter: float) -> bool:
    """Return whether clocks show a quarter of an hour again; they change between two of these."""
    time = datetime.fromtimestamp(quarter * _QUARTER, ZoneInfo(zone))
    return second_occurrence(time) is not None


def second_occurrence(time: datetime) -> datetime | None:
    """Return when clocks show a local time again after they were set back, None if they do not."""
    first, second = time.replace(fold=0), time.replace(fold=1)
    before, after = first.utcoffset(), second.utcoffset()
    return second if before is not None and after is not None and before > after else None


def check_past(time: float, stated: object, unit: str, field: str) -> float:
    """Return ``time`` (s since 1970 UTC) unless it is before 2000, which says another unit.

    ``stated`` is what it was read from, ``unit`` that of numbers.
    """
    if time >= PAST_END or time < TIME_MIN:  # which is out of range, as its check says
        return time
    read = f"{field} {str(stated)[:40]!r} is {instant(time, 'seconds')}"
    try:
        number = abs(float(str(stated)))
    except ValueError:
        raise Rejected("past", f"{read}; {_NOT_SET}", field=field) from None
    likely = (each for each, size in _DIVISORS.items() if PAST_END <= number / size < _LIKELY_END)
    meant = next(likely, "")
    hint = f"it is likely in {meant}: set time_unit: {meant}" if meant else _NOT_SET
    raise Rejected("past", f"{read} with time_unit {unit}; {hint}", field=field)


def are_usable(times: Float, received: float) -> Bool:
    """Return which times pass :func:`check_past` and :func:`monitor.decode.checks.check_time`."""
    usable: Bool = (times >= PAST_END) & (times <= latest_time(received))
    return usable


def parsed(text: str, layout: str = "") -> datetime:
    """Return a time as written, without a zone if it has none; raises ValueError.

    Without a layout that is also raised for a plain number, even one in which digits of a date
    could be seen.
    """
    if layout:
        return datetime.strptime(text, layout)  # noqa: DTZ007 - the zone follows
    text = text.strip()
    if is_number(text):
        raise ValueError(f"{text[:40]!r} is a number")
    try:
        return msgspec.convert(text, datetime)
    except msgspec.ValidationError:
        if _RFC_2822.fullmatch(text):
            from email.utils import parsedate_to_datetime  # noqa: PLC0415 - few write such times

            return parsedate_to_datetime(text)
        if text.endswith((" UTC", " GMT")):
            text = f"{text[:-4].rstrip()}+00:00"
        return datetime.fromisoformat(text)


def is_number(text: str) -> bool:
    """Return whether a text is a number and no date."""
    return _NUMBER.fullmatch(text) is not None and not (
        len(text) == _DATE_DIGITS and text.isdecimal()
    )


def _seconds(time: datetime, local: ZoneInfo | None, field: str, unit: str) -> float:
    """Return seconds since 1970 UTC; ``unit`` is that of times stated as numbers.

    Of an hour that comes twice, when clocks are set back, it is the first. Raises Rejected for a
    time without a zone, and for one that the clocks of its zone skip.
    """
    if time.tzinfo is None:
        if local is None:
            how = _NATIVE_ZONE if unit == "none" else "set time_zone for the source"
            detail = f"{field} {time.isoformat()} has no zone; send one, or {how}"
            raise Rejected("naive_time", detail)
        stated, time = time, time.replace(tzinfo=local)
        if _is_skipped(time):
            detail = f"{field} {stated.isoformat()} does not exist in {local.key}"
            hint = "clocks there are set forward past it. A clock that stays on winter time"
            raise Rejected("bad_field", f"{detail}: {hint} {_fixed(time)}")
    return (time - _EPOCH) / timedelta(seconds=1)


def _is_skipped(time: datetime) -> bool:
    """Return whether clocks were set forward past this time (PEP 495)."""
    before, after = time.replace(fold=0).utcoffset(), time.replace(fold=1).utcoffset()
    return before is not None and after is not None and before < after


def _fixed(time: datetime) -> str:
    """Return what to do for a clock that always has the offset of a time.

    Zones with a fixed offset have whole hours only, and the sign of POSIX.
    """
    hours = (time.utcoffset() or timedelta()) / timedelta(hours=1)
    if hours.is_integer():
        return f"has a zone such as Etc/GMT{-hours:+.0f}"
    return f"needs its offset in each time: {time.isoformat()[-len('+00:00') :]}"


class _Text(NamedTuple):
    """A text given as a time, its name, and the layout it must have."""

    text: str
    what: str
    layout: str

    def refused(self, hint: str = "") -> Rejected:
        """Return why it is not a time."""
        wanted = f"of the layout {self.layout!r}" if self.layout else "an ISO 8601 time"
        if not self.layout and _LEAP_SECOND in self.text:
            hint = ": seconds since 1970 do not count leap seconds; the next message is read again"
        elif not (self.layout or hint):
            hint = f"; {_layout_hint(self.text.strip())} (time_layout, of a file --time-format)"
        return Rejected("bad_field", f"{self.what} {self.text[:60]!r} is not {wanted}{hint}")

    def refuse_date_and_clock(self) -> None:
        """Raise Rejected for digits that may be date and clock, or a number."""
        match = _DATE_AND_CLOCK.fullmatch(self.text.strip())
        if match is not None:
            layout = "%Y%m%d%H%M%S" if match[5] else "%Y%m%d%H%M"
            detail = f"{self.what} {self.text[:60]!r} may be date and clock, or a number since 1970"
            how = f"name the layout {layout} (time_layout, of a file --time-format)"
            raise Rejected("bad_field", f"{detail}; {how}, or in a map the time_unit")

    def number(self) -> float:
        """Return the text as a number; raises Rejected if it is not one."""
        try:
            return to_number(self.what, self.text, texts=True)
        except Rejected as error:
            raise (self.refused() if error.reason == "bad_field" else error) from None


def layouts_of(text: str) -> list[str]:
    """Return the usual layouts that read a text without the name of a zone."""
    layouts = []
    for layout in _LAYOUTS:
        with suppress(ValueError):
            datetime.strptime(text, layout)  # noqa: DTZ007 - only tried
            layouts.append(layout)
    return layouts


def _layout_hint(text: str) -> str:
    """Return how to name the layout of a text, as far as it can be told from one."""
    name = zone[0] if (zone := _ZONE_NAME.search(text)) else ""
    layouts = layouts_of(text.removesuffix(name))
    named = f"the layout {layouts[0]}{name}" if len(layouts) == 1 else "its layout"
    if not name:
        return f"name {named}"
    area = name.strip(" []") if "/" in name else "the one meant"
    return (
        f"send an offset such as Z in place of{name}, or set time_zone to {area} and name {named}"
    )


def _hint_at(text: str) -> str:
    return f": it is a number, {_NATIVE_HINT}" if text.strip().isdecimal() else ""


def _of_text(stated: _Text, unit: str, local: ZoneInfo | None) -> float:
    try:
        time = parsed(stated.text, stated.layout)
    except ValueError as error:
        if unit == "none":
            raise stated.refused(_hint_at(stated.text)) from error
        if unit == "auto":
            if stated.layout:  # its digits are no number of seconds
                raise stated.refused() from error
            stated.refuse_date_and_clock()
        return check_era(_of_number(stated.number(), unit), stated.what)
    if unit == "none" and len(stated.text.strip()) <= _DATE_CHARACTERS:
        raise stated.refused()  # a date: no zone in the settings makes it a time
    return _seconds(time, local, stated.what, unit)
