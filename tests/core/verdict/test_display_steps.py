"""A display in whole steps is not accused of its rounding, and of what is larger it is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from harness.verdict_sensors import START, whole

from monitor.core.verdict import Pairs
from monitor.core.verdict.display_steps import held_within


def display(seed, truth, *, step=1.0, noise=0.0, u_ref=0.0, shown=lambda truth: truth):
    """Return pairs of a display in whole steps that states its rounding; ``truth`` is in steps."""
    random = np.random.default_rng(seed)
    truth = truth(random) + 20.0 + random.random()
    value = np.round(shown(truth) + noise * random.standard_normal(truth.size))
    reference = truth + u_ref * random.standard_normal(truth.size)
    ones = step * np.ones(truth.size)
    u = math.hypot(noise, 1.0 / math.sqrt(12.0)) * ones
    clock = START + 60.0 * np.arange(truth.size)
    return Pairs(clock, step * value, u, step * reference, u_ref * ones)


def walk(each, n):
    return lambda random: np.cumsum(each * random.standard_normal(n))


def rare_moves(n):
    """Return a truth that rests, but for a move in a hundred pairs, and trembles a little."""
    return lambda random: (
        np.cumsum(np.where(random.random(n) < 0.01, random.normal(0.0, 1.5, n), 0.0))
        + 0.05 * random.standard_normal(n)
    )


@pytest.mark.parametrize(
    "changes",
    [{}, {"step": 0.1}, {"step": 5.0}, {"noise": 0.2}, {"u_ref": 0.3}],
    ids=["whole", "tenths", "fives", "noise", "reference"],
)
@pytest.mark.parametrize(
    "truth", [walk(0.02, 600), walk(0.05, 120), rare_moves(120), rare_moves(600)]
)
def test_a_display_that_hardly_moves_is_not_accused_of_its_rounding(truth, changes):
    found = [whole(display(seed, truth, **changes)) for seed in range(20)]

    assert sum(each.state == "fault" for each in found) <= 1, [each.sentence for each in found]


@pytest.mark.parametrize(
    ("shown", "names"),
    [
        (lambda truth: truth + 1.2, {"offset"}),
        (lambda truth: truth + np.linspace(0.0, 3.0, truth.size), {"drift"}),
        (
            lambda truth: np.where(np.arange(truth.size) < 300, truth, truth[300]),
            {"stuck", "clipped"},
        ),
    ],
    ids=["offset", "drift", "stuck"],
)
def test_a_display_that_is_wrong_by_more_than_a_step_is_accused(shown, names):
    found = [whole(display(seed, walk(0.2, 600), shown=shown)) for seed in range(20)]

    assert sum(each.fault in names for each in found) >= 18, [each.sentence for each in found]


def test_the_uncertainty_of_a_display_that_moves_is_judged():
    """All errors lie within half a step, and u is that of two thirds more."""
    p = display(1, walk(0.2, 600))
    found = whole(Pairs(p.time, p.value, 1.73 * p.u, p.reference, p.u_ref))

    assert found.fault == "overstated"


@pytest.mark.parametrize(
    ("u", "u_ref", "step"), [(0.29, 0.0, 1.0), (0.35, 0.3, 1.0), (3.0, 0.0, 1.0)]
)
def test_a_value_is_held_while_its_reference_stays_within_a_step(u, u_ref, step):
    ones = np.ones(50)
    value = np.round(20.3 + 3.0 * np.random.default_rng(1).standard_normal(50))
    p = Pairs(np.arange(50.0), value, u * ones, value, u_ref * ones)

    assert held_within(p, 10) == pytest.approx(step + 8.0 * u_ref, rel=0.05)
    assert held_within(Pairs(p.time, value + 1e-3 * p.time, *(p.u, value, p.u_ref)), 10) < 0.2 * u
