"""A comparison in sentences and as plain values, on planted differences."""

from __future__ import annotations

import json

import numpy as np
import pytest
from harness.series import pairs

from monitor.core.analysis import comparison
from monitor.core.analysis.side_by_side import NOT_SHARED, Sides, comparison_document

SIDES = Sides("old", "new", "kg")


def test_the_scores_begin_with_the_profiles_and_none_comes_twice():
    for profile in ("accuracy", "coverage", "balanced"):
        scores = Sides("a", "b", profile=profile).scores
        assert sorted(scores) == sorted(SIDES.scores)
        assert len(set(scores)) == len(scores) == 3
    assert len({Sides("a", "b", profile=each).scores[0] for each in ("accuracy", "coverage")}) == 2


def test_without_common_events_it_says_so_and_has_no_numbers():
    document = comparison_document(None, SIDES)

    (only,) = document["sentences"]
    assert only.startswith("old and new cannot be compared: they share no event (the same time and")
    assert (document["events"], document["scores"], document["curves"]) == ([0, 0], {}, None)


@pytest.mark.parametrize("is_first", [True, False])
def test_who_reads_nearer_is_named_with_both_means(is_first):
    random = np.random.default_rng(3)
    reference, noise = random.normal(500.0, 50.0, 300), random.normal(size=(2, 300))
    near, far = reference + noise[0], reference + 4.0 * noise[1]
    value = np.concatenate([near, far] if is_first else [far, near])
    u = np.repeat([1.0, 4.0] if is_first else [4.0, 1.0], 300)
    both = pairs(value, np.tile(reference, 2), u, starts=(0, 300))
    event = np.tile(np.arange(300), 2)
    duel = comparison.of_two(both, event, SIDES.scores, seed=1, miss=0.1)
    document = comparison_document(duel, SIDES)

    first = document["sentences"][0]
    assert first.startswith(f"On 300 common events {'old' if is_first else 'new'} reads better")
    means = document["scores"][SIDES.scores[0]]
    best, other = sorted((means["first"], means["second"]))
    assert f"({best:.3g} against {other:.3g} kg, lower is better; p = " in first
    assert (means["first"] < means["second"]) is is_first
    assert document["sentences"][1] == NOT_SHARED
    assert json.loads(json.dumps(document, allow_nan=False)) == document
