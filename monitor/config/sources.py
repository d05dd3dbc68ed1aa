"""The sections ``sources`` and ``maintenance``: topics to subscribe to, and what they carry.

Whether the paths, templates, units and formulas of a mapping can be used is not checked here but by
:class:`monitor.decode.mapping.Mapped`, which will use them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from monitor.config.derived import Derived
from monitor.config.kinds import Section, Topic, setting
from monitor.config.mistakes import nearest_text
from monitor.core.setting import Contradiction, Glob
from monitor.decode import DECODERS
from monitor.decode.formats import sparkplug
from monitor.decode.mapping import Mapped
from monitor.decode.spec import MapError, MapSpec, Unit
from monitor.mqtt.topic_templates import Template


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


class Source(Section):
    """Topics to subscribe to, and what their messages are."""

    topic: Topic = Field(
        description="Topic template; {sensor}, {quantity}, {subject} and any other {name} match "
        "one level each, + matches any one level, # all that follow."
    )
    kind: Literal["reading", "reference", "event", "collocation"] = Field(
        description="What the messages are: readings of sensors, references, events that begin "
        "a new epoch, or collocations of a sensor with the references of a subject."
    )
    decoder: Annotated[str, Field(min_length=1, max_length=64)] = setting(
        "native", "Format of the payload."
    )
    qos: int = setting(1, "QoS of the subscription; with 0 messages may be lost.", ge=0, le=2)
    unit: Unit = setting("", "Unit of the values; a payload that states another one is rejected.")
    map: Annotated[MapSpec, Derived()] | None = setting(
        None,
        "Where the fields are in a payload; required by every decoder but native "
        "(docs/formats.md).",
    )

    @property
    def specification(self) -> MapSpec | None:
        """The mapping as the decoder takes it: every cell of a CSV line is a text."""
        if self.map is None or self.decoder != "csv":
            return self.map
        return self.map._replace(number_texts=True)

    @field_validator("decoder")
    @classmethod
    def _known(cls, decoder: str, context: ValidationInfo) -> str:
        known = (context.context or {}).get("decoders")
        if known is not None and decoder not in known:
            raise ValueError(f"there is no such decoder; {nearest_text(decoder, sorted(known))}")
        return decoder

    def contradictions(self) -> Iterator[Contradiction]:
        """A topic names the sensor or subject of its messages unless the mapping does."""
        if self.specification is not None:
            yield from _of_mapping(self, self.specification)
            return
        if self.decoder in DECODERS and self.decoder != "native":
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


def _of_mapping(source: Source, given: MapSpec) -> Iterator[Contradiction]:
    names = Template.parse(source.topic).names
    if source.decoder == "native":
        yield Contradiction(("map",), "conflicts with the decoder native; write decoder: json")
        return
    if source.decoder == "csv" and not given.columns:
        yield Contradiction(("map", "columns"), "is missing; name the cells of a line")
    if source.decoder == "sparkplug" and not set(sparkplug.FIELDS) <= set(names):
        yield Contradiction(
            ("topic",), "must be like spBv1.0/{group}/{message}/{edge}/{sensor} for sparkplug"
        )
    try:
        Mapped(given, source.kind, names, source.unit)
    except MapError as error:
        yield Contradiction(("map", *error.place), str(error))
