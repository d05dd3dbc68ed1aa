"""Quantities of a record in the unit each is kept in."""

from __future__ import annotations

import pytest

from monitor.decode import Rejected
from tests.decode.test_mapping import T, observe, reading


def test_pounds_become_kilograms_with_their_uncertainty():
    found = reading(
        {"v": 860, "u": 10, "lo": 840, "hi": 880},
        value="v", u="u", lower="lo", upper="hi", unit="lb", to_unit="kg",
    )  # fmt: skip

    # one pound is 0.45359237 kg by definition
    assert found.value == pytest.approx(390.0894382)
    assert (found.u, found.lower) == (pytest.approx(4.5359237), pytest.approx(381.0175908))
    assert found.upper == pytest.approx(399.1612856)


def test_the_unit_a_payload_states_is_converted():
    found = reading(
        {"v": 0.8412, "U": 0.0006, "k": 2, "unit": "g/cm3"},
        value="v", U="U", k="k", unit_path="unit", to_unit="kg/m3",
    )  # fmt: skip

    assert (found.value, found.u) == (pytest.approx(841.2), pytest.approx(0.3))


def test_a_temperature_is_shifted_but_its_uncertainty_is_not():
    found = reading({"v": 20, "u": 0.5}, value="v", u="u", unit="degC", to_unit="K")

    assert (found.value, found.u) == (pytest.approx(293.15), pytest.approx(0.5))


@pytest.mark.parametrize(
    ("payload", "series"),
    [
        ({"unit": "kg"}, {"unit_path": "unit", "to_unit": "m"}),
        ({"unit": "lb"}, {"unit_path": "unit", "unit": "kg"}),
        ({"unit": "9**9**9"}, {"unit_path": "unit", "to_unit": "kg"}),
        ({}, {"unit_path": "unit", "to_unit": "kg"}),
    ],
)
def test_a_unit_in_conflict_is_refused(payload, series):
    with pytest.raises(Rejected) as caught:
        reading({"v": 1, "u": 1, **payload}, value="v", u="u", **series)

    assert caught.value.reason == "unit"


def test_a_message_with_several_quantities_gives_those_it_has():
    series = [
        {"quantity": "a", "value": "a.v", "u": "a.u"},
        {"quantity": "b", "value": "b.v", "u": "b.u"},
    ]

    found = observe({"t": T, "b": {"v": 2, "u": 1}}, series=series)
    (nothing,) = observe({"t": T}, series=series)

    assert [each.quantity for each in found] == ["b"]
    assert nothing.reason == "missing_field"
    assert observe({"t": T}, series=series, optional=True) == []


def test_an_interval_of_a_reference_becomes_its_standard_uncertainty():
    series = [{"value": "v", "lower": "lo", "upper": "hi", "p": 0.95}]

    (found,) = observe({"t": T, "v": 5, "lo": 3.04, "hi": 6.96}, kind="reference", series=series)

    assert found.u == pytest.approx(1.96 / 1.959963985)


def test_tenths_become_the_unit_and_numbers_of_the_settings_are_in_it():
    sent = {"v": 215, "u": 3, "lo": 200, "hi": 230, "q": [200, 215, 230], "x": [10, 20, 40]}
    how = {"scale": 0.1, "offset": -40.0, "unit": "degC", "to_unit": "K"}

    found = reading(sent, value="v", u="u", lower="lo", upper="hi", p=0.9, **how)
    assert (found.value, found.u) == (pytest.approx(254.65), pytest.approx(0.3))
    assert (found.lower, found.upper) == (pytest.approx(253.15), pytest.approx(256.15))
    assert reading(sent, value="v", u=0.5, **how).u == 0.5
    assert reading(sent, value="v", U="u", k=3, **how).u == pytest.approx(0.1)
    assert reading(sent, value="v", percent=1, scale=0.1, unit="kg").u == pytest.approx(0.1075)
    quantiles = {"0.05": "q[0]", "0.5": "q[1]", "0.95": "q[2]"}
    assert reading(sent, quantiles=quantiles, **how).lower == pytest.approx(253.15)
    plain = reading({"x": [1.0, 2.0, 4.0]}, samples="x")
    tenths = reading(sent, samples="x", scale=0.1)
    assert (tenths.value, tenths.u) == (pytest.approx(plain.value), pytest.approx(plain.u))


def test_an_error_value_is_the_number_that_is_sent():
    with pytest.raises(Rejected, match=r"no_reading: .* is 850, one of error_values"):
        reading({"v": 850}, value="v", u=1.0, scale=0.1, error_values=(850.0,))


def of_text(text):
    series = [{"value": "v", "u": 1.0, "to_unit": "kg"}]
    (found,) = observe({"t": T, "v": text}, series=series, number_texts=True)
    return found


@pytest.mark.parametrize(
    ("text", "kg"),
    [("12.34 kg", 12.34), ("812g", 0.812), ("- 21,5 kg", -21.5), ("1e3 mg", 0.001), ("12.5", 12.5)],
)
def test_a_value_in_a_text_has_the_unit_that_stands_with_it(text, kg):
    found = of_text(text)

    assert found.value == pytest.approx(kg, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("21.5 °C", "unit"),
        ("12abc", "bad_field"),
        ("2026-03-01", "bad_field"),
        ("12:30", "bad_field"),
        ("0x1F", "bad_field"),
        ("1,234.5 kg", "bad_field"),
        ("5 of 10", "bad_field"),
    ],
)
def test_a_text_with_another_unit_or_none_that_is_known_is_refused(text, reason):
    refused = of_text(text)

    assert (refused.reason, text in refused.detail) == (reason, reason != "unit")


def test_a_text_with_a_unit_is_no_number_unless_the_settings_say_so():
    with pytest.raises(Rejected, match=r"send 12.34 without quotes, or .* number_texts: true"):
        reading({"v": "12.34 kg"}, value="v", u=1.0)
