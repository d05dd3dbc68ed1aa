"""Who neighbours whom, against distances computed one by one."""

from __future__ import annotations

import numpy as np

from monitor.config.concerns import great_circle_km
from monitor.config.sources import Place
from monitor.core.registry import SeriesName
from monitor.extensions.neighbours.neighbourhoods import (
    MOST,
    fleets_by_distance,
    fleets_by_group,
)


def names(*groups: str, quantity: str = "pm", unit: str = "ug/m3") -> list[SeriesName]:
    return [SeriesName(f"n{at}", quantity, unit, group) for at, group in enumerate(groups)]


def neighbours(fleet) -> dict[int, set[int]]:
    return {
        int(row): {int(fleet.rows[each]) for each in others if each >= 0}
        for row, others in zip(fleet.rows, fleet.nearby, strict=True)
    }


def test_a_group_is_a_fleet_and_nobody_neighbours_itself():
    (one, other) = fleets_by_group(names("a", "b", "a", "", "a", "b"))

    assert neighbours(one) == {0: {2, 4}, 2: {0, 4}, 4: {0, 2}}
    assert neighbours(other) == {1: {5}, 5: {1}}


def test_other_quantities_and_units_are_no_neighbours():
    mixed = [*names("a", "a"), *names("a", quantity="t"), *names("a", unit="mg/m3")]

    assert [each.rows.tolist() for each in fleets_by_group(mixed)] == [[0, 1], [2], [3]]


def test_channels_of_a_sensor_neighbour_each_other_and_those_of_others():
    two = [*names("a", "a", quantity="pm_a"), *names("a", "a", quantity="pm_b"), *names("a")]
    channels = [("pm_a", "pm_b")]
    places = {f"n{at}": Place(sensor=f"n{at}", latitude=at, longitude=0.0) for at in range(2)}
    (fleet, other) = fleets_by_group(two, channels)
    near = neighbours(fleets_by_distance(two, places, 1.0, channels)[0])

    assert fleet.title == "pm_a of a"
    assert neighbours(fleet) == {own: {0, 1, 2, 3} - {own} for own in range(4)}
    assert neighbours(other) == {4: set()}
    assert near == {0: {2}, 1: {3}, 2: {0}, 3: {1}}


def test_a_large_group_has_so_many_neighbours_each_and_all_alike():
    (fleet,) = fleets_by_group(names(*["a"] * 100))

    assert fleet.nearby.shape == (100, MOST)
    assert set(np.bincount(fleet.nearby.ravel())) == {MOST}
    assert not (fleet.nearby == np.arange(100)[:, None]).any()


def test_within_a_distance_are_those_that_great_circles_say():
    random = np.random.default_rng(3)
    points = np.column_stack([random.uniform(51, 51.1, 25), random.uniform(0, 0.15, 25)])
    places = {
        f"n{at}": Place(sensor=f"n{at}", latitude=north, longitude=east)
        for at, (north, east) in enumerate(points.tolist())
        if at != 7  # nobody knows where it is
    }
    (fleet,) = fleets_by_distance(names(*[""] * 25), places, 4.0)

    known = [at for at in range(25) if at != 7]
    for own, others in neighbours(fleet).items():
        near = {
            at
            for at in known
            if own not in (7, at) and great_circle_km(points[own], points[at]) <= 4.0
        }
        assert others == near


def test_two_sensors_at_one_place_neighbour_each_other():
    places = {f"n{at}": Place(sensor=f"n{at}", latitude=1.0, longitude=1.0) for at in range(2)}
    (fleet,) = fleets_by_distance(names("", ""), places, 1.0)

    assert neighbours(fleet) == {0: {1}, 1: {0}}
