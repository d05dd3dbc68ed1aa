"""What the log holds: read in parts that Arrow can take, and left out where no bridge wrote it."""

from __future__ import annotations

import msgspec
import pytest
from harness.fleet_messages import START, reading

from monitor.extensions.cluster.log_records import (
    LogMessage,
    NewerRecordError,
    dump_record,
    packed_by_block,
    unpack_messages,
)
from tests.extensions.cluster.test_block import block_of

OWN = range(3, 24, 4)  # six blocks of one partition
SAID = [reading("cart-1", at, 1.0, START + 30 * at) for at in range(30)]


def test_records_that_go_everywhere_are_packed_in_parts_that_are_not_too_large():
    bodies = [dump_record([], each) for each in SAID]
    parts = list(packed_by_block(bodies, OWN, 8_000))
    whole = {block: [] for block in OWN}
    for part in parts:
        for block, body in part.items():
            whole[block] += unpack_messages(body)

    assert len(parts) >= 3
    assert max(sum(map(len, part.values())) for part in parts) < 9_000
    assert whole == dict.fromkeys(OWN, SAID)


@pytest.mark.parametrize("foreign", [None, b"", b"{}", b"\x90", b"\x01", b"\x93\x01\x90\xc0"])
def test_a_record_that_no_bridge_wrote_is_a_dead_letter_and_the_others_are_read(foreign):
    bodies = [dump_record([3], SAID[0]), foreign, dump_record([3], SAID[1])]
    (part,) = packed_by_block(bodies, OWN)
    messages = unpack_messages(part[3])
    found = block_of(None).apply(messages)

    assert [each.topic for each in messages] == [SAID[0].topic, "", SAID[1].topic]
    assert found.totals["committed"] == 2
    assert found.totals["rejected.unknown_topic"] == 1
    assert [each.payload for each in found.dead_letters] == [foreign or b""]


def test_a_record_that_no_bridge_wrote_does_not_set_the_time_back():
    block = block_of(None)
    before = block.apply(SAID).snapshot
    after = block.apply([LogMessage(0.0, "", b"?")]).snapshot

    assert after.time >= before.time - 60.0
    assert after.states == before.states


def test_a_record_of_a_newer_version_is_not_skipped():
    body = msgspec.msgpack.encode([3, [3], {"something": "else"}])

    with pytest.raises(NewerRecordError, match="version 3, newer"):
        list(packed_by_block([body], OWN))
