"""What has no identity of its own counts once however often its packet comes, and new ones all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.mqtt_packets import publish

from monitor.config import parse
from monitor.core.pairing.observations import PackedReadings
from monitor.daemon.assembly import Parts, assemble
from monitor.decode.formats.sparkplug_payload import Payload
from monitor.mqtt.inbox import Inbox
from monitor.mqtt.packets import Version
from monitor.mqtt.receiver import Receiver

START = 1_767_225_600.0  # 2026-01-01
VERSIONS = [Version.V3_1_1, Version.V5]
DUP = 0x08
SOURCES = """
journal: {{path: "{folder}/journal.sqlite"}}
sources:
  - {{topic: "monitor/{{sensor}}/{{quantity}}/reading", kind: reading}}
  - {{topic: "monitor/{{subject}}/{{quantity}}/reference", kind: reference}}
  - topic: "now/{{sensor}}/{{quantity}}"
    kind: reading
    decoder: json
    map: {{time: arrival, series: [{{value: v, u: u}}]}}
  - topic: "senml/{{sensor}}"
    kind: reading
    decoder: senml
    map: {{time: time, series: [{{quantity: kg, value: value, u: 1.0}}]}}
  - topic: "lp/{{sensor}}"
    kind: reading
    decoder: lineprotocol
    map: {{time: time, series: [{{quantity: kg, value: fields.kg, u: 1.0}}]}}
  - topic: "spBv1.0/{{group}}/{{message}}/{{edge}}/{{sensor}}"
    kind: reading
    decoder: sparkplug
    map: {{time: time, series: [{{quantity: t, value: values.value, u: values.u}}], optional: true}}
"""
TIMELESS = {
    "arrival": ("now/a/x", b'{"v": 21.5, "u": 0.5}'),
    "senml": ("senml/a", b'[{"n": "kg", "v": 21.5}]'),
    "line protocol": ("lp/a", b"weight kg=21.5"),
}


class Life:
    """The daemon's parts on a journal, and a connection to a broker."""

    def __init__(self, folder: Path, version: Version, began: float) -> None:
        text = SOURCES.format(folder=folder)
        self.parts: Parts = assemble(parse(text.encode(), "settings.yaml"), START)
        self._version = version
        self._receiver = Receiver(version, 65_536)
        self.now = began

    def take(self, *packets: bytes) -> None:
        """Read some packets at once, a minute after the last ones, and commit what they say."""
        self.now += 60.0
        self._receiver.feed(b"".join(packets))
        messages = self._receiver.take()
        assert isinstance(messages, Inbox)
        self.parts.intake.commit(self.parts.intake.prepare(messages, self.now))

    def packet(self, topic: str, payload: bytes, mid: int, *, qos: int = 1, flags: int = 0):
        properties = b"" if self._version == Version.V5 else None
        return publish(topic.encode(), payload, qos, mid, properties=properties, flags=flags)

    @property
    def counted(self) -> tuple[int, int]:
        """How many messages are committed, and how many had come before."""
        return self.parts.intake.counts.committed, self.parts.intake.counts.duplicate

    @property
    def readings(self) -> int:
        """How many readings the journal has."""
        return sum(
            len(each) if isinstance(each, PackedReadings) else 1
            for _, observations in self.parts.journal.observations()
            for each in observations
        )

    def end(self) -> None:
        self.parts.journal.close()


@pytest.fixture
def live(tmp_path):
    lives = []

    def begin(version: Version = Version.V5) -> Life:
        """End the life there is, if any, and begin the next with what the journal has."""
        if lives:
            lives[-1].end()
        lives.append(Life(tmp_path, version, lives[-1].now if lives else START))
        return lives[-1]

    yield begin
    for life in lives[-1:]:
        life.end()


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("said", TIMELESS.values(), ids=TIMELESS)
def test_a_packet_without_a_time_that_comes_again_is_one_reading(
    said, version, qos, restarts, live
):
    life = live(version)
    life.take(life.packet(*said, 7, qos=qos))
    if restarts:
        life = live(version)
    life.take(life.packet(*said, 7, qos=qos, flags=DUP))
    life.take(life.packet(*said, 7, qos=qos, flags=DUP))

    assert life.counted == (1, 2)
    assert life.readings == 1


@pytest.mark.parametrize(
    ("mid", "payload", "flags"),
    [
        (7, b'{"v": 21.5, "u": 0.5}', 0),  # its identifier was free, and the value is the same
        (8, b'{"v": 21.5, "u": 0.5}', DUP),  # under way at the same time, and not read until now
        (7, b'{"v": 21.6, "u": 0.5}', DUP),  # its identifier was free; not read until now
    ],
)
def test_a_new_message_is_taken_however_much_it_is_like_one_before(mid, payload, flags, live):
    life = live()
    life.take(life.packet("now/a/x", b'{"v": 21.5, "u": 0.5}', 7))
    life.take(life.packet("now/a/x", payload, mid, flags=flags))

    assert life.counted == (2, 0)


def test_a_packet_whose_acknowledgement_the_broker_has_is_a_new_one_under_its_identifier(live):
    life = live()
    life.take(life.packet(*TIMELESS["arrival"], 7))
    life.parts.intake.redeliveries.confirm(life.parts.intake.redeliveries.round)
    life.take(life.packet(*TIMELESS["arrival"], 7, flags=DUP))

    assert life.counted == (2, 0)


def test_what_the_broker_is_known_to_have_is_let_go_of_also_by_the_next_life(live):
    life = live()
    said = TIMELESS["arrival"]
    life.take(life.packet(*said, 7))
    life.parts.intake.redeliveries.confirm(life.parts.intake.redeliveries.round)
    life.take(life.packet(*said, 8))
    life = live()
    life.take(life.packet(*said, 7, flags=DUP), life.packet(*said, 8, flags=DUP))

    assert life.counted == (3, 1)


def test_as_many_packets_as_can_be_under_way_are_remembered_whatever_their_batches(live):
    """More batches than there are notes: those in use are put together."""
    life, count = live(), 100
    for mid in range(1, count + 1):
        life.take(life.packet("now/a/x", json.dumps({"v": mid, "u": 1.0}).encode(), mid))
    life = live()
    again = [
        life.packet("now/a/x", json.dumps({"v": mid, "u": 1.0}).encode(), mid, flags=DUP)
        for mid in range(1, count + 1)
    ]
    life.take(*again[:50])
    life = live()
    life.take(*again)

    assert life.counted == (count, count + 50)


def test_of_a_message_that_has_its_own_identity_no_packet_is_kept(live):
    life = live()
    said = b'{"time": "2026-01-01T00:00:00Z", "value": 1.0, "u": 1.0}'
    life.take(life.packet("monitor/a/x/reading", said, 7))

    assert life.parts.intake.redeliveries.round == 0
    assert life.parts.journal.note("packets.0") == b""


def test_a_refused_message_without_a_time_is_refused_once(live):
    life = live()
    life.take(life.packet("now/a/x", b"{", 7))
    life.take(life.packet("now/a/x", b"{", 7, flags=DUP))

    assert life.parts.intake.counts.rejected["bad_payload"] == 1
    assert life.counted == (0, 1)
    assert len(life.parts.journal.dead_letters()) == 1


def sparkplug(*metrics: dict[str, object]) -> bytes:
    found = Payload(timestamp=int(START * 1000), seq=1)
    for metric in metrics:
        found.metrics.add(**metric)
    return found.SerializeToString()


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
def test_sparkplug_data_that_come_again_after_a_birth_with_other_aliases_mean_nothing_else(
    version, restarts, live
):
    life = live(version)
    births = [
        sparkplug(
            {"name": "value", "alias": value, "datatype": 10},
            {"name": "u", "alias": 3 - value, "datatype": 10},
        )
        for value in (1, 2)
    ]
    data = sparkplug({"alias": 1, "double_value": 20.0}, {"alias": 2, "double_value": 0.25})
    topic = "spBv1.0/g/{}/e/s"
    life.take(life.packet(topic.format("DBIRTH"), births[0], 1))
    life.take(life.packet(topic.format("DDATA"), data, 2))
    life.take(life.packet(topic.format("DBIRTH"), births[1], 3))
    if restarts:
        life = live(version)
    life.take(
        life.packet(topic.format("DDATA"), data, 2, flags=DUP),
        life.packet(topic.format("DBIRTH"), births[1], 3, flags=DUP),
    )

    assert life.counted == (3, 2)
