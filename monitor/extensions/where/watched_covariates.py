"""The section ``covariates``: the covariates that the daemon watches, and their sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import Field

from monitor.config.kinds import Name, Section, Topic, named_once, setting
from monitor.config.settings import Settings
from monitor.config.sources import place_of
from monitor.core.analysis.where import BUILT_IN
from monitor.core.setting import Contradiction
from monitor.decode.route import Route
from monitor.decode.spec import MapError, Path, Unit
from monitor.decode.supplement import OwnTopic, Supplement
from monitor.extensions.where.covariate_fields import CovariateReader, covariate_route
from monitor.extensions.where.covariate_samples import CovariateRule
from monitor.mqtt.topic_templates import Template, overlap

QOS: Final = 1
_MAX_AGE_SECONDS: Final = 3600.0


class WatchedCovariate(Section):
    """A covariate that errors may depend on: hour, level, or a number in messages."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")] = Field(
        description="Its name, of a-z 0-9 _, a letter first; hour (of the day, UTC) and level (of "
        "the value) need nothing else."
    )
    unit: Unit = setting("", "Its unit, for display.")
    field: Path = setting(
        "", "Path of the number, as in map; empty if the payload itself is the number."
    )
    categories: Annotated[tuple[Name, ...], Field(max_length=50, strict=False)] = setting(
        (),
        "The texts that may come, such as operators or lines, if it has no numbers. The journal "
        "keeps their places: add others at the end.",
    )
    topic: Topic | None = setting(
        None,
        "Topic of its own, such as site/{sensor}/temperature; null if the readings' messages have "
        "the number.",
    )
    time: Path = setting(
        "", "With topic, path of the number's time; empty for the time of arrival."
    )
    max_age_seconds: Annotated[float, Field(ge=0, le=604_800)] | None = setting(
        None, "How much older than its reading a number may be; null means 3600 with topic, else 0."
    )

    @property
    def rule(self) -> CovariateRule:
        """The covariate in terms of the core."""
        if self.name in BUILT_IN:
            return CovariateRule(self.name)
        if self.topic is None:
            age = self.max_age_seconds or 0.0
            return CovariateRule(self.name, self.unit, "series", age, self.categories)
        age = _MAX_AGE_SECONDS if self.max_age_seconds is None else self.max_age_seconds
        if "{sensor}" in self.topic:
            return CovariateRule(self.name, self.unit, "sensor", age)
        return CovariateRule(self.name, self.unit, "everyone", age)

    @property
    def route(self) -> Route | None:
        """The route for the messages of its own topic, None if it has none; raises MapError."""
        if self.topic is None:
            return None
        return covariate_route(self.name, self.topic, self.field, self.time)

    def contradictions(self) -> Iterator[Contradiction]:
        """Check that the number has exactly one source; the built-in ones come from the pairs."""
        if self.name in BUILT_IN:
            fields = type(self).model_fields
            for key in sorted(fields.keys() - {"name"}):
                if getattr(self, key) != fields[key].default:
                    reason = f"means nothing for {self.name}, which comes from the pairs; remove it"
                    yield Contradiction((key,), reason)
            return
        if self.topic is None:
            if not self.field:
                reason = "does not say where its number is; add field, or topic"
                yield Contradiction((), reason)
            if self.time:
                reason = "is for a topic of its own; the number has the time of its reading"
                yield Contradiction(("time",), reason)
        else:
            yield from _of_topic(Template.parse(self.topic))
        yield from self._of_categories()
        try:
            CovariateReader({} if self.topic is not None else {self.name: self.field or "@"})
            _ = self.route
        except MapError as error:
            key = "time" if "time" in error.place else "field"
            yield Contradiction((key,), str(error))

    def _of_categories(self) -> Iterator[Contradiction]:
        if self.categories and self.topic is not None:
            reason = "come with readings only; put their path into field, and remove topic"
            yield Contradiction(("categories",), reason)
        if len({*self.categories}) < len(self.categories):
            yield Contradiction(("categories",), "names a text twice; leave one out")


def _of_topic(template: Template) -> Iterator[Contradiction]:
    others = [name for name in template.names if name != "sensor"]
    if others:
        reason = f"has {{{others[0]}}}, which nothing reads; a covariate knows {{sensor}} only"
        yield Contradiction(("topic",), reason)
    if not template.names and set(template.filter) & set("+#"):
        reason = "matches several topics that apply to all sensors; name one, or add {sensor}"
        yield Contradiction(("topic",), reason)


SECTION: Final = (
    Annotated[tuple[WatchedCovariate, ...], Field(max_length=20, strict=False)],
    setting(
        (),
        "Quantities along which to look for the ranges in which a sensor is wrong, such as "
        "{name: hour}, {name: rh, unit: '%', field: rh} or {name: temperature, topic: "
        "'site/{sensor}/temperature'} (docs/beyond.md).",
    ),
)


def watched_of(settings: Settings) -> tuple[WatchedCovariate, ...]:
    """Return the section of settings that have it."""
    section: tuple[WatchedCovariate, ...] = settings.section("covariates")
    return section


def contradictions(settings: Settings) -> Iterator[Contradiction]:
    """Check that each covariate has its own name, and topics that nothing else reads."""
    covariates, sources = watched_of(settings), settings.sources
    yield from named_once("covariates", (each.name for each in covariates))
    templates = [
        (place_of(each, at), Template.parse(each.topic)) for at, each in enumerate(sources)
    ]
    for at, each in enumerate(covariates):
        if each.topic is None:
            continue
        template = Template.parse(each.topic)
        for place, other in templates:
            if overlap(template.filter, other.filter):
                reason = f"has topics of {place} too; a message is read by one of them only"
                yield Contradiction(("covariates", at, "topic"), reason, ("covariates", "sources"))
                break
        templates.append((f"covariates[{at}]", template))


def supplement(settings: Settings) -> Supplement:
    """Return the topics of covariates, and the reader that finds them in messages."""
    sent = [each for each in watched_of(settings) if each.name not in BUILT_IN]
    fields = {each.name: each.field for each in sent if each.topic is None}
    categories = {each.name: each.categories for each in sent if each.categories}
    topics = [
        OwnTopic(f"covariates[{at}]", each.unit, QOS, route)
        for at, each in enumerate(watched_of(settings))
        if (route := each.route) is not None
    ]
    return Supplement(topics, CovariateReader(fields, categories) if sent else None)
