"""How errors move with the level: error models and gains."""

from __future__ import annotations

import numpy as np
import pytest
from harness.verdict_sensors import HOUR, START, sensor

from monitor.core.verdict import Pairs, judge
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
    found = [judge(sensor(seed, N, predictive=predictive)).error_model for seed in range(20)]

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
