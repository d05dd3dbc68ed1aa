"""The picture of a fleet."""

from __future__ import annotations

import re

from monitor.core.registry import SeriesName
from monitor.http.fleet_picture import Dot, fleet_picture


def test_the_picture_names_the_quantity_where_a_sensor_has_several():
    dots = [
        Dot(SeriesName(sensor, quantity), "", "/", "firing", offset, 1.0)
        for sensor, quantity, offset in (("s1", "co2", -9.0), ("s1", "rh", 0.0), ("s2", "co2", 9.0))
    ]

    assert set(re.findall(r'class="word note"[^>]*>([^<]*)<', fleet_picture(dots))) == {
        *("s1 co2", "s1 rh", "s2")
    }
