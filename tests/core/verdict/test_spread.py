"""A factor on u is told as far as the pairs know it: no bad row makes one, and none is near 0."""

from __future__ import annotations

import re

import numpy as np
import pytest
from harness.verdict_sensors import HOUR, START, whole

from monitor.core.verdict import Estimate, Pairs, document, judge
from monitor.core.verdict.spread import on_stated


def pairs(seed, n, *, change=None, scale=1.0, u_ref=0.0, offset=0.0):
    """Return an honest sensor of u = 1 about 50; ``change`` alters its (value, u)."""
    random = np.random.default_rng(seed)
    truth = 50.0 + 5.0 * random.standard_normal(n)
    reference = truth + u_ref * random.standard_normal(n)
    value, u = truth + scale * random.standard_normal(n) + offset, np.ones(n)
    if change is not None:
        change(value, u)
    return Pairs(START + HOUR * np.arange(n), value, u, reference, np.full(n, u_ref))


def tiny_u(value, u):
    u[u.size // 2] = 1e-6


def typo(value, u):
    value[u.size // 2] = 1e14


def comma(value, u):
    value[u.size // 2] *= 10.0


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 300, 2000])
@pytest.mark.parametrize("row", [tiny_u, typo, comma])
def test_one_bad_row_is_no_wrong_uncertainty(row, n):
    for seed in range(6):
        p = pairs(seed, n, change=row)
        for verdict in (whole(p), *(judge(p, alarm=at) for at in (n // 2, n - 1))):
            assert verdict.fault != "understated" or verdict.state != "fault"
            assert not verdict.scale.is_known or 0.6 < verdict.scale.value < 1.4
            assert "understates" not in verdict.sentence, verdict.sentence


def test_many_bad_rows_are_outliers():
    def bad(value, u):
        u[::20] = 1e-6

    assert whole(pairs(1, 400, change=bad)).fault == "outliers"


def at_least(verdict):
    found = re.search(
        r"overstates its uncertainty by a factor of at least (\d+(?:\.\d+)?)", verdict.sentence
    )
    assert found, verdict.sentence
    return float(found[1])


@pytest.mark.parametrize("seed", range(6))
def test_beside_a_reference_as_uncertain_as_it_says_an_overstated_u_has_one_bound(seed):
    """The reference's own part is all of the error: u / 3 and u / 30 look alike."""
    p = pairs(seed, 400, scale=1.0 / 30.0, u_ref=1.0)
    for verdict in (whole(p), judge(p, alarm=20)):
        said = document(verdict, "kg")

        assert 1.0 < at_least(verdict) <= 30.0
        assert (said["fault"], said["estimate"], said["lower"]) == ("overstated", None, None)
        assert 1.0 / 30.0 <= said["upper"] < 1.0
        assert verdict.remedy.kind == "none" or verdict.remedy.scale_u >= said["upper"]


@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_errors_that_are_all_alike_advise_no_u_near_0(offset):
    p = pairs(3, 300, scale=0.0, offset=offset)
    for verdict in (whole(p), judge(p, alarm=20)):
        assert at_least(verdict) == 10.0
        assert not verdict.remedy.scale_u < 0.1
        assert "e-" not in verdict.advice


@pytest.mark.parametrize("factor", [(0.0146, 0.012, 0.0181), (0.2, 0.01, 0.6), (0.0, 0.0, 0.0)])
def test_a_factor_that_is_not_told_from_0_has_an_upper_end_alone(factor):
    """The first is of a value that stood still for 150 pairs: the level's own rounding is left."""
    value, lower, upper = on_stated((4.0, 0.0, 0.0), Estimate(*factor))

    assert np.isnan([value, lower]).all()
    assert upper == max(factor[2], 0.1)


@pytest.mark.parametrize("seed", range(4))
def test_a_factor_that_is_known_is_still_told_with_its_interval(seed):
    verdict = whole(pairs(seed, 400, scale=0.2))
    said = document(verdict, "kg")
    found = re.search(
        r"overstates its uncertainty by a factor of ([\d.]+) \(([\d.]+) to", verdict.sentence
    )

    assert found, verdict.sentence
    assert said["lower"] < 0.2 < said["upper"]
    assert float(found[1]) == pytest.approx(1.0 / said["estimate"], rel=0.03)
    assert float(found[2]) == pytest.approx(1.0 / said["upper"], rel=0.05)


def of_varying_u(seed, follows, law="normal", n=300):
    """Return a right sensor whose u varies by a factor of 2; its errors follow it or do not."""
    random = np.random.default_rng([seed, follows])
    u = 3.0 * 2.0 ** random.uniform(-1.0, 1.0, n)
    noise = random.standard_t(4, n) / 2**0.5 if law == "t4" else random.standard_normal(n)
    truth = 50.0 + 9.0 * random.standard_normal(n)
    return Pairs(
        START + HOUR * np.arange(n), truth + (u if follows else 3.0) * noise, u, truth, 0 * u
    )


@pytest.mark.parametrize("law", ["normal", "t4"])
def test_a_u_that_is_noise_tells_nothing_and_a_constant_would_be_better(law):
    words = re.compile(r", but its u tells nothing: a constant (\S+) kg would be better$")
    noisy = [whole(of_varying_u(seed, follows=False, law=law), "kg") for seed in range(30)]
    constants = [float(each[1]) for one in noisy if (each := words.search(one.sentence))]

    assert len(constants) >= 24
    assert np.median(constants) == pytest.approx(3.0, abs=0.3)
    told = [one for one in noisy if words.search(one.sentence)]
    assert all(one.state != "fault" and not one.advice for one in told)
    honest = [whole(of_varying_u(seed, follows=True, law=law), "kg") for seed in range(60)]
    assert not any("tells nothing" in one.sentence for one in honest)


def test_a_constant_u_is_not_said_to_tell_nothing():
    assert not any("tells nothing" in whole(pairs(seed, 300)).sentence for seed in range(30))
