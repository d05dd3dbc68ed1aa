"""What else expected.json holds: other programs' runs, dates, counts; nothing is left out."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np
import pytest

from monitor.core.analysis import resampling
from monitor.core.scores import calibration, curves, intervals
from monitor.core.scores.statistics import compute
from monitor.files import read_stream
from tests.papers.exact import curve_figures, figures, stated_point

PERNOT = [f"pernot_set{i}" for i in range(1, 6)]
# Every part of every set; the tests of this folder read each. Notes and names have no figures.
PARTS = {
    **dict.fromkeys(
        PERNOT,
        "file name n columns paper author_other_runs bootstrap exact cross_checked",
    ),
    "seed000": "files rtol facts table1_spearman table1_pearson note",
    "ucc_sample": "file n columns rtol segments notebook ours_uq360_definition",
    "uwb": "file stream_file n exact zms_bca verdict",
    "wine_gbr": "file n columns rtol alpha coverage crps_tophat brier_tophat interval_alpha_0_1 "
    "rows_with_value_outside_own_interval ucc_on_the_other_rows paper_table4_constant_row",
    "airquality": "file stream_file weekly_file n_readings n_references n calibration "
    "calibration_weeks week_origin exact_all_weeks exact_after_calibration alert_dates weekly",
}


@pytest.fixture(scope="session")
def series(read, as_columns):
    return {name: as_columns(read(f"{name}.csv")) for name in PERNOT}


def test_expected_json_has_the_parts_that_these_tests_know(expected):
    assert {name: set(parts) for name, parts in expected.items()} == {
        name: set(parts.split()) for name, parts in PARTS.items()
    }


def test_files_have_the_rows_and_columns_that_are_stated(expected, read):
    for name, each in expected.items():
        if "n" in each:
            rows = read(each["file"])
            assert len(rows) == each["n"], name
            assert list(rows[0]) == each.get("columns", list(rows[0])), name


# Paper B's sets: the same figures by other programs.


@pytest.mark.parametrize("name", PERNOT)
def test_scores_are_those_of_another_library(name, series, expected):
    want = expected[name]["cross_checked"]["scoringrules_0_10_0"]
    got = figures(series[name])

    assert {key: got[key] for key in want} == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize("name", PERNOT)
def test_areas_are_those_of_the_authors_program_but_for_its_definition(name, series, expected):
    """Its trapezoids begin at the first point, and its miss rates are up to 1/N off (E8, E9)."""
    c = series[name]
    want = expected[name]["cross_checked"]["uq360"]
    got = curve_figures(c)

    for axes in ("bw_miss", "ex_def", "ex_miss"):
        constant = "auucc_const_trapz" if axes == "bw_miss" else f"auucc_{axes}_const_trapz"
        areas = [got[f"auucc_{axes}_trapz"], got[constant]]
        assert areas == pytest.approx(want[f"uq_auucc_{axes}"], rel=4.0 / c.value.size), axes
    scale, least = want["uq_kstar_bw_c01"]
    assert got["cost_bw_miss_c01"] == pytest.approx(least, abs=1.0 / c.value.size)
    assert expected[name]["exact"]["kstar_bw_miss_c01"]["value"] == pytest.approx(scale, rel=5e-3)


@pytest.mark.parametrize("statistic", ["zms", "rce"])
@pytest.mark.parametrize("name", PERNOT)
def test_the_authors_other_runs_lie_within_a_few_percent_of_the_deterministic_interval(
    name, statistic, series, expected
):
    got = {"zms": intervals.abc_zms, "rce": intervals.abc_rce}[statistic](series[name])
    width = float(got.upper[0] - got.lower[0])
    runs = [run[statistic] for run in expected[name]["author_other_runs"].values()]
    other = expected[name]["bootstrap"][statistic]["scipy_seed1"]

    for run in runs:
        assert got.estimate[0] == pytest.approx(run["est"], rel=1e-9)
        assert (got.lower[0], got.upper[0]) == pytest.approx(run["ci"], abs=0.04 * width)
        assert abs(run["bias"]) < 0.02 * width
    ends = (other["lo"], other["hi"])
    assert (got.lower[0], got.upper[0]) == pytest.approx(ends, abs=0.04 * width)


@pytest.mark.parametrize("name", PERNOT)
def test_acceleration_and_the_share_of_seeds_agree_with_the_verdict(name, series, expected):
    c = series[name]
    for want in (expected[name]["bootstrap"][statistic] for statistic in ("zms", "rce")):
        share = want["fraction_of_seeds_with_abs_zeta_le_1"]
        word = {0.0: "invalid", 1.0: "valid"}.get(share, "undecided")
        assert want["verdict"].startswith(word)
    rows = c.once(calibration.z_square)
    left_out = -(rows.sum() - rows) / (rows.size - 1)
    got = resampling.acceleration(left_out)
    assert got == pytest.approx(expected[name]["bootstrap"]["zms"]["acceleration"], rel=1e-8)


# Paper C's sample: the rest of the notebook.


def test_notebook_operating_point_optimum_and_partial_areas(read, as_columns, expected):
    want = expected["ucc_sample"]["notebook"]
    rows = read("ucc_sample.csv.gz")
    first, later = (as_columns(rows[part]) for part in (slice(0, 500), slice(510, 830)))
    sd = float(np.std(later.reference))
    points, here = normalised(later), stated_point(later)

    assert stated_point(first)["miss"] == pytest.approx(want["0:500 missrate"], abs=0.005)
    assert here["miss"] == pytest.approx(want["510:830 missrate"], abs=1e-4)
    assert here["bandwidth"] / sd == pytest.approx(want["510:830 Wband"], abs=1e-4)
    original = here["bandwidth"] / sd + 10.0 * here["miss"]
    assert original == pytest.approx(want["510:830 original cost"], rel=1e-6)
    cost = points.bandwidth + 10.0 * points.miss
    assert points.scale[np.argmin(cost)] == pytest.approx(want["510:830 kstar"], rel=1e-9)
    assert cost.min() == pytest.approx(want["510:830 min cost"], rel=1e-9)


def normalised(c):
    points = curves.curve(c.value - c.lower, c.upper - c.value, c.error, nearer=False)
    return curves.normalised(points, float(np.std(c.reference)))


def test_areas_by_the_authors_definition(read, as_columns, expected):
    want = expected["ucc_sample"]["ours_uq360_definition"]
    rows = read("ucc_sample.csv.gz")
    first, later = (normalised(as_columns(rows[part])) for part in (slice(500), slice(510, 830)))

    for x, y, points, name in (
        ("excess", "miss", first, "0:500 ex/miss"),
        ("excess", "deficit", first, "0:500 ex/def"),
        ("bandwidth", "miss", later, "510:830 bw/miss"),
    ):
        area = curves.trapezoid_area(getattr(points, x)[1:], getattr(points, y)[1:])
        assert area == pytest.approx(want[name], abs=1e-3), name


# Real sensors: weeks, dates, counts.


def test_weekly_file_is_the_weekly_part(read, expected):
    rows = read(expected["airquality"]["weekly_file"])
    weeks = [
        {"sensor": sensor, **week}
        for sensor, each in expected["airquality"]["weekly"].items()
        for week in each
    ]

    by_name = {(row["sensor"], row["start"]): row for row in rows}
    assert len(rows) == len(weeks)
    for week in weeks:
        row = by_name[week["sensor"], week["start"]]
        for name, value in week.items():
            if isinstance(value, str):
                assert row[name] == value
            else:
                stated = float(row[name]) if row[name] else None
                assert stated == (
                    value if value is None else pytest.approx(value, rel=1e-9, abs=1e-9)
                ), name


RULES = {
    "zms_ci_above_1_two_weeks": lambda week, _: week["lower"] > 1.0,
    "zms_ci_below_1_two_weeks": lambda week, _: week["upper"] < 1.0,
    "crps_over_1_5_baseline_two_weeks": lambda week, base: week["crps"] > 1.5 * base["crps"],
    "crps_over_2_baseline_two_weeks": lambda week, base: week["crps"] > 2.0 * base["crps"],
    "brier_over_half_baseline_two_weeks": (
        lambda week, base: week["quadratic_tophat"] > 0.5 * base["quadratic_tophat"]
    ),
    "brier_positive_two_weeks": lambda week, _: week["quadratic_tophat"] > 0.0,
    "coverage_below_0_7_two_weeks": lambda week, _: week["coverage"] < 0.7,
}
NAMES = ("crps", "crps_tophat", "quadratic_tophat", "interval", "zms", "coverage")
BASELINE = ("crps_gauss", "crps_tophat90", "brier_tophat90", "interval90", "zms", "coverage90")


def weekly(rows, as_columns, origin, count):
    """Return our own figures of each week, the statistics of too few pairs as NaN."""
    found = []
    for number in range(count):
        start, end = ((origin + timedelta(days=7 * n)).isoformat() for n in (number, number + 1))
        part = [row for row in rows if start <= row["time"] < end]
        if not part:
            found.append(dict.fromkeys((*NAMES, "lower", "upper"), np.nan))
            continue
        c = as_columns(part, stated=True)
        interval = intervals.abc_zms(c)
        found.append(
            {name: numbers[0] for name, numbers in compute(c, NAMES).items()}
            | {"lower": interval.lower[0], "upper": interval.upper[0]}
        )
    return found


@pytest.mark.parametrize("sensor", ["co", "nox", "no2"])
def test_dates_at_which_a_rule_held_for_two_weeks(sensor, read, as_columns, expected):
    want = expected["airquality"]
    rows = [row for row in read(want["file"]) if row["sensor"] == sensor]
    origin = date.fromisoformat(want["week_origin"][:10])
    weeks = weekly(rows, as_columns, origin, 56)
    end = (origin + timedelta(days=7 * want["calibration_weeks"])).isoformat()
    calibration_rows = [row for row in rows if row["time"] < end]
    base = compute(as_columns(calibration_rows, stated=True), NAMES)
    base = {name: numbers[0] for name, numbers in base.items()}

    dates = want["alert_dates"][sensor]
    stated = [dates["baseline"][name] for name in BASELINE]
    assert list(base.values()) == pytest.approx(stated, rel=1e-8)
    assert len(calibration_rows) == want["calibration"][sensor]["n_calibration"]
    later = range(want["calibration_weeks"] + 1, 56)
    for name, rule in RULES.items():
        held = [n for n in later if rule(weeks[n - 1], base) and rule(weeks[n], base)]
        first = (origin + timedelta(days=7 * (held[0] + 1))).isoformat() if held else None
        assert first == dates[name], name


@pytest.mark.parametrize("sensor", ["co", "nox", "no2"])
def test_stated_u_is_that_of_the_calibration(sensor, read, expected):
    how = expected["airquality"]["calibration"][sensor]
    rows = [row for row in read("airquality_pairs.csv.gz") if row["sensor"] == sensor]
    value, u = (np.array([float(row[name]) for row in rows]) for name in ("value", "sigma"))

    np.testing.assert_allclose(u, np.hypot(how["s0"], how["k"] * np.maximum(value, 0.0)), atol=2e-5)


def test_stream_has_the_readings_and_references_that_are_stated(expected, shared_data):
    want = expected["airquality"]
    kinds = [type(each).__name__ for each in read_stream(shared_data / want["stream_file"])]

    assert kinds.count("Reading") == want["n_readings"]
    assert kinds.count("Reference") == want["n_references"]


@pytest.mark.parametrize("sensor", ["uwb105", "uwb107", "uwb108", "uwb109", "all"])
def test_ranging_sensors_acceleration_and_zeta(sensor, read, as_columns, expected):
    rows = [row for row in read("uwb_pairs.csv") if sensor in {row["sensor"], "all"}]
    want, c = expected["uwb"]["zms_bca"][sensor], as_columns(rows)
    square = c.z**2

    got = resampling.acceleration(square - square.mean())

    assert got == pytest.approx(want["a"], rel=1e-8)
    assert square.mean() == pytest.approx(want["est"], rel=1e-9)
    zeta = intervals.abc_zms(c).zeta[0]
    assert zeta == pytest.approx(want["zeta"], rel=0.1)


def test_weeks_begin_where_the_file_says(expected):
    want = expected["airquality"]
    origin = datetime.fromisoformat(want["week_origin"]).date()
    for each in want["weekly"].values():
        for week in each:
            start = origin + timedelta(days=7 * week["week"])
            assert week["start"] == start.isoformat()
            assert week["end"] == (start + timedelta(days=7)).isoformat()
