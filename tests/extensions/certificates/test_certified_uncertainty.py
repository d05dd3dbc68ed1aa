"""The standard uncertainty that a certificate gives its references."""

from __future__ import annotations

import pytest
from harness.dcc_examples import LISTS_2, certificate, quantity, real

from monitor.extensions.certificates.certified_uncertainty import (
    NoUncertaintyError,
    certified_uncertainty,
)
from monitor.extensions.certificates.dcc import read_certificate
from tests.extensions.certificates.conftest import FILE


def test_the_largest_u_of_the_error_counts_in_the_unit_of_the_series():
    found = read_certificate(
        certificate(
            quantity(
                real(value="300", unit="\\kelvin", U="9"), "Reference", "basic_referenceValue"
            ),
            quantity(LISTS_2, "Error", "basic_measurementError"),
        ),
        FILE,
    )

    assert certified_uncertainty(found)[:2] == (0.05, "K")
    assert certified_uncertainty(found, unit="degC")[:2] == pytest.approx((0.05, "degC"))
    assert certified_uncertainty(found, "Reference", "mK").u == pytest.approx(4500.0)
    with pytest.raises(NoUncertaintyError, match=r"'nothing'.*'Reference', 'Error'"):
        certified_uncertainty(found, "nothing")
    with pytest.raises(NoUncertaintyError, match="cannot be converted"):
        certified_uncertainty(found, unit="kg")


def test_which_of_several_quantities_is_meant_is_asked():
    found = read_certificate(
        certificate(quantity(real(), "First", "a_b"), quantity(real(), "Second", "a_b")), FILE
    )

    with pytest.raises(NoUncertaintyError, match="several quantities: 'First', 'Second'"):
        certified_uncertainty(found)
