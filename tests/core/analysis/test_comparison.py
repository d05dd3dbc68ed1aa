"""Two sensors on common events, against brute force and simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from harness.series import pairs

from monitor.core.analysis import comparison
from monitor.core.scores import characteristics, curves, proper_scores


def shared_values(seed, n=40, *, informative=True):
    """Return two claims about the same values: u that tells, and u that does not."""
    random = np.random.default_rng(seed)
    u = np.exp(random.normal(0.0, 0.8, n))
    value = random.normal(0.0, 9.0, n)
    reference = value + u * random.normal(size=n)
    other = u if informative else random.permutation(u)
    return pairs(value, reference, u), pairs(value, reference, other)


def test_raw_curves_are_compared_only_where_value_and_reference_are_shared():
    one, other = shared_values(1, informative=False)
    moved = pairs(other.value + 0.1, other.reference, other.u)

    shared = comparison.compare_uncertainties(one, other, seed=1, replicates=199)
    apart = comparison.compare_uncertainties(one, moved, seed=1, replicates=199)

    assert shared.measure == "auucc"
    assert shared.first == pytest.approx(characteristics.auucc(one)[0], rel=1e-12)
    want = curves.crossovers(
        *(curves.curve(c.value - c.lower, c.upper - c.value, c.error) for c in (one, other))
    )
    np.testing.assert_array_equal(shared.crossovers, want)
    assert apart.measure == "auucc_gain"
    assert apart.crossovers is None
    assert apart.first == pytest.approx(characteristics.auucc_gain(one)[0], rel=1e-9)
    assert apart.difference == pytest.approx(apart.first - apart.second, rel=1e-9)


def test_constant_uncertainties_of_different_sensors_both_save_nothing():
    """C Fig. 11: raw areas 1 to 3 apart, both sensors' u worth nothing."""
    random = np.random.default_rng(2)
    reference = random.normal(size=200)
    near, far = (pairs(reference + s * random.normal(size=200), reference, s) for s in (1.0, 3.0))

    got = comparison.compare_uncertainties(near, far, seed=1, replicates=499)

    assert (got.first, got.second) == pytest.approx((0.0, 0.0), abs=1e-12)
    assert characteristics.auucc(far)[0] > 2.0 * characteristics.auucc(near)[0]


def every_swap(rows, others, of_means):
    """Return the p-value over all assignments of labels."""
    n = rows.shape[0]
    seen = of_means(rows.mean(axis=0)) - of_means(others.mean(axis=0))
    count = 0
    for swap in itertools.product([False, True], repeat=n):
        turned = np.array(swap)[:, None]
        a, b = np.where(turned, others, rows), np.where(turned, rows, others)
        gap = of_means(a.mean(axis=0)) - of_means(b.mean(axis=0))
        count += abs(gap) >= abs(seen) * (1.0 - 1e-12)
    return seen, count / 2**n


@pytest.mark.parametrize("of_means", [curves.area_of, curves.area_saved, curves.mean_of_scores])
def test_permutation_p_value_tends_to_that_of_every_assignment(of_means):
    random = np.random.default_rng(3)
    rows, others = np.exp(random.normal(size=(2, 9, 3)))
    seen, p = every_swap(rows, others, of_means)

    difference, got = curves.permutation_test(
        tuple(rows.T), tuple(others.T), replicates=20_000, seed=1, of_means=of_means
    )

    assert difference == pytest.approx(seen, rel=1e-12)
    assert got == pytest.approx(p, abs=4.0 * np.sqrt(p * (1.0 - p) / 20_000) + 1e-4)


def test_two_firmware_versions_are_told_apart_by_a_mean_score():
    random = np.random.default_rng(4)
    reference = random.normal(size=150)
    one = pairs(reference + random.normal(size=150), reference, 1.0)
    other = pairs(reference + 1.5 * random.normal(size=150), reference, 1.0)

    difference, p = comparison.compare_scores(one, other, "crps", seed=1, replicates=999)

    want = proper_scores.crps_normal(one).mean() - proper_scores.crps_normal(other).mean()
    assert difference == pytest.approx(want, rel=1e-12)
    assert p < 0.01


def autoregressive(random, n, rho):
    noise = random.normal(size=n)
    for i in range(1, n):
        noise[i] = rho * noise[i - 1] + np.sqrt(1.0 - rho * rho) * noise[i]
    return noise


def test_blocks_keep_the_size_of_the_test_where_events_depend_on_each_other():
    random = np.random.default_rng(5)
    rejected = {1: 0, 20: 0}
    for seed in range(200):
        reference = np.zeros(400)
        one, other = (pairs(autoregressive(random, 400, 0.9), reference, 1.0) for _ in range(2))
        for block in rejected:
            _, p = comparison.compare_scores(
                one, other, "crps", seed=seed, replicates=99, block=block
            )
            rejected[block] += p <= 0.05
    assert rejected[1] / 200 > 0.2
    assert rejected[20] / 200 < 0.12


def test_events_without_a_band_in_one_are_left_out_and_counted():
    one, other = shared_values(6, 10)
    lower = other.lower.copy()
    lower[3] = other.value[3] + 0.5
    odd = pairs(other.value, other.reference, None, lower, np.maximum(other.upper, lower + 1.0))

    got = comparison.compare_uncertainties(one, odd, seed=1, replicates=49)

    assert got.events == 9
    kept = np.arange(10) != 3
    want = characteristics.auucc(pairs(one.value[kept], one.reference[kept], one.u[kept]))[0]
    assert got.first == pytest.approx(want, rel=1e-12)
    none = pairs([1.0], [0.0], None, [2.0], [3.0])
    assert comparison.compare_uncertainties(none, none, seed=1) is None


def test_saving_at_an_operating_point_is_the_width_saved_at_the_same_miss_rate():
    """C section 2.2: 36.4 % and -52.9 % are (reference - model)/reference at equal miss rates."""
    one, _ = shared_values(7, 500)
    error, ones = one.error, np.ones(500)
    stated = curves.curve(one.value - one.lower, one.upper - one.value, error)
    constant = curves.curve(ones, ones, error)

    for miss in (0.02, 0.1, 0.5):
        k = np.sort(np.abs(one.z) / 1.6448536269514722)
        rank = 500 - int(np.floor(miss * 500 + 1e-9)) - 1
        own = k[rank] * np.mean(0.5 * one.width)
        flat = np.sort(np.abs(error))[rank]
        assert curves.width_saved(stated, constant, miss) == pytest.approx(
            1.0 - own / flat, rel=1e-9
        )
    never = curves.curve(np.zeros(2), np.zeros(2), np.ones(2))
    assert np.isnan(curves.width_saved(never, constant, 0.1))


@pytest.mark.parametrize("seed", range(6))
def test_ties_count_as_ties_though_the_numbers_are_rounded(seed):
    """Widths in tenths about 1000: many assignments of labels give the same difference exactly."""
    tenths = np.random.default_rng(seed).integers(10_000, 10_004, (2, 8))
    gap = [int(a - b) for a, b in tenths.T]
    sums = [
        sum(s * d for s, d in zip(signs, gap, strict=True))
        for signs in itertools.product((1, -1), repeat=8)
    ]
    want = sum(abs(total) >= abs(sum(gap)) for total in sums) / 2**8

    rows = [(each / 10.0,) for each in tenths]
    _, got = curves.permutation_test(
        *rows, replicates=4000, seed=1, of_means=curves.mean_of_scores
    )  # fmt: skip

    assert got == pytest.approx(want, abs=4.0 * np.sqrt(want * (1.0 - want) / 4000) + 1e-3)


def test_what_differs_by_rounding_alone_does_not_differ():
    random = np.random.default_rng(2)
    reference = random.normal(size=200)
    near, far = (pairs(reference + s * random.normal(size=200), reference, s) for s in (1.0, 3.0))

    got = comparison.compare_uncertainties(near, far, seed=1, replicates=499)

    assert got.measure == "auucc_gain"
    assert got.p == 1.0


def test_a_score_without_a_mean_is_not_compared():
    c = pairs([0.0, 5.0], 0.0, 1.0)

    with pytest.raises(KeyError, match="log_tophat"):
        comparison.compare_scores(c, c, "log_tophat", seed=1)


def test_shuffled_labels_tend_to_those_of_every_choice():
    random = np.random.default_rng(6)
    rows, others = random.normal(size=5), random.normal(1.0, size=4)
    both = np.concatenate([rows, others])
    gaps = []
    for some in itertools.combinations(range(9), 5):
        held = np.isin(np.arange(9), some)
        gaps.append(both[held].mean() - both[~held].mean())
    seen = rows.mean() - others.mean()
    want = np.mean(np.abs(gaps) >= abs(seen) - 1e-12)

    difference, p = curves.shuffle_test(
        (rows,), (others,), replicates=20_000, seed=1, of_means=curves.mean_of_scores
    )

    assert difference == pytest.approx(seen, rel=1e-12)
    assert p == pytest.approx(want, abs=4.0 * np.sqrt(want * (1.0 - want) / 20_000) + 1e-4)
