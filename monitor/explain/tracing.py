"""A source's mapping that remembers which record gave which observations.

Rules of this file: it decides nothing; the decoders run as they do in the daemon.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from monitor.config import Source
from monitor.decode import (
    DECODERS,
    Found,
    Rejected,
    Route,
)
from monitor.decode.fields import Fields
from monitor.decode.mapping import Mapped
from monitor.decode.sparkplug_births import Births
from monitor.decode.specification import MapSpec, SeriesSpec
from monitor.mqtt.topic_templates import Template

_NATIVE_U: Final = ("u", "U")


class Seen(NamedTuple):
    """One record, the payload it is of (None where it cannot be read), and what came of it."""

    root: object
    record: object
    found: Sequence[Found]


class Trace(NamedTuple):
    """The records of a payload in their order, and by what mapping they were read."""

    spec: MapSpec
    seen: list[Seen]

    def of(self, found: Found) -> tuple[int, int]:
        """Return the number of the record that gave ``found``, and its place in it; -1 if none."""
        for at, seen in enumerate(self.seen):
            for place, each in enumerate(seen.found):
                if each is found:
                    return at, place
        return -1, -1


class _Tracing(Mapped):
    """A mapping that keeps what it was asked about."""

    root: object = None
    seen: list[Seen]

    def observe(self, payload: object, fields: Fields, received: float) -> Sequence[Found]:
        self.root = payload
        return super().observe(payload, fields, received)

    def _observe(
        self, root: object, record: object, fields: Fields, received: float, found: list[Found]
    ) -> None:
        first = len(found)
        try:
            super()._observe(root, record, fields, received, found)
        except Rejected as error:
            self.seen.append(Seen(root, record, [*found[first:], error]))
            raise
        self.seen.append(Seen(root, record, found[first:]))


def trace(
    source: Source, payload: bytes, fields: Fields, births: Births, received: float
) -> tuple[Trace, Sequence[Found] | Rejected]:
    """Return the records of a payload as far as it can be read, and what its decoder says.

    ``fields`` are those of the topic.
    """
    fields = dict(fields)
    fields.setdefault("quantity", "value")
    fields.setdefault("subject", fields.get("sensor", ""))
    specification = source.specification
    if specification is None:
        return _native(source, payload, fields, received)
    names = Template.parse(source.topic).names
    mapped = _Tracing(specification, source.kind, names, source.unit)
    mapped.seen = []
    route = Route(source.kind, source.decoder, source.unit, source.topic, mapped, births)
    found = _decoded(route, payload, fields, received)
    spec = _with_units(mapped.spec, source.unit)
    if isinstance(found, Rejected):
        seen = Seen(mapped.root, mapped.root, [found])
        return Trace(spec, [*mapped.seen, seen]), found
    known = {id(each) for seen in mapped.seen for each in seen.found}
    unread = [Seen(None, None, [each]) for each in found if id(each) not in known]
    return Trace(spec, [*mapped.seen, *unread]), found


def _with_units(spec: MapSpec, unit: str) -> MapSpec:
    """Return a mapping whose every quantity says in which unit it is kept."""
    return spec._replace(
        series=tuple(each._replace(to_unit=each.to_unit or unit) for each in spec.series)
    )


def _decoded(
    route: Route, payload: bytes, fields: Fields, received: float
) -> Sequence[Found] | Rejected:
    try:
        return DECODERS[route.decoder](payload, fields, route, received)
    except Rejected as error:
        return error
    except Exception as error:  # noqa: BLE001 - as the router does
        return Rejected("unexpected", f"{type(error).__name__}: {error}")


def _native(
    source: Source, payload: bytes, fields: Fields, received: float
) -> tuple[Trace, Sequence[Found] | Rejected]:
    try:
        root: object = msgspec.json.decode(payload)
    except (ValueError, RecursionError):
        root = None
    found = _decoded(Route(source.kind, source.decoder, source.unit), payload, fields, received)
    seen = Seen(root, root, [found] if isinstance(found, Rejected) else found)
    return Trace(native_spec(root, source), [seen]), found


def native_spec(root: object, source: Source) -> MapSpec:
    """Return the mapping that reads a native payload the way its decoder does."""
    given = root if isinstance(root, dict) else {}
    u = next((name for name in _NATIVE_U if given.get(name) is not None), "")
    interval = given.get("lower") is not None and given.get("upper") is not None
    interval = interval and source.kind == "reading"
    series = SeriesSpec(
        value="value" if given.get("value") is not None or not interval else "",
        unit=source.unit,
        unit_path="unit" if "unit" in given else "",
        u="u" if u == "u" else "",
        U="U" if u == "U" else "",
        k="k" if u == "U" and given.get("k") is not None else "",
        p="p" if given.get("p") is not None else "",
        lower="lower" if interval else "",
        upper="upper" if interval else "",
    )
    if source.kind == "reading":
        return MapSpec(series=(series,), key="key", sequence="seq")
    if source.kind == "event":
        return MapSpec(event="event", note="note")
    if source.kind == "collocation":
        return MapSpec(time=("start",), start="start", end="end", distance_m="distance_m")
    return MapSpec(
        series=(series,),
        key="key",
        identity="id",
        reference_id="reference_id",
        revision="rev",
        status="status",
        start="start",
        end="end",
    )
