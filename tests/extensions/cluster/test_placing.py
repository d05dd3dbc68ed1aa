"""A sensor's readings and every reference that concerns it reach the same block."""

from __future__ import annotations

from functools import partial

import pytest
from harness.fleet_messages import START, reading, reference, stream

from monitor.config import parse
from monitor.config.core_plan import router_of
from monitor.extensions.cluster.block import Block
from monitor.extensions.cluster.log_records import LogMessage
from monitor.extensions.cluster.placing import EVERY, OwnRouter, Placing, block_of
from monitor.extensions.cluster.recipes import recipe_of
from tests.extensions.cluster.test_block import daemon_facts, facts

BLOCKS = 16
BASE = """
series: {max_new_per_minute: 100000}
windows: {pairs: 40}
cluster: {blocks: 16, history_pairs: 64, log: {partitions: 4}}
"""
PAIRING = "pairing: {tolerance_seconds: 5, max_wait_hours: 1}\n"
AREAS = """
areas:
  - {subject: station, sensors: [near-1, near-2]}
  - {subject: site, site: hill}
  - {subject: wide, sensors: ["far-*"]}
places: [{sensor: up, site: hill}, {sensor: down, site: dale}]
"""


def placing_of(text: str) -> Placing:
    return Placing(parse((BASE + text).encode(), "t"))


def place(placing: Placing, message: LogMessage) -> tuple[int, ...]:
    topics = [message.topic]
    decoded = placing.router.decode_all(topics, [message.payload], float(message.received))
    return placing.places(topics, decoded)[0]


def own(*sensors: str) -> tuple[int, ...]:
    return tuple(sorted({block_of(each, BLOCKS) for each in sensors}))


def test_a_reading_goes_to_the_block_of_its_sensor_and_a_reference_to_that_of_its_subject():
    placing = placing_of(PAIRING)

    assert place(placing, reading("a", 0, 1.0, START)) == own("a")
    assert place(placing, reference("a", 0, 1.0, START)) == own("a")


@pytest.mark.parametrize(
    ("subject", "blocks"),
    [
        ("station", own("station", "near-1", "near-2")),
        ("site", own("site", "up")),
        ("wide", EVERY),
        ("other", own("other")),
    ],
)
def test_a_reference_of_an_area_is_copied_to_the_blocks_of_its_sensors(subject, blocks):
    assert place(placing_of(PAIRING + AREAS), reference(subject, 0, 1.0, START)) == blocks


def test_references_that_are_matched_by_key_alone_go_everywhere():
    placing = placing_of("pairing: {mode: key, match_on: [key]}\n")

    assert place(placing, reference("a", 0, 1.0, START, key="k")) == EVERY


def test_references_that_a_collocation_may_name_go_everywhere():
    sources = """
sources:
  - {topic: "monitor/{sensor}/{quantity}/reading", kind: reading}
  - {topic: "monitor/{subject}/{quantity}/reference", kind: reference}
  - {topic: "monitor/{sensor}/collocation", kind: collocation}
"""
    some = BASE.replace("cluster: {", 'cluster: {collocated_subjects: ["st-*"], ')
    placing = Placing(parse((some + PAIRING + sources).encode(), "t"))

    assert place(placing, reference("st-1", 0, 1.0, START)) == EVERY
    assert place(placing, reference("a", 0, 1.0, START)) == own("a")


def test_what_cannot_be_read_goes_to_the_block_of_the_sensor_its_topic_names():
    placing = placing_of(PAIRING)

    assert place(placing, LogMessage(START, "monitor/a/mass/reading", b"{")) == own("a")
    assert len(place(placing, LogMessage(START, "elsewhere", b"{"))) == 1


def test_every_block_is_in_one_partition_and_all_are_reached_by_no_name():
    placing = placing_of(PAIRING)

    assert placing.partitioned((1, 5, 6)) == {1: [1, 5], 2: [6]}
    assert placing.partitioned(EVERY) == {0: [], 1: [], 2: [], 3: []}


def through_blocks(text: str, messages: list[LogMessage], size: int = 40) -> dict:
    """Return what all blocks say once messages went through them as a bridge places them."""
    settings = parse(text.encode(), "t")
    placing, recipe = Placing(settings), recipe_of(settings)
    blocks: dict[int, bytes] = {}
    last = float(messages[-1].received)
    for at in range(0, len(messages), size):
        waiting: dict[int, list[LogMessage]] = {}
        for message in messages[at : at + size]:
            for block in place(placing, message) or range(settings.cluster.blocks):
                waiting.setdefault(block, []).append(message)
        for number, those in waiting.items():
            block = Block(recipe, blocks.get(number), number)
            block.apply(those)
            blocks[number] = block.dump()
    found: dict = {}
    for number, state in blocks.items():
        block = Block(recipe, state, number)
        known = facts(block.network.evaluate(last), block.network)
        assert not known.keys() & found.keys()
        found |= known
    return found


def test_blocks_together_say_what_one_daemon_says_of_areas_and_their_own_references(tmp_path):
    """Suspect references are judged in a block by its sensors; too few meet one here."""
    messages = stream(["near-1", "near-2", "up", "far-1"], 60)
    for at in range(60):
        came = START + at * 30 + 3
        for subject in ("station", "site", "wide"):
            more = {"identity": f"{subject}-{at}"}
            messages.append(reference(subject, at, 500.0 + at, came, **more))
    messages.sort(key=lambda each: each.received)
    text = BASE + PAIRING + AREAS

    assert through_blocks(text, messages) == daemon_facts(messages, tmp_path, text)


def test_a_block_takes_of_a_message_that_goes_everywhere_what_is_about_its_own_sensors():
    settings = parse((BASE + PAIRING).encode(), "t")
    own_router = router_of(settings, make=partial(OwnRouter, lambda sensor: sensor == "a"))
    messages = [reading("a", 0, 1.0, START), reading("b", 0, 1.0, START), reference("b", 0, 1, 0)]
    topics, payloads = [m.topic for m in messages], [m.payload for m in messages]
    found = own_router.decode_all(topics, payloads, START + 9.0)

    kinds = [type(each).__name__ for each in found.observations]
    assert sorted(zip(found.sources, kinds, strict=True)) == [(0, "Reading"), (2, "Reference")]
    assert own_router.sensor_of("monitor/a/mass/reading") == "a"
