"""References that were wrong and are right again: no sensor keeps the blame, none gets away."""

from __future__ import annotations

import numpy as np
import pytest
from harness.cases import further

from monitor.core.fleet.common_errors import Meetings
from monitor.core.fleet.former_suspicions import former_suspicion
from monitor.core.fleet.suspect_references import suspicion
from monitor.core.model import Reading, Reference
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.series_rules import Rules, SeriesRules, Systematic
from monitor.core.registry import Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.core.verdict import FAULTS, REFERENCE_SUSPECT
from monitor.journal.in_memory import InMemoryStore

U_REF = 0.2
ONSET, REPAIR, ROUNDS = 30, 50, 90
WRONG = {
    "offset": lambda truth, error: truth + error + 1.0,
    "noise": lambda truth, error: truth + 10.0 * error,
    "stuck": lambda truth, error: np.full_like(truth, truth[0] + error[0]),
    "gain": lambda truth, error: 100.0 + 1.5 * (truth - 100.0) + error,
}


def world(kind, seed, sensors=50, rounds=ROUNDS):
    """Return (values [rounds, sensors], the reference's) that is wrong from round 30 to 50."""
    chance = np.random.default_rng([20261123, seed, sensors])
    truth = 100.0 + 3.0 * chance.standard_normal(rounds)
    error = U_REF * chance.standard_normal(rounds)
    reference, those = truth + error, slice(ONSET, REPAIR)
    if kind:
        reference[those] = WRONG[kind](truth[those], error[those])
    return truth[:, None] + chance.standard_normal((rounds, sensors)), reference


def as_met(value, reference):
    rounds, sensors = value.shape
    which = np.repeat(np.arange(rounds), sensors)
    flat = np.ones(value.size)
    series = np.tile(np.arange(sensors), rounds)
    error = (value - reference[:, None]).ravel()
    seen = np.repeat(reference, sensors)
    return Meetings(series, which, which.astype(float), error, flat, U_REF * flat, seen)


def network():
    rules = SeriesRules(unit="ppb", pairing=Rules("nearest", 30.0), window_pairs=100)
    plan = CoreSettings(
        lambda *_: rules,
        lambda _: [Concern("bench")],
        limits=Limits(50, 50),
        window_pairs_max=100,
    )
    return Network(plan, InMemoryStore())


def feed(to, value, reference, at):
    """Give a network the round ``at`` and return its time."""
    time = 3600.0 * at
    seen = [Reference("bench", "o3", time, reference[at], u=U_REF)]
    seen += [Reading(f"s{i:02}", "o3", time, each, u=1.0) for i, each in enumerate(value[at])]
    to.apply(to.observe(seen, time).pairs)
    return time


def blamed(now):
    """Return the names of the sensors with an alert of a fault of their own."""
    of = np.logical_or.reduce([now.alerts[fault] for fault in FAULTS])
    return {name.sensor for name, is_so in zip(now.names, of, strict=True) if is_so}


@pytest.mark.slow
@pytest.mark.parametrize("sensors", [10, 50])
@pytest.mark.parametrize("kind", WRONG)
def test_a_reference_is_known_to_have_been_wrong_from_and_until_when(kind, sensors):
    since, until = [], []
    for seed in range(5):
        value, reference = world(kind, seed, sensors)
        value[20:, 0] += 2.0
        value[REPAIR:, 1] += 2.0
        found = former_suspicion(as_met(value, reference), 1000.0, Systematic())
        if found is None:
            continue
        since.append(found.since)
        until.append(found.until)
        assert {0, 1}.isdisjoint(found.cleared.tolist())
        assert found.cleared.size >= 0.9 * sensors - 2

    assert len(since) >= 4
    assert abs(np.median(since) - ONSET) <= 3
    assert abs(np.median(until) - (REPAIR - 1)) <= 2
    assert ONSET - 3 <= min(since) <= max(until) <= REPAIR + 2


@pytest.mark.parametrize("off", [0.0, 2.0, 20.0])
@pytest.mark.parametrize("sensors", [5, 10, 50])
def test_honest_references_never_were(sensors, off):
    accused = 0
    for seed in range(20):
        value, reference = world("", seed, sensors)
        value[ONSET:REPAIR, 0] += off
        accused += former_suspicion(as_met(value, reference), 1000.0, Systematic()) is not None

    assert accused <= 1


def test_fewer_than_five_sensors_accuse_no_former_one():
    assert former_suspicion(as_met(*world("offset", 1, 4)), 1000.0, Systematic()) is None


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["offset", "noise", *further(*WRONG.keys() - {"offset", "noise"})])
def test_a_repaired_reference_leaves_no_sensor_blamed_and_hides_no_fault(kind):
    """Without looking back up to 49 of the 50 are blamed some 15 rounds after the repair."""
    value, reference = world(kind, 3)
    value[REPAIR:, 7] += 2.0
    of, most, told, found = network(), 0, "", None
    for at in range(ROUNDS):
        time = feed(of, value, reference, at)
        if at < REPAIR or at % 2:
            continue
        now = of.evaluate(time)
        most = max(most, len(blamed(now) - {"s07"}))
        found = at if found is None and "s07" in blamed(now) else found
        left = np.flatnonzero(now.alerts[REFERENCE_SUSPECT])
        if now.former_suspects and left.size:
            told = now.sentences[left[0]]

    assert most <= 2
    assert found <= REPAIR + 15
    assert "s07" in blamed(now)
    assert "reference bench " in told
    assert ", from 1970-01-02 " in told
    assert "agreed with each other)" in told or "shared a fault)" in told


@pytest.mark.slow
def test_what_is_left_is_a_function_of_the_pairs_and_not_of_when_they_were_looked_at():
    value, reference = world("noise", 4)
    often, once = network(), network()
    for at in range(REPAIR + 25):
        time = feed(often, value, reference, at)
        if at % 6 == 0 or (at > REPAIR and at % 2):
            often.evaluate(time)
        feed(once, value, reference, at)
    one, other = often.evaluate(time), once.evaluate(time)

    assert one.former_suspects == other.former_suspects
    assert one.former_suspects
    assert one.suspects == ()
    assert one.sentences == other.sentences
    assert blamed(one) == blamed(other)


def test_a_suspicion_that_lasts_is_no_former_one():
    value, reference = world("offset", 5, 20, REPAIR)

    assert suspicion(as_met(value, reference), 1000.0) is not None
    of = network()
    for at in range(REPAIR):
        time = feed(of, value, reference, at)
    now = of.evaluate(time)
    assert len(now.suspects) == 1
    assert now.former_suspects == ()
