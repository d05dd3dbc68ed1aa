"""What is said of a window's size is the size of the window that the statistics are made of."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.config import parse
from monitor.config.core_plan import plan_of
from monitor.core.model import Reading, Reference
from monitor.core.registry import SeriesKey
from monitor.core.state.network import Network
from monitor.http import documents
from monitor.http.metrics import Exposition
from monitor.journal.in_memory import InMemoryStore
from tests.http.test_metrics import value

SETTINGS = """
windows: {pairs: 200, days: 10}
groups:
  - {name: few, sensors: ["few-*"], windows: {pairs: 30}}
  - {name: young, sensors: ["young-*"], windows: {days: 2}}
  - {name: long, sensors: ["long-*"], windows: {pairs: 400, days: 60}}
overrides:
  - {sensor: few-2, windows: {pairs: 7}}
thresholds:
  - {name: far, statistic: score_crps_mean, above: 0.0, pairs_min: 25}
"""
PAIRS = 360
HOUR = 3600.0
# One pair an hour: 10 days before the newest hold 241 pairs, 2 days 49.
WINDOWS = {
    "any": 200, "few-1": 30, "few-2": 7, "young-1": 49, "long-1": PAIRS,
}  # fmt: skip


@pytest.fixture(scope="module")
def network() -> Network:
    made = Network(plan_of(parse(SETTINGS.encode(), "monitor.yaml")), InMemoryStore())
    chance = np.random.default_rng(4)
    for at in range(PAIRS):
        truth, time = chance.normal(500.0, 20.0), at * HOUR
        both = [
            each
            for sensor in WINDOWS
            for each in (
                Reading(sensor, "mass", time, truth + chance.standard_normal(), u=1.0),
                Reference(sensor, "mass", time + 1.0, truth),
            )
        ]
        made.apply(made.observe(both, time).pairs)
    return made


def test_the_pairs_of_a_window_are_those_that_its_statistics_are_made_of(network):
    snapshot = network.evaluate(PAIRS * HOUR)
    page = Exposition().render(snapshot)

    for row, name in enumerate(snapshot.names):
        told = value(page, "monitor_window_pairs", sensor=name.sensor, quantity="mass")
        errors = network.detail(SeriesKey(name.sensor, "mass"), 0.0).pairs.error
        bias = value(page, "monitor_calibration_bias", sensor=name.sensor, quantity="mass")
        assert told == errors.size == WINDOWS[name.sensor], name.sensor
        assert bias == pytest.approx(errors.mean(), rel=1e-12)
        assert documents.entry(snapshot, row)["pairs"] == told


def test_a_limit_waits_for_as_many_pairs_in_the_window(network):
    snapshot = network.evaluate(PAIRS * HOUR)
    beyond = dict(
        zip((name.sensor for name in snapshot.names), snapshot.alerts["far"], strict=True)
    )

    assert {sensor for sensor, fires in beyond.items() if not fires} == {"few-2"}


def test_a_small_window_does_not_make_a_sensor_unknown_that_many_pairs_were_right(network):
    snapshot = network.evaluate(PAIRS * HOUR)

    states = dict(zip((name.sensor for name in snapshot.names), snapshot.states, strict=True))
    assert states["few-2"] == "ok"
