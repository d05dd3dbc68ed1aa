"""The native payload: JSON in the words of D-SI (value, u, U, k, lower, upper, p)."""

from __future__ import annotations

import math
from typing import Annotated, Final

import msgspec

from monitor.core.model import (
    NAN,
    Collocation,
    Event,
    Observation,
    Reading,
    Reference,
)
from monitor.core.pairing.observations import Name
from monitor.decode.checks import (
    TIME_MIN,
    U_MIN,
    VALUE_MAX,
    Rejected,
    check_collocation,
    check_era,
    check_key,
    check_name,
    check_number,
    check_reading,
    check_span,
    check_time,
    check_u,
    expanded_to_standard,
    is_key,
    latest_time,
    midpoint,
)
from monitor.decode.instants import Instant
from monitor.decode.route import Route

Revision = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]  # what JSON numbers carry exactly
Value = Annotated[float, msgspec.Meta(ge=-VALUE_MAX, le=VALUE_MAX)]
Uncertainty = Annotated[float, msgspec.Meta(ge=U_MIN, le=VALUE_MAX)]
RANKS: Final = {"prelim": 0, "final": 1, "void": 2}


class NativeReading(msgspec.Struct, gc=False):
    """Payload of a reading."""

    time: Instant
    value: float | None = None
    u: float | None = None
    lower: float | None = None
    upper: float | None = None
    p: float | None = None
    U: float | None = None
    k: float | None = None
    unit: str | None = None
    key: str | int = ""
    seq: str | int = ""
    sensor: str | None = None
    quantity: str | None = None


class PlainReading(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """Payload of most readings: what is beyond it is for :class:`NativeReading`."""

    time: Instant
    value: Value
    u: Uncertainty
    unit: str | None = None
    key: str = ""
    seq: str = ""


class BareReading(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A :class:`PlainReading` that states nothing besides, its time as it is written.

    Times of many are read at once.
    """

    time: str
    value: Value
    u: Uncertainty


class WrittenReading(BareReading, gc=False, forbid_unknown_fields=True):
    """The same with what else a :class:`PlainReading` may state."""

    unit: str | None = None
    key: str = ""
    seq: str = ""


class PlainReference(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """Payload of most references: what is beyond it is for :class:`NativeReference`."""

    time: Instant
    value: Value
    u: Annotated[float, msgspec.Meta(ge=0.0, le=VALUE_MAX)] = 0.0
    unit: str | None = None
    key: str = ""
    id: str = ""


class NativeReference(msgspec.Struct, gc=False):
    """Payload of a reference; a void needs no more than the identity it takes back."""

    time: Instant | None = None
    value: float | None = None
    u: float | None = None
    U: float | None = None
    k: float | None = None
    p: float | None = None
    unit: str | None = None
    key: str | int = ""
    id: str | int = ""
    rev: Revision = 0
    status: str = ""
    start: Instant | None = None
    end: Instant | None = None
    reference_id: str | int = ""


class NativeEvent(msgspec.Struct, gc=False):
    """Payload of an event."""

    time: Instant
    event: str
    note: str = ""


class NativeCollocation(msgspec.Struct, gc=False):
    """Payload of a collocation."""

    subject: str
    start: Instant
    end: Instant
    distance_m: float = 0.0


bare_reading: Final = msgspec.json.Decoder(BareReading).decode
written_reading: Final = msgspec.json.Decoder(WrittenReading).decode
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError)
plain_reading: Final = msgspec.json.Decoder(PlainReading).decode
_reading: Final = msgspec.json.Decoder(NativeReading).decode
_plain_reference: Final = msgspec.json.Decoder(PlainReference).decode
_reference: Final = msgspec.json.Decoder(NativeReference).decode
_event: Final = msgspec.json.Decoder(NativeEvent).decode
_collocation: Final = msgspec.json.Decoder(NativeCollocation).decode


def decode(
    payload: bytes, fields: dict[str, str], route: Route, received: float
) -> tuple[Observation]:
    """Return the observation in ``payload``; raises Rejected."""
    try:
        if route.kind == "reading":
            return (_to_reading(_reading(payload), fields, route, received),)
        if route.kind == "reference":
            return (_to_reference(_reference(payload), fields, route, received),)
        if route.kind == "collocation":
            return (_to_collocation(_collocation(payload), fields),)
        return (_to_event(_event(payload), fields, received),)
    except msgspec.ValidationError as error:
        raise _field_rejected(str(error)) from error
    except msgspec.DecodeError as error:
        raise Rejected("bad_payload", f"not JSON: {error}") from error
    except UnicodeDecodeError as error:
        raise Rejected("bad_payload", f"not UTF-8: {error}") from error


def quick_reading(payload: bytes, name: Name, unit: str, received: float) -> Reading | None:
    """Return what :func:`decode` would if a payload is usable and has no interval, else None."""
    try:
        body = plain_reading(payload)
    except UNREADABLE:
        return None
    time = body.time.timestamp()
    if not TIME_MIN <= time <= latest_time(received):
        return None
    if body.unit is not None and unit and body.unit != unit:
        return None
    if (body.key and not is_key(body.key)) or (body.seq and not is_key(body.seq)):
        return None
    return Reading(*name, time, body.value, body.u, NAN, NAN, NAN, body.key, body.seq)


def quick_reference(payload: bytes, name: Name, unit: str, received: float) -> Reference | None:
    """Return what :func:`decode` would if a payload is plain and all of it usable, else None."""
    try:
        body = _plain_reference(payload)
    except UNREADABLE:
        return None
    time = body.time.timestamp()
    if not TIME_MIN <= time <= latest_time(received):
        return None
    if body.unit is not None and unit and body.unit != unit:
        return None
    if 0.0 < body.u < U_MIN:
        return None
    if (body.key and not is_key(body.key)) or (body.id and not is_key(body.id)):
        return None
    return Reference(*name, time, body.value, body.u or 0.0, body.key, body.id)


def _to_reading(
    body: NativeReading, fields: dict[str, str], route: Route, received: float
) -> Reading:
    sensor = fields["sensor"]
    quantity = fields["quantity"]
    if body.sensor is not None and body.sensor != sensor:
        raise Rejected("name_mismatch", f"payload says sensor {body.sensor[:60]!r}, topic {sensor}")
    if body.quantity is not None and body.quantity != quantity:
        raise Rejected(
            "name_mismatch", f"payload says quantity {body.quantity[:60]!r}, topic {quantity}"
        )
    if body.unit is not None:
        check_unit(body.unit, route)
    u, lower, upper, p = body.u, body.lower, body.upper, body.p
    if u is None and body.U is not None:
        u = expanded_to_standard(body.U, body.k, p)
    value = midpoint(lower, upper) if body.value is None else body.value
    if math.isnan(value):
        raise Rejected("missing_field", "value is missing at `$.value`")
    reading = Reading(  # in the order of its fields: naming them costs as much as all the rest
        sensor,
        quantity,
        body.time.timestamp(),
        value,
        NAN if u is None else u,
        NAN if lower is None else lower,
        NAN if upper is None else upper,
        NAN if p is None else p,
        check_key(str(body.key)) if body.key != "" else "",
        check_key(str(body.seq), "seq") if body.seq != "" else "",
    )
    return check_reading(reading, received)


def _to_reference(
    body: NativeReference, fields: dict[str, str], route: Route, received: float
) -> Reference:
    if body.status and body.status not in RANKS:
        raise Rejected(
            "bad_field", f"status is {body.status[:60]!r}; use prelim, final or void at `$.status`"
        )
    void = body.status == "void"
    identity = check_key(str(body.id), "id")
    time = body.time or body.end
    if time is None and not (void and identity):
        raise Rejected("missing_field", "time is missing at `$.time`")
    if body.value is None and not void:
        raise Rejected("missing_field", "value is missing at `$.value`")
    check_unit(body.unit, route)
    u = body.u
    if u is None and body.U is not None:
        u = expanded_to_standard(body.U, body.k, body.p)
    start, end = check_span(
        NAN if body.start is None else check_era(body.start.timestamp(), "start"),
        NAN if body.end is None else check_time(body.end.timestamp(), received, "end"),
    )
    return Reference(
        subject=fields["subject"],
        quantity=fields["quantity"],
        time=NAN if time is None else check_time(time.timestamp(), received),
        value=NAN if body.value is None else check_number("value", body.value),
        u=0.0 if u is None or u == 0.0 else check_u("u", u),
        key=check_key(str(body.key)),
        identity=identity,
        revision=4 * body.rev + RANKS.get(body.status, 0),
        void=void,
        start=start,
        end=end,
        reference_id=check_key(str(body.reference_id), "reference_id"),
    )


def _to_event(body: NativeEvent, fields: dict[str, str], received: float) -> Event:
    return Event(
        sensor=fields["sensor"],
        time=check_time(body.time.timestamp(), received),
        event=check_name("event", body.event),
        note=body.note[:500],
    )


def _to_collocation(body: NativeCollocation, fields: dict[str, str]) -> Collocation:
    collocation = Collocation(
        sensor=fields["sensor"],
        subject=body.subject,
        start=body.start.timestamp(),
        end=body.end.timestamp(),
        distance_km=body.distance_m / 1000.0,
    )
    return check_collocation(collocation)


def check_unit(unit: str | None, route: Route) -> None:
    """Raise Rejected if a payload states another unit than its source."""
    if unit is not None and route.unit and unit != route.unit:
        raise Rejected("unit", f"payload says {unit[:60]!r}, the source's unit is {route.unit!r}")


def _field_rejected(message: str) -> Rejected:
    if "timezone" in message:
        return Rejected("naive_time", message)
    if "missing required field" in message:
        return Rejected("missing_field", message)
    if "out of range" in message:
        return Rejected("not_finite", message)
    return Rejected("bad_field", message)
