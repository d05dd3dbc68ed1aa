"""A state becomes one plain sentence, whatever the numbers are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from series import pairs

from monitor.core.detector.e_values import FAMILIES
from monitor.core.diagnosis.fault_reports import fault_report
from monitor.core.diagnosis.sentences import direction
from monitor.core.formatting import amount
from monitor.core.snapshot.state_sentences import sentence

CHANCE = np.random.default_rng(3)
Z = CHANCE.standard_normal(200)
Z = (Z - Z.mean()) / Z.std()


def judged(error, u=5.0, unit="kg", leading="offset", alarm=None):
    error = np.asarray(error, dtype=float)
    reference = 500.0 + 100.0 * np.random.default_rng(4).standard_normal(error.size)
    return fault_report(
        pairs(reference + error, reference, u, u_ref=0.1), 0.0, leading, alarm, unit
    )


@pytest.mark.parametrize(
    ("error", "leading", "alert", "says", "advice"),
    [
        (5.0 * Z + 6.2, "offset", "offset", "kg heavy (", "subtract 6.2 kg"),
        (5.0 * Z - 6.2, "offset", "offset", "kg light (", "add 6.2 kg"),
        (
            10.0 * Z,
            "understated",
            "understated",
            "understates its uncertainty 2.0 times (",
            "multiply its u by 2",
        ),
        (
            2.5 * Z,
            "overstated",
            "overstated",
            "overstates its uncertainty 2.1 times (",
            "multiply its u by 0.4",
        ),
        (
            np.where(np.arange(200) % 14, 5.0 * Z, 60.0),
            "outliers",
            "outliers",
            "% of its readings (",
            "look at",
        ),
        (10.0 * Z + 12.0, "offset", "offset", "kg heavy (", "and multiply its u by 2"),
    ],
)
def test_a_fault_is_named_with_its_size_its_interval_and_what_mends_it(
    error, leading, alert, says, advice
):
    found = judged(error, leading=leading)

    assert found.alert == alert
    assert says in found.sentence
    assert "since 1970-01-01" in found.sentence
    assert advice in found.advice
    assert sentence("firing", found, 200, {}) == found.sentence
    assert sentence("pending", found, 200, {}).endswith(found.sentence)


def test_with_few_pairs_it_says_that_it_is_not_clear():
    found = judged([50.0, 60.0], alarm=1)

    assert found.alert == "offset"
    assert "not clear yet in which way (2 pairs)" in found.sentence
    assert found.advice == ""


EVEN = np.tile([5.0, -5.0], 100)


@pytest.mark.parametrize(
    ("error", "leading"),
    [(EVEN + 0.3, "offset"), (1.02 * EVEN, "understated"), (0.98 * EVEN, "overstated")],
)
def test_what_may_be_nothing_has_no_size_and_no_advice_until_it_fires(error, leading):
    pending, fired = (judged(error, leading=leading, alarm=at) for at in (None, 150))

    assert pending.estimate.lower < (0.0 if leading == "offset" else 1.0) < pending.estimate.upper
    assert (pending.alert, pending.advice) == (leading, "")
    told = sentence("pending", pending, 200, {})
    assert told == "something may be wrong, not clear yet in which way (200 pairs)"
    assert "kg" not in pending.sentence
    assert fired.advice.startswith("nothing yet")


def test_other_quantities_are_high_or_low():
    assert judged(5.0 * Z - 6.2, unit="ppb").sentence.startswith("reads 6.2 ppb low")
    assert [direction(1.0, "kg"), direction(-1.0, "kg"), direction(1.0, "K")] == [
        "heavy",
        "light",
        "high",
    ]


def test_the_reference_is_named_where_it_blurs_the_verdict():
    told = sentence("ok", None, 50, {"calibration_u_ref_ratio": 0.5})

    assert told == "as right as it says (seen through a reference 0.5 times as uncertain as itself)"
    assert sentence("stale", None, 50, {"calibration_u_ref_ratio": 0.5}) == "no readings any more"
    assert sentence("ok", None, 50, {"calibration_u_ref_ratio": math.nan}) == "as right as it says"


@given(
    state=st.sampled_from(["unknown", "ok", "pending", "firing", "stale"]),
    leading=st.sampled_from(FAMILIES),
    error=st.lists(st.floats(-1e15, 1e15), min_size=1, max_size=60),
    u=st.floats(1e-12, 1e15),
)
def test_there_is_a_sentence_for_every_number(state, leading, error, u):
    with np.errstate(over="ignore", invalid="ignore"):
        found = judged(error, u, leading=leading, alarm=len(error) - 1)

    assert sentence(state, found, 7, {})
    assert "nan" not in found.sentence
    assert sentence(state, None, 7, {})


def test_amounts_have_two_digits():
    assert [amount(x, "kg") for x in (0.0123, 6.25, 62.5, 1234.5)] == [
        "0.012 kg",
        "6.2 kg",
        "62 kg",
        "1234 kg",
    ]
