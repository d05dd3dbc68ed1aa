"""A block of sensors gives what the daemon gives, bit for bit, whatever happens to its state."""

from __future__ import annotations

import json
import random
from pathlib import Path

import msgspec
import numpy as np
import pytest
from fleet_messages import stream

from monitor.assembly import assemble
from monitor.config import parse
from monitor.engine.block import Block, StateError
from monitor.engine.recipes import recipe_of
from monitor.engine.records import Message, pack, unpack

SENSORS = ["cart-1", "cart-2", "cart-3"]
SETTINGS = """
series: {max_new_per_minute: 100000}
windows: {pairs: 40}
pairing: {tolerance_seconds: 5, max_wait_hours: 1}
cluster: {history_pairs: 64}
"""


def settings_of(text: str = SETTINGS, folder: Path | None = None):
    journal = "" if folder is None else f"journal: {{path: {folder}/journal.sqlite}}\n"
    return parse((text + journal).encode(), "test.yaml")


def daemon_facts(messages: list[Message], folder: Path, text: str = SETTINGS) -> dict:
    """Return what the daemon's own parts, with a journal on disk, say in the end."""
    parts = assemble(settings_of(text, folder), 0.0)
    for message in messages:
        batch = parts.intake.prepare([message], float(message.received))
        parts.intake.commit(batch)
    snapshot = parts.network.evaluate(float(messages[-1].received))
    parts.journal.close()
    return facts(snapshot, parts.network)


def facts(snapshot, network) -> dict:
    rows = np.arange(len(snapshot.names))
    order = sorted(rows.tolist(), key=lambda row: snapshot.names[row].sensor)
    evidence = network.detector.evidence(rows)
    return {
        snapshot.names[row].sensor: {
            "statistics": {
                name: values[row].tobytes() for name, values in snapshot.statistics.items()
            },
            "state": snapshot.states[row],
            "sentence": snapshot.sentences[row],
            "evidence": evidence[row].tobytes(),
            "alerts": [name for name, active in snapshot.alerts.items() if active[row]],
            "pairs": int(snapshot.window_pairs[row]),
            "last_pair": float(snapshot.last_pair[row]),
        }
        for row in order
    }


def run(block_of, messages: list[Message], size: int, *, reload: bool) -> tuple[dict, list, Block]:
    """Put messages through a block in batches; return what it says in the end, and told."""
    block, told = block_of(None), []
    for at in range(0, len(messages), size):
        results = block.apply(messages[at : at + size])
        told += results.transitions
        if reload:
            block = block_of(block.dump())
    snapshot = block.network.evaluate(float(max(each.received for each in messages)))
    return facts(snapshot, block.network), told, block


def block_of(state: bytes | None) -> Block:
    return Block(recipe_of(settings_of()), state)


MESSAGES = stream(SENSORS, 300)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return daemon_facts(MESSAGES, tmp_path_factory.mktemp("daemon"))


def test_a_block_in_memory_equals_the_daemon(expected):
    found, told, block = run(block_of, MESSAGES, 50, reload=False)

    assert found == expected
    assert any(each.fires and each.sensor == "cart-1" for each in told)
    assert block.network.watch.root(0) is not None  # pairs were let go of


def test_a_block_written_and_read_after_every_batch_equals_the_daemon(expected):
    found, _, _ = run(block_of, MESSAGES, 50, reload=True)

    assert found == expected


def test_the_cut_into_batches_does_not_matter(expected):
    found, _, _ = run(block_of, MESSAGES, 333, reload=True)

    assert found == expected


def test_a_round_trip_changes_no_bit_of_the_state():
    _, _, block = run(block_of, MESSAGES[:700], 70, reload=False)
    state = block.dump()

    assert block_of(state).dump() == block_of(block_of(state).dump()).dump() == state


def test_repeated_and_shuffled_messages_give_the_same():
    """All of a stream in one hour of waiting, in any order, some of it twice."""
    kept = [message for message in MESSAGES if message.received < MESSAGES[0].received + 1500]
    came = max(each.received for each in kept)
    expected, _, _ = run(block_of, kept, len(kept), reload=False)
    chance = random.Random(3)
    mixed = kept + chance.sample(kept, len(kept) // 3)
    chance.shuffle(mixed)
    mixed = [Message(came, each.topic, each.payload) for each in mixed]

    assert run(block_of, mixed, 29, reload=True)[0] == expected


def test_messages_of_one_batch_twice_count_as_duplicates():
    block = block_of(None)
    good = [each for each in MESSAGES[:60] if b"value" in each.payload]
    first = block.apply(good)
    again = block.apply(good)

    assert again.totals["committed"] == first.totals["committed"]
    assert again.totals["received"] == 2 * first.totals["received"]
    assert again.pairs == 0
    assert not again.transitions


def test_what_is_older_than_all_that_is_kept_changes_nothing_and_is_counted():
    block = block_of(None)
    block.apply(MESSAGES)
    first = MESSAGES[0]
    late = json.loads(first.payload) | {"value": 1.0, "seq": "other"}
    before = facts(block.network.evaluate(0.0), block.network)
    reference = next(each for each in MESSAGES if each.topic.endswith("cart-1/mass/reference"))
    came = MESSAGES[-1].received
    revised = json.loads(reference.payload) | {"rev": 9, "value": 1.0}
    results = block.apply(
        [
            Message(came, first.topic, json.dumps(late).encode()),
            Message(came, reference.topic, json.dumps(revised).encode()),
        ]
    )
    after = facts(block.network.evaluate(0.0), block.network)

    assert results.too_late == 1
    assert after["cart-1"]["statistics"] == before["cart-1"]["statistics"]
    assert after["cart-1"]["evidence"] == before["cart-1"]["evidence"]


def test_a_state_of_the_first_version_is_upgraded_and_a_newer_one_refused():
    _, _, block = run(block_of, MESSAGES[:300], 100, reload=False)
    now = msgspec.msgpack.decode(block.dump())
    old = msgspec.msgpack.encode([1, *now[1:-1]])
    newer = msgspec.msgpack.encode([99, *now[1:]])
    same = facts(block.network.evaluate(0.0), block.network)

    upgraded = block_of(old)

    assert facts(upgraded.network.evaluate(0.0), upgraded.network) == same
    with pytest.raises(StateError, match="version 99, newer"):
        block_of(newer)
    with pytest.raises(StateError, match="damaged"):
        block_of(b"\x00nothing")


def test_refused_messages_are_counted_kept_and_told_of_after_a_round_trip():
    block = block_of(None)
    came = MESSAGES[0].received
    block.apply([each for each in MESSAGES[:120] if b"value" in each.payload])
    block = block_of(block.dump())
    bad = Message(came + 9000, "monitor/cart-1/mass/reading", b"{")
    results = block.apply([bad] * 30)
    again = block_of(block.dump()).apply([bad])

    assert results.totals["rejected.bad_payload"] == 30
    assert len(results.dead_letters) == 30
    row = [name.sensor for name in again.snapshot.names].index("cart-1")
    assert again.snapshot.alerts["rejected_share"][row]


def test_alerts_are_told_once_though_the_state_is_written_and_read():
    _, kept, _ = run(block_of, MESSAGES, 50, reload=False)
    _, reloaded, _ = run(block_of, MESSAGES, 50, reload=True)

    assert [each.id for each in reloaded] == [each.id for each in kept]
    assert len({each.id for each in kept}) == len(kept)


def test_messages_of_a_block_are_packed_and_unpacked():
    assert unpack(pack(MESSAGES[:9])) == MESSAGES[:9]
