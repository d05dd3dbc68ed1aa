"""The settings as a whole, and the checks within thresholds and between sections."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, ClassVar, Final, NamedTuple

from pydantic import AfterValidator, Field, ValidationInfo

from monitor.config.connections import Mqtt, Sinks
from monitor.config.kinds import Derived, Section, named_once, setting
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
from monitor.config.sources import Area, Maintenance, Place, Source, named_sources, with_by_hand
from monitor.core.detector.thresholds import Threshold
from monitor.core.fleet.call_out import FleetRules
from monitor.core.scores.statistics import threshold_statistics
from monitor.core.setting import Contradiction, File, KeyPath
from monitor.core.verdict import alert_meanings
from monitor.extensions import Extension, extension, hooks
from monitor.mqtt.topic_templates import Template

# -- thresholds -----------------------------------------------------------------------------------

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,31}")


def threshold_contradictions(limit: Threshold) -> Iterator[Contradiction]:
    """Check a threshold: a new name, a limit, and a comparison that its statistic allows."""
    if _NAME.fullmatch(limit.name) is None:
        reason = "is not the name of an alert; use 1 to 32 of a-z 0-9 _, a letter first"
        yield Contradiction(("name",), reason)
    if limit.name in alert_meanings():
        yield Contradiction(("name",), "there is already an alert of this name; choose another")
    if limit.above is None and limit.below is None:
        yield Contradiction((), "has no limit; add above or below")
    if limit.above is not None and limit.below is not None and limit.above <= limit.below:
        yield Contradiction(("below",), "is not less than above")
    statistic = threshold_statistics()[limit.statistic]
    if limit.against == "baseline" and statistic.live is None:
        yield Contradiction(("against",), "means nothing for a convention; write absolute")
    elif limit.against in ("baseline", "fleet_median") and not statistic.has_ratio:
        reason = "is a ratio, which means nothing for this statistic; write absolute"
        yield Contradiction(("against",), reason)
    if limit.against == "expected" and not (statistic.expected or statistic.expected_ratio):
        reason = "has no expectation; choose another statistic, or write against: absolute"
        yield Contradiction(("statistic",), reason)


# -- the whole ------------------------------------------------------------------------------------

_SOURCES: Final = (
    Source(topic="monitor/{sensor}/{quantity}/reading", kind="reading"),
    Source(topic="monitor/{subject}/{quantity}/reference", kind="reference"),
    Source(topic="monitor/{sensor}/event", kind="event"),
)


def _with_by_hand(sources: tuple[Source, ...], info: ValidationInfo) -> tuple[Source, ...]:
    return with_by_hand(sources) if info.data.get("by_hand") else sources


class Settings(Section):
    """All settings of the daemon; every key has a default.

    ``extension_names`` are those of the extensions whose keys the model has
    (:mod:`monitor.config.extended`).
    """

    extension_names: ClassVar[tuple[str, ...]] = ()

    mqtt: Mqtt = setting(Mqtt(), "How to connect to the broker.")
    by_hand: bool = setting(
        default=True,
        description="Whether to read what `monitor reference` and `monitor event` publish, on "
        "their usual topics, where no native source reads references or events.",
    )
    sources: Annotated[
        tuple[Source, ...],
        Field(min_length=1, max_length=100, strict=False),
        AfterValidator(_with_by_hand),
    ] = setting(_SOURCES, "Topics to subscribe to, and what their messages are.")
    maintenance: Annotated[tuple[Maintenance, ...], Field(max_length=10_000, strict=False)] = (
        setting(
            (),
            "Periods such as {sensor: 'AT-*', start: 2026-03-01T06:00Z}, whose readings are "
            "rejected.",
        )
    )
    areas: Annotated[tuple[Area, ...], Field(max_length=10_000, strict=False)] = setting(
        (), "Sensors that a reference applies to, besides the sensor that has its subject's name."
    )
    places: Annotated[tuple[Place, ...], Field(max_length=100_000, strict=False)] = setting(
        (), "Where sensors are, for areas with a radius or a site."
    )
    places_file: File | None = setting(
        None, "CSV file of places, with the columns sensor, latitude, longitude, site."
    )
    pairing: Pairing = setting(Pairing(), "How references are paired with readings.")
    windows: Windows = setting(Windows(), "The window of pairs from which statistics are computed.")
    scoring: Scoring = setting(Scoring(), "How stated uncertainties are interpreted.")
    alerts: Alerts = setting(Alerts(), "When alerts are raised.")
    fleet: Annotated[FleetRules, Derived()] = setting(
        FleetRules(), "When the evidence of the whole fleet is strong enough to page a person."
    )
    thresholds: Annotated[
        tuple[Annotated[Threshold, Derived(threshold_contradictions)], ...],
        Field(max_length=100, strict=False),
    ] = setting(
        (),
        "Limits on published statistics, each with an alert of its own; "
        "docs/verdicts.md#settings-that-change-it says what they cost.",
    )
    sinks: Sinks = setting(Sinks(), "Where alerts are sent, besides Prometheus (docs/alerts.md).")
    series: Series = setting(
        Series(),
        "Limits on the number of series (one quantity of one sensor), and when one is stale.",
    )
    publish: Publish = setting(Publish(), "How often results are published.")
    journal: Journal = setting(Journal(), "The file that stores accepted messages and pairs.")
    http: Http = setting(Http(), "Where metrics and pages are served.")
    log: Log = setting(Log(), "The daemon's own log, on standard error.")
    groups: Annotated[tuple[Group, ...], Field(max_length=1000, strict=False)] = setting(
        (),
        "Sensors that belong together, with settings of their own; the first matching group "
        "applies.",
    )
    overrides: Annotated[tuple[Override, ...], Field(max_length=1000, strict=False)] = setting(
        (), "Other settings for some series, with the same sections as a group; later ones win."
    )

    @property
    def extensions(self) -> tuple[Extension, ...]:
        """The extensions that the settings ask for."""
        return tuple(map(extension, self.extension_names))

    @property
    def with_pages(self) -> tuple[Extension, ...]:
        """The extensions whose pages the settings ask for."""
        shown = (each for each in self.extensions if each.has_pages)
        return tuple(each for each in shown if each.part("has_pages")(self))

    def section(self, key: str) -> Any:  # noqa: ANN401 - of the extension that has the key
        """Return the value of a key of an extension, None if the settings do not have it."""
        return getattr(self, key, None)

    def contradictions(self) -> Iterator[Contradiction]:
        """Check that the sections agree with each other."""
        for contradictions in hooks(self.extensions, "contradictions"):
            yield from contradictions(self)
        yield from _source_contradictions(self)
        yield from named_once("groups", (each.name for each in self.groups))
        yield from named_once("thresholds", (each.name for each in self.thresholds))
        yield from _limit_contradictions(self)
        if self.areas and "subject" not in self.pairing.match_on:
            reason = (
                "need `subject` in pairing.match_on: without it every reference concerns every "
                "sensor"
            )
            yield Contradiction(("areas",), reason, ("areas", "pairing"))
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
            reason = f"has the same topics as sources[{first}]; give each topic one source"
            yield Contradiction(("sources", at, "topic"), reason, ("sources",))
    kinds = {source.kind for source in settings.sources}
    for kind in ("reading", "reference"):
        if kind not in kinds:
            reason = f"has no source of kind {kind}, without which nothing can be paired"
            yield Contradiction(("sources",), reason, ("sources",))


def native_topic(sources: Iterable[Source], kind: str) -> str:
    """Return the topic of the first native source of a kind that can carry any name."""
    for source in sources:
        names = set(Template.parse(source.topic).names)
        is_complete = not set(source.topic) & set("+#") and names in (
            {"subject", "quantity"},
            {"sensor", "quantity"},
        )
        if (source.kind, source.decoder) == (kind, "native") and is_complete:
            return source.topic
    return ""


class _Limit(NamedTuple):
    """A limit on a value that may be set for all series or for some."""

    section: str
    key: str
    holds: Callable[[Settings, Any], bool]
    what: str
    needs: str


def _has_spans(settings: Settings) -> bool:
    """Return whether a source of references may state a start and an end."""
    return any(
        source.map is None
        or bool(source.map.start and source.map.end)
        or source.map.duration_seconds > 0.0
        for source in named_sources(settings.sources, "reference")
    )


_LIMITS: Final = (
    _Limit(
        "pairing",
        "mode",
        lambda settings, mode: mode != "mean_over_reference_interval" or _has_spans(settings),
        "needs references with a start and an end, and no source of kind reference maps them: "
        "write start and end into its map (or duration_seconds), or use mode nearest",
        "sources",
    ),
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
        "key needs `key` in pairing.match_on",
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
