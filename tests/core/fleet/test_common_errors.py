"""References that are noisy, stand still or have a gain, against worlds whose truth is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from harness.cases import further

from monitor.core.fleet.common_errors import Meetings, among_peers, rounds_of
from monitor.core.fleet.suspect_references import suspicion
from monitor.core.model import Reading, Reference
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.core.verdict import FAULTS
from monitor.journal.in_memory import InMemoryStore

U_REF = 0.2
WRONG = {
    "noise": lambda truth, error: truth + 5.0 * error,
    "stuck": lambda truth, error: np.full_like(truth, truth[0] + error[0]),
    "gain": lambda truth, error: 100.0 + 1.5 * (truth - 100.0) + error,
}


def world(sensors, rounds, seed, kind="", onset=None, *, heavy=False):
    """Return (values [rounds, sensors], the reference's values); u is 1."""
    chance = np.random.default_rng([seed, sensors])
    truth = 100.0 + 3.0 * chance.standard_normal(rounds)
    shape = (rounds, sensors)
    own = chance.standard_t(4, shape) / np.sqrt(2) if heavy else chance.standard_normal(shape)
    error = U_REF * chance.standard_normal(rounds)
    reference = truth + error
    if kind:
        onset = rounds // 3 if onset is None else onset
        reference[onset:] = WRONG[kind](truth[onset:], error[onset:])
    return truth[:, None] + own, reference


def as_met(value, reference):
    rounds, sensors = value.shape
    which = np.repeat(np.arange(rounds), sensors)
    flat = np.ones(value.size)
    error = (value - reference[:, None]).ravel()
    series = np.tile(np.arange(sensors), rounds)
    seen = np.repeat(reference, sensors)
    return Meetings(series, which, which.astype(float), error, flat, U_REF * flat, seen)


def test_a_common_error_is_near_the_mean_and_as_sure_as_it_says():
    value, reference = world(20, 2000, 1)
    rounds = rounds_of(as_met(value, reference))
    own = rounds.error - (value - reference[:, None]).mean(axis=1)

    assert np.abs(own).max() < 0.4
    assert 0.85 < rounds.z.var() < 1.1


def test_a_few_wild_sensors_hardly_move_a_common_error():
    value, reference = world(20, 500, 2)
    wild = value.copy()
    wild[:, :2] += 50.0

    calm, moved = (rounds_of(as_met(each, reference)).error for each in (value, wild))

    assert np.abs(moved - calm).mean() < 0.25


@pytest.mark.slow
@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("sensors", [5, 10, 20, 50])
def test_honest_sensors_and_references_are_cleared(sensors, heavy):
    cleared = 0
    for seed in range(20):
        value, reference = world(sensors, 30, seed, heavy=heavy)
        meetings = as_met(value, reference)
        assert suspicion(meetings, 1000.0) is None
        cleared += among_peers(meetings, rounds_of(meetings), meetings.u).cleared.size

    assert cleared >= 0.98 * 20 * sensors


@pytest.mark.slow
@pytest.mark.parametrize("sensors", [10, *further(20, 50)])
@pytest.mark.parametrize("kind", WRONG)
def test_a_reference_is_accused_of_what_is_wrong_with_it(kind, sensors):
    said, sizes, left = [], [], 0
    for seed in range(10):
        value, reference = world(sensors, 45, seed, kind)
        found = suspicion(as_met(value[:, :], reference), 1000.0)
        assert found is not None
        said.append(found.nature.kind)
        sizes += [found.nature.size] if found.nature.kind == kind else []
        left += sensors - found.cleared.size
    truth = {"noise": 1.0, "gain": 1.5}.get(kind)

    assert said.count(kind) >= 9
    assert left <= 0.02 * 10 * sensors
    assert truth is None or abs(np.median(sizes) - truth) < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("sensors", [5, 10, 20, 50])
@pytest.mark.parametrize("fault", ["noise", "gain", "offset"])
def test_a_fifth_of_bad_sensors_accuses_nobody(sensors, fault):
    accused, bad = 0, max(1, sensors // 5)
    for seed in range(20):
        value, reference = world(sensors, 40, seed)
        wrong = value[13:, :bad]
        if fault == "noise":
            chance = np.random.default_rng(seed)
            wrong += 4.0 * chance.standard_normal(wrong.shape)
        elif fault == "gain":
            wrong += 0.5 * (wrong - 100.0)
        else:
            wrong += 2.0
        accused += suspicion(as_met(value, reference), 1000.0) is not None

    assert accused <= 1


@pytest.mark.slow
@pytest.mark.parametrize("off", [0.0, 5.0])
@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("those", [0.5, 1.0])
@pytest.mark.parametrize("sensors", [5, 10, 20, 50])
def test_sensors_that_understate_do_not_accuse_an_honest_reference(sensors, those, heavy, off):
    """By the u they state, ten sensors of which half err 5 times as much accuse 4 of 10."""
    accused = 0
    for factor, seed in itertools.product((2.0, 3.0, 5.0), range(4)):
        errors, reference = world(sensors, min(60, 1024 // sensors), seed, heavy=heavy)
        truth = 100.0 + 3.0 * np.random.default_rng([seed, sensors]).standard_normal(len(errors))
        errors -= truth[:, None]
        errors[:, : round(those * sensors)] *= factor
        errors[len(errors) // 2 :, -1] += off
        accused += suspicion(as_met(truth[:, None] + errors, reference), 1000.0) is not None

    assert accused == 0


@pytest.mark.slow
@pytest.mark.parametrize("sensors", [5, 10, 20, 50])
def test_sensors_that_are_each_off_by_their_own_accuse_no_reference(sensors):
    """Biases of 1 u that nobody declared do not cancel in a round; they accused it in 2 of 10."""
    accused = 0
    for seed in range(30):
        value, reference = world(sensors, min(60, 1024 // sensors), seed)
        value += np.random.default_rng([seed, sensors]).standard_normal(sensors)
        accused += suspicion(as_met(value, reference), 1000.0) is not None

    assert accused <= 3


@pytest.mark.slow
@pytest.mark.parametrize("sensors", [10, 50])
def test_a_reference_that_is_off_is_found_by_sensors_that_understate(sensors):
    rounds, found = min(60, 1024 // sensors), 0
    for seed in range(10):
        value, reference = world(sensors, rounds, seed)
        value += np.random.default_rng(seed).normal(0.0, np.sqrt(3.0), value.shape)
        reference[rounds // 3 :] += 2.0
        told = suspicion(as_met(value, reference), 1000.0)
        found += told is not None and abs(told.estimate.value + 2.0) < 0.5

    assert found >= 9


@pytest.mark.slow
def test_a_sensor_with_a_fault_of_its_own_is_not_cleared():
    for seed in range(10):
        value, reference = world(20, 45, seed, "noise")
        value[:, 3] += 2.0
        value[:, 7] += 4.0 * np.random.default_rng(seed).standard_normal(45)
        found = suspicion(as_met(value, reference), 1000.0)

        assert found is not None
        assert {3, 7}.isdisjoint(found.cleared.tolist())


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRONG)
def test_of_fifty_sensors_hardly_one_is_blamed_for_its_reference(kind):
    value, reference = world(50, 60, 3, kind, onset=30)
    value[30:, 0] += 3.0
    rules = SeriesRules(unit="ppb", pairing=Rules("nearest", 30.0), window_pairs=100)
    plan = CoreSettings(
        lambda *_: rules,
        lambda _: [Concern("bench")],
        limits=Limits(50, 50),
        window_pairs_max=100,
    )
    network = Network(plan, InMemoryStore())
    for at in range(60):
        time = 3600.0 * at
        seen = [Reference("bench", "o3", time, reference[at], u=U_REF)]
        seen += [Reading(f"s{i:02}", "o3", time, value[at, i], u=1.0) for i in range(50)]
        network.apply(network.observe(seen, time).pairs)
        if at in (49, 59):
            now = network.evaluate(time)
            blamed = np.logical_or.reduce([now.alerts[fault] for fault in FAULTS])
            (found,) = now.suspects

            assert found.nature.kind == kind
            assert kind in found.sentence or "uncertain" in found.sentence
            assert blamed[0]
            assert blamed.sum() <= 3
            assert len(found.cleared) >= 47
