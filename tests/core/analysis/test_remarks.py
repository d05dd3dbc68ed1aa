"""The remarks of a report: each is there when there is something to say, with the right numbers."""

from __future__ import annotations

import numpy as np
import pytest
from harness.series import drawn, pairs
from harness.verdict_sensors import whole

from monitor.core.analysis.remarks import remarks
from monitor.core.verdict import Pairs


def said(c, begins: str) -> list[str]:
    return [each for each in remarks(c, np.random.default_rng(1)) if each.startswith(begins)]


def test_an_honest_sensor_is_within_chance_everywhere():
    c = drawn(3, (1500,))

    (ence,) = said(c, "ENCE is")
    assert float(ence.rsplit("p = ", 1)[1].rstrip(".")) > 0.01
    (by_u,) = said(c, "ZMS in 10 bins")
    assert "of u: none differs from 1 by more than chance" in by_u
    assert len(said(c, "ZMS agrees with 1")) == 1


def test_one_that_is_wrong_where_it_is_least_certain_is_told_so():
    chance = np.random.default_rng(7)
    u = np.where(np.arange(1000) % 10 == 0, 10.0, 1.0) * chance.uniform(0.9, 1.0, 1000)
    error = u * np.where(u > 5.0, 3.0, 1.0) * chance.standard_normal(1000)
    c = pairs(error, np.zeros(1000), u)

    (by_u,) = said(c, "ZMS in 10 bins of u")
    assert "from 1 by more than chance" in by_u
    assert "none" not in by_u
    (flips,) = said(c, "ZMS differs from 1 by more than chance, but would not without the")
    assert int(flips.split("the ", 1)[1].split()[0]) == pytest.approx(100, abs=20)
    (half,) = said(c, "The half with the smaller u")
    assert "against" in half
    (worst,) = said(c, "Its worst score is the interval score")
    assert "above what its own claim predicts" in worst


def test_bins_are_of_what_the_errors_of_an_honest_sensor_do_not_go_with():
    chance = np.random.default_rng(8)
    truth, posterior = 100.0 + 3.0 * chance.standard_normal((2, 4000))
    classical = pairs(truth + chance.standard_normal(4000), truth, np.ones(4000))
    predictive = pairs(posterior, posterior + chance.standard_normal(4000), np.ones(4000))
    for c, model, of in (
        (classical, "classical", "reference"),
        (predictive, "predictive", "value"),
    ):
        made = remarks(c, np.random.default_rng(1), model)
        (said_so,) = [each for each in made if f"bins of {of}" in each]
        assert "none differs from 1 by more than chance" in said_so
        assert whole(Pairs.of(c)).error_model == model


def test_a_constant_u_has_no_bins_but_those_of_time_which_are_not_told_as_its_own():
    error = np.random.default_rng(9).standard_normal(600) + 3.0 * (np.arange(600) >= 300)
    c = pairs(error, np.zeros(600), np.ones(600))

    assert not said(c, "ZMS in")


def test_intervals_of_one_width_are_a_constant_u():
    chance = np.random.default_rng(10)
    value = np.round(chance.normal(500.0, 30.0, 300), 1)
    reference = value + 0.15 * chance.standard_normal(300)
    c = pairs(value, reference, None, value - 0.248, value + 0.248)

    assert np.ptp(c.u) > 0.0
    for begins in ("Its u is so skewed", "The half with the smaller u", "ZMS in"):
        assert not said(c, begins)


def test_skewed_uncertainties_are_warned_of():
    c = pairs(np.zeros(400), np.zeros(400), np.exp(1.5 * np.random.default_rng(2).normal(size=400)))

    assert said(c, "Its u is so skewed")
    assert not said(drawn(1, (400,), spread=0.01), "Its u is so skewed")


def test_too_few_pairs_are_passed_over_without_a_word():
    c = pairs([1.0], [0.5], [1.0])

    assert all("nan" not in each for each in remarks(c, np.random.default_rng(1)))
