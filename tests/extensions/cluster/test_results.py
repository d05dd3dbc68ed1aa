"""What a block says of a batch, the fleet's figures made of it, and alerts told once."""

from __future__ import annotations

import math

import numpy as np

from monitor.extensions.cluster import results
from monitor.extensions.cluster.results import STATISTICS


def test_lines_are_the_rows_of_the_snapshot_bit_for_bit(batches):
    came, _ = batches[-1]
    heard = results.load_changed(results.dump(results.changed(came)))
    for line, row in zip(heard.lines, came.rows.tolist(), strict=True):
        assert line.sensor == came.snapshot.names[row].sensor
        assert line.state == came.snapshot.states[row]
        for name, value in zip(STATISTICS, line.statistics, strict=True):
            there = came.snapshot.statistics.get(name)
            wanted = math.nan if there is None else there[row]
            assert np.float64(value).tobytes() == np.float64(wanted).tobytes()
