"""From topic and payload to observations: routing, one file a format, one dict of formats.

To add a format: a file with a function ``decode(payload, fields, route, received)`` and one line
in ``DECODERS``. It returns observations, with a Rejected for each bad record among good ones, or
raises Rejected where the whole message is bad. A function that makes records for a mapping is
turned into a decoder by :func:`monitor.decode.reading.mapped`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from monitor.core.model import Observation, Reading, Reference
from monitor.decode import (
    csv_lines,
    lineprotocol,
    mapped_json,
    messagepack,
    native,
    senml,
    sparkplug,
)
from monitor.decode.checks import REASONS, Rejected, check_name, latest_time
from monitor.decode.maintenance import Maintenance
from monitor.decode.reading import Decoder, Found
from monitor.decode.route import Route
from monitor.topics import Template

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

    observations: list[Observation]
    sources: list[int]
    refused: list[tuple[int, Rejected]]


class _Plain(NamedTuple):
    """What decodes most of a topic's messages, whom they are about, and in what unit."""

    decode: Callable[[bytes, str, str, str, float], Reading | Reference | None]
    name: str
    quantity: str
    unit: str


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
        self._plain: dict[str, _Plain | None] = {}

    def decode_all(
        self, topics: Sequence[str], payloads: Sequence[bytes], received: float
    ) -> Decoded:
        """Return what messages say, as :meth:`decode` would of each; most of them go faster."""
        decoded = Decoded([], [], [])
        add, add_source = decoded.observations.append, decoded.sources.append
        plain_of = self._plain.get
        latest, bytes_max = latest_time(received), self._payload_bytes_max
        for at, (topic, payload) in enumerate(zip(topics, payloads, strict=True)):
            plain = plain_of(topic)
            if plain is not None and len(payload) <= bytes_max:
                decode, name, quantity, unit = plain
                found = decode(payload, name, quantity, unit, latest)
                if found is not None:
                    add(found)
                    add_source(at)
                    continue
            self._decode_into(decoded, at, topic, payload, received)
        return decoded

    def _decode_into(
        self, decoded: Decoded, at: int, topic: str, payload: bytes, received: float
    ) -> None:
        """Add what one message says; a topic whose good messages are not plain is known for it."""
        try:
            all_found = self.decode(topic, payload, received)
        except Rejected as error:
            decoded.refused.append((at, error))
            return
        for found in all_found:
            if isinstance(found, Rejected):
                decoded.refused.append((at, found))
            else:
                decoded.observations.append(found)
                decoded.sources.append(at)
        if self._plain.get(topic) is not None:
            self._plain[topic] = None
        elif topic not in self._plain and topic in self._known:
            self._plain[topic] = self._plain_way(*self._known[topic])

    def _plain_way(self, decoder: Decoder, fields: dict[str, str], route: Route) -> _Plain | None:
        if decoder is not native.decode or self._maintenance is not None:
            return None
        if route.kind == "reading":
            return _Plain(native.plain_reading, fields["sensor"], fields["quantity"], route.unit)
        if route.kind == "reference":
            subject, quantity = fields["subject"], fields["quantity"]
            return _Plain(native.plain_reference, subject, quantity, route.unit)
        return None

    def decode(self, topic: str, payload: bytes, received: float) -> Sequence[Found]:
        """Return what one message says, a Rejected for each bad record of it.

        Raises Rejected with the reason why the whole message is not used.
        """
        if len(payload) > self._payload_bytes_max:
            raise Rejected(
                "oversize", f"{len(payload)} bytes; at most {self._payload_bytes_max} are read"
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

    def _find(self, topic: str) -> tuple[Decoder, dict[str, str], Route]:
        for template, route in self._routes:
            fields = template.match(topic)
            if fields is not None:
                for name in ("sensor", "subject", "quantity"):
                    if name in fields:
                        check_name(name, fields[name])
                fields.setdefault("quantity", "value")
                fields.setdefault("subject", fields.get("sensor", ""))
                if len(self._known) >= _CACHED_TOPICS_MAX:
                    self._known.clear()
                    self._plain.clear()
                found = self._known[topic] = (DECODERS[route.decoder], fields, route)
                return found
        raise Rejected("unknown_topic", f"no source of the settings reads {topic[:200]!r}")
