"""Where along a covariate a series is wrong: against known generators and a plain reckoning."""

from __future__ import annotations

import math

import numpy as np
import pytest
from harness.cases import further
from harness.series import pairs

from monitor.core.analysis.where import LOOK, Covariate, along_hour, along_level, calibrated_where
from monitor.core.analysis.where_words import where_sentence
from monitor.core.detector.e_process import bets_from_first
from monitor.core.detector.usual_u import StatedColumns


def drawn(seed, count, shape="normal", *, plant=None, factor=2.0, shift=0.0):
    """Return pairs an hour apart, and a humidity; ``plant(hour, humidity, level)`` says where."""
    random = np.random.default_rng(seed)
    u = np.exp(random.normal(0.0, 0.4, count)) if shape == "heteroscedastic" else np.ones(count)
    noise = random.normal(size=count)
    if shape == "t4":
        noise = random.standard_t(4, count) / math.sqrt(2.0)
    for at in range(1, count if shape == "AR(.7)" else 0):
        noise[at] = 0.7 * noise[at - 1] + math.sqrt(1.0 - 0.49) * noise[at]
    humidity, level = random.uniform(0.0, 100.0, count), random.normal(50.0, 10.0, count)
    hour = np.arange(count) % 24.0
    wrong = np.zeros(count, bool) if plant is None else plant(hour, humidity, level)
    error = np.where(wrong, factor * u * noise + shift, u * noise)
    found = pairs(level + error, level, u)
    found.time[:] = hour[0] + 3600.0 * np.arange(count)
    return found, humidity


SHAPES = ("normal", "t4", "AR(.7)", "heteroscedastic")


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["AR(.7)", *further("normal", "t4", "heteroscedastic")])
def test_an_honest_sensor_is_wrong_nowhere_over_its_whole_life(shape):
    false = 0
    for seed in range(40):
        c, humidity = drawn(seed, 3000, shape)
        covariates = [Covariate("RH", humidity, "%"), along_hour(c.time), along_level(c, "ug")]
        false += any(calibrated_where(c, each, asked=3).since >= 0 for each in covariates)
    # Of 40 honest series more than 5 would be found with probability 1 % if the rate were 5 %.
    assert false <= 5


def test_an_understated_uncertainty_is_found_where_it_is():
    named = 0
    for seed in range(40):
        c, humidity = drawn(seed, 500, plant=lambda _h, rh, _l: rh > 80.0)
        found = calibrated_where(c, Covariate("RH", humidity, "%"))
        if found.state == "found" and len(found.findings) == 1:
            (only,) = found.findings
            named += (
                only.fault == "understated"
                and abs(only.low - 80.0) <= 10.0
                and math.isinf(only.high)
                and 1.5 <= only.estimate.value <= 2.5
                and where_sentence(found).endswith(f"above {only.low:g} % RH, right below")
            )
    assert named >= 36


def test_a_factor_on_u_is_that_of_the_sensor_whatever_its_references_are_uncertain_by():
    random = np.random.default_rng(4)
    reference = random.normal(100.0, 30.0, 4000)
    humidity = random.uniform(0.0, 100.0, reference.size)
    spread = np.where(humidity > 80.0, 2.0, 1.0)
    c = pairs(reference + random.normal(0.0, np.hypot(spread, 1.0)), reference, 1.0, u_ref=1.0)

    (only,) = calibrated_where(c, Covariate("RH", humidity, "%")).findings

    assert only.fault == "understated"
    assert only.estimate.lower < 2.0 < only.estimate.upper
    assert only.estimate.value == pytest.approx(2.0, rel=0.1)


def test_an_offset_of_high_levels_is_found_and_no_level_of_an_honest_predictive_sensor():
    c, _ = drawn(2, 1000, plant=lambda _h, _r, level: level > 60.0, factor=1.0, shift=1.5)
    (only,) = calibrated_where(c, along_level(c, "ug")).findings
    assert only.fault == "offset"
    assert only.low == pytest.approx(60.0, abs=5.0)
    # The value is right on average and the error goes with the reference: u as large as the spread.
    random = np.random.default_rng(3)
    value = random.normal(50.0, 1.0, 3000)
    predictive = pairs(value, value + random.normal(size=3000), 1.0)
    assert calibrated_where(predictive, along_level(predictive, "ug")).state == "nothing"
    classical = pairs(predictive.reference, value, 1.0)
    assert calibrated_where(classical, along_level(classical, "ug")).state == "nothing"


def wrong_alike(seed, count, wrong):
    """Return pairs whose errors are ``wrong(errors, humidity)``, and a humidity."""
    random = np.random.default_rng([17, seed])
    humidity, level = random.uniform(0.0, 100.0, count), random.normal(50.0, 5.0, count)
    found = pairs(level + wrong(random.normal(size=count), humidity), level, np.ones(count))
    found.time[:] = 3600.0 * np.arange(count)
    return found, humidity


@pytest.mark.parametrize(
    "wrong",
    [
        lambda error, _rh: error + 0.6,
        lambda error, _rh: 1.5 * error,
        lambda error, rh: np.where(rh > 60.0, 2.0, 1.0) * error,
    ],
    ids=["offset", "understated", "understated by another covariate"],
)
def test_of_a_covariate_that_errors_do_not_depend_on_no_part_is_named(wrong):
    states = []
    for seed in range(16):
        c, _ = wrong_alike(seed, 500, wrong)
        states.append(calibrated_where(c, along_hour(c.time)).state)
    assert states.count("found") <= 1
    assert states.count("everywhere") >= 8


@pytest.mark.parametrize("size", [2.0, 3.0, 5.0])
def test_a_large_offset_of_one_part_is_called_an_offset_there(size):
    named = 0
    for seed in range(8):
        c, humidity = wrong_alike(
            seed, 500, lambda error, rh: error - size * ((rh > 40.0) & (rh < 60.0))
        )
        found = calibrated_where(c, Covariate("RH", humidity, "%"))
        named += (
            [each.fault for each in found.findings] == ["offset"]
            and abs(found.findings[0].low - 40.0) <= 10.0
            and abs(found.findings[0].high - 60.0) <= 10.0
            # A bin that is only partly wrong may be in the part.
            and -1.1 * size <= found.findings[0].estimate.value <= -0.6 * size
            and found.rest_is_right
        )
    assert named >= 7


def test_a_part_that_is_nearly_the_whole_is_the_whole():
    c, humidity = wrong_alike(2, 3000, lambda error, rh: np.where(rh > 8.0, error + 1.0, error))
    found = calibrated_where(c, Covariate("RH", humidity, "%"))
    assert (found.state, found.rest_is_right) == ("everywhere", False)


def test_evidence_is_the_product_of_the_bets_of_a_part():
    c, humidity = drawn(5, 480, plant=lambda _h, rh, _l: rh > 70.0)
    covariate = Covariate("RH", humidity, "%")
    (only,) = calibrated_where(c, covariate).findings
    bets = bets_from_first(c.z, StatedColumns(c.u_eff, c.value))
    weights = [0.45 / 8] * 8 + [0.30 / 4] * 4 + [0.15 / 3] * 3
    highest, stakes = 0.0, [each / sum(weights) for each in weights]
    for at in range(480):
        if only.low <= humidity[at] < only.high:
            stakes = [stake * float(bets[row, at]) for row, stake in enumerate(stakes)]
        if (at + 1) % LOOK == 0 and at + 1 >= 400:
            highest = max(highest, sum(stakes))
    first = calibrated_where(c, covariate).findings[0].log_evidence
    assert first == pytest.approx(math.log(highest), rel=1e-9)


@pytest.mark.slow
def test_what_was_clear_stays_clear_since_the_same_pair():
    c, humidity = drawn(6, 1000, plant=lambda _h, rh, _l: rh > 80.0)
    since = set()
    for count in range(500, 1001, 7):
        part = c.select(slice(0, count), np.zeros(1, dtype=np.int64))
        since.add(calibrated_where(part, Covariate("RH", humidity[:count], "%")).since)
    assert len(since) == 1
    assert since.pop() >= 0
