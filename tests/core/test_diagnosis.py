"""Diagnosis: the right name, size and date of a fault, and what would mend it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from monitor.core.columns import columns
from monitor.core.detector.detector import Detector
from monitor.core.diagnosis import estimates, remedies, segments
from monitor.core.diagnosis.diagnose import diagnose
from monitor.core.diagnosis.estimates import Diagnosis, Estimate
from monitor.core.diagnosis.faults import FAULTS, sentence_of

ONSET = 150


def window(value, reference, u, u_ref=1.0):
    n = value.size
    blank = np.full(n, np.nan)
    return columns(
        np.zeros(1, np.int64),
        time=np.arange(float(n)),
        value=value,
        reference=reference,
        u=np.broadcast_to(u, n).astype(float),
        u_ref=np.broadcast_to(u_ref, n).astype(float),
        lower=blank,
        upper=blank,
        p=blank,
        level=0.9,
    )


def spoilt(fault, error, truth, rng):
    """Return ``error`` of a sensor with the named fault."""
    hit = rng.random(error.size) < 0.05
    return {
        "offset": error + 5.0,
        "understated": 2.0 * error,
        "overstated": error / 2.0,
        "gain": error + 0.25 * (truth - 100.0),
        "outliers": np.where(hit, rng.choice([-40.0, 40.0], error.size), error),
        "stuck": 103.0 - truth,
    }[fault]


def world(fault, seed, n=800):
    """Return one sensor's pairs: truth N(100, 20^2), u = 5, u_ref = 1, faulty from ONSET on."""
    rng = np.random.default_rng(seed)
    truth, error = rng.normal(100, 20, n), 5 * rng.standard_normal(n)
    error[ONSET:] = spoilt(fault, error, truth, rng)[ONSET:]
    return window(truth + error, truth + rng.standard_normal(n), 5.0)


def diagnosed(fault, seed, later=20):
    """Return the diagnosis ``later`` pairs after the detector's first true alarm, or None."""
    pairs, zero = world(fault, seed), np.zeros(1, np.int64)
    changes = Detector(np.full(1, 1000.0)).advance(zero, zero, pairs.z)
    alarms = [t for t in changes if t.after == "firing"]
    if not alarms or alarms[0].position < ONSET:
        return None
    at = alarms[0].position
    last = min(at + later + 1, pairs.value.size)
    part = window(pairs.value[:last], pairs.reference[:last], 5.0)
    return diagnose(part, 0.0, alarms[0].family, at)


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_gets_its_name_twenty_pairs_after_the_alarm(fault):
    found = [made for seed in range(40) if (made := diagnosed(fault, seed))]

    assert len(found) >= 35
    assert np.mean([made.label == fault for made in found]) >= 0.9
    assert not any(made.provisional for made in found)


@pytest.mark.parametrize("pairs", [100, 300, 1000])
@pytest.mark.parametrize(("own", "of_reference"), [(10.0, 1.0), (5.0, 8.0)])
def test_errors_larger_than_stated_are_no_gain_however_many_there_are(pairs, own, of_reference):
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth = rng.normal(100, 20, pairs)
        value = truth + own * rng.standard_normal(pairs)
        reference = truth + of_reference * rng.standard_normal(pairs)
        found.append(diagnose(window(value, reference, 5.0), 0.0, "understated", 40).label)

    assert found == ["understated"] * 20


@pytest.mark.parametrize(
    ("wanted", "own"), [(0.8, 5.0), (1.25, 5.0), (1.25, 10.0), (1.5, 5.0), (1.5, 10.0)]
)
def test_a_gain_has_its_size_whether_or_not_the_errors_are_as_stated(wanted, own):
    within = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        truth, noise = rng.normal(100, 20, 300), rng.standard_normal((2, 300))
        value = 100.0 + wanted * (truth - 100.0) + own * noise[0]
        found = diagnose(window(value, truth + noise[1], 5.0), 0.0, "understated", 40)
        assert found.label == "gain"
        within.append(found.estimate.lower < wanted < found.estimate.upper)

    assert np.mean(within) >= 0.88


def test_a_fault_is_dated_to_the_pair():
    found = [diagnosed("offset", seed) for seed in range(60)]

    late = [made.since - ONSET for made in found if made and made.label == "offset"]
    assert abs(np.median(late)) <= 1
    assert np.quantile(np.abs(late), 0.8) <= 6


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_offset_has_its_sign_and_its_size(sign):
    rng = np.random.default_rng(1)
    truth = rng.normal(100, 20, 300)
    pairs = window(truth + sign * 6.0 + 5 * rng.standard_normal(300), truth, 5.0, 0.0)

    found = diagnose(pairs, 0.0, "offset", 10)

    assert found.label == "offset"
    assert found.estimate.lower < sign * 6.0 < found.estimate.upper
    assert found.estimate.upper - found.estimate.lower < 1.5


def test_an_offset_is_estimated_from_the_pairs_after_the_alarm_alone():
    error = np.concatenate([np.zeros(50), np.full(20, 30.0), np.full(40, 4.0)])
    error += np.tile([0.1, -0.1], 55)
    pairs = window(100 + error, np.full(110, 100.0), 5.0, 0.0)

    found = diagnose(pairs, 0.0, "offset", 69)

    assert found.estimate.value == pytest.approx(4.0, abs=0.01)


def test_stuck_wants_a_reference_that_moved():
    still = window(np.full(20, 100.0), 100 + 0.1 * np.arange(20.0), 5.0)
    moved = window(np.full(20, 100.0), 100 + 3.0 * np.arange(20.0), 5.0)

    assert diagnose(still, 0.0, "overstated").label != "stuck"
    assert diagnose(moved, 0.0, "offset").label == "stuck"
    assert diagnose(moved, 0.0, "offset").pairs == 20


def test_a_slow_level_that_meets_slow_errors_is_no_gain():
    labels = []
    for seed in range(60):
        noise = np.random.default_rng(seed).standard_normal((2, 300))
        for t in range(1, 300):
            noise[:, t] += 0.97 * noise[:, t - 1]
        level = 100 + 5 * noise[0]
        pairs = window(level + 3 + 0.3 * noise[1], level, 1.0, 0.0)
        labels.append(diagnose(pairs, 0.9, "offset").label)

    assert labels.count("gain") <= 6


@pytest.mark.parametrize("leading", ["", "offset"])
def test_two_pairs_or_no_evidence_are_unclear(leading):
    n = 14 if not leading else 2
    pairs = window(np.arange(float(n)), np.arange(float(n)) + 0.1, 1.0)

    found = diagnose(pairs, 0.0, leading)

    assert (found.label, found.pairs) == ("unclear", n)


def test_a_label_is_provisional_until_twenty_pairs_after_the_alarm():
    pairs = window(5.0 + np.sin(np.arange(60.0)), np.zeros(60), 1.0)

    assert diagnose(pairs, 0.0, "offset", 40).provisional
    assert diagnose(pairs, 0.0, "offset").provisional
    assert not diagnose(pairs, 0.0, "offset", 39).provisional


# --- segments ------------------------------------------------------------------------------------


def best_by_brute_force(z):
    """Return the start of the tail with the largest penalised likelihood ratio, tail by tail."""
    penalty, scores = 0.5 * np.log(z.size), {}
    for since in range(z.size - 2):
        q = np.clip(z[since:], -4, 4)
        null = stats.norm.logpdf(q).sum()
        mean = stats.norm.logpdf(q, q.mean(), 1).sum() - null
        spread = stats.norm.logpdf(q, 0, np.sqrt((q**2).mean())).sum() - null
        both = stats.norm.logpdf(q, q.mean(), q.std()).sum() - null
        scores[since] = max(mean - penalty, spread - penalty, both - 2 * penalty)
    return max(scores, key=scores.get)


@pytest.mark.parametrize("seed", range(6))
def test_the_change_point_is_the_tail_of_largest_likelihood(seed):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(80)
    z[50:] = [z[50:] + 1, z[50:] * 2, z[50:] / 3][seed % 3]

    assert segments.change_point(z, 0.0) == best_by_brute_force(z)


def test_a_change_point_of_fewer_than_three_pairs_is_the_first_pair():
    assert segments.change_point(np.array([5.0, 5.0]), 0.0) == 0


@pytest.mark.parametrize("rho", [0.3, 0.7])
def test_effective_pairs_of_mean_and_variance_are_those_of_ar1(rho):
    rng = np.random.default_rng(2)
    z = rng.standard_normal((4000, 200))
    for t in range(1, 200):
        z[:, t] = rho * z[:, t - 1] + np.sqrt(1 - rho**2) * z[:, t]

    for_mean, for_variance = segments.share_independent(rho)

    assert 1 / (z.mean(axis=1).var() * 200) == pytest.approx(for_mean, rel=0.08)
    assert 2 / ((z**2).mean(axis=1).var() * 200) == pytest.approx(for_variance, rel=0.08)


# --- remedies ------------------------------------------------------------------------------------


def test_the_offset_and_its_interval_are_those_of_the_t_test():
    error = np.random.default_rng(3).normal(2, 5, 30)

    found = estimates.offset(error, np.full(30, 5.0), 0.0)

    wanted = stats.ttest_1samp(error, 0).confidence_interval(0.95)
    assert found == pytest.approx((error.mean(), wanted.low, wanted.high))


def test_the_offset_weighs_each_pair_by_its_own_u():
    found = estimates.offset(np.array([1.0, 4.0]), np.array([1.0, 2.0]), 0.0)

    assert found.value == pytest.approx((1.0 + 4.0 / 4) / 1.25)


@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_the_offset_interval_holds_the_offset_as_often_as_it_says(rho):
    z = np.random.default_rng(4).standard_normal((800, 50))
    for t in range(1, 50):
        z[:, t] = rho * z[:, t - 1] + np.sqrt(1 - rho**2) * z[:, t]

    found = [estimates.offset(row, np.ones(50), rho) for row in z]

    assert 0.92 <= np.mean([low < 0 < high for _, low, high in found]) <= 0.98


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_the_spread_interval_holds_the_factor_nearly_as_often_as_it_says(factor):
    z = 1.7 + factor * np.random.default_rng(5).standard_normal((800, 60))

    found = [estimates.spread_factor(row, 0.0) for row in z]

    assert 0.90 <= np.mean([low < factor < high for _, low, high in found]) <= 0.98


def test_a_share_has_the_exact_binomial_interval():
    wanted = stats.binomtest(3, 40).proportion_ci(0.95, "exact")

    assert estimates.share(3, 40) == pytest.approx((0.075, wanted.low, wanted.high))
    assert estimates.share(0, 5).lower == 0.0
    assert estimates.share(5, 5).upper == 1.0


@pytest.mark.parametrize("gain", [0.8, 1.0, 1.25])
def test_the_gain_is_unbiased_by_the_errors_of_value_and_reference(gain):
    rng = np.random.default_rng(6)
    truth = rng.normal(100, 20, 4000)
    value = 100 + gain * (truth - 100) + 5 * rng.standard_normal(4000)
    reference = truth + 3 * rng.standard_normal(4000)

    u_ref = np.full(4000, 3.0)
    found = estimates.gain(value - reference, reference, u_ref)

    assert found.value == pytest.approx(gain, abs=0.02)
    assert found.lower < gain < found.upper


@pytest.mark.parametrize(
    ("fault", "clearing"),
    [
        (lambda z: z + 1, {"offset", "both"}),
        (lambda z: 2 * z, {"scale", "both"}),
        (lambda z: z / 2, {"scale", "both"}),
        (lambda z: 2 * z + 2, {"both"}),
    ],
)
def test_only_the_right_remedy_clears_a_fault(fault, clearing):
    z = fault(np.random.default_rng(8).standard_normal(400))

    assert {name for name, fit in remedies.clears(z).items() if fit} == clearing


@pytest.mark.parametrize("size", [0, 1])
def test_too_few_pairs_have_no_interval(size):
    rows = np.ones(size)

    assert math.isnan(estimates.offset(rows, rows, 0.0).upper)
    assert math.isnan(estimates.spread_factor(rows, 0.0).upper)
    assert math.isnan(estimates.gain(rows, rows, rows).upper)
    assert math.isnan(estimates.share(0, 0).upper)


# --- sentences -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "estimate", "unit", "sentence"),
    [
        ("offset", (6.21, 5.1, 7.3), "kg", "reads 6.2 kg heavy (5.1 to 7.3)"),
        ("offset", (-6.21, -7.3, -5.1), "kg", "reads 6.2 kg light (5.1 to 7.3)"),
        ("offset", (6.21, 5.1, 7.3), "ppb", "reads 6.2 ppb high (5.1 to 7.3)"),
        ("offset", (-0.0123, -0.0151, -0.0097), "", "reads 0.012 low (0.010 to 0.015)"),
        ("offset", (6.21, math.nan, math.nan), "kg", "reads 6.2 kg heavy"),
        (
            "understated",
            (1.93, 1.6, 2.4),
            "kg",
            "understates its uncertainty 1.9 times (1.6 to 2.4)",
        ),
        (
            "overstated",
            (0.5, 0.4, 0.625),
            "kg",
            "overstates its uncertainty 2.0 times (1.6 to 2.5)",
        ),
        (
            "outliers",
            (0.05, 0.02, 0.1),
            "kg",
            "is more than 4 u off in 5 % of its readings (2 to 10)",
        ),
        (
            "gain",
            (1.25, 1.21, 1.29),
            "kg",
            "has an error that grows with the level: gain 1.25 (1.21 to 1.29)",
        ),
        ("stuck", (103.2, 103.2, 103.2), "kg", "is stuck at 103.2 kg for 14 pairs"),
        (
            "unclear",
            (math.nan,) * 3,
            "kg",
            "is not as right as it says; not clear yet in which way (14 pairs)",
        ),
    ],
)
def test_a_diagnosis_is_one_plain_sentence(label, estimate, unit, sentence):
    diagnosis = Diagnosis(label, Estimate(*estimate), 0, 14, provisional=False)

    assert sentence_of(diagnosis, unit) == sentence


def test_a_dated_diagnosis_says_since_when_in_utc():
    diagnosis = Diagnosis("offset", Estimate(6.2, 5.1, 7.3), 0, 14, provisional=False)

    assert sentence_of(diagnosis, "kg", 1772345520.0).endswith(", since 2026-03-01 06:12")


@pytest.mark.parametrize(
    ("bias", "spread", "leading", "label", "besides"),
    [
        (-12.0, 10.0, "offset", "offset", "understated"),
        (4.0, 15.0, "understated", "understated", "offset"),
        (12.0, 2.0, "offset", "offset", "overstated"),
        (12.0, 5.0, "offset", "offset", None),
        (0.0, 10.0, "understated", "understated", None),
    ],
)
def test_what_is_wrong_besides_is_named_where_it_is_clear(bias, spread, leading, label, besides):
    rng = np.random.default_rng(6)
    truth = rng.normal(500, 100, 300)
    pairs = window(truth + bias + spread * rng.standard_normal(300), truth, 5.0, 0.0)

    found = diagnose(pairs, 0.0, leading, 40)

    assert found.label == label
    assert (None if found.besides is None else found.besides.label) == besides
    said = sentence_of(found, "kg")
    assert (" and " in said) == (besides is not None)


def test_an_offset_that_drifts_far_is_not_said_to_overstate():
    """The moments for a name are those of clipped z, whose spread a far offset hides."""
    rng = np.random.default_rng(7)
    truth = rng.normal(500, 100, 200)
    pairs = window(truth + np.linspace(20, 80, 200) + 5 * rng.standard_normal(200), truth, 5.0)

    found = diagnose(pairs, 0.0, "offset", 40)

    assert found.label == "offset"
    assert found.besides is None


def test_a_sensor_far_off_in_most_readings_has_an_offset_and_no_outliers():
    rng = np.random.default_rng(4)
    truth, error = rng.normal(100.0, 20.0, 120), 5.0 * rng.standard_normal(120)
    error[40:] += 32.0
    found = diagnose(window(truth + error, truth, np.full(120, 5.0)), 0.0, "outliers")

    assert found.label == "offset"


def test_an_offset_that_fired_and_is_gone_is_no_longer_stated_as_one():
    rng = np.random.default_rng(9)
    truth, error = rng.normal(100.0, 20.0, 160), 5.0 * rng.standard_normal(160)
    error[40:70] += 8.0
    pairs = window(truth + error, truth, np.full(160, 5.0))

    at_the_alarm = diagnose(pairs.rows(slice(0, 75)), 0.0, "offset", 60)
    gone = diagnose(pairs, 0.0, "offset", 60)

    assert not at_the_alarm.fading
    assert gone.fading
    assert gone.estimate.lower < 0.0 < gone.estimate.upper
    words = sentence_of(gone, "kg", 0.0)
    assert words.startswith("may be right again (its offset is ")
    assert words.endswith(" of late); its fault began 1970-01-01 00:00")
    assert "heavy" not in words


def test_what_is_pending_fades_not_and_what_is_clear_neither():
    rng = np.random.default_rng(9)
    truth, error = rng.normal(100.0, 20.0, 100), 5.0 * rng.standard_normal(100)
    honest = window(truth + error, truth, np.full(100, 5.0))
    heavy = window(truth + error + 8.0, truth, np.full(100, 5.0))

    assert not diagnose(honest, 0.0, "offset").fading
    assert not diagnose(heavy, 0.0, "offset", 10).fading
