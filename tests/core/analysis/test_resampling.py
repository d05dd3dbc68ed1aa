"""Resampled intervals, against scipy and against what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from harness.series import drawn
from scipy import stats

from monitor.core.analysis import resampling
from tests.core.scores.test_intervals import ends


def test_bca_agrees_with_scipy_within_their_noise():
    c = drawn(9, (200,), heavy=True)
    theirs = stats.bootstrap(
        (c.z**2,),
        np.mean,
        n_resamples=20_000,
        method="BCa",
        rng=np.random.default_rng(1),
        batch=200,
    ).confidence_interval

    got = ends(resampling.bca_zms(c, seed=2, replicates=20_000))

    np.testing.assert_allclose(got, theirs, atol=0.03 * (theirs.high - theirs.low))


def test_acceleration_from_one_step_equals_the_jackknife_left_out_one_by_one():
    c = drawn(9, (60,))
    rows = np.stack([c.error**2, c.u**2], axis=1)
    left = np.array([resampling._rce_of(np.delete(rows, i, 0).mean(0)[None])[0] for i in range(60)])
    off = left.mean() - left

    got = resampling.acceleration(resampling._jackknife(rows, resampling._rce_of))

    assert got == pytest.approx(np.sum(off**3) / (6.0 * np.sum(off**2) ** 1.5), rel=1e-9)


def test_resampling_hangs_on_the_seed_and_the_series_alone():
    many = drawn(5, (60, 100, 30))
    first, again = (resampling.bca_zms(many, seed=4, replicates=500) for _ in range(2))
    alone = resampling.bca_zms(many.take(np.array([1])), seed=4, replicates=500)

    np.testing.assert_array_equal(first.lower, again.lower)
    assert first.lower[1] == alone.lower[0]
    assert first.lower[1] != resampling.bca_zms(many, seed=5, replicates=500).lower[1]
    assert np.isnan(first.lower[2])
    assert (first.replicates, first.seed, first.method) == (500, 4, "bca")


def test_bootstrap_bias_of_a_mean_is_within_its_noise():
    c = drawn(3, (400,))

    got = resampling.bca_zms(c, seed=1)

    assert abs(got.bias[0]) < 5.0 * np.std(c.z**2) / np.sqrt(400 * got.replicates)


def test_replicates_are_means_of_draws_with_replacement():
    rows = np.random.default_rng(0).exponential(size=(300, 1))

    means = resampling.resampled_means(rows, 300, 20_000, 1)[:, 0]

    assert means.mean() == pytest.approx(rows.mean(), abs=5.0 * rows.std() / np.sqrt(300 * 20_000))
    assert means.std() == pytest.approx(rows.std() / np.sqrt(300), rel=0.03)


def test_blocks_of_one_pair_are_the_plain_bootstrap_and_longer_ones_follow_the_correlation():
    lengths = [resampling.block_length(1000, r) for r in (float("nan"), -0.5, 0.0, 0.3, 0.6, 0.9)]

    assert lengths[:3] == [1, 1, 1]
    assert lengths == sorted(lengths)
    assert resampling.block_length(20, 0.99) == 5


def test_circular_blocks_treat_every_pair_alike():
    rows = np.arange(10.0)[:, None]

    means = resampling.block_means(rows, 3)[:, 0]

    want = [np.mean([i, (i + 1) % 10, (i + 2) % 10]) for i in range(10)]
    np.testing.assert_allclose(means, want, rtol=1e-12)
