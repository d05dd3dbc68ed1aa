"""What must hold of every statistic in the registry, so of the next one too."""

from __future__ import annotations

import numpy as np
import pytest
from harness.examples import examples
from harness.series import drawn, pairs
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from monitor.core.columns import Columns
from monitor.core.scores.proper_scores import SCORES
from monitor.core.scores.statistics import (
    STATISTICS,
    compute,
    live_statistics,
    threshold_statistics,
)

NAMES = tuple(STATISTICS)
# The names other programs rely on: `monitor score --json`.
PROMISED = [
    "bias",
    "mae",
    "rmse",
    "z_mean",
    "z_var",
    "z_lag1",
    "zms",
    "rce",
    "nll",
    "ence",
    "uce",
    "beta_gm",
    "crps",
    "crps_tophat",
    "quadratic",
    "quadratic_tophat",
    "interval",
    "norm",
    "log_finite_mean",
    "log_infinite_count",
    "crps_expected_ratio",
    "coverage",
    "coverage_lower",
    "coverage_upper",
    "miss_rate",
    "bandwidth",
    "excess",
    "deficit",
    "auucc",
    "auucc_constant",
    "auucc_gain",
    "auucc_partial_gain",
    "scale_optimal",
    "cost",
    "cost_optimal",
    "scale_for_level",
    "n_effective",
]


def test_registry_has_every_promised_name():
    assert set(PROMISED) <= set(NAMES)


def test_every_statistic_says_what_it_is_in_one_sentence():
    for name, statistic in STATISTICS.items():
        assert statistic.help.endswith("."), name
        assert statistic.source, name


@pytest.mark.parametrize("density", ["normal", "tophat"])
def test_live_metrics_are_live_statistics(density):
    metrics = live_statistics(density)

    assert all(STATISTICS[name].live for name in metrics.values())
    assert metrics["score_crps_mean"] == ("crps" if density == "normal" else "crps_tophat")
    for wanted in (
        *(
            f"score_{s}_{k}"
            for s in ("crps", "quadratic", "interval", "norm")
            for k in ("mean", "median")
        ),
        *(f"score_{s}_expected_ratio" for s in ("crps", "quadratic", "interval")),
        *(
            f"calibration_{k}"
            for k in ("bias", "zms", "rce", "nll", "ence", "coverage_ratio", "z_lag1")
        ),
        *(f"calibration_zms_{k}" for k in ("lower", "upper", "zeta")),
        *(f"ucc_{k}" for k in ("auucc", "partial_gain_ratio", "scale_optimal")),
        "window_pairs_effective",
    ):
        assert wanted in metrics


@pytest.mark.parametrize(
    ("density", "key"), [("normal", "quadratic"), ("tophat", "quadratic_tophat")]
)
def test_the_brier_score_is_the_quadratic_score_by_another_name(density, key):
    metrics = live_statistics(density)

    assert metrics["score_brier_mean"] == metrics["score_quadratic_mean"] == key
    assert "brier" not in STATISTICS
    assert (
        threshold_statistics()["score_brier_mean"] is threshold_statistics()["score_quadratic_mean"]
    )


# One series, many series: the same bits.


@st.composite
def fleets(draw):
    """Draw series of any lengths, some with ties, some without spread, some badly stated."""
    counts = draw(st.lists(st.integers(1, 45), min_size=1, max_size=7))
    c = drawn(
        draw(st.integers(0, 10**6)), tuple(counts), heavy=draw(st.booleans()),
        skewed=draw(st.booleans()), u_ref=draw(st.sampled_from([0.0, 0.3])),
    )  # fmt: skip
    if not draw(st.booleans()):
        return c
    rough = draw(st.sampled_from([1.0, 2.0]))
    return pairs(
        np.round(c.value / rough) * rough, np.round(c.reference / rough) * rough,
        np.round(c.u) + 0.5, starts=c.starts,
    )  # fmt: skip


@examples(60)
@given(fleets(), st.sampled_from([1, 64, 10_000]))
def test_every_statistic_of_a_series_is_the_same_bits_alone_or_among_others(c, cells):
    together = compute(c, NAMES, cells)

    for i in range(c.starts.size):
        alone = compute(c.take(np.array([i])), NAMES)
        for name in NAMES:
            np.testing.assert_array_equal(alone[name][0], together[name][i], err_msg=name)


@examples(60)
@given(fleets())
def test_every_statistic_is_finite_or_absent_and_silent(c):
    for name, statistic in STATISTICS.items():
        figures = statistic.function(c)

        assert figures.shape == c.starts.shape
        assert not np.isinf(compute(c, [name])[name]).any()


@examples(100)
@given(
    hnp.arrays(np.float64, (3, 25), elements=st.floats(-1e15, 1e15)),
    st.floats(1e-12, 1e15),
    st.booleans(),
)
def test_no_numbers_in_range_make_a_warning(numbers, smallest, bare):
    value, reference, u = numbers
    u = np.clip(np.abs(u), smallest, 1e15)
    c = pairs(value, reference, None, value - u, value + u) if bare else pairs(value, reference, u)
    c = c.take(np.array([0]))

    for figures in compute(c, NAMES).values():
        assert not np.isinf(figures).any()


# Units and origin.


def changed(c: Columns, factor: float, shift: float) -> Columns:
    """Return the same pairs in another unit, counted from another origin."""
    return Columns(
        starts=c.starts, time=c.time, p=c.p,
        value=c.value * factor + shift, reference=c.reference * factor + shift,
        lower=c.lower * factor + shift, upper=c.upper * factor + shift,
        u=c.u * factor, u_ref=c.u_ref * factor,
    )  # fmt: skip


IN_ANOTHER_UNIT = {
    "quantity": lambda x, f: x * f,
    "1/quantity": lambda x, f: x / f,
    "quantity^2": lambda x, f: x * f * f,
    "log": lambda x, f: x + np.log(f),
    "none": lambda x, _: x,
}
SAMPLES = [drawn(1, (40, 200, 25), u_ref=0.2), drawn(2, (40, 200, 25), skewed=True)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("factor", [0.25, 1024.0])
@pytest.mark.parametrize("c", SAMPLES, ids=["u", "interval"])
def test_another_unit_changes_a_statistic_as_its_unit_says(name, factor, c):
    before, after = compute(c, [name])[name], compute(changed(c, factor, 0.0), [name])[name]

    want = IN_ANOTHER_UNIT[STATISTICS[name].unit](before, factor)
    np.testing.assert_allclose(after, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("c", SAMPLES, ids=["u", "interval"])
def test_another_origin_changes_nothing(name, c):
    before, after = compute(c, [name])[name], compute(changed(c, 1.0, 2.0**20), [name])[name]

    np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-8)


# Robustness.


def test_one_huge_error_leaves_the_median_and_trimmed_score_alone():
    c = drawn(3, (200,))
    value = c.value.copy()
    value[7] = 1e15

    got = compute(pairs(value, c.reference, c.u), ["crps", "crps_median", "crps_trimmed"])

    plain = compute(c, ["crps", "crps_median", "crps_trimmed"])
    assert got["crps"][0] > 1e12
    assert got["crps_median"][0] == pytest.approx(plain["crps_median"][0], rel=0.05)
    assert got["crps_trimmed"][0] == pytest.approx(plain["crps_trimmed"][0], rel=0.1)


@pytest.mark.parametrize("counts", [(200, 200), (5, 8, 200)])
def test_medians_and_trimmed_means_equal_numpy(counts):
    c = drawn(4, counts)
    got = compute(c, ["interval_median", "interval_trimmed"])

    rows = np.split(
        c.width + 20.0 * np.maximum(np.maximum(c.lower - c.reference, c.reference - c.upper), 0.0),
        c.starts[1:],
    )
    np.testing.assert_allclose(got["interval_median"], [np.median(r) for r in rows], rtol=1e-9)
    trimmed = [np.mean(np.sort(r)[r.size // 10 : r.size - r.size // 10]) for r in rows]
    np.testing.assert_allclose(got["interval_trimmed"], trimmed, rtol=1e-9)


@pytest.mark.parametrize("u_ref", [0.0, 0.5])
@pytest.mark.parametrize("name", [n for n in NAMES if n.endswith("expected_ratio")])
def test_honest_sensor_scores_what_its_claim_predicts(name, u_ref):
    """Drawn from the claim: normal, or uniform on the interval for the CRPS of the top hat."""
    c = drawn(5, (40_000,), u_ref=u_ref)
    if name == "crps_tophat_expected_ratio":
        random = np.random.default_rng(1)
        reference = random.uniform(c.lower, c.upper) + u_ref * random.normal(size=c.value.size)
        c = pairs(c.value, reference, None, c.lower, c.upper, u_ref=u_ref)

    assert compute(c, [name])[name][0] == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("name", [n for n in NAMES if n.endswith("expected_ratio")])
@pytest.mark.parametrize("fault", ["offset", "understated"])
def test_every_ratio_is_above_1_where_a_sensor_is_worse_than_it_says(name, fault):
    """1 + (S - E)/|E|, S and E the means of rows worked out apart: one direction for all scores."""
    c = drawn(5, (4_000,))
    if fault == "offset":
        c = pairs(c.value + 2.0 * c.u, c.reference, c.u)
    else:
        c = pairs(c.value, c.reference, c.u / 2.0)
    score = SCORES[name.removesuffix("_expected_ratio")]

    got = compute(c, [name])[name][0]

    mean, claim = np.mean(score.rows(c)), np.mean(score.expected(c))
    assert got == pytest.approx(1.0 + (mean - claim) / abs(claim), rel=1e-12)
    assert got > 1.3


def test_the_quadratic_ratio_counts_down_from_2_as_the_density_at_the_reference_grows():
    """E = -1/(2 u sqrt(pi)) of an exact reference; S = (1/(2 sqrt(pi)) - 2 phi(z))/u."""
    c = pairs([0.0, 50.0], 0.0, 1.0, starts=[0, 1])

    hit, miss = compute(c, ["quadratic_expected_ratio"])["quadratic_expected_ratio"]

    assert hit == pytest.approx(3.0 - 2.0 * np.sqrt(2.0), rel=1e-12)
    assert miss == pytest.approx(3.0, rel=1e-12)


def test_expected_quadratic_ratio_is_absent_where_the_reference_is_too_poor():
    c = drawn(5, (200,), u_ref=50.0)

    assert np.isnan(compute(c, ["quadratic_expected_ratio"])["quadratic_expected_ratio"][0])


def test_log_score_of_the_top_hat_is_never_averaged_over_its_infinities():
    got = compute(pairs([0.0, 0.0, 0.0], [0.5, 5.0, 0.1], None, -1.0, 1.0), NAMES)

    assert got["log_infinite_count"][0] == 1.0
    assert got["log_finite_mean"][0] == pytest.approx(np.log(2.0))
    missed = compute(pairs([0.0], [5.0], None, -1.0, 1.0), NAMES)
    assert np.isnan(missed["log_finite_mean"][0])


def test_numbers_beyond_the_range_are_absent_without_a_warning():
    got = compute(pairs([1e200, 0.0], [0.0, 0.0], [1e-200, 1.0]), NAMES)

    assert np.isnan(got["zms"][0])
