"""How errors move with the level: error models and gains."""

from __future__ import annotations

import numpy as np
import pytest
from harness.verdict_sensors import HOUR, START, autoregressive, sensor, whole

from monitor.core.verdict import Pairs, judge, judge_whole
from monitor.core.verdict.relations import SlopeColumns
from tests.core.verdict.test_judge import ALARM, FAULTS, N


@pytest.mark.parametrize("predictive", [False, True])
@pytest.mark.parametrize("spread", [1.0, 1.5, 3.0])
def test_an_offset_of_a_predictive_sensor_is_no_gain(spread, predictive):
    found = [
        judge(
            sensor(seed, N, spread=spread, predictive=predictive, fault=FAULTS["offset"]),
            alarm=ALARM,
        ).fault
        for seed in range(10)
    ]

    assert found.count("gain") <= 1, found


@pytest.mark.parametrize("predictive", [False, True])
def test_the_error_model_is_told_by_the_data(predictive):
    wanted = "predictive" if predictive else "classical"
    found = [whole(sensor(seed, N, predictive=predictive)).error_model for seed in range(20)]

    assert found.count(wanted) >= 16, found
    assert len(set(found) - {wanted, "undecided"}) <= 1


def test_a_gain_from_the_first_pair_on_is_one_wherever_it_is_noticed():
    """Pairs before the alarm that show the gain themselves are not taken for healthy ones."""
    found = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        reference = 500.0 + 60.0 * random.standard_normal(150)
        value = 500.0 + 1.12 * (reference - 500.0) + 5.0 * random.standard_normal(150)
        reference = reference + 0.6 * random.standard_normal(150)
        p = Pairs(
            START + HOUR * np.arange(150), value, np.full(150, 5.0), reference, np.full(150, 0.6)
        )
        up_to_alarm = judge(p.rows(slice(0, 50)), alarm=49)
        found.append(judge(p, alarm=49, began=up_to_alarm.began, healthy=up_to_alarm.healthy).fault)

    assert found.count("gain") >= 19, found


def strangers(seed, n=200, *, slow=0.0, gain=1.0, noise=1.0):
    """Return pairs of a sensor with the references of another subject of the same kind."""
    random = np.random.default_rng(seed)
    own, others = 500.0 + 60.0 * np.stack(
        [autoregressive(random.standard_normal(n), slow) for _ in range(2)]
    )
    value = 500.0 + gain * (own - 500.0) + 5.0 * noise * random.standard_normal(n)
    reference = others + random.standard_normal(n)
    return Pairs(START + HOUR * np.arange(n), value, np.full(n, 5.0), reference, np.ones(n))


@pytest.mark.parametrize("slow", [0.0, 0.5, 0.9, 0.97])
def test_readings_of_another_subject_are_named_as_such(slow):
    """They were late, had the wrong sign or understated their uncertainty, each by chance."""
    found = [strangers(seed, slow=slow) for seed in range(20)]
    names = [judge(p, alarm=30).fault for p in found]
    of_files = [whole(p).fault for p in found]

    assert names.count("unrelated") >= 17, names
    assert of_files.count("unrelated") >= 17, of_files
    assert (names + of_files).count("lag") <= 1


def test_unrelated_readings_get_no_number_and_no_adjustment():
    verdict = whole(strangers(1), unit="kg")

    assert verdict.sentence == "has readings that have nothing to do with its references"
    assert verdict.advice.startswith("check whether key, subject and place")
    assert verdict.remedy.kind == "none"


@pytest.mark.parametrize(
    "changes",
    [
        {"scale": 3.0},
        {"scale": 6.0},
        {"scale": 12.0},
        {"scale": 6.0, "predictive": True},
        {"scale": 3.0, "spread": 0.5},
        {"scale": 3.0, "spread": 8.0, "slow": 0.97},
        {"fault": FAULTS["offset, far down"]},
        {"fault": FAULTS["gain, below"]},
    ],
)
def test_a_sensor_that_follows_its_references_badly_is_not_unrelated(changes):
    found = [judge(sensor(seed, N, **changes), alarm=30).fault for seed in range(20)]

    assert found.count("unrelated") <= 1, found


def test_columns_have_the_error_model_of_each_series():
    random = np.random.default_rng(3)
    columns = random.normal(0.0, 5.0, (4, 500))
    columns[1::2] = random.choice([0.0, 1.0, 2.0], (2, 500), p=[0.05, 0.5, 0.45])
    slopes = SlopeColumns(columns, np.full(500, 50), random.random(500) < 0.1)

    models = slopes.models().tolist()
    assert models == [slopes.at(row).model for row in range(500)]
    assert {*models} == {"classical", "predictive", "undecided"}


def test_readings_and_references_of_large_u_are_not_unrelated():
    """Most pairs have a small u, and the few with a large one have the spread of both."""
    pairs = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        truth = 100.0 + 30.0 * random.standard_normal(400)
        u = 7.5 * 10.0 ** random.uniform(-2.0, 2.0, 400)
        error, of_reference = u * random.standard_normal((2, 400))
        clock = 1.77e9 + 3600.0 * np.arange(400)
        pairs.append(Pairs(clock, truth + error, u, truth + 2.0 * of_reference, 2.0 * u))

    assert [each.fault for each in judge_whole(pairs)].count("unrelated") == 0
