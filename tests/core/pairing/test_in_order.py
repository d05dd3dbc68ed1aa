"""References taken in their order leave what references one by one leave."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from monitor.core.model import Observation, Reading, Reference
from monitor.core.pairing import staging
from monitor.core.pairing.observations import Observed
from monitor.core.pairing.pairing_rules import PAIRING_RULES
from tests.core.pairing.test_staging import SENSORS, followed, network, plain


def dense_history(seed: int, batches: int = 40) -> list[tuple[list[Reading], list[Observation]]]:
    """Return batches in which references come with the readings that are nearest to them."""
    chance = np.random.default_rng(seed)
    made = []
    for batch in range(batches):
        begin = 10.0 * batch
        readings = [
            Reading(sensor, "x", begin + float(second), float(chance.integers(9)), u=1.0)
            for sensor in SENSORS
            for second in sorted(chance.choice(10, 4, replace=False))
        ]
        if chance.random() < 0.3:  # late
            at = chance.integers(len(readings))
            readings.append(msgspec.structs.replace(readings[at], time=begin - 5.5, value=3.0))
        others: list[Observation] = []
        for sensor in SENSORS:
            for time in sorted(begin + chance.choice(20, chance.integers(4), replace=False) / 2.0):
                identity = str(chance.choice(["", "", "", "", "r1"]))
                others.append(Reference(sensor, "x", float(time), 5.0, identity=identity))
        if others and chance.random() < 0.3:
            of = others[chance.integers(len(others))]
            others.append(msgspec.structs.replace(of, revision=1, void=chance.random() < 0.5))
        made.append((readings, others))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("mode", PAIRING_RULES)
def test_so_they_do_where_references_come_with_their_readings(mode, monkeypatch):
    monkeypatch.setattr(staging, "SCALAR_MAX", 0)
    known = []
    nearest = staging.Staging.nearest
    monkeypatch.setattr(
        staging.Staging, "nearest", lambda *some: known.extend(found := nearest(*some)) or found
    )
    for seed in range(8):
        one = followed(network(mode), seed, by_column=True, made=dense_history)
        other = followed(network(mode), seed, by_column=False, made=dense_history)
        assert one == other
    assert mode != "nearest" or sum(each is not None for each in known) > 40


@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.parametrize("by_column", [True, False])
def test_a_reference_is_paired_once_with_the_readings_of_its_batch(few, by_column, monkeypatch):
    monkeypatch.setattr(staging, "SCALAR_MAX", few)
    readings = [Reading("a", "x", float(at), 2.0, u=1.0) for at in range(50)]
    references = [Reference("a", "x", float(at), 2.0, 0.1) for at in (10, 20, 30)]
    batch = Observed(plain(readings), references) if by_column else [*references, *readings]

    outcome = network("nearest").observe(batch, 0.0)

    assert outcome.pairs["time"].tolist() == [10.0, 20.0, 30.0]
