"""The section ``map`` of a source: where in a payload what stands.

Rules of this file: types and descriptions only; whether paths, templates, units and formulas can
be used is asked of :class:`monitor.decode.mapping.Mapped`, which is what will use them.

The sections of ``sources``: topics that are subscribed to, and what their messages are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainValidator, ValidationInfo, field_validator

from monitor.config.kinds import (
    Contradiction,
    Glob,
    Section,
    Topic,
    Unit,
    refusal,
    setting,
)
from monitor.config.mistakes import nearest_text
from monitor.decode import DECODERS, sparkplug
from monitor.decode.mapping import Mapped
from monitor.decode.specification import MapError, MapSpec, SeriesSpec
from monitor.mqtt.topic_templates import Template


def _path_or_number(value: object) -> object:
    if isinstance(value, str):
        if len(value) > 200:
            raise refusal("must have at most 200 characters")
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise refusal("must be a path or a finite number")


def _scalar(value: object) -> object:
    if isinstance(value, str | int | float) and not (
        isinstance(value, float) and not math.isfinite(value)
    ):
        return value
    raise refusal("must be a text, a finite number, true or false")


def _paths(value: object) -> object:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and 1 <= len(value) <= 4:
        parts = tuple(value)
        if all(isinstance(part, str) for part in parts):
            return parts
    raise refusal("must be a path, or a list of up to four paths whose texts are put together")


def _instant(text: str) -> str:
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise refusal("is not an ISO 8601 time, such as 2026-03-01T06:00Z") from error
    if time.tzinfo is None:
        raise refusal("has no zone; add Z or an offset such as +13:00")
    return text


Path = Annotated[str, Field(max_length=200)]
PathOrNumber = Annotated[Any, PlainValidator(_path_or_number, json_schema_input_type=float | Path)]
Scalar = Annotated[Any, PlainValidator(_scalar, json_schema_input_type=str | int | float | bool)]
Paths = Annotated[Any, PlainValidator(_paths, json_schema_input_type=Path | list[Path])]
Choices = Annotated[
    dict[Path, Annotated[tuple[Scalar, ...], Field(min_length=1, max_length=100, strict=False)]],
    Field(max_length=20),
]
Composition = Annotated[str, Field(max_length=200)]
Instant = Annotated[str, AfterValidator(_instant)]


class MappedSeries(Section):
    """One quantity of a record: its value and how its uncertainty is stated."""

    quantity: Composition = setting(
        "", "Name of the quantity, may hold fields such as {quantity}; empty for the topic's."
    )
    value: Path = setting(
        "", "Path of the value; may be left out beside samples, lower and upper, or quantiles."
    )
    unit: Unit = setting("", "Unit of the payload.")
    unit_path: Path = setting("", "Path of the unit, where the payload states it.")
    to_unit: Unit = setting("", "Unit of the series; empty for the source's, else the payload's.")
    u: PathOrNumber = setting("", "Standard uncertainty.")
    U: PathOrNumber = setting("", "Expanded uncertainty, with k or p; of neither k is 2.")
    percent: PathOrNumber = setting("", "Expanded uncertainty in percent of the value, as U.")
    k: PathOrNumber = setting("", "Coverage factor of U or percent.")
    p: PathOrNumber = setting("", "Coverage probability of the interval, or of U or percent.")
    lower: Path = setting("", "Lower limit of the coverage interval.")
    upper: Path = setting("", "Upper limit of the coverage interval.")
    plus_minus: PathOrNumber = setting("", "Half the width of the interval around the value.")
    quantiles: Annotated[dict[str, Path], Field(max_length=100)] = setting(
        {},
        "Paths of quantiles by their level in quotes; the outermost are the interval, '0.5' is "
        "the value if none is given.",
    )
    samples: Path = setting("", "Path of an ensemble: mean and standard deviation are taken.")
    assumed: Annotated[str, Field(max_length=200)] = setting(
        "",
        "Formula of u where the payload states none, of `value` in the unit of the series, with "
        "abs, sqrt, max and min; such readings are marked as assumed.",
    )


class Map(Section):
    """Where in a payload what stands: paths such as pm25.v or list[0].x; docs/formats.md."""

    series: Annotated[tuple[MappedSeries, ...], Field(max_length=200, strict=False)] = setting(
        (), "The quantities of a record."
    )
    each: Path = setting("", "Path of an array whose entries are the records; $ for the payload.")
    columnar: Path = setting("", "Path of a map of arrays whose rows are the records.")
    time: Paths = setting(
        "time",
        "Path of the time, or paths of texts to put together; arrival for the time of arrival.",
    )
    time_unit: Literal["auto", "s", "ms", "us", "ns"] = setting(
        "auto", "Unit of times that are numbers; auto tells by their size."
    )
    time_zone: Annotated[str, Field(max_length=64)] = setting(
        "", "Zone of times without one, such as Pacific/Auckland; without it they are refused."
    )
    time_layout: Annotated[str, Field(max_length=64)] = setting(
        "", "Layout of times that are not ISO 8601, in the words of strptime."
    )
    sensor: Composition = setting("{sensor}", "Name of the sensor, of the topic's fields or names.")
    subject: Composition = setting(
        "{subject}",
        "Whom a reference is about, or is collocated with; of the topic's fields or names.",
    )
    names: Annotated[dict[Path, Composition], Field(max_length=8)] = setting(
        {}, "Texts of the payload that are split into fields: path and {subject}.{quantity}."
    )
    key: Path = setting("", "Path of the key.")
    key_remove: Annotated[str, Field(max_length=32)] = setting(
        "", "Characters that are taken out of the key."
    )
    key_case: Literal["", "upper", "lower"] = setting("", "Case of the key.")
    sequence: Path = setting("", "Path of the sequence number.")
    identity: Path = setting("", "Path of the identity of a reference.")
    reference_id: Path = setting(
        "", "Path of the name of what measured it, where that is not the subject: a station, say."
    )
    revision: Path = setting("", "Path of its revision, a whole number.")
    status: Path = setting("", "Path of its status: prelim, final or void.")
    start: Path = setting(
        "", "Path of the start of what a reference is the mean of, or of a collocation."
    )
    end: Path = setting("", "Path of its end; also the reference's time, if it has no other.")
    distance_m: PathOrNumber = setting(
        "", "How far a sensor stands from the reference while collocated, in metres."
    )
    event: Path = setting("", "Path of the name of an event.")
    note: Path = setting("", "Path of the note of an event.")
    select: Choices = setting({}, "Values by path; other records are passed over.")
    where: Choices = setting({}, "Values by path; other records are refused (quality).")
    void_where: Choices = setting({}, "Values by path that take a reference back.")
    defaults: Annotated[dict[Path, Scalar], Field(max_length=100)] = setting(
        {}, "Values by path, for what is not in a record."
    )
    optional: bool = setting(
        default=False, description="Whether records without any of the values are passed over."
    )
    number_texts: bool = setting(
        default=False, description="Whether texts may stand for numbers; csv: always."
    )
    columns: Annotated[tuple[Path, ...], Field(max_length=1000, strict=False)] = setting(
        (), "Names of the cells of a CSV line; an empty one is not read."
    )
    delimiter: Literal[",", ";", "\t", "|"] = setting(",", "What stands between CSV cells.")

    def specification(self, decoder: str) -> MapSpec:
        """Return the mapping as the decoders want it."""
        given = {key: getattr(self, key) for key in MapSpec._fields}
        given["series"] = tuple(
            SeriesSpec(**{key: getattr(each, key) for key in SeriesSpec._fields})
            for each in self.series
        )
        given["number_texts"] = self.number_texts or decoder == "csv"
        return MapSpec(**given)


class Maintenance(Section):
    """Work on sensors: what they send meanwhile is not used."""

    sensor: Glob = Field(description="Pattern of the sensors.")
    start: Instant = Field(description="From when on, in ISO 8601 with a zone.")
    end: Instant | None = setting(None, "Until when; null for an end that is not known yet.")


class Source(Section):
    """Topics that are subscribed to, and what their messages are."""

    topic: Topic = Field(
        description="Template of the topics; {sensor}, {quantity}, {subject} and any other {name} "
        "take one level each, + any one level, # all that follows."
    )
    kind: Literal["reading", "reference", "event", "collocation"] = Field(
        description="What the messages are: readings of sensors, references, events that begin "
        "a new epoch, or collocations of a sensor with the references of a subject."
    )
    decoder: Annotated[str, Field(min_length=1, max_length=64)] = setting(
        "native", "Format of the payload."
    )
    qos: int = setting(
        1, "Quality of service of the subscription; 0 may lose messages.", ge=0, le=2
    )
    unit: Unit = setting("", "Unit of the values; a payload that states another one is rejected.")
    map: Map | None = setting(
        None, "Where in a payload what stands; needed by every decoder but native."
    )

    @field_validator("decoder")
    @classmethod
    def _known(cls, decoder: str, context: ValidationInfo) -> str:
        known = (context.context or {}).get("decoders")
        if known is not None and decoder not in known:
            raise refusal(f"there is no such decoder; {nearest_text(decoder, sorted(known))}")
        return decoder

    def contradictions(self) -> Iterator[Contradiction]:
        """A topic names whom its messages are about, unless the mapping does; it can be used."""
        if self.map is not None:
            yield from _of_mapping(self, self.map)
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


def _of_mapping(source: Source, given: Map) -> Iterator[Contradiction]:
    names = Template.parse(source.topic).names
    if source.decoder == "native":
        yield Contradiction(("map",), "stands beside the decoder native; write decoder: json")
        return
    if source.decoder == "csv" and not given.columns:
        yield Contradiction(("map", "columns"), "is missing; name the cells of a line")
    if source.decoder == "sparkplug" and not set(sparkplug.FIELDS) <= set(names):
        yield Contradiction(
            ("topic",), "must be like spBv1.0/{group}/{message}/{edge}/{sensor} for sparkplug"
        )
    try:
        Mapped(given.specification(source.decoder), source.kind, names, source.unit)
    except MapError as error:
        yield Contradiction(("map", *error.place), str(error))
