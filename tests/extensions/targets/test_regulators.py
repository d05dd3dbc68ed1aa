"""The tables of rules: in order, complete, and found by the names that people give."""

from __future__ import annotations

import pytest

from monitor.core.registry import SeriesName
from monitor.extensions.targets.regulators import EU, RULES, pollutant_of, pollutants_of

# Annex I A of 2008/50/EC: fixed measurements, indicative measurements, objective estimation, in %.
ANNEX_I = {
    **dict.fromkeys(("no2", "so2", "co"), (15, 25, 75)),
    "o3": (15, 30, 75),
    "benzene": (25, 30, 100),
    **dict.fromkeys(("pm10", "pm25"), (25, 50, 100)),
}


def test_the_objectives_of_2008_are_those_of_the_annex():
    levels = {
        name: tuple(round(100.0 * each.at_most) for each in rule.levels[:3])
        for name, rule in EU["eu"].items()
    }

    assert levels == ANNEX_I


@pytest.mark.parametrize("rules", EU)
def test_levels_ascend(rules):
    for rule in EU[rules].values():
        shares = [each.at_most for each in rule.levels]
        assert shares == sorted(shares)


@pytest.mark.parametrize(
    ("sensor", "quantity", "pollutant"),
    [
        ("n1", "PM2.5", "pm25"),
        ("n1", "pm2p5", "pm25"),
        ("n1", "PM_10", "pm10"),
        ("n1", "NO2", "no2"),
        ("n1", "nitrogen-dioxide", "no2"),
        ("n1", "ozone", "o3"),
        ("co", "value", "co"),
        ("co", "o3", "o3"),
        ("n1", "co2", ""),
        ("n1", "humidity", ""),
    ],
)
def test_a_pollutant_is_known_by_its_names(sensor, quantity, pollutant):
    assert pollutant_of(SeriesName(sensor, quantity)) == pollutant


def test_all_rules_say_something_of_some_pollutant():
    assert all(pollutants_of(rules) for rules in RULES)
