"""A state becomes one plain sentence, whatever the numbers are."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.bets import FAMILIES
from monitor.core.sentences import amount, fault, sentence
from monitor.core.snapshot import SeriesName

CART = SeriesName("cart-03", "mass", "kg")


@pytest.mark.parametrize(
    ("family", "bias", "zms", "said"),
    [
        ("offset", 6.21, 2.0, "reads 6.2 kg heavy"),
        ("offset", -6.21, 2.0, "reads 6.2 kg light"),
        (
            "understated",
            0.0,
            4.0,
            "is less certain than it says: its uncertainty is 2 times too small",
        ),
        (
            "overstated",
            0.0,
            0.25,
            "is more certain than it says: its uncertainty is 2 times too large",
        ),
        (
            "overstated",
            0.0,
            0.0,
            "is more certain than it says: it agrees with the reference exactly",
        ),
    ],
)
def test_faults_are_said_with_sign_size_and_unit(family, bias, zms, said):
    numbers = {"calibration_bias": bias, "calibration_zms": zms}

    assert fault(CART, family, numbers) == said


def test_other_quantities_are_high_or_low():
    numbers = {"calibration_bias": -0.5, "calibration_zms": 2.0}

    assert fault(SeriesName("s", "t", "degC"), "offset", numbers) == "reads 0.5 degC low"


@given(
    state=st.sampled_from(["unknown", "ok", "pending", "firing", "stale"]),
    family=st.sampled_from(FAMILIES),
    bias=st.floats(),
    zms=st.one_of(st.floats(min_value=0.0), st.just(math.nan)),
)
def test_there_is_a_sentence_for_every_number(state, family, bias, zms):
    said = sentence(CART, state, family, 7, {"calibration_bias": bias, "calibration_zms": zms})

    assert said


def test_amounts_have_two_digits():
    assert [amount(x, "kg") for x in (0.0123, 6.25, 62.5, 1234.5)] == [
        "0.012 kg",
        "6.2 kg",
        "62 kg",
        "1234 kg",
    ]
