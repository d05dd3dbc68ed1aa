"""Clocks of references that are late or ahead: who is told of, and of what."""

from __future__ import annotations

import numpy as np
import pytest
from harness.cases import further

from monitor.core.fleet.common_errors import Meetings
from monitor.core.fleet.late_clocks import late_clock
from monitor.core.model import Reading, Reference
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.core.verdict import FAULTS
from monitor.journal.in_memory import InMemoryStore

ROUNDS, ONSET, SECONDS, U_REF, HIGH = 120, 60, 10.0, 0.2, 8.0


def world(late, seed, sensors=20, rounds=ROUNDS, onset=ONSET):
    """Return (values [rounds, sensors], what a reference measures ``late`` rounds later).

    The first two sensors are 8 high from the same round on.
    """
    chance = np.random.default_rng([20261128, seed, sensors])
    truth = 100.0 + np.cumsum(chance.normal(0.0, 2.0, rounds + 8))
    at = 4 + np.arange(rounds)
    value = truth[at][:, None] + chance.standard_normal((rounds, sensors))
    value[onset:, :2] += HIGH
    meant = at + np.where(np.arange(rounds) >= onset, late, 0)
    return value, truth[meant] + U_REF * chance.standard_normal(rounds)


def as_met(value, reference):
    rounds, sensors = value.shape
    which, flat = np.repeat(np.arange(rounds), sensors), np.ones(value.size)
    seen = np.repeat(reference, sensors)
    series, error = np.tile(np.arange(sensors), rounds), value.ravel() - seen
    return Meetings(series, which, SECONDS * which, error, flat, U_REF * flat, seen)


@pytest.mark.parametrize("sensors", [20, *further(8, 60)])
@pytest.mark.parametrize("late", [2, -1, *further(1, -2, 4)])
def test_a_clock_that_is_wrong_is_told_with_its_size_and_since_when(late, sensors):
    for seed in range(5):
        doubt = late_clock(as_met(*world(late, seed, sensors)))

        assert doubt.nature[0] == "lag"
        assert (doubt.nature.size, doubt.nature.pairs) == (SECONDS * late, late)
        assert abs(doubt.since - SECONDS * ONSET) <= 3.0 * SECONDS
        assert doubt.agree > sensors // 2
        assert {0, 1}.isdisjoint(doubt.cleared.tolist())
        assert doubt.cleared.size >= sensors - 3


def test_fewer_than_five_sensors_accuse_no_clock():
    value, reference = world(2, 1)

    assert late_clock(as_met(value[:, 2:6], reference)) is None
    assert late_clock(as_met(value[:, 2:7], reference)) is not None


def test_a_reference_that_is_off_noisy_or_right_has_no_wrong_clock():
    for seed in range(20):
        value, right = world(0, seed)
        noisy = right + np.random.default_rng(seed).normal(0.0, 4.0, right.size)
        repaired = right - 3.0 * (np.arange(right.size) < ONSET)
        for reference in (right, repaired, right + 3.0, noisy, 100.0 + 1.5 * (right - 100.0)):
            assert late_clock(as_met(value, reference)) is None
        level = as_met(value - right[:, None] + 100.0, repaired - right + 100.0)
        assert late_clock(level) is None


@pytest.mark.parametrize("late", [2, -1])
def test_sensors_of_a_late_clock_are_held_back_and_judged_without_its_lag(late):
    value, reference = world(late, 3)
    rules = SeriesRules(unit="kg", pairing=Rules("nearest", 3.0), window_pairs=100)
    concern = [Concern("bench")]
    plan = CoreSettings(
        lambda *_: rules, lambda _: concern, limits=Limits(50, 50), window_pairs_max=100
    )
    network = Network(plan, InMemoryStore())
    for at in range(ROUNDS):
        time = SECONDS * at
        seen = [Reference("bench", "mass", time, reference[at], u=U_REF)]
        seen += [Reading(f"s{i:02}", "mass", time, each, u=1.0) for i, each in enumerate(value[at])]
        network.apply(network.observe(seen, time).pairs)
    now = network.evaluate(SECONDS * ROUNDS)

    (suspect,) = now.suspects
    clock = "20 s late (2 pairs)" if late == 2 else "10 s ahead (1 pair)"
    assert suspect.sentence.startswith(f"either reference bench has a clock {clock}, since ")
    own = np.logical_or.reduce([now.alerts[fault] for fault in FAULTS])
    assert {now.names[row].sensor for row in np.flatnonzero(own)} == {"s00", "s01"}
    for row in (0, 1):
        assert now.reports[row].alert == "offset"
        assert now.reports[row].verdict.size.lower < HIGH < now.reports[row].verdict.size.upper
    assert not any("is late" in each for each in now.sentences)
