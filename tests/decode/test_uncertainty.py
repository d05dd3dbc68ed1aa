"""Uncertainty as payloads state it."""

from __future__ import annotations

import pytest


def test_a_unit_that_turns_the_axis_turns_the_quantiles():
    """Wavenumber and the like aside, a conversion with a negative factor must not cross them."""
    from monitor.decode.uncertainty import Claim

    turned = Claim((1.0, 2.0, 5.0), (0.1, 0.5, 0.8)).converted(-2.0, 1.0)

    assert turned.places == (-9.0, -3.0, -1.0)
    assert turned.levels == pytest.approx((0.2, 0.5, 0.9))
