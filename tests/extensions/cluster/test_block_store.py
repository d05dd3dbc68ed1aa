"""What a block does for many pairs, or many series, at once is what it would do for each alone."""

from __future__ import annotations

import numpy as np
import pytest
from harness.fleet_messages import stream

from monitor.core.model import PAIR, in_event_order
from monitor.extensions.cluster.block_store import BlockStore
from monitor.journal.in_memory import PackedPairs
from tests.extensions.cluster.test_block import block_of

SENSORS = ["cart-1", "cart-2", "cart-3"]
MESSAGES = stream(SENSORS, 100)


def pairs_of(count: int) -> np.ndarray:
    """Return pairs with columns that stay the same, that change late, and that are NaN."""
    made = np.zeros(count, dtype=PAIR)
    made["series"] = np.arange(count) % 3
    made["id"] = np.arange(count)
    made["time"] = np.arange(count) // 3
    made["u"] = np.where(np.arange(count) < 7, 1.0, 2.0)
    made["lower"] = made["upper"] = np.nan
    made["crps"] = np.where(np.arange(count) == 5, -0.0, 0.0)
    return made


@pytest.mark.parametrize("cuts", [[], [1], [1, 2], [6, 7, 8], [0, 5, 6], list(range(12))])
def test_pairs_packed_in_parts_are_the_bytes_of_pairs_packed_at_once(cuts):
    pairs = pairs_of(12)
    whole, parts = PackedPairs(PAIR), PackedPairs(PAIR)
    whole.append(pairs)
    for part in np.split(pairs, cuts):
        parts.append(part)
    count, columns = whole.dump()

    assert parts.dump() == (count, columns)
    assert len(columns["lower"]) == PAIR["lower"].itemsize
    assert columns["crps"] == pairs["crps"].tobytes()  # 0.0 and -0.0 are two things
    assert columns["u"] == pairs["u"].tobytes()


def test_histories_are_the_same_before_and_after_what_does_not_stand_is_dropped():
    block = block_of(None)
    block.apply(MESSAGES)
    store: BlockStore = block._store
    before = [store.pairs_of(row).tobytes() for row in range(3)]
    counts = store.compact()
    after = [store.pairs_of(row).tobytes() for row in range(3)]
    store.drop({1: counts[1]})

    assert after == before
    assert [store.pairs_of(row).size for row in range(3)] == [counts[0], 0, counts[2]]


def test_roots_that_move_together_are_those_that_move_alone_also_over_an_epoch():
    """One series is moved a second time; the event of the last one lies in what is let go of."""
    together, alone = block_of(None), block_of(None)
    for block in (together, alone):
        block.apply(MESSAGES)
        block.network.evaluate(float(MESSAGES[-1].received))
        block.network.replayer.move_roots({0: 20})
        block._store.compact()
        block._store.drop({0: 20})
    counts = {0: 40, 1: 33, 2: 75}
    together.network.replayer.move_roots(counts)
    for row, count in counts.items():
        alone.network.replayer.move_roots({row: count})
    roots = [together.network.replayer.root(row) for row in counts]
    history = in_event_order(together._store.pairs())
    events = together.network.epochs.of(together.network.registry.keys[2])

    assert roots == [alone.network.replayer.root(row) for row in counts]
    assert len({root.state for root in roots}) == 3
    assert events
    assert events[0].time < history[history["series"] == 2]["time"][74]
