"""Dependence of errors: learnt whatever the fault."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from harness.cases import further

from monitor.core.detector import whitening
from monitor.core.pairing.series_rules import SeriesRules
from monitor.frames.pair_frames import PairColumns, pairs_of
from monitor.report.recorded import of_pairs
from monitor.report.scored import Scored


def test_a_shape_is_unknown_before_it_is_learnt_and_after_an_event():
    z = np.random.default_rng(12).standard_normal(3000)
    q = np.clip(z, -4, 4)

    few, many = (whitening.learnt_from(*sums(q[:n])).flat[0] for n in (20, 3000))

    assert few < 0.4
    assert many == 1.0
    most = np.array([whitening.MIDDLE_MOST * 2998])
    assert whitening.learnt_from(*sums(q)[:5], most, np.zeros(1)).flat[0] == 0.0


def sums(z):
    """Return the arguments of whitening for the whole of ``z``, written out."""
    q = np.clip(z, -4, 4)
    far = whitening.FAR
    return (
        np.sum((q[2:] - q[1:-1]) ** 2)[None],
        np.sum((q[2:] - q[:-2]) ** 2)[None],
        np.array([z.size - 2.0]),
        np.sum((q[far:] - q[:-far]) ** 2)[None],
        np.array([float(z.size - far)]),
        np.sum(whitening.middle_bet(q[2:]))[None],
        np.zeros(1),
    )


def autoregressive(rho, n, rng):
    z = rng.standard_normal(n)
    for t in range(1, n):
        z[t] = rho * z[t - 1] + np.sqrt(1 - rho * rho) * z[t]
    return z


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6, 0.8])
@pytest.mark.parametrize(
    "fault",
    [
        lambda z: z,
        lambda z: z + 2 * (np.arange(z.size) > 1000),
        lambda z: 3 * z,
        lambda z: z + 0.001 * np.arange(z.size),
    ],
)
def test_autocorrelation_is_learnt_whatever_the_fault(rho, fault):
    z = autoregressive(rho, 2000, np.random.default_rng(3)) / 4  # unclipped after the fault

    learnt = whitening.learnt_from(*sums(fault(z)))

    assert learnt.rho[0] == pytest.approx(rho, abs=0.08)
    assert learnt.lower[0] <= learnt.rho[0] <= learnt.upper[0]


def test_variance_trusted_to_go_is_bounded_for_errors_that_forget_sooner():
    """A moving average has lag-1 autocorrelation 1/2 and none after: D2/D1 - 1 says 1."""
    noise = np.random.default_rng(4).standard_normal(3001)
    z = (noise[1:] + noise[:-1]) / np.sqrt(2)

    learnt = whitening.learnt_from(*sums(z))
    left = z[1:] - learnt.upper * z[:-1]

    claimed = 1 - 2 * learnt.upper * learnt.lower + learnt.upper**2
    assert np.var(left) <= 1.1 * claimed[0]


@pytest.mark.parametrize("step", [0.01, 0.5, 1.0, 7.0, 20.0])
def test_a_value_is_on_a_step_that_its_u_is_of(step):
    places = np.array([each for each in range(-40, 400) if each])
    u = np.full(places.size, step / np.sqrt(12.0))

    assert (whitening.on_step(step * places, u) == 1.0).all()
    assert (whitening.on_step(step * (places + 0.37), u) < 0.0).all()
    assert whitening.on_step(np.zeros(1), np.ones(1)) == 0.0


@pytest.mark.parametrize("digits", [0, 1, 6])
def test_only_values_that_are_all_on_steps_are_of_a_coarse_display(digits):
    value = np.round(np.random.default_rng(2).normal(20.0, 5.0, 500), digits)
    told = whitening.on_step(value, np.full(500, 0.3))
    z = np.random.default_rng(3).standard_normal(500)
    slow, fast = (np.sum(np.minimum(told, np.arange(500) % 10 < few))[None] for few in (9, 3))

    known = [whitening.learnt_from(*sums(z)[:6], each).coarse[0] for each in (slow, fast)]
    assert known == ([1.0, 0.5] if digits == 0 else [0.0, 0.0])


def test_24_bits_of_a_value_are_enough_to_see_its_step():
    value = np.round(np.random.default_rng(5).normal(3000.0, 50.0, 2000), 1)
    u = np.full(2000, 0.029)

    single = whitening.on_step(value.astype(np.float32).astype(np.float64), u)

    assert (single == whitening.on_step(value, u)).all()
    assert (single == 1.0).all()


def coarse(truth: str, step: float, *, off: float = 0.0, noise: float = 0.05) -> Scored:
    """Return what 600 pairs of 20 displays in whole steps are scored as; they read ``off`` high.

    Before it is rounded a value has a ``noise`` that u allows for where it is not small.
    """
    rows, at = [], np.arange(600)
    own = noise if noise > 0.1 else 0.0
    for sensor in range(20):
        chance = np.random.default_rng([20261127, sensor])
        swing = np.sin(2.0 * np.pi * (at / chance.uniform(150.0, 600.0) + chance.random()))
        true = 100.0 + step * (4.0 * swing if truth == "slow" else 20.0 * chance.normal(size=600))
        shown = step * np.rint((true + off) / step + noise * chance.normal(size=600))
        made = {"time": 1.77e9 + 3600.0 * at, "value": shown, "reference": true}
        rows.append(
            pd.DataFrame(
                {"sensor": f"s{sensor:02}", **made, "u": step * np.sqrt(own**2 + 1.0 / 12.0)}
            )
        )
    return Scored(of_pairs(pairs_of(pd.concat(rows), PairColumns()), SeriesRules(level=0.9)), 0.9)


def accused(found: Scored) -> tuple[set[int], set[int]]:
    """Return the series whose alert fired, and those with a fault in the file."""
    fired = {each.series for each in found.recorded.changes if each.after == "firing"}
    return fired, {row for row, each in enumerate(found.verdicts) if each.state == "fault"}


@pytest.mark.parametrize(("step", "noise"), [(0.1, 0.05), (1.0, 0.3), (3.0, 0.0), (10.0, 0.15)])
@pytest.mark.parametrize("truth", ["slow", "fast"])
def test_a_display_in_whole_steps_is_not_accused_of_its_rounding(truth, step, noise):
    fired, faulty = accused(coarse(truth, step, noise=noise))

    assert len(fired) <= 1
    assert len(faulty) <= 1


@pytest.mark.parametrize("truth", ["fast", *further("slow")])
def test_a_display_that_is_off_by_a_step_is_found(truth):
    found = coarse(truth, 1.0, off=1.0)
    fired, faulty = accused(found)

    assert len(fired) == len(faulty) == 20
    sizes = [each.level.value for each in found.verdicts if each.fault == "offset"]
    assert len(sizes) >= 15
    assert np.median(sizes) == pytest.approx(1.0, abs=0.1)
