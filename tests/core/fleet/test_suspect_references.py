"""A fleet's list: few honest sensors on it, and what a reference that is off explains."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.detector.detector import Detector
from monitor.core.fleet.common_errors import Meetings, rounds_of
from monitor.core.fleet.suspect_references import MEETING, innovations, met, suspicion
from monitor.core.pairing.series_rules import Systematic


def test_discounted_evidence_of_honest_sensors_has_a_mean_of_at_most_the_horizon():
    """However long they run: the plain sum's mean grows with every pair."""
    z = np.random.default_rng(5).standard_normal((400, 3000))
    detector, every = Detector(np.full(400, 1e300), horizon=100.0), np.arange(400)
    detector.advance(every, every * 3000, z.ravel())

    assert 0.0 < detector.discounted(every).mean() <= 100.0


def test_discounted_evidence_is_the_recursion_written_out():
    z = np.random.default_rng(6).standard_normal(60)
    detector, one, wanted, before = Detector(np.full(1, 1e300)), np.zeros(1, np.int64), 0.0, 0.0
    for value in z:
        detector.advance(one, one, np.array([value]))
        now = detector.evidence(one)[0]
        wanted = (0.999 * wanted + 1.0) * now / (before + 1.0)
        before = now

        assert detector.discounted(one)[0] == pytest.approx(wanted, rel=1e-12)


# --- references ----------------------------------------------------------------------------------


def rounds(sensors, number, seed, u_ref=0.3):
    """Return pairs of ``number`` rounds of a reference that is as uncertain as it says."""
    chance = np.random.default_rng(seed)
    common = u_ref * chance.standard_normal(number)
    return chance.standard_normal((number, sensors)) - common[:, None]


def as_met(error, u_ref=0.3):
    number, sensors = error.shape
    which = np.repeat(np.arange(number), sensors)
    flat = np.ones(error.size)
    series = np.tile(np.arange(sensors), number)
    unknown = np.full(error.size, np.nan)
    return Meetings(series, which, which.astype(float), error.ravel(), flat, u_ref * flat, unknown)


def test_innovations_are_what_a_round_adds_to_those_before_it():
    """By Cholesky: errors of a round have covariance u^2 on the diagonal, u_ref^2 everywhere."""
    error = rounds(6, 3, 1)
    lower = np.linalg.cholesky(np.eye(6) + 0.09 * np.ones((6, 6)))

    wanted = np.linalg.solve(lower, error.T).T.ravel()

    assert innovations(as_met(error)) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("sensors", [5, 20])
def test_a_reference_that_is_off_is_accused_with_its_size(sensors):
    error = rounds(sensors, 30, 2)
    error[10:] += 1.0

    estimate, since, met, agree, *_ = suspicion(as_met(error), 1000.0)

    assert estimate.lower < 1.0 < estimate.upper
    assert abs(since - 10.0) <= 2.0
    assert (met, agree) == (sensors, sensors)


def test_fewer_than_five_sensors_accuse_nobody():
    assert suspicion(as_met(rounds(4, 100, 3) + 3.0), 1000.0) is None
    assert suspicion(as_met(rounds(5, 100, 3) + 3.0), 1000.0) is not None


@pytest.mark.slow
@pytest.mark.parametrize("size", [1.0, 2.0, 5.0, 20.0])
def test_one_bad_sensor_of_five_does_not_accuse_the_reference(size):
    accused = 0
    for seed in range(40):
        error = rounds(5, 60, seed)
        error[20:, 0] += size
        accused += suspicion(as_met(error), 1000.0) is not None

    assert accused <= 3


def test_honest_sensors_accuse_nobody_though_they_share_the_references_error():
    assert not any(suspicion(as_met(rounds(50, 20, seed, 0.5), 0.5), 1000.0) for seed in range(40))


@pytest.mark.slow
def test_a_reference_within_its_declared_systematic_part_is_not_accused():
    """80 % of u_ref is one error for life; of these references it is twice as large as that."""
    u_ref, share = 0.5, 0.8
    own, by_chance = 2.0 * share * u_ref, float(np.sqrt(1.0 - share**2)) * u_ref
    declared = [Systematic(reference_share=share), Systematic(reference_value=share * u_ref)]
    met = [as_met(rounds(20, 60, seed, by_chance) + own, u_ref) for seed in range(20)]

    assert all(suspicion(each, 1000.0) for each in met)
    assert not any(suspicion(each, 1000.0, of) for each in met for of in declared)


def test_a_reference_that_is_off_by_more_than_that_is_accused():
    found = suspicion(
        as_met(rounds(20, 60, 1, 0.3) + 2.5, 0.5), 1000.0, Systematic(reference_share=0.8)
    )

    assert found is not None
    assert found[0].lower < 2.5 < found[0].upper


def test_a_systematic_part_of_the_sensors_excuses_no_reference():
    met = as_met(rounds(20, 60, 1, 0.5) + 1.0, 0.5)

    found = suspicion(met, 1000.0)
    declared = suspicion(met, 1000.0, Systematic(value=1.0, share=0.9))

    assert found is not None
    assert declared is not None
    assert declared[:4] == found[:4]


def test_a_small_offset_of_an_uncertain_reference_with_many_sensors_is_found():
    error = rounds(50, 20, 7, 0.3)
    error[5:] += 0.8

    assert suspicion(as_met(error, 0.3), 1000.0) is not None


@pytest.mark.parametrize("off", [0.0, 20.0])
def test_the_common_error_is_as_large_as_it_is_where_u_is_a_share_of_the_reading(off):
    common = []
    for seed in range(20):
        chance = np.random.default_rng(seed)
        truth = np.tile(100.0 + 20.0 * chance.standard_normal(60), 10)
        pairs = np.zeros(600, MEETING)
        pairs["series"], pairs["measured"] = (
            np.repeat(np.arange(10), 60),
            np.tile(np.arange(60), 10),
        )
        pairs["time"] = pairs["measured"]
        value = truth * (1.0 + 0.2 * chance.standard_normal(600))
        pairs["reference"], pairs["error"] = truth - off, value - truth + off
        pairs["u_eff"], pairs["u_ref"] = np.hypot(0.2 * value, 1.0), 1.0
        meetings = met(pairs, pairs["measured"].astype(np.int64))
        common.append(rounds_of(meetings).error.mean())

    assert np.mean(common) == pytest.approx(off, abs=1.0)


@pytest.mark.parametrize(
    ("common", "whose"), [(None, ""), (0.0, "reference"), (0.5, ""), (0.9, "sensors")]
)
def test_what_is_declared_decides_whether_sensors_or_their_reference_are_off(common, whose):
    """Six sensors 1.5 u apart from a reference that states 0.2: nothing else can decide it."""
    for seed in range(8):
        met = as_met(rounds(6, 60, seed, 0.2) + 1.5, 0.2)
        assert suspicion(met, 1000.0, Systematic(common=common)).whose == whose


def test_a_reference_that_states_no_uncertainty_is_right_before_sensors_that_err_together():
    met = as_met(rounds(6, 60, 1, 0.0) + 1.5, 0.0)

    assert suspicion(met, 1000.0, Systematic(common=0.1)).whose == "sensors"
    assert suspicion(met, 1000.0, Systematic(common=0.0)).whose == "reference"


@pytest.mark.parametrize("sensors", [6, 20])
@pytest.mark.parametrize("common", [0.5, 0.9])
@pytest.mark.parametrize("lasts", [True, False])
def test_sensors_that_err_together_as_they_declare_accuse_nobody(sensors, common, lasts):
    """For life, which is systematic then, or anew in every round."""
    share = Systematic(share=common if lasts else 0.0, common=common)
    accused = 0
    for seed in range(20):
        chance = np.random.default_rng([20261129, seed, sensors])
        shared = common * chance.standard_normal((1 if lasts else 60, 1))
        own = np.sqrt(1.0 - common**2) * chance.standard_normal((60, sensors))
        by_reference = 0.2 * chance.standard_normal((60, 1))
        met = as_met(own + shared + by_reference, 0.2)
        accused += suspicion(met, 1000.0, share) is not None

    assert accused <= 1
