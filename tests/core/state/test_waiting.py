"""Pairs wait until somebody looks: whoever does finds them, and the same bits as without."""

from __future__ import annotations

import numpy as np
import pytest
from harness.cases import further

from monitor.core.model import Observation, Reading, Reference
from monitor.core.registry import SeriesKey
from monitor.core.state import pipeline
from monitor.core.state.network import Network
from monitor.core.steps import finish
from monitor.core.windows.windows import Windows
from tests.core.snapshot.test_build import Town, life, same

DAY = 86_400.0


def bits(made: Network) -> list[bytes]:
    """Return the windows and the evidence of all series."""
    every = np.arange(len(made.registry))
    windows = [made.windows.rows(row).tobytes() for row in every.tolist()]
    return [*windows, made.detector.records(every).tobytes(), *made.detector.dumps(every)]


def lived(seed: int, town: Town, *, is_reached: bool) -> Town:
    for number, batch in enumerate(life(seed)):
        town.take(batch, 10.0 * number)
        if is_reached:
            assert town.network.windows is not None
    return town


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *further(1, 2)])
@pytest.mark.parametrize("most", [1, 40, 1 << 40])
def test_the_bits_are_the_same_however_many_pairs_wait(seed, most, monkeypatch):
    reached = lived(seed, Town(), is_reached=True)
    monkeypatch.setattr(pipeline, "WAITING_MAX", most)
    waited = lived(seed, Town(), is_reached=False)

    same(waited.network.evaluate(900.0), reached.network.evaluate(900.0))
    assert bits(waited.network) == bits(reached.network)


def town_with(pairs: int) -> Town:
    town = Town()
    town.take([*together("s1", range(pairs))], 0.0)
    return town


def together(sensor: str, seconds: range, value: float = 40.0) -> list[Observation]:
    seen: list[Observation] = []
    for at in seconds:
        seen.append(Reading(sensor, "o3", 100.0 * at, value, u=2.0))
        seen.append(Reference("A", "o3", 100.0 * at, 40.5, u=0.2))
    return seen


LOOKS = {
    "windows": lambda net: int(net.windows.counts(np.zeros(1, np.int64))[0]),
    "evidence": lambda net: int(net.detector.records(np.zeros(1, np.int64))["seen"][0]),
    "snapshot": lambda net: int(net.evaluate(0.0).window_pairs[0]),
    "series": lambda net: net.detail(SeriesKey("s1", "o3"), 0.0).total,
}


@pytest.mark.parametrize("look", LOOKS)
def test_whoever_looks_finds_what_was_applied(look):
    assert LOOKS[look](town_with(7).network) == 7


def test_a_preview_finds_what_pairs_will_change_and_changes_nothing():
    town, chance = Town(), np.random.default_rng(1)
    for at in range(60):
        town.take(together("s1", range(at, at + 1), chance.normal(40.5, 2.0)), 0.0)
    network = town.network
    network.evaluate(6000.0)
    network.drain_transitions()
    pairs = network.observe(together("s1", range(60, 90), 60.0), 0.0).pairs
    before = bits(network)

    seen = network.replayer.preview(pairs)

    assert bits(network) == before
    network.apply(pairs)
    network.evaluate(9000.0)
    assert seen == network.drain_transitions()
    assert "firing" in [each.after for each in seen]


def test_few_pairs_are_taken_together_and_many_at_once(monkeypatch):
    taken = []
    apply = Windows.apply
    monkeypatch.setattr(
        Windows,
        "apply",
        lambda self, pairs, *more: (taken.append(pairs.size), apply(self, pairs, *more))[1],
    )
    monkeypatch.setattr(pipeline, "WAITING_MAX", 6)
    town = Town()
    for at in range(5):
        town.take(together("s1", range(at, at + 1)), 0.0)
    assert taken == []

    town.take(together("s1", range(5, 9)), 0.0)
    assert taken == [9]

    town.take(together("s1", range(9, 10)), 0.0)
    town.network.evaluate(0.0)
    town.network.evaluate(0.0)
    assert taken == [9, 1]


@pytest.mark.parametrize("is_shown", [False, True])
def test_between_the_steps_of_a_snapshot_nothing_waits_for_its_end(is_shown):
    """A series is as of one moment, whether its window or its references are what is looked at."""
    town = town_with(3)
    if is_shown:
        town.network.evaluate(0.0)
        town.take([Reference("A", "o3", 250.0, 40.5, u=0.2)], 0.0)
    steps = town.network.steps(0.0)
    next(steps)
    town.take(together("s1", range(3, 5)), 0.0)
    snapshot = finish(steps)

    assert snapshot.window_pairs[0] == 5
    assert snapshot.last_pair[0] == snapshot.last_reading[0]


def came_back(*, is_gone: bool, is_reached: bool) -> Town:
    """Return a town in which a pair is the first that is heard of a series after long."""
    town = town_with(60)
    town.take([Reading("s1", "o3", 9000.0, 41.0, u=2.0)], 0.0)
    if is_gone:
        assert town.network.evict(400 * DAY, 90.0) == 1
    for at in (9000.0, 9100.0):
        town.take([Reference("A", "o3", at, 40.5, u=0.2)], 400 * DAY)
        if is_reached:
            assert town.network.windows is not None
        town.take([Reading("s1", "o3", 9100.0, 41.0, u=2.0)], 400 * DAY)
    town.network.evaluate(0.0)
    return town


def test_a_series_that_was_let_go_of_is_known_again_by_a_pair_that_waits():
    waited, reached = (came_back(is_gone=True, is_reached=each).network for each in (False, True))

    assert bits(waited) == bits(reached)
    assert waited.drain_transitions() == reached.drain_transitions()
    assert bits(waited) == bits(came_back(is_gone=False, is_reached=False).network)
