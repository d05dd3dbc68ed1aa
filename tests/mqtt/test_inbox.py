"""Rows of bytes: what is found by the column beside what numpy finds row by row."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.mqtt.inbox import all_of


@pytest.mark.parametrize("width", [0, 1, 4, 9])
@pytest.mark.parametrize("wrong", [0, 1, 5, 300])
def test_rows_that_are_true_throughout_are_those_that_all_finds(width, wrong):
    chance = np.random.default_rng(wrong)
    rows = np.ones((200, width), dtype=np.bool_)
    rows.reshape(-1)[chance.integers(0, rows.size, wrong if width else 0)] = False

    assert np.array_equal(all_of(rows), rows.all(axis=1))
    assert np.array_equal(all_of(rows[::2]), rows[::2].all(axis=1))
