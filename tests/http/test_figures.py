"""Figures with their sentences: the correlations that they name are those of scipy."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

from monitor.core.analysis.ranking import PROFILES, score_of
from monitor.http.figures import score_figures


def test_the_scores_plots_name_the_rank_correlation():
    chance = np.random.default_rng(3)
    names = [f"s{row}" for row in range(9)]
    scores = list(dict.fromkeys(score_of(profile, "normal") for profile in PROFILES))
    means = {score: chance.lognormal(size=9) for score in scores}

    drawn = score_figures(means, "normal", names)

    assert len(drawn) == len(scores) - 1
    for figure, score in zip(drawn, scores[1:], strict=True):
        rho = spearmanr(means[scores[0]], means[score]).statistic
        assert f"Rank correlation {rho:.2f} over 9 sensors" in figure.reading
