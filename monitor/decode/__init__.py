"""From topic and payload to observations: routing, one file a format, one dict of formats.

To add a format: a file with a function ``decode(payload, fields, route, received)`` that returns
an observation or raises Rejected, and one line in ``DECODERS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from monitor.core.model import Observation
from monitor.decode import native
from monitor.decode.checks import REASONS, Rejected, check_name
from monitor.decode.route import Route
from monitor.topics import Template

Decoder = Callable[[bytes, dict[str, str], Route, float], Observation]

DECODERS: Final[Mapping[str, Decoder]] = {
    "native": native.decode,
}

_CACHED_TOPICS_MAX: Final = 65_536

__all__ = ["DECODERS", "REASONS", "Rejected", "Route", "Router"]


class Router:
    """Knows for each topic its source, its fields and its decoder; remembers the topics it met."""

    def __init__(self, routes: Sequence[Route], payload_bytes_max: int) -> None:
        self._routes: Final = [(Template.parse(route.template), route) for route in routes]
        self._payload_bytes_max: Final = payload_bytes_max
        self._known: dict[str, tuple[Decoder, dict[str, str], Route]] = {}

    def decode(self, topic: str, payload: bytes, received: float) -> Observation:
        """Return what one message says; raises Rejected with the reason why it is not used."""
        if len(payload) > self._payload_bytes_max:
            raise Rejected(
                "oversize", f"{len(payload)} bytes; at most {self._payload_bytes_max} are read"
            )
        known = self._known.get(topic)
        if known is None:
            known = self._find(topic)
        decoder, fields, route = known
        try:
            return decoder(payload, fields, route, received)
        except Rejected:
            raise
        except Exception as error:  # a decoder's fault must cost one message, never the daemon
            raise Rejected("unexpected", f"{type(error).__name__}: {error}") from error

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
                found = self._known[topic] = (DECODERS[route.decoder], fields, route)
                return found
        raise Rejected("unknown_topic", f"no source of the settings reads {topic[:200]!r}")
