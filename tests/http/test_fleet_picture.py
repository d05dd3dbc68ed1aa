"""The picture of a fleet."""

from __future__ import annotations

import html
import re
from itertools import combinations
from math import hypot

import pytest
from harness.http_service import get, published
from harness.yard import fleet

from monitor.config.concerns import great_circle_km
from monitor.config.sources import Place
from monitor.core.registry import SeriesName
from monitor.http.fleet_picture import Dot, fleet_map, fleet_picture


def test_the_picture_names_the_quantity_where_a_sensor_has_several():
    dots = [
        Dot(SeriesName(sensor, quantity), "", "/", "firing", offset, 1.0)
        for sensor, quantity, offset in (("s1", "co2", -9.0), ("s1", "rh", 0.0), ("s2", "co2", 9.0))
    ]

    assert set(re.findall(r'class="word note"[^>]*>([^<]*)<', fleet_picture(dots))) == {
        *("s1 co2", "s1 rh", "s2")
    }


@pytest.mark.parametrize(
    "places",
    [
        {"harbour": (-41.20, 174.70), "hill": (-41.20, 174.90), "airport": (-41.33, 174.70)},
        {"north": (60.0, 10.0), "south": (59.8, 10.0), "far": (59.9, 10.1)},
        {"taveuni": (-16.8, 179.9), "rabi": (-16.5, -179.9), "koro": (-17.3, 179.4)},
        {"alone": (52.0, 13.0)},
    ],
    ids=["wide", "tall", "date line", "one"],
)
@pytest.mark.parametrize("is_brief", [False, True])
def test_distances_on_the_map_are_those_on_the_ground_and_north_is_up(places, is_brief):
    dots = [
        Dot(SeriesName(sensor, "no2"), sensor, "/", "firing", east, north)
        for sensor, (north, east) in places.items()
    ]

    circle = r'cx="([\d.]+)" cy="([\d.]+)" r="6"><title>(\w+)</title>'
    drawn = re.findall(circle, fleet_map(dots, is_brief=is_brief))
    at = {sensor: (float(x), float(y)) for x, y, sensor in drawn}
    assert at.keys() == places.keys()
    scales = [
        hypot(at[a][0] - at[b][0], at[a][1] - at[b][1]) / great_circle_km(places[a], places[b])
        for a, b in combinations(places, 2)
    ]
    assert scales == pytest.approx(scales[:1] * len(scales), rel=0.01)
    assert sorted(at, key=lambda each: -at[each][1]) == sorted(at, key=lambda each: places[each][0])


def test_a_fleet_with_places_is_a_map_that_counts_the_sensors_without_one(service):
    now = fleet(300)
    places = {
        name.sensor: Place(sensor=name.sensor, latitude=50.0 + row / 100.0, longitude=8.0)
        for row, name in enumerate(now.names[3:])
    }
    places["node-00000"] = Place(sensor="node-00000", site="yard")

    published(service, now)
    for path in ("/", "/picture", "/picture?view=map"):
        body = get(service, path)[1].decode()
        assert 'aria-label="offset and spread of every sensor"' in body
        assert "view=map" not in body

    published(service, now, places=places)
    above = get(service, "/")[1].decode()
    assert 'aria-label="map of every sensor"' in above
    assert "Where the sensors are; 3 have no place." in above
    assert above.count('<a href="/series/node-') - above.count("<tr data-key") <= 150
    picture = get(service, "/picture")[1].decode()
    assert 'aria-label="offset and spread of every sensor"' in picture
    whole = get(service, "/picture?view=map&group=model-0")[1].decode()
    link = r'<a href="/series/(node-\d+)/pm25"><circle [^>]*><title>([^<]*)<'
    titles = re.findall(link, whole)
    assert sorted(sensor for sensor, _ in titles) == [f"node-{row:05}" for row in range(7, 300, 7)]
    for sensor, title in titles:
        assert html.unescape(title).endswith(f": {now.sentences[int(sensor[5:])]}")
        assert title.startswith(f"{sensor} pm25, ")
    assert "1 sensor has no place in the settings and is not drawn." in whole
    assert get(service, "/picture?view=globe")[0] == 422
