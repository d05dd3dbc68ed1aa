"""Bands beside the output of the authors' notebook."""

from __future__ import annotations

import pytest

from tests.extensions.papers.test_generated_claims import by_first, made, titled
from tests.extensions.papers.test_navratil import near


def test_the_notebooks_figures_stand_beside_ours(tmp_path, shared_data, expected):
    tables = made(tmp_path, "navratil", "--data", str(shared_data))
    rows = by_first(titled(tables, "The sample, beside"), 2)
    parts = expected["ucc_sample"]["segments"]

    for (name, what), want in {
        ("sample 0:500", "miss rate"): parts["0:500"]["missrate"],
        ("sample 0:500", "area excess, miss / sd"): parts["0:500"]["auucc_ex_miss_trapz"]
        / parts["0:500"]["std_reference"],
        ("sample 0:500", "area excess, deficit / sd²"): parts["0:500"]["auucc_ex_def_trapz"]
        / parts["0:500"]["std_reference"] ** 2,
        ("sample 510:830", "miss rate"): parts["510:830"]["missrate"],
        ("sample 510:830", "area bandwidth, miss / sd"): parts["510:830"]["auucc_bw_miss_trapz"]
        / parts["510:830"]["std_reference"],
        ("sample 510:830", "k* of bandwidth / sd + 10 miss"): parts["510:830"][
            "kstar_cost_bw_over_sd_plus_10_miss"
        ],
        ("sample 510:830", "its cost"): parts["510:830"]["cost_at_kstar"],
        ("sample 510:830", "its cost at k = 1"): expected["ucc_sample"]["notebook"][
            "510:830 original cost"
        ],
    }.items():
        printed, ours = rows[name, what]
        assert near(ours, want, 6), what
        assert float(ours) == pytest.approx(float(printed), rel=0.01)
