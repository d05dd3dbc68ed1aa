"""Curves and rows of scores against what numpy and scipy say of the same pairs."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import stats

import monitor
from tests.frames.test_pair_frames import frame


@pytest.fixture(scope="module")
def scores() -> monitor.Scores:
    return monitor.score(frame())


def test_rows_have_the_scores_of_each_pair(scores):
    pairs, rows = frame(), scores.rows()
    z = (pairs["value"] - pairs["reference"]) / pairs["u"]

    assert rows["sensor"].tolist() == pairs["sensor"].tolist()
    np.testing.assert_allclose(rows["z"], z)
    crps = pairs["u"] * (
        z * (2.0 * stats.norm.cdf(z) - 1.0) + 2.0 * stats.norm.pdf(z) - 1.0 / np.sqrt(np.pi)
    )
    np.testing.assert_allclose(rows["crps"], crps)
    means = rows.groupby("sensor")["crps"].mean()
    assert means.tolist() == pytest.approx([each["statistics"]["crps"] for each in scores.series])


def test_reliability_and_z_are_those_of_the_pairs(scores):
    z = {name: part["z"] for name, part in scores.rows().groupby("sensor")}
    for name, part in scores.curve("reliability").groupby("sensor"):
        reach = stats.norm.ppf(0.5 + part["level"] / 2.0)
        np.testing.assert_allclose(
            part["share"], [(np.abs(z[name]) <= each).mean() for each in reach]
        )
    for name, part in scores.curve("z").groupby("sensor"):
        assert part["z"].tolist() == sorted(z[name])
        assert stats.kstest(part["expected"], "norm").pvalue > 0.99


def test_the_ucc_is_the_miss_of_scaled_bands(scores):
    pairs = frame()[:240]
    curve = monitor.ucc(pairs["value"], pairs["u"], pairs["reference"])
    distance = (pairs["value"] - pairs["reference"]).abs()
    reach = stats.norm.ppf(0.95) * pairs["u"]

    for at in (1, 100, 200):
        scale = curve["scale"][at]
        assert curve["miss"][at] == pytest.approx((distance > scale * reach * (1 + 1e-12)).mean())
        assert curve["bandwidth"][at] == pytest.approx(scale * reach.mean())


def test_a_plot_has_a_line_for_each_sensor(scores, monkeypatch):
    drawn = scores.plot()

    assert [axes.get_title() for axes in drawn.axes] == ["reliability", "z", "ucc"]
    lines = [line.get_label() for line in drawn.axes[2].get_lines()]
    assert lines == ["cart-1 value", "cart-2 value"]
    with pytest.raises(monitor.FrameError, match="no curve 'roc': there are reliability, z, ucc"):
        scores.curve("roc")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(monitor.FrameError, match=r"plot\(\) needs matplotlib: pip install"):
        scores.plot()


def test_the_package_lists_what_it_offers_and_no_more():
    assert dir(monitor) == sorted(monitor.__all__)
    assert {"score", "compare", "ucc", "Watch"} < set(dir(monitor))
