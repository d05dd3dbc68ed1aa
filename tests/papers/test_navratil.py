"""Paper C (Navratil et al., arXiv 2106.00858): the sample of its own code, and a hard case."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.scores import characteristics, curves
from monitor.core.scores.statistics import compute

SEGMENTS = {"0:500": slice(0, 500), "510:830": slice(510, 830), "all": slice(None)}
STATISTIC_OF = {
    "missrate": "miss_rate",
    "bandwidth": "bandwidth",
    "auucc_bw_miss_exact": "auucc",
    "const_bw_miss_exact": "auucc_constant",
    "crps_tophat": "crps_tophat",
    "brier_tophat": "quadratic_tophat",
    "interval_alpha_0_1": "interval",
}


def points_of(c, *, nearer=True):
    return curves.curve(c.value - c.lower, c.upper - c.value, c.error, nearer=nearer)


@pytest.mark.parametrize("segment", SEGMENTS)
def test_sample_of_the_reference_code(segment, read, as_columns, expected):
    want = expected["ucc_sample"]["segments"][segment]
    c = as_columns(read("ucc_sample.csv.gz")[SEGMENTS[segment]])

    got = compute(c, [*STATISTIC_OF.values(), "auucc_gain"])

    assert c.value.size == want["n"]
    for name, statistic in STATISTIC_OF.items():
        assert got[statistic][0] == pytest.approx(want[name], rel=1e-9), name
    assert 100.0 * got["auucc_gain"][0] == pytest.approx(want["gain_bw_miss_exact_pct"], rel=1e-9)
    points = points_of(c, nearer=False)
    for name, x, y in (
        ("bw_miss", points.bandwidth, points.miss),
        ("ex_miss", points.excess, points.miss),
        ("ex_def", points.excess, points.deficit),
    ):
        area = curves.trapezoid_area(x[1:], y[1:])
        assert area == pytest.approx(want[f"auucc_{name}_trapz"], rel=1e-9), name
    sd = float(np.std(c.reference))
    assert sd == pytest.approx(want["std_reference"], rel=1e-9)
    cost = points.bandwidth / sd + 10.0 * points.miss
    best = int(np.argmin(cost))
    assert points.scale[best] == pytest.approx(want["kstar_cost_bw_over_sd_plus_10_miss"], rel=1e-9)
    assert cost[best] == pytest.approx(want["cost_at_kstar"], rel=1e-9)


def test_notebook_figures_within_the_artefact_of_its_miss_rates(read, as_columns, expected):
    """The notebook's miss rates are up to 1/N off by rounding, hence differences below 1e-3."""
    notebook = expected["ucc_sample"]["notebook"]
    rows = read("ucc_sample.csv.gz")
    c = as_columns(rows[SEGMENTS["0:500"]])
    later = as_columns(rows[SEGMENTS["510:830"]])

    points = curves.normalised(points_of(c, nearer=False), float(np.std(c.reference)))
    area = curves.trapezoid_area(points.excess[1:], points.miss[1:])
    assert area == pytest.approx(notebook["0:500 ex/miss AUUCC / std"], abs=0.005)
    area = curves.trapezoid_area(points.excess[1:], points.deficit[1:])
    assert area == pytest.approx(notebook["0:500 ex/def AUUCC / std^2"], abs=0.005)
    points = curves.normalised(points_of(later), float(np.std(later.reference)))
    area = curves.trapezoid_area(points.bandwidth[1:], points.miss[1:])
    assert area == pytest.approx(notebook["510:830 bw/miss AUUCC / std"], abs=1e-3)


def test_wine_scores_of_all_rows_and_curve_of_those_with_a_band(read, as_columns, expected):
    want = expected["wine_gbr"]
    c = as_columns(read("wine_gbr.csv"))

    got = compute(c, ["coverage", "crps_tophat", "quadratic_tophat", "interval", "auucc",
                      "auucc_constant", "auucc_gain"])  # fmt: skip

    assert got["coverage"][0] == pytest.approx(want["coverage"], rel=1e-9)
    assert got["crps_tophat"][0] == pytest.approx(want["crps_tophat"], rel=1e-9)
    assert got["quadratic_tophat"][0] == pytest.approx(want["brier_tophat"], rel=1e-9)
    assert got["interval"][0] == pytest.approx(want["interval_alpha_0_1"], rel=1e-9)
    rest = want["ucc_on_the_other_rows"]
    odd = c.value.size - characteristics.banded_count(c)[0]
    assert odd == want["rows_with_value_outside_own_interval"]
    assert got["auucc"][0] == pytest.approx(rest["auucc_bw_miss_exact"], rel=1e-9)
    assert got["auucc_constant"][0] == pytest.approx(rest["const_bw_miss_exact"], rel=1e-9)
    assert 100.0 * got["auucc_gain"][0] == pytest.approx(rest["gain_bw_miss_exact_pct"], rel=1e-9)


def test_wine_rows_that_hold_their_value(read, as_columns, expected):
    want = expected["wine_gbr"]["ucc_on_the_other_rows"]
    rows = [r for r in read("wine_gbr.csv")
            if float(r["lower"]) <= float(r["value"]) <= float(r["upper"])]  # fmt: skip
    c = as_columns(rows)

    got = compute(c, ["miss_rate", "bandwidth", "excess", "deficit", "auucc"])

    assert len(rows) == want["n"]
    for name, statistic in (
        ("missrate", "miss_rate"), ("bandwidth", "bandwidth"), ("excess_paper_eq8", "excess"),
        ("deficit", "deficit"), ("auucc_bw_miss_exact", "auucc"),
    ):  # fmt: skip
        assert got[statistic][0] == pytest.approx(want[name], rel=1e-9), name
    held = c.inside
    sided = np.where(c.error > 0.0, c.reference - c.lower, c.upper - c.reference)
    assert np.where(held, sided, 0.0).mean() == pytest.approx(want["excess_sided"], rel=1e-9)


def test_operating_points_of_section_2_check_out_and_the_gain_of_section_4_does_not():
    """C section 4.1 prints -31.5 % for areas 0.733 and 0.597; eq. 6 gives -22.8 % (E6)."""
    assert pytest.approx(-22.8, abs=0.05) == 100.0 * (1.0 - 0.733 / 0.597)
