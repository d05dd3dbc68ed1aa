"""The systematic share of a series, by its first pair."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.pairing.series_rules import Systematic
from monitor.core.steps import finish
from tests.core.detector.test_systematic import S, delivered, recorded


def test_the_share_is_that_of_the_first_pair_whatever_comes_first():
    pairs = recorded()
    pairs["u_ref"][0] = 1.5
    declared = Systematic(share=0.5, reference_value=0.3)
    in_order = delivered(pairs, declared, [np.arange(300)])
    late = delivered(pairs, declared, [np.arange(20, 300), np.arange(20)])

    expected = np.hypot(0.5 * 2.0, 0.3) / np.hypot(2.0, 1.5)
    assert in_order.detector.systematic[0] == pytest.approx(expected, rel=1e-14)
    assert late.replayer.evidence_bits(0) == in_order.replayer.evidence_bits(0)
    assert finish(late.replayer.evidence_by(0, pairs)) == in_order.replayer.evidence_bits(0)


def test_a_series_that_is_forgotten_has_no_share_left():
    network = delivered(recorded(), Systematic(share=S), [np.arange(300)])

    network.replayer.forget(0)

    assert network.detector.systematic[0] == 0.0
