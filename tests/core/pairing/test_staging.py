"""Readings taken by the column leave what the same readings leave that are taken one by one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from harness.cases import further

from monitor.core.model import Observation, Reading, Reference, in_event_order
from monitor.core.pairing import staging
from monitor.core.pairing.observations import Observed, PlainReadings
from monitor.core.pairing.pairing_rules import PAIRING_RULES
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.journal.in_memory import InMemoryStore

SENSORS = ("a", "b", "c", "d", "e")
NAMES = [(sensor, "x") for sensor in SENSORS]


def network(
    mode: str, lag: float = 0.0, pending: int = 500_000, known: int = 100, a_minute: int = 1000
) -> Network:
    pairing = Rules(
        mode=mode,
        tolerance_seconds=3.0,
        reading_seconds=1.0,
        completeness=0.5,
        lag_seconds=lag,
    )
    plan = CoreSettings(
        rules_of=lambda _sensor, _quantity: SeriesRules(pairing=pairing),
        limits=Limits(maximum=known, new_per_minute=a_minute),
        max_pending=pending,
    )
    return Network(plan, InMemoryStore())


def plain(readings: list[Reading]) -> PlainReadings:
    which = np.array([SENSORS.index(each.sensor) for each in readings], dtype=np.int64)
    columns = [[each.time for each in readings], [each.value for each in readings]]
    columns.append([each.u for each in readings])
    return PlainReadings(NAMES, which, *(np.array(column, dtype=float) for column in columns))


def history(seed: int, batches: int = 30) -> list[tuple[list[Reading], list[Observation]]]:
    """Return batches: plain readings, mostly in order; references, other readings, repetitions."""
    chance = np.random.default_rng(seed)
    made = []
    clock = dict.fromkeys(SENSORS, 0.0)
    sent: list[Reading] = []
    for _ in range(batches):
        readings, others = [], []
        for _ in range(chance.integers(1, 120)):
            sensor = SENSORS[chance.integers(len(SENSORS))]
            clock[sensor] += float(chance.choice([0.0, 0.5, 1.0, 7.0]))
            late = float(chance.choice([0.0] * 30 + [4.5]))
            reading = Reading(sensor, "x", clock[sensor] - late, float(chance.integers(9)), u=1.0)
            readings.append(reading)
            if sent and chance.random() < 0.02:
                readings.append(sent[chance.integers(len(sent))])
        sent += readings
        for _ in range(chance.integers(0, 9)):
            sensor = SENSORS[chance.integers(len(SENSORS))]
            time = clock[sensor] + float(chance.choice([-9.0, -0.5, -0.4, -0.25, 0.0, 0.3, 2.0]))
            identity = str(chance.choice(["", "", "", "", "r1", "r2"]))
            revision = int(chance.integers(3)) if identity else 0
            others.append(
                Reference(sensor, "x", time, 5.0, 0.1, identity=identity, revision=revision)
            )
            if chance.random() < 0.3:
                others.append(Reading(sensor, "x", time, 1.0, u=2.0, sequence="s", lower=0.0))
        made.append((readings, others))
    return made


def held(network: Network) -> dict[object, list[Reading]]:
    return {
        name: [readings.reading(at) for at in range(len(readings.times))]
        for name, readings in network.pairing.reading_buffers.items()
    }


def followed(
    network: Network,
    seed: int,
    *,
    by_column: bool,
    made: Callable[[int], list[tuple[list[Reading], list[Observation]]]] = history,
) -> dict[str, object]:
    """Return what a history leaves in a network; in one of the ways nothing is taken quickly."""
    changes, counts, kept = [], [], 0
    if not by_column:
        network.pairing._in_order.candidates = lambda _observations: []
    for at, (readings, others) in enumerate(made(seed)):
        batch = Observed(plain(readings), others) if by_column else [*readings, *others]
        outcome = network.observe(batch, float(at))
        network.apply(outcome.pairs)
        changes.append(outcome.pairs)
        counts.append((len(outcome.duplicates), len(outcome.refused), len(outcome.waiting)))
        kept += len(outcome.packed or ())
    assert kept == 0 or by_column
    return {
        "series": network.registry.keys,
        "pairs": in_event_order(np.concatenate(changes)).tobytes(),
        "counts": counts,
        "held": held(network),
        "readings": network.pairing.readings,
        "heard": network.liveness.heard.tobytes(),
        "times": (
            network.liveness.first_reading.tobytes(),
            network.liveness.last_reading.tobytes(),
        ),
        "corrections": network.pairing.corrections,
        "unpaired": network.pairing.expired_unpaired,
    }


@pytest.mark.slow
@pytest.mark.parametrize("mode", PAIRING_RULES)
@pytest.mark.parametrize("few", [0, 32, *further(1000)])
@pytest.mark.parametrize("seeds", [range(2), *further(range(2, 6))])
def test_columns_leave_what_single_readings_leave(mode, few, seeds, monkeypatch):
    monkeypatch.setattr(staging, "SCALAR_MAX", few)
    for seed in seeds:
        one = followed(network(mode), seed, by_column=True)
        other = followed(network(mode), seed, by_column=False)
        assert one == other


@pytest.mark.slow
def test_so_they_do_where_readings_lag_and_where_little_is_held(monkeypatch):
    monkeypatch.setattr(staging, "SCALAR_MAX", 0)
    monkeypatch.setattr(staging, "STAGED_MAX", 50)
    for seed in range(6):
        assert followed(network("nearest", lag=1.5), seed, by_column=True) == followed(
            network("nearest", lag=1.5), seed, by_column=False
        )
        assert followed(network("asof", pending=300), seed, by_column=True) == followed(
            network("asof", pending=300), seed, by_column=False
        )


def test_not_many_lanes_wait_at_once(monkeypatch):
    monkeypatch.setattr(staging, "SCALAR_MAX", 0)
    monkeypatch.setattr(staging, "BUFFERS_MAX", 10)
    many = network("nearest")
    names = [(f"s{at}", "x") for at in range(25)]
    for at, name in enumerate(names):
        many.observe([Reading(*name, 0.0, 1.0, u=1.0)], float(at))
    waited = []
    for second in range(1, 40):
        which = np.arange(3) + 3 * second % 24
        times, ones = np.full(3, float(second)), np.ones(3)
        many.observe(Observed(PlainReadings(names, which, times, ones, ones), []), float(second))
        reading_buffers = many.pairing._index.reading_buffers.values()
        behind = [
            readings
            for readings in reading_buffers
            if readings.watermarks.staged[readings.watermark]
        ]
        assert (
            sum(int(readings.watermarks.staged[readings.watermark]) for readings in behind)
            + sum(len(readings.times) for readings in reading_buffers)
            == 25 + 3 * second
        )
        waited.append(len(behind))

    assert max(waited) == 9
    assert 5 < waited.count(0) < 15
