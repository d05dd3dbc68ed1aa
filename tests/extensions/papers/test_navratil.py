"""``monitor reproduce navratil`` beside a search of every scale."""

from __future__ import annotations

import numpy as np
import pytest

from tests.extensions.papers.test_generated_claims import by_first, made, titled

SEGMENTS = {"sample 0:500": "0:500", "sample 510:830": "510:830", "sample": "all"}


def near(text, wanted, digits):
    """Whether a printed number is ``wanted`` to so many significant digits."""
    return float(text) == pytest.approx(wanted, rel=0.51 * 10.0 ** (1 - digits), abs=1e-12)


def test_areas_costs_and_points_of_the_authors_sample(tmp_path, shared_data, expected):
    tables = made(tmp_path, "navratil", "--data", str(shared_data))
    points = by_first(titled(tables, "The bands as stated"))
    areas = by_first(titled(tables, "Areas under the curves"))

    for name, segment in SEGMENTS.items():
        want = expected["ucc_sample"]["segments"][segment]
        assert points[name][0] == str(want["n"])
        assert near(points[name][1], want["missrate"], 4)
        assert near(points[name][2], want["bandwidth"], 4)
        assert near(areas[name][0], want["auucc_bw_miss_exact"], 4)
        assert near(areas[name][1], want["const_bw_miss_exact"], 4)
        assert float(areas[name][2]) == pytest.approx(want["gain_bw_miss_exact_pct"], abs=5.1e-3)
    wine = expected["wine_gbr"]["ucc_on_the_other_rows"]
    names = ("n", "missrate", "bandwidth", "excess_paper_eq8", "deficit")
    for cell, name in zip(points["wine"], names, strict=False):
        assert near(cell, wine[name], 4), name
    assert float(areas["wine"][2]) == pytest.approx(wine["gain_bw_miss_exact_pct"], abs=5.1e-3)


def bands_of(own):
    value, below, above, reference = own[1]["bands"]
    error = value - reference
    return below, above, error, float(np.std(reference))


def points_at(below, above, error, scale):
    """Return bandwidth, miss rate, excess and deficit at one scale, by their definitions."""
    low, high = scale * below - error, scale * above + error
    nearer = np.minimum(low, high)
    return (
        scale * np.mean(below + above) / 2.0, np.mean(nearer < -1e-12),
        np.mean(np.maximum(nearer, 0.0)), np.mean(np.maximum(-nearer, 0.0)),
    )  # fmt: skip


@pytest.mark.parametrize("weight", [0.1, 0.5, 0.9])
def test_costs_with_the_users_weight_are_those_of_a_search(weight, tmp_path, own):
    tables = made(tmp_path / "out", "navratil", "--data", str(own[0]), "--cost", str(weight))
    rows = by_first(titled(tables, f"C(k) = {weight:g}"), 2)
    below, above, error, sd = bands_of(own)
    flat = np.full(error.size, np.mean(below + above) / 2.0)

    for axes, (x, y) in (("bandwidth, miss", (0, 1)), ("excess, deficit", (2, 3))):
        units = (sd, 1.0, sd, sd)

        def cost(lower, upper, scale, x=x, y=y, units=units):
            at = points_at(lower, upper, error, scale)
            return weight * at[x] / units[x] + (1.0 - weight) * at[y] / units[y]

        def search(lower, upper, cost=cost):
            scales = [0.0, *(np.abs(error) / np.where(error > 0, lower, upper))]
            return min(cost(lower, upper, scale) for scale in scales)

        stated, _, least, gain, gain_least = rows["sample", axes]
        assert near(stated, cost(below, above, 1.0), 4)
        assert near(least, search(below, above), 4)
        saved = 100.0 * (1.0 - cost(below, above, 1.0) / cost(flat, flat, 1.0))
        assert float(gain) == pytest.approx(saved, abs=5.1e-3)
        saved = 100.0 * (1.0 - search(below, above) / search(flat, flat))
        assert float(gain_least) == pytest.approx(saved, abs=5.1e-3)


def test_mae_of_scale_is_the_mean_distance_to_the_band(tmp_path, own):
    rows = by_first(titled(made(tmp_path / "out", "navratil", "--data", str(own[0])), "Mean of"))
    below, above, error, _ = bands_of(own)
    active = np.where(error > 0, below, above)
    flat = np.full(error.size, np.mean(below + above) / 2.0)

    def mae(half, scale):
        return np.mean(np.abs(np.abs(error) - scale * half))

    least, constant = (
        min(mae(half, scale) for scale in [0.0, *(np.abs(error) / half)]) for half in (active, flat)
    )
    stated, scale, ours, flat_ours, gain = rows["sample"]
    assert near(stated, mae(active, 1.0), 4)
    assert near(ours, least, 4)
    assert mae(active, float(scale)) == pytest.approx(least, rel=1e-4)
    assert near(flat_ours, constant, 4)
    assert float(gain) == pytest.approx(100.0 * (1.0 - least / constant), abs=5.1e-3)
