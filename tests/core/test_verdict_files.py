"""A file is judged whole: honest sensors are not accused, faults of all of it are named."""

from __future__ import annotations

import math

import numpy as np
import pytest
from core.verdict_sensors import autoregressive, sensor, since, widened

from monitor.core.verdict import Pairs, judge_file


def cycle(value, truth, _):
    wave = 1.4 * np.sin(2 * np.pi * np.arange(value.size) / 24)
    return truth + 0.87 * (value - truth) + wave


@pytest.mark.parametrize(
    "changes",
    [{}, {"shape": "t4"}, {"shape": "AR"}, {"predictive": True}, {"slow": 0.9}, {"fault": cycle}],
    ids=["normal", "t4", "AR", "predictive", "slow", "cycle"],
)
@pytest.mark.parametrize("n", [60, 3000])
def test_honest_files_are_not_accused(changes, n):
    found = [judge_file(sensor(seed, n, **changes)) for seed in range(20)]

    assert sum(each.state == "fault" for each in found) <= 1, [each.sentence for each in found]


@pytest.mark.parametrize("rho", [0.7, 0.95])
def test_slow_honest_errors_are_not_accused(rho):
    found = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        error = autoregressive(random.standard_normal(5000), rho)
        reference = 20.0 + 3.0 * random.standard_normal(5000)
        ones = np.ones(5000)
        found.append(
            judge_file(Pairs(np.arange(5000.0), reference + error, ones, reference, 0 * ones))
        )

    assert sum(each.state == "fault" for each in found) <= 1


def test_many_honest_pairs_are_right():
    verdict = judge_file(sensor(1, 20_000))

    assert verdict.state == "right"
    assert verdict.sentence == "as right as it says"
    assert verdict.error_model == "classical"
    assert verdict.fault == ""


FAULTS = {
    "offset": {"fault": since(0, lambda value, _: value + 2.0)},
    "drift": {"fault": since(0, lambda value, late: value + 0.004 * late)},
    "gain": {"fault": since(0, lambda value, _: 50.0 + 1.5 * (value - 50.0))},
    "understated": {"scale": 2.0},
    "overstated": {"scale": 0.4},
    "sign": {"fault": since(0, lambda value, _: 100.0 - value)},
    "lag": {"fault": since(0, lambda value, _: np.roll(value, 2)), "slow": 0.9},
    "stuck": {"fault": since(0, lambda _value, late: np.full(late.size, 51.234))},
}


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_fault_of_the_whole_file_is_named(name):
    found = [judge_file(sensor(seed, 1500, **FAULTS[name])).fault for seed in range(6)]

    assert found.count(name) >= 5, found


def test_a_file_without_times_has_no_dates():
    p = sensor(3, 1500, **FAULTS["drift"])
    bare = Pairs(np.zeros(p.n), p.value, p.u, p.reference, p.u_ref, timed=False)
    verdict = judge_file(bare)

    assert verdict.fault == "drift"
    assert math.isnan(verdict.began)
    assert "since" not in verdict.sentence
    assert "19" not in verdict.sentence


def test_the_offset_of_a_file_is_told_with_its_interval():
    found = [judge_file(sensor(seed, 1500, shape="AR", **FAULTS["offset"])) for seed in range(10)]

    assert sum(each.level.lower <= 2.0 <= each.level.upper for each in found) >= 8
    assert sum(each.n_effective < 1000 for each in found) >= 9


def test_scale_does_not_hang_on_the_offset():
    """With u from 3 to 8 and an offset of 40, u is right: only the offset is to go."""
    random = np.random.default_rng(4)
    u = random.uniform(3.0, 8.0, 1000)
    reference = random.normal(500.0, 100.0, 1000)
    value = reference + 40.0 + u * random.standard_normal(1000)
    verdict = judge_file(Pairs(np.arange(1000.0), value, u, reference, 0.0 * u))

    assert verdict.fault == "offset"
    assert verdict.scale.lower < 1.0 < verdict.scale.upper
    assert verdict.remedy.kind == "add"
    assert verdict.remedy.add == pytest.approx(-40.0, abs=1.0)


def test_widening_halfway_is_seen_over_all():
    found = judge_file(sensor(5, 2000, scale=widened(2000, 1000, 4.0)))

    assert found.fault == "understated"
