"""Sensors of a group whose readings' errors average out: one question, one alert."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.fleet.averaged_errors import averaged_errors
from monitor.core.model import Reading, Reference
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.core.verdict import FAULTS
from monitor.journal.in_memory import InMemoryStore

HOUR, READINGS = 3600.0, 6
ASKED = "if the errors of its readings average out, set pairing.correlation to 0; else "


def evaluated(sensors, together=0, hours=120, high=()):
    """Return the snapshot of ``sensors`` whose pairs are means of six readings of u = 1.

    The errors of the readings of the first ``together`` are the same; those of ``high`` are 4 high.
    """
    pairing = Rules("mean_over_reference_interval", reading_seconds=HOUR / READINGS)
    rules = SeriesRules(group="air", unit="ppb", pairing=pairing)
    plan = CoreSettings(lambda *_: rules, lambda sensor: [Concern(sensor)], limits=Limits(20, 20))
    network, chance = Network(plan, InMemoryStore()), np.random.default_rng(8)
    names = [f"s{at:02}" for at in range(sensors)]
    for hour in range(hours):
        begin, true, seen = HOUR * hour, 50.0 + 5.0 * chance.normal(), []
        for at, name in enumerate(names):
            error = chance.normal(size=READINGS)
            error = np.full(READINGS, error[0]) if at < together else error
            error += 4.0 * (name in high and hour >= hours // 2)
            times = begin + HOUR / READINGS * np.arange(READINGS)
            seen += [
                Reading(name, "o3", time, true + each, u=1.0)
                for time, each in zip(times.tolist(), error.tolist(), strict=True)
            ]
            end = begin + HOUR
            seen.append(Reference(name, "o3", begin, true, u=0.05, start=begin, end=end))
        network.apply(network.observe(seen, begin + HOUR).pairs)
    return network.evaluate(hours * HOUR)


def alerting(now):
    own = np.logical_or.reduce([now.alerts[fault] for fault in FAULTS])
    return [now.names[row].sensor for row in np.flatnonzero(own)]


def test_errors_that_average_out_are_one_thing_of_the_group():
    now = evaluated(8)

    assert now.states.count("firing") >= 6
    assert alerting(now) == ["s00"]
    assert int(now.paged.sum()) <= 1
    told = [each for each, state in zip(now.sentences, now.states, strict=True) if state != "ok"]
    assert all(
        each.endswith(
            "(8 of the 8 sensors of group air overstate their uncertainty alike: "
            "should pairing.correlation be 0?)"
        )
        for each in told
    )
    assert all(each.startswith(ASKED) for each in now.advice if each)


def test_a_fault_of_one_sensor_is_its_own_beside_that():
    assert alerting(evaluated(8, high=("s05",))) == ["s00", "s05"]


@pytest.mark.parametrize(("sensors", "together"), [(4, 0), (12, 7)])
def test_fewer_than_five_sensors_or_than_half_are_each_told_of(sensors, together):
    now = evaluated(sensors, together)

    assert len(alerting(now)) >= 3
    assert not any("group air" in each for each in now.sentences)


def test_every_group_is_counted_by_itself():
    groups = np.repeat([0, 1, -1], [6, 12, 3])
    smaller = np.ones(21, dtype=np.bool_)
    smaller[6:13] = False
    overstated = smaller.copy()
    overstated[0] = False

    (group,) = averaged_errors(groups, smaller, overstated)

    assert (group.rows, group.agree, group.sensors) == ((1, 2, 3, 4, 5), 6, 6)
