"""Whatever finite pairs come, a verdict raises nothing, and no number in it is absurd."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from harness.verdict_sensors import whole
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.verdict import UNDECIDED, Pairs, judge, judge_all

STATES = ("right", "fault", UNDECIDED)
SIZES = (1e-12, 1e-3, 1.0, 1e3, 1e15)


@st.composite
def series(draw, most=90):
    """Draw pairs whose columns are constant, repeated, drawn from few values, or of any size."""
    n = draw(st.integers(0, most))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size, about = draw(st.sampled_from(SIZES)), draw(st.sampled_from((0.0, 1.0, 1e15)))
    reference = about + size * _column(draw, random, n)
    far = draw(st.sampled_from(SIZES)) * draw(st.sampled_from((0.0, 1.0)))
    value = reference + far * _column(draw, random, n)
    u = draw(st.sampled_from(SIZES)) * (1.0 + np.abs(_column(draw, random, n)))
    if draw(st.booleans()):
        u = u * 10.0 ** random.integers(-6, 7, n)
    u_ref = draw(st.sampled_from((0.0, 0.1, 1.0, 1e3))) * u
    times = {
        "hours": 3600.0 * np.arange(n),
        "equal": np.zeros(n),
        "in bursts": 3600.0 * np.floor(np.arange(n) / 7.0),
        "backward": -60.0 * np.arange(n),
    }
    time = 1.7e9 + times[draw(st.sampled_from(sorted(times)))]
    return Pairs(time, value, u, reference, u_ref, timed=draw(st.booleans()))


def _column(draw, random, n):
    kind = draw(st.sampled_from(("normal", "constant", "two values", "heavy", "one wild")))
    if kind == "constant":
        return np.full(n, draw(st.sampled_from((0.0, 1.0, -3.0))))
    if kind == "two values":
        return random.integers(0, 2, n).astype(float)
    if kind == "heavy":
        return np.clip(random.standard_t(1, n), -1e6, 1e6)
    found = random.standard_normal(n)
    if kind == "one wild" and n:
        found[random.integers(n)] = 1e9
    return found


def holds(verdict, p):
    text = f"{verdict.sentence} {verdict.advice}"
    assert verdict.sentence
    assert not re.search(r"\b(nan|inf)\b", text), text
    assert verdict.state in STATES
    assert 0 <= verdict.since <= max(p.n - 1, 0)
    assert 0 <= verdict.segment <= max(p.n - 1, 0)
    for each in (verdict.level, verdict.scale, verdict.gain, verdict.slope_per_day):
        if each.is_known:
            assert each.lower <= each.value <= each.upper
    if verdict.level.is_known:
        # A line's end may be beyond its errors, but not beyond all measure.
        most = 10.0 * float(np.max(np.abs(p.error))) + 10.0 * float(np.max(np.hypot(p.u, p.u_ref)))
        blur = 10.0 * 2.0**-51 * float(np.max(np.abs(p.value) + np.abs(p.reference)))
        assert abs(verdict.level.value) <= most + blur
    if verdict.scale.is_known:
        assert verdict.scale.lower >= 0.0
    remedy = verdict.remedy
    assert (remedy is not None) == (verdict.state == "fault")
    if remedy is not None and remedy.kind != "none":
        assert remedy.crps_after < remedy.crps_before
        assert math.isnan(remedy.scale_u) or 0.0 < remedy.scale_u < math.inf


@given(p=series(), part=st.floats(0.0, 1.0))
def test_any_pairs_have_a_verdict_without_a_warning(p, part):
    with np.errstate(all="raise", under="ignore"):
        holds(judge(p, alarm=int(part * max(p.n - 1, 0)), unit="kg"), p)
        holds(whole(p, unit="kg"), p)


@given(some=st.lists(series(most=70), max_size=6))
def test_any_pairs_are_judged_among_others_as_alone(some):
    with np.errstate(all="raise", under="ignore"):
        many = judge_all(some, alarm=[p.n // 2 for p in some])
        for p, found in zip(some, many, strict=True):
            assert repr(found) == repr(judge(p, alarm=p.n // 2))


@given(p=series(most=3))
def test_a_few_pairs_are_undecided(p):
    assert judge(p, alarm=0).state == UNDECIDED
    assert whole(p).state == UNDECIDED


@pytest.mark.parametrize("n", [40, 300, 512])
def test_a_reference_less_certain_than_the_sensor_is_no_fault(n):
    """Of an honest pair whose reference's uncertainty is five times the sensor's."""
    random = np.random.default_rng(n)
    found = []
    for _ in range(10):
        reference, ones = random.normal(20.0, 10.0, n), np.ones(n)
        value = reference + math.sqrt(26.0) * random.standard_normal(n)
        found.append(whole(Pairs(60.0 * np.arange(n), value, ones, reference, 5.0 * ones)))

    assert [each.state for each in found].count("fault") <= 1, found
