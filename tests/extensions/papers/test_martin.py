"""``monitor reproduce martin`` beside exact formulas and the table as printed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.extensions.papers.test_generated_claims import by_first, made, titled
from tests.extensions.papers.test_navratil import near


def test_martins_formulas_give_their_exact_values(tmp_path, shared_data):
    tables = made(tmp_path, "martin", "--data", str(shared_data))

    exact = titled(tables, "Ours beside exact values")
    assert len(exact) == 9
    assert {row[-1] for row in exact[1:]} == {"below 1e-12"}
    assert sum(int(row[2]) for row in exact[1:]) == 4 * 31 + 4 * 8


def test_martins_places_are_those_of_the_formulas(tmp_path):
    rows = by_first(titled(made(tmp_path, "martin"), "What the formulas give"))

    for name, (formula, ours, _) in rows.items():
        assert near(ours, float(formula), 4), name
    assert float(rows["least CRPS"][2].split()[0]) == pytest.approx(20 * np.sqrt(12), abs=0.02)


def test_martins_table_is_as_printed_with_its_ranks_and_correlations(tmp_path, read, expected):
    tables = made(tmp_path, "martin")
    printed = read("seed000_table1.csv")

    rows = titled(tables, "Table I")[1:]
    assert len(rows) == len(printed)
    for row, want in zip(rows, printed, strict=True):
        names = ("crps_kg", "rank_crps", "interval_kg", "rank_interval", "brier_per_kg", "rank_brier")  # fmt: skip  # noqa: E501
        assert row[0] == want["method"]
        assert [float(cell) for cell in row[1:]] == [float(want[name]) for name in names]
    together = by_first(titled(tables, "How the printed scores go together"))
    facts = expected["seed000"]
    for scores, name in (
        ("CRPS, interval", "crps_interval"),
        ("CRPS, quadratic", "crps_brier"),
        ("interval, quadratic", "interval_brier"),
    ):
        pearson, ranks, _ = together[scores]
        assert float(pearson) == pytest.approx(facts["table1_pearson"][name], abs=5e-4)
        assert float(ranks) == pytest.approx(facts["table1_spearman"][name], abs=5e-4)


def test_method_e_ranks_last_of_the_simulated_estimators(tmp_path):
    rows = titled(made(tmp_path, "martin"), "Mean scores over the same 400 crossings")

    assert [rows[1][0], rows[-1][0]] == ["honest 5 kg", "E"]
    assert [row[2] for row in rows[1:]] == [str(n) for n in range(1, 9)]
