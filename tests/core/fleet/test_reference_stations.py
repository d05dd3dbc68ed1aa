"""Sensors of a reference, as one station."""

from __future__ import annotations

import numpy as np

from monitor.core.fleet.reference_stations import ReferenceStations
from monitor.core.steps import finish


def test_no_reference_is_looked_at_where_nothing_changed():
    stations = ReferenceStations()

    finish(stations.steps(np.zeros(0, np.int64), {}, None, None, None))

    assert stations.suspects() == ()
