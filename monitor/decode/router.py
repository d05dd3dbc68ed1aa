"""From topic and payload to observations: the source of a topic, its decoder, its accelerator."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple, cast

import numpy as np

from monitor.core.model import NAN, Int, Reading, Sample
from monitor.core.pairing.identities import NONE, Interner
from monitor.core.pairing.observations import (
    Name,
    Observed,
)
from monitor.decode.accelerators import (
    Gathered,
    MessageBatch,
    TopicSeries,
    batch_native,
    batch_records,
)
from monitor.decode.accelerators.batch_records import Arrays, arrays
from monitor.decode.checks import Rejected
from monitor.decode.fields import ARRIVAL
from monitor.decode.formats import (
    csv_lines,
    display,
    lineprotocol,
    mapped_json,
    messagepack,
    native,
    senml,
    sparkplug,
)
from monitor.decode.records import BadNumber, Found, Seen, check_names
from monitor.decode.route import (
    Call,
    Decoder,
    Maintenance,
    Route,
    flat,
)
from monitor.decode.supplement import RecordReader
from monitor.decode.units import Key, Units
from monitor.mqtt.inbox import Payloads, payloads_of
from monitor.mqtt.topic_templates import Template, Topics, topics_of, valid_name

DECODERS: Final[Mapping[str, Decoder]] = {
    "native": native.decode,
    "json": mapped_json.decode,
    "senml": senml.decode,
    "lineprotocol": lineprotocol.decode,
    "csv": csv_lines.decode,
    "display": display.decode,
    "msgpack": messagepack.decode,
    "sparkplug": sparkplug.decode,
}
_CACHED_TOPICS_MAX: Final = 65_536
_CACHED_CHARACTERS_MAX: Final = 8_388_608  # of all topics: each may have 65 535
# How the messages of a topic are read: by its decoder, or by an accelerator first.
DECODED, _NATIVE, _NATIVE_REFERENCES, _RECORDS, _RECORD_REFERENCES = range(5)
_UNKNOWN: Final = np.array([(DECODED, 0, 0)], dtype=np.int64)


class Decoded(NamedTuple):
    """The content of a batch of messages; ``sources`` gives the message of each observation.

    ``samples`` are what ``readers`` found, each with its message.
    """

    observations: Observed
    sources: list[int]
    refused: list[tuple[int, Rejected]]
    samples: Sequence[tuple[int, Sample | BadNumber]] = ()


class _Known(NamedTuple):
    """A topic seen before: its source, its fields, and what an accelerator needs to know."""

    route: Route
    fields: dict[str, str]
    stream: TopicSeries
    way: int
    which: int
    arrays: Arrays | None


class Router:
    """Knows for each topic its source, its fields and its decoder; remembers the topics seen.

    Messages of more than ``payload_bytes_max`` are refused; so are readings of sensors that are
    under ``maintenance``. ``readers`` find numbers besides what the sources read.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        payload_bytes_max: int,
        maintenance: Maintenance | None = None,
        readers: Sequence[RecordReader] = (),
    ) -> None:
        routes = [_complete(route) for route in routes]
        self._routes: Final = [(Template.parse(route.template), route) for route in routes]
        self._filters: Final = {each.text: each.filter for each, _ in self._routes}
        self._arrays: Final = {id(route): _arrays(route) for route in routes}
        sparkplug.keep_used_metrics(routes)
        self.any_needs_packet: Final = any(map(_needs_packet, routes))
        self._payload_bytes_max: Final = payload_bytes_max
        self._maintenance: Final = maintenance
        self._readers: Final = readers
        self._units: Final = routes[0].units if routes else None
        self._units_changed = 0 if self._units is None else self._units.changed
        # Known topics whose series has no unit yet, by the key of that unit.
        self._without_unit: dict[Key, list[int]] = {}
        self._numbers: dict[str, int] = {}
        self._characters = 0
        self._known: list[_Known] = []
        # By known topic: how its messages are read, whom they are about, and whether an accelerator
        # read one; the last is for others.
        self._ways: Int = _UNKNOWN
        # Series of readings that decoders read, with their topics.
        self._heard: Final[set[tuple[str, str, str]]] = set()
        self._lookup: Final = Interner(self._number_of)
        self._names: list[Name] = []
        self._places: dict[Name, int] = {}

    def decode_all(
        self,
        topics: Sequence[str],
        payloads: Sequence[bytes],
        received: float,
        clock: float | None = None,
        retained: Collection[int] = (),
    ) -> Decoded:
        """Return the content of messages that arrived at ``received`` (s since 1970 UTC).

        Their times may not be ahead of ``clock``, which defaults to ``received``. ``retained`` are
        the places of messages that the broker had kept: they did not come about when they arrived.
        """
        batch = self._gather(topics, payloads, received, clock, retained)
        batch.lay_out(self._which)
        observed = batch.observed()
        return Decoded(observed, batch.places + batch.sources, batch.refused, batch.samples)

    def decode(
        self, topic: str, payload: bytes, received: float, *, is_retained: bool = False
    ) -> list[Found]:
        """Return the content of one message, its records in order, then refusals in order."""
        batch = self._gather([topic], [payload], received, None, (0,) * is_retained)
        return [*batch.observed(), *(refused for _, refused in batch.refused)]

    def _gather(
        self,
        topics: Sequence[str],
        payloads: Sequence[bytes],
        received: float,
        clock: float | None,
        retained: Collection[int],
    ) -> Gathered:
        self._make_room()
        self._revise_learned()
        batch, known, bodies = Gathered(self._names), topics_of(topics), payloads_of(payloads)
        clock = received if clock is None else clock
        for at in self._accelerate(batch, known, bodies, clock):
            arrived, topic = NAN if at in retained else received, known[at]
            try:
                records = self._decode(topic, bodies[at], arrived, clock=clock)
            except Rejected as error:
                batch.refused.append((at, error.bare()))
                continue
            if self._readers:
                batch.samples += [(at, one) for each in records for one in each.samples]
            for each in flat(records):
                if isinstance(each, Rejected):
                    batch.refused.append((at, each))
                else:
                    batch.add(at, each)
                    if isinstance(each, Reading):
                        self._heard.add((each.sensor, each.quantity, topic))
        return batch

    def trace(
        self, topic: str, payload: bytes, received: float, *, is_retained: bool = False
    ) -> tuple[list[Seen], Rejected | None]:
        """Return the records of one message with their content, and why all of it is refused.

        For a person to look at: the decoder reads, no accelerator does.
        """
        records: list[Seen] = []
        try:
            self._decode(topic, payload, NAN if is_retained else received, records, received)
        except Rejected as error:
            return records, error.bare()
        flat(records)
        return records, None

    @property
    def units(self) -> Units | None:
        """The units in which quantities are kept; None if each is kept as stated."""
        return self._units

    def filter_of(self, topic: str) -> str:
        """Return the topic filter of the source that reads ``topic``, which was decoded before."""
        number = self._number_of(topic)
        return "" if number == NONE else self._filters[self._known[number].route.template]

    def route_of(self, topic: str) -> Route | None:
        """Return the source that reads ``topic``, None if none does."""
        number = self._number_of(topic)
        return None if number == NONE else self._known[number].route

    def needs_packet(self, topic: str) -> bool:
        """Return whether only the packet distinguishes a new message of ``topic`` from an old."""
        for template, route in self._routes:
            if template.match(topic) is not None:
                return _needs_packet(route)
        return False

    def sensor_of(self, topic: str) -> str:
        """Return the sensor whose readings ``topic`` carries, "" if it does not name one."""
        for template, route in self._routes:
            fields = template.match(topic)
            if fields is not None:
                sensor = fields.get("sensor", "") if route.kind == "reading" else ""
                return sensor if valid_name(sensor) else ""
        return ""

    def shared(self) -> dict[Name, list[str]]:
        """Return the series of readings that several of the last topics carried, with these.

        The decoder of Sparkplug has its own use for topics.
        """
        heard = {
            (*self._known[number].stream.name, topic)
            for topic, number in self._numbers.items()
            if number < len(self._ways) - 1 and self._ways[number, 2]
        }
        topics: dict[Name, list[str]] = {}
        for sensor, quantity, topic in sorted(heard | self._heard):
            route = self.route_of(topic)
            if route and route.kind == "reading" and not DECODERS[route.decoder].has_births:
                topics.setdefault((sensor, quantity), []).append(topic)
        return {name: several for name, several in topics.items() if len(several) > 1}

    # -- a decoder reads one message --------------------------------------------------------

    def _decode(
        self,
        topic: str,
        payload: bytes,
        received: float,
        records: list[Seen] | None = None,
        clock: float | None = None,
    ) -> list[Seen]:
        """Return the records of a message, also in ``records``; raises Rejected for all of it."""
        if len(payload) > self._payload_bytes_max:
            # the session cuts a payload one byte beyond the limit, so its size is not known here
            raise Rejected("oversize", f"has more than {self._payload_bytes_max} bytes")
        number = self._number_of(topic)
        if number == NONE:
            self._find(topic)  # says why
        if not payload:
            raise Rejected("no_reading", "the payload is empty, as that which clears a topic is")
        known = self._known[number]
        call = Call(payload, known.fields, known.route, received, clock)
        records = [] if records is None else records
        try:
            for each in DECODERS[known.route.decoder].records(call):
                records.append(self._revised(known.route, each))
        except Rejected:
            raise
        except RecursionError as error:
            raise Rejected("bad_payload", "the payload is nested too deeply") from error
        except Exception as error:  # a decoder's fault must cost one message, never the daemon
            raise Rejected("unexpected", f"{type(error).__name__}: {error}") from error
        return records

    def _revised(self, route: Route, each: Seen) -> Seen:
        """Return a record with what readers find, without readings under maintenance."""
        if self._maintenance is not None:
            each.found[:] = self._maintenance.without(each.found)
        for reader in self._readers:
            each = reader.with_samples(route, each)
        return each

    # -- accelerators read many -------------------------------------------------------------

    def _accelerate(
        self, gathered: Gathered, topics: Topics, payloads: Payloads, now: float
    ) -> list[int]:
        """Add what accelerators read to ``gathered``; return the places of all other messages."""
        numbers = self._lookup.numbers(topics.names, topics.which)
        if len(self._ways) != len(self._known) + 1:
            more = [(each.way, each.which, 0) for each in self._known[len(self._ways) - 1 :]]
            self._ways = np.concatenate((self._ways[:-1], more, _UNKNOWN))
        table = self._ways[np.maximum(numbers, -1)]
        read_by = np.where(payloads.sizes() <= self._payload_bytes_max, table[:, 0], DECODED)
        left = np.flatnonzero(read_by == DECODED).tolist()
        if len(left) == numbers.size:
            return left
        for way in range(_NATIVE, _RECORD_REFERENCES + 1):
            places = np.flatnonzero(read_by == way)
            if places.size:
                some = numbers[places]
                batch = MessageBatch(
                    partial(self._streams, some),
                    table[places, 1],
                    payloads.part(places),
                    places,
                    now,
                    way in (_NATIVE_REFERENCES, _RECORD_REFERENCES),
                )
                if way in (_NATIVE, _NATIVE_REFERENCES):
                    back = batch_native.read_native(batch, gathered)
                else:
                    readers = [cast("Arrays", self._known[each].arrays) for each in some.tolist()]
                    back = batch_records.read_records(batch, gathered, readers)
                left += back
                self._ways[numbers[np.setdiff1d(places, back) if back else places], 2] = 1
        return sorted(left)

    def _streams(self, numbers: Int) -> list[TopicSeries]:
        return [self._known[number].stream for number in numbers.tolist()]

    # -- topics -----------------------------------------------------------------------------

    def _make_room(self) -> None:
        """Drop topics and names if too many; never within a batch, which refers to them."""
        is_full = max(len(self._known), len(self._names)) >= _CACHED_TOPICS_MAX
        if is_full or self._characters >= _CACHED_CHARACTERS_MAX:
            self._characters = 0
            self._numbers, self._known, self._ways = {}, [], _UNKNOWN
            self._names, self._places, self._without_unit = [], {}, {}
            self._lookup.clear()
        if is_full or len(self._heard) >= _CACHED_TOPICS_MAX:
            self._heard.clear()

    def _revise_learned(self) -> None:
        """Accelerate topics whose unit became known; never within a batch: it refers to them.

        All other topics stay as they are: a fleet that states its units learns one with every new
        series.
        """
        if self._units is None or self._units.changed == self._units_changed:
            return
        keys = self._units.learned_since(self._units_changed)
        self._units_changed = self._units.changed
        for key in keys:
            for number in self._without_unit.pop(key, ()):
                known = self._known[number]
                self._known[number] = known = self._with_unit(known.route, known.fields)
                if number < len(self._ways) - 1:
                    self._ways[number, :2] = known.way, known.which

    def _number_of(self, topic: str) -> int:
        """Return the number of a topic among the known ones, NONE if no source reads it."""
        number = self._numbers.get(topic)
        if number is None:
            try:
                route, fields = self._find(topic)
            except Rejected:
                return NONE
            number = self._numbers[topic] = len(self._known)
            self._characters += len(topic)
            known = self._with_unit(route, fields)
            self._known.append(known)
            if self._units is not None and not known.stream.unit:
                key = self._units.key(*known.stream.name)
                self._without_unit.setdefault(key, []).append(number)
        return number

    def _with_unit(self, route: Route, fields: dict[str, str]) -> _Known:
        """Return what is known of a topic, with the unit that its series has by now."""
        name = fields.get("sensor" if route.kind == "reading" else "subject", "")
        key = (name, fields["quantity"])
        stream = TopicSeries(key, self._unit_of(route, *key))
        way = self._way(route, stream)
        place = self._which(stream.name) if way else 0
        return _Known(route, fields, stream, way, place, self._arrays[id(route)])

    def _way(self, route: Route, stream: TopicSeries) -> int:
        """Return how the messages of a topic are read."""
        is_reference = route.kind == "reference"
        if not (is_reference or route.kind == "reading") or self._needs_records(route):
            return DECODED
        declared = route.declared_unit()
        if declared and self._units is not None and stream.unit != declared:
            return DECODED  # its values are converted, or its unit is the first of its quantity
        if route.decoder == "native":
            return _NATIVE_REFERENCES if is_reference else _NATIVE
        if self._arrays[id(route)] is not None:
            return _RECORD_REFERENCES if is_reference else _RECORDS
        return DECODED

    def _needs_records(self, route: Route) -> bool:
        """Return whether a source's records have more than an accelerator reads."""
        if self._maintenance is not None or route.covariate:
            return True
        if any(reader.of_readings for reader in self._readers):
            return True
        # a record without u has that of its certificate
        return route.mapped is not None and not math.isnan(route.mapped.default_u)

    def _unit_of(self, route: Route, name: str, quantity: str) -> str:
        settled = "" if self._units is None else self._units.unit_of(name, quantity)
        return settled or (route.unit if self._units is None else "")

    def _find(self, topic: str) -> tuple[Route, dict[str, str]]:
        """Return the source of a topic, and its fields; raises Rejected."""
        for template, route in self._routes:
            fields = template.match(topic)
            if fields is not None:
                check_names(fields)
                fields.setdefault("quantity", "value")
                fields.setdefault("subject", fields.get("sensor", ""))
                return route, fields
        raise Rejected("unknown_topic", f"no source in the settings reads {topic[:200]!r}")

    def _which(self, name: Name) -> int:
        """Return the place of a name; places only grow, since batches refer to them."""
        place = self._places.setdefault(name, len(self._names))
        if place == len(self._names):
            self._names.append(name)
        return place


def _needs_packet(route: Route) -> bool:
    """Return whether only the packet distinguishes a repeated message from a new one.

    This is so where a message may have only its arrival time, or where other messages define its
    meaning; all other messages have an identity of their own.
    """
    decoder = DECODERS[route.decoder]
    is_arrival = route.mapped is not None and route.mapped.spec.time == ARRIVAL
    return decoder.takes_arrival or decoder.has_births or is_arrival


def _complete(route: Route) -> Route:
    """Return a source with its mapping, also where the decoder brings its own."""
    mapping = DECODERS[route.decoder].mapping
    if mapping is None or route.mapped is not None:
        return route
    return route._replace(mapped=mapping(route.kind, route.unit, route.template))


def _arrays(route: Route) -> Arrays | None:
    """Return the reader of a source's records as columns, None if it needs more."""
    if route.decoder != "json" or route.mapped is None:
        return None
    return arrays(route.mapped.spec, route.mapped.unit)
