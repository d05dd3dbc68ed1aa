"""The simulated fleet: its truth is in its numbers, and only the seed decides them."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from scipy.stats import norm
from scoringrules import crps_normal

from monitor.core.model import Reading, Reference
from monitor.simulate.carts import CARTS, CONTROLS, HILL, RACE, SCALE, CartFleet, hill_yard

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import demo_runs

START = 1_800_000_000.0
ANIMALS = 4000
INTERVAL = 0.5


def fleet_of(seed=1, **options):
    return CartFleet(np.random.default_rng(seed), START, INTERVAL, **options)


@pytest.fixture(scope="module")
def pairs():
    """Return by sensor: error, stated u (NaN for intervals), lower, upper, reference."""
    sent = fleet_of(carts=(*CARTS, *CONTROLS)).step(START + ANIMALS * INTERVAL)
    references = {one.key: one for one in sent if isinstance(one, Reference)}
    rows: dict[str, list[tuple[float, ...]]] = {}
    for one in sent:
        if isinstance(one, Reading) and one.key in references:
            true = references[one.key].value
            row = (one.value - true, one.u, one.lower, one.upper, true)
            rows.setdefault(one.sensor, []).append(row)
    return {sensor: np.array(table).T for sensor, table in rows.items()}


def moments(columns):
    """Return mean and standard deviation of z with the reference's 0.6 kg, and the number."""
    error, u, lower, upper, _ = columns
    u = np.where(np.isnan(u), (upper - lower) / (2 * 1.6448536269514722), u)
    z = error / np.hypot(u, 0.6)
    return z.mean(), z.std(), z.size


@pytest.mark.parametrize("sensor", [cart.sensor for cart in CARTS if cart.kind == "honest"])
def test_an_honest_sensor_is_right_on_average_and_about_its_uncertainty(pairs, sensor):
    mean, spread, n = moments(pairs[sensor])

    assert abs(mean) < 5 / math.sqrt(n)
    assert abs(spread - 1) < 5 / math.sqrt(2 * n)


def test_the_heavy_cart_is_heavy_by_what_the_truth_says(pairs):
    error, u, *_ = pairs["cart-03"]

    fault = fleet_of().faults["cart-03"]

    assert (fault.kind, fault.size, fault.unit) == ("offset", 6.2, "kg")
    assert abs(error.mean() - fault.size) < 5 * error.std() / math.sqrt(error.size)
    assert 4.5 < np.median(u) < 5.5


@pytest.mark.parametrize(
    ("sensor", "factor"), [("cart-04", 2.2), ("cart-06", 1 / 2.5), ("cart-11", 2.0)]
)
def test_a_wrong_claim_is_wrong_by_its_factor(pairs, sensor, factor):
    mean, spread, n = moments(pairs[sensor])

    assert abs(mean) < 5 * factor / math.sqrt(n)
    # The reference's own 0.6 kg is a larger share of a small claim than of a large one.
    assert spread == pytest.approx(factor, rel=0.08)


def test_the_drifting_cart_drifts_by_its_rate_and_stops_at_its_limit(pairs):
    error = pairs["cart-07"][0]
    drift = next(cart for cart in CARTS if cart.sensor == "cart-07")

    rising = error[:300]

    slope = np.polyfit(np.linspace(0, 300 / 0.85, 300), rising, 1)[0]
    assert slope == pytest.approx(drift.drift_kg, rel=0.15)
    assert error[1000:].mean() == pytest.approx(drift.drift_max_kg, abs=0.6)


def test_the_cart_with_outliers_has_its_share_of_them(pairs):
    error = pairs["cart-08"][0]

    share = (abs(error) > 35).mean()

    assert share == pytest.approx(1 / 12, abs=5 * math.sqrt(1 / 12 / error.size))
    assert np.std(error[abs(error) < 35]) < 6.0


def test_the_cart_with_a_gain_error_is_right_at_500_kg_only(pairs):
    error, _, _, _, reference = pairs["cart-09"]

    slope, at_500 = np.polyfit(reference - 500, error, 1)

    assert slope == pytest.approx(0.12, abs=0.01)
    assert at_500 == pytest.approx(0.0, abs=0.5)


@pytest.mark.parametrize(("sensor", "coverage"), [("cart-10", 0.9), ("cart-11", 0.589)])
def test_interval_sensors_state_nothing_else_and_cover_as_designed(pairs, sensor, coverage):
    _, u, lower, upper, reference = pairs[sensor]

    inside = ((lower <= reference) & (reference <= upper)).mean()

    assert np.isnan(u).all()
    assert inside == pytest.approx(coverage, abs=5 * 0.5 / math.sqrt(u.size))


def test_the_silent_cart_stops_when_the_truth_says(pairs):
    fleet = fleet_of()

    sent = fleet.step(START + 200.0)

    times = [one.time for one in sent if isinstance(one, Reading) and one.sensor == "cart-12"]
    assert len(times) == 120
    assert max(times) <= fleet.faults["cart-12"].since < max(times) + INTERVAL


def test_the_controls_rank_as_their_names_say(pairs):
    """Correlation of stated u with the size of the error: perfect > random ~ none (C-27)."""
    rank = {
        sensor: np.corrcoef(np.abs(columns[0]), columns[1])[0, 1]
        for sensor, columns in pairs.items()
        if sensor in ("control-perfect", "control-random-u")
    }

    assert rank["control-perfect"] > 0.95
    assert abs(rank["control-random-u"]) < 5 / math.sqrt(3000)
    assert np.ptp(pairs["control-constant-u"][1]) == 0.0


def test_the_perfect_control_is_the_best_by_every_score_although_references_are_noisy(pairs):
    """A claim of |error| alone is punished for the reference's 0.6 kg where the error is near 0."""
    found = {}
    for sensor in (cart.sensor for cart in CONTROLS):
        error, u, *_ = pairs[sensor]
        z, n = error / u, error.size
        scores = (
            crps_normal(error, 0.0, u),
            (1 / (2 * math.sqrt(math.pi)) - 2 * norm.pdf(z)) / u,
            z * z / 2 + np.log(u),
            2 * 1.6448536269514722 * u + 20 * np.maximum(abs(error) - 1.6448536269514722 * u, 0),
        )
        found[sensor] = np.array([each.sum() / n for each in scores])

    perfect = found.pop("control-perfect")
    for scores in found.values():
        assert (perfect < scores).all()


def test_the_numbers_depend_on_the_seed_and_not_on_how_often_is_asked():
    in_one = fleet_of().step(START + 30.0)
    fleet = fleet_of()
    in_many = [one for at in range(1, 301) for one in fleet.step(START + at * 0.1)]
    other_seed = fleet_of(seed=2).step(START + 30.0)

    assert msgspec.json.encode(in_many) == msgspec.json.encode(in_one)
    assert msgspec.json.encode(other_seed) != msgspec.json.encode(in_one)


def test_nothing_is_sent_before_its_time_or_twice():
    fleet = fleet_of()
    first = fleet.step(START + 10.0)
    second = fleet.step(START + 20.0)

    assert max(one.time for one in first) <= START + 10.0
    assert min(one.time for one in second) > START + 10.0
    assert [one.time for one in first] == sorted(one.time for one in first)
    assert fleet.step(START + 20.0) == []


def test_references_come_after_or_before_or_never_and_know_their_animal():
    sent = fleet_of().step(START + 500.0)
    readings = {one.key: one for one in sent if isinstance(one, Reading)}
    references = {one.key: one for one in sent if isinstance(one, Reference)}

    delays = [references[key].time - readings[key].time for key in references if key in readings]

    assert len(readings) == sum(isinstance(one, Reading) for one in sent)
    assert 0.8 < len(delays) / len(readings) < 0.9
    assert 0.15 < np.mean(np.array(delays) < 0) < 0.25
    assert max(map(abs, delays)) <= 3 * INTERVAL + 1e-6


def test_each_fault_has_a_sentence_and_honest_sensors_have_no_alert():
    faults = fleet_of().faults

    assert faults["cart-03"].sentence == "cart-03 reads 6.2 kg heavy"
    for sensor, fault in faults.items():
        assert fault.sentence.startswith(f"{sensor} ")
        assert (fault.alert == "") == (fault.kind in ("honest", "stops"))


# -- the command ------------------------------------------------------------------------------


def test_in_a_race_the_same_animals_cross_the_carts_and_share_their_references():
    fleet = CartFleet(np.random.default_rng(1), START, INTERVAL, RACE, race=True)
    sent = fleet.step(START + 200 * INTERVAL)
    apart = {cart.sensor for cart in RACE if cart.is_apart}
    crossed: dict[str, set[str]] = {}
    for one in sent:
        if isinstance(one, Reading):
            crossed.setdefault(one.key, set()).add(one.sensor)
    references = [one for one in sent if isinstance(one, Reference)]

    together = [sensors for sensors in crossed.values() if not sensors & apart]
    assert len(together) >= 199
    assert {frozenset(sensors) for sensors in together[:100]} == {
        frozenset(cart.sensor for cart in RACE) - apart
    }
    assert all(len(sensors) == 1 for sensors in crossed.values() if sensors & apart)
    assert {one.subject for one in references} == {SCALE, *apart}
    assert len({one.key for one in references}) == len(references)
    # The same animal: its readings differ by the carts' errors, not by the herd's 60 kg.
    values: dict[str, list[float]] = {}
    for one in sent:
        if isinstance(one, Reading) and one.sensor in ("cart-01", "cart-05"):
            values.setdefault(one.key, []).append(one.value)
    apart_kg = [a - b for a, b in (each for each in values.values() if len(each) == 2)]
    assert 3.0 < np.std(apart_kg) < 9.0  # of 5 and 3 kg: 5.8


def test_on_the_hill_one_cart_drifts_once_nobody_weighs_and_all_see_the_same_animals():
    day = 86_400.0
    sent = hill_yard(np.random.default_rng(1), START).step(START + 100 * day)
    references = {one.key: one for one in sent if isinstance(one, Reference)}
    errors: dict[str, dict[str, float]] = {}
    for one in sent:
        if isinstance(one, Reading):
            errors.setdefault(one.sensor, {})[one.sequence] = one.value

    assert {cart.sensor for cart in HILL} == errors.keys()
    assert abs(max(one.time for one in references.values()) - START - 60 * day) < 0.5 * day
    first, other = (list(errors[sensor].values()) for sensor in ("hill-1", "hill-2"))
    apart = np.subtract(first, other)
    assert apart.size == 1200
    assert np.std(apart[:720]) < 9.0  # the same animals: not the herd's 60 kg
    for since in (0, 240, 480):
        assert abs(apart[since : since + 240].mean()) < 5 * np.hypot(5.0, 5.0) / math.sqrt(240)
    drift = 0.03 * np.maximum(np.arange(1200) - 720, 0)
    assert abs((apart - drift)[720:].mean()) < 5 * np.hypot(5.0, 5.0) / math.sqrt(480)


def test_the_demonstration_accuses_nobody_honest_and_finds_who_is_silent():
    """A share of `python benchmarks/demo_runs.py`, which plays ten minutes with twenty seeds."""
    demo = demo_runs.run(seed=1, seconds=50.0)

    assert demo_runs.accused(demo) == []
    assert demo_runs.left_over(demo) == []
    paired = {name.sensor: row for row, name in enumerate(demo.snapshot.names)}
    assert int(demo.snapshot.window_pairs[paired["cart-01"]]) > 150
    assert demo_runs.left_neighbours(seed=1) == ["hill-1"]
