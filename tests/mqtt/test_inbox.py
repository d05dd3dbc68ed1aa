"""The inbox: rows of bytes beside what numpy finds, and which messages may be acknowledged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from harness.mqtt_packets import publish

from monitor.config import parse
from monitor.config.core_plan import router_of
from monitor.core.model import Reading
from monitor.daemon.assembly import assemble
from monitor.decode import Rejected
from monitor.mqtt.inbox import InboxMessage, all_of, inbox_of, retained_among
from monitor.mqtt.packets import Version
from monitor.mqtt.receiver import Receiver


@pytest.mark.parametrize("width", [0, 1, 4, 9])
@pytest.mark.parametrize("wrong", [0, 1, 5, 300])
def test_rows_that_are_true_throughout_are_those_that_all_finds(width, wrong):
    chance = np.random.default_rng(wrong)
    rows = np.ones((200, width), dtype=np.bool_)
    rows.reshape(-1)[chance.integers(0, rows.size, wrong if width else 0)] = False

    assert np.array_equal(all_of(rows), rows.all(axis=1))
    assert np.array_equal(all_of(rows[::2]), rows[::2].all(axis=1))


@pytest.mark.parametrize("as_columns", [True, False])
def test_what_came_on_a_former_connection_is_never_acknowledged(as_columns):
    receiver = Receiver(Version.V3_1_1, 300)
    receiver.begin_connection()
    receiver.feed(publish(b"t", b"1", 1, 7, properties=None))
    former = receiver.take()
    former = former if as_columns else list(former)
    assert inbox_of(former, receiver.generation).acknowledgements() == (1, b"\x40\x02\x00\x07")

    receiver.begin_connection()

    assert inbox_of(former, receiver.generation).acknowledgements() == (0, b"")


NOW = 1_772_366_400.0  # 2026-03-01T12:00:00Z
RETAINED, PLAIN = 1, 0
SETTINGS = """
sources:
  - topic: "now/{sensor}"
    kind: reading
    decoder: json
    map: {time: arrival, series: [{quantity: t, value: v, u: 1}]}
  - topic: "then/{sensor}"
    kind: reading
    decoder: json
    map: {series: [{quantity: t, value: v, u: 1}]}
  - topic: "truth/{subject}"
    kind: reference
    decoder: json
    map: {time: arrival, identity: id, void_where: {gone: [true]},
          series: [{quantity: t, value: v}]}
  - topic: "event/{sensor}"
    kind: event
    decoder: json
    map: {time: arrival, event: what}
  - topic: "senml/{sensor}"
    kind: reading
    decoder: senml
    map: {series: [{quantity: t, value: value, u: 1}]}
  - topic: "line/{sensor}"
    kind: reading
    decoder: lineprotocol
    map: {time_unit: s, series: [{quantity: t, value: fields.v, u: 1}]}
  - {topic: "monitor/{sensor}/{quantity}/reading", kind: reading}
"""
WITHOUT_TIME = [
    ("now/a", '{"v": 31.5}'),
    ("truth/a", '{"v": 31.5, "id": "r"}'),
    ("event/a", '{"what": "moved"}'),
    ("senml/a", '[{"n": "x", "v": 31.5}]'),
    ("senml/a", '[{"n": "x", "t": -5, "v": 31.5}]'),
    ("line/a", "room v=31.5"),
]
WITH_TIME = [
    ("then/a", '{"v": 31.5, "time": "2026-02-27T12:00:00Z"}'),
    ("senml/a", f'[{{"n": "x", "bt": {NOW - 9e4}, "v": 31.5}}]'),
    ("line/a", f"room v=31.5 {NOW - 9e4:.0f}"),
    ("monitor/a/t/reading", '{"time": "2026-02-27T12:00:00Z", "value": 31.5, "u": 1}'),
]


@pytest.mark.parametrize(("topic", "payload"), WITHOUT_TIME)
def test_a_retained_message_without_a_time_is_of_unknown_age(topic, payload):
    router = router_of(parse(SETTINGS.encode(), "f"))

    (refused,) = router.decode(topic, payload.encode(), NOW, is_retained=True)
    (read,) = router.decode(topic, payload.encode(), NOW)

    assert isinstance(refused, Rejected)
    assert refused.reason == "retained"
    assert "days old" in refused.detail
    assert not isinstance(read, Rejected)


@pytest.mark.parametrize(("topic", "payload"), WITH_TIME)
def test_with_a_time_of_its_own_it_is_read_as_any_other(topic, payload):
    router = router_of(parse(SETTINGS.encode(), "f"))

    kept = router.decode(topic, payload.encode(), NOW, is_retained=True)

    assert kept == router.decode(topic, payload.encode(), NOW)
    assert isinstance(kept[0], Reading)


def test_of_several_records_only_those_without_a_time_are_refused():
    router = router_of(parse(SETTINGS.encode(), "f"))
    lines = f"room v=1 {NOW - 60:.0f}\nroom v=2\n".encode()

    found = router.decode("line/a", lines, NOW, is_retained=True)

    assert [(type(each), getattr(each, "reason", "")) for each in found] == [
        (Reading, ""),
        (Rejected, "retained"),
    ]


def test_a_retained_void_needs_no_time_where_it_has_an_identity():
    router = router_of(parse(SETTINGS.encode(), "f"))

    (void,) = router.decode("truth/a", b'{"gone": true, "id": "r"}', NOW, is_retained=True)

    assert void.void
    assert void.identity == "r"


@pytest.mark.parametrize("version", [Version.V3_1_1, Version.V5])
def test_the_flag_of_the_packet_decides_and_is_no_fault_of_the_sensor(version, tmp_path: Path):
    """A dead sensor's last value pairs with nothing; the next value of a living one does."""
    folder = f'journal: {{path: "{tmp_path}/j.sqlite"}}\nareas: [{{subject: a, sensors: ["*"]}}]\n'
    parts = assemble(parse((folder + SETTINGS).encode(), "f"), NOW)
    properties = b"" if version == Version.V5 else None
    receiver = Receiver(version, 65_536)

    def come(at: float, *sent: tuple[str, object, int]) -> None:
        for topic, body, flags in sent:
            payload = json.dumps(body).encode()
            receiver.feed(
                publish(topic.encode(), payload, 0, 0, properties=properties, flags=flags)
            )
        parts.intake.commit(parts.intake.prepare(receiver.take(), at))

    old = [("now/dead", {"v": 31.5}, RETAINED), ("now/alive", {"v": 19.0}, RETAINED)]
    come(NOW, *old * 100)
    come(NOW + 60.0, ("now/alive", {"v": 20.1}, PLAIN), ("truth/a", {"v": 20.0, "id": "1"}, PLAIN))
    counts, network = parts.intake.counts, parts.network
    pairs = network.evaluate(NOW + 60.0).window_pairs.tolist()
    letters = parts.journal.dead_letters(50)
    parts.journal.close()

    assert (counts.received, counts.committed, counts.rejected["retained"]) == (202, 2, 200)
    assert [key.sensor for key in network.registry.keys] == ["alive"]
    assert pairs == [1]
    assert network.refusals.shares(network.registry.keys).tolist() == [0.0]
    assert {(each.topic, each.reason) for each in letters} == {
        ("now/alive", "retained"),
        ("now/dead", "retained"),
    }
    assert len(letters) == 8  # a thousand of them leave the other dead letters their place


def test_which_messages_were_retained_is_the_same_as_columns_and_one_by_one():
    receiver = Receiver(Version.V5, 65_536)
    for flags in (0, 1, 1, 0, 1):
        receiver.feed(publish(b"t", b"x", 0, 0, properties=b"", flags=flags))
    columns = receiver.take()

    assert retained_among(columns) == {1, 2, 4}
    assert retained_among(list(columns)) == {1, 2, 4}
    assert retained_among(columns[:1]) == retained_among([]) == frozenset()
    assert retained_among([InboxMessage("t", b"", 1, b"", 0)]) == {0}
