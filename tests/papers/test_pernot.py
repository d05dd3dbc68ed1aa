"""Paper B (Pernot, arXiv 2402.10043v2): its tables, from the author's own data."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.analysis import resampling, sensitivity
from monitor.core.scores import calibration, intervals
from tests.papers.exact import differences

SETS = [f"pernot_set{i}" for i in range(1, 6)]
ENDS = {"lo": "lower", "hi": "upper", "zeta": "zeta", "bias": "bias"}


@pytest.fixture(scope="session")
def series(read, as_columns):
    return {name: as_columns(read(f"{name}.csv")) for name in SETS}


@pytest.mark.parametrize("name", SETS)
def test_every_exact_figure(name, series, expected):
    assert differences(series[name], expected[name]["exact"]) == []


@pytest.mark.parametrize("statistic", ["zms", "rce"])
@pytest.mark.parametrize("name", SETS)
def test_bca_interval_is_within_the_noise_of_fifty_seeds(name, statistic, series, expected):
    want = expected[name]["bootstrap"][statistic]
    method = {"zms": resampling.bca_zms, "rce": resampling.bca_rce}[statistic]

    got = method(series[name], seed=1)

    for key, field in ENDS.items():
        assert abs(getattr(got, field)[0] - want[key]["mean"]) <= want[key]["tol"], key


@pytest.mark.parametrize("statistic", ["zms", "rce"])
@pytest.mark.parametrize("name", SETS)
def test_abc_interval_and_verdict(name, statistic, series, expected):
    want = expected[name]["bootstrap"][statistic]
    method = {"zms": intervals.abc_zms, "rce": intervals.abc_rce}[statistic]

    got = method(series[name])

    for key in ("lo", "hi", "zeta"):
        assert getattr(got, ENDS[key])[0] == pytest.approx(want["abc"][key], rel=1e-6, abs=1e-8)
    assert want["verdict"].startswith(intervals.verdict(float(got.zeta[0])))


@pytest.mark.parametrize("name", SETS)
def test_live_interval_is_that_of_bca_within_half_a_percent_of_its_width(name, series, expected):
    """Of independent pairs, as BCa takes them; the sets' order adds 0.0 to 3.1 % to the width."""
    want = expected[name]["bootstrap"]["zms"]
    width = want["hi"]["mean"] - want["lo"]["mean"]

    got, live = intervals.saddlepoint_zms(series[name]), intervals.zms_interval(series[name])

    assert 1.0 <= (live.upper - live.lower)[0] / (got.upper - got.lower)[0] < 1.035
    noise = 3.0 / 50**0.5  # of the mean over 50 seeds, in their standard deviations
    for key in ("lo", "hi"):
        off = abs(getattr(got, ENDS[key])[0] - want[key]["mean"])
        assert off <= 0.005 * width + noise * want[key]["sd"]


@pytest.mark.parametrize("name", SETS)
def test_printed_tables_to_their_digits(name, series, expected):
    """Table 1 beta_GM and Table 2 of the paper; the sentence "0.172 to 0.524" leaves out set 5."""
    paper, c = expected[name]["paper"], series[name]

    assert calibration.beta_gm(c)[0] == pytest.approx(paper["beta_gm"], abs=0.0006)
    assert calibration.zms(c)[0] == pytest.approx(paper["zms"]["est"], rel=0.005)
    assert calibration.rce(c)[0] == pytest.approx(paper["rce"]["est"], rel=0.005)
    for method, key in ((intervals.zms_interval, "zms"), (intervals.abc_rce, "rce")):
        assert method(c).zeta[0] == pytest.approx(paper[key]["zeta"], abs=0.25)


def test_decimation_moves_the_verdict_of_rce_before_that_of_zms(series):
    """Fig. 2: without the 10 % of largest u RCE leaves its interval on sets 3 and 4, not ZMS."""
    for name in ("pernot_set3", "pernot_set4"):
        c = series[name]
        left = sensitivity.decimate(c, np.array([0.1]), by="u")
        zms_interval, rce_interval = intervals.abc_zms(c), intervals.abc_rce(c)

        assert zms_interval.lower[0] <= left.zms[0] <= zms_interval.upper[0]
        assert not rce_interval.lower[0] <= left.rce[0] <= rce_interval.upper[0]
