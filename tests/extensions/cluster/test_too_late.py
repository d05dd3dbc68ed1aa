"""What comes too late for a block."""

from __future__ import annotations

import json

from monitor.extensions.cluster.log_records import LogMessage
from tests.extensions.cluster.test_block import MESSAGES, block_of, facts


def test_what_is_older_than_all_that_is_kept_changes_nothing_and_is_counted():
    block = block_of(None)
    block.apply(MESSAGES)
    first = MESSAGES[0]
    late = json.loads(first.payload) | {"value": 1.0, "seq": "other"}
    before = facts(block.network.evaluate(0.0), block.network)
    onsets = block.network.reports.onsets()
    reference = next(each for each in MESSAGES if each.topic.endswith("cart-1/mass/reference"))
    came = MESSAGES[-1].received
    revised = json.loads(reference.payload) | {"rev": 9, "value": 1.0}
    results = block.apply(
        [
            LogMessage(came, first.topic, json.dumps(late).encode()),
            LogMessage(came, reference.topic, json.dumps(revised).encode()),
        ]
    )
    after = facts(block.network.evaluate(0.0), block.network)

    assert results.totals["too_late"] == 2
    assert after == before
    assert block.network.reports.onsets() == onsets != []


def test_a_revision_alone_of_a_reference_whose_pairs_are_gone_is_counted_as_too_late():
    block = block_of(None)
    block.apply(MESSAGES)
    reference = next(each for each in MESSAGES if each.topic.endswith("cart-1/mass/reference"))
    came, known = MESSAGES[-1].received, json.loads(reference.payload)
    for late, revised in enumerate(({"rev": 9, "value": 1.0}, {"rev": 10, "status": "void"}), 1):
        body = json.dumps(known | revised).encode()
        found = block.apply([LogMessage(came, reference.topic, body)])

        assert found.totals["too_late"] == late
