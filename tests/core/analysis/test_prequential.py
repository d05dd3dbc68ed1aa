"""Adjustments judged on pairs that come after those they were chosen from."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scoringrules
from harness.series import pairs

from monitor.core.analysis.adjustments import (
    METHODS,
    applied,
)
from monitor.core.analysis.prequential import advice_anew, prequential, trials
from monitor.core.scores import proper_scores
from monitor.core.verdict import FAULT, Verdict
from monitor.core.verdict.verdict import NO_REMEDY
from tests.core.analysis.test_adjustments import faulty


def test_a_pair_is_judged_by_a_choice_made_before_it():
    """The mean CRPS worked out again, window by window, with another library's CRPS."""
    c = faulty(8, 130, offset=2.0, u_times=0.6)
    rows = {"before": [], "after": []}
    for begin in range(40, 130, 30):
        past, following = (slice(begin - 30, begin), slice(begin, begin + 30))
        weight = 1.0 / c.u[past] ** 2
        offset = np.sum(weight * c.error[past]) / np.sum(weight)
        scale = np.sqrt(np.mean((c.error[past] - offset) ** 2 / c.u[past] ** 2))
        for name, shift, factor in (("before", 0.0, 1.0), ("after", offset, scale)):
            rows[name].append(
                scoringrules.crps_normal(
                    c.reference[following], c.value[following] - shift, factor * c.u[following]
                )
            )
    want = {name: float(np.mean(parts)) for name, parts in rows.items()}

    got = prequential(c, "both", 30)

    assert got.pairs == 90
    assert got.crps.before == pytest.approx(want["before"], rel=1e-12)
    assert got.crps.after == pytest.approx(want["after"], rel=1e-12)


def share_saved(c, window, change, name):
    """Return what a choice made before saves, over what one made with hindsight would."""
    least = []
    for begin in range(window + c.value.size % window, c.value.size, window):
        following = c.rows(slice(begin, begin + window))
        best = applied(following, METHODS["both"](following))
        least.append(proper_scores.SCORES[name].rows(best).mean())
    return (change.before - change.after) / (change.before - np.mean(least))


@pytest.mark.parametrize("density", ["normal", "tophat"])
@pytest.mark.parametrize(
    ("fault", "right", "wrong"),
    [
        ({"offset": 3.0}, "offset", None),
        ({"u_times": 0.25}, "scale", "offset"),
        ({"u_times": 4.0}, "scale", "offset"),
        ({"offset": 3.0, "u_times": 0.25}, "both", "scale"),
    ],
)
def test_the_right_remedy_recovers_nearly_all_and_the_wrong_one_little(
    fault, right, wrong, density
):
    c = faulty(9, 2000, **fault)

    hat = "_tophat" if density == "tophat" else ""

    good = prequential(c, right, 100, density)

    for name, change in (("crps", good.crps), ("quadratic", good.quadratic)):
        assert 0.85 <= share_saved(c, 100, change, f"{name}{hat}") <= 1.15
        assert change.after < change.before
    assert good.zms[1] == pytest.approx(1.0, abs=0.1)
    assert good.coverage[1] == pytest.approx(0.9, abs=0.03)
    if wrong is not None:
        change = prequential(c, wrong, 100, density).crps
        assert share_saved(c, 100, change, f"crps{hat}") < 0.5


def test_nothing_is_saved_on_an_honest_series_and_a_choice_from_few_pairs_does_harm():
    c = faulty(10, 4000)

    many, few = (prequential(c, "both", window) for window in (500, 20))

    assert many.crps.after == pytest.approx(many.crps.before, rel=0.01)
    assert few.crps.after > 1.01 * few.crps.before


def test_yesterdays_offset_does_not_mend_a_drift():
    steady, drifting = faulty(11, 1000, offset=3.0), faulty(11, 1000, drift=0.05)

    recovered = [
        share_saved(c, 100, prequential(c, "offset", 100).crps, "crps") for c in (steady, drifting)
    ]

    assert recovered[0] > 0.9
    assert recovered[1] < 0.95
    assert abs(prequential(drifting, "offset", 20).zms[1] - 1.0) < abs(
        prequential(drifting, "offset", 200).zms[1] - 1.0
    )


def test_too_few_pairs_or_no_usable_choice_are_no_trial():
    assert prequential(faulty(13, 59), "both", 30) is None
    assert prequential(faulty(13, 60), "both", 30) is not None
    assert prequential(faulty(13, 16), "conformal", 8) is None
    perfect = pairs(np.ones(60), 1.0, 1.0)
    assert prequential(perfect, "scale", 30) is None
    unchanged = prequential(perfect, "offset", 30).crps
    assert unchanged.after == unchanged.before


FAULTY = Verdict(FAULT, "offset", remedy=NO_REMEDY._replace(more=math.inf))


def wandering(seed, n, *, steps=3.0, lasts=150, offset=0.0):
    """Return an honest sensor with an offset that is another one every ``lasts`` pairs."""
    random = np.random.default_rng(seed)
    reference = random.normal(20.0, 5.0, n)
    level = np.repeat(steps * random.standard_normal(n // lasts + 1), lasts)[:n] + offset
    return pairs(reference + level + random.standard_normal(n), reference, np.ones(n))


@pytest.mark.parametrize("seed", range(5))
def test_a_sensor_whose_offset_moves_is_to_be_adjusted_anew(seed):
    c = wandering(seed, 3000, lasts=300)
    best = min(trials(c), key=lambda each: each.crps.after)
    advice = advice_anew(c, FAULTY, "kg")

    assert advice.startswith("adjust it anew every 50 pairs, by the mean error")
    assert f"(mean CRPS from {best.crps.before:.3g} to {best.crps.after:.3g} kg on 2950 " in advice
    assert best.crps.after < 0.7 * best.crps.before


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_one_that_is_right_or_wrong_in_one_way_is_not(seed, offset):
    assert advice_anew(wandering(seed, 1500, steps=0.0, offset=offset), FAULTY, "kg") == ""
    assert advice_anew(wandering(seed, 250, offset=offset), FAULTY, "kg") == ""
