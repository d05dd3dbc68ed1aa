"""A snapshot made in steps: what did not change is left alone, and what is shown is what is so."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from monitor.core.detector.thresholds import Threshold
from monitor.core.model import Event, Reading, Reference
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits
from monitor.core.snapshot.series_stats import SeriesStats
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.snapshot.state_sentences import SeriesTexts
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.core.steps import finish
from monitor.journal import Batch
from monitor.journal.in_memory import InMemoryStore

RULES = SeriesRules(
    unit="ppb",
    window_pairs=60,
    pairing=Rules("nearest", 30.0),
    stale_after_seconds=40.0,
    reference_stale_seconds=4 * 3600.0,
)
HOUR = 3600.0
# Whom each sensor stands beside; of the second group's station there is nothing after a while.
STATIONS = {f"s{at}": "A" for at in range(7)} | {f"t{at}": f"own{at}" for at in range(5)}
BIASES = {"s2": 6.0, "t1": -5.0, "t3": 1.0}


class Town:
    """Sensors beside stations, with a journal in memory."""

    def __init__(self) -> None:
        self.store = InMemoryStore()
        self.network = Network(
            CoreSettings(
                lambda _s, _q: RULES,
                lambda sensor: [Concern(STATIONS[sensor])],
                limits=Limits(100, 1000),
                window_pairs_max=60,
                max_wait_seconds=1e9,
                thresholds=(Threshold("crps_high", "score_crps_mean", above=1.5),),
            ),
            self.store,
        )

    def take(self, observations, received: float) -> None:
        outcome = self.network.observe(observations, received)
        self.store.append(
            Batch(
                observations=observations,
                pairs=outcome.pairs,
            )
        )
        self.network.apply(outcome.pairs)


def life(seed: int, hours: int = 90) -> list[list]:
    """Return batches, an hour or two each: late ones, revisions, silence, an epoch among them."""
    chance = np.random.default_rng(seed)
    seen = []
    for hour in range(hours):
        for name in sorted(set(STATIONS.values())):
            if not (name == "own4" and hour > 40):
                off = -4.0 if name == "A" and hour > 65 else 0.0
                seen.append(Reference(name, "o3", hour * HOUR, 40.0 + off, u=0.2))
        for at, sensor in enumerate(STATIONS):
            if chance.random() < 0.7 and not (sensor == "t0" and hour > 60):
                value = 40.0 + 2.0 * chance.standard_normal() + BIASES.get(sensor, 0.0)
                seen.append(Reading(sensor, "o3", hour * HOUR + 0.1 * at, value, u=2.0))
        if hour == 50:
            seen.append(Event("t1", 30 * HOUR, "repaired"))
        if chance.random() < 0.1:
            revised = 40.0 + chance.normal()
            seen.append(Reference("own2", "o3", (hour // 2) * HOUR, revised, u=0.2, revision=hour))
    late = chance.integers(0, 60, len(seen)) * (chance.random(len(seen)) < 0.1)
    order = np.argsort(np.arange(len(seen)) + late, kind="stable")
    cuts = np.sort(chance.choice(np.arange(1, len(seen)), 25, replace=False)).tolist()
    ordered = [seen[at] for at in order]
    return [ordered[a:b] for a, b in zip([0, *cuts], [*cuts, len(seen)], strict=True)]


def same(one: Snapshot, other: Snapshot) -> None:
    """Hold two snapshots against each other, bit for bit."""
    assert list(one.statistics) == list(other.statistics)
    assert list(one.alerts) == list(other.alerts)
    for field in fields(Snapshot):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if not isinstance(mine, dict):
            mine, theirs = {"": mine}, {"": theirs}
        for name, values in mine.items():
            told = f"{field.name} {name}"
            if isinstance(values, np.ndarray):
                assert values.dtype == theirs[name].dtype, told
                as_bits = np.ndarray.tolist if values.dtype == object else np.ndarray.tobytes
                assert as_bits(values) == as_bits(theirs[name]), told
            else:
                assert values == theirs[name], told


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_after_whatever_changed_it_is_what_one_look_at_everything_says(seed):
    """One network is looked at after every batch, in steps too; the other at the end only."""
    often, once = Town(), Town()
    batches = life(seed)
    chance = np.random.default_rng(seed)
    now = 0.0
    steps = often.network.steps(now)
    for batch in batches:
        now += 10.0
        often.take(batch, now)
        once.take(batch, now)
        for _ in range(chance.integers(0, 12)):
            try:
                next(steps)
            except StopIteration:
                steps = often.network.steps(now)
    finish(steps)
    last, whole = often.network.evaluate(now), once.network.evaluate(now)

    assert {"firing", "ok"} < set(whole.states)
    assert whole.suspects
    same(last, whole)
    same(often.network.evaluate(now), whole)


def test_what_was_found_after_a_series_was_looked_at_is_told_with_the_next_snapshot():
    town = Town()
    quiet = [Reading("t1", "o3", -1.0, 40.0, u=2.0)]
    town.take(quiet, 0.0)
    steps = town.network.steps(0.0)
    for _ in range(3):
        next(steps)  # it has been looked at by now
    for batch in life(1)[:16]:
        town.take(batch, 0.0)
    shown = finish(steps)
    early = town.network.drain_transitions()
    later = town.network.evaluate(0.0)
    found = [change.series for change in town.network.drain_transitions()]

    assert set(shown.states) == {"unknown"}
    assert early == []
    assert "firing" in later.states
    assert 0 in found


def test_a_look_costs_what_changed(monkeypatch):
    """Of 300 series two change: these two are looked at, and at most they get other words."""
    plan = CoreSettings(
        lambda _s, _q: SeriesRules(pairing=Rules("nearest", 0.4)),
        limits=Limits(300, 1000),
        window_pairs_max=60,
    )
    store, at = InMemoryStore(), 0.0
    network = Network(plan, store)

    def take(sensors) -> None:
        seen = [Reading(f"s{each}", "x", at, 1.0 + 0.01 * each, u=1.0) for each in sensors]
        seen += [Reference(f"s{each}", "x", at, 1.0, u=0.1) for each in sensors]
        outcome = network.observe(seen, at)
        store.append(Batch(observations=seen[len(sensors) :], pairs=outcome.pairs))
        network.apply(outcome.pairs)

    for at in (0.0, 1.0, 2.0):  # noqa: B007 - `take` reads it
        take(range(300))
    before = network.evaluate(0.0)
    looked: list[list[int]] = []
    said: list[int] = []
    look, say = SeriesStats.refresh, SeriesTexts.set
    monkeypatch.setattr(
        SeriesStats,
        "refresh",
        lambda self, rows: (looked.append(rows.tolist()), look(self, rows))[1],
    )
    monkeypatch.setattr(
        SeriesTexts, "set", lambda self, row, words: (said.append(row), say(self, row, words))[1]
    )
    unchanged = network.evaluate(0.0)

    assert (looked, said) == ([], [])
    assert unchanged.statistics is before.statistics
    assert unchanged.sentences is before.sentences
    assert unchanged.names is before.names

    at = 3.0
    take([7, 250])
    network.evaluate(0.0)

    assert looked == [[7, 250]]
    assert set(said) == {7, 250}
