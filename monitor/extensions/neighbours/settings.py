"""The section ``neighbours``: who neighbours whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import Field

from monitor.config.kinds import Section, setting
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
