"""Verdicts on sensors of which a part of the uncertainty is systematic, and declared so."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from harness.verdict_sensors import whole

from monitor.core.model import Float
from monitor.core.pairing.series_rules import Systematic
from monitor.core.verdict import FAULT, IS_RIGHT, Pairs, judge, judge_all
from monitor.core.verdict.sentences import document

U = 2.0
SHARE = float(np.sqrt(0.3))  # of u: 30 % of u^2
FIXED = SHARE * U
CHANCE = float(np.sqrt(U * U - FIXED * FIXED))
DECLARED = Systematic(share=SHARE)


def sensor(
    level: float, chance: float = CHANCE, n: int = 400, seed: int = 1, *, declared: bool = True
) -> Pairs:
    """Return pairs of one sensor whose errors are ``level`` and a part by chance."""
    random = np.random.default_rng(seed)
    truth = 100.0 + 10.0 * random.normal(size=n)
    u, none = np.full(n, U), np.zeros(n)
    value = truth + level + chance * random.normal(size=n)
    fixed: Float | None = DECLARED.of(u, none) if declared else None
    return Pairs(3600.0 * np.arange(n), value, u, truth, none, fixed=fixed)


@pytest.mark.slow
@pytest.mark.parametrize("level", [-1.6, -0.5, 0.0, 1.0, 1.6])
def test_a_level_within_twice_the_systematic_part_is_nobodys_fault(level):
    found = [sensor(level * FIXED, seed=seed) for seed in range(40)]

    assert sum(whole(each).state == IS_RIGHT for each in found) >= 38
    assert sum(whole(each).state == IS_RIGHT for each in found) >= 32


def test_the_same_errors_are_a_fault_where_nothing_is_declared():
    p = sensor(1.6 * FIXED, declared=False)

    assert whole(p).fault == "offset"
    assert judge(p, alarm=100).fault == "offset"


@pytest.mark.parametrize("level", [-4.0, 4.0])
def test_a_level_beyond_it_is_told_whole(level):
    p = sensor(level * FIXED)

    for found in (whole(p), judge(p, alarm=50)):
        assert (found.state, found.fault) == (FAULT, "offset")
        assert found.size.lower < level * FIXED < found.size.upper


@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_the_factor_is_that_of_the_whole_stated_uncertainty(factor):
    p = sensor(0.7 * FIXED, factor * CHANCE, n=1500)
    true = np.hypot(FIXED, factor * CHANCE) / U

    for found in (whole(p), judge(p, alarm=50)):
        assert found.fault == ("understated" if factor > 1.0 else "overstated")
        assert found.scale.lower < true < found.scale.upper


def test_a_series_with_a_systematic_part_is_judged_alike_among_others():
    several = [sensor(1.5 * FIXED), sensor(1.5 * FIXED, declared=False), sensor(0.0, seed=4)]

    alone = [judge(each, alarm=80) for each in several]

    assert judge_all(several, alarm=[80, 80, 80]) == alone


def test_a_bias_within_it_is_said_to_be_within_it():
    found = whole(sensor(1.2 * FIXED), unit="kg")

    told = re.fullmatch(
        r"right within 0(?:\.\d+)? u and a factor of 1\.\d+ \(.*\): "
        r"its mean error of ([0-9.]+) kg lies within the ([0-9.]+) kg "
        r"that its declared systematic part explains \(k = 2\)",
        found.sentence,
    )
    assert told is not None, found.sentence
    assert float(told[1]) == pytest.approx(1.2 * FIXED, abs=0.3)
    assert float(told[2]) == pytest.approx(2.0 * FIXED, abs=0.01)
    assert found.advice == ""
    assert document(found, "kg")["explained"] == pytest.approx(2.0 * FIXED)


def test_a_bias_beyond_it_is_said_to_be_beyond_it_and_taken_off_whole():
    found = judge(sensor(4.0 * FIXED), alarm=50, unit="kg")

    assert re.match(
        r"reads 4\.\d kg heavy .*, beyond the 2\.19 kg that its declared", found.sentence
    )
    assert found.advice.startswith("subtract 4.")


@pytest.mark.parametrize("level", [0.0, 4.0])
def test_nothing_is_said_of_it_where_nothing_is_declared(level):
    p = sensor(level * FIXED, declared=False)

    for found in (whole(p, unit="kg"), judge(p, alarm=50, unit="kg")):
        assert "declared" not in found.sentence
        assert document(found, "kg")["explained"] is None


def test_a_drift_is_one_also_while_it_is_within_it():
    p = sensor(0.0, n=400)
    p = replace(p, value=p.value + np.linspace(-1.6, 1.6, 400) * FIXED)

    assert whole(p).fault == "drift"
    assert judge(p, alarm=200).fault == "drift"
