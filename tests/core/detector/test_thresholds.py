"""Limits on statistics: when they are crossed, for how long, and against what."""

from __future__ import annotations

import math

import numpy as np
import pytest

from monitor.core.detector.thresholds import Judged, Threshold, Thresholds
from monitor.core.model import Reading, Reference
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits, SeriesName
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.journal import Batch
from monitor.journal.in_memory import InMemoryStore

NAMES = [SeriesName(f"s{at}", "x", group="g" if at < 5 else "h") for at in range(7)]


def seen(values, last_pair=0.0, pairs=100, *, shown=True, baseline=None, **others):
    count = len(values)
    statistics = {"score_crps_mean": values, **others}
    return Judged(
        NAMES[:count],
        {name: np.array(column, dtype=float) for name, column in statistics.items()},
        np.full(count, pairs),
        np.full(count, float(last_pair)),
        np.full(count, shown),
        baseline or (lambda *_: (math.nan, math.nan)),
    )


def judged(threshold, *moments):
    thresholds = Thresholds([threshold])
    return [thresholds.judge(moment)[threshold.name].tolist() for moment in moments]


def test_it_begins_beyond_the_limit_and_ends_well_within():
    limit = Threshold("crps_high", "score_crps_mean", above=2.0, hysteresis=0.1)
    values = [[1.9], [2.1], [1.9], [1.79], [1.9]]

    told = judged(limit, *(seen(each, at) for at, each in enumerate(values)))

    assert told == [[False], [True], [True], [False], [False]]


def test_a_lower_limit_is_the_same_the_other_way_round():
    limit = Threshold("crps_low", "score_crps_mean", below=-2.0, hysteresis=0.1)

    told = judged(limit, *(seen([each]) for each in (-1.9, -2.1, -1.9, -1.79)))

    assert told == [[False], [True], [True], [False]]


def test_it_must_last_in_the_time_of_the_pairs_and_start_over_when_it_did_not():
    limit = Threshold("crps_high", "score_crps_mean", above=2.0, for_hours=10.0 / 3600.0)
    moments = [(3.0, 0), (3.0, 9), (1.0, 9.5), (3.0, 12), (3.0, 21), (3.0, 22)]

    told = judged(limit, *(seen([value], time) for value, time in moments))

    assert told == [[False], [False], [False], [False], [False], [True]]


def test_few_pairs_no_number_and_what_is_withdrawn_raise_nothing():
    limit = Threshold("crps_high", "score_crps_mean", above=2.0, pairs_min=20)

    assert judged(limit, seen([3.0], pairs=19)) == [[False]]
    assert judged(limit, seen([3.0], shown=False)) == [[False]]
    assert judged(limit, seen([3.0]), seen([math.nan])) == [[True], [False]]
    assert judged(limit._replace(statistic="score_norm_mean"), seen([3.0])) == [[False]]
    assert judged(limit, seen([])) == [[]]


def test_against_what_the_claim_predicts():
    crps = Threshold("crps_high", "score_crps_mean", "expected", above=1.5)
    coverage = Threshold("covers", "calibration_coverage_ratio", "expected", below=0.9)
    moment = seen(
        [9.0, 9.0],
        score_crps_expected_ratio=[1.4, 1.6],
        calibration_coverage_ratio=[0.80, 0.84],
        calibration_coverage_stated=[0.9, 0.9],
    )

    assert judged(crps, moment) == [[False, True]]
    assert judged(coverage, moment) == [[True, False]]


def test_above_is_worse_of_a_score_below_zero_too():
    """The quadratic score: less far below zero than claimed, than at first, than its like."""
    moment = seen(
        [0.0] * 5,
        baseline=lambda *_: (-0.5, 50.0),
        score_quadratic_mean=[-0.5, -0.5, -0.5, -0.8, -0.3],
        score_quadratic_expected_ratio=[1.0, 1.0, 1.0, 0.7, 1.4],
    )
    for against in ("expected", "baseline", "fleet_median"):
        limit = Threshold("brier_high", "score_quadratic_mean", against, above=1.3)
        assert judged(limit, moment) == [[False] * 4 + [True]], against


def test_against_the_median_of_five_or_more_of_its_group():
    limit = Threshold("odd", "score_crps_mean", "fleet_median", above=2.0)
    values = [1.0, 1.1, 0.9, 1.0, 2.5, 1.0, 9.0]

    assert judged(limit, seen(values)) == [[False] * 4 + [True, False, False]]


def test_against_its_first_pairs_which_are_looked_up_once():
    asked = []

    def baseline(row, statistic, pairs):
        asked.append((row, statistic, pairs))
        return 2.0, 50.0

    limit = Threshold("worse", "score_crps_mean", "baseline", above=1.4)
    thresholds = Thresholds([limit])
    told = [
        thresholds.judge(seen([each, 1.0], baseline=baseline))["worse"].tolist()
        for each in (2.5, 3.0)
    ]

    assert told == [[False, False], [True, False]]
    assert asked == [(0, "score_crps_mean", 100), (1, "score_crps_mean", 100)]
    for since, looked_up in ((60.0, 2), (50.0, 3)):
        thresholds.forget(0, since)
        thresholds.judge(seen([3.0, 1.0], baseline=baseline))
        assert len(asked) == looked_up


def test_first_pairs_that_are_not_there_yet_are_looked_up_again_only_after_another_pair():
    asked = []

    def baseline(row, _statistic, _pairs):
        asked.append(row)
        return (math.nan, math.nan) if len(asked) < 3 else (2.0, 50.0)

    thresholds = Thresholds([Threshold("worse", "score_crps_mean", "baseline", above=1.4)])
    for last_pair, looked_up in ((10.0, 1), (10.0, 1), (11.0, 2), (11.0, 2), (12.0, 3)):
        told = thresholds.judge(seen([3.0], last_pair, baseline=baseline))["worse"].tolist()
        assert (len(asked), told) == (looked_up, [looked_up == 3])


def test_what_was_found_of_first_pairs_that_are_gone_is_known_again():
    limit = Threshold("worse", "score_crps_mean", "baseline", above=1.4)
    before, after = Thresholds([limit]), Thresholds([limit])
    before.judge(seen([1.0], baseline=lambda *_: (2.0, 50.0)))
    after.recall_bases(before.bases())

    assert after.judge(seen([3.0]))["worse"].tolist() == [True]


@pytest.mark.parametrize(("sensors", "meant"), [(("s0", "s2*"), [0, 2]), (("*",), [0, 1, 2])])
def test_it_is_about_the_series_its_patterns_name(sensors, meant):
    limit = Threshold("crps_high", "score_crps_mean", above=2.0, sensors=sensors)

    (told,) = judged(limit, seen([3.0, 3.0, 3.0]))

    assert np.flatnonzero(told).tolist() == meant


def test_a_network_compares_a_sensor_with_its_own_first_pairs():
    limit = Threshold("worse", "score_crps_mean", "baseline", above=1.5, baseline_pairs=50)
    rules = SeriesRules(unit="kg", window_pairs=60, pairing=Rules("nearest", 0.4))
    store = InMemoryStore()
    plan = CoreSettings(
        lambda *_: rules, limits=Limits(5, 100), window_pairs_max=60, thresholds=(limit,)
    )
    network = Network(plan, store)
    rng = np.random.default_rng(8)
    told = []
    for first, spread in ((0, 1.0), (60, 1.0), (120, 2.5)):
        seen = []
        for at in range(first, first + 60):
            value = 100.0 + spread * float(rng.standard_normal())
            seen += [Reading("a", "mass", float(at), value, u=1.0)]
            seen += [Reference("a", "mass", at + 0.1, 100.0, u=0.01)]
        outcome = network.observe(seen, 0.0)
        store.append(
            Batch(
                observations=seen,
                pairs=outcome.pairs,
            )
        )
        network.apply(outcome.pairs)
        snapshot = network.evaluate(0.0)
        told.append(bool(snapshot.alerts["worse"][0]))

    assert told == [False, False, True]
    assert "; beyond the threshold worse" in snapshot.sentences[0]
