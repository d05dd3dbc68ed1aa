"""Sizes where u goes with the reading: a low reading states a smaller u and must not weigh more."""

from __future__ import annotations

import numpy as np
import pytest
from harness.cases import further
from harness.verdict_sensors import whole

from monitor.core.detector.detector import Detector
from monitor.core.detector.usual_u import StatedColumns
from monitor.core.verdict import FAULT, Pairs, judge_all, judge_whole
from monitor.core.verdict.weights import usual_u

PAIRS = 600
STREAMS = 100
MODELS = ("classical", "predictive")
SHARES = (0.05, 0.3, *further(0.1, 0.15, 0.2))


def sensor(seed, model, share, *, fault=0.0, least=0.0, middle=100.0, of_truth=False, n=PAIRS):
    """Return pairs whose errors are ``share`` of what they are independent of, with a ``fault``."""
    random = np.random.default_rng(seed)
    carrier = middle + 20.0 * random.standard_normal(n)
    error = (least + share * np.abs(carrier)) * random.standard_normal(n)
    truth = carrier if model == "classical" else carrier - error
    value = truth + error + fault
    u = least + share * np.abs(truth if of_truth else value)
    return Pairs(1.77e9 + 3600.0 * np.arange(n), value, u, truth, np.zeros(n))


def sensors(model, share, **changes):
    return [sensor(seed, model, share, **changes) for seed in range(STREAMS)]


def judged_live(pairs):
    """Return the verdicts at the end on those whose alarm the detector raised."""
    rows = np.arange(len(pairs))
    detector, alarm = Detector(np.full(rows.size, 1000.0)), {}
    z, u, value = (
        np.stack(each) for each in zip(*((p.error / p.u, p.u, p.value) for p in pairs), strict=True)
    )
    for first in range(0, z.shape[1], 50):
        block, *stated = (each[:, first : first + 50].ravel() for each in (z, u, value))
        for change in detector.advance(rows, rows * 50, block, StatedColumns(*stated)):
            if change.after == "firing":
                alarm.setdefault(change.series, first + change.position % 50)
    fired = sorted(alarm)
    return judge_all([pairs[i] for i in fired], alarm=[alarm[i] for i in fired])


def holds(estimate, truth):
    return estimate.lower <= truth <= estimate.upper


@pytest.mark.slow
@pytest.mark.parametrize("least", [0.0, 3.0])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("model", MODELS)
def test_an_offset_is_as_large_as_it_is(model, share, least):
    pairs = sensors(model, share, fault=20.0, least=least)

    verdicts = judge_whole(pairs)

    levels = np.array([each.level.value for each in verdicts])
    by_chance = (least + 102.0 * share) / np.sqrt(PAIRS * STREAMS)
    assert levels.mean() == pytest.approx(20.0, abs=4.0 * by_chance)
    assert np.mean([holds(each.level, 20.0) for each in verdicts]) >= 0.9
    assert np.mean([each.fault == "offset" for each in verdicts]) >= 0.95
    assert all(holds(each.level, p.error.mean()) for each, p in zip(verdicts, pairs, strict=True))


@pytest.mark.parametrize("model", MODELS)
def test_advice_and_live_sentence_say_the_same_size(model):
    moved = 20.0 * (np.arange(PAIRS) >= 200)
    verdicts = judged_live([sensor(seed, model, 0.15, fault=moved) for seed in range(40)])

    assert len(verdicts) >= 38
    assert np.mean([holds(each.level, 20.0) for each in verdicts]) >= 0.9
    remedies = [each for each in verdicts if each.remedy.kind.startswith("add")]
    assert len(remedies) >= 36
    assert all(holds(each.level, -each.remedy.add) for each in remedies)


@pytest.mark.slow
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("model", MODELS)
def test_a_drift_and_its_level_are_as_large_as_they_are(model, share):
    pairs = sensors(model, share, fault=20.0 * np.arange(1, PAIRS + 1) / PAIRS)

    verdicts = [each for each in judge_whole(pairs) if each.fault == "drift"]

    assert len(verdicts) >= 0.4 * STREAMS
    a_day = 20.0 / PAIRS * 24.0
    assert np.mean([holds(each.level, 20.0) for each in verdicts]) >= 0.9
    if len(verdicts) >= 0.8 * STREAMS:  # among fewer, chance has chosen the steepest
        assert np.mean([holds(each.slope_per_day, a_day) for each in verdicts]) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("share", SHARES)
def test_a_gain_is_as_large_as_it_is(share):
    pairs = []
    for p in sensors("classical", share):
        value = 100.0 + 1.3 * (p.value - 100.0)
        pairs.append(Pairs(p.time, value, share * np.abs(value), p.reference, p.u_ref))

    gains = [each.gain for each in judge_whole(pairs) if each.fault == "gain"]

    assert len(gains) >= 0.4 * STREAMS
    assert np.mean([holds(each, 1.3) for each in gains]) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("least", [0.0, 3.0])
@pytest.mark.parametrize("share", [0.05, 0.2, *further(0.1, 0.15)])
@pytest.mark.parametrize("model", MODELS)
def test_an_honest_sensor_is_not_accused(model, share, least):
    pairs = sensors(model, share, least=least)

    live = judged_live(pairs)

    assert sum(each.state == FAULT for each in judge_whole(pairs)) <= 0.05 * STREAMS
    assert sum(each.state == FAULT for each in live) <= 0.05 * STREAMS


def test_of_readings_about_0_no_honest_one_has_a_gain():
    """Its u is 0.3 degC + 10 %, smaller for what is nearer to 0, whether by chance or not."""
    pairs = [sensor(seed, "classical", 0.1, least=0.3, middle=5.0) for seed in range(40)]

    assert sum(each.state == FAULT for each in judge_whole(pairs)) <= 2


@pytest.mark.parametrize("model", MODELS)
def test_u_that_does_not_go_with_the_error_weighs_as_it_is_stated(model):
    for seed in range(40):
        p = sensor(seed, model, 0.1, fault=20.0, of_truth=model == "classical")
        u = p.u - 2.0 * (model == "predictive")  # 10 % of what the error is independent of
        other = np.random.default_rng(seed).permutation(p.u)
        assert np.array_equal(usual_u(other, p.value, p.reference), other)
        assert usual_u(u, p.value, p.reference) == pytest.approx(u, rel=1e-9)


@pytest.mark.parametrize("u_ref", [0.0, 1.0])
@pytest.mark.parametrize("decades", [0.6, 2.0, 4.0])
def test_u_of_any_size_has_nothing_to_do_with_the_error_of_a_reading_about_0(decades, u_ref):
    """The magnitude of such a reading is large where its error is, and so is a u that is honest."""
    pairs = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        truth = 10.0 * random.standard_normal(PAIRS)
        u = 2.5 * 10.0 ** random.uniform(-0.5 * decades, 0.5 * decades, PAIRS)
        error, other = u * random.standard_normal((2, PAIRS))
        columns = truth + error, u, truth + u_ref * other, u_ref * u
        pairs.append(Pairs(1.77e9 + 3600.0 * np.arange(PAIRS), *columns))

    s = [np.hypot(p.u, p.u_ref) for p in pairs]
    weighs = [usual_u(each, p.value, p.reference) for each, p in zip(s, pairs, strict=True)]
    assert sum(map(np.array_equal, weighs, s)) >= 58
    assert sum(each.state == FAULT for each in judge_whole(pairs)) <= 1


@pytest.mark.parametrize("decades", [1.0, 2.0])
def test_u_of_any_size_has_nothing_to_do_with_errors_that_are_skewed(decades):
    for seed in range(60):
        random = np.random.default_rng(seed)
        truth = 500.0 + 30.0 * random.standard_normal(PAIRS)
        u = 7.5 * 10.0 ** random.uniform(-0.5 * decades, 0.5 * decades, PAIRS)
        value = truth + 0.5 * u * (random.gamma(4.0, 1.0, PAIRS) - 4.0)
        assert np.array_equal(usual_u(u, value, truth), u)


def test_uncertainty_that_rises_with_a_fault_is_no_share_of_the_reading():
    """A sensor that knows of its step may state more: neighbours on either side do not show it."""
    random = np.random.default_rng(1)
    truth, late = 100.0 + 20.0 * random.standard_normal(PAIRS), np.arange(PAIRS) >= 300
    u = np.where(late, 10.0, 2.0) * np.exp(0.1 * random.standard_normal(PAIRS))
    value = truth + np.where(late, 15.0, 0.0) + 2.0 * random.standard_normal(PAIRS)

    assert np.array_equal(usual_u(u, value, truth), u)


def test_a_few_wild_pairs_do_not_move_what_weighs_the_others():
    p = sensor(3, "classical", 0.15)
    value, u = p.value.copy(), p.u.copy()
    value[[50, 400]] = 1e6, -1e6
    u[[50, 400]] = 1.5e5

    others = np.delete(np.arange(PAIRS), [50, 400])
    weighs = usual_u(u, value, p.reference)[others]
    assert weighs == pytest.approx(0.15 * p.reference[others], rel=0.1)


def test_the_sentence_says_that_u_follows_the_error():
    clause = "; states a smaller u when it reads low"

    assert whole(sensor(1, "classical", 0.15, fault=20.0)).sentence.endswith(clause)
    assert whole(sensor(1, "classical", 0.15)).sentence.endswith(clause)
    assert clause not in whole(sensor(1, "predictive", 0.15, fault=20.0)).sentence
    assert clause not in whole(sensor(1, "classical", 0.15, of_truth=True)).sentence


def test_an_error_that_goes_with_what_is_measured_is_as_large_as_it_is_on_average():
    """It and u grow with the level: weights 1/u^2 say 10 of 13, the error at a low level."""
    pairs = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        truth = 100.0 * np.exp(0.4 * random.standard_normal(PAIRS))
        u = 10.0 * (truth / 100.0) ** 2
        fault = np.where(np.arange(PAIRS) < 200, 0.0, np.where(truth > 120.0, 20.0, 10.0))
        value = truth + u * random.standard_normal(PAIRS) + fault
        pairs.append(Pairs(1.77e9 + 3600.0 * np.arange(PAIRS), value, u, truth, 0.0 * u))
    faulty = [p.rows(slice(200, None)) for p in pairs]

    for verdicts in (judged_live(pairs), judge_whole(faulty)):
        rows = zip(verdicts, faulty, strict=True)
        offsets = [(each, p.error.mean()) for each, p in rows if each.fault == "offset"]
        assert len(offsets) >= 20
        assert np.mean([holds(each.level, mean) for each, mean in offsets]) >= 0.85
        assert np.mean([holds(each.level, 13.24) for each, _ in offsets]) >= 0.8
        added = [each.remedy.add for each, _ in offsets if each.remedy.kind.startswith("add")]
        assert len(added) >= 15
        assert np.mean(added) == pytest.approx(-13.2, abs=0.7)
