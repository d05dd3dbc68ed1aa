"""The state of a series as one row."""

from __future__ import annotations

from monitor.core.detector.series_state import STATE


def test_state_is_at_most_600_bytes_a_series():
    assert STATE.itemsize <= 600
