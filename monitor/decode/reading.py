"""From a format that makes records to a decoder that makes observations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from monitor.core.model import Observation
from monitor.decode.checks import Rejected
from monitor.decode.mapping import Mapped
from monitor.decode.route import Route

Found = Observation | Rejected
Decoder = Callable[[bytes, dict[str, str], Route, float], Sequence[Found]]
One = Callable[[bytes], object]
Many = Callable[[bytes, dict[str, str], Route, float], Iterable[object]]


def of_one(parse: One) -> Decoder:
    """Return the decoder of a format whose payload is one value, such as a JSON text."""

    def decode(
        payload: bytes, fields: dict[str, str], route: Route, received: float
    ) -> Sequence[Found]:
        return mapping_of(route).observe(parse(payload), fields, received)

    return decode


def of_many(parse: Many) -> Decoder:
    """Return the decoder of a format whose payload is records; a bad one may be a Rejected."""

    def decode(
        payload: bytes, fields: dict[str, str], route: Route, received: float
    ) -> Sequence[Found]:
        records = parse(payload, fields, route, received)
        return mapping_of(route).observe_each(records, fields, received)

    return decode


def mapping_of(route: Route) -> Mapped:
    """Return the route's mapping."""
    if route.mapped is None:
        raise ValueError(f"source {route.template!r} has the decoder {route.decoder!r} but no map")
    return route.mapped
