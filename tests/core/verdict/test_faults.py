"""Faults and what confirms their names."""

from __future__ import annotations

from harness.verdict_sensors import whole

from monitor.core.verdict.faults import shows
from tests.core.verdict.test_systematic import FIXED, sensor


def test_an_offset_whose_interval_reaches_into_it_is_not_called_one():
    found = whole(sensor(4.0 * FIXED))
    off = found._replace(size=found.size._replace(lower=1.5 * FIXED))

    assert shows(found)
    assert not shows(off)
    assert shows(off._replace(explained=0.0))
