"""A start goes on from evidence that was kept, and says what it would say without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest

from monitor.core.detector.detector import Detector
from monitor.core.detector.kept_evidence import PAIRS, KeptEvidence, KeptState
from monitor.core.detector.usual_u import StatedColumns
from monitor.core.model import PAIR, Event
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import KnownSeries, Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.daemon.checkpoints import save_all_evidence, save_evidence
from monitor.daemon.intake import recover
from monitor.daemon.self_check import SelfCheck
from monitor.journal import Batch, Journal

SENSORS = 3
FIRST = 3 * PAIRS  # pairs of each, when its evidence is kept


def settings(patience: float = 1000.0) -> CoreSettings:
    rules = SeriesRules(window_pairs=60, patience=patience)
    return CoreSettings(lambda _s, _q: rules, limits=Limits(9, 99), window_pairs_max=60)


def made(first: int, stop: int) -> np.ndarray:
    """Return pairs of all sensors; the first one is off from its 1000th pair on."""
    count = stop - first
    pairs = np.zeros(count * SENSORS, PAIR)
    numbers = np.repeat(np.arange(first, stop), SENSORS)
    pairs["series"] = np.tile(np.arange(SENSORS), count)
    pairs["id"], pairs["time"] = pairs["series"] + SENSORS * numbers, numbers
    noise = np.random.default_rng(first).normal(0.0, 5.0, pairs.size)
    pairs["value"] = 500.0 + noise + 9.0 * ((pairs["series"] == 0) & (numbers > 1000))
    pairs["reference"], pairs["u"], pairs["u_ref"] = 500.0, 5.0, 0.3
    pairs["u"][pairs["series"] == 1] = 0.01 * pairs["value"][pairs["series"] == 1]
    for name in ("p", "crps", "lower", "upper"):
        pairs[name] = np.nan
    return pairs


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path / "journal.sqlite")
    series = [KnownSeries(row, f"s{row}", "w", "kg", 0.0) for row in range(SENSORS)]
    opened.append(Batch(series=series))
    yield opened
    opened.close()


def started(journal: Journal, of: CoreSettings | None = None) -> Network:
    network = Network(of or settings(), journal)
    recover(network, journal, 0.0)
    return network


def take(network: Network, journal: Journal, pairs: np.ndarray) -> None:
    journal.append(Batch(pairs=pairs))
    network.apply(pairs)
    look(network)


def look(network: Network) -> None:
    """Show what there is, as a publication does."""
    network.evaluate(0.0)
    network.drain_transitions()


def replayed(journal: Journal, monkeypatch, of: CoreSettings | None = None) -> int:
    """Start; return how many pairs the detectors took, once it says what it must."""
    taken, advance = [], Detector.advance

    def counted(
        self: Detector,
        series: np.ndarray,
        starts: np.ndarray,
        z: np.ndarray,
        *stated: StatedColumns,
    ) -> list:
        taken.append(z.size)
        return advance(self, series, starts, z, *stated)

    with monkeypatch.context() as patch:
        patch.setattr(Detector, "advance", counted)
        network = started(journal, of)
        network.evaluate(0.0)
    bare = Network(of or settings(), journal)
    bare.restore_series(journal.series())
    bare.restore([(0.0, journal.events())])
    bare.recall(journal.pairs())
    bare.evaluate(0.0)
    for row in range(SENSORS):
        assert network.replayer.evidence_bits(row) == bare.replayer.evidence_bits(row)
        assert network.windows.rows(row).tobytes() == bare.windows.rows(row).tobytes()
    return sum(taken)


@pytest.fixture
def live(journal: Journal) -> Network:
    """Return a network whose evidence was kept, and that went on for ten pairs."""
    network = started(journal)
    take(network, journal, made(0, FIRST))
    assert save_evidence(network, journal) == SENSORS
    take(network, journal, made(FIRST, FIRST + 10))
    return network


def test_a_start_replays_only_what_came_after(live, journal, monkeypatch):
    assert [each.time for each in journal.evidence()] == [FIRST - 1.0] * SENSORS
    assert replayed(journal, monkeypatch) < SENSORS * 20


def test_evidence_is_kept_again_after_so_many_pairs(live, journal):
    assert save_evidence(live, journal) == 0
    take(live, journal, made(FIRST + 10, FIRST + PAIRS - 1))
    assert save_evidence(live, journal) == 0
    take(live, journal, made(FIRST + PAIRS - 1, FIRST + PAIRS))
    save_all_evidence(live, journal)

    assert [each.time for each in journal.evidence()] == [FIRST + PAIRS - 1.0] * SENSORS


def test_what_comes_late_in_time_after_time_leaves_evidence_behind_it(live, journal, monkeypatch):
    """Once the past of a series has changed, its evidence is kept from before most changes."""
    for at in range(FIRST + 10, FIRST + 2 * PAIRS, 10):
        late = made(at - 9, at + 1)
        late["id"] += 10**6  # other pairs, some older than the newest one
        late["time"] -= 0.5
        take(live, journal, np.concatenate([made(at, at + 10), late]))
    save_all_evidence(live, journal)
    kept = {each.series: each.time for each in journal.evidence()}

    assert set(kept) == set(range(SENSORS))
    newest = FIRST + 2 * PAIRS
    assert all(100 < newest - time < 3 * PAIRS for time in kept.values())
    assert replayed(journal, monkeypatch) < SENSORS * 4 * PAIRS


@pytest.mark.parametrize(("back", "kept"), [(5.5, SENSORS), (700.5, 0)])
def test_evidence_that_waits_for_a_replay_is_kept_from_before_the_change(
    back, kept, live, journal, monkeypatch
):
    """Where references are always late, hardly a series is ever up to date."""
    for at in range(FIRST + 10, FIRST + 2 * PAIRS, 10):
        late = made(at - 9, at - 8)
        late["id"] += 10**6
        late["time"] -= 0.5
        take(live, journal, np.concatenate([made(at, at + 10), late]))
    last = made(FIRST + 2 * PAIRS, FIRST + 2 * PAIRS + 1)
    last["id"] += 10**7
    last["time"] -= back
    journal.append(Batch(pairs=last))
    live.apply(last)
    assert len(live.replayer.disturbed) == SENSORS

    assert save_evidence(live, journal) == kept
    times = [each.time for each in journal.evidence()]
    assert len(times) == SENSORS
    assert [time > FIRST for time in times] == [bool(kept)] * SENSORS  # else those of the fixture
    replayed(journal, monkeypatch)


@pytest.mark.parametrize("change", ["patience", "a pair before", "an event before"])
def test_what_it_rests_on_makes_it_void(change, live, journal, monkeypatch):
    if change == "a pair before":
        early = made(5, 6)
        early["time"] += 0.5
        early["id"] += 10**6
        journal.append(Batch(pairs=early))
    if change == "an event before":
        journal.append(Batch(events=[Event(f"s{row}", 700.5, "moved") for row in range(SENSORS)]))

    of = settings(500.0) if change == "patience" else None
    assert replayed(journal, monkeypatch, of) >= SENSORS * FIRST


def test_an_event_after_it_begins_an_epoch(live, journal, monkeypatch):
    journal.append(Batch(events=[Event("s0", FIRST + 4.5, "moved")]))

    assert len(journal.evidence()) == SENSORS
    assert replayed(journal, monkeypatch) < SENSORS * 20


def test_pairs_that_are_forgotten_take_it_with_them(live, journal, monkeypatch):
    assert journal.expire(observations_before=0.0, pairs_before=FIRST - 0.5)
    live.drop_history(FIRST - 0.5)
    take(live, journal, made(FIRST + 10, FIRST + 2 * PAIRS))

    assert save_evidence(live, journal) == 0  # what memory has rests on pairs that are gone
    assert journal.evidence() == []
    replayed(journal, monkeypatch)
    again = started(journal)
    look(again)
    assert save_evidence(again, journal) == SENSORS
    assert replayed(journal, monkeypatch) < SENSORS * 20


def test_one_that_is_wrong_is_found_and_mended(live, journal, caplog):
    kept = journal.evidence()
    state = msgspec.msgpack.decode(kept[1].body, type=KeptState)
    record = bytearray(state.record)
    record[8 + 6] ^= 8  # the size of the evidence of one bet
    body = msgspec.msgpack.encode(msgspec.structs.replace(state, record=bytes(record)))
    journal.append(Batch(evidence=[KeptEvidence(1, kept[1].time, body)]))
    wrong = started(journal)
    look(wrong)
    assert wrong.detector.dump(1) != live.detector.dump(1)
    check = SelfCheck(wrong, Random(1))
    for at in range(60):
        check.work(1e9 * at)

    assert check.results["different"] == 1
    assert "s1/w differs from the journal in evidence" in caplog.text
    look(wrong)
    assert wrong.detector.dump(1) == live.detector.dump(1)
    assert save_evidence(wrong, journal) == 1  # in place of the wrong one
    assert started(journal).detector.dump(1) == live.detector.dump(1)
