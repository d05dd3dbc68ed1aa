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
