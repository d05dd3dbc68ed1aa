"""Finds which references apply to a sensor, from areas and places; reads the places file.

Rules of this file: a sensor without a place is in no area that has a radius or a site; distances
are great-circle distances on a sphere with the earth's mean radius.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from monitor.config.loading import mistake_sentence
from monitor.config.mistakes import Mistake, SettingsError
from monitor.config.settings import Settings
from monitor.config.sources import Area, Place
from monitor.core.pairing.join_index import Concern

_EARTH_KM: Final = 6371.0088
_COLUMNS: Final = ("sensor", "latitude", "longitude", "site")
_ROWS_MAX: Final = 1_000_000

ConcernsOf = Callable[[str], tuple[Concern, ...]]


def places_by_sensor(settings: Settings) -> dict[str, Place]:
    """Return the place of each sensor that has one; raises SettingsError."""
    places = {place.sensor: place for place in settings.places}
    if settings.places_file is not None:
        places.update((place.sensor, place) for place in read_places(Path(settings.places_file)))
    return places


def concerns_of(settings: Settings, places: Mapping[str, Place] | None = None) -> ConcernsOf:
    """Return a function from a sensor to the references that apply to it; raises SettingsError."""
    places = places_by_sensor(settings) if places is None else places
    areas = settings.areas

    @lru_cache(maxsize=100_000)
    def of(sensor: str) -> tuple[Concern, ...]:
        place = places.get(sensor)
        concerns = (_concern(area, sensor, place) for area in areas)
        return tuple(concern for concern in concerns if concern is not None)

    return of


def _concern(area: Area, sensor: str, place: Place | None) -> Concern | None:
    """Return how the references of an area apply to a sensor, None if they do not."""
    if area.sensors is not None and not any(fnmatchcase(sensor, each) for each in area.sensors):
        return None
    if area.site is not None and (place is None or place.site != area.site):
        return None
    away_km = _distance_km(area, place)
    if area.radius_km is not None and not (away_km is not None and away_km <= area.radius_km):
        return None
    return Concern(area.subject, distance_km=area.distance_km if away_km is None else away_km)


def _distance_km(area: Area, place: Place | None) -> float | None:
    if place is None or place.latitude is None or place.longitude is None:
        return None
    if area.latitude is None or area.longitude is None:
        return None
    return great_circle_km((area.latitude, area.longitude), (place.latitude, place.longitude))


def great_circle_km(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the distance between two points, (degrees north, degrees east), in km (haversine)."""
    north, north_other = math.radians(one[0]), math.radians(other[0])
    east = math.radians(other[1] - one[1])
    half = (
        math.sin((north_other - north) / 2.0) ** 2
        + math.cos(north) * math.cos(north_other) * math.sin(east / 2.0) ** 2
    )
    return 2.0 * _EARTH_KM * math.asin(math.sqrt(min(half, 1.0)))


def read_places(path: Path) -> list[Place]:
    """Return the places in a CSV file; raises SettingsError with every mistake."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return _places(path, csv.reader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise SettingsError([Mistake(str(path), 1, 1, "places_file", reason)]) from error


def _places(path: Path, rows: Iterable[list[str]]) -> list[Place]:
    mistakes: list[Mistake] = []
    places: list[Place] = []
    columns: list[str] = []
    for number, row in enumerate(rows, start=1):
        if number == 1:
            columns = [name.strip() for name in row]
            if "sensor" not in columns or not set(columns) <= set(_COLUMNS):
                reason = f"the first line must name columns out of {', '.join(_COLUMNS)}"
                raise SettingsError([Mistake(str(path), 1, 1, "places_file", reason)])
            continue
        if number > _ROWS_MAX:
            reason = f"has more than {_ROWS_MAX} lines"
            raise SettingsError([Mistake(str(path), number, 1, "places_file", reason)])
        if row:
            try:
                places.append(_place(dict(zip(columns, row, strict=True))))
            except ValueError as error:
                mistakes.append(
                    Mistake(str(path), number, 1, "places_file", _reason(error, columns))
                )
    if mistakes:
        raise SettingsError(mistakes)
    return places


def _place(cells: dict[str, str]) -> Place:
    given: dict[str, str | float] = {}
    for name, text in cells.items():
        cell = text.strip()
        if cell:
            given[name] = float(cell) if name in ("latitude", "longitude") else cell
    return Place.model_validate(given)


def _reason(error: ValueError, columns: list[str]) -> str:
    """Return why a line cannot be used."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc'])) or 'line'}: {mistake_sentence(first)}"
    if "convert" in str(error):
        return "latitude and longitude must be numbers, in degrees"
    return f"does not have the {len(columns)} cells that the first line names"
