"""Adjustments and their check on the next window, against definitions and simulated faults."""

from __future__ import annotations

import numpy as np
import pytest
from harness.series import drawn, pairs

from monitor.core.analysis import adjustments
from monitor.core.analysis.adjustments import (
    METHODS,
    Adjustment,
    applied,
    suggestions,
)
from monitor.core.analysis.prequential import prequential
from monitor.core.scores import calibration, characteristics, proper_scores


def faulty(seed=0, n=400, *, offset=0.0, gain=1.0, u_times=1.0, floor=0.0, drift=0.0):
    """Return a sensor whose value, u or both are wrong in a known way."""
    random = np.random.default_rng(seed)
    u = np.exp(random.normal(0.0, 0.4, n))
    reference = random.normal(100.0, 30.0, n)
    noise = u * random.normal(size=n) + floor * random.normal(size=n)
    value = gain * (reference + noise) + offset + drift * np.arange(n)
    return pairs(value, reference, u_times * gain * u)


def test_an_adjustment_does_what_it_says_to_value_u_and_both_half_widths():
    c = drawn(1, (50,), skewed=True)

    got = applied(c, Adjustment(offset=2.0, gain=0.5, scales=(3.0,), addend=0.25))

    np.testing.assert_allclose(got.value, (c.value - 2.0) / 0.5, rtol=1e-12)
    np.testing.assert_allclose(got.value - got.lower, 6.0 * (c.value - c.lower) + 0.25, rtol=1e-9)
    np.testing.assert_allclose(got.upper - got.value, 6.0 * (c.upper - c.value) + 0.25, rtol=1e-9)
    np.testing.assert_allclose(got.u, 6.0 * c.u + 0.25 / 1.6448536269514722, rtol=1e-12)
    np.testing.assert_array_equal(got.reference, c.reference)
    same = applied(c, Adjustment())
    for name in ("value", "u"):
        np.testing.assert_array_equal(getattr(same, name), getattr(c, name))


def test_a_negative_addend_never_takes_all_of_u():
    c = drawn(2, (50,))

    got = applied(c, Adjustment(addend=-100.0))

    np.testing.assert_allclose(got.u, 0.01 * c.u, rtol=1e-9)
    np.testing.assert_allclose(got.width, 0.01 * c.width, rtol=1e-6)


def test_each_method_reaches_its_aim_on_the_pairs_it_has_seen():
    c = faulty(3, offset=1.5, u_times=0.5)
    after = {name: applied(c, method(c)) for name, method in METHODS.items()}

    weight = 1.0 / c.u_eff**2
    assert np.sum(weight * after["offset"].error) == pytest.approx(0.0, abs=1e-9)
    assert calibration.zms(after["scale"])[0] == pytest.approx(1.0, rel=1e-12)
    assert calibration.zms(after["both"])[0] == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(np.sqrt(calibration.zms(after["bins"])), 1.0, rtol=1e-12)
    optimal = characteristics.scale_optimal(after["optimal"])[0]
    assert optimal == pytest.approx(1.0, rel=1e-9)
    for name in ("conformal", "addend"):
        held = calibration.coverage(after[name])[0]
        assert held == pytest.approx(np.ceil(401 * 0.9) / 400, abs=1.5 / 400)
    assert after["gain"].error.mean() == pytest.approx(0.0, abs=1e-9)


def test_bins_scale_each_tenth_of_u_by_its_own_root():
    c = faulty(4, 300)
    wrong = pairs(c.value, c.reference, np.where(c.u > np.median(c.u), 0.3 * c.u, c.u))

    got = applied(wrong, METHODS["bins"](wrong))

    order = np.argsort(wrong.u, kind="stable")
    for part in np.array_split(order, 10):
        assert np.mean(got.z[part] ** 2) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "name", "truth"),
    [
        ({"offset": 1.5}, "offset", 1.5),
        ({"gain": 1.2}, "gain", 1.2),
        ({"u_times": 0.5}, "scale", 2.0),
        ({"u_times": 0.5, "offset": 3.0}, "both", 2.0),
        ({"u_times": 0.5}, "optimal", 2.0),
        ({"u_times": 0.5}, "conformal", 2.0),
    ],
)
def test_the_interval_of_each_suggestion_holds_the_truth_nearly_as_often_as_it_says(
    fault, name, truth
):
    found = [suggestions(faulty(seed, 200, **fault))[name] for seed in range(300)]

    held = np.mean([low <= truth <= high for _, low, high in found])
    middle = np.median([value for value, _, _ in found])

    assert 0.88 <= held <= 0.99
    assert middle == pytest.approx(truth, rel=0.06)
    assert all(low <= value <= high for value, low, high in found)


def test_the_interval_of_a_quantile_is_that_of_order_statistics():
    rows = np.random.default_rng(5).normal(size=400)
    ones = np.ones(400)
    estimate = np.sort(rows)[360]

    got = adjustments.quantile_interval(estimate, rows, ones, ones, 0.1, 400.0)

    spread = 1.96 * np.sqrt(0.1 * 0.9 / 400)
    assert got.lower == pytest.approx(np.quantile(rows, 0.9 - spread), abs=0.05)
    assert got.upper == pytest.approx(np.quantile(rows, 0.9 + spread), abs=0.05)


def test_dependent_pairs_have_wider_intervals():
    free, bound = (suggestions(drawn(6, (400,), dependent=rho)) for rho in (0.0, 0.9))

    for name in ("offset", "optimal", "conformal", "addend"):
        assert bound[name].upper - bound[name].lower > 1.3 * (free[name].upper - free[name].lower)


@pytest.mark.parametrize("n", [1, 2, 8])
def test_few_pairs_have_suggestions_or_none_and_no_warning(n):
    found = suggestions(drawn(7, (n,)))

    assert set(found) == {"offset", "gain", "scale", "both", "optimal", "conformal", "addend"}
    assert np.isnan(found["conformal"]).all()
    assert not METHODS["conformal"](drawn(7, (n,))).usable


def test_the_cost_gap_is_what_the_best_scale_with_hindsight_would_still_save():
    c = faulty(12, 600, u_times=0.4)

    tried, untouched = (prequential(c, name, 100) for name in ("optimal", "offset"))

    last = applied(c.rows(slice(500, 600)), METHODS["optimal"](c.rows(slice(400, 500))))
    gap = characteristics.cost(last)[0] - characteristics.cost_optimal(last)[0]
    assert gap >= 0.0
    assert 0.0 <= tried.cost_gap < 0.1 * untouched.cost_gap


def test_scores_are_those_of_the_density_asked_for():
    c = faulty(14, 200)

    got = prequential(c, "offset", 100, "tophat")

    assert got.quadratic.before == pytest.approx(proper_scores.quadratic_tophat(c)[100:].mean())
    assert got.crps.before == pytest.approx(proper_scores.crps_tophat(c)[100:].mean())


@pytest.mark.parametrize("method", ["scale", "both", "bins"])
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_the_factor_on_u_is_that_of_the_sensor_whatever_its_references_are_uncertain_by(
    method, factor
):
    random = np.random.default_rng(2)
    reference = random.normal(100.0, 30.0, 20_000)
    error = random.normal(0.0, np.hypot(factor, 1.0), reference.size)
    u = random.uniform(0.999, 1.001, reference.size)  # of which bins can be made
    c = pairs(reference + error, reference, u, u_ref=1.0)

    chosen = METHODS[method](c)

    assert np.mean(chosen.scales) == pytest.approx(factor, rel=0.03)
    assert float(calibration.zms(applied(c, chosen))[0]) == pytest.approx(1.0, abs=0.02)
    if method != "bins":
        told = suggestions(c)[method]
        assert told.lower < factor < told.upper
