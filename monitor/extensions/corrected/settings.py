"""The section ``correct``: readings republished, corrected as their verdict advises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from monitor.config.kinds import Section, Topic, setting
from monitor.config.settings import Settings
from monitor.core.setting import Contradiction
from monitor.mqtt.topic_templates import Template


class Correct(Section):
    """Readings republished, corrected as their verdict advises, with an interval."""

    publish: Topic | None = setting(
        None,
        "Topic of corrected readings, such as monitor/corrected/{sensor}/{quantity}; null for "
        "none.",
    )
    level: float = setting(
        0.9, "Share of references that the interval of a corrected reading holds.", gt=0, lt=1
    )

    def contradictions(self) -> Iterator[Contradiction]:
        """Check that the topic contains sensor and quantity, so that each series has its own."""
        if self.publish is None:
            return
        template = Template.parse(self.publish)
        if {*template.names} != {"sensor", "quantity"} or set(self.publish) & set("+#"):
            yield Contradiction(
                ("publish",),
                "must have {sensor} and {quantity}, each once, and no other place to fill in, "
                "such as monitor/corrected/{sensor}/{quantity}",
            )


SECTION: Final = (
    Correct,
    setting(
        Correct(),
        "Readings republished, corrected as their verdict advises "
        "(docs/beyond.md#corrected-readings).",
    ),
)


def correct_of(settings: Settings) -> Correct:
    """Return the section of settings that have it."""
    section: Correct = settings.section("correct")
    return section


def contradictions(settings: Settings) -> Iterator[Contradiction]:
    """Check that no source matches the topic of corrected readings."""
    topic = correct_of(settings).publish
    if topic is None:
        return
    published = topic.replace("{sensor}", "\x1f").replace("{quantity}", "\x1f")
    for at, source in enumerate(settings.sources):
        if Template.parse(source.topic).match(published):
            flaw = "also matches the corrected readings (correct.publish), which would be corrected"
            yield Contradiction(
                ("sources", at, "topic"),
                f"{flaw} again; give them a topic of their own",
                ("sources", "correct"),
            )
