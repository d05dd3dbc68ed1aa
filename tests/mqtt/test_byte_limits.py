"""What strangers may send is limited in bytes, however few things it is: topics, names, births."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from harness.mqtt_packets import publish

from monitor.config import parse
from monitor.daemon.assembly import Parts, assemble
from monitor.decode.formats.sparkplug_payload import Payload
from monitor.mqtt.packets import Version
from monitor.mqtt.receiver import Receiver

START = 1_767_225_600.0  # 2026-01-01
SETTINGS = """
journal: {{path: "{folder}/journal.sqlite", dead_letters: 1000}}
mqtt: {{max_packet_bytes: 4194304}}
sources:
  - {{topic: "monitor/{{sensor}}/{{quantity}}/reading", kind: reading}}
  - {{topic: "monitor/{{subject}}/{{quantity}}/reference", kind: reference}}
  - topic: "spBv1.0/{{group}}/{{message}}/{{edge}}/{{sensor}}"
    kind: reading
    decoder: sparkplug
    map: {{time: time, series: [{{quantity: t, value: values.value, u: values.u}}], optional: true}}
  - topic: "long/{{sensor}}/#"
    kind: reading
    decoder: json
    map: {{time: t, series: [{{quantity: x, value: v, u: u}}]}}
"""
MIB = 1 << 20
TOPIC_BYTES = 60_000
SENT = 1500  # topics of 60 kB: 86 MiB
GROWTH_MAX = 100 * MIB
HIGHEST_MAX = 150 * MIB
TOPICS = {
    "of no source": "nobody/{at}/{more}",
    "with a name too long": "monitor/{at}{more}/x/reading",
    "that are read": "long/a/{at}/{more}",
}


@pytest.fixture
def parts(tmp_path: Path):
    opened = assemble(parse(SETTINGS.format(folder=tmp_path).encode(), "settings.yaml"), START)
    yield opened
    opened.journal.close()


@pytest.mark.parametrize("topic", TOPICS.values(), ids=TOPICS)
def test_long_topics_take_no_more_memory_than_short_ones(topic, parts):
    receiver, more = Receiver(Version.V5, 65_536), "n" * TOPIC_BYTES
    tracemalloc.start()
    try:
        for first in range(0, SENT, 50):
            sent = []
            for at in range(first, first + 50):
                payload = json.dumps({"t": START + at, "v": 1.0, "u": 1.0}).encode()
                name = topic.format(at=at, more=more).encode()
                sent.append(publish(name, payload, 1, at + 1, properties=b""))
            receiver.feed(b"".join(sent))
            take(parts, receiver)
        held, highest = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    counts = parts.intake.counts
    assert counts.received == SENT
    assert counts.committed == (SENT if topic.startswith("long") else 0)
    assert held < GROWTH_MAX
    assert highest < HIGHEST_MAX
    assert all(len(each.topic) <= 1000 for each in parts.journal.dead_letters(SENT))


NAMED = 5000  # metrics of a birth, most of which no mapping reads
NAME_CHARACTERS = 200
BIRTHS = 8


def birth(number: int) -> bytes:
    found = Payload(timestamp=int(START * 1000), seq=number % 256)
    for at in range(NAMED):
        name = {0: "value", 1: "u"}.get(at, f"{at}{'m' * NAME_CHARACTERS}")
        found.metrics.add(name=name, alias=at + 1, datatype=10)
    return found.SerializeToString()


def test_births_cost_what_is_read_of_them_and_one_note_a_node(parts):
    receiver = Receiver(Version.V5, 4 * MIB)
    topic = "spBv1.0/g/{}/e{}/s"
    payload = birth(0)
    written = 0
    tracemalloc.start()
    try:
        for number in range(BIRTHS):
            name = topic.format("DBIRTH", number).encode()
            receiver.feed(publish(name, payload, 1, number + 1, properties=b""))
            batch = parts.intake.prepare(receiver.take(), START + 3600.0)
            written += sum(map(len, batch.notes.values()))
            parts.intake.commit(batch)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert parts.intake.counts.committed == BIRTHS
    assert held < BIRTHS * NAMED * 150  # the aliases of what is not read
    assert written < BIRTHS * NAMED * 10
    assert written < BIRTHS * len(payload) / 10


def test_what_births_said_is_known_by_the_next_life_also_what_nobody_reads(parts, tmp_path):
    receiver, topic = Receiver(Version.V5, 4 * MIB), "spBv1.0/g/{}/e/s"
    receiver.feed(publish(topic.format("DBIRTH").encode(), birth(0), 1, 1, properties=b""))
    take(parts, receiver)
    parts.journal.close()
    next_life = assemble(parse(SETTINGS.format(folder=tmp_path).encode(), "settings.yaml"), START)
    data = Payload(timestamp=int(START * 1000), seq=1)
    for alias, value in ((1, 20.0), (2, 0.5), (3, 7.0)):
        data.metrics.add(alias=alias, double_value=value)
    receiver.feed(
        publish(topic.format("DDATA").encode(), data.SerializeToString(), 1, 2, properties=b"")
    )
    take(next_life, receiver)
    next_life.journal.close()

    assert next_life.intake.counts.committed == 2
    assert sum(next_life.intake.counts.records_rejected.values()) == 0


def take(parts: Parts, receiver: Receiver) -> None:
    parts.intake.commit(parts.intake.prepare(receiver.take(), START + 3600.0))
