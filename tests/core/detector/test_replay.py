"""What a replay looks back on: the windows where they hold it, else z that are kept; the same."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from harness.cases import further

from monitor.core.detector.detector import Detector, Replays
from monitor.core.model import (
    PAIR,
    Event,
    Records,
    in_event_order,
)
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.journal import Batch
from monitor.journal.in_memory import InMemoryStore

SERIES, COUNT, REPLAY = 6, 400, 64
ONE = np.zeros(1, np.int64)


def pairs_of_many() -> Records:
    """Pairs whose errors hang together, of which some are too wide: candidates that are not so."""
    chance = np.random.default_rng(7)
    pairs = np.zeros((SERIES, COUNT), PAIR)
    pairs["series"] = np.arange(SERIES)[:, None]
    pairs["id"] = chance.permutation(SERIES * COUNT).reshape(SERIES, COUNT) + 1
    pairs["reference_id"] = pairs["id"]
    pairs["time"] = np.arange(COUNT) // 2  # two at a time
    shared = chance.normal(0.0, 1.0, (SERIES, COUNT))
    for at in range(1, COUNT):
        shared[:, at] += 0.8 * shared[:, at - 1]
    pairs["reference"] = chance.normal(500.0, 50.0, (SERIES, COUNT))
    pairs["value"] = pairs["reference"] + 2.6 * shared + np.arange(SERIES)[:, None]
    pairs["u"], pairs["u_ref"] = 5.0, 0.3
    pairs["u"][1:3] = 0.01 * pairs["value"][1:3]
    for name in ("lower", "upper", "p", "crps"):
        pairs[name] = np.nan
    stated = pairs[SERIES - 1]
    stated["lower"], stated["upper"] = stated["value"] - 6.0, stated["value"] + 6.0
    stated["u"], stated["p"] = np.nan, 0.9
    return pairs.ravel()


class CountedStore(InMemoryStore):
    """A store that says whose histories were read."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[int] = []

    def pairs_of_each(self, series, since=-math.inf):
        self.read += series
        return super().pairs_of_each(series, since)


class Run:
    """A network of which replays look back on the windows or not, and how often they did."""

    def __init__(
        self,
        *,
        in_windows: bool,
        precision: str,
        window: int = REPLAY,
        store: CountedStore | None = None,
    ) -> None:
        self.store = store or CountedStore()
        plan = CoreSettings(
            lambda _s, _q: SeriesRules(window_pairs=window, patience=50.0),
            limits=Limits(SERIES, 1000),
            window_pairs_max=window,
            window_precision=precision,
            replay_pairs=REPLAY,
            replay_in_windows=in_windows,
        )
        self.network = Network(plan, self.store)
        for row in range(SERIES):
            self.network.registry.add(f"s{row}", "mass")
        self.asked: list[int] = []
        earlier = self.network.replayer.earlier
        self.network.replayer.earlier = lambda row, n: (self.asked.append(n), earlier(row, n))[1]

    def take(self, pairs: Records) -> None:
        self.store.append(Batch(pairs=pairs))
        self.network.apply(pairs)

    def state(self) -> tuple:
        self.network.evaluate(0.0)
        every = np.arange(SERIES)
        records = self.network.detector.records(every)
        return (
            [records[name].tobytes() for name in records.dtype.names],
            [self.network.windows.rows(row).tobytes() for row in range(SERIES)],
        )


def delivered(run: Run, pairs: Records, seed: int, size: int, disorder: float) -> None:
    chance = np.random.default_rng(seed)
    order = np.argsort(pairs["time"] + chance.uniform(0.0, disorder, pairs.size), kind="stable")
    for at in range(0, pairs.size, size):
        run.take(pairs[order[at : at + size]])
        if chance.random() < 0.2:
            run.network.evaluate(0.0)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["double", *further("single")])
@pytest.mark.parametrize(("size", "disorder"), [(12, 0.0), (400, 0.0), (30, 1.5), (1000, 1e4)])
def test_windows_give_a_replay_the_bits_that_are_kept_otherwise(precision, size, disorder):
    pairs = pairs_of_many()
    leaning, keeping = (Run(in_windows=each, precision=precision) for each in (True, False))
    whole = Run(in_windows=True, precision=precision)
    for run in (leaning, keeping):
        delivered(run, pairs, 3, size, disorder)
    whole.take(in_event_order(pairs))

    assert leaning.state() == keeping.state() == whole.state()
    assert not keeping.asked
    assert leaning.asked or disorder
    assert whole.network.drain_transitions()


@pytest.mark.slow
def test_an_epoch_and_a_removed_pair_leave_windows_and_kept_z_at_one():
    pairs = pairs_of_many()
    gone = pairs[5::50].copy()
    gone["removed"] = True
    leaning, keeping = (Run(in_windows=each, precision="double") for each in (True, False))
    for run in (leaning, keeping):
        delivered(run, pairs[pairs["time"] < 120.0], 1, 20, 3.0)
        run.network.observe([Event("s2", 70.0, "adjusted"), Event("s4", 90.0, "moved")], 0.0)
        run.take(gone[gone["time"] < 120.0])
        delivered(run, pairs[pairs["time"] >= 120.0], 2, 20, 0.0)
        run.take(gone[gone["time"] >= 120.0])

    assert leaning.state() == keeping.state()
    assert leaning.asked


def test_after_a_start_a_late_pair_reads_no_history_where_one_was_late_before():
    pairs = pairs_of_many()
    late = pairs["time"] < 3.0
    later = pairs["time"] == 195.0
    store = CountedStore()
    store.append(Batch(pairs=in_event_order(pairs[~late & ~later])))
    store.append(Batch(pairs=pairs[late & (pairs["series"] > 0)]))
    again, whole = (Run(in_windows=True, precision="double", store=at) for at in (store, None))
    again.network.recall(store.pairs())
    again.state()
    assert not store.read

    again.take(pairs[later])
    again.state()
    assert store.read == [0]

    again.take(pairs[late & (pairs["series"] == 0)])
    whole.take(in_event_order(pairs))
    assert again.state() == whole.state()


@pytest.mark.slow
def test_where_the_windows_are_shorter_the_z_are_kept():
    run = Run(in_windows=True, precision="double", window=REPLAY // 2)
    delivered(run, pairs_of_many(), 3, 12, 0.0)
    run.state()

    assert not run.asked


def test_z_in_single_precision_move_the_evidence_by_a_millionth():
    chance = np.random.default_rng(1)
    z = chance.normal(0.3, 1.0, 400)
    exact, rounded = (
        Detector(np.full(1, 1e300), replays=Replays(is_single=each)) for each in (False, True)
    )
    exact.advance(ONE, ONE, z)
    rounded.advance(ONE, ONE, z)

    assert rounded.evidence(ONE) == pytest.approx(exact.evidence(ONE), rel=1e-5)
    assert rounded.evidence(ONE) != exact.evidence(ONE)


def test_a_replay_looks_back_no_further_than_it_may():
    chance = np.random.default_rng(2)
    old, new = chance.normal(2.0, 1.0, 300), chance.normal(0.0, 1.0, 100)
    few = Detector(np.full(1, 1e300), replays=Replays(pairs=100))
    few.advance(ONE, ONE, np.concatenate([old, new]))
    only, every = few.alone(), Detector(np.full(1, 1e300))
    every.advance(ONE, ONE, np.concatenate([old, new]))
    for each in (few, every):
        each.patience[0] = 1.0
        each.advance(ONE, ONE, np.zeros(1))
    only.advance(ONE, ONE, new)

    assert few.evidence(ONE) < 1e-3 * every.evidence(ONE)


@pytest.mark.slow
def test_more_series_copy_nothing_of_those_that_are_there():
    def most_allocated(there: int) -> int:
        """Return the most memory that pairs of ten new series take while they are applied."""
        plan = CoreSettings(
            lambda _s, _q: SeriesRules(window_pairs=REPLAY),
            limits=Limits(30_000, 100_000),
            window_pairs_max=REPLAY,
            replay_pairs=REPLAY,
        )
        network = Network(plan, InMemoryStore())
        for row in range(there + 10):
            network.registry.add(f"s{row}", "mass")
        pairs = np.resize(pairs_of_many()[:1], there + 10)
        pairs["series"] = pairs["id"] = np.arange(there + 10)
        network.apply(pairs[:10])
        network.apply(pairs[10:there])
        tracemalloc.start()
        network.apply(pairs[there:])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert most_allocated(20_000) < 1.2 * most_allocated(20) + 1000
