"""Units of D-SI."""

from __future__ import annotations

import re

import pint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.extensions.certificates.dsi_units import DsiUnitError, dsi_of_unit, unit_of_dsi

UNITS = ("metre", "kilogram", "second", "kelvin", "pascal", "siemens", "litre", "tonne", "day")


PREFIXES = ("", "kilo", "milli", "micro", "hecto", "femto")


FACTORS = st.tuples(
    st.sampled_from(PREFIXES), st.sampled_from(UNITS), st.integers(1, 4), st.booleans()
).filter(lambda each: not (each[0] and each[1] in ("kilogram", "tonne", "day")))


@given(st.lists(FACTORS, min_size=1, max_size=4))
def test_a_d_si_unit_means_what_its_english_names_do(factors):
    registry = pint.get_application_registry()
    expected, dsi = registry.Quantity(1.0, ""), ""
    for prefix, word, power, per in factors:
        dsi += ("\\per" if per else "") + (f"\\{prefix}" if prefix else "") + f"\\{word}"
        dsi += f"\\tothe{{{power}}}" if power > 1 else ""
        expected *= registry.Quantity(1.0, f"{prefix}{word}") ** (-power if per else power)

    text = unit_of_dsi(dsi)

    again = registry.Quantity(1.0, re.sub(r"(?<=[a-zA-Zµ])(\d)", r"^\1", text))
    assert (again / expected).to_base_units().magnitude == pytest.approx(1.0)
    assert (again / expected).dimensionless


@pytest.mark.parametrize(
    ("unit", "dsi"),
    [
        ("kg", "\\kilogram"),
        ("°C", "\\degreecelsius"),
        ("degC", "\\degreecelsius"),
        ("ug/m3", "\\micro\\gram\\per\\metre\\tothe{3}"),
        ("uS/cm", "\\micro\\siemens\\per\\centi\\metre"),
        ("hPa", "\\hecto\\pascal"),
        ("%", "\\percent"),
        ("pH", "\\one"),  # pint reads a picohenry
    ],
)
def test_units_of_series_have_a_d_si_form(unit, dsi):
    assert dsi_of_unit(unit) == dsi


@pytest.mark.parametrize("unit", ["", "C", "°F", "mmHg", "no such", "kWh", "__import__('os')"])
def test_a_unit_without_a_d_si_form_is_told(unit):
    with pytest.raises(DsiUnitError):
        dsi_of_unit(unit)


@pytest.mark.parametrize(("dsi", "text"), [("\\milli\\candela", "millicandela"), ("\\one", "1")])
def test_a_symbol_that_would_be_read_as_something_else_is_written_out(dsi, text):
    assert unit_of_dsi(dsi) == text
