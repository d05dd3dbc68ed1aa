"""Sensors of a reference, as one station."""

from __future__ import annotations

import numpy as np

from monitor.core.fleet.reference_stations import ReferenceStations
from monitor.core.model import Reading, Reference
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.core.steps import finish
from monitor.core.verdict import FAULTS
from monitor.journal.in_memory import InMemoryStore


def test_no_reference_is_looked_at_where_nothing_changed():
    stations = ReferenceStations()

    finish(stations.steps(np.zeros(0, np.int64), {}, None, None, None))

    assert stations.suspects() == ()


def test_sensors_of_another_unit_are_not_excused_by_a_reference_of_the_same_name():
    def rules(sensor, _):
        unit = "ppb" if sensor.startswith("o3") else "%"
        return SeriesRules(unit=unit, pairing=Rules("nearest", 30.0), window_pairs=100)

    plan = CoreSettings(
        rules,
        lambda sensor: [Concern(sensor)],
        limits=Limits(50, 50),
        window_pairs_max=100,
    )
    network, chance = Network(plan, InMemoryStore()), np.random.default_rng(5)
    for at in range(60):
        time = 3600.0 * at
        truth, level = 50.0 + chance.normal(0.0, 5.0, 2)
        ozone, humidity = truth + (9.0 if at >= 30 else 0.0), level
        seen = []
        for number, (name, value, reference) in enumerate(
            [("o3", truth, ozone)] * 8 + [("rh", level, humidity)] * 8
        ):
            sensor = f"{name}-{number:02}"
            off = 9.0 if number == 15 and at >= 30 else 0.0
            seen += [
                Reference(sensor, "value", time, reference, u=0.2, reference_id="station"),
                Reading(sensor, "value", time, value + off + chance.normal(), u=1.0),
            ]
        network.apply(network.observe(seen, time).pairs)
    now = network.evaluate(60 * 3600.0)

    (suspect,) = now.suspects
    assert suspect.unit == "ppb"
    assert {now.names[row].sensor[:2] for row in suspect.rows} == {"o3"}
    own = np.logical_or.reduce([now.alerts[fault] for fault in FAULTS])
    assert [now.names[row].sensor for row in np.flatnonzero(own)] == ["rh-15"]
