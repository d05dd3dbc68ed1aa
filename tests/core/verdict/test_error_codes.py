"""Error codes among values or references are named as such, and nothing else is taken for one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from harness.verdict_sensors import whole

from monitor.core.model import Reading, Reference
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.core.verdict import FAULTS, judge
from monitor.core.verdict.error_codes import coded_pairs, is_known
from monitor.core.verdict.pairs import Pairs
from monitor.journal.in_memory import InMemoryStore

N = 300
SIDES = ("value", "reference")


def sensor(seed, n=N, u=1.0, slow=0.9):
    """Return honest pairs of a slow truth of standard deviation 5 about 20."""
    chance = np.random.default_rng([20261123, seed])
    steps = chance.standard_normal(n)
    truth = steps.copy()
    for at in range(1, n):
        truth[at] = slow * truth[at - 1] + np.sqrt(1.0 - slow * slow) * steps[at]
    truth = 20.0 + 5.0 * truth
    value = truth + u * chance.standard_normal(n)
    return Pairs(3600.0 * np.arange(n), value, np.full(n, u), truth, np.zeros(n))


def coded(pairs, side, at, number=-999.0):
    """Return the pairs with a code at some of them."""
    column = getattr(pairs, side).copy()
    column[at] = number
    return dataclasses.replace(pairs, **{side: column})


@pytest.mark.slow
@pytest.mark.parametrize("number", [-999.0, 65535.0, -9999.0])
@pytest.mark.parametrize("before", [0, 1, 3])
@pytest.mark.parametrize("last", [3, 4, 8])
@pytest.mark.parametrize("side", SIDES)
def test_codes_at_the_newest_pairs_are_outliers_with_the_code_in_words(side, last, before, number):
    for seed in range(6):
        at = [*range(120, 120 + 40 * before, 40), *range(N - last, N)]
        found = judge(coded(sensor(seed), side, at, number), alarm=N - 1)

        assert (found.fault, found.state) == ("outliers", "fault"), found.sentence
        assert f"{number:g} in " in found.sentence
        assert found.advice.endswith(f"null instead of {number:g}, which looks like an error code")
        assert ("reference" in found.advice) == (side == "reference")
        assert found.since == at[0]


@pytest.mark.slow
@pytest.mark.parametrize("number", [-999.0, 250.0])
@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("side", SIDES)
def test_codes_now_and_then_are_outliers_whose_share_holds_the_truth(side, share, number):
    held = 0
    for seed in range(10):
        hit = np.random.default_rng(seed).random(N) < share
        hit[:2] = hit[-1] = False
        hit[50:60:9] = True
        found = judge(coded(sensor(seed), side, np.flatnonzero(hit), number), alarm=N - 5)

        assert found.fault == "outliers", found.sentence
        assert f"{number:g} in " in found.sentence
        held += found.size.lower <= share <= found.size.upper

    assert held >= 8


def test_a_number_that_is_no_code_is_one_once_it_came_and_went():
    pairs = sensor(1)

    assert coded_pairs(coded(pairs, "value", [297, 298, 299], 250.0)) is None
    assert coded_pairs(coded(pairs, "value", [200, 298], 250.0)).code.number == 250.0


@pytest.mark.parametrize("side", SIDES)
def test_another_fault_of_the_sensor_is_told_with_the_codes_beside(side):
    for seed in range(6):
        pairs = sensor(seed)
        value = pairs.value.copy()
        value[200:] += 3.0
        pairs = coded(dataclasses.replace(pairs, value=value), side, [50, 170, 260, 280])
        found = judge(pairs, alarm=210)

        assert found.fault == "offset", found.sentence
        assert found.level.lower < 3.0 < found.level.upper
        assert abs(found.since - 200) <= 4
        assert found.sentence.endswith("-999 now and then")


def test_values_that_repeat_for_another_reason_are_no_codes():
    """A coarse step, a sensor that is stuck, weights of few sizes with a gain, real spikes."""
    chance = np.random.default_rng(5)
    for seed in range(20):
        steady = sensor(seed, u=0.5, slow=0.999)
        coarse = steady.value.round()
        coarse[200:] += 6.0
        assert coded_pairs(dataclasses.replace(steady, value=coarse)) is None
        held = sensor(seed)
        value = held.value.copy()
        value[250:] = value[249]
        assert coded_pairs(dataclasses.replace(held, value=value)) is None
        weight = chance.choice([20.0, 100.0, 500.0, 1000.0], N, p=[0.4, 0.3, 0.2, 0.1])
        scale = 1.2 * weight + chance.standard_normal(N)
        assert coded_pairs(dataclasses.replace(held, value=scale, reference=weight)) is None
        spiky = held.value + 50.0 * (chance.random(N) < 0.05) * chance.standard_normal(N)
        assert coded_pairs(dataclasses.replace(held, value=spiky)) is None


@pytest.mark.parametrize("number", [-999.0, 9999.0, -999.25, -7999.0, 65535.0, 1e20, -1e36])
def test_numbers_that_are_widely_used_as_codes(number):
    assert is_known(number)


@pytest.mark.parametrize("number", [0.0, 99.0, 100.0, 998.0, 1000.0, 909.0])
def test_numbers_that_are_not(number):
    assert not is_known(number)


@pytest.mark.parametrize("side", SIDES)
def test_a_file_says_which_code_it_holds_and_judges_the_rest(side):
    pairs = coded(sensor(3, 2000), side, np.arange(40, 2000, 50))
    found = whole(pairs)

    assert (found.fault, found.state) == ("outliers", "fault")
    assert "-999 in 2.0 % of its" in found.sentence
    assert "error code" in found.advice
    assert whole(coded(pairs, side, slice(0, 0))).fault == "outliers"
    rare = whole(coded(sensor(3, 20_000), side, [500, 9000]))
    assert rare.state == "right", rare.sentence


@pytest.mark.slow
@pytest.mark.parametrize("side", SIDES)
def test_live_the_alert_bears_that_name_from_the_first_look_on(side):
    pairs = coded(sensor(2, 260), side, [60, 100, 140, 180, 220, 257, 258, 259])
    rules = SeriesRules(unit="degC", pairing=Rules("nearest", 30.0), window_pairs=200)
    plan = CoreSettings(
        lambda *_: rules,
        lambda _: [Concern("bench")],
        limits=Limits(1, 1),
        window_pairs_max=200,
    )
    network, names = Network(plan, InMemoryStore()), set()
    for at, (value, reference) in enumerate(zip(pairs.value, pairs.reference, strict=True)):
        time = 3600.0 * at
        seen = [
            Reference("bench", "t", time, reference, u=0.01),
            Reading("s", "t", time, value, u=1.0),
        ]
        network.apply(network.observe(seen, time).pairs)
        now = network.evaluate(time)
        names |= {fault for fault in FAULTS if now.alerts[fault][0]}

    assert names == {"outliers"}
    assert "-999 in" in now.sentences[0]
    assert "null instead of -999" in now.advice[0]
