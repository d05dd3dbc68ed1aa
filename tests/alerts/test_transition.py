"""Transitions of alerts in words."""

from __future__ import annotations

from harness.transitions import transition

from monitor.alerts.transition import transition_document


def test_an_estimate_with_one_end_alone_is_told_with_it():
    bound = transition_document(transition(1, estimate=None, lower=None, upper=0.3))
    nothing = transition_document(transition(1, estimate=None, lower=None, upper=None))

    assert bound["estimate"] == {"value": None, "lower": None, "upper": 0.3, "unit": "kg"}
    assert nothing["estimate"] is None
