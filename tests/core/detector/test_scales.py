"""Errors that depend on each other: learnt, unlearnt, seen at several scales; how seldom they fire.

The truth is that of the generators: every sensor here is honest, its errors have mean 0 and
standard deviation 1. Streams are run many at once; bounds leave room for other seeds.
"""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.detector import e_values
from monitor.core.detector.detector import Detector
from monitor.core.detector.scales import Scales
from monitor.core.detector.series_state import STATE

STREAMS, PAIRS, CHANGED = 40, 4000, 1000


def ar(rho, rng, shape):
    z = rng.standard_normal(shape)
    for t in range(1, shape[1]):
        z[:, t] = rho * z[:, t - 1] + np.sqrt(1 - rho * rho) * z[:, t]
    return z


def partly(share, rho):
    def drawn(rng, shape):
        return np.sqrt(share) * ar(rho, rng, shape) + np.sqrt(1 - share) * rng.standard_normal(
            shape
        )

    return drawn


def cycle(pairs):
    def drawn(rng, shape):
        phase = rng.uniform(0, 2 * np.pi, (shape[0], 1))
        wave = 0.7 * np.sin(2 * np.pi * np.arange(shape[1]) / pairs + phase)
        return wave + np.sqrt(1 - 0.245) * rng.standard_normal(shape)

    return drawn


def rounded(rho):
    def drawn(rng, shape):
        truth = 100 + 50 * ar(rho, rng, shape)
        shown = 10 * np.round((truth + rng.standard_normal(shape)) / 10)
        return (shown - truth) / np.sqrt(1 + 100 / 12)

    return drawn


def held(pairs):
    def drawn(rng, shape):
        common = rng.standard_normal((shape[0], shape[1] // pairs + 1)).repeat(pairs, axis=1)
        return (rng.standard_normal(shape) + 0.5 * common[:, : shape[1]]) / np.sqrt(1.25)

    return drawn


def first_alarms(z, *, event_at=None):
    """Return the pair of each stream's first alarm (of the epoch), or the number of pairs."""
    streams, length = z.shape
    rows, detector = np.arange(streams), Detector(np.full(streams, 1000.0))
    first, began = np.full(streams, length), 0
    for start in range(0, length, 500):
        if start == event_at:
            detector.reset(rows)
            first[:], began = length, start
        part = z[:, start : start + 500]
        for change in detector.advance(rows, rows * part.shape[1], part.ravel()):
            if change.after == "firing":
                pair = start + change.position % part.shape[1]
                first[change.series] = min(first[change.series], pair)
    return first - began, length - began


def mean_between(first, length):
    return np.minimum(first + 1, length).sum() / max(1, (first < length).sum())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("errors", "least"),
    [
        (lambda rng, shape: ar(0.7, rng, shape), 5000),
        (lambda rng, shape: ar(0.9, rng, shape), 1000),
        (cycle(24), 5000),
        pytest.param(cycle(48), 5000, marks=pytest.mark.long),
        pytest.param(cycle(96), 1500, marks=pytest.mark.long),
        (cycle(288), 1000),
        pytest.param(partly(0.1, 0.99), 1000, marks=pytest.mark.long),
        (partly(0.5, 0.95), 1000),
        pytest.param(partly(0.5, 0.99), 500, marks=pytest.mark.long),
        pytest.param(rounded(0.99), 5000, marks=pytest.mark.long),
        (rounded(0.999), 1000),
        pytest.param(held(5), 1000, marks=pytest.mark.long),
        pytest.param(held(10), 1000, marks=pytest.mark.long),
        pytest.param(held(50), 1000, marks=pytest.mark.long),
    ],
)
def test_honest_sensors_whose_errors_depend_on_each_other_rarely_fire(errors, least):
    z = errors(np.random.default_rng(170), (STREAMS, PAIRS))

    assert mean_between(*first_alarms(z)) >= least


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "least"), [(0.7, 0.0, 10_000), (0.9, 0.0, 10_000), (0.0, 0.7, 1000)]
)
def test_dependence_is_unlearnt_when_it_changes_with_an_event(before, after, least):
    rng = np.random.default_rng(171)
    z = ar(before, rng, (STREAMS, PAIRS))
    z[:, CHANGED:] = ar(after, rng, (STREAMS, PAIRS - CHANGED))

    assert mean_between(*first_alarms(z, event_at=CHANGED)) >= least


def bare_intervals(z):
    """Return the codes of sensors that state 90 % intervals and no u."""
    half = np.full_like(z, 1.6448536)
    return e_values.coverage_code(-z, -half, half, np.full_like(z, 0.1))


def rho_of_bare_intervals(z):
    """Return the median rho that is learnt, and the pairs to the first alarm since the middle."""
    streams, pairs = z.shape
    detector, rows = (
        Detector(np.full(streams, 1000.0), np.ones(streams, np.bool_)),
        np.arange(streams),
    )
    first = np.full(streams, pairs // 2)
    for half in np.split(bare_intervals(z), 2, axis=1):
        changes = detector.advance(rows, rows * half.shape[1], half.ravel())
    for change in reversed(changes):
        if change.after == "firing":
            first[change.series] = change.position % (pairs // 2)
    return float(np.median(detector.rho(rows))), mean_between(first, pairs // 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after"), [(0.5, 0.0), pytest.param(0.0, 0.5, marks=pytest.mark.long)]
)
def test_bare_intervals_unlearn_dependence_that_changed(before, after):
    """Learnt for life, half of what was learnt before would still show."""
    rng, shape = np.random.default_rng(20261205), (60, 2000)
    settled, _ = rho_of_bare_intervals(ar(after, rng, (60, 4000)))
    rho, between = rho_of_bare_intervals(
        np.concatenate([ar(before, rng, shape), ar(after, rng, shape)], axis=1)
    )

    assert abs(rho - settled) < 0.05
    assert between >= 1000.0


def ceilings_of(x):
    """Return the offset ceiling of each stream after whitened pairs ``x`` [streams, pairs]."""
    scales = Scales(np.zeros(x.shape[0], STATE))
    age = np.repeat(np.arange(x.shape[1])[:, None], x.shape[0], axis=1)
    scales.advance(x.T.copy(), age)
    return scales.at(x.shape[1] - 1, np.arange(x.shape[0])).offset


def test_the_ceiling_of_independent_errors_is_one_and_no_offset_raises_it():
    x = np.random.default_rng(172).standard_normal((200, 2000))
    stepped = x + 2.0 * (np.arange(2000) >= 1000)

    assert np.median(ceilings_of(x)) == 1.0
    assert ceilings_of(x).mean() <= 1.2
    assert np.median(ceilings_of(stepped)) <= 1.6


def test_the_ceiling_of_dependent_errors_nears_their_long_run_variance():
    x = ar(0.8, np.random.default_rng(173), (200, 4000))

    assert np.median(ceilings_of(x)) == pytest.approx(1.8 / 0.2, rel=0.35)


@pytest.mark.parametrize("pairs", [1, 2, 3, 7, 128, 300, 1500])
def test_one_series_alone_and_beside_others_has_the_same_ceilings(pairs):
    x = partly(0.4, 0.98)(np.random.default_rng(174), (5, pairs))

    beside = Scales(np.zeros(5, STATE))
    age = np.repeat(np.arange(pairs)[:, None], 5, axis=1)
    together = beside.advance(x.T.copy(), age)
    for row in range(5):
        alone = Scales(np.zeros(1, STATE)).advance(x[row][:, None], age[:, :1])
        assert (alone.offset == together.offset.reshape(pairs, 5)[:, row]).all()
        assert (alone.spread == together.spread.reshape(pairs, 5)[:, row]).all()


@pytest.mark.parametrize("cut", [1, 5, 64, 127, 131, 700])
def test_ceilings_do_not_depend_on_how_pairs_are_cut(cut):
    x = partly(0.4, 0.98)(np.random.default_rng(176), (1, 900))[0][:, None]
    age = np.arange(900)[:, None]
    once = Scales(np.zeros(1, STATE)).advance(x, age)

    records, parts = np.zeros(1, STATE), []
    for some in (slice(0, cut), slice(cut, 900)):
        scales = Scales(records)
        parts.append(scales.advance(x[some], age[some]))
        scales.store(records)

    assert (np.concatenate([part.offset for part in parts]) == once.offset).all()
    assert (np.concatenate([part.spread for part in parts]) == once.spread).all()
