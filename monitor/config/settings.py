"""The settings as a whole: sections, groups of sensors, overrides, and what must agree in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Final, NamedTuple

from pydantic import Field

from monitor.config.areas import Area, Place
from monitor.config.broker_settings import Mqtt
from monitor.config.cluster_settings import Cluster
from monitor.config.derived import Derived
from monitor.config.kinds import (
    Contradiction,
    File,
    Section,
    setting,
)
from monitor.config.mistakes import KeyPath
from monitor.config.parts import Group, Override
from monitor.config.sections import (
    Alerts,
    Http,
    Journal,
    Log,
    Pairing,
    Publish,
    Scoring,
    Series,
    Windows,
)
from monitor.config.sink_settings import Sinks
from monitor.config.sources import Maintenance, Source
from monitor.config.threshold_settings import threshold_contradictions
from monitor.core.detector.thresholds import Threshold
from monitor.core.fleet.call_out import FleetRules
from monitor.mqtt.topic_templates import Template

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
    fleet: Annotated[FleetRules, Derived()] = setting(
        FleetRules(), "When all sensors together call for a person."
    )
    thresholds: Annotated[
        tuple[Annotated[Threshold, Derived(threshold_contradictions)], ...],
        Field(max_length=100, strict=False),
    ] = setting(
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
