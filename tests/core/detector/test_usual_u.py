"""Sensors whose u goes with the reading: honest ones stay calm, wrong ones are found as soon."""

from __future__ import annotations

from functools import cache
from random import Random

import numpy as np
import pytest
from harness.examples import examples
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.detector import e_process
from monitor.core.detector.detector import Detector
from monitor.core.detector.usual_u import StatedColumns

PAIRS = 600
STREAMS = 100


def streams(model, share, *, least=0.0, spread=0.25, middle=100.0, seed=1, fault=0.0, times=1.0):
    """Return (value, reference, u) of sensors whose u is ``least`` + ``share`` of the reading.

    The standard deviation of their errors is that of the reference where the model is classical, of
    the reading where it is predictive; "independent" ones have a u of their own, of that spread.
    """
    random = np.random.default_rng(seed)
    carrier = middle * (1.0 + spread * random.standard_normal((STREAMS, PAIRS)))
    drawn = times * random.standard_normal((STREAMS, PAIRS))
    u = least + share * np.abs(carrier)
    if model == "predictive of the truth":
        reference = carrier - u * drawn
        return carrier + fault, reference, least + share * np.abs(reference)
    if model == "predictive":
        return carrier + fault, carrier - u * drawn, least + share * np.abs(carrier + fault)
    if model == "independent":
        u = 5.0 * np.exp(share * random.standard_normal(u.shape))
        return carrier + u * drawn + fault, carrier, u
    value = carrier + u * drawn + fault
    return value, carrier, u if model == "of the truth" else least + share * np.abs(value)


def alarms(value, reference, u, *, stated=True):
    """Return the pair of each stream's first alarm, PAIRS where there is none.

    Where u is not stated it is constant, with the same z.
    """
    detector, rows = Detector(np.full(STREAMS, 1000.0)), np.arange(STREAMS)
    z = (value - reference) / u
    if not stated:
        u = np.full(z.shape, 5.0)
        value = reference + u * z
    first = np.full(STREAMS, PAIRS)
    for change in detector.advance(
        rows, rows * PAIRS, z.ravel(), StatedColumns(u.ravel(), value.ravel())
    ):
        if change.after == "firing":
            first[change.series] = min(first[change.series], change.position % PAIRS)
    return first


@pytest.mark.parametrize(
    ("model", "share", "least"),
    [
        *(("classical", share, 0.0) for share in (0.05, 0.1, 0.15, 0.2, 0.3)),
        *(("classical", share, 3.0) for share in (0.1, 0.2)),
        *(("predictive", share, 0.0) for share in (0.1, 0.2, 0.3)),
        ("predictive", 0.1, 3.0),
        ("of the truth", 0.2, 0.0),
        *(("predictive of the truth", share, 0.0) for share in (0.1, 0.2)),
        ("independent", 0.3, 0.0),
    ],
)
def test_an_honest_sensor_is_not_accused(model, share, least):
    for spread in (0.2, 0.3):
        found = alarms(*streams(model, share, least=least, spread=spread))
        assert np.mean(found < PAIRS) <= 0.05


@pytest.mark.parametrize("model", ["classical", "predictive"])
def test_nor_one_whose_readings_are_negative_or_an_uncertain_reference_meets(model):
    value, reference, u = streams(model, 0.2, middle=-100.0)
    blurred = reference + 10.0 * np.random.default_rng(2).standard_normal(reference.shape)

    assert np.mean(alarms(value, reference, u) < PAIRS) <= 0.05
    assert np.mean(alarms(value, blurred, np.hypot(u, 10.0)) < PAIRS) <= 0.05


def test_a_wild_pair_hides_from_no_later_one_how_u_goes_with_the_reading():
    value, reference, u = streams("classical", 0.2)
    value[:, 50] = 1e6  # with the u of the right reading

    assert np.mean(alarms(value, reference, u) < PAIRS) <= 0.05


def test_where_u_is_constant_nothing_moves():
    random = np.random.default_rng(3)
    rows, z = np.arange(STREAMS), random.standard_normal((STREAMS, PAIRS)) * 1.4
    with_u, without = (Detector(np.full(STREAMS, 1e300)) for _ in range(2))
    with_u.advance(rows, rows * PAIRS, z.ravel(), constant_u(z))
    without.advance(rows, rows * PAIRS, z.ravel())

    assert with_u.families(rows)[:, :4] == pytest.approx(without.families(rows)[:, :4] * SHARE)


SHARE = 0.8  # of the weight of all bets, where a level is known


def constant_u(z):
    """Return what is stated of ``z`` if u is 5 and the reference 100."""
    return StatedColumns(np.full(z.size, 5.0), 100.0 + 5.0 * z.ravel())


@pytest.mark.parametrize("fault", [{"fault": f} for f in (-2.5, 2.5, 5.0)] + [{"times": 2.0}])
def test_a_fault_is_found_as_soon_where_u_has_nothing_to_do_with_the_reading(fault):
    drawn = streams("independent", 0.3, **fault)

    after, before = (alarms(*drawn, stated=each).mean() for each in (True, False))
    assert after == pytest.approx(before, rel=0.05)


@pytest.mark.parametrize(("share", "most"), [(0.1, 45.0), (0.2, 55.0)])
@pytest.mark.parametrize("fault", [-1.0, 1.0])
def test_an_offset_of_1_u_is_found_whether_it_is_high_or_low(share, most, fault):
    """With a constant u it takes 38 pairs; as stated, 20 % took 154 pairs high and 20 low."""
    found = alarms(*streams("classical", share, fault=fault * share * 100.0))

    assert found.mean() <= most


@pytest.mark.parametrize("spread", [0.0, 0.25])
def test_chance_alone_hardly_ever_moves_z(spread):
    value, reference, u = streams("independent", 0.3, spread=spread)
    rows, z = np.arange(STREAMS), ((value - reference) / u).ravel()
    with_u, without = (Detector(np.full(STREAMS, 1e300)) for _ in range(2))
    with_u.advance(rows, rows * PAIRS, z, StatedColumns(u.ravel(), value.ravel()))
    without.advance(rows, rows * PAIRS, z)

    families = (each.families(rows)[:, :4] for each in (with_u, without))
    same = np.isclose(next(families), next(families) * SHARE, rtol=1e-9).all(axis=1)
    assert same.mean() >= 0.9


ROWS = 6


@cache
def sensors():
    """Return z, u and readings of sensors: right, high from 200 on, wide, predictive, other u."""
    parts = [
        streams("classical", 0.2),
        streams("classical", 0.15, fault=20.0 * (np.arange(PAIRS) > 200)),
        streams("classical", 0.3, times=np.where(np.arange(PAIRS) < 400, 2.0, 1.0)),
        streams("predictive", 0.2),
        streams("independent", 0.5, fault=5.0 * (np.arange(PAIRS) > 300)),
        streams("of the truth", 0.0, least=5.0),
    ]
    columns = [
        ((value - reference) / u, u, np.broadcast_to(value, u.shape))
        for value, reference, u in parts
    ]
    return [tuple(column[0] for column in each) for each in columns]


@cache
def alone(row):
    z, *stated = sensors()[row]
    made = Detector(np.full(ROWS, 100.0))
    changes = made.advance(np.array([row]), np.zeros(1, np.int64), z, StatedColumns(*stated))
    return made.dump(row), [each.position for each in changes]


@examples(6)
@given(st.integers(0, 2**31), st.integers(1, 150), st.booleans())
def test_neither_batches_nor_neighbours_nor_restarts_change_a_bit(seed, largest, vectorised):
    random = Random(seed)
    made, done = Detector(np.full(ROWS, 100.0)), [0] * ROWS
    changed = {row: [] for row in range(ROWS)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(e_process, "FEW", 0 if vectorised else e_process.FEW)
        while min(done) < PAIRS:
            left = [row for row in range(ROWS) if done[row] < PAIRS]
            rows = sorted(random.sample(left, random.randint(1, len(left))))
            cuts = [slice(done[row], done[row] + random.randint(1, largest)) for row in rows]
            parts = [
                [column[cut] for column in sensors()[row]]
                for row, cut in zip(rows, cuts, strict=True)
            ]
            starts = np.cumsum([0, *(part[0].size for part in parts)])[:-1]
            z, *stated = (np.concatenate(each) for each in zip(*parts, strict=True))
            for each in made.advance(np.array(rows), starts, z, StatedColumns(*stated)):
                at = done[each.series] - int(starts[rows.index(each.series)])
                changed[each.series].append(at + each.position)
            for row, part in zip(rows, parts, strict=True):
                done[row] += part[0].size
            if random.random() < 0.1:
                again = Detector(np.full(ROWS, 100.0))
                every = np.arange(ROWS)
                again.loads(every, made.dumps(every))
                made = again

    for row in range(ROWS):
        assert (made.dump(row), changed[row]) == alone(row)


def test_what_was_learnt_outlives_an_event_but_no_step_crosses_it():
    z, u, value = sensors()[0]
    one, zero = np.zeros(1, np.int64), np.zeros(1, np.int64)
    made = Detector(np.full(1, 1e300))
    made.advance(one, zero, z, StatedColumns(u, value))
    sums = made.records(one)["u_u"][0]
    made.reset(one)
    assert made.records(one)["u_u"][0] == sums

    made.advance(one, zero, z[:1], StatedColumns(1e3 * u[:1], 1e3 * value[:1]))
    assert made.records(one)["u_u"][0] < sums
