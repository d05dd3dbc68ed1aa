"""Until when a certificate is valid, by its own statement or by its owner's.

Rules of this file: no clock. A DCC has no element for an end of validity, because a laboratory
recommends no interval unless its customer has agreed to one (ISO/IEC 17025:2017, 7.8.4.3); in that
case there is a statement of type basic_recalibration with a date or a period. Otherwise the owner
states for how long, which also takes precedence over the certificate. The last day counts in full,
in UTC.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

SOON_DAYS: Final = 30
CERTIFICATE: Final = "the certificate"
OWNER: Final = "you"
_TOLD: Final = re.compile(r"(\d{1,5})\s*(d|w|mo|y)")
_XML: Final = re.compile(r"P(?:(\d{1,4})Y)?(?:(\d{1,5})M)?(?:(\d{1,5})D)?(?:T0+S)?")
_IN_MONTHS: Final = {"mo": 1, "y": 12}
_IN_DAYS: Final = {"d": 1, "w": 7}
_LAST_YEAR: Final = 9999


class ValidityError(ValueError):
    """A length of time or a day cannot be read; the message says what to write."""


class Period(NamedTuple):
    """A length of time in the calendar."""

    months: int = 0
    days: int = 0

    def after(self, first: date) -> date:
        """Return the day this long after another; in a short month its last day."""
        month = first.month - 1 + self.months
        year = first.year + month // 12
        if year > _LAST_YEAR:
            raise ValidityError(f"ends after the year {_LAST_YEAR}")
        day = min(first.day, monthrange(year, month % 12 + 1)[1])
        try:
            return date(year, month % 12 + 1, day) + timedelta(days=self.days)
        except OverflowError as error:
            raise ValidityError(f"ends after the year {_LAST_YEAR}") from error


class Validity(NamedTuple):
    """The last day on which a certificate counts, and the source of that statement."""

    until: date
    said_by: str

    @property
    def expiry(self) -> float:
        """When the validity ends: midnight after that day, s since 1970 UTC."""
        day = datetime(self.until.year, self.until.month, self.until.day, tzinfo=UTC)
        return day.timestamp() + 86_400.0

    def days_left(self, now: float) -> float:
        """Return the days from a time (s since 1970 UTC) to its end, below 0 once it is over."""
        return (self.expiry - now) / 86_400.0


def parse_period(text: str) -> Period:
    """Return a length of time as people write it: 12mo, 1y, 90d, 6w; raises ValidityError."""
    matched = _TOLD.fullmatch(text.strip())
    if matched is None or not int(matched[1]):
        raise ValidityError(f"{text[:40]!r} is not a length of time; write 12mo, 1y, 26w or 90d")
    number, unit = int(matched[1]), matched[2]
    if unit in _IN_MONTHS:
        return Period(months=number * _IN_MONTHS[unit])
    return Period(days=number * _IN_DAYS[unit])


def parse_duration(text: str) -> Period:
    """Return an xs:duration of years, months and days, such as P1Y; raises ValidityError."""
    matched = _XML.fullmatch(text.strip())
    years, months, days = (int(each or 0) for each in matched.groups()) if matched else (0, 0, 0)
    if not (years or months or days):
        raise ValidityError(f"{text[:40]!r} is not a duration, such as P1Y or P18M")
    return Period(12 * years + months, days)


def parse_day(text: str) -> date:
    """Return a day such as 2027-03-01; raises ValidityError."""
    try:
        return date.fromisoformat(text.strip())
    except ValueError as error:
        raise ValidityError(f"{text[:40]!r} is not a date; write one such as 2027-03-01") from error


def validity_of(
    performed: date,
    recalibration: date | None,
    *,
    valid_for: str | None,
    valid_until: str | None = None,
) -> Validity | None:
    """Return until when a certificate is valid, None if not stated; raises ValidityError.

    ``valid_until`` (a day) and ``valid_for`` (from the last day of the calibration on) are the
    owner's and take precedence over ``recalibration``, the certificate's own.
    """
    if valid_until is not None:
        return Validity(parse_day(valid_until), OWNER)
    if valid_for is not None:
        return Validity(parse_period(valid_for).after(performed), OWNER)
    if recalibration is not None:
        return Validity(recalibration, CERTIFICATE)
    return None
