"""How long alerts last, and when they end."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from monitor.core.detector import detector as detection
from monitor.core.detector import e_values, lifecycle
from monitor.core.detector.detector import Detector
from tests.core.detector.test_detector import ONE, detector, fired, resolved, run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "pairs"),
    [
        (lambda z: z + 0.5, 110),
        (lambda z: z + 1, 40),
        (lambda z: z - 2, 30),  # 8 before the pairs after it were asked for 0.5 u
        (lambda z: 2 * z, 50),
        (lambda z: z / 2, 50),
    ],
)
def test_an_alert_lasts_as_long_as_its_fault_and_ends_soon_after_it(fault, pairs):
    honest = np.random.default_rng(31).standard_normal((120, 1400))
    z = np.concatenate([honest[:, :100], fault(honest[:, 100:1000]), honest[:, 1000:]], axis=1)
    made = detector(120)

    found = made.advance(np.arange(120), 1400 * np.arange(120), z.ravel())

    ends = [t.position % 1400 - 999 for t in resolved(found)]
    after = [end for end in ends if end > 0]
    assert len(after) >= 117
    assert np.median(after) <= pairs
    assert len(ends) - len(after) <= 27  # of 108 000 faulty pairs


@pytest.mark.slow
@pytest.mark.parametrize(("width", "pairs"), [(0.5, 60), (1 / 3, 40)])
def test_an_alert_on_intervals_that_are_too_narrow_lasts_as_long_as_they_are(width, pairs):
    honest = np.random.default_rng(32).standard_normal((40, 3000))
    half = np.where(np.arange(3000) < 2500, width, 1.0) * np.ones((40, 1)) * 1.6448536
    codes = e_values.coverage_code(-honest, -half, half, np.full_like(half, 0.1))
    made = detector(40, coverage=np.ones(40, bool))

    found = made.advance(np.arange(40), 3000 * np.arange(40), codes.ravel())

    ends = [t.position % 3000 - 2499 for t in resolved(found)]
    after = [end for end in ends if end > 0]
    assert len(after) >= 39
    assert np.median(after) <= pairs
    assert len(ends) == len(after)  # of 96 000 faulty pairs


@pytest.mark.slow
def test_who_is_patient_with_alarms_is_with_their_end():
    """Calm stretches of a sensor with outliers end its alert now and then."""
    random = np.random.default_rng(33)
    z = random.standard_normal((120, 2500))
    z[random.random(z.shape) < 1.0 / 12.0] = 12.0

    early, late = (
        len(resolved(made.advance(np.arange(120), 2500 * np.arange(120), z.ravel())))
        for made in (detector(120, patience=1e3), detector(120, patience=1e5))
    )

    assert early >= 8
    assert late <= early / 2


def test_one_outlier_does_not_end_an_alert(shifted):
    made, _ = run(0.3 * shifted)
    assert made.states(ONE)[0] == detection.FIRING

    made.advance(ONE, ONE, np.array([50.0]))

    assert made.states(ONE)[0] == detection.FIRING


def test_an_alert_on_outliers_lasts_while_there_are_any_and_ends_after_them():
    rng = np.random.default_rng(5)
    z = rng.standard_normal((20, 1000))
    hit = rng.random((20, 600)) < 0.05
    z[:, :600] = np.where(hit, rng.choice([-8.0, 8.0], hit.shape), z[:, :600])
    detector = Detector(np.full(20, 1000.0))
    changes = detector.advance(np.arange(20), 1000 * np.arange(20), z.ravel())
    ended = [t.position % 1000 for t in changes if t.before == "firing"]

    assert sum(at < 600 for at in ended) <= 8
    assert sum(at >= 600 for at in ended) >= 18


@pytest.mark.slow
@pytest.mark.parametrize(("rho", "pairs"), [(0.0, 30), (0.7, 150)])
@pytest.mark.parametrize("size", [8.0, -20.0])
def test_an_alert_on_a_large_offset_that_began_as_outliers_ends_with_the_offset(rho, size, pairs):
    z = np.random.default_rng(41).standard_normal((60, 1200))
    for t in range(1, 1200):
        z[:, t] = rho * z[:, t - 1] + np.sqrt(1 - rho * rho) * z[:, t]
    z[:, 300:400] += size
    made = detector(60)

    found = made.advance(np.arange(60), 1200 * np.arange(60), z.ravel())

    ends = {}
    for t in resolved(found):
        ends[t.series] = t.position % 1200
    assert len(ends) >= 58
    assert np.median(list(ends.values())) - 399 <= pairs


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.7])
@pytest.mark.parametrize(
    "after",
    [lambda z: 2.0 * z, lambda z: z + 0.5, lambda z: z - 2.0],
    ids=["sd x 2", "0.5 u left", "other side"],
)
def test_an_alert_goes_on_while_another_fault_takes_the_place_of_its_own(after, rho):
    z = np.random.default_rng(42).standard_normal((60, 700))
    for t in range(1, 700):
        z[:, t] = rho * z[:, t - 1] + np.sqrt(1 - rho * rho) * z[:, t]
    z[:, 200:400] += 2.0
    z[:, 400:] = after(z[:, 400:])
    made = detector(60)

    found = made.advance(np.arange(60), 700 * np.arange(60), z.ravel())

    assert sum(t.position % 700 < 400 for t in fired(found)) >= 60
    assert sum(t.position % 700 >= 400 for t in resolved(found)) <= (6 if rho else 3)


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.7])
@pytest.mark.parametrize("before", [2.0, 2.5, 5.0])
def test_an_alert_on_wide_errors_goes_on_after_half_of_a_repair(before, rho):
    """Of independent errors, 50 to 64 of 80 alerts end if tested for 1.7 as after other faults."""
    z = np.random.default_rng(44).standard_normal((80, 700))
    for t in range(1, 700):
        z[:, t] = rho * z[:, t - 1] + np.sqrt(1 - rho * rho) * z[:, t]
    z[:, 200:400] *= before
    z[:, 400:] *= 1.4
    made = detector(80)

    found = made.advance(np.arange(80), 700 * np.arange(80), z.ravel())

    assert sum(t.position % 700 < 400 for t in fired(found)) >= 78
    ended = {t.series for t in resolved(found) if t.position % 700 >= 400}
    assert len(ended) <= 8


@pytest.mark.slow
@pytest.mark.parametrize("before", [2.0, 2.5, 5.0])
def test_right_pairs_teach_that_a_narrow_middle_is_not_a_repair(before):
    """Errors of t4 1.4 times as wide have that of normal ones; taken for these 51, 39, 21 end."""
    z = np.random.default_rng(45).standard_t(4, (80, 700)) / np.sqrt(2.0)
    z[:, 200:400] *= before
    right, half = np.copy(z), np.copy(z)
    half[:, 400:] *= 1.4

    ends = [
        [
            t.position % 700 - 399
            for t in resolved(
                detector(80).advance(np.arange(80), 700 * np.arange(80), each.ravel())
            )
            if t.position % 700 >= 400
        ]
        for each in (right, half)
    ]

    assert len(ends[0]) >= 76
    assert np.median(ends[0]) <= 80
    assert len(ends[1]) <= 18


@pytest.mark.parametrize("length", [1, 130])
def test_an_end_by_the_shape_of_right_pairs_is_the_same_however_pairs_are_cut(length):
    z = np.random.default_rng(46).standard_t(4, (4, 520)) / np.sqrt(2.0)
    z[:, 200:300] *= 2.5
    whole = detector(4)
    wanted = whole.advance(np.arange(4), 520 * np.arange(4), z.ravel())

    assert {t.series for t in resolved(wanted)} == set(range(4))
    for row in range(4):
        made, found = detector(), []
        for first in range(0, 520, length):
            saved = made.dump(0)
            made = detector()
            made.load(0, saved)
            part = made.advance(ONE, ONE, z[row, first : first + length])
            found += [t._replace(series=row, position=t.position + first + 520 * row) for t in part]
        assert found == [t for t in wanted if t.series == row]
        assert made.bits(0) == whole.bits(row)


@pytest.mark.parametrize(("freedom", "shape"), [(1e6, 0), (8, 4), (4, 8), (3, 8)])
def test_right_pairs_teach_their_shape_whatever_u_they_state(freedom, shape):
    z = stats.t.ppf((np.arange(10_000) + 0.5) / 10_000, freedom)
    z = np.clip(np.array([[0.7], [1.0]]) * z / stats.t.std(freedom), -4.0, 4.0)
    before = np.array([np.full(2, 10_000.0), np.abs(z).sum(axis=1), (z * z).sum(axis=1)])

    assert lifecycle.shape_of(before, np.zeros(2)) == pytest.approx(shape, abs=1)
    assert not lifecycle.shape_of(29e-4 * before, np.zeros(2)).any()
    assert not lifecycle.shape_of(before, np.full(2, 0.5)).any()


@pytest.mark.parametrize("shape", [0, 1, 4, 8])
def test_a_reshaped_square_has_the_odds_of_its_error_by_two_densities(shape):
    z = np.linspace(-4.0, 4.0, 9)
    freedom = 32.0 / shape if shape else 1e9
    unit = np.sqrt((freedom - 2.0) / freedom)
    honest, wide = (stats.t(freedom, scale=scale * unit) for scale in (1.0, 1.4))

    _, _, square = lifecycle.reshaped(np.array([np.ones(9), z, z * z]), np.full(9, float(shape)))

    odds = honest.logpdf(z) - wide.logpdf(z)
    assert np.log(1.4) - 0.5 * (1.0 - 1.0 / 1.96) * square == pytest.approx(odds, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1.0, 2.0, 5.0, 20.0])
def test_an_alert_ends_within_thirty_pairs_of_a_whole_repair(size):
    z = np.random.default_rng(43).standard_normal((200, 800))
    z[:, 200:500] += size
    made = detector(200)

    found = made.advance(np.arange(200), 800 * np.arange(200), z.ravel())

    ends = [t.position % 800 - 499 for t in resolved(found) if t.position % 800 >= 500]
    assert len(ends) >= 196
    assert np.median(ends) <= 30


def bursts(seed, bad=10):
    """Return z whose errors are four times as wide in 20 of each 100 pairs, ``bad`` times."""
    z = np.random.default_rng(seed).standard_normal(100 * bad + 400)
    pair = np.arange(z.size)
    return np.where((pair % 100 < 20) & (pair < 100 * bad), 4.0, 1.0) * z


@pytest.mark.slow
def test_a_fault_that_came_back_ends_only_after_it_stayed_away_for_longer():
    z = np.array([bursts(seed) for seed in range(20)])
    made = detector(20)
    transitions = made.advance(np.arange(20), z.shape[1] * np.arange(20), z.ravel())
    ends = {each.series: each.position % z.shape[1] for each in resolved(transitions)}

    assert len(fired(transitions)) / 20 <= 2.5  # ten without it
    assert np.mean(np.array([ends[row] for row in range(20)]) >= 920 + 2 * 60) >= 0.95
    assert detection.STATES.index("firing") not in made.states(np.arange(20))


def test_a_first_repair_is_told_as_soon_as_ever():
    z = np.random.default_rng(8).standard_normal((40, 600))
    z[:, 100:300] += 2.0

    transitions = detector(40).advance(np.arange(40), 600 * np.arange(40), z.ravel())

    after = [each.position % 600 - 300 for each in resolved(transitions)]
    assert np.median([pairs for pairs in after if pairs >= 0]) <= 36


@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 130, 1400])
def test_relapses_are_the_same_however_pairs_are_cut(length):
    z = bursts(3)
    whole, wanted = run(z)

    made, found = detector(), []
    for first in range(0, z.size, length):
        part = made.advance(ONE, ONE, z[first : first + length])
        found += [each._replace(position=each.position + first) for each in part]

    assert found == wanted
    assert made.bits(0) == whole.bits(0)


@pytest.mark.parametrize("systematic", [0.0, 0.5, 0.8])
def test_a_pair_speaks_for_the_end_of_an_offset_as_its_two_densities_do(systematic):
    """Honest: the nearest mean that the declaration explains. The milder fault: 0.8 of the rest."""
    honest, by_chance = 2.0 * systematic, np.sqrt(1.0 - systematic**2)
    mean = honest + 2.0 * by_chance
    moments = 20.0 * np.array([[1.0], [mean], [mean**2 + by_chance**2]])
    milder = stats.norm(honest + 0.8 * (mean - honest), by_chance)

    for z in np.linspace(honest, mean, 9):
        (relief,) = lifecycle.relief(
            np.zeros(1, int), np.zeros(1, int), moments, np.array([z]), np.array([systematic])
        )
        wanted = stats.norm(honest, by_chance).logpdf(z) - milder.logpdf(z)
        assert relief == pytest.approx(wanted, abs=1e-9)


def test_a_fault_is_over_at_the_odds_of_the_patience_and_of_a_thousand_at_least():
    odds = np.exp(lifecycle.resolved_at(np.array([10.0, 1e3, 1e5])))

    assert odds == pytest.approx([1e3, 1e3, 1e5])
