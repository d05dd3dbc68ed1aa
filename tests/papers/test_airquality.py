"""Real sensors: thirteen months beside an analyser, week by week, and thirty seconds of ranging."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest

from monitor.core.analysis import resampling
from monitor.core.scores import intervals
from monitor.core.scores.statistics import compute
from tests.papers.exact import differences

SENSORS = ["co", "nox", "no2"]
WEEKLY = {
    "mean_error": ("bias", -1.0), "zms": ("zms", 1.0), "rce": ("rce", 1.0),
    "crps_gauss": ("crps", 1.0), "crps_tophat90": ("crps_tophat", 1.0),
    "brier_tophat90": ("quadratic_tophat", 1.0), "interval90": ("interval", 1.0),
    "nll": ("nll", 1.0), "coverage90": ("coverage", 1.0), "lag1_autocorr_z": ("z_lag1", 1.0),
}  # fmt: skip


@pytest.fixture(scope="session")
def pairs_of(read):
    rows = read("airquality_pairs.csv.gz")
    return {sensor: [row for row in rows if row["sensor"] == sensor] for sensor in SENSORS}


@pytest.mark.parametrize("sensor", SENSORS)
def test_every_exact_figure_of_all_weeks(sensor, pairs_of, as_columns, expected):
    want = expected["airquality"]["exact_all_weeks"][sensor]

    assert differences(as_columns(pairs_of[sensor]), want) == []


@pytest.mark.parametrize("sensor", SENSORS)
def test_every_exact_figure_after_calibration(sensor, pairs_of, as_columns, expected):
    want = expected["airquality"]["exact_after_calibration"][sensor]
    rows = [row for row in pairs_of[sensor] if row["time"] >= "2004-04-07"]

    assert differences(as_columns(rows), want) == []


@pytest.mark.parametrize("sensor", SENSORS)
def test_every_week(sensor, pairs_of, as_columns, expected):
    for want in expected["airquality"]["weekly"][sensor]:
        end = (datetime.fromisoformat(want["start"]) + timedelta(days=7)).date().isoformat()
        rows = [row for row in pairs_of[sensor] if want["start"] <= row["time"] < end]
        c = as_columns(rows, stated=True)
        got = compute(c, [name for name, _ in WEEKLY.values()])

        assert len(rows) == want["n"]
        for name, (statistic, factor) in WEEKLY.items():
            if want[name] is not None:
                figure = factor * got[statistic][0]
                assert figure == pytest.approx(want[name], rel=1e-8, abs=1e-10), name
        if want["n"] >= intervals.MIN_PAIRS and want["zms_lo"] is not None:
            found = intervals.abc_zms(c)
            ends = (found.lower[0], found.upper[0], found.zeta[0])
            assert ends == pytest.approx(
                (want["zms_lo"], want["zms_hi"], want["zeta_zms"]), rel=1e-5
            )


@pytest.mark.parametrize("sensor", ["uwb105", "uwb107", "uwb108", "uwb109", "all"])
def test_every_exact_figure_of_the_ranging_sensors(sensor, read, as_columns, expected):
    rows = [row for row in read("uwb_pairs.csv") if sensor in {row["sensor"], "all"}]

    assert differences(as_columns(rows), expected["uwb"]["exact"][sensor]) == []


@pytest.mark.parametrize("sensor", ["uwb105", "uwb107", "uwb108", "uwb109", "all"])
def test_bca_of_the_ranging_sensors_is_that_of_another_program_within_noise(
    sensor, read, as_columns, expected
):
    rows = [row for row in read("uwb_pairs.csv") if sensor in {row["sensor"], "all"}]
    want = expected["uwb"]["zms_bca"][sensor]

    got = resampling.bca_zms(as_columns(rows), seed=1)

    noise = 0.05 * (want["hi"] - want["lo"])
    assert got.lower[0] == pytest.approx(want["lo"], abs=noise)
    assert got.upper[0] == pytest.approx(want["hi"], abs=noise)


def test_ranging_sensors_state_a_constant_uncertainty_so_their_gain_is_nothing(read, as_columns):
    c = as_columns(read("uwb_pairs.csv"))

    got = compute(c, ["auucc_gain", "rce", "zms"])

    assert got["auucc_gain"][0] == pytest.approx(0.0, abs=1e-12)
    assert got["rce"][0] == pytest.approx(1.0 - np.sqrt(got["zms"][0]), abs=1e-12)
