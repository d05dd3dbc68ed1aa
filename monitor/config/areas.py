"""The sections ``areas`` and ``places``: which sensors a reference concerns besides its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from monitor.config.kinds import Globs, Name, Section, setting
from monitor.core.setting import Contradiction

Latitude = Annotated[float, Field(ge=-90, le=90)]
Longitude = Annotated[float, Field(ge=-180, le=360)]
Kilometres = Annotated[float, Field(ge=0, le=20_040)]


class Area(Section):
    """Sensors that a subject's references apply to: those that match every key given."""

    subject: Name = Field(description="Subject of the references, such as a station.")
    sensors: Globs | None = setting(None, "Patterns of the sensors; null for any.")
    site: Name | None = setting(None, "Site of the sensors (places); null for any.")
    radius_km: Kilometres | None = setting(
        None, "Largest great-circle distance of the sensors (places); null for any."
    )
    latitude: Latitude | None = setting(None, "Latitude of the reference, degrees north.")
    longitude: Longitude | None = setting(None, "Longitude of the reference, degrees east.")
    distance_km: Kilometres = setting(
        0.0, "Assumed distance of sensors without a known place; see pairing.uncertainty.per_km."
    )

    def contradictions(self) -> Iterator[Contradiction]:
        """An area selects sensors; a radius has a centre."""
        if self.sensors is None and self.site is None and self.radius_km is None:
            yield Contradiction((), "would select every sensor; give sensors, site or radius_km")
        here = (self.latitude, self.longitude)
        if None in here and (self.radius_km is not None or here != (None, None)):
            yield Contradiction((), "needs both latitude and longitude")


class Place(Section):
    """Where a sensor is."""

    sensor: Name = Field(description="Name of the sensor.")
    latitude: Latitude | None = setting(None, "Degrees north; null if unknown.")
    longitude: Longitude | None = setting(None, "Degrees east; null if unknown.")
    site: Name | None = setting(None, "Name of the site it belongs to.")

    def contradictions(self) -> Iterator[Contradiction]:
        """A place has two coordinates or none."""
        if (self.latitude is None) != (self.longitude is None):
            yield Contradiction((), "needs both latitude and longitude")
