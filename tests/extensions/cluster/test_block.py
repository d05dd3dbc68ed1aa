"""A block of sensors gives what the daemon gives, bit for bit, whatever happens to its state."""

from __future__ import annotations

import random
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import msgspec
import numpy as np
import pytest
from harness.fleet_messages import APART, START, reading, reference, stream

from monitor.config import parse
from monitor.daemon.assembly import assemble
from monitor.extensions.cluster.block import Block
from monitor.extensions.cluster.block_store import UPGRADES, VERSION, StateError
from monitor.extensions.cluster.log_records import (
    IN_DOUBT,
    TRUSTED,
    UNPROVEN,
    LogMessage,
    pack_messages,
    unpack_messages,
)
from monitor.extensions.cluster.recipes import recipe_of

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


def daemon_facts(messages: list[LogMessage], folder: Path, text: str = SETTINGS) -> dict:
    """Return what the daemon's own parts, with a journal on disk, say in the end."""
    parts = assemble(settings_of(text, folder), 0.0)
    for came, those in groupby(messages, key=attrgetter("received")):
        parts.intake.commit(parts.intake.prepare(list(those), float(came)))
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


def run(
    block_of, messages: list[LogMessage], size: int, *, reload: bool
) -> tuple[dict, list, Block]:
    """Put messages through a block in batches; return what it says in the end, and said."""
    block, said = block_of(None), []
    for at in range(0, len(messages), size):
        results = block.apply(messages[at : at + size])
        said.append(results)
        if reload:
            block = block_of(block.dump())
    snapshot = block.network.evaluate(float(max(each.received for each in messages)))
    return facts(snapshot, block.network), said, block


def block_of(state: bytes | None) -> Block:
    return Block(recipe_of(settings_of()), state)


MESSAGES = stream(SENSORS, 400)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return daemon_facts(MESSAGES, tmp_path_factory.mktemp("daemon"))


@pytest.fixture(scope="module")
def in_memory():
    return run(block_of, MESSAGES, 50, reload=False)


@pytest.fixture(scope="module")
def reloaded():
    """Return what a block says that is written and read after every batch."""
    return run(block_of, MESSAGES, 50, reload=True)


def test_a_block_in_memory_equals_the_daemon(expected, in_memory):
    found, said, block = in_memory
    row = block.network.registry.get("cart-1", "mass")

    assert found == expected
    assert said[-1].snapshot.alerts["offset"][row]
    assert row in said[-1].noted
    assert block.network.replayer.root(0) is not None  # pairs were let go of


def test_a_block_written_and_read_after_every_batch_equals_the_daemon(expected, reloaded):
    assert reloaded[0] == expected


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
    mixed = [LogMessage(came, each.topic, each.payload) for each in mixed]

    assert run(block_of, mixed, 29, reload=True)[0] == expected


def test_messages_of_one_batch_twice_count_as_duplicates():
    block = block_of(None)
    good = [each for each in MESSAGES[:60] if b"value" in each.payload]
    first = block.apply(good)
    again = block.apply(good)

    assert again.totals["committed"] == first.totals["committed"]
    assert again.totals["received"] == 2 * first.totals["received"]
    assert again.pairs == 0
    assert not again.changed_at


def test_a_state_of_an_earlier_version_is_upgraded_and_other_versions_are_refused(monkeypatch):
    """The earlier version never was: it had the rows as a mapping."""
    monkeypatch.setitem(UPGRADES, 2, lambda old: [VERSION, *old[1:4], [*old[4].values()], *old[5:]])
    messages = stream(["cart-1", "cart-2"], 60)
    same, said, block = run(block_of, messages, 50, reload=False)
    now = msgspec.msgpack.decode(block.dump())
    former = [2, *now[1:4], dict(enumerate(now[4])), *now[5:]]
    upgraded = block_of(msgspec.msgpack.encode(former))
    later = [reading("cart-1", 60, 503.0, START + 1802), reference("cart-1", 60, 500.0, START)]
    results = block.apply(later)

    assert facts(upgraded.network.evaluate(0.0), upgraded.network) == same
    assert upgraded.apply(later).noted == results.noted == said[-1].noted
    for other in (5, 99):
        with pytest.raises(StateError, match=f"version {other}, this program reads {VERSION}; run"):
            block_of(msgspec.msgpack.encode([other, *now[1:]]))
    with pytest.raises(StateError, match="damaged"):
        block_of(b"\x00nothing")


LIMITS = """
thresholds:
  - {name: long, statistic: score_crps_mean, above: 0.5, for_hours: 1, pairs_min: 20}
  - {name: worse, statistic: calibration_zms, against: baseline, above: 1.5, baseline_pairs: 30}
"""


def test_thresholds_go_on_from_the_state_and_know_first_pairs_that_are_gone(tmp_path):
    """The fault begins at a third; by the end the first pairs are gone."""
    text = SETTINGS + LIMITS
    messages = stream(["cart-1", "cart-2"], 500)
    parts = assemble(settings_of(text, tmp_path), 0.0)
    block, told = Block(recipe_of(settings_of(text))), []
    for at in range(0, len(messages), 100):
        some = messages[at : at + 100]
        for came, those in groupby(some, key=attrgetter("received")):
            parts.intake.commit(parts.intake.prepare(list(those), float(came)))
        wanted = parts.network.evaluate(float(some[-1].received))
        results = block.apply(some)
        block = Block(recipe_of(settings_of(text)), block.dump())
        for name in ("long", "worse"):
            assert results.snapshot.alerts[name].tolist() == wanted.alerts[name].tolist()
            told.append((name, *results.snapshot.alerts[name].tolist()))
    parts.journal.close()

    assert block.network.replayer.root(0) is not None
    assert {("long", True, True), ("worse", True, False), ("worse", False, False)} <= set(told)


def test_what_is_lost_is_counted_as_the_daemon_counts_it(tmp_path):
    alone = [reading("cart-1", 10_000 + at, 1.0, START + at) for at in range(7)]
    wait = max(each.received for each in MESSAGES) + 2 * 3600
    messages = [*alone, *MESSAGES, reading("cart-2", 20_000, 1.0, wait)]
    parts = assemble(settings_of(folder=tmp_path), 0.0)
    block = block_of(None)
    for at in range(0, len(messages), 100):
        some = messages[at : at + 100]
        for came, those in groupby(some, key=attrgetter("received")):
            parts.intake.commit(parts.intake.prepare(list(those), float(came)))
        results = block.apply(some)
        block = block_of(block.dump())
    parts.network.expire(float(wait))
    counts, pairing = parts.intake.counts, parts.network.pairing
    parts.journal.close()

    assert results.totals == {
        **counts.totals(),
        "expired_unpaired": pairing.expired_unpaired,
        "corrections": pairing.corrections,
        "too_late": 0,
    }
    assert pairing.expired_unpaired >= 7
    assert pairing.corrections > 0


@pytest.mark.parametrize("reload", [False, True])
def test_what_is_dropped_because_too_much_waits_counts_once_and_leaves_the_state(reload):
    text = SETTINGS.replace("max_wait_hours: 1", "max_wait_hours: 100, max_pending: 1000")
    recipe = recipe_of(settings_of(text))
    messages = [reading("cart-1", at, 1.0, START + 30 * at) for at in range(4000)]
    block, sizes = Block(recipe), []
    for at in range(0, len(messages), 100):
        block.apply(messages[at : at + 100])
        sizes.append(len(block.dump()))
        if reload:
            block = Block(recipe, block.dump())
    held = block.network.pairing.readings
    found = block.apply([reading("cart-1", 5000, 1.0, START + 300 * 3600)])

    assert found.totals["expired_unpaired"] == 4000
    assert held < 1100
    assert max(sizes) < 2 * sizes[9]


def test_windows_longer_than_the_kept_history_stay_full_when_the_state_is_read_again(tmp_path):
    text = SETTINGS.replace("pairs: 40", "pairs: 150").replace("hours: 1", "hours: 0.1")
    messages, chance = [], random.Random(4)
    for at in range(600):
        came = START + int(at * APART) + 2
        messages.append(reading("cart-1", at, 500.0 + chance.gauss(0.0, 1.0), came))
        messages.append(reference("cart-1", at, 500.0, came))
    recipe = recipe_of(settings_of(text))
    found, _, block = run(lambda state: Block(recipe, state), messages, 50, reload=True)

    assert found == daemon_facts(messages, tmp_path, text)
    assert found["cart-1"]["pairs"] == 150
    assert block.network.replayer.root(0) is not None


def test_state_in_single_precision_is_smaller_and_equals_the_daemon(tmp_path):
    text = SETTINGS.replace("pairs: 40", "pairs: 40, precision: single")
    messages = stream(["cart-1", "cart-2"], 250)
    recipes = [recipe_of(settings_of(each)) for each in (text, text.replace("single", "double"))]
    single, double = (
        run(lambda state, recipe=recipe: Block(recipe, state), messages, 50, reload=True)
        for recipe in recipes
    )

    assert single[0] == daemon_facts(messages, tmp_path, text)
    assert single[0] != double[0]
    assert len(single[2].dump()) < len(double[2].dump())


DECLARED = SETTINGS + "scoring: {u_systematic: {value: 0.5, reference_share: 0.3}}\n"


def test_a_declared_systematic_part_is_the_daemons_also_after_the_first_pairs_are_gone(
    tmp_path, expected
):
    recipe = recipe_of(settings_of(DECLARED))

    found, _, block = run(lambda state: Block(recipe, state), MESSAGES, 50, reload=True)

    assert found == daemon_facts(MESSAGES, tmp_path, DECLARED)
    assert found != expected
    assert block.network.replayer.root(0) is not None
    assert block.network.detector.systematic[:3].min() > 0.0


def test_a_declaration_holds_from_the_next_start_on_and_one_taken_back_no_longer():
    plain, declared = (recipe_of(settings_of(text)) for text in (SETTINGS, DECLARED))
    _, _, block = run(lambda state: Block(plain, state), MESSAGES[:600], 60, reload=False)

    begun = Block(declared, block.dump())
    again, ended = Block(declared, begun.dump()), Block(plain, begun.dump())

    assert begun.network.detector.systematic[:3].min() > 0.0
    assert again.dump() == begun.dump()
    assert not ended.network.detector.systematic.any()


def test_refused_messages_are_counted_kept_and_told_of_after_a_round_trip():
    block = block_of(None)
    came = MESSAGES[0].received
    block.apply([each for each in MESSAGES[:120] if b"value" in each.payload])
    block = block_of(block.dump())
    bad = LogMessage(came + 9000, "monitor/cart-1/mass/reading", b"{")
    results = block.apply([bad] * 30)
    again = block_of(block.dump()).apply([bad])

    assert results.totals["rejected.bad_payload"] == 30
    assert len(results.dead_letters) == 30
    row = [name.sensor for name in again.snapshot.names].index("cart-1")
    assert again.snapshot.alerts["rejected_share"][row]


def test_by_a_clock_that_nothing_agrees_with_nothing_expires():
    """A bridge whose clock is years ahead for a while erases nothing, and refuses nothing then."""
    calm, disturbed = block_of(None), block_of(None)
    half = len(MESSAGES) // 2
    for block in (calm, disturbed):
        block.apply(MESSAGES[:half])
    last, years = MESSAGES[half - 1], 2 * 365 * 86_400
    for clock in (UNPROVEN, IN_DOUBT):  # a repeat changes nothing by itself
        disturbed.apply([LogMessage(last.received + years, last.topic, last.payload, clock)])
    disturbed = block_of(disturbed.dump())
    disturbed.apply(MESSAGES[half:])
    calm.apply(MESSAGES[half:])

    now = float(MESSAGES[-1].received)
    assert facts(disturbed.network.evaluate(now), disturbed.network) == facts(
        calm.network.evaluate(now), calm.network
    )
    assert disturbed.network.pairing.readings == calm.network.pairing.readings


def test_silence_is_noticed_though_a_message_came_by_a_clock_that_was_ahead():
    block = Block(recipe_of(settings_of("series: {stale_after_seconds: 600}\n")))
    ahead = reading("cart-1", 0, 1.0, START + 2 * 365 * 86_400)
    block.apply([msgspec.structs.replace(ahead, clock=IN_DOUBT)])
    for at in (1, 2):
        block.apply([reading("cart-1", at, 1.0, START + 30 * at)])
    found = block.apply([reading("cart-2", 50, 1.0, START + 1500)]).snapshot

    assert [name.sensor for name in found.names] == ["cart-1", "cart-2"]
    assert found.states[0] == "stale"


@pytest.mark.parametrize("reload", [False, True])
def test_a_series_whose_state_changes_without_a_message_has_a_row(reload):
    recipe = recipe_of(settings_of("series: {stale_after_seconds: 600}\n"))
    block, told = Block(recipe), []
    for at, sensor in enumerate(("cart-1", "cart-2", "cart-2", "cart-2")):
        found = block.apply([reading(sensor, 20 * at, 1.0, START + 600 * at)])
        told.append(
            [(found.snapshot.names[row].sensor, found.snapshot.states[row]) for row in found.rows]
        )
        if reload:
            block = Block(recipe, block.dump())

    assert told == [
        [("cart-1", "unknown")],
        [("cart-2", "unknown")],
        [("cart-1", "stale"), ("cart-2", "unknown")],
        [("cart-2", "unknown")],
    ]


@pytest.mark.parametrize("clock", [TRUSTED, IN_DOUBT])
def test_what_is_of_the_future_by_a_clock_in_doubt_is_not_refused(clock):
    block = block_of(None)
    came = MESSAGES[0].received - 86_400
    results = block.apply([LogMessage(came, MESSAGES[0].topic, MESSAGES[0].payload, clock)])

    assert results.totals.get("rejected.future", 0) == (1 if clock == TRUSTED else 0)
    assert len(results.snapshot.names) == (0 if clock == TRUSTED else 1)


def test_what_the_driver_is_told_is_the_same_though_the_state_is_written_and_read(
    in_memory, reloaded
):
    (_, kept, _), (_, told, _) = in_memory, reloaded

    assert [each.noted for each in told] == [each.noted for each in kept]
    assert [each.changed_at for each in told] == [each.changed_at for each in kept]
    assert any(each.changed_at for each in kept)


def test_messages_of_a_block_are_packed_and_unpacked():
    assert unpack_messages(pack_messages(MESSAGES[:9])) == MESSAGES[:9]
