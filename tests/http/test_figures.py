"""Figures with their sentences: the correlations that they name are those of scipy."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

from monitor.core.analysis.ranking import PROFILES, score_of
from monitor.core.columns import Columns, columns
from monitor.core.registry import SeriesName
from monitor.core.snapshot.details import Detail
from monitor.http.figures import figures, score_figures


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


def test_plots_are_of_the_pairs_that_the_sentence_speaks_of():
    chance = np.random.default_rng(4)
    reference = chance.normal(50.0, 5.0, 300)
    value = reference + chance.standard_normal(300) + np.where(np.arange(300) < 180, 6.0, 0.0)
    whole = columns(
        np.zeros(1, dtype=np.int64),
        time=1.77e9 + 3600.0 * np.arange(300),
        value=value,
        reference=reference,
        u=chance.uniform(0.5, 1.5, 300),
        lower=np.full(300, np.nan),
        upper=np.full(300, np.nan),
        p=np.full(300, np.nan),
        u_ref=np.zeros(300),
        level=np.full(300, 0.9),
        crps=np.full(300, np.nan),
    )

    def drawn(pairs: Columns, begin: int = 0) -> dict[str, str]:
        name = SeriesName("s1", "mass", "kg", "")
        detail = Detail(
            *(0.0, name, pairs, (), pairs.time.size, (), None, "normal", 0.9, 1000.0, ())
        )
        return {each.name: str(each.drawing) for each in figures(detail, "crps", (), begin)}

    everything, spoken = drawn(whole), drawn(whole, 180)
    alone = drawn(whole.rows(slice(180, None)))
    over_time = {"Signal and references.", "Error over time.", "Rolling CRPS."}
    assert over_time < spoken.keys()
    for name, drawing in spoken.items():
        if name in over_time:
            assert drawing.count("faded") == 1
            assert "faded" not in everything[name]
        else:
            assert drawing == alone[name] != everything[name]
