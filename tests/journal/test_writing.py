"""Batches of pairs that become one: it is as old as its newest pair."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from harness.batches import batch, by_series, pairs

from monitor.journal import Journal
from monitor.journal import writing as module

DAY = 86_400.0


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


def test_retention_deletes_a_share_of_the_pairs_at_once_until_none_is_too_old(tmp_path: Path):
    journal = Journal(tmp_path / "journal.sqlite")
    for number in range(10):
        journal.append(batch(made=pairs((0, number, number * 2 * DAY, 1.0))))
    sizes = [10]
    while journal.expire(observations_before=-np.inf, pairs_before=100 * DAY, share=0.25):
        sizes.append(journal.pairs().size)

    assert sizes == [10, 8, 6, 5, 4, 3, 2, 1, 0]
    journal.close()


def test_retention_deletes_a_day_at_once_however_small_its_share(tmp_path: Path):
    journal = Journal(tmp_path / "journal.sqlite")
    for number in range(10):
        journal.append(batch(made=pairs((0, number, number * 0.15 * DAY, 1.0))))

    journal.expire(observations_before=-np.inf, pairs_before=100 * DAY, share=0.05)

    assert journal.pairs()["id"].tolist() == [7, 8, 9]
    journal.close()
