"""A state becomes one plain sentence, whatever the numbers are."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from harness.series import pairs
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.detector.e_values import FAMILIES
from monitor.core.diagnosis.fault_reports import Asked, fault_reports
from monitor.core.formatting import amount
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.snapshot.state_sentences import Circumstances, state_sentence
from monitor.core.verdict import shows
from monitor.core.verdict.sentences import few_far
from monitor.core.verdict.words import direction

N, ONSET, ALARM = 350, 150, 170


def noise(seed=3, n=N):
    return np.random.default_rng(seed).standard_normal(n)


def since_onset(fault, u=5.0, seed=3):
    """Return errors that are honest until ``ONSET`` and ``fault(error)`` from there on."""
    error = u * noise(seed)
    error[ONSET:] = fault(error[ONSET:])
    return error


def judged(error, u=5.0, unit="kg", leading="offset", alarm=ALARM):
    error = np.asarray(error, dtype=float)
    reference = 500.0 + 100.0 * np.random.default_rng(4).standard_normal(error.size)
    made = pairs(reference + error, reference, u, u_ref=0.1)
    (found,) = fault_reports([Asked(made, leading, alarm, rules=SeriesRules(unit=unit))])
    return found


def outlying(error):
    return np.where(np.arange(error.size) % 14, error, 60.0)


def test_a_sensor_that_states_intervals_is_advised_on_their_width():
    error = since_onset(lambda e: 2.0 * e + 30.0)
    reference = 500.0 + 100.0 * noise(4)
    value, half = reference + error, 1.645 * 5.0
    stated = {
        "the width of its interval": {"lower": value - half, "upper": value + half, "p": 0.9},
        "its u": {"u": 5.0, "lower": value - half, "upper": value + half, "p": 0.9},
    }

    for what, claim in stated.items():
        made = pairs(value, reference, u_ref=0.1, **claim)
        (found,) = fault_reports([Asked(made, "offset", ALARM, rules=SeriesRules(unit="kg"))])
        assert f" and multiply {what} by " in found.verdict.advice


def spoilt(squares):
    """Return how many far errors alone make a mean square too large, in plain words."""
    near = [each for each in squares if each <= 16.0]
    few = len(squares) - len(near)
    if not few or few > 0.05 * len(squares):
        return 0
    return few if sum(near) / len(near) <= 1.5625 < sum(squares) / len(squares) else 0


@given(
    st.lists(
        st.builds(
            lambda others, near: others + [1.0] * near,
            st.lists(st.sampled_from([0.0, 0.5, 1.5625, 2.0, 16.0, 16.5, 625.0]), min_size=1),
            st.integers(0, 60),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_a_few_far_errors_of_each_series_are_counted_where_they_alone_spoil_it(series):
    assert [few_far(np.array(each)) for each in series] == [spoilt(each) for each in series]


@pytest.mark.parametrize(
    ("fault", "leading", "alert", "says", "advice"),
    [
        (lambda e: e + 6.2, "offset", "offset", "kg heavy (", "subtract "),
        (lambda e: e - 6.2, "offset", "offset", "kg light (", "add "),
        (
            *(lambda e: 2.0 * e, "understated", "understated"),
            *("understates its uncertainty ", "multiply its u by 2"),
        ),
        (
            *(lambda e: 0.5 * e, "overstated", "overstated"),
            *("overstates its uncertainty ", "multiply its u by 0."),
        ),
        (outlying, "outliers", "outliers", "% of its pairs (", "look at"),
        (lambda e: 2.0 * e + 30.0, "offset", "offset", "kg heavy (", "and multiply its u by "),
    ],
)
def test_a_fault_is_named_with_its_size_its_interval_and_what_mends_it(
    fault, leading, alert, says, advice
):
    found = judged(since_onset(fault), leading=leading)

    assert found.alert == alert
    assert shows(found.verdict)
    assert says in found.verdict.sentence
    assert "since 1970-01-01" in found.verdict.sentence
    assert advice in found.verdict.advice
    assert state_sentence("firing", found, N, {}) == found.verdict.sentence


def test_with_few_pairs_it_says_that_it_is_not_clear():
    found = judged([50.0, 60.0], alarm=1)

    assert found.alert == "offset"
    assert "not clear yet in which way (2 pairs)" in found.verdict.sentence
    assert found.verdict.advice == ""


@pytest.mark.parametrize("leading", ["offset", "understated", "overstated"])
def test_what_may_be_nothing_has_no_size_and_no_advice(leading):
    pending, fired = (judged(5.0 * noise(), leading=leading, alarm=at) for at in (None, 340))

    for found in (pending, fired):
        assert (found.alert, shows(found.verdict)) == (leading, False)
        assert "kg" not in found.verdict.sentence
        assert "since" not in found.verdict.sentence
    told = state_sentence("pending", pending, N, {})
    assert told == f"right within 0.2 u and a factor of 1.2 ({N} pairs)"
    vague = "is not as right as it says; not clear yet in which way"
    assert fired.verdict.sentence.startswith(vague)
    assert pending.verdict.advice == fired.verdict.advice == ""


def test_what_the_pairs_show_is_told_before_the_alert_fires():
    clear = judged(since_onset(lambda error: error + 20.0), alarm=None)
    vague = judged(5.0 * noise()[:60] + 2.8, alarm=None)

    told = state_sentence("pending", clear, N, {})
    assert re.match(r"reads (19|20|21)\.?\d* kg heavy \(.*\), since ", told)
    told = state_sentence("pending", vague, 60, {})
    assert re.match(r"may be wrong, not sure yet: reads \d\.?\d* kg heavy \(", told), told


def test_a_fault_that_is_gone_is_told_with_its_date_and_nothing_to_do():
    error = 5.0 * noise()
    error[ONSET : ONSET + 60] += 40.0
    found = judged(error)

    assert "had a fault that began 1970-01-01" in found.verdict.sentence
    assert "no longer show it" in found.verdict.sentence
    assert found.verdict.advice.startswith("nothing yet")


def test_other_quantities_are_high_or_low():
    found = judged(since_onset(lambda error: error - 6.2), unit="ppb")

    assert " ppb low (" in found.verdict.sentence
    assert [direction(1.0, "kg"), direction(-1.0, "kg"), direction(1.0, "K")] == [
        "heavy",
        "light",
        "high",
    ]


def test_the_reference_is_named_where_it_blurs_the_verdict():
    calm = Circumstances(calm="right within 0.4 u and a factor of 1.3 (80 pairs)")
    told = state_sentence("ok", None, 80, {"calibration_u_ref_ratio": 0.5}, calm)

    assert told == f"{calm.calm} (its reference is 0.5 times as uncertain as the sensor)"
    assert (
        state_sentence("stale", None, 50, {"calibration_u_ref_ratio": 0.5})
        == "has stopped sending usable readings"
    )
    assert state_sentence("ok", None, 80, {"calibration_u_ref_ratio": math.nan}, calm) == calm.calm


def test_what_was_wrong_before_a_sensor_fell_silent_stands_beside_its_advice():
    found = judged(since_onset(lambda error: error - 6.2), unit="ppb")

    assert state_sentence("stale", found, 50, {}) == (
        f"has stopped sending usable readings; before: {found.verdict.sentence}"
    )


def test_the_page_of_concepts_quotes_what_is_told_of_an_uncertain_reference():
    page = (Path(__file__).parents[3] / "docs" / "concepts.md").read_text(encoding="utf-8")
    told = state_sentence("ok", None, 50, {"calibration_u_ref_ratio": 0.6})

    assert told.rpartition("(")[2].removesuffix(")") in " ".join(page.split())


@given(
    state=st.sampled_from(["unknown", "ok", "pending", "firing", "stale"]),
    leading=st.sampled_from(FAMILIES),
    error=st.lists(st.floats(-1e15, 1e15), min_size=1, max_size=60),
    u=st.floats(1e-12, 1e15),
)
def test_there_is_a_sentence_for_every_number(state, leading, error, u):
    with np.errstate(over="ignore", invalid="ignore"):
        found = judged(error, u, leading=leading, alarm=len(error) - 1)

    assert state_sentence(state, found, 7, {})
    assert "nan" not in found.verdict.sentence
    assert state_sentence(state, None, 7, {})


def test_amounts_have_two_digits():
    assert [amount(x, "kg") for x in (0.0123, 6.25, 62.5, 1234.5)] == [
        "0.012 kg",
        "6.2 kg",
        "62 kg",
        "1234 kg",
    ]
