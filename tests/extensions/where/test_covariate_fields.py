"""Covariates in messages of readings, and on topics of their own."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from harness.publishing import Said

from monitor.daemon.assembly import Parts, assemble
from tests.extensions.where.test_watched_covariates import (
    OWN,
    START,
    reading,
    reference,
    settings_of,
    stamp,
    take,
    where_of,
)

NATIVE = [{"name": "hour"}, {"name": "rh", "unit": "%", "field": "rh"}]


def temperature(number: object, sensor: str = "a") -> Said:
    return Said(f"site/{sensor}/temp", json.dumps(number).encode())


def beside(parts: Parts, row: int = 0) -> list[tuple[float, float]]:
    """Return (time of the pair, number) of all numbers beside pairs of a series."""
    rows = parts.journal.covariates_of(row)
    return list(zip((rows["time"] - START).tolist(), rows["number"].tolist(), strict=True))


def test_a_number_in_the_message_of_a_reading_stands_beside_its_pairs(tmp_path):
    parts = assemble(settings_of(tmp_path, NATIVE), START)
    said = [reading(START, 1.0, rh=81.5), reading(START + 60, 2.0, rh=3), reference(START, 1.0)]
    take(parts, [*said, reference(START + 60, 2.5)], START + 61)

    assert beside(parts) == [(0.0, 81.5), (60.0, 3.0)]
    assert parts.intake.counts.committed == 4
    assert not [*where_of(parts).keeper.notices()]


@pytest.mark.parametrize(
    ("stated", "why"),
    [
        ({}, "missing_field"),
        ({"rh": "wet"}, "bad_field"),
        ({"rh": None}, "missing_field"),
        ({"rh": True}, "bad_field"),
        ({"rh": [1]}, "bad_field"),
    ],
)
def test_a_number_that_cannot_be_used_costs_the_number_and_not_the_reading(tmp_path, stated, why):
    parts = assemble(settings_of(tmp_path, NATIVE), START)
    take(parts, [reading(START, 1.0, **stated), reference(START, 1.0)], START + 1)

    assert parts.intake.counts.committed == 2
    assert parts.network.windows.counts(np.array([0])).tolist() == [1]
    assert beside(parts) == []
    ((name, reason), count), *others = where_of(parts).keeper.refused.items()
    assert (name, count, others) == ("rh", 1, [])
    assert reason == why
    told = " ".join(where_of(parts).keeper.notices())
    assert "covariate rh: 1 reading without a usable number" in told


def test_a_topic_of_its_own_gives_the_newest_number_that_is_not_too_old(tmp_path):
    own = {**OWN[0], "field": "t", "time": "at"}
    parts = assemble(settings_of(tmp_path, [own]), START)
    for at, number in ((0.0, 20.0), (300.0, 21.0), (310.0, 22.0)):
        take(parts, [temperature({"t": number, "at": stamp(START + at)})], START + at)
    times = (-1.0, 0.0, 299.0, 305.0, 910.0, 911.0)
    for at in times:
        take(parts, [reading(START + at, 1.0), reference(START + at, 1.0)], START + 1000)

    assert beside(parts) == [(0.0, 20.0), (299.0, 20.0), (305.0, 21.0), (910.0, 22.0)]
    other = [reading(START + 305, 1.0, "b"), reference(START + 305, 1.0, "b")]
    take(parts, other, START + 1000)
    assert beside(parts, 1) == []


def test_a_topic_without_a_sensor_holds_for_all_and_a_bare_payload_for_when_it_came(tmp_path):
    parts = assemble(settings_of(tmp_path, [{"name": "temp", "topic": "site/temp"}]), START)
    take(parts, [Said("site/temp", b"20.5")], START)
    for sensor in "ab":
        said = [reading(START + 60, 1.0, sensor), reference(START + 60, 1.0, sensor)]
        take(parts, said, START + 60)

    assert beside(parts, 0) == beside(parts, 1) == [(60.0, 20.5)]


def test_what_cannot_be_read_in_a_topic_of_its_own_is_rejected_as_any_message_is(tmp_path):
    parts = assemble(settings_of(tmp_path, OWN), START)
    take(parts, [temperature("warm"), temperature(math.nan), temperature(7)], START)

    assert (parts.intake.counts.received, parts.intake.counts.committed) == (3, 1)
    assert sum(parts.intake.counts.rejected.values()) == 2
    assert len(parts.journal.dead_letters(10)) == 2
