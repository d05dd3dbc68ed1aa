"""The content of an explanation as plain values; numbers, times and odd texts for a person.

Rules of this file: the values are the same for people and for machines. A number that was not
stated is NaN (null in JSON), a missing text is empty; ``found`` is the content of the payload, as
JSON on one line. Nothing that a terminal would interpret is printed; times are in UTC.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Final, Literal

from msgspec import Struct, field

from monitor.core import formatting
from monitor.core.formatting import duration, instant, significant
from monitor.core.model import NAN, Event, Observation, Reading, Reference

Origin = Literal["payload", "default", "settings", "missing"]
Changed = Literal["made", "changed", "taken back"]
Outcome = Literal["used", "rejected", "duplicate", "nothing"]


class Tried(Struct, frozen=True):
    """A source's template compared with the topic: whether it fits, else the level where not."""

    source: str
    template: str
    fits: bool
    why: str = ""
    nearest: bool = False


class Source(Struct, frozen=True):
    """The source that reads the message; ``fields`` are those of its topic."""

    place: str
    template: str
    kind: str
    decoder: str
    unit: str
    fields: dict[str, str]


class Read(Struct, frozen=True):
    """One thing that was read: its place, its content, and the kept value."""

    what: str
    path: str
    found: str
    origin: Origin = "payload"
    kept: str = ""
    note: str = ""


class Instant(Struct, frozen=True):
    """A time in UTC, the zone it came in, and its age (s, negative if in the future)."""

    utc: str
    zone: str
    seconds_before_now: float


class Uncertainty(Struct, frozen=True):
    """How uncertainty was stated, and the kept value in the unit of the series."""

    form: str
    u: float = NAN
    lower: float = NAN
    upper: float = NAN
    p: float = NAN
    assumed: bool = False


class Series(Struct, frozen=True):
    """The series of a reading, and its rules.

    ``concerns`` are the other subjects whose references concern it.
    """

    sensor: str
    quantity: str
    group: str
    unit: str
    mode: str
    tolerance_seconds: float
    window_pairs: int
    sentence: str
    concerns: list[str]


class Pair(Struct, frozen=True):
    """A pair that is made, changed or withdrawn; all in the unit of the series.

    ``u`` is the sensor's, stated or through the normal of its interval (``u_stated`` says which);
    ``u_eff`` is u, u_ref and u_pair in quadrature; ``z`` is the error over u_eff.
    """

    change: Changed
    sensor: str
    quantity: str
    unit: str
    time: str
    value: float
    reference: float
    error: float
    u: float
    u_stated: bool
    u_ref: float
    u_pair: float
    u_eff: float
    z: float
    inside: bool
    sentence: str
    warning: str = ""


class Observed(Struct, frozen=True):
    """One observation of the message; ``name`` is the sensor's or the subject's.

    ``record`` counts the records of the payload from 0; ``status`` is final, void or empty;
    ``unpaired`` says why there is no pair.
    """

    record: int
    kind: str
    name: str
    quantity: str
    value: float
    unit: str
    time: Instant
    reads: list[Read]
    key: str = ""
    identity: str = ""
    revision: int = 0
    status: str = ""
    uncertainty: Uncertainty | None = None
    series: Series | None = None
    fate: Literal["accepted", "duplicate"] = "accepted"
    meaning: str = ""
    pairs: list[Pair] = field(default_factory=list)
    unpaired: str = ""


class Shown(Struct, frozen=True):
    """A piece of the payload around the place that is wrong, fit for a terminal."""

    before: str
    at: str
    after: str


class Refused(Struct, frozen=True):
    """Why a message, or one record of it (``record`` >= 0), is not used."""

    record: int
    reason: str
    meaning: str
    detail: str
    place: str
    shown: Shown
    hint: str = ""


class Earlier(Struct, frozen=True):
    """The fate of an earlier message."""

    topic: str
    outcome: Outcome
    what: str


class Explanation(Struct, frozen=True):
    """Everything about one message; long lists are cut, ``*_count`` say how long they are."""

    topic: str
    payload_bytes: int
    now: str
    outcome: Outcome
    summary: str
    tried: list[Tried]
    source: Source | None
    records: int
    observed_count: int
    observed: list[Observed]
    refused_count: int
    refused: list[Refused]
    not_read: list[str]
    earlier: list[Earlier]
    covariates: list[str] = field(default_factory=list)
    version: int = 1


FOUND_CHARACTERS_MAX: Final = 60

# -- in words -------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """Return ``text`` with everything unprintable escaped: one line, no control sequences."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in text
    )


def shortened(text: str, most: int = FOUND_CHARACTERS_MAX) -> str:
    """Return ``text`` in at most ``most`` characters."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def as_json(value: object) -> str:
    """Return the content of a payload as JSON, whatever its types, on one safe line."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=_other, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError):
        text = _safe_repr(value)
    return plain(text)


def _safe_repr(value: object) -> str:
    """Return what JSON cannot express: maps with odd keys, loops, very long numbers."""
    try:
        return repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} that cannot be written out"


def _other(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return shortened(_safe_repr(value))


def seven_digits(x: float) -> str:
    """Return a number with seven significant digits at most."""
    return significant(x, 7)


def amount_text(x: float, unit: str) -> str:
    """Return a number with its unit."""
    return formatting.amount(x, unit, 7)


def utc(time: float) -> str:
    """Return a time (s since 1970 UTC) in RFC 3339, empty if there is none."""
    return instant(time, "shortest")


def from_now(seconds_before: float) -> str:
    """Return the distance from now in words."""
    if seconds_before == 0:
        return "now"
    return f"{duration(seconds_before)} {'before' if seconds_before > 0 else 'after'} now"


def label_of(observation: Observation) -> tuple[str, str, str]:
    """Return the kind of an observation, whom it is about, and its quantity."""
    if isinstance(observation, Reading):
        return "reading", observation.sensor, observation.quantity
    if isinstance(observation, Reference):
        return "reference", observation.subject, observation.quantity
    kind = "event" if isinstance(observation, Event) else "collocation"
    return kind, observation.sensor, ""
