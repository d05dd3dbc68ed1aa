"""The section ``neighbours``: who neighbours whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import Field

from monitor.config.kinds import Name, Section, setting
from monitor.config.settings import Settings
from monitor.core.setting import Contradiction


class Neighbours(Section):
    """Sensors judged by their neighbours between references."""

    watch: bool = setting(
        default=False,
        description="Whether sensors of one quantity and group judge one another between "
        "references.",
    )
    distance_km: Annotated[float, Field(gt=0, le=1000)] | None = setting(
        None,
        "Neighbours are the sensors within this distance, by `places`, instead of those of the "
        "group; null for the group.",
    )

    channels: Annotated[
        tuple[Annotated[tuple[Name, ...], Field(strict=False)], ...],
        Field(max_length=100, strict=False),
    ] = setting(
        (),
        "Quantities that count as one, such as [[pm25_a, pm25_b]]: each channel of a sensor is a "
        "neighbour of the other.",
    )

    def contradictions(self) -> Iterator[Contradiction]:
        """Check that no quantity is in two lists."""
        names = [name for alike in self.channels for name in alike]
        for name in {each for each in names if names.count(each) > 1}:
            yield Contradiction(("channels",), f"has {name} twice; a quantity is in one list")


SECTION: Final = (
    Neighbours,
    setting(
        Neighbours(),
        "Sensors judged by their neighbours between references "
        "(docs/beyond.md#what-neighbours-say).",
    ),
)


def neighbours_of(settings: Settings) -> Neighbours:
    """Return the section of settings that have it."""
    section: Neighbours = settings.section("neighbours")
    return section


def contradictions(settings: Settings) -> Iterator[Contradiction]:
    """Check that somebody can have neighbours."""
    section = neighbours_of(settings)
    if not section.watch:
        return
    if section.distance_km is not None and not settings.places and settings.places_file is None:
        reason = "needs places, or places_file: nobody knows where the sensors are"
        yield Contradiction(("neighbours", "distance_km"), reason)
    if section.distance_km is None and not settings.groups:
        reason = "needs groups, or distance_km: a sensor in no group has no neighbours"
        yield Contradiction(("neighbours", "watch"), reason)
