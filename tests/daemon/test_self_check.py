"""The daemon finds and mends what differs from its journal, for a five-hundredth of a core."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from monitor.core.model import Event, Reading, Records, Reference
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.daemon.self_check import SHARE, SelfCheck
from monitor.journal import Batch
from monitor.journal.in_memory import InMemoryStore

ONE = np.array([0])


def network(pairs: int = 200) -> Network:
    """Return a network of one series whose alert fires, after an event and a look."""
    rules = SeriesRules(window_pairs=60, pairing=Rules("nearest", 0.4))
    store = InMemoryStore()
    made = Network(
        CoreSettings(lambda _s, _q: rules, limits=Limits(9, 99), window_pairs_max=60), store
    )
    observe(made, store, range(pairs), [Event("a", 40.5, "moved")])
    return made


def observe(of: Network, store: InMemoryStore, times: range, before: list[Event]) -> None:
    """Let a pair come at each time, make it durable and look."""
    chance, observations = np.random.default_rng(1 + times.start), [*before]
    for at in times:
        truth = chance.normal(500.0, 50.0)
        value = truth + 5.0 * chance.standard_normal() + 9.0
        observations.append(Reading("a", "mass", float(at), value, u=5.0))
        observations.append(Reference("a", "mass", at + 0.1, truth, u=0.3))
    outcome = of.observe(observations, 0.0)
    store.append(Batch(observations=observations[len(before) :], pairs=outcome.pairs))
    of.apply(outcome.pairs)
    of.evaluate(0.0)


def evidence(of: Network) -> None:
    of.detector._state["evidence"].view(np.uint64)[0, 3] ^= np.uint64(1)


def window(of: Network) -> None:
    rows = of.windows.rows(0)
    rows["value"].view(np.uint64)[7] ^= np.uint64(1)
    of.windows.rings.write(0, rows)


def statistics(of: Network) -> None:
    of._pipeline.stages.derived.stats._columns._values["calibration_zms"][0] += 1e-12


@pytest.mark.parametrize("damage", [evidence, window, statistics])
def test_one_bit_is_found_told_and_mended(damage, caplog):
    live, sound = network(), network()
    check = SelfCheck(live, Random(1))
    check.work(0.0)
    assert check.results == {"same": 1, "different": 0}

    damage(live)
    check.work(1e9)
    assert check.results == {"same": 1, "different": 1}
    assert f"a/mass differs from the journal in {damage.__name__}" in caplog.text
    snapshot, other = live.evaluate(0.0), sound.evaluate(0.0)
    assert live.detector.dump(0) == sound.detector.dump(0)
    assert live.windows.rows(0).tobytes() == sound.windows.rows(0).tobytes()
    assert snapshot.sentences == other.sentences
    assert {each: of.tobytes() for each, of in snapshot.statistics.items()} == {
        each: of.tobytes() for each, of in other.statistics.items()
    }
    check.work(2e9)
    assert check.results == {"same": 2, "different": 1}


def test_checks_take_their_share_of_the_time_and_no_more():
    work = iter(range(10_000))
    check = SelfCheck(network(), Random(1), lambda: 0.25 * next(work))  # a check takes 0.25 s
    for at in range(1000):
        check.work(float(at))

    assert sum(check.results.values()) * 0.25 == SHARE * 1000


@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_long_series_is_checked_in_steps_whatever_comes_between(is_damaged):
    """A step replays a thousand pairs; what is compared is as of the first step."""
    live = network(5000)
    check = SelfCheck(live, Random(1))
    if is_damaged:
        evidence(live)
    step = 0
    while not any(check.results.values()):
        check.work(1e9 * step)
        observe(live, live._pipeline._history, range(5000 + step, 5001 + step), [])
        step += 1

    assert 5000 / 1024 <= step <= 5000 / 512
    assert check.results == {"same": int(not is_damaged), "different": int(is_damaged)}
    live.evaluate(0.0)
    for later in range(step, 2 * step):
        check.work(1e9 * later)
    assert check.results == {"same": 2 - is_damaged, "different": int(is_damaged)}


@pytest.mark.parametrize("damage", [window, statistics])
def test_of_a_long_history_only_what_the_window_rests_on_is_read(damage, monkeypatch):
    live = network(500)
    store = live._pipeline._history
    read, everything = [], store.pairs_of_each

    def noted(series: Sequence[int], since: float = -math.inf) -> dict[int, Records]:
        found = everything(series, since)
        read.append(sum(each.size for each in found.values()))
        return found

    monkeypatch.setattr("monitor.core.state.pipeline.CHECKED_MOST", 499)
    monkeypatch.setattr(store, "pairs_of_each", noted)
    check = SelfCheck(live, Random(1))
    check.work(0.0)
    held = live.windows.rows(0).size
    assert check.results == {"same": 1, "different": 0}
    assert read == [held] != [500]

    damage(live)
    check.work(1e9)
    assert check.results == {"same": 1, "different": 1}


@pytest.mark.parametrize("clock_is_set_back", [False, True])
def test_evidence_is_not_held_against_a_journal_that_has_forgotten_pairs(clock_is_set_back):
    live = network()
    check = SelfCheck(live, Random(1))
    live.drop_history(1.0)
    if clock_is_set_back:
        live.drop_history(-1e9)
    evidence(live)
    check.work(0.0)

    assert check.results["different"] == 0
