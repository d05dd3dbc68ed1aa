"""Who neighbours whom: series of one quantity and unit in one group, or within a distance.

Rules of this file: the neighbours of a series are up to ``MOST`` other series, never itself: those
after it in its group, or the nearest. Series of one quantity and unit form a fleet (with groups,
those of one group); the fleet is what means are held against. Channels count as one quantity, so
that the other channel of its sensor is a neighbour like any other.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.config.sources import Place
from monitor.core.model import Int
from monitor.core.registry import SeriesName

MOST: Final = 30
NOBODY: Final = -1
_EARTH_KM: Final = 6371.0088
Channels = Sequence[Sequence[str]]
"""Quantities that count as one, as those of two channels of a sensor do."""


class Neighbourhood(NamedTuple):
    """Rows of series that are judged together, and the places in ``rows`` of their neighbours.

    ``nearby`` (series, most) has ``NOBODY`` beyond the last one. ``title`` is for people.
    """

    title: str
    rows: Int
    nearby: Int


def fleets_by_group(
    names: Sequence[SeriesName], channels: Channels = (), *, ungrouped: bool = False
) -> list[Neighbourhood]:
    """Return the fleets of declared groups; series in no group form one only if ``ungrouped``."""
    members = _members(names, channels, by_group=True)
    return [
        Neighbourhood(_title(quantity, group), np.array(rows), _others(len(rows)))
        for (quantity, _, group), rows in members.items()
        if group or ungrouped
    ]


def fleets_by_distance(
    names: Sequence[SeriesName],
    places: Mapping[str, Place],
    distance_km: float,
    channels: Channels = (),
) -> list[Neighbourhood]:
    """Return the fleets of series whose neighbours stand within ``distance_km``."""
    return [
        Neighbourhood(
            _title(quantity, ""), np.array(rows), _nearest(names, rows, places, distance_km)
        )
        for (quantity, _, _), rows in _members(names, channels, by_group=False).items()
    ]


def _members(
    names: Sequence[SeriesName], channels: Channels, *, by_group: bool
) -> dict[tuple[str, str, str], list[int]]:
    first = {name: alike[0] for alike in channels for name in alike}
    members: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for row, name in enumerate(names):
        quantity = first.get(name.quantity, name.quantity)
        members[quantity, name.unit, name.group if by_group else ""].append(row)
    return members


def _title(quantity: str, group: str) -> str:
    return f"{quantity} of {group}" if group else quantity


def _others(count: int) -> Int:
    """Return for each of ``count`` series those after it, from the first one again at the end."""
    nearby: Int = (np.arange(count)[:, None] + np.arange(1, min(count - 1, MOST) + 1)) % count
    return nearby


def _nearest(
    names: Sequence[SeriesName], rows: Sequence[int], places: Mapping[str, Place], most_km: float
) -> Int:
    from scipy.spatial import KDTree  # noqa: PLC0415 - only where distances are asked for

    nearby = np.full((len(rows), min(max(len(rows) - 1, 1), MOST)), NOBODY, dtype=np.int64)
    points = [_on_sphere(places.get(names[row].sensor)) for row in rows]
    placed = np.array([at for at, point in enumerate(points) if point is not None], dtype=np.int64)
    if placed.size < 2:
        return nearby
    located = np.array([point for point in points if point is not None])
    chord = 2.0 * math.sin(min(most_km / _EARTH_KM, math.pi) / 2.0)
    wanted = min(nearby.shape[1] + 1, placed.size)
    places_near = KDTree(located).query(located, wanted, distance_upper_bound=chord)[1]
    for at, others in zip(placed.tolist(), np.asarray(places_near).tolist(), strict=True):
        near = [int(placed[each]) for each in others if each < placed.size]
        own = [each for each in near if each != at][: nearby.shape[1]]
        nearby[at, : len(own)] = own
    return nearby


def _on_sphere(place: Place | None) -> tuple[float, float, float] | None:
    if place is None or place.latitude is None or place.longitude is None:
        return None
    north, east = math.radians(place.latitude), math.radians(place.longitude)
    return (
        math.cos(north) * math.cos(east),
        math.cos(north) * math.sin(east),
        math.sin(north),
    )
