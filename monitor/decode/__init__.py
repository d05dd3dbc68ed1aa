"""From topic and payload to observations: routing, one file a format, one dict of formats.

To add a format: a file with a function ``decode(payload, fields, route, received)`` and one line
in ``DECODERS``. It returns observations, with a Rejected for each bad record among good ones, or
raises Rejected where the whole message is bad. A function that makes records for a mapping is
turned into a decoder by :func:`monitor.decode.reading.mapped`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import compress
from typing import Final, NamedTuple, cast

import numpy as np

from monitor.core.model import (
    Float,
    Int,
    Observation,
    Reading,
    Reference,
)
from monitor.core.pairing.observations import (
    NOTHING,
    Name,
    Observed,
    PlainReadings,
    columns_of,
    is_plain,
)
from monitor.decode import (
    csv_lines,
    lineprotocol,
    mapped_json,
    messagepack,
    native,
    senml,
    sparkplug,
)
from monitor.decode.arrays import Arrays
from monitor.decode.checks import (
    REASONS,
    TIME_MIN,
    Rejected,
    check_name,
    latest_time,
)
from monitor.decode.maintenance import Maintenance
from monitor.decode.plain import Columns, PlainMessages, Stream
from monitor.decode.reading import Decoder, Found
from monitor.decode.route import Route
from monitor.mqtt.payload_slices import payloads_of
from monitor.mqtt.topic_templates import Template, topics_of

DECODERS: Final[Mapping[str, Decoder]] = {
    "native": native.decode,
    "json": mapped_json.decode,
    "senml": senml.decode,
    "lineprotocol": lineprotocol.decode,
    "csv": csv_lines.decode,
    "msgpack": messagepack.decode,
    "sparkplug": sparkplug.decode,
}

_CACHED_TOPICS_MAX: Final = 65_536

__all__ = [
    "DECODERS",
    "REASONS",
    "Decoded",
    "Found",
    "Maintenance",
    "Rejected",
    "Route",
    "Router",
]


class Decoded(NamedTuple):
    """What a batch of messages said; ``sources`` says which message an observation is from."""

    observations: Observed
    sources: list[int]
    refused: list[tuple[int, Rejected]]


class _Way(NamedTuple):
    """What decodes most of a topic's messages, or says None, and what it needs to know."""

    decode: Callable[[bytes, Name, str, float], Reading | Reference | None]
    name: Name
    unit: str


class _Rows(NamedTuple):
    """Reads the messages of a topic whose records are plain readings; whose they are."""

    arrays: Arrays
    which: int


class _Gathered:
    """What messages said so far: plain readings in parts, all else one by one."""

    __slots__ = ("others", "packed", "parts", "places", "refused", "sources")

    def __init__(self) -> None:
        self.parts: list[tuple[Int, Float, Float, Float]] = []
        self.places: list[int] = []
        # By what reads them, and the unit of their times: place, whose they are, records.
        self.packed: dict[tuple[Arrays, str], list[tuple[int, int, bytes]]] = {}
        self.others: list[Observation] = []
        self.sources: list[int] = []
        self.refused: list[tuple[int, Rejected]] = []

    def decoded(self, names: Sequence[Name]) -> Decoded:
        """Return all of it."""
        plain = NOTHING
        if len(self.parts) == 1:
            plain = PlainReadings(names, *self.parts[0])
        elif self.parts:
            plain = PlainReadings(names, *map(np.concatenate, zip(*self.parts, strict=True)))
        return Decoded(Observed(plain, self.others), self.places + self.sources, self.refused)


def _arrays(decoder: Decoder, route: Route) -> Arrays | None:
    """Return what reads the records of a route as columns, None if it has more to say."""
    if decoder is not mapped_json.decode or route.mapped is None:
        return None
    return route.mapped.arrays


class Router:
    """Knows for each topic its source, its fields and its decoder; remembers the topics it met."""

    def __init__(
        self,
        routes: Sequence[Route],
        payload_bytes_max: int,
        maintenance: Maintenance | None = None,
    ) -> None:
        self._routes: Final = [(Template.parse(route.template), route) for route in routes]
        self._filters: Final = {each.text: each.filter for each, _ in self._routes}
        self._payload_bytes_max: Final = payload_bytes_max
        self._maintenance: Final = maintenance
        self._known: dict[str, tuple[Decoder, dict[str, str], Route]] = {}
        self._names: list[Name] = []
        self._places: dict[Name, int] = {}
        self._plain: Final = PlainMessages(payload_bytes_max)
        self._quick: dict[str, _Way | None] = {}
        self._rows: dict[str, _Rows] = {}

    def decode_all(
        self, topics: Sequence[str], payloads: Sequence[bytes], received: float
    ) -> Decoded:
        """Return what messages say, as :meth:`decode` would of each; most of them go faster."""
        self._make_room()
        found, known, payloads = _Gathered(), topics_of(topics), payloads_of(payloads)
        read = self._plain.read(known, payloads, received)
        if read.places:
            found.parts.append(read.readings)
            found.places = read.places
        if read.of_references:
            self._add_references(found, read.references, read.of_references)
        add, add_source = found.others.append, found.sources.append
        way_of, bytes_max = self._quick.get, self._payload_bytes_max
        left = read.left
        for at, topic, payload in zip(left, known.part(left), payloads.part(left), strict=True):
            way = way_of(topic)
            if way is not None and len(payload) <= bytes_max:
                decode, name, unit = way
                one = decode(payload, name, unit, received)
                if one is not None:
                    add(one)
                    add_source(at)
                    continue
            self._decode_into(found, at, topic, payload, received)
        self._unpack(found, known, payloads, received)
        self._lay_out(found)
        return found.decoded(self._names)

    def _add_references(self, found: _Gathered, read: Columns, places: list[int]) -> None:
        """Add references that were read as columns."""
        names = map(self._names.__getitem__, read.which.tolist())
        rows = zip(names, read.times.tolist(), read.values.tolist(), read.us.tolist(), strict=True)
        found.others += [Reference(*name, time, value, u) for name, time, value, u in rows]
        found.sources += places

    def _decode_into(
        self, found: _Gathered, at: int, topic: str, payload: bytes, received: float
    ) -> None:
        """Add what one message says that is no plain reading nor reference."""
        if len(payload) <= self._payload_bytes_max:
            if topic not in self._known:
                self._meet(topic)
            rows = self._rows.get(topic)
            packed = rows.arrays.packed(payload) if rows is not None else None
            if rows is not None and packed is not None:
                alike = found.packed.setdefault((rows.arrays, packed.unit), [])
                alike.append((at, rows.which, packed.body))
                return
        self._decode_with_care(found, at, topic, payload, received)

    def _unpack(
        self, found: _Gathered, topics: Sequence[str], payloads: Sequence[bytes], received: float
    ) -> None:
        """Add what is packed; a message with a time that is not usable is looked at with care."""
        for (arrays, unit), messages in found.packed.items():
            columns, counts = arrays.columns([body for _, _, body in messages], unit)
            is_good = (columns[0] >= TIME_MIN) & (columns[0] <= latest_time(received))
            kept = messages
            if not is_good.all():
                are_good = np.logical_and.reduceat(is_good, np.cumsum(counts) - counts)
                kept = list(compress(messages, are_good))
                for at in compress([at for at, _, _ in messages], ~are_good):
                    self._decode_with_care(found, at, topics[at], payloads[at], received)
                is_kept = np.repeat(are_good, counts)
                columns = (columns[0][is_kept], columns[1][is_kept], columns[2][is_kept])
                counts = counts[are_good]
            whose = np.array([which for _, which, _ in kept], dtype=np.int64)
            found.parts.append((np.repeat(whose, counts), *columns))
            for (at, _, _), count in zip(kept, counts.tolist(), strict=True):
                found.places += [at] * count

    def _lay_out(self, found: _Gathered) -> None:
        """Let the plain readings that were decoded one by one be columns too."""
        if Reading not in set(map(type, found.others)):
            return
        are_plain = [
            isinstance(each, Reading) and not each.key and is_plain(each) for each in found.others
        ]
        if not any(are_plain):
            return
        plain = cast("list[Reading]", list(compress(found.others, are_plain)))
        which = [self._which((each.sensor, each.quantity)) for each in plain]
        found.parts.append((np.array(which, dtype=np.int64), *columns_of(plain)))
        found.places += compress(found.sources, are_plain)
        are_left = [not each for each in are_plain]
        found.others = list(compress(found.others, are_left))
        found.sources = list(compress(found.sources, are_left))

    def _meet(self, topic: str) -> None:
        """Get to know a topic before its first message, if its records may be plain readings."""
        with suppress(Rejected):
            decoder, fields, route = self._find(topic)
            arrays = _arrays(decoder, route)
            is_read = route.kind == "reading" and self._maintenance is None
            if arrays is not None and is_read and topic in self._known:
                which = self._which((fields["sensor"], fields["quantity"]))
                self._rows[topic] = _Rows(arrays, which)

    def _decode_with_care(
        self, found: _Gathered, at: int, topic: str, payload: bytes, received: float
    ) -> None:
        try:
            said = self.decode(topic, payload, received)
        except Rejected as error:
            found.refused.append((at, error))
            return
        for each in said:
            if isinstance(each, Rejected):
                found.refused.append((at, each))
            else:
                found.others.append(each)
                found.sources.append(at)
        self._learn(topic)

    def _learn(self, topic: str) -> None:
        """Note the quick way of a topic after a good message; none if it had one that failed."""
        if topic in self._quick:
            self._quick[topic] = None  # its good messages are not plain
            self._plain.remove(topic)
        elif topic in self._known:
            decoder, fields, route = self._known[topic]
            way = self._quick[topic] = self._way(decoder, fields, route)
            if way is not None and way.decode in (native.quick_reading, native.quick_reference):
                is_reference = way.decode is native.quick_reference
                self._plain.add(topic, Stream(self._which(way.name), way.unit, is_reference))

    def _way(self, decoder: Decoder, fields: dict[str, str], route: Route) -> _Way | None:
        if self._maintenance is not None:
            return None
        if route.kind == "reading" and decoder is native.decode:
            name = (fields["sensor"], fields["quantity"])
            return _Way(native.quick_reading, name, route.unit)
        if route.kind == "reference":
            name = (fields["subject"], fields["quantity"])
            if decoder is native.decode:
                return _Way(native.quick_reference, name, route.unit)
            arrays = _arrays(decoder, route)
            return _Way(arrays.reference, name, route.unit) if arrays is not None else None
        return None

    def _which(self, name: Name) -> int:
        """Return the place of a name; they only grow, since batches refer to them."""
        place = self._places.setdefault(name, len(self._names))
        if place == len(self._names):
            self._names.append(name)
        return place

    def decode(self, topic: str, payload: bytes, received: float) -> Sequence[Found]:
        """Return what one message says, a Rejected for each bad record of it.

        Raises Rejected with the reason why the whole message is not used.
        """
        if len(payload) > self._payload_bytes_max:
            raise Rejected(
                "oversize", f"more than {self._payload_bytes_max} bytes (mqtt.max_packet_bytes)"
            )
        known = self._known.get(topic)
        if known is None:
            known = self._find(topic)
        decoder, fields, route = known
        try:
            found = decoder(payload, fields, route, received)
        except Rejected:
            raise
        except RecursionError as error:
            raise Rejected("bad_payload", "the payload is nested too deeply") from error
        except Exception as error:  # a decoder's fault must cost one message, never the daemon
            raise Rejected("unexpected", f"{type(error).__name__}: {error}") from error
        return found if self._maintenance is None else self._maintenance.without(found)

    def filter_of(self, topic: str) -> str:
        """Return the topic filter of the source that reads ``topic``; it was decoded before."""
        known = self._known.get(topic)
        return self._filters[known[2].template] if known is not None else ""

    def sensor_of(self, topic: str) -> str:
        """Return the sensor whose readings ``topic`` carries, "" if it does not name one."""
        for template, route in self._routes:
            fields = template.match(topic)
            if fields is not None:
                return fields.get("sensor", "") if route.kind == "reading" else ""
        return ""

    def _make_room(self) -> None:
        """Forget topics and names if there are too many; never amid a batch: it refers to them."""
        if max(len(self._known), len(self._names)) >= _CACHED_TOPICS_MAX:
            for known in (self._known, self._quick, self._rows):
                known.clear()
            self._plain.clear()
            self._names, self._places = [], {}

    def _find(self, topic: str) -> tuple[Decoder, dict[str, str], Route]:
        for template, route in self._routes:
            fields = template.match(topic)
            if fields is not None:
                for name in ("sensor", "subject", "quantity"):
                    if name in fields:
                        check_name(name, fields[name])
                fields.setdefault("quantity", "value")
                fields.setdefault("subject", fields.get("sensor", ""))
                found = (DECODERS[route.decoder], fields, route)
                if len(self._known) < 2 * _CACHED_TOPICS_MAX:
                    self._known[topic] = found
                return found
        raise Rejected("unknown_topic", f"no source of the settings reads {topic[:200]!r}")
