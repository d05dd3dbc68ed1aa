"""Numbers of a line, rounded as people read them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.http import lines

MINUS, SPACE = "\N{MINUS SIGN}", "\N{NARROW NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (lines.signed(-6.27, "kg"), f"{MINUS}6.3 kg"),
        (lines.signed(0.0, "kg"), "0 kg"),
        (lines.placed(0.841237, 0.0006), "0.84124"),
        (lines.placed(503.52, 12.0), "504"),
        (lines.placed(503.52, None), "\N{EN DASH}"),
        (lines.percent(-0.001), "0 %"),
        (lines.percent(0.949), "95 %"),
        (lines.evidence_figure(9.96), "10.0"),
        (lines.evidence_figure(12_345.6), f"12{SPACE}346"),
        (lines.evidence_figure(3.2e27), "3 \N{MULTIPLICATION SIGN} 10²⁷"),
        (lines.evidence_figure(math.nan), "\N{EN DASH}"),
    ],
)
def test_a_number_has_the_digits_that_mean_something(text, expected):
    assert text == expected


@given(st.floats(-1e6, 1e6))
def test_a_short_number_is_within_half_of_its_last_digit(value):
    shown = float(lines.short_number(value).replace(MINUS, "-"))

    assert abs(shown - value) <= max(0.005, abs(value) * 0.005) * (1.0 + 1e-9)
