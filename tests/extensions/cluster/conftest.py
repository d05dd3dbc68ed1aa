"""A running log."""

from __future__ import annotations

import pytest
from harness.fleet_messages import stream
from harness.kafka import TestLog, need_log

from monitor.extensions.cluster import results
from tests.extensions.cluster.test_block import block_of


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    need_log()
    running = TestLog(tmp_path_factory.mktemp("log"))
    yield running
    running.stop()


MESSAGES = stream(["cart-1", "cart-2", "cart-3"], 200)


@pytest.fixture(scope="module")
def batches():
    """Return what one block says of three batches, written and read."""
    block, found = block_of(None), []
    for at in range(0, len(MESSAGES), len(MESSAGES) // 3 + 1):
        came = block.apply(MESSAGES[at : at + len(MESSAGES) // 3 + 1])
        found.append((came, results.load_report(results.dump(results.block_report(came, 1, 9)))))
    return found
