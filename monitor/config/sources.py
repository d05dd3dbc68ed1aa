"""The sections ``sources``, ``maintenance``, ``areas`` and ``places``: what comes from where.

Whether the paths, templates, units and formulas of a mapping can be used is not checked here but by
:class:`monitor.decode.mapping.Mapped`, which uses them. Areas and places say which other sensors a
reference concerns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import AfterValidator, Field

from monitor.config.kinds import Derived, Globs, Name, Section, Topic, setting
from monitor.core.setting import Contradiction, Glob
from monitor.decode.mapping import Mapped
from monitor.decode.records import names_in
from monitor.decode.router import DECODERS
from monitor.decode.spec import MapError, MapSpec, Unit
from monitor.mqtt.topic_templates import Template

if TYPE_CHECKING:
    Format = str
else:  # the names of the decoders, so that a new one can be set
    Format = Literal[tuple(DECODERS)]

# -- sources and maintenance ----------------------------------------------------------------------


def _instant(text: str) -> str:
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError("is not an ISO 8601 time, such as 2026-03-01T06:00Z") from error
    if time.tzinfo is None:
        raise ValueError("has no zone; add Z or an offset such as +13:00")
    return text


Instant = Annotated[str, AfterValidator(_instant)]


class Maintenance(Section):
    """Maintenance of sensors, during which their readings are rejected."""

    sensor: Glob = Field(description="Pattern of the sensors.")
    start: Instant = Field(description="Start, in ISO 8601 with a time zone.")
    end: Instant | None = setting(None, "End; null if it is not known yet.")

    def contradictions(self) -> Iterator[Contradiction]:
        """Check that the maintenance ends after its start."""
        if self.end and datetime.fromisoformat(self.end) <= datetime.fromisoformat(self.start):
            yield Contradiction(("end",), f"is not after start, {self.start}")


class Source(Section):
    """Topics to subscribe to, and the kind and format of their messages."""

    topic: Topic = Field(
        description="Topic template; {sensor}, {quantity}, {subject}, any other {name} and + match "
        "one level each, # all that follow."
    )
    kind: Literal["reading", "reference", "event", "collocation"] = Field(
        description="What the messages are; an event begins a new epoch of its sensor, a "
        "collocation places it beside the references of a subject."
    )
    decoder: Format = setting(
        "native",
        "Format of the payload. "
        + "; ".join(f"{name}: {decoder.help}" for name, decoder in DECODERS.items())
        + ".",
    )
    qos: int = setting(1, "QoS of the subscription; with 0 messages may be lost.", ge=0, le=2)
    unit: Unit = setting("", "Unit of the values; a payload that states another one is rejected.")
    map: Annotated[MapSpec, Derived()] | None = setting(
        None,
        "Where the fields are in a payload, each the path of its value; a number is a constant. "
        "Every decoder except native needs it (docs/formats.md).",
    )

    @property
    def specification(self) -> MapSpec | None:
        """The mapping in the form that the decoder takes: some formats have only texts."""
        if self.map is None or not DECODERS[self.decoder].number_texts:
            return self.map
        return self.map._replace(number_texts=True)

    def contradictions(self) -> Iterator[Contradiction]:
        """Check that the topic or the mapping names the sensor or subject of the messages."""
        if self.specification is not None:
            yield from _of_mapping(self, self.specification)
            return
        if DECODERS[self.decoder].mapping is None:
            yield Contradiction(("decoder",), f"{self.decoder} needs a mapping; give map too")
            return
        names = Template.parse(self.topic).names
        if self.kind != "reference" and "sensor" not in names:
            yield Contradiction(
                ("topic",), f"the topic of a {self.kind} must name its {{sensor}} in one level"
            )
        if self.kind == "reference" and not {"sensor", "subject"} & set(names):
            yield Contradiction(
                ("topic",), "the topic of a reference must name its {subject} or {sensor}"
            )


class ByHand(Source):
    """What `monitor reference` and `monitor event` publish, read without a line in the settings."""


_BY_HAND: Final = (
    ByHand(topic="monitor/{subject}/{quantity}/reference", kind="reference"),
    ByHand(topic="monitor/{sensor}/event", kind="event"),
)


def with_by_hand(sources: tuple[Source, ...]) -> tuple[Source, ...]:
    """Return sources and, of each kind that people publish, one that reads it where none does."""
    native = {each.kind for each in sources if each.decoder == "native"}
    filters = {Template.parse(each.topic).filter for each in sources}
    lacking = (
        each
        for each in _BY_HAND
        if each.kind not in native and Template.parse(each.topic).filter not in filters
    )
    return (*sources, *lacking)


def named_sources(sources: Iterable[Source], kind: str) -> list[Source]:
    """Return the sources of a kind that the settings name; if they name none, that by hand."""
    of_kind = [each for each in sources if each.kind == kind]
    return [each for each in of_kind if not isinstance(each, ByHand)] or of_kind


def place_of(source: Source, at: int) -> str:
    """Return where the settings name a source, which is number ``at``."""
    return "by_hand" if isinstance(source, ByHand) else f"sources[{at}]"


def nameless_fields(source: Source) -> list[str]:
    """Return the fields of a topic that are part of no name, though its other fields are.

    Topics that differ in them alone become one series. The topics of Sparkplug are left out: their
    decoder has its own use for the fields.
    """
    names, mapped = Template.parse(source.topic).names, source.specification
    if DECODERS[source.decoder].has_births:
        return []
    composed = ["{sensor}", "{subject}", "{quantity}"]
    if mapped is not None:
        who = mapped.subject if source.kind == "reference" else mapped.sensor
        composed = [who, *(each.quantity or "{quantity}" for each in mapped.series)]
    used = {name for each in composed for name in names_in(each)}
    return [name for name in names if name not in used] if used & set(names) else []


def _of_mapping(source: Source, given: MapSpec) -> Iterator[Contradiction]:
    names, decoder = Template.parse(source.topic).names, DECODERS[source.decoder]
    if decoder.mapping is not None:
        reason = f"conflicts with the decoder {source.decoder}; write decoder: json"
        yield Contradiction(("map",), reason)
        return
    yield from decoder.contradictions(given, names)
    try:
        Mapped(given, source.kind, names, source.unit)
    except MapError as error:
        yield Contradiction(("map", *error.place), str(error))


# -- areas and places -----------------------------------------------------------------------------

Latitude = Annotated[float, Field(ge=-90, le=90)]
Longitude = Annotated[float, Field(ge=-180, le=360)]
Kilometres = Annotated[float, Field(ge=0, le=20_040)]


class Area(Section):
    """Sensors that a subject's references apply to: those that match every key given."""

    subject: Name = Field(description="Subject of the references, such as a station.")
    sensors: Globs | None = setting(None, "Patterns of the sensors; null for any.")
    site: Name | None = setting(None, "Site of the sensors (places); null for any.")
    radius_km: Kilometres | None = setting(
        None, "Largest great-circle distance of the sensors (places); null for any."
    )
    latitude: Latitude | None = setting(None, "Latitude of the reference, degrees north.")
    longitude: Longitude | None = setting(None, "Longitude of the reference, degrees east.")
    distance_km: Kilometres = setting(
        0.0, "Assumed distance of sensors without a known place; see pairing.uncertainty.per_km."
    )

    def contradictions(self) -> Iterator[Contradiction]:
        """Check that the area selects sensors, and that a radius has a centre."""
        if self.sensors is None and self.site is None and self.radius_km is None:
            remedy = 'give sensors (["*"] for all), site or radius_km'
            yield Contradiction((), f"would select every sensor; {remedy}")
        here = (self.latitude, self.longitude)
        if None in here and (self.radius_km is not None or here != (None, None)):
            yield Contradiction((), "needs both latitude and longitude")


class Place(Section):
    """The position and the site of a sensor."""

    sensor: Name = Field(description="Name of the sensor.")
    latitude: Latitude | None = setting(None, "Degrees north; null if unknown.")
    longitude: Longitude | None = setting(None, "Degrees east; null if unknown.")
    site: Name | None = setting(None, "Name of the site it belongs to.")

    def contradictions(self) -> Iterator[Contradiction]:
        """Check that the place has both coordinates or none."""
        if (self.latitude is None) != (self.longitude is None):
            yield Contradiction((), "needs both latitude and longitude")
