"""What holds of everything a decoder lets through, and of everything it refuses.

Rules of this file: the limits are written out again here, from docs/formats.md and
docs/settings.md, so that a change of the product has to be meant.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from typing import Final

import msgspec

from monitor.core.model import (
    Collocation,
    Event,
    Observation,
    Reading,
    Reference,
)
from monitor.decode import REASONS, Rejected
from monitor.decode.checks import check_reading

RECEIVED: Final = 1_773_298_600.0
_FIRST, _LAST = -62_135_596_800.0, 253_402_300_800.0  # the years 1 to 9999
_DIRECTIONS: Final = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
_DETAIL_MAX: Final = 1000


class BrokenError(AssertionError):
    """Something that must hold does not."""


def holds(condition: bool, what: str) -> None:  # noqa: FBT001 - it is the sentence's verb
    """Raise BrokenError unless ``condition``."""
    if not condition:
        raise BrokenError(what)


def check_refusal(refused: Rejected) -> None:
    """A refusal has a reason of the list, and a sentence that can be kept and shown."""
    holds(refused.reason in REASONS, f"{refused.reason!r} is no reason")
    if refused.reason == "unexpected":
        raise BrokenError("unexpected") from refused.__cause__
    holds(bool(refused.detail), "a refusal has no detail")
    holds(len(refused.detail) <= _DETAIL_MAX, "a refusal's detail is long")
    holds(_writable(refused.detail), "a refusal's detail is not UTF-8")


def check_observation(found: Observation) -> None:
    """All that is stated is finite and within its limits, and can be kept."""
    if isinstance(found, Reading):
        _check_reading(found)
    elif isinstance(found, Reference):
        _check_reference(found)
    elif isinstance(found, Event):
        _check_name(found.sensor)
        _check_name(found.event)
        _check_past(found.time)
        holds(len(found.note) <= 500, "a note is long")
    else:
        _check_collocation(found)
    kept = msgspec.msgpack.decode(msgspec.msgpack.encode(found), type=Observation)
    holds(same(kept) == same(found), "an observation is another one when it was kept")


def same(found: Observation | Rejected) -> object:
    """Return what is equal for observations or refusals that are; NaN is NaN."""
    if isinstance(found, Rejected):
        return found.reason, found.detail
    return msgspec.msgpack.encode(found)


def words(found: Iterable[Observation | Rejected]) -> frozenset[str]:
    """Return what came out: names of observations and reasons."""
    return frozenset(
        each.reason if isinstance(each, Rejected) else type(each).__name__ for each in found
    )


def _check_reading(reading: Reading) -> None:
    _check_name(reading.sensor)
    _check_name(reading.quantity)
    _check_past(reading.time)
    _check_number(reading.value)
    holds(math.isnan(reading.u) or 1e-12 <= reading.u <= 1e15, f"u is {reading.u}")
    ends = math.isnan(reading.lower), math.isnan(reading.upper)
    holds(ends[0] == ends[1], "one limit of an interval is missing")
    if not ends[0]:
        _check_number(reading.lower)
        _check_number(reading.upper)
        holds(reading.lower < reading.upper, "an interval is not upright")
    holds(math.isnan(reading.p) or 0.0 < reading.p < 1.0, f"p is {reading.p}")
    holds(not (math.isnan(reading.u) and ends[0]), "no uncertainty is stated")
    _check_key(reading.key)
    _check_key(reading.sequence)
    check_reading(reading, RECEIVED)


def _check_reference(reference: Reference) -> None:
    by_name = reference.void and bool(reference.identity)
    if reference.subject:
        _check_name(reference.subject)
    if reference.quantity or not by_name:
        _check_name(reference.quantity)
    if not (by_name and math.isnan(reference.time)):
        _check_past(reference.time)
    if not (reference.void and math.isnan(reference.value)):
        _check_number(reference.value)
    holds(reference.u == 0.0 or 1e-12 <= reference.u <= 1e15, f"u is {reference.u}")
    holds(0 <= reference.revision <= 4 * (1 << 53) + 3, "a revision is out of range")
    _check_key(reference.key)
    _check_key(reference.identity)
    for time in (reference.start, reference.end):
        holds(math.isnan(time) or _FIRST <= time < _LAST, f"start or end is {time}")


def _check_collocation(collocation: Collocation) -> None:
    _check_name(collocation.sensor)
    _check_name(collocation.subject)
    holds(_FIRST <= collocation.start < collocation.end < _LAST, "a collocation's times are odd")
    holds(0.0 <= collocation.distance_km <= 1e15, "a collocation's distance is odd")


def _check_name(name: str) -> None:
    holds(isinstance(name, str) and 1 <= len(name) <= 128, "a name is too short or too long")
    holds(_DIRECTIONS.isdisjoint(name), "a name turns the direction of writing")
    holds(not set("/+#\ufffe\uffff") & set(name), "a name is more than a level of a topic")
    odd = {unicodedata.category(each) for each in name} & {"Cc", "Cs", "Zl", "Zp"}
    holds(not odd, "a name holds control characters")


def _check_key(key: str) -> None:
    holds(isinstance(key, str) and len(key) <= 256, "a key is long")
    holds(key.isprintable() and _writable(key), "a key cannot be shown")


def _check_number(number: float) -> None:
    holds(type(number) is float, f"a number is a {type(number).__name__}")
    holds(-1e15 <= number <= 1e15, f"a number is {number}")


def _check_past(time: float) -> None:
    holds(type(time) is float, f"a time is a {type(time).__name__}")
    holds(_FIRST <= time <= RECEIVED + 300.0, f"a time is {time}")


def _writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
