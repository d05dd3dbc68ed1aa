"""What a journal gives back at the start is what there was: the same bits, in one piece."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.model import PAIR, Event, in_event_order
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import KnownSeries, Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.core.windows.windows import spare_of
from monitor.journal import Batch
from monitor.journal.in_memory import InMemoryStore

WINDOW = 60
COUNTS = (1, 7, WINDOW, WINDOW + spare_of(WINDOW) + 1, 900, 20_000)


def made(series: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return pairs of one series in event order; the odd ones state intervals only."""
    pairs = np.zeros(count, PAIR)
    pairs["series"], pairs["id"] = series, rng.permutation(count) + 1000 * series
    pairs["time"] = np.sort(rng.integers(0, 4 * count, count))  # some at the same time
    pairs["reference"] = rng.normal(500.0, 50.0, count)
    pairs["value"] = pairs["reference"] + rng.normal(0.4 * series, 5.0, count)
    pairs["u"], pairs["p"], pairs["crps"] = 5.0, np.nan, np.nan
    pairs["lower"], pairs["upper"] = np.nan, np.nan
    if series % 2:
        pairs["u"], pairs["p"] = np.nan, 0.9
        pairs["lower"], pairs["upper"] = pairs["value"] - 8.0, pairs["value"] + 8.0
    return in_event_order(pairs)


def network(events: list[Event], store: InMemoryStore) -> Network:
    rules = SeriesRules(window_pairs=WINDOW)
    plan = CoreSettings(lambda _s, _q: rules, limits=Limits(10, 1000), window_pairs_max=WINDOW)
    found = Network(plan, store)
    found.restore_series(
        KnownSeries(row, f"s{row}", "mass", "kg", 0.0) for row in range(len(COUNTS))
    )
    found.restore([(0.0, events)])
    return found


def state(of: Network) -> list[object]:
    """Return every number that windows and evidence stand on."""
    return [
        (
            of.windows.rows(row).tobytes(),
            of.windows.rings.later_than(np.array([row]), np.array([-1.0]), np.zeros(1, np.uint64)),
            of.detector.path[row],
            of.detector.dump(row),
            of.detector.discounted(np.array([row])).tobytes(),
        )
        for row in range(len(COUNTS))
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "events", [[], [Event("s4", 1500.0, "adjusted"), Event("s1", 1e9, "moved")]]
)
def test_recalled_at_once_is_taken_one_portion_after_the_other(events):
    rng = np.random.default_rng(5)
    pairs = np.concatenate([made(series, count, rng) for series, count in enumerate(COUNTS)])
    store = InMemoryStore()
    store.append(Batch(pairs=pairs))
    at_once, by_and_by = network(events, store), network(events, store)

    at_once.recall(pairs)
    by_time = pairs[np.lexsort((pairs["id"], pairs["series"], pairs["time"]))]
    first = 0
    while first < by_time.size:
        last = first + int(rng.integers(1, 2000))
        while last < by_time.size and by_time["time"][last] == by_time["time"][last - 1]:
            last += 1
        by_and_by.apply(by_time[first:last])
        first = last
    at_once.evaluate(0.0)
    by_and_by.evaluate(0.0)

    assert state(at_once) == state(by_and_by)
