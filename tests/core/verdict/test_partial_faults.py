"""An end of the range, and spells that come and go, have names of their own."""

from __future__ import annotations

import numpy as np
import pytest
from harness.verdict_sensors import sensor, since, whole

from monitor.core.verdict import judge
from tests.core.verdict.test_judge import ALARM, ONSET

N = 400
SLOW = (0.0, 0.8)


def spelled(level, length):
    """Return a fault that adds ``level`` in spells of ``length`` pairs on average."""

    def fault(value, _, random):
        off = np.zeros(value.size, dtype=bool)
        at = 10
        while at < value.size:
            lasts = 2 + random.poisson(length - 2)
            off[at : at + lasts] = True
            at += lasts + 25 + random.poisson(15)
        return value + level * off

    return fault


def verdicts(fault, *, alarm=ALARM, seeds=range(8), **changes):
    for seed in seeds:
        for slow in SLOW:
            p = sensor(seed, N, slow=slow, fault=fault, **changes)
            yield judge(p, alarm=alarm, unit="kg"), whole(p, unit="kg")


@pytest.mark.parametrize("begin", [0, ONSET])
@pytest.mark.parametrize(
    ("clip", "words"),
    [
        (lambda value, _: np.minimum(value, 53.0), "stands at 53 kg whatever is above it"),
        (lambda value, _: np.maximum(value, 45.0), "stands at 45 kg whatever is below it"),
    ],
)
def test_an_end_of_the_range_is_named(clip, words, begin):
    found = list(verdicts(since(begin, clip)))

    for verdict, of_file in found:
        assert verdict.fault == "clipped", verdict.sentence
        assert of_file.fault in ("clipped", ""), of_file.sentence  # all pairs may be right enough
        assert verdict.sentence.startswith(words)
        assert verdict.size.value == float(words.split()[2])
        assert verdict.remedy.kind == "none"
    assert begin or sum(of_file.fault == "clipped" for _, of_file in found) >= 0.7 * len(found)
    assert all(begin - 20 <= verdict.segment <= begin + 30 for verdict, _ in found)


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (since(ONSET, lambda value, late: np.full(late.size, value[0])), "stuck"),
        (since(0, lambda value, _: np.round(value, -1)), None),
        (since(0, lambda value, _: 50.0 + 0.5 * (value - 50.0)), "gain"),
        (since(0, lambda value, _: np.maximum(value, 20.0)), None),
    ],
)
def test_values_that_repeat_for_another_reason_are_not_at_an_end(fault, name):
    found = [each.fault for both in verdicts(fault, u=3.0) for each in both]

    assert "clipped" not in found
    assert name is None or found.count(name) >= 0.8 * len(found), found


def test_a_value_that_a_sensor_is_stuck_at_is_no_end_of_its_range():
    """Few pairs before it were above that value, and its references hardly pass it."""
    fault = since(ONSET, lambda value, late: np.full(late.size, value[0]))
    calm = {"predictive": True, "spread": 0.5}
    both = verdicts(fault, alarm=ALARM + 60, seeds=range(20), **calm)

    assert {verdict.fault for verdict, _ in both} == {"stuck"}


@pytest.mark.parametrize("shape", ["normal", "t4", "AR"])
def test_a_range_that_ends_from_the_middle_of_a_file_on_is_not_right(shape):
    """A quarter of its values stand there: all pairs together still look right."""
    clip = since(150, lambda value, _: np.minimum(value, 54.0))
    found = [whole(sensor(seed, 300, fault=clip, shape=shape)) for seed in range(20)]
    named = [each for each in found if each.fault == "clipped"]

    assert len(named) >= 16, [each.sentence for each in found]
    for each in named:
        assert each.sentence.startswith("stands at 54 whatever is above it, since 2026-")
        assert 140 <= each.segment <= 175


def saturated(value, truth, _):
    """Return values and change the truth: both end at 56, as a humidity does at 100 %."""
    np.minimum(truth, 56.0, out=truth)
    return np.minimum(value, 56.0)


def resting(value, truth, _):
    error = value - truth
    truth[150:] = 56.0
    return np.round(truth + error)


@pytest.mark.parametrize(
    "fault", [saturated, resting, lambda value, *_: np.round(value), lambda value, *_: value]
)
def test_an_honest_sensor_at_its_largest_value_is_not_clipped(fault):
    found = [whole(sensor(seed, 300, slow=0.9, fault=fault)).fault for seed in range(20)]

    assert "clipped" not in found


@pytest.mark.parametrize("level", [12.0, -9.0, -30.0])
@pytest.mark.parametrize("shape", ["normal", "t4"])
def test_spells_are_named_with_their_level_and_share(level, shape):
    found = [each for both in verdicts(spelled(level, 8), shape=shape) for each in both]
    named = [each for each in found if each.fault == "spells"]

    assert len(named) >= 0.7 * len(found), [each.sentence for each in found]
    assert sum(each.level.lower <= level <= each.level.upper for each in named) >= 0.85 * len(named)
    assert sum(each.size.lower <= 8.0 / 48.0 <= each.size.upper for each in named) >= 0.9 * len(
        named
    )
    way = "heavy" if level > 0.0 else "light"
    assert all(f" kg {way} (" in each.sentence for each in named)
    assert all(" % of its pairs (" in each.sentence for each in named)
    assert all(", in spells" in each.sentence for each in named)


@pytest.mark.parametrize(
    "fault",
    [
        lambda value, _, random: value + 20.0 * (random.random(value.size) < 0.06),
        since(ONSET, lambda value, _: value + 8.0),
        since(ONSET, lambda value, late: value + np.where(late < 60, 8.0, 0.0)),
        lambda value, truth, _: truth + 3.0 * (value - truth),
    ],
)
def test_single_far_errors_and_one_period_are_not_spells(fault):
    found = [each.fault for both in verdicts(fault) for each in both]

    assert found.count("spells") <= 1, found
