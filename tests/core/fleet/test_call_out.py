"""A fleet's list: few honest sensors on it."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.fleet.call_out import FleetRules, call_list

EVERY = np.ones(4, np.bool_)


def by_hand(e, total, q):
    """Return the e-BH list, tried size by size."""
    order = sorted(range(len(e)), key=lambda i: -e[i])
    for k in range(len(e), 0, -1):
        if e[order[k - 1]] >= total / (q * k):
            return {i for i in range(len(e)) if e[i] >= e[order[k - 1]]}
    return set()


@pytest.mark.parametrize("seed", range(20))
def test_the_list_is_that_of_e_bh_tried_size_by_size(seed):
    chance = np.random.default_rng(seed)
    e = np.exp(chance.normal(3.0, 3.0, 30))
    every = np.ones(30, np.bool_)

    found = call_list(1000.0 * e, every, every, FleetRules())

    assert set(np.flatnonzero(found).tolist()) == by_hand(e.tolist(), 30, 0.1)


def test_by_p_values_more_are_listed_and_what_does_not_fire_never_is():
    evidence = np.array([6e2, 3e4, 3e2, 1e9])
    fires = np.array([True, True, True, False])

    assert call_list(evidence, fires, EVERY, FleetRules()).tolist() == [False, False, False, False]
    by_p = call_list(evidence, fires, EVERY, FleetRules(fdr="bh"))
    assert by_p.tolist() == [True, True, True, False]


def test_a_sensor_that_sends_nothing_is_not_counted():
    evidence, fires = np.array([2.5e4, 0.0, 0.0, 0.0]), np.array([True, False, False, False])

    assert not call_list(evidence, fires, EVERY, FleetRules()).any()
    assert call_list(evidence, fires, np.array([True, False, True, False]), FleetRules())[0]
