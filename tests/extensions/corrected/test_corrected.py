"""Which remedy is applied when: from what was told before, and until it no longer helps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from monitor.core.verdict import Pairs, Remedy
from monitor.extensions.corrected.corrected import (
    AS_SENT,
    PATIENCE,
    PAUSE,
    Amendment,
    Told,
    adoptions,
    amendment_of,
    corrected,
    each_pairs,
)

SUBTRACT = Remedy("add", add=-3.0)
AMENDMENT = Amendment(intercept=-3.0)


def pairs_of(error: np.ndarray, u: float = 1.0) -> Pairs:
    n = error.size
    reference = np.linspace(90.0, 110.0, n)
    time = 60.0 * np.arange(n)
    return Pairs(time, reference + error, np.full(n, u), reference, np.zeros(n))


def off_by(level: float, n: int = 200, seed: int = 1) -> Pairs:
    return pairs_of(level + np.random.default_rng(seed).standard_normal(n))


def test_a_remedy_holds_from_the_pair_after_it_was_told_to_the_end_of_the_alert():
    found = adoptions(
        off_by(3.0), [Told(9, SUBTRACT), Told(17, Remedy("none")), Told(99, None)]
    ).steps

    assert [(each.first, each.amendment) for each in found] == [
        (0, AS_SENT),
        (10, AMENDMENT),
        (100, AS_SENT),
    ]
    assert each_pairs(found, 200).tolist() == [0] * 10 + [1] * 90 + [2] * 100


@pytest.mark.parametrize(
    ("remedy", "value", "u"),
    [
        (SUBTRACT, 97.0, 2.0),
        (Remedy("scale_u", scale_u=1.5), 100.0, 3.0),
        (Remedy("add_and_scale_u", add=2.0, scale_u=0.5), 102.0, 1.0),
        (Remedy("linear", slope=-0.5, intercept=140.0), 90.0, 1.0),
        (Remedy("none"), 100.0, 2.0),
        (None, 100.0, 2.0),
    ],
)
def test_each_kind_of_remedy_does_to_a_reading_what_it_says(remedy, value, u):
    amendment = amendment_of(remedy)

    assert amendment.value(np.array([100.0])).tolist() == [value]
    assert amendment.u(np.array([2.0])).tolist() == [u]


@pytest.mark.parametrize("seed", range(20))
def test_a_remedy_that_does_harm_is_taken_back_soon_and_not_tried_again_at_once(seed):
    right = off_by(0.0, seed=seed)

    found = adoptions(right, [Told(at, SUBTRACT) for at in range(9, 60, 5)]).steps

    taken_back = found[2]
    assert (taken_back.amendment, taken_back.taken_back) == (AS_SENT, True)
    assert 10 < taken_back.first <= 10 + 40
    assert all(each.first >= taken_back.first + PAUSE for each in found[3:])


def test_a_remedy_that_helps_is_kept():
    helped = [adoptions(off_by(3.0, seed=seed), [Told(0, SUBTRACT)]).steps for seed in range(50)]

    assert all(len(each) == 2 for each in helped)


def test_a_remedy_that_changes_nothing_on_average_is_rarely_taken_back():
    """Subtracting 2 d from an error of d leaves its CRPS: the worst that does no harm."""
    remedy = Remedy("add", add=-1.0)
    n = 20_000
    error = 0.5 + np.random.default_rng(3).standard_normal(n)
    told = [Told(at, remedy) for at in range(0, n, 10)]

    found = adoptions(pairs_of(error), told).steps

    corrected_pairs = sum(
        later.first - each.first for each, later in pairwise(found) if each.amendment != AS_SENT
    )
    times = sum(each.taken_back for each in found)
    assert times
    assert corrected_pairs / times >= PATIENCE


def test_no_pair_is_corrected_by_itself_or_by_later_ones():
    """What was corrected stays the same bits, whatever comes after."""
    pairs = off_by(3.0)
    told = [*(Told(at, SUBTRACT) for at in range(20, 90, 8)), Told(120, None)]
    whole = corrected(pairs, told, 0.9)

    for n in (21, 22, 50, 121, 150):
        part = corrected(pairs.rows(slice(0, n)), [each for each in told if each.at < n], 0.9)
        for name in ("value", "u", "lower", "upper", "factor"):
            np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[:n])


def test_a_reading_of_no_uncertainty_has_no_interval():
    found = corrected(pairs_of(np.zeros(5), u=0.0), [], 0.9)

    assert np.isnan(found.lower).all()
    assert np.isnan(found.upper).all()
    assert np.isfinite(found.value).all()


@pytest.mark.parametrize("cuts", [[1], [50], [21, 22, 121], [*range(10, 200, 7)]])
def test_pairs_that_come_in_pieces_give_the_same_bits(cuts):
    pairs = off_by(0.6, seed=4)
    told = [*(Told(at, SUBTRACT) for at in range(20, 190, 8)), Told(195, None)]
    whole = corrected(pairs, told, 0.9)

    before, found = None, []
    for first, last in pairwise([0, *cuts, 200]):
        some = [
            each._replace(at=each.at - first) for each in told if first - 1 <= each.at < last - 1
        ]
        part = corrected(pairs.rows(slice(first, last)), some, 0.9, before)
        before = (part.adopted, part.log_factor)
        found.append(part)

    assert any(each.taken_back for each in whole.adopted.steps)
    assert before == (whole.adopted._replace(steps=part.adopted.steps), whole.log_factor)
    for name in ("value", "u", "lower", "upper"):
        joined = np.concatenate([getattr(each, name) for each in found])
        np.testing.assert_array_equal(joined, getattr(whole, name))
