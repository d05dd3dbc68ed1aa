"""Checks before a payload becomes an observation, and the closed list of reasons for refusal.

Rules of this file: every refusal has a reason from ``REASONS``, a sentence and the place it
concerns; nothing is swapped, clipped or guessed; a number that passes keeps every later formula
finite. Each limit is defined here once: the structs of the accelerators are made from them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Self

import msgspec
import scipy

from monitor.core.formatting import duration
from monitor.core.model import Collocation, Reading
from monitor.mqtt.topic_templates import NAME_RULE, valid_name


class Limit(NamedTuple):
    """The least and the largest number that is accepted."""

    least: float
    most: float

    def holds(self, number: float) -> bool:
        """Return whether a number is within the limits; NaN is not."""
        return self.least <= number <= self.most

    def meta(self) -> msgspec.Meta:
        """Return the same limits as a constraint of msgspec."""
        return msgspec.Meta(ge=self.least, le=self.most)


VALUE_MAX: Final = 1e15
U_MIN: Final = 1e-12
P_MARGIN: Final = 1e-9
NOT_CENTRAL: Final = (
    "needs two symmetric levels, such as 0.05 and 0.95, as the ends of the interval"
)
VALUE: Final = Limit(-VALUE_MAX, VALUE_MAX)
U: Final = Limit(U_MIN, VALUE_MAX)
U_OF_REFERENCE: Final = Limit(0.0, VALUE_MAX)  # 0 is an exact reference; else as U
P: Final = Limit(P_MARGIN, 1.0 - P_MARGIN)
FUTURE_SECONDS: Final = 300.0
SPAN_SECONDS_MAX: Final = 31_622_400.0  # a longer reference would be compared with all readings
TIME_MIN: Final = -62_135_596_800.0  # 0001-01-01 UTC, the first day that can be written
PAST_END: Final = 946_684_800.0  # 2000-01-01 UTC: what was measured before sent no messages
TIME_END: Final = 253_402_300_800.0  # after the last one, 9999-12-31 UTC
KEY_CHARACTERS_MAX: Final = 256
NOTE_CHARACTERS_MAX: Final = 500
UNIT_CHARACTERS_MAX: Final = 60
DETAIL_CHARACTERS_MAX: Final = 500
PLACE_CHARACTERS_MAX: Final = 200
_WORD: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")

RETAINED: Final = "retained"
REASONS: Final[Mapping[str, str]] = {
    "bad_payload": "the payload is not of the format that the source's decoder reads",
    "bad_field": "a field has the wrong type",
    "missing_field": "a required field is missing",
    "no_reading": (
        "the sensor says that it has no value: null, nan, unknown, an error value or an empty "
        "payload"
    ),
    "overload": "the display says that the load is beyond its range, above or below",
    RETAINED: "the broker had kept the message, and nothing in it says how old it is",
    "naive_time": "the time has no zone; send Z or an offset such as +13:00",
    "future": f"the time is more than {FUTURE_SECONDS:.0f} s ahead of this machine's clock",
    "past": "the time is before 2000: its unit is another, or the sensor's clock is not set",
    "not_finite": "a number is not finite",
    "out_of_range": f"a number is larger than {VALUE_MAX:g}, or a year is not 1 to 9999",
    "missing_uncertainty": "neither u nor a coverage interval is stated",
    "bad_uncertainty": f"a standard uncertainty is below {U_MIN:g}, zero or negative",
    "inverted_interval": "the lower limit is above the upper limit",
    "zero_width": "the coverage interval has no width",
    "bad_level": "the coverage probability p is not between 0 and 1",
    "unit": "the unit is not the one of the source",
    "bad_name": "a name is empty, too long, or contains / + # or control characters",
    "name_mismatch": "the payload names another sensor or quantity than its topic",
    "unknown_topic": "no source in the settings reads this topic",
    "oversize": "the payload is larger than mqtt.max_packet_bytes",
    "not_allowed": "the sensor is not on the allow-list (series.allow)",
    "series_limit": "series.max is reached, or there are too many events or collocations",
    "new_series_limit": "more readings wait for series.max_new_per_minute than may wait",
    "quality": "a field that tells the quality has a value that the source does not allow",
    "maintenance": "the sensor is under maintenance at that time (maintenance in the settings)",
    "no_advice": "the advice that an event accepts is not in force (any more)",
    "unknown_alias": "the birth message that names this Sparkplug alias was never received",
    "unexpected": "the decoder failed in a way it should not; please report this payload",
}
# Reasons that are no fault of the sensor: no alert counts them.
NO_FAULT: Final = frozenset(
    ("maintenance", "no_advice", "no_reading", "overload", "quality", RETAINED)
)


# Places of refusals that concern no part of the payload.
_PLACES: Final[Mapping[str, str]] = {
    "unknown_topic": "topic",
    "oversize": "mqtt.max_packet_bytes",
    "not_allowed": "series.allow",
    "series_limit": "series.max",
    "new_series_limit": "series.max_new_per_minute",
    "maintenance": "maintenance",
}


class Rejected(Exception):  # noqa: N818 - it is a verdict about a message, not a fault of the program
    """A message, or one record of it, cannot be used.

    ``reason`` is a key of ``REASONS``, ``detail`` a sentence. ``place`` is a path in the payload
    (from its record on), ``byte 12``, a key of the settings, ``topic``, or empty for the whole
    payload. A check that knows no paths names the ``field`` of the observation instead; the caller
    that knows the paths calls :meth:`at`. ``record`` counts the records of a payload that has
    several, else -1. Sentences and places quote payloads, so both are cut to a length.
    """

    def __init__(
        self, reason: str, detail: str, place: str = "", *, field: str = "", byte: int = -1
    ) -> None:
        detail = detail[:DETAIL_CHARACTERS_MAX]
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
        self.field = field
        self.byte = byte
        self.record = -1
        self.place = _PLACES.get(reason, "") if byte < 0 else f"byte {byte}"
        if place:
            self.place = place[:PLACE_CHARACTERS_MAX]

    def at(self, place: str) -> Self:
        """Return this refusal with a place, unless it has one."""
        self.place = self.place or place[:PLACE_CHARACTERS_MAX]
        return self

    @property
    def where(self) -> str:
        """The place with the number of the record, if there are several."""
        return self.place if self.record < 0 else f"record {self.record} {self.place}".rstrip()

    def bare(self) -> Self:
        """Return this refusal without traceback and cause: a message may hold thousands."""
        self.__cause__ = self.__context__ = None
        return self.with_traceback(None)


def refusal(reason: str) -> Rejected:
    """Return a refusal whose reason says everything."""
    return Rejected(reason, REASONS[reason])


def unknown_age() -> Rejected:
    """Return the refusal of a record without a time in a retained message."""
    detail = (
        "a retained message without a time of its own may be days old; the next one that the "
        "sensor sends is used"
    )
    return Rejected(RETAINED, detail)


def check_name(field: str, name: str) -> str:
    """Return ``name`` if it may name a sensor, subject or quantity."""
    if not valid_name(name):
        raise Rejected("bad_name", f"{field} {name[:60]!r}: {NAME_RULE}", field=field)
    return name


def check_event(name: str) -> str:
    """Return ``name`` if it may name an event: a word."""
    if not is_word(name):
        detail = f"event {name[:60]!r}: use 1 to 128 of A-Z a-z 0-9 _ . : -"
        raise Rejected("bad_name", detail, field="event")
    return name


def is_word(name: str) -> bool:
    """Return whether ``name`` is a word: 1 to 128 of A-Z a-z 0-9 _ . : -."""
    return _WORD.fullmatch(name) is not None


def check_key(key: str, field: str = "key") -> str:
    """Return ``key`` if it is short and printable; the empty key means none."""
    if not is_key(key):
        detail = f"{field} {key[:60]!r}: use at most {KEY_CHARACTERS_MAX} printable characters"
        raise Rejected("bad_name", detail, field=field)
    return key


def is_key(key: str) -> bool:
    """Return whether ``key`` is short and printable."""
    return len(key) <= KEY_CHARACTERS_MAX and key.isprintable()


def latest_time(received: float) -> float:
    """Return the latest permitted event time, s since 1970 UTC, of a message from ``received``.

    The lower of two limits: not ahead of this machine's clock, and a year of at most 9999.
    """
    return min(received + FUTURE_SECONDS, math.nextafter(TIME_END, -math.inf))


def check_time(time: float, received: float, field: str = "time") -> float:
    """Return event ``time`` (s since 1970 UTC) if it is of our era and not ahead of its arrival."""
    if not time <= received + FUTURE_SECONDS:
        detail = f"{field} is {duration(time - received)} ahead of this machine's clock"
        raise Rejected("future", detail, field=field)
    return check_era(time, field)


def check_era(time: float, field: str = "time") -> float:
    """Return ``time`` (s since 1970 UTC) if its year is 1 to 9999; NaN means not stated."""
    if time < TIME_MIN or time >= TIME_END:
        detail = f"{field} is {time:g} s from 1970, and its year in UTC is not 1 to 9999"
        raise Rejected("out_of_range", detail, field=field)
    return time


def check_number(field: str, number: float) -> float:
    """Return ``number`` if it is finite and at most 1e15 in size."""
    if VALUE.holds(number):
        return number
    if math.isfinite(number):
        detail = f"{field} is {number:g}, larger than {VALUE_MAX:g}"
        raise Rejected("out_of_range", detail, field=field)
    raise not_finite(field, number, field=field)


def not_finite(label: str, number: float, field: str = "") -> Rejected:
    """Return the refusal of a number that is infinite or none."""
    detail = f"{label} is {number}; send a finite number (JSON such as 1e400 reads as inf)"
    return Rejected("not_finite", detail, field=field)


def check_u(field: str, u: float) -> float:
    """Return standard uncertainty ``u`` if it lies between 1e-12 and 1e15."""
    if U.holds(u):
        return u
    if math.isfinite(u) and u < U_MIN:
        detail = f"{field} is {u:g}; it must be at least {U_MIN:g}"
        raise Rejected("bad_uncertainty", detail, field=field)
    return check_number(field, u)


def central(levels: Sequence[float]) -> tuple[int, int] | None:
    """Return the places of the outermost two quantiles with as much beyond either, None for none.

    Between them lies a central interval: what it misses is due on both sides alike. ``levels``
    ascend.
    """
    for low, level in enumerate(levels):
        for high in range(len(levels) - 1, low, -1):
            if level < 0.5 and abs(level + levels[high] - 1.0) < P_MARGIN:
                return low, high
    return None


def check_p(p: float) -> float:
    """Return coverage probability ``p`` if it lies between 0 and 1, 1e-9 or more from either."""
    if P.holds(p):
        return p
    percent = f"; {p:g} % is {p / 100.0:g}" if 1.0 < p < 100.0 else ", such as 0.9"
    raise Rejected("bad_level", f"p is {p}; it must lie between 0 and 1{percent}", field="p")


def states_interval(lower: float, upper: float) -> bool:
    """Return whether a coverage interval is stated, NaN meaning not; refuses half of one."""
    lacks_lower, lacks_upper = math.isnan(lower), math.isnan(upper)
    if lacks_lower != lacks_upper:
        lone = "upper" if lacks_upper else "lower"
        raise Rejected("missing_field", "lower and upper must be stated together", field=lone)
    return not lacks_lower


def check_interval(lower: float, upper: float) -> tuple[float, float]:
    """Return a coverage interval if it is finite, upright and has a width."""
    check_number("lower", lower)
    check_number("upper", upper)
    if lower > upper:
        detail = f"lower {lower:g} is above upper {upper:g}"
        raise Rejected("inverted_interval", detail, field="lower")
    if not (upper - lower >= U_MIN):
        raise Rejected("zero_width", f"lower and upper are both {lower:g}", field="lower")
    return lower, upper


def expanded_to_standard(expanded: float, factor: float | None, p: float | None) -> float:
    """Return u of expanded uncertainty U: U/k, else by the normal from p if stated, else k=2.

    GUM 6.3.1 (U = k u) and 6.3.3 (k = 2 is customary for about 95 %).
    """
    if factor is not None:
        return expanded / check_u("k", factor)
    if p is not None:
        return expanded / float(scipy.special.ndtri(0.5 + 0.5 * check_p(p)))
    return expanded / 2.0


def check_reading(reading: Reading, received: float) -> Reading:
    """Return ``reading`` if all it states is usable; NaN means not stated."""
    if _is_plain(reading, received):
        return reading
    check_time(reading.time, received)
    check_number("value", reading.value)
    stated = False
    if not math.isnan(reading.u):
        check_u("u", reading.u)
        stated = True
    if states_interval(reading.lower, reading.upper):
        check_interval(reading.lower, reading.upper)
        stated = True
    if not math.isnan(reading.p):
        check_p(reading.p)
    if not stated:
        detail = (
            "state u, U with k, or lower and upper with p; if a sensor states none, set `assumed` "
            "in the map of a source with decoder json"
        )
        raise Rejected("missing_uncertainty", detail, field="uncertainty")
    return reading


def _is_plain(reading: Reading, received: float) -> bool:
    """Whether a reading states value and u, both usable, and nothing else, as most do."""
    return (
        U.holds(reading.u)
        and VALUE.holds(reading.value)
        and TIME_MIN <= reading.time <= received + FUTURE_SECONDS
        and reading.time < TIME_END
        and math.isnan(reading.lower)
        and math.isnan(reading.upper)
        and math.isnan(reading.p)
    )


def check_span(start: float, end: float) -> tuple[float, float]:
    """Return the averaging span of a reference if it ends after it starts, within a year.

    NaN stands for an end that is not stated.
    """
    if start >= end:
        detail = "the reference's interval does not end after its start"
        raise Rejected("inverted_interval", detail, field="end")
    if end - start > SPAN_SECONDS_MAX:
        detail = "the reference's interval is longer than a year"
        raise Rejected("out_of_range", detail, field="start")
    return start, end


def check_collocation(collocation: Collocation) -> Collocation:
    """Return ``collocation`` if it names both sides, and ends after it starts."""
    check_name("sensor", collocation.sensor)
    check_name("subject", collocation.subject)
    if math.isnan(collocation.start) or math.isnan(collocation.end):
        lone = "start" if math.isnan(collocation.start) else "end"
        detail = "start and end of a collocation must be stated"
        raise Rejected("missing_field", detail, field=lone)
    check_era(collocation.start, "start")
    check_era(collocation.end, "end")
    if not collocation.start < collocation.end:
        detail = "the collocation does not end after its start"
        raise Rejected("inverted_interval", detail, field="end")
    if not 0.0 <= collocation.distance_km <= VALUE_MAX:
        detail = f"distance is {collocation.distance_km:g} km"
        raise Rejected("out_of_range", detail, field="distance_m")
    return collocation
