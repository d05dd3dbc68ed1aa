"""The table of sensors on common events, against scipy, brute force and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from harness.examples import examples
from harness.series import pairs
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from monitor.core.analysis import ranking
from monitor.core.columns import Columns
from monitor.core.scores import characteristics, proper_scores
from monitor.core.scores.statistics import compute


def fleet(spreads, events=60, seed=0, *, claimed=1.0, dependent=0.0):
    """Return sensors of the same events, errors of these spreads, and the events' numbers."""
    random = np.random.default_rng(seed)
    reference = random.normal(500.0, 50.0, events)
    noise = random.normal(size=(len(spreads), events))
    for i in range(1, events if dependent else 0):
        noise[:, i] = dependent * noise[:, i - 1] + np.sqrt(1 - dependent**2) * noise[:, i]
    value = reference + np.asarray(spreads)[:, None] * noise
    c = pairs(
        value.ravel(), np.tile(reference, len(spreads)), claimed,
        starts=np.arange(len(spreads)) * events,
    )  # fmt: skip
    return c, np.tile(np.arange(events) + 1000, len(spreads))


def without(c, event, gone):
    """Return the pairs without those marked ``gone``."""
    starts = np.searchsorted(c.series[~gone], np.arange(c.starts.size))
    return c.select(np.flatnonzero(~gone), starts), event[~gone]


def test_only_events_that_all_saw_count_in_the_order_of_their_times():
    c, event = fleet([1.0, 2.0, 3.0], 8)
    gone = ((c.series == 0) & (event == 1003)) | ((c.series == 2) & (event == 1006))
    c, event = without(c, event, gone)

    common, numbers = ranking.on_common_events(c, event)

    assert numbers.tolist() == [1000, 1001, 1002, 1004, 1005, 1007]
    by_name = {
        (s, e): row
        for row, (s, e) in enumerate(zip(c.series.tolist(), event.tolist(), strict=True))
    }
    for series in range(3):
        rows = [by_name[series, number] for number in numbers.tolist()]
        part = slice(series * 6, series * 6 + 6)
        np.testing.assert_array_equal(common.value[part], c.value[rows])
        np.testing.assert_array_equal(common.reference[part], c.reference[rows])


def test_the_last_of_several_pairs_of_an_event_counts():
    c = pairs([1.0, 2.0, 3.0, 9.0, 8.0], 0.0, 1.0, starts=[0, 3])
    event = np.array([7, 8, 7, 8, 7])

    common, numbers = ranking.on_common_events(c, event)

    assert dict(zip(numbers.tolist(), common.value[:2].tolist(), strict=True)) == {7: 3.0, 8: 2.0}
    assert dict(zip(numbers.tolist(), common.value[2:].tolist(), strict=True)) == {7: 8.0, 8: 9.0}


def test_the_order_of_rows_within_an_event_number_does_not_matter_to_large_identities():
    c, event = fleet([1.0, 2.0], 30)
    shuffled = np.random.default_rng(1).permutation(2**60 + np.arange(30))[event - 1000]

    one = ranking.ranking(c, event, seed=1, replicates=100)
    other = ranking.ranking(c, shuffled, seed=1, replicates=100)

    for name, column in one.scores.items():
        for got, want in zip(other.scores[name], column, strict=True):
            np.testing.assert_array_equal(got, want)


def test_no_common_event_is_no_ranking():
    c = pairs([1.0, 2.0], 0.0, 1.0, starts=[0, 1])

    assert ranking.on_common_events(c, np.array([1, 2])) is None
    assert ranking.ranking(c, np.array([1, 2]), seed=1) is None


def test_a_sensor_that_drops_hard_events_does_not_win_but_shows_its_availability():
    """It is the worse one; over its own easy events its mean would be the better (A-17)."""
    c, event = fleet([1.0, 1.3], 200, 3)
    hard = np.abs(c.error) > 1.0
    kept, numbers = without(c, event, hard & (c.series == 1))
    alone = compute(kept, ["crps"])["crps"]

    got = ranking.ranking(kept, numbers, seed=1)

    assert alone[1] < alone[0]
    crps = got.scores["crps"]
    assert got.availability == pytest.approx([1.0, kept.counts[1] / 200])
    assert got.seen.tolist() == [200, kept.counts[1]]
    assert got.events == kept.counts[1]
    assert crps.mean[0] == pytest.approx(
        proper_scores.crps_normal(c)[:200][np.isin(event[:200], numbers[kept.series == 1])].mean()
    )


def test_the_mean_of_each_score_is_that_of_the_statistics_and_equal_sensors_tie():
    c, event = fleet([2.0, 1.0, 3.0], 50, 1)
    twins = c.select(np.concatenate([np.arange(150), np.arange(50, 100)]), np.arange(4) * 50)
    events = np.concatenate([event, event[:50]])

    got = ranking.ranking(twins, events, seed=1, replicates=400)

    for name, column in got.scores.items():
        want = compute(twins, [name])[name]
        np.testing.assert_allclose(column.mean, want, rtol=1e-12)
        np.testing.assert_array_equal(column.rank, stats.rankdata(want))
    assert got.scores["crps"].rank.tolist() == [3.0, 1.5, 4.0, 1.5]
    assert got.best_first.tolist() == [1, 3, 0, 2]
    assert got.scores["crps"].rank_lower[1] == 1.0
    assert got.scores["crps"].rank_upper[1] == 2.0
    np.testing.assert_allclose(
        got.information, characteristics.auucc_partial_gain(twins), rtol=1e-12
    )


def test_ranks_of_the_published_table(read_table_1):
    """Paper A's Table I as printed: the order of its fourteen methods by each score (A-20)."""
    orders = {
        "crps": "I L A B D M G N F H K J E C",
        "interval": "I L D A G M B F J N H K E C",
        "brier": "I L A G B D F J E H M N C K",
    }
    for name, order in orders.items():
        values, methods = read_table_1[name], read_table_1["method"]
        rank = ranking.ranks(values)

        np.testing.assert_array_equal(rank, stats.rankdata(values))
        best_first = [methods[i] for i in np.argsort(rank, kind="stable")]
        assert sorted(best_first) == sorted(order.split())
        printed = [methods.index(letter) for letter in order.split()]
        assert np.all(np.diff(values[printed]) >= 0.0)


@pytest.mark.parametrize("density", ["normal", "tophat"])
@pytest.mark.parametrize(
    ("profile", "name"), [("accuracy", "crps"), ("coverage", "quadratic"), ("balanced", "interval")]
)
def test_the_profile_sets_the_primary_score_and_the_order(profile, name, density):
    c, event = fleet([1.0, 2.5, 0.4], 40, 2)
    if name != "interval" and density == "tophat":
        name = f"{name}_tophat"

    got = ranking.ranking(c, event, seed=1, profile=profile, density=density, replicates=100)

    assert got.primary == name
    mean = c.mean(proper_scores.SCORES[name].rows(c))
    assert got.best_first.tolist() == np.argsort(mean).tolist()


def test_few_events_have_ranks_but_no_intervals():
    c, event = fleet([1.0, 5.0], ranking.MIN_EVENTS - 1)

    column = ranking.ranking(c, event, seed=1).scores["crps"]

    assert column.rank.tolist() == [1.0, 2.0]
    for absent in (column.lower, column.upper, column.rank_lower, column.rank_upper):
        assert np.isnan(absent).all()


def test_the_seed_alone_decides_the_intervals():
    c, event = fleet([1.0, 1.1], 50)

    one, same, other = (ranking.ranking(c, event, seed=s, replicates=300) for s in (1, 1, 2))

    np.testing.assert_array_equal(one.scores["crps"].lower, same.scores["crps"].lower)
    assert np.any(one.scores["crps"].lower != other.scores["crps"].lower)
    assert (one.seed, one.replicates) == (1, 300)


def test_the_interval_of_a_mean_agrees_with_scipy_within_noise():
    c, event = fleet([1.0, 2.0], 80, 4)
    column = ranking.ranking(c, event, seed=1, replicates=5000).scores["crps"]

    for series in range(2):
        rows = proper_scores.crps_normal(c)[80 * series : 80 * series + 80]
        want = stats.bootstrap(
            (rows,), np.mean, n_resamples=5000, method="BCa", rng=np.random.default_rng(1)
        ).confidence_interval
        width = want.high - want.low
        assert column.lower[series] == pytest.approx(want.low, abs=0.05 * width)
        assert column.upper[series] == pytest.approx(want.high, abs=0.05 * width)


@pytest.mark.slow
def test_clear_differences_give_a_rank_and_no_difference_gives_all_of_them():
    clear, event = fleet([1.0, 3.0, 9.0], 80, 5)
    column = ranking.ranking(clear, event, seed=1, replicates=500).scores["crps"]
    assert column.rank_lower.tolist() == column.rank_upper.tolist() == [1.0, 2.0, 3.0]

    held = 0
    for seed in range(100):
        c, event = fleet([1.0] * 5, 60, 100 + seed)
        column = ranking.ranking(c, event, seed=seed, replicates=300).scores["crps"]
        held += int(np.sum((column.rank_lower == 1.0) & (column.rank_upper == 5.0)))
    assert 0.89 <= held / 500 <= 0.99


def test_dependent_events_are_drawn_in_blocks_and_have_wider_intervals():
    c, event = fleet([1.0, 1.2], 400, 6, dependent=0.9)

    got = ranking.ranking(c, event, seed=1, replicates=500)

    table = np.ascontiguousarray(proper_scores.crps_normal(c).reshape(2, -1).T)
    single = ranking.ranked(table, seed=1, replicates=500)
    wide = got.scores["crps"].upper - got.scores["crps"].lower
    assert got.block > 4
    assert np.all(wide > 1.3 * (single.upper - single.lower))


def test_availability_counts_each_event_once():
    c = pairs([1.0, 2.0, 3.0, 4.0], 0.0, 1.0, starts=[0, 3])

    got = ranking.availability(c, np.array([1, 1, 2, 3]))

    assert got == pytest.approx([2 / 3, 1 / 3])


@pytest.mark.parametrize("factor", [0.5, 1.0, 4.0])
def test_the_worst_score_is_the_one_farthest_above_its_claim(factor):
    """M2's cases: a halved u shows in the quadratic score, a quadrupled one in the interval's."""
    random = np.random.default_rng(1)
    c = pairs(random.normal(size=100_000), 0.0, factor)
    names = ["crps_tophat", "quadratic_tophat", "interval"]

    above, which = ranking.worst_score(c, names)

    ratios = compute(c, [f"{name}_expected_ratio" for name in names])
    want = [
        ratios["crps_tophat_expected_ratio"][0] - 1.0,
        ratios["quadratic_tophat_expected_ratio"][0] - 1.0,
        ratios["interval_expected_ratio"][0] - 1.0,
    ]
    assert above[0] == pytest.approx(max(want), rel=1e-9)
    assert which[0] == int(np.argmax(want))
    if factor == 1.0:
        assert above[0] == pytest.approx(0.0, abs=0.05)
    with pytest.raises(KeyError, match="log_tophat"):
        ranking.worst_score(c, ["log_tophat"])


def test_columns_handed_in_are_left_alone():
    c, event = fleet([1.0, 2.0], 30)
    before = {name: getattr(c, name).copy() for name in ("value", "reference", "time")}

    ranking.ranking(c, event, seed=1, replicates=50)

    assert isinstance(c, Columns)
    for name, rows in before.items():
        np.testing.assert_array_equal(getattr(c, name), rows)


LARGE = [7, 2**53, 2**53 + 1, 2**63 + 5, 2**63 + 6, 2**64 - 1]
SEEN = st.lists(
    st.lists(st.sampled_from(LARGE), min_size=1, max_size=9), min_size=1, max_size=4
)  # fmt: skip


@given(SEEN)
@examples(150)
def test_common_events_and_availability_are_those_of_plain_python(by_series):
    """Identities are 64-bit numbers without a sign; some are equal as floating-point numbers."""
    numbers = [number for series in by_series for number in series]
    c = pairs(
        np.arange(len(numbers)), 0.0, 1.0, starts=np.cumsum([0, *map(len, by_series[:-1])])
    )  # fmt: skip
    event = np.array(numbers, dtype=np.uint64)
    last = [{} for _ in by_series]
    for row, (series, number) in enumerate(zip(c.series.tolist(), numbers, strict=True)):
        last[series][number] = float(row)
    shared = set.intersection(*(set(each) for each in last))
    in_order = sorted(shared, key=lambda number: last[0][number])

    common = ranking.on_common_events(c, event)

    counted = ranking.events_seen(c, event)
    assert counted.tolist() == [len(each) for each in last]
    share = [len(each) / len(set(numbers)) for each in last]
    assert ranking.availability(c, event) == pytest.approx(share, rel=1e-15)
    if not shared:
        assert common is None
        return
    got, events = common
    assert events.tolist() == in_order
    assert got.value.tolist() == [each[number] for each in last for number in in_order]


def plain_bounds(mean, replicas):
    """Return the intervals of ranks by loops over replicates and sensors."""
    count, bounds = len(mean), []
    for i in range(count):
        others = [j for j in range(count) if j != i]
        gap = {j: mean[j] - mean[i] for j in others}
        off = {j: [line[j] - line[i] - gap[j] for line in replicas] for j in others}
        sd = {j: float(np.std(off[j])) for j in others}
        most = [max(abs(off[j][r]) / sd[j] for j in others) for r in range(len(replicas))]
        quantile = float(np.quantile(most, 0.95))
        better = sum(gap[j] < -quantile * sd[j] for j in others)
        worse = sum(gap[j] > quantile * sd[j] for j in others)
        bounds.append((1 + better, count - worse))
    return bounds


@pytest.mark.parametrize("seed", range(5))
def test_bounds_of_ranks_are_those_of_plain_python(seed):
    random = np.random.default_rng(seed)
    mean = np.array([1.0, 1.05, 1.3, 2.0, 1.32])
    replicas = mean + 0.1 * random.normal(size=(120, 5))

    lower, upper = ranking.rank_bounds(mean, replicas)

    assert list(zip(lower, upper, strict=True)) == plain_bounds(mean.tolist(), replicas.tolist())


def test_sensors_apart_by_rounding_alone_share_their_ranks():
    """One reads high by as much as the other reads low: intervals score the same but for 1e-15."""
    random = np.random.default_rng(0)
    reference, error = random.normal(500.0, 50.0, 60), random.normal(size=60)
    c = pairs(
        np.append(reference + error, reference - error), np.tile(reference, 2), 1.0, starts=[0, 60]
    )

    column = ranking.ranking(c, np.tile(np.arange(60), 2), seed=1).scores["interval"]

    assert 0.0 < abs(column.mean[1] - column.mean[0]) < 1e-12
    assert column.rank_lower.tolist() == [1.0, 1.0]
    assert column.rank_upper.tolist() == [2.0, 2.0]


def test_a_constant_difference_is_certain_and_a_broken_sensor_makes_no_near_tie_so():
    random = np.random.default_rng(7)
    near = 1.0 + random.normal(size=(60, 2)) ** 2
    constant = ranking.ranked(np.stack([near[:, 0], near[:, 0] + 0.01], axis=1), seed=1)
    assert constant.rank_upper[0] == 1.0

    two = ranking.ranked(near, seed=1)
    three = ranking.ranked(np.column_stack([near, np.full(60, 1e12)]), seed=1)

    assert two.rank_lower.tolist() == [1.0, 1.0]
    assert three.rank_lower.tolist() == [1.0, 1.0, 3.0]
    assert three.rank_upper.tolist() == [2.0, 2.0, 3.0]


def test_any_score_with_a_mean_may_be_ranked():
    c, event = fleet([1.0, 3.0], 40)

    got = ranking.ranking(c, event, seed=1, profile="balanced", names=["norm", "log"])

    assert list(got.scores) == ["interval", "norm", "log"]
    for name in ("norm", "log"):
        want = c.mean(proper_scores.SCORES[name].rows(c))
        np.testing.assert_allclose(got.scores[name].mean, want, rtol=1e-12)
    with pytest.raises(KeyError, match="log_tophat"):
        ranking.ranking(c, event, seed=1, names=["log_tophat"])
