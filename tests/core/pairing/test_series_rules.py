"""Systematic parts of uncertainties."""

from __future__ import annotations

import numpy as np

from monitor.core.pairing.series_rules import Systematic


def test_values_and_shares_of_sensor_and_reference_add_in_squares_and_leave_some_to_chance():
    u, u_ref = np.array([2.0, 0.5]), np.array([1.0, 0.0])
    declared = Systematic(value=0.3, share=0.5, reference_value=0.1, reference_share=0.4)

    found = declared.of(u, u_ref)

    expected = np.sqrt([0.09 + 1.0 + 0.01 + 0.16, 0.09 + 0.0625 + 0.01])
    np.testing.assert_allclose(found, expected)
    assert np.all(Systematic(value=9.0).of(u, u_ref) < np.hypot(u, u_ref))
