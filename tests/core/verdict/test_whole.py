"""A file is judged whole: honest sensors are not accused, faults of all of it are named."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from harness.verdict_sensors import START, autoregressive, sensor, since, whole, widened

from monitor.core.verdict import Pairs, judge, judge_whole

CALM = ("no fault found yet", "may be wrong")


def cycle(value, truth, _):
    wave = 1.4 * np.sin(2 * np.pi * np.arange(value.size) / 24)
    return truth + 0.87 * (value - truth) + wave


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [{}, {"shape": "t4"}, {"shape": "AR"}, {"predictive": True}, {"slow": 0.9}, {"fault": cycle}],
    ids=["normal", "t4", "AR", "predictive", "slow", "cycle"],
)
@pytest.mark.parametrize("n", [60, 3000])
def test_honest_files_are_not_accused(changes, n):
    found = [whole(sensor(seed, n, **changes)) for seed in range(20)]

    assert sum(each.state == "fault" for each in found) <= 1, [each.sentence for each in found]


@pytest.mark.parametrize("rho", [0.7, 0.95])
def test_slow_honest_errors_are_not_accused(rho):
    found = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        error = autoregressive(random.standard_normal(5000), rho)
        reference = 20.0 + 3.0 * random.standard_normal(5000)
        ones = np.ones(5000)
        found.append(whole(Pairs(np.arange(5000.0), reference + error, ones, reference, 0 * ones)))

    assert sum(each.state == "fault" for each in found) <= 1


def test_many_honest_pairs_are_right():
    verdict = whole(sensor(1, 20_000))

    assert verdict.state == "right"
    assert re.fullmatch(
        r"right within 0\.0\d u and a factor of 1\.0\d \(20000 pairs\)", verdict.sentence
    )
    assert verdict.error_model == "classical"
    assert verdict.fault == ""


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"scale": 1.1}, r"understates its uncertainty by a factor of 1\.[01]\d? \(.*\)"),
        ({"scale": 0.93}, r"overstates its uncertainty by a factor of 1\.[01]\d? \(.*\)"),
        ({"fault": since(0, lambda value, _: value + 0.22)}, r"reads 0\.\d+ high \(.*\)"),
    ],
)
def test_what_is_clear_and_too_little_to_mend_is_told(changes, told):
    verdict = whole(sensor(3, 4000, **changes))

    assert verdict.state == "right"
    within = r"right within [\d.]+ u and a factor of [\d.]+ \(4000 pairs\)"
    assert re.fullmatch(f"{within}: {told}, too little to correct", verdict.sentence)


@pytest.mark.parametrize("u_ref", [1.0, 2.0, 5.0])
@pytest.mark.parametrize(("offset", "times"), [(0.0, 1.0), (0.7, 1.0), (0.0, 1.5), (0.0, 0.5)])
def test_right_within_bounds_holds_for_the_sensor_behind_any_reference(offset, times, u_ref):
    pairs = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        truth, error, of_reference = random.standard_normal((3, 500))
        value = 100.0 + 20.0 * truth + offset + times * error
        reference = 100.0 + 20.0 * truth + u_ref * of_reference
        clock = START + 3600.0 * np.arange(500)
        pairs.append(Pairs(clock, value, np.ones(500), reference, np.full(500, u_ref)))

    right = [each.bounds for each in judge_whole(pairs) if each.state == "right"]

    outside = [b for b in right if b.level < offset or b.factor < max(times, 1.0 / times)]
    assert len(outside) <= 4
    assert (
        len(right) >= 38 if (offset, times, u_ref) == (0.0, 1.0, 1.0) else u_ref < 5.0 or not right
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_few_errors_that_spoil_the_mean_square_are_told_beside_a_right_sensor(seed):
    """One error in 200 is no fault, but a ZMS of 5 beside "right" is a riddle."""
    some = since(0, lambda value, late: np.where(late % 200 == 99, value + 30.0, value))
    verdict = whole(sensor(seed, 1000, fault=some))

    assert verdict.state == "right"
    few = ", but for 5 of 1000 pairs, which are more than 4 standard uncertainties off"
    assert verdict.sentence.startswith("right within 0.")
    assert verdict.sentence.endswith(few)
    assert "but for" not in whole(sensor(seed, 1000)).sentence


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["normal", "t4", "AR"])
def test_honest_files_are_not_told_to_be_nearly_right(shape):
    found = [whole(sensor(seed, 2000, shape=shape)).sentence for seed in range(40)]

    assert sum("too little" in each for each in found) <= 1, found


FAULTS = {
    "offset": {"fault": since(0, lambda value, _: value + 2.0)},
    "drift": {"fault": since(0, lambda value, late: value + 0.004 * late)},
    "gain": {"fault": since(0, lambda value, _: 50.0 + 1.5 * (value - 50.0))},
    "understated": {"scale": 2.0},
    "overstated": {"scale": 0.4},
    "sign": {"fault": since(0, lambda value, _: 100.0 - value)},
    "lag": {"fault": since(0, lambda value, _: np.roll(value, 2)), "slow": 0.9},
    "stuck": {"fault": since(0, lambda _value, late: np.full(late.size, 51.234))},
}


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_fault_of_the_whole_file_is_named(name):
    found = [whole(sensor(seed, 1500, **FAULTS[name])).fault for seed in range(6)]

    assert found.count(name) >= 5, found


def test_a_file_without_times_has_no_dates():
    p = sensor(3, 1500, **FAULTS["drift"])
    bare = Pairs(np.zeros(p.n), p.value, p.u, p.reference, p.u_ref, timed=False)
    verdict = whole(bare)

    assert verdict.fault == "drift"
    assert math.isnan(verdict.began)
    assert "since" not in verdict.sentence
    assert "19" not in verdict.sentence


def test_the_offset_of_a_file_is_told_with_its_interval():
    found = [whole(sensor(seed, 1500, shape="AR", **FAULTS["offset"])) for seed in range(10)]

    assert sum(each.level.lower <= 2.0 <= each.level.upper for each in found) >= 8
    assert sum(each.n_effective < 1000 for each in found) >= 9


def test_scale_does_not_hang_on_the_offset():
    """With u from 3 to 8 and an offset of 40, u is right: only the offset is to go."""
    random = np.random.default_rng(4)
    u = random.uniform(3.0, 8.0, 1000)
    reference = random.normal(500.0, 100.0, 1000)
    value = reference + 40.0 + u * random.standard_normal(1000)
    verdict = whole(Pairs(np.arange(1000.0), value, u, reference, 0.0 * u))

    assert verdict.fault == "offset"
    assert verdict.scale.lower < 1.0 < verdict.scale.upper
    assert verdict.remedy.kind == "add"
    assert verdict.remedy.add == pytest.approx(-40.0, abs=1.0)


def test_widening_halfway_is_seen_over_all():
    found = whole(sensor(5, 2000, scale=widened(2000, 1000, 4.0)))

    assert found.fault == "understated"


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.7])
@pytest.mark.parametrize("n", [8, 15, 30, 100])
def test_short_honest_files_are_not_accused(rho, n):
    accused = 0
    for seed in range(60):
        random = np.random.default_rng(1000 + seed)
        error = autoregressive(random.standard_normal(n), rho)
        reference = 50.0 + 3.0 * random.standard_normal(n)
        ones = np.ones(n)
        found = whole(Pairs(np.arange(n) * 3600.0, reference + error, ones, reference, 0 * ones))
        accused += found.state == "fault"

    assert accused <= 5


HALF = {
    "step": (since(200, lambda value, _: value + 6.0), "offset", 6.0),
    "another step": (
        lambda value, _truth, _random: value + 2.0 * np.where(np.arange(value.size) < 200, 4, 2),
        "offset",
        4.0,
    ),
    "drift": (since(200, lambda value, late: value + 0.04 * late), "drift", 15.96),
}


@pytest.mark.parametrize("name", sorted(HALF))
def test_a_file_that_changes_halfway_is_told_by_its_newest_piece(name):
    fault, label, size = HALF[name]
    found = [whole(sensor(seed, 600, fault=fault)) for seed in range(12)]

    assert sum(each.fault == label for each in found) >= 11, [each.sentence for each in found]
    assert sum(each.level.lower <= size <= each.level.upper for each in found) >= 10
    if name == "step":
        p = sensor(0, 600)
        begin = float(p.time[200])
        assert sum(abs(each.began - begin) <= 5 * 3600.0 for each in found) >= 11


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("overstated", {"scale": widened(450, 150, 0.4)}),
        ("gain", {"fault": since(150, lambda value, _: 50.0 + 0.65 * (value - 50.0))}),
        ("gain", {"fault": since(150, lambda value, _: 50.0 + 1.35 * (value - 50.0))}),
    ],
)
@pytest.mark.parametrize("shape", ["normal", "AR"])
def test_what_only_the_newest_pairs_show_is_found_among_all(shape, name, changes):
    """Errors that become smaller raise no alert, and all pairs show less of a fault than these."""
    found = [whole(sensor(seed, 450, shape=shape, slow=0.5, **changes)) for seed in range(20)]

    assert sum(each.fault == name for each in found) >= 17, [each.sentence for each in found]


def test_a_file_of_a_sensor_that_was_repaired_says_so():
    def repaired(value, _truth, _random):
        return value + np.where(np.arange(value.size) < 200, 6.0, 0.0)

    found = [whole(sensor(seed, 600, fault=repaired), unit="kg") for seed in range(12)]

    told = r"(right|no fault found yet:) within .* \(\d+ pairs since 2026-"
    right = [each for each in found if re.match(told, each.sentence)]
    assert len(right) >= 10, [each.sentence for each in found]
    assert all(not each.fault and each.advice == "" for each in right)
    assert sum(each.state == "right" for each in right) >= 8
    late = [abs(each.right_since - START - 200 * 3600.0) / 3600.0 for each in right]
    assert sum(each <= 3.0 for each in late) >= 9


@pytest.mark.parametrize("rho", [0.0, 0.7, 0.9])
def test_the_share_of_outliers_is_that_of_the_file(rho):
    random = np.random.default_rng(3)
    n = 1500
    error = autoregressive(random.standard_normal(n), rho)
    far = random.random(n) < 0.05
    error[far] = 10.0 * random.choice([-1.0, 1.0], int(far.sum()))
    reference = 50.0 + 3.0 * random.standard_normal(n)
    ones = np.ones(n)
    found = whole(Pairs(np.arange(n) * 3600.0, reference + error, ones, reference, 0 * ones))

    assert found.fault == "outliers"
    assert found.size.lower < 0.05 < found.size.upper < 0.12


@pytest.mark.parametrize("factor", [300.0, 1000.0])
def test_errors_that_are_nearly_all_far_are_no_outliers(factor):
    found = [whole(sensor(seed, 60, scale=factor)).fault for seed in range(24)]

    assert found.count("understated") >= 23, found
    assert "outliers" not in found


@pytest.mark.parametrize("begin", [200, 1800, 3000])
def test_a_sensor_stuck_at_the_end_is_stuck_for_as_many_pairs_as_it_is(begin):
    fault = since(begin, lambda _value, late: np.full(late.size, 51.234))
    found = whole(sensor(1, 5000, fault=fault), unit="kg")

    assert found.fault == "stuck"
    assert found.pairs == 5000 - begin
    assert f"for {5000 - begin} pairs" in found.sentence


def test_a_file_that_shows_nothing_clear_accuses_nobody_in_words():
    """Undecided is no accusation: "not as right as it says" is said of an alert that fires."""
    found = [whole(sensor(seed, 60, scale=1.25)) for seed in range(30)]
    undecided = [each.sentence for each in found if each.state == "undecided"]

    assert len(undecided) >= 10
    assert all(each.startswith(CALM) for each in undecided), undecided


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["offset", "overstated"])
def test_a_fault_that_fills_a_file_of_heavy_tails_is_no_other_one_at_its_end(kind):
    wrong = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        n = 1000
        error = random.standard_t(4, n) / np.sqrt(2.0)
        error = error - 1.0 if kind == "offset" else 0.5 * error
        reference = 50.0 + 3.0 * random.standard_normal(n)
        p = Pairs(np.arange(n), reference + error, np.ones(n), reference, np.zeros(n), timed=False)
        found = whole(p)
        wrong += [found.sentence] if found.fault != kind else []

    assert len(wrong) <= 1, wrong


@pytest.mark.parametrize("u", ["constant", "varying"])
@pytest.mark.parametrize("offset", [1e5, -1e7, 1e9, -1e12])
def test_an_offset_of_any_size_is_told_as_that(offset, u):
    random = np.random.default_rng(4)
    n = 300
    stated = np.full(n, 1.8) if u == "constant" else random.uniform(0.5, 3.0, n)
    reference = random.normal(500.0, 20.0, n)
    error = offset + stated * random.standard_normal(n)
    p = Pairs(np.arange(n) * 3600.0, reference + error, stated, reference, 0.0 * stated)

    for found in (whole(p), judge(p, alarm=20)):
        assert found.fault == "offset"
        assert found.size.lower <= p.error.mean() <= found.size.upper
        assert found.remedy.add == pytest.approx(-offset, rel=1e-9, abs=1.0)
