"""What holds for one series, as the core takes it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.config import Settings
from monitor.config.core_plan import plan_of, rules_of
from monitor.config.parts import Override
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.state.core_settings import CoreSettings
from tests.config.test_settings import settings_of

FLEET = """
windows: {pairs: 400, days: 30}
groups:
- name: north
  sensors: ["n-*", "[xy]?"]
  windows: {pairs: 60}
  scoring: {level: 0.95, density: tophat}
- name: mass-of-all
  sensors: ["*"]
  quantities: [mass]
  windows: {pairs: 70}
overrides:
- sensor: n-7
  windows: {days: null}
  alerts: {patience: 5000}
- quantity: mass
  scoring: {level: 0.5}
- sensor: n-7
  quantity: mass
  pairing: {tolerance_seconds: 5}
  scoring: {level: 0.6, profile: accuracy}
  series: {stale_after_seconds: 10}
"""


def test_a_series_without_group_has_the_sections_settings():
    series = rules_of(settings_of(FLEET), "s-1", "temperature")

    assert (series.group, series.window_pairs, series.window_seconds) == ("", 400, 30 * 86_400.0)
    assert (series.level, series.density, series.profile) == (0.9, "auto", "balanced")
    assert (series.patience, series.pairing.tolerance_seconds) == (1000.0, 60.0)
    assert series.stale_after_seconds == 3600.0


@pytest.mark.parametrize(
    ("sensor", "quantity", "group", "pairs"),
    [
        ("n-1", "mass", "north", 60),
        ("x1", "volume", "north", 60),
        ("z1", "mass", "mass-of-all", 70),
        ("z1", "volume", "", 400),
        ("N-1", "volume", "", 400),
        ("an-1", "volume", "", 400),
    ],
)
def test_the_first_group_that_fits_counts(sensor, quantity, group, pairs):
    series = rules_of(settings_of(FLEET), sensor, quantity)

    assert (series.group, series.window_pairs) == (group, pairs)


def test_overrides_win_over_groups_and_later_ones_over_earlier_ones():
    series = rules_of(settings_of(FLEET), "n-7", "mass")

    assert (series.level, series.profile, series.density) == (0.6, "accuracy", "tophat")
    assert (series.window_pairs, series.window_seconds) == (60, math.inf)
    assert (series.patience, series.pairing.tolerance_seconds) == (5000.0, 5.0)
    assert series.stale_after_seconds == 10.0
    assert rules_of(settings_of(FLEET), "n-1", "mass").level == 0.5


def test_the_cores_own_defaults_are_those_of_the_settings():
    plan = plan_of(Settings())

    assert rules_of(Settings(), "a", "q") == SeriesRules()
    assert plan == CoreSettings(
        plan.rules_of,
        plan.concerns_of,
        rows_spare=plan.rows_spare,
        replay_pairs=plan.replay_pairs,
        program=plan.program,
    )


def test_pairing_by_key_reaches_as_far_as_either_side_waits():
    series = rules_of(settings_of("pairing: {mode: key, max_wait_hours: 2}"), "a", "b")

    assert (series.pairing.mode, series.pairing.tolerance_seconds) == ("all", 7200.0)


def test_every_pairing_mode_resolves_to_one_the_core_has():
    from monitor.core.pairing.pairing_rules import PAIRING_RULES

    for mode in Settings.model_json_schema()["$defs"]["Pairing"]["properties"]["mode"]["enum"]:
        series = rules_of(settings_of(f"pairing: {{mode: {mode}, reading_seconds: 60}}"), "a", "b")
        assert series.pairing.mode in PAIRING_RULES


def test_the_unit_is_that_of_the_sources_that_may_carry_the_quantity():
    text = """sources:
- {topic: "w/{sensor}/kg", kind: reading, unit: kg}
- {topic: "t/{sensor}/{quantity}/c", kind: reading, unit: Cel}
- {topic: "w/{sensor}/ref", kind: reference, unit: lb}
"""

    assert rules_of(settings_of(text), "a", "temperature").unit == "Cel"
    assert rules_of(settings_of(text), "a", "value").unit == ""
    assert rules_of(settings_of(text.replace("Cel", "kg")), "a", "value").unit == "kg"
    assert rules_of(Settings(), "a", "b").unit == ""


@given(st.lists(st.sampled_from(["a", "b", "*", "?", "[ab]", "a*", "[!a]"]), max_size=5))
def test_the_last_fitting_override_wins_whatever_the_order(patterns):
    from fnmatch import fnmatchcase

    overrides = [
        Override(sensor=pattern, windows={"pairs": 10 + at}) for at, pattern in enumerate(patterns)
    ]
    expected = [10 + at for at, pattern in enumerate(patterns) if fnmatchcase("a", pattern)]

    series = rules_of(Settings(overrides=overrides), "a", "q")

    assert series.window_pairs == (expected[-1] if expected else 500)
