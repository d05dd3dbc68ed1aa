"""Batches of pairs that become one: it is as old as its newest pair."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from harness.batches import batch, by_series, pairs

from monitor.journal import Journal
from monitor.journal import writing as module


def test_retention_spares_a_merged_batch_whose_last_series_is_old(tmp_path: Path, monkeypatch):
    """Merging orders pairs by series, so the last row need not be the newest."""
    monkeypatch.setattr(module, "_COMPACT_AT_BATCHES", 2)
    monkeypatch.setattr(module, "_SEGMENT_PAIRS", 40)
    made = pairs((1, 1, 100.0, 1.0), (0, 2, 900.0, 2.0), (0, 3, 950.0, 3.0))
    journal = Journal(tmp_path / "journal.sqlite")
    for row in made:
        journal.append(batch(made=np.array([row])))
    journal.compact()

    journal.expire(observations_before=-np.inf, pairs_before=500.0)

    assert journal.pairs().tobytes() == by_series(made).tobytes()
    journal.close()
