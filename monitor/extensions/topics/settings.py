"""The section ``verdicts``: the verdict on every series at the broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import Field

from monitor.alerts.mqtt_sink import Prefix
from monitor.config.kinds import Section, setting
from monitor.config.settings import Settings, native_topic
from monitor.core.setting import Contradiction, Glob
from monitor.mqtt.topic_templates import Template


class TypedReference(Section):
    """A number field in Home Assistant for entering references for some series."""

    sensor: Glob = setting("*", "Pattern of the sensors.")
    quantity: Glob = setting("*", "Pattern of the quantities.")
    u: Annotated[float, Field(gt=0, le=1e15)] | None = setting(
        None, "Standard uncertainty of the typed values; null if it is negligible."
    )
    minimum: float = setting(-1e6, "Smallest number that can be typed.", ge=-1e15, le=1e15)
    maximum: float = setting(1e6, "Largest number that can be typed.", ge=-1e15, le=1e15)
    step: float = setting(0.001, "Smallest difference between two numbers.", ge=0.001, le=1e15)

    def contradictions(self) -> Iterator[Contradiction]:
        """Check that maximum is above minimum."""
        if self.minimum >= self.maximum:
            yield Contradiction(("maximum",), "is not above minimum")


class HomeAssistant(Section):
    """MQTT discovery: every sensor becomes a device in Home Assistant."""

    discovery_topic: Prefix = setting("homeassistant", "Home Assistant's discovery prefix.")
    references: Annotated[tuple[TypedReference, ...], Field(max_length=100, strict=False)] = (
        setting(
            (),
            "Series whose device has a number field for typing in a reference; of several that "
            "match, the first applies.",
        )
    )


class Verdicts(Section):
    """Current verdicts as retained MQTT messages, one per series."""

    prefix: Prefix | None = setting(
        None, "Topic prefix, such as monitor, different for each daemon; null publishes nothing."
    )
    home_assistant: HomeAssistant | None = setting(
        None, "Every sensor as a device in Home Assistant; null for none, {} for the defaults."
    )

    def contradictions(self) -> Iterator[Contradiction]:
        """Check that home_assistant comes with a prefix: devices show the published verdicts."""
        if self.home_assistant is not None and self.prefix is None:
            yield Contradiction(
                ("home_assistant",), "shows what is published; give verdicts.prefix too"
            )


SECTION: Final = (
    Verdicts,
    setting(Verdicts(), "The verdict on every series at the broker above (docs/outlets.md)."),
)


def verdicts_of(settings: Settings) -> Verdicts:
    """Return the section of settings that have it."""
    section: Verdicts = settings.section("verdicts")
    return section


def contradictions(settings: Settings) -> Iterator[Contradiction]:
    """Check the section against the sources: nothing reads what it publishes, unless it should."""
    verdicts = verdicts_of(settings)
    if verdicts.prefix is None:
        return
    for at, source in enumerate(settings.sources):
        template = Template.parse(source.topic)
        if any(template.match(f"{verdicts.prefix}/{below}") for below in _PUBLISHED):
            flaw = "also matches the verdicts, which are published below it (verdicts.prefix)"
            yield Contradiction(("sources", at, "topic"), flaw, ("sources", "verdicts"))
    home = verdicts.home_assistant
    if home is None or not home.references or native_topic(settings.sources, "reference"):
        return
    flaw = (
        "are published as native references, and no source reads those; add {topic: "
        "'monitor/{subject}/{quantity}/reference', kind: reference} to sources"
    )
    path = ("verdicts", "home_assistant", "references")
    yield Contradiction(path, flaw, ("sources", "verdicts"))


# Topics below verdicts.prefix, with names that no template has as plain text.
_PUBLISHED: Final = ("verdict/\x1f/\x1f", "status")
