"""Parts of a covariate's range, against the numbers between their ends."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.analysis.covariate_parts import grid_of


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("period", [0.0, 24.0])
def test_a_part_holds_the_numbers_between_its_ends(seed, period):
    random = np.random.default_rng(seed)
    numbers = random.uniform(0.0, 24.0, 300) if period else random.normal(50.0, 10.0**seed, 300)
    grid = grid_of(numbers, period)
    numbers, n = np.concatenate([numbers, grid.edges]), grid.bins

    assert len(grid.parts) == (n * (n - 1) + 1 if period else n * (n + 1) // 2)
    assert grid.parts[-1].all()
    for part in grid.parts[:-1]:
        low, high = grid.ends(part)
        within = (numbers >= low, numbers < high)
        between = np.logical_and(*within) if low < high else np.logical_or(*within)
        np.testing.assert_array_equal(part[grid.bins_of(numbers)], between)
        assert grid.cuts(part) == (2 if period else np.isfinite([low, high]).sum())


def test_edges_are_round_and_one_value_has_none():
    edges = grid_of(np.random.default_rng(1).uniform(0.0, 100.0, 500), 0.0).edges

    np.testing.assert_array_equal(edges, 5.0 * np.round(edges / 5.0))
    assert grid_of(np.full(40, 7.0), 0.0) is None
