"""Observations of a batch, and readings as they are stored."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from monitor.core.model import Observation, Reading, Reference
from monitor.core.pairing.observations import NOTHING, Observed, PackedReadings, pack, unpack
from tests.core.pairing.test_staging import NAMES, SENSORS, held, network, plain


def test_what_is_packed_is_what_was_accepted():
    readings = [Reading(sensor, "x", float(at), 2.5, u=0.5) for at in range(40) for sensor in "ab"]
    one = network("nearest")
    others = [Reference("a", "x", 3.0, 2.0)]
    outcome = one.observe(Observed(plain([*readings, readings[7]]), others), 0.0)
    assert outcome.duplicates == [80]
    assert isinstance(outcome.packed, PackedReadings)

    again = unpack([outcome.packed, *others], one.registry.keys)

    assert sorted(map(repr, again.plain.part(range(80)).names)) == sorted(
        map(repr, one.registry.keys)
    )
    assert sorted(map(repr, again)) == sorted(map(repr, [*readings, *others]))
    restored = network("nearest")
    restored.registry.add("a", "x")
    restored.registry.add("b", "x")
    restored.restore([(0.0, [outcome.packed])])
    assert held(restored) == held(one)


@pytest.mark.parametrize(("run", "most"), [(1, 32), (2, 32), (3, 25), (100, 17)])
def test_readings_of_one_series_in_a_row_are_kept_in_half_the_bytes(run, most):
    sensors = [SENSORS[at // run % 5] for at in range(300)]
    us = [0.5 + at // (2 * run) % 2 for at in range(300)]
    readings = [
        Reading(sensor, "x", float(at), at / 3.0, u=u)
        for at, (sensor, u) in enumerate(zip(sensors, us, strict=True))
    ]
    rows = np.array([SENSORS.index(sensor) for sensor in sensors])
    rows[[5, 100, 299]] = -1

    packed = pack(rows, plain(readings))

    kept = [each for at, each in enumerate(readings) if rows[at] >= 0]
    assert packed is not None
    assert len(packed) == len(kept)
    assert list(unpack([packed], NAMES)) == kept
    assert len(msgspec.msgpack.encode(packed)) < most * len(kept) + 100


def test_nothing_packs_to_nothing():
    assert pack(np.zeros(0, dtype=np.int64), NOTHING) is None
    assert pack(np.array([-1]), plain([Reading("a", "x", 1.0, 1.0, u=1.0)])) is None


def test_a_batch_is_a_sequence_of_observations():
    readings = [Reading("a", "x", float(at), 2.0, u=1.0) for at in range(3)]
    others: list[Observation] = [Reference("a", "x", 9.0, 1.0), Reference("b", "x", 9.0, 1.0)]
    batch = Observed(plain(readings), others)

    assert list(batch) == [*readings, *others]
    assert [batch[at] for at in range(5)] == list(batch)
    assert batch[1:4] == [*readings[1:], others[0]]
    assert batch[-1] == others[1]
    assert list(batch.part([0, 2, 4])) == [readings[0], readings[2], others[1]]
    with pytest.raises(IndexError):
        batch[5]
