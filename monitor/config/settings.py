"""The settings as a whole: sections, groups of sensors, overrides, and what must agree in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, ClassVar, Final, NamedTuple

from pydantic import Field, GetJsonSchemaHandler, ValidationInfo, field_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from monitor.config.areas import Area, Place
from monitor.config.cluster_settings import Cluster
from monitor.config.kinds import (
    Contradiction,
    File,
    Glob,
    Globs,
    Name,
    Section,
    refusal,
    setting,
)
from monitor.config.mistakes import KeyPath
from monitor.config.sections import (
    Alerts,
    Candidates,
    Density,
    Fleet,
    Http,
    Journal,
    Level,
    Log,
    Mqtt,
    Pairing,
    PairingMode,
    PairUncertainty,
    Patience,
    Profile,
    Publish,
    ReferenceStaleHours,
    RejectedShare,
    Scoring,
    Seconds,
    Series,
    StaleAfterSeconds,
    ToleranceSeconds,
    WindowDays,
    WindowPairs,
    Windows,
)
from monitor.config.sink_settings import Sinks
from monitor.config.sources import Maintenance, Source
from monitor.config.threshold_settings import Threshold
from monitor.mqtt.topic_templates import Template


class Part(Section):
    """A section of a group or an override: what is left out stays as it is above.

    Null is refused, but for the keys in ``nullable``, where it has a meaning of its own.
    """

    nullable: ClassVar[frozenset[str]] = frozenset()

    @field_validator("*", mode="before")
    @classmethod
    def _null_says_nothing(cls, value: object, field: ValidationInfo) -> object:
        if value is None and field.field_name not in cls.nullable:
            raise refusal("is empty; give it a value or leave the key out")
        return value

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return a schema that, like the validator, takes no null for a key left out."""
        schema = handler(core_schema)
        for key, field in handler.resolve_ref_schema(schema)["properties"].items():
            if "anyOf" in field and key not in cls.nullable:
                field.update(field.pop("anyOf")[0])
            if "default" in field and field["default"] is None:
                del field["default"]
        return schema


class PairingPart(Part):
    """Pairing, for some series."""

    nullable: ClassVar[frozenset[str]] = frozenset({"candidates", "tolerance_seconds"})

    mode: PairingMode | None = setting(None, "Instead of pairing.mode.")
    candidates: Candidates | None = setting(None, "Instead of pairing.candidates.")
    tolerance_seconds: ToleranceSeconds | None = setting(
        None, "Instead of pairing.tolerance_seconds."
    )
    lag_seconds: Seconds | None = setting(None, "Instead of pairing.lag_seconds.")
    reading_seconds: Annotated[float, Field(ge=0, le=31_622_400)] | None = setting(
        None, "Instead of pairing.reading_seconds."
    )
    completeness: Annotated[float, Field(gt=0, le=1)] | None = setting(
        None, "Instead of pairing.completeness."
    )
    correlation: Annotated[float, Field(ge=0, le=1)] | None = setting(
        None, "Instead of pairing.correlation."
    )
    uncertainty: PairUncertainty | None = setting(None, "Instead of pairing.uncertainty.")


class WindowsPart(Part):
    """Windows, for some series."""

    nullable: ClassVar[frozenset[str]] = frozenset({"days"})

    pairs: WindowPairs | None = setting(None, "Instead of windows.pairs.")
    days: WindowDays | None = setting(None, "Instead of windows.days; null for no limit in time.")


class ScoringPart(Part):
    """Scoring, for some series."""

    density: Density | None = setting(None, "Instead of scoring.density.")
    level: Level | None = setting(None, "Instead of scoring.level.")
    profile: Profile | None = setting(None, "Instead of scoring.profile.")


class AlertsPart(Part):
    """Alerts, for some series."""

    patience: Patience | None = setting(None, "Instead of alerts.patience.")
    reference_stale_hours: ReferenceStaleHours | None = setting(
        None, "Instead of alerts.reference_stale_hours."
    )
    rejected_share: RejectedShare | None = setting(None, "Instead of alerts.rejected_share.")


class SeriesPart(Part):
    """Staleness, for some series."""

    stale_after_seconds: StaleAfterSeconds | None = setting(
        None, "Instead of series.stale_after_seconds."
    )


class Parts(Part):
    """What groups and overrides may set."""

    pairing: PairingPart | None = setting(None, "Which reference belongs to which reading.")
    windows: WindowsPart | None = setting(None, "How far back statistics look.")
    scoring: ScoringPart | None = setting(None, "How a stated uncertainty is read.")
    alerts: AlertsPart | None = setting(None, "When to raise an alert.")
    series: SeriesPart | None = setting(None, "When a series is silent.")


class Group(Parts):
    """Sensors that belong together; a series is in the first group that fits it."""

    name: Name = Field(description="Name of the group; it is shown beside each of its series.")
    sensors: Globs = Field(description="Patterns of its sensors; * ? and [abc] as in a shell.")
    quantities: Globs = setting(("*",), "Patterns of its quantities.")


class Override(Parts):
    """Other settings for some series; of several that fit, the later ones win."""

    sensor: Glob = setting("*", "Pattern of the sensors.")
    quantity: Glob = setting("*", "Pattern of the quantities.")

    def contradictions(self) -> Iterator[Contradiction]:
        """An override overrides something."""
        if not self.model_fields_set & set(Parts.model_fields):
            yield Contradiction((), f"changes nothing; add {', '.join(Parts.model_fields)}")


_SOURCES: Final = (
    Source(topic="monitor/{sensor}/{quantity}/reading", kind="reading"),
    Source(topic="monitor/{subject}/{quantity}/reference", kind="reference"),
    Source(topic="monitor/{sensor}/event", kind="event"),
)


class Settings(Section):
    """All settings of the daemon; every key has a default."""

    mqtt: Mqtt = setting(Mqtt(), "The broker, and how to be its client.")
    sources: Annotated[tuple[Source, ...], Field(min_length=1, max_length=100, strict=False)] = (
        setting(
            _SOURCES,
            "Topics that are subscribed to, and what their messages are; without any, those of "
            "configs/default.yaml.",
        )
    )
    maintenance: Annotated[tuple[Maintenance, ...], Field(max_length=10_000, strict=False)] = (
        setting((), "Work on sensors; readings from those times are refused.")
    )
    areas: Annotated[tuple[Area, ...], Field(max_length=10_000, strict=False)] = setting(
        (), "Sensors that references concern besides the sensor of their subject's name."
    )
    places: Annotated[tuple[Place, ...], Field(max_length=100_000, strict=False)] = setting(
        (), "Where sensors stand, for areas with a radius or a site."
    )
    places_file: File | None = setting(
        None,
        "The same as a CSV file with the columns sensor, latitude, longitude, site; a relative "
        "path starts from the folder the daemon is started in.",
    )
    pairing: Pairing = setting(Pairing(), "Which reference belongs to which reading.")
    windows: Windows = setting(Windows(), "How far back statistics look.")
    scoring: Scoring = setting(Scoring(), "How a stated uncertainty is read.")
    alerts: Alerts = setting(Alerts(), "When to raise an alert.")
    fleet: Fleet = setting(Fleet(), "When all sensors together call for a person.")
    thresholds: Annotated[tuple[Threshold, ...], Field(max_length=100, strict=False)] = setting(
        (), "Limits on published statistics, each an alert; docs/detection.md says what they cost."
    )
    sinks: Sinks = setting(Sinks(), "Whom the daemon tells of alerts, besides Prometheus.")
    series: Series = setting(Series(), "How many series there may be, and when one is silent.")
    publish: Publish = setting(Publish(), "When results are published.")
    journal: Journal = setting(Journal(), "The file that keeps what was accepted.")
    http: Http = setting(Http(), "Where metrics and pages are served.")
    log: Log = setting(Log(), "What the daemon says of itself, on standard error.")
    cluster: Cluster = setting(
        Cluster(), "The same on a distributed engine: `monitor bridge`, `monitor cluster`."
    )
    groups: Annotated[tuple[Group, ...], Field(max_length=1000, strict=False)] = setting(
        (), "Sensors that belong together, with settings of their own; the first that fits counts."
    )
    overrides: Annotated[tuple[Override, ...], Field(max_length=1000, strict=False)] = setting(
        (), "Other settings for some series; the later ones win."
    )

    def contradictions(self) -> Iterator[Contradiction]:
        """What must agree between sections."""
        yield from _source_contradictions(self)
        yield from _named_once("groups", self.groups)
        yield from _named_once("thresholds", self.thresholds)
        yield from _limit_contradictions(self)
        if self.areas and "subject" not in self.pairing.match_on:
            what = (
                "need `subject` among pairing.match_on, for without it all references concern all"
            )
            yield Contradiction(("areas",), what, ("areas", "pairing"))
        if self.pairing.max_wait_hours > self.journal.retention_days * 24:
            yield Contradiction(
                ("journal", "retention_days"),
                "is shorter than pairing.max_wait_hours",
                ("journal", "pairing"),
            )


def _source_contradictions(settings: Settings) -> Iterator[Contradiction]:
    filters: dict[str, int] = {}
    for at, source in enumerate(settings.sources):
        topics = Template.parse(source.topic).filter
        first = filters.setdefault(topics, at)
        if first != at:
            what = f"reads the same topics as sources[{first}]; one message has one meaning"
            yield Contradiction(("sources", at, "topic"), what, ("sources",))
    kinds = {source.kind for source in settings.sources}
    for kind in ("reading", "reference"):
        if kind not in kinds:
            what = f"has no source of kind {kind}, so that nothing could ever be paired"
            yield Contradiction(("sources",), what, ("sources",))


def _named_once(section: str, listed: Sequence[Group | Threshold]) -> Iterator[Contradiction]:
    names: dict[str, int] = {}
    for at, each in enumerate(listed):
        first = names.setdefault(each.name, at)
        if first != at:
            what = f"is the name of {section}[{first}] too; give each its own"
            yield Contradiction((section, at, "name"), what, (section,))


class _Limit(NamedTuple):
    """What a value must keep to, be it set for all series or for some."""

    section: str
    key: str
    holds: Callable[[Settings, Any], bool]
    what: str
    needs: str


_LIMITS: Final = (
    _Limit(
        "series",
        "stale_after_seconds",
        lambda settings, seconds: seconds >= settings.publish.interval_seconds,
        "is shorter than publish.interval_seconds",
        "publish",
    ),
    _Limit(
        "windows",
        "days",
        lambda settings, days: days <= settings.journal.retention_days,
        "is longer than pairs are kept (journal.retention_days)",
        "journal",
    ),
    _Limit(
        "pairing",
        "tolerance_seconds",
        lambda settings, seconds: seconds <= settings.pairing.max_wait_hours * 3600,
        "is longer than either side waits for the other (pairing.max_wait_hours)",
        "pairing",
    ),
    _Limit(
        "pairing",
        "mode",
        lambda settings, mode: mode != "key" or "key" in settings.pairing.match_on,
        "key needs `key` among pairing.match_on",
        "pairing",
    ),
)


def _limit_contradictions(settings: Settings) -> Iterator[Contradiction]:
    parts: list[tuple[KeyPath, Section]] = [((), settings)]
    parts += [(("groups", at), group) for at, group in enumerate(settings.groups)]
    parts += [(("overrides", at), override) for at, override in enumerate(settings.overrides)]
    for path, part in parts:
        for limit in _LIMITS:
            value = getattr(getattr(part, limit.section), limit.key, None)
            if value is not None and not limit.holds(settings, value):
                place = (*path, limit.section, limit.key)
                yield Contradiction(place, limit.what, (str(place[0]), limit.needs))
