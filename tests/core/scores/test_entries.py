"""Summaries of scores, against numpy and scipy."""

from __future__ import annotations

import numpy as np
from harness.series import drawn
from scipy import stats

from monitor.core.scores import entries, proper_scores
from monitor.core.scores.statistics import STATISTICS


def test_summaries_of_a_score_are_those_of_numpy_and_scipy():
    c, rows = drawn(3, (1, 7, 40, 12)), proper_scores.SCORES["crps"].rows
    ascending = entries.sorted_of(rows)
    series = np.split(rows(c), c.starts[1:])

    for statistic, plain in (
        (entries.mean_of(rows), np.mean),
        (entries.middle_of(ascending), np.median),
        (entries.trimmed_of(ascending), lambda part: stats.trim_mean(part, 0.1)),
    ):
        np.testing.assert_allclose(statistic(c), [*map(plain, series)], rtol=1e-12)


def test_the_log_score_of_a_top_hat_is_the_width_of_hits_and_infinite_for_misses():
    c = drawn(4, (60, 90))
    hits = np.split(c.inside, c.starts[1:])
    logs = np.split(np.log(c.width), c.starts[1:])

    np.testing.assert_array_equal(entries.log_infinite_count(c), [np.sum(~each) for each in hits])
    means = [log[hit].mean() for log, hit in zip(logs, hits, strict=True)]
    np.testing.assert_allclose(entries.log_finite_mean(c), means, rtol=1e-12)


def test_a_published_statistic_has_its_names_and_another_its_key():
    assert STATISTICS["quadratic"].names("quadratic") == (
        "score_quadratic_mean", "score_brier_mean",
    )  # fmt: skip
    assert STATISTICS["crps_trimmed"].names("crps_trimmed") == ("crps_trimmed",)
