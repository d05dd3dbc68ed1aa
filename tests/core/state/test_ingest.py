"""What may not come in is refused by its place in the batch."""

from __future__ import annotations

import pytest

from monitor.core.model import Reading
from monitor.core.pairing import staging
from monitor.core.pairing.observations import Observed
from tests.core.pairing.test_staging import followed, network, plain


def test_a_series_beyond_the_limit_is_refused_by_its_place_in_the_batch():
    readings = [Reading(sensor, "x", 1.0 + at, 2.0, u=1.0) for at in range(50) for sensor in "ab"]
    small = network("nearest", known=1)

    outcome = small.observe(Observed(plain(readings), []), 0.0)

    assert [at for at, _ in outcome.refused] == list(range(1, 100, 2))
    assert outcome.packed is not None
    assert len(outcome.packed) == 50


@pytest.mark.slow
@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.parametrize(("known", "a_minute"), [(3, 1000), (100, 2), (0, 1000)])
def test_series_that_may_not_come_in_are_refused_as_one_by_one(few, known, a_minute, monkeypatch):
    monkeypatch.setattr(staging, "SCALAR_MAX", few)
    for seed in range(3):
        small = {"known": known, "a_minute": a_minute}
        one = followed(network("nearest", **small), seed, by_column=True)
        assert one == followed(network("nearest", **small), seed, by_column=False)
        assert any(refused or waiting for _, refused, waiting in one["counts"])
