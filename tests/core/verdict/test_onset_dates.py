"""A fault that began as another one is told with both dates, a steady one with its own."""

from __future__ import annotations

import numpy as np
import pytest
from harness.verdict_sensors import whole

from monitor.core.verdict import Pairs, judge, judge_all

HEALTHY, ALARM = 100, 110
MINUTE = 60.0


def pairs(z: np.ndarray, seed: int) -> Pairs:
    reference = np.random.default_rng(seed).normal(500.0, 30.0, z.size)
    one = np.ones(z.size)
    return Pairs(MINUTE * np.arange(z.size), reference + z, one, reference, 0.0 * one)


def turned(seed: int) -> Pairs:
    """Return a sensor that reads 4 u high for 150 pairs and then understates u 2.5 times."""
    z = np.random.default_rng([seed, 1]).standard_normal(HEALTHY + 300)
    z[HEALTHY : HEALTHY + 150] += 4.0
    z[HEALTHY + 150 :] *= 2.5
    return pairs(z, seed)


def test_what_was_an_offset_first_has_two_dates():
    near = 12.0 * MINUTE
    for seed in range(20):
        found = judge(turned(seed), alarm=ALARM)

        assert found.fault == "understated"
        assert abs(found.began - HEALTHY * MINUTE) < near
        assert abs(found.changed - (HEALTHY + 150) * MINUTE) < near
        assert "; not right since 1970-01-01 01:" in found.sentence
        assert found.sentence.index(", since 1970-01-01 04:") < found.sentence.index("; not right")


def test_a_file_tells_when_its_last_fault_began():
    found = whole(turned(3))

    assert found.fault == "understated"
    assert ", since 1970-01-01 04:" in found.sentence


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["offset", "understated", "overstated", "drift", "outliers"])
def test_a_steady_fault_hardly_ever_has_two(kind):
    told = []
    for seed in range(100):
        random = np.random.default_rng([seed, 2])
        z = random.standard_normal(HEALTHY + 60 + 140 * (seed % 3))
        late = z[HEALTHY:]
        if kind == "offset":
            late += 3.0
        elif kind == "drift":
            late += 0.02 * np.arange(late.size)
        elif kind == "outliers":
            late += (random.random(late.size) < 0.15) * random.choice([-9.0, 9.0], late.size)
        else:
            late *= 2.0 if kind == "understated" else 0.4
        told.append(pairs(z, seed))

    found = judge_all(told, alarm=[ALARM] * len(told))

    assert np.mean([np.isfinite(each.changed) for each in found]) <= 0.04


TURN = 150
TURNS = {  # truth from the pair HEALTHY on, and the fault that it is at last
    "a drift that turned": (lambda at: 0.03 * np.where(at < TURN, at, 2 * TURN - at), "drift"),
    "a drift that became faster": (
        lambda at: np.where(at < TURN, 0.01 * at, 0.01 * TURN + 0.06 * (at - TURN)),
        "drift",
    ),
    "a drift that stopped": (lambda at: 0.03 * np.minimum(at, TURN), "offset"),
    "an offset that began to drift": (
        lambda at: np.where(at < TURN, 3.0, 3.0 - 0.04 * (at - TURN)),
        "drift",
    ),
}


@pytest.mark.parametrize("turn", TURNS)
def test_a_drift_that_began_ended_turned_or_changed_its_rate_has_both_dates(turn):
    truth, fault = TURNS[turn]
    told = []
    for seed in range(30):
        z = np.random.default_rng([seed, 4]).standard_normal(HEALTHY + 270)
        z[HEALTHY:] += truth(np.arange(270))
        told.append(pairs(z, seed))

    found = judge_all(told, alarm=[HEALTHY + 40] * len(told))

    named = [each for each in found if each.fault == fault]
    changed = np.array([each.changed for each in named]) / MINUTE - HEALTHY
    dated = np.isfinite(changed)
    assert len(named) >= 24
    assert np.mean(dated) >= 0.75
    assert abs(np.median(changed[dated]) - TURN) <= 15
    for each, has_two in zip(named, dated, strict=True):
        assert ("; not right since 1970" in each.sentence) == has_two


@pytest.mark.parametrize("slope", [0.005, 0.01, 0.02, 0.05, -0.02])
@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_a_plain_drift_hardly_ever_has_two_dates(slope, offset):
    told = []
    for seed in range(60):
        random = np.random.default_rng([seed, 5])
        z = random.standard_normal(HEALTHY + (150, 300, 410)[seed % 3])
        z[HEALTHY:] += offset + slope * np.arange(z.size - HEALTHY)
        told.append(pairs(z, seed))

    found = judge_all(told, alarm=[HEALTHY + (12 if offset else 60)] * len(told))

    assert np.mean([np.isfinite(each.changed) for each in found]) <= 0.08


@pytest.mark.parametrize("slope", [0.0, 0.001, 0.003])
def test_an_offset_that_hardly_moves_has_one_date(slope):
    told = []
    for seed in range(60):
        z = np.random.default_rng([seed, 6]).standard_normal(HEALTHY + 300)
        z[HEALTHY:] += 3.0 + slope * np.arange(300)
        told.append(pairs(z, seed))

    found = judge_all(told, alarm=[ALARM] * len(told))

    assert np.mean([np.isfinite(each.changed) for each in found]) <= 0.05


def test_a_form_never_began_before_its_incident():
    """The drift went through 0, where the incident of before ended; another began with it."""
    z = np.random.default_rng([3, 7]).standard_normal(HEALTHY + 300)
    at = np.arange(300)
    z[HEALTHY:] += np.where(at < TURN, 0.03 * at, 4.5 - 0.06 * (at - TURN))
    began = (HEALTHY + 230) * MINUTE
    found = judge(pairs(z, 3), alarm=HEALTHY + 240, began=began)

    assert found.fault == "drift"
    assert np.isnan(found.changed)
    assert "; not right since" not in found.sentence


def test_a_file_without_times_has_no_dates():
    p = turned(1)
    untimed = Pairs(np.arange(p.n) + 0.0, p.value, p.u, p.reference, p.u_ref, timed=False)

    assert np.isnan(whole(untimed).changed)
