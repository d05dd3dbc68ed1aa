"""A verdict on pairs that no statistic is made for: a plain word, never an exception or a nan."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from harness.verdict_sensors import whole

from monitor.core.verdict import Pairs, judge


def made(n, *, value=None, u=None, reference=None, time=None, seed=0, u_ref=None):
    random = np.random.default_rng(seed)
    reference = random.normal(20.0, 3.0, n) if reference is None else np.broadcast_to(reference, n)
    u = np.broadcast_to(1.0 if u is None else u, n).astype(float)
    value = reference + u * random.standard_normal(n) if value is None else value
    return Pairs(
        time=np.arange(n) * 60.0 if time is None else np.broadcast_to(time, n).astype(float),
        value=np.broadcast_to(value, n).astype(float),
        u=u,
        reference=np.asarray(reference, dtype=float),
        u_ref=np.broadcast_to(0.0 if u_ref is None else u_ref, n).astype(float),
    )


def huge(n, seed):
    random = np.random.default_rng(seed)
    reference = 1e15 * random.standard_normal(n)
    return made(n, value=reference + random.standard_normal(n), u=1e-12, reference=reference)


HOSTILE = {
    "equal times": lambda n, seed: made(n, time=1.7e9, seed=seed),
    "all constant": lambda n, _: made(n, value=5.0, reference=5.0),
    "constant value": lambda n, seed: made(n, value=5.0, seed=seed),
    "constant reference": lambda n, seed: made(n, reference=5.0, seed=seed),
    "constant error": lambda n, _: made(n, value=6.0, reference=5.0),
    "u of 1e-12 beside references of 1e15": huge,
    "tiny u": lambda n, seed: made(
        n, value=np.random.default_rng(seed).normal(0, 1e12, n), reference=0.0, u=1e-12
    ),
    "huge u": lambda n, _: made(n, value=5.0, reference=4.0, u=1e15),
    "u over thirty decades": lambda n, seed: made(
        n, u=10.0 ** np.random.default_rng(seed).uniform(-15, 15, n), seed=seed
    ),
    "one wild pair": lambda n, _: made(
        n, value=np.where(np.arange(n) == n - 1, 1e18, 20.0), reference=20.0
    ),
    "backward times": lambda n, seed: made(n, time=-np.arange(n), seed=seed),
    "reference less certain than all": lambda n, seed: made(n, u_ref=1e6, seed=seed),
    "two values": lambda n, _: made(n, value=np.arange(n) % 2, reference=np.arange(n) % 2),
}


def said(p):
    for alarm in (0, p.n // 2, p.n - 1):
        if p.n:
            yield judge(p, alarm=alarm, unit="kg")
    yield whole(p, unit="kg")


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 8, 9, 13, 40, 70, 300, 512])
@pytest.mark.parametrize("kind", sorted(HOSTILE))
def test_says_something_plain_of_any_pairs(kind, n):
    for verdict in said(HOSTILE[kind](n, n)):
        text = f"{verdict.sentence} {verdict.advice}"

        assert verdict.sentence
        assert not re.search(r"\bnan\b|\binf\b", text), text
        assert verdict.state in ("right", "fault", "undecided")
        assert 0 <= verdict.since <= max(n - 1, 0)
        assert 0 <= verdict.segment <= max(n - 1, 0)
        remedy = verdict.remedy
        if remedy is not None and remedy.kind != "none":
            assert math.isnan(remedy.scale_u) or 0.0 < remedy.scale_u < math.inf
            assert remedy.crps_after < remedy.crps_before


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_window_of_a_few_pairs_is_undecided(n):
    verdict = judge(made(n, value=100.0, reference=0.0), alarm=n - 1)

    assert verdict.state == "undecided"
    assert "no fault found yet" in verdict.sentence or "not clear yet" in verdict.sentence


def test_an_error_within_the_resolution_of_doubles_is_no_fault():
    """1e15 has neighbours 0.125 apart: a u of 1e-12 cannot be wrong by that."""
    random = np.random.default_rng(5)
    reference = 1e15 + 1e14 * random.random(300)
    value = np.nextafter(reference, random.choice([0.0, 1e16], 300))
    p = made(300, value=value, reference=reference, u=1e-12)

    assert whole(p).state != "fault"
    assert judge(p, alarm=150).state != "fault"


def test_without_times_there_is_no_date_and_no_rate():
    p = made(300, seed=3)
    error = np.where(np.arange(300) >= 100, 0.05 * (np.arange(300) - 100), 0.0)
    drifting = Pairs(p.time, p.value + error, p.u, p.reference, p.u_ref, timed=False)
    verdict = judge(drifting, alarm=180)

    assert verdict.fault == "drift"
    assert "since" not in verdict.sentence
    assert math.isnan(verdict.began)
    assert math.isnan(verdict.due)
    assert math.isnan(verdict.slope_per_day.value)


def test_uncertainties_ten_orders_apart_have_no_level_beyond_their_errors():
    u = np.array([2.2e-16, 1.3e-6, 1.9e-7, 2.9e-8])
    value, none = np.array([0.0, 1e-12, 0.0, 0.0]), np.zeros(4)

    found = judge(Pairs(np.arange(4.0), value, u, none, none, timed=False), alarm=0)

    assert abs(found.level.value) < 1e-6
    assert found.state == "undecided"
