"""What a snapshot shows of each series."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from monitor.core.model import Reading, Reference
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits, SeriesKey
from monitor.core.snapshot.series_stats import RECENT
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.journal.in_memory import InMemoryStore


def test_the_snapshot_carries_the_last_z_and_who_states_no_u(network):
    now = network.evaluate(0.0)
    rows = {name.sensor: row for row, name in enumerate(now.names)}
    pairs = network.detail(SeriesKey("a", "mass"), 0.0).pairs
    z, narrowed = pairs.z, pairs.u / np.hypot(pairs.u, pairs.u_ref)
    due = 1.0 - 2.0 * np.mean(stats.norm.sf(1.6448536 * narrowed))

    assert now.recent_z[rows["a"]].tolist() == pytest.approx(z[-RECENT:].tolist(), rel=1e-6)
    assert np.isnan(now.recent_z[rows["c"]]).all()
    assert now.intervals_only.tolist() == [name.sensor == "b" for name in now.names]
    assert now.statistics["calibration_coverage_stated"][rows["a"]] == pytest.approx(due)


def test_fewer_pairs_than_the_snapshot_has_room_for_leave_gaps_before_the_first():
    rules = SeriesRules(pairing=Rules("nearest", 0.4))
    network = Network(CoreSettings(lambda _s, _q: rules, limits=Limits(1, 1)), InMemoryStore())
    both = [Reading("a", "m", 1.0, 3.0, u=1.0), Reference("a", "m", 1.1, 1.0)]
    network.apply(network.observe(both, 0.0).pairs)
    z = network.evaluate(0.0).recent_z[0]

    assert np.isnan(z[:-1]).all()
    assert z[-1] == 2.0
