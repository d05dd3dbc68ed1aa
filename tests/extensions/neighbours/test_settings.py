"""Settings under which nobody could have a neighbour are refused."""

from __future__ import annotations

import pytest

from monitor.config import SettingsError, parse


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("neighbours: {watch: true}", "needs groups"),
        (
            "neighbours: {watch: true, distance_km: 2}\ngroups: [{name: a, sensors: ['*']}]",
            "needs places",
        ),
        ("neighbours: {watch: true, distance_km: -1}", "distance_km"),
        ("neighbours: {channels: [a, b]}", "channels"),
        ("neighbours: {channels: [[a, b], [c, a]]}", "has a twice"),
    ],
)
def test_settings_under_which_nobody_has_neighbours_are_refused(text, reason):
    with pytest.raises(SettingsError, match=reason):
        parse(text.encode(), "monitor.yaml")
