"""Paper A (Martin, Molteno, Parry, arXiv 1411.4354): figures 1 and 2, Table I, its limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr, rankdata, spearmanr

from monitor.core.columns import Columns, coverage_factor
from monitor.core.scores import proper_scores


def claims(rows, **names):
    """Return columns in which each row is a claim of the figure."""

    def take(name):
        return np.array([float(row[name]) for row in rows])

    n = len(rows)
    return Columns(
        starts=np.array([0]), time=np.arange(float(n)), value=take(names["value"]),
        reference=take(names["reference"]), u=names["u"](take),
        lower=names["lower"](take), upper=names["upper"](take),
        p=np.full(n, 0.9), u_ref=np.zeros(n),
    )  # fmt: skip


def test_figure_1_scores_against_width_and_centre(read):
    rows = read("seed000_fig1.csv")
    c = claims(
        rows, value="x0", reference="x", u=lambda t: t("sigma"),
        lower=lambda t: t("x1"), upper=lambda t: t("x2"),
    )  # fmt: skip
    c = Columns(**{**fields(c), "p": 1.0 - np.array([float(r["alpha"]) for r in rows])})

    columns = {
        "crps": proper_scores.crps_tophat, "brier": proper_scores.quadratic_tophat,
        "interval": proper_scores.interval,
        "norm": proper_scores.norm, "log": proper_scores.log_tophat,
    }  # fmt: skip
    for name, score in columns.items():
        want = [float(row[name]) for row in rows]
        np.testing.assert_allclose(score(c), want, rtol=1e-12, err_msg=name)


def fields(c):
    names = ("starts", "time", "value", "reference", "u", "lower", "upper", "p", "u_ref")
    return {name: getattr(c, name) for name in names}


def test_figure_2_scores_of_the_normal_against_its_variance(read):
    rows = read("seed000_fig2.csv")
    c = claims(
        rows, value="mu", reference="x", u=lambda t: np.sqrt(t("variance")),
        lower=lambda t: t("mu") - 1.0, upper=lambda t: t("mu") + 1.0,
    )  # fmt: skip

    for name, score in (
        ("norm", proper_scores.norm), ("nll", proper_scores.log_normal),
        ("crps", proper_scores.crps_normal), ("quadratic", proper_scores.quadratic_normal),
    ):  # fmt: skip
        np.testing.assert_allclose(
            score(c), [float(row[name]) for row in rows], rtol=1e-11, err_msg=name
        )


def curve_over(widths, score):
    n = widths.size
    c = Columns(
        starts=np.array([0]), time=np.zeros(n), value=np.full(n, 80.0),
        reference=np.full(n, 100.0), u=widths / (2.0 * 1.6448536269514722),
        lower=80.0 - widths / 2.0, upper=80.0 + widths / 2.0, p=np.full(n, 0.9), u_ref=np.zeros(n),
    )  # fmt: skip
    return score(c)


def test_figure_1_facts(expected):
    """Where the scores of a width have their least value, and their limits."""
    facts = expected["seed000"]["facts"]
    widths = np.arange(1e-3, 200.0, 1e-3)

    for score, name in (
        (proper_scores.crps_tophat, "crps"),
        (proper_scores.interval, "interval"),
        (proper_scores.quadratic_tophat, "brier"),
    ):
        values = curve_over(widths, score)
        best = int(np.argmin(values))
        assert widths[best] == pytest.approx(facts[f"{name}_argmin_w"], abs=2e-3)
        assert values[best] == pytest.approx(facts[f"{name}_min"], rel=1e-4)
    assert curve_over(np.array([1e-9]), proper_scores.crps_tophat)[0] == pytest.approx(
        facts["crps_limit_w_to_0"]
    )
    assert curve_over(np.array([1e-9]), proper_scores.interval)[0] == pytest.approx(
        facts["interval_limit_w_to_0"]
    )
    assert curve_over(np.array([40.0]), proper_scores.crps_tophat)[0] == pytest.approx(40.0 / 3.0)


def test_width_of_forty_at_ninety_percent_is_the_normal_of_the_paper(expected):
    facts = expected["seed000"]["facts"]

    u = 20.0 / coverage_factor(np.array([0.9]))[0]

    assert u == pytest.approx(facts["sigma_of_90pct_width_40"], rel=1e-10)
    assert u * u == pytest.approx(facts["variance_of_90pct_width_40"], rel=1e-10)


def test_table_1_ranks_and_correlations(read, expected):
    """The text's "clear correlation" with the quadratic score is one of ranks (E15)."""
    rows = read("seed000_table1.csv")
    table = {
        name: np.array([float(row[column]) for row in rows])
        for name, column in (
            ("crps", "crps_kg"),
            ("interval", "interval_kg"),
            ("brier", "brier_per_kg"),
        )
    }

    for name, values in table.items():
        np.testing.assert_array_equal(
            rankdata(values), [float(row[f"rank_{name}"]) for row in rows]
        )
    for pair, want in expected["seed000"]["table1_pearson"].items():
        one, other = (table[key] for key in pair.split("_"))
        assert pearsonr(one, other)[0] == pytest.approx(want, rel=1e-12)
        rank = expected["seed000"]["table1_spearman"][pair]
        assert spearmanr(one, other)[0] == pytest.approx(rank, rel=1e-12)
