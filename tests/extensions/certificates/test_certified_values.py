"""The results of a certificate."""

from __future__ import annotations

import math
import re
from datetime import date

import pytest
from harness.dcc_examples import (
    D_SI_1,
    D_SI_2,
    HYBRID,
    LISTS_1,
    LISTS_2,
    certificate,
    quantity,
    real,
)

from monitor.errors import BAD_INPUT
from monitor.extensions.certificates.dcc import read_certificate
from tests.extensions.certificates.conftest import FILE


@pytest.mark.parametrize("form", [D_SI_1, D_SI_2])
def test_value_u_k_and_validity_are_read_of_both_forms_of_d_si(form):
    found = read_certificate(certificate(quantity(real(form))), FILE)

    (value,) = found.values
    assert (value.value, value.unit, value.u, value.k, value.p) == (20.0005, "kg", 0.0005, 2, 0.95)
    assert (value.name, value.ref_types) == ("Indication", ("basic_measuredValue",))
    assert (found.identifier, found.laboratory) == ("EX-2026-0815", "Example Lab")
    assert found.items == ("Reference scale (SN 4711)",)
    assert (found.performed, found.recalibration) == (date(2026, 3, 2), date(2027, 3, 2))
    assert found.mistakes == ()


@pytest.mark.parametrize("numbers", [LISTS_1, LISTS_2])
def test_lists_of_points_are_read_of_both_forms_of_d_si(numbers):
    found = read_certificate(certificate(quantity(numbers)), FILE)

    assert [(each.value, each.u, each.unit) for each in found.values] == [
        (0.072, 0.03, "K"),
        (0.089, 0.04, "K"),
        (-0.009, 0.05, "K"),
    ]


def test_of_a_hybrid_the_part_that_states_its_uncertainty_is_read():
    found = read_certificate(certificate(quantity(HYBRID)), FILE)

    assert [(each.value, each.unit, each.u) for each in found.values] == [
        (33.098, "°C", 0.01),
        (99.971, "°C", 0.01),
    ]


def test_a_value_without_an_uncertainty_has_none():
    number = "<si:real><si:value>5</si:value><si:unit>\\one</si:unit></si:real>"
    (value,) = read_certificate(certificate(quantity(number)), FILE).values

    assert (value.value, value.unit) == (5.0, "1")
    assert math.isnan(value.u)


MISTAKES = {
    "unit": (real(unit="\\furlong"), "unit \\furlong: \\furlong is not a unit known here"),
    "no D-SI": (real(unit="kg"), "unit kg is not a D-SI unit"),
    "no unit": ("<si:real><si:value>1</si:value></si:real>", "has no unit"),
    "comma": (real(value="20,5"), "value '20,5' is not a finite number"),
    "digits": (real(value="\u0661"), "value '\u0661' is not a finite number"),
    "underscore": (real(U="1_0"), "valueExpandedMU '1_0' is not a finite number"),
    "infinite": (real(value="INF"), "value 'INF' is not a finite number"),
    "no factor": (real(k=""), "coverageFactor '' is not a finite number"),
    "factor 0": (real(k="0"), "its coverage factor 0 is not above 0"),
    "below 0": (real(U="-1"), "its uncertainty -0.5 is below 0"),
    "complex": ("<si:complex/>", "numbers of the kind 'complex' are not read"),
    "lengths": (
        LISTS_2.replace("0.06 0.08 0.1", "0.06 0.08"),
        "has 3 values, and 2 of uncertainty",
    ),
}


@pytest.mark.parametrize("which", MISTAKES)
def test_a_quantity_that_cannot_be_used_is_told_and_left_out(told, which):
    number, sentence = MISTAKES[which]
    code, out, err = told(certificate(quantity(real(), "Good"), quantity(number, "Bad")))

    assert code == BAD_INPUT
    assert re.search(r"^scale\.xml:\d+: Bad: ", err)
    assert sentence in err
    assert "Good" in out
    assert "Bad" not in out
