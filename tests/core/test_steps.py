"""Work in steps."""

from __future__ import annotations

import numpy as np

from monitor.core.steps import portions, weighed


def test_portions_are_all_there_is_in_order():
    assert [*portions([1, 2, 3, 4, 5], 2)] == [[1, 2], [3, 4], [5]]
    rows, weights = np.array([3, 5, 8, 9]), np.array([4, 4, 9, 1])
    assert [part.tolist() for part in weighed(rows, weights, 8)] == [[3, 5], [8], [9]]
    assert [*weighed(rows[:0], weights[:0], 8)] == []
