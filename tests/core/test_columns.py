"""Pairs of many series end to end, cut into portions and blocks."""

from __future__ import annotations

import numpy as np
import pytest
from harness.series import drawn

from monitor.core.columns import in_blocks, parts
from monitor.core.scores.statistics import compute


def test_portions_hold_every_series_once_and_are_no_larger_than_asked():
    c = drawn(0, (3, 50, 3, 7, 200, 3, 50))

    taken = list(parts(c, 100))

    assert sorted(np.concatenate([which for which, _ in taken])) == list(range(7))
    for which, part in taken:
        assert part.counts.max() * which.size <= 100 or which.size == 1
        for i, start, count in zip(which, part.starts, part.counts, strict=True):
            rows = slice(c.starts[i], c.starts[i] + c.counts[i])
            np.testing.assert_array_equal(part.value[start : start + count], c.value[rows])


@pytest.mark.parametrize(("n", "number"), [(1, 5), (5, 5), (23, 5), (200, 10)])
def test_blocks_of_a_series_hold_every_pair_once_in_order(n, number):
    c = drawn(3, (n,))

    cut = in_blocks(c, number)

    want = np.array_split(np.arange(n), min(n, number))
    assert cut.counts.tolist() == [part.size for part in want]
    np.testing.assert_array_equal(cut.value, c.value)
    means = compute(cut, ["zms"])["zms"]
    np.testing.assert_allclose(means, [np.mean(c.z[part] ** 2) for part in want], rtol=1e-12)
