"""The identifier at the broker: one per journal, kept for ever; who takes it over is named."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from harness import mqtt_packets
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.programs import until
from harness.publishing import round_of
from harness.wires import CONNACK, SUBACK, ScriptedWire, source_on_wire

from monitor.config import parse
from monitor.daemon.assembly import assemble, client_id_of, has_session, note_subscriptions
from monitor.mqtt.publish import BrokerPublisher
from monitor.mqtt.wire import EndedError

NOW = 1_767_225_600.0  # 2026-01-01
MADE = re.compile(r"monitor-[0-9a-f]{8}")
SETTINGS = 'journal: {{path: "{folder}/journal.sqlite"}}\nmqtt: {{client_id: {name}}}\n'
NAMELESS = """
mqtt: {{port: {port}}}
journal: {{path: "{folder}/journal.sqlite"}}
http: {{port: 0}}
publish: {{interval_seconds: 0.2}}
"""


class Message(NamedTuple):
    topic: str
    payload: bytes


def life(folder: Path, name: str = "null") -> str:
    """Return the identifier in one life of a daemon."""
    parts = assemble(parse(SETTINGS.format(folder=folder, name=name).encode(), "s.yaml"), NOW)
    found = client_id_of(parts)
    note_subscriptions(parts)
    parts.journal.close()
    return found


def journals(folder: Path, *names: str) -> list[Path]:
    made = [folder / name for name in names]
    for each in made:
        each.mkdir()
    return made


def test_an_identifier_is_made_once_for_each_journal(tmp_path):
    one, other = journals(tmp_path, "one", "other")

    names = [life(one), life(one), life(other), life(other)]

    assert names[0] == names[1]
    assert names[2] == names[3]
    assert names[0] != names[2]
    assert all(MADE.fullmatch(name) for name in names)


def test_a_name_in_the_settings_counts_and_without_it_the_journal_has_its_own(tmp_path):
    assert life(tmp_path, "plant") == "plant"
    assert MADE.fullmatch(life(tmp_path))
    assert life(tmp_path, "plant") == "plant"


def test_a_session_is_expected_once_messages_came_under_the_same_name(tmp_path):
    def is_expected(name: str, messages: int) -> bool:
        text = SETTINGS.format(folder=tmp_path, name=name)
        parts = assemble(parse(text.encode(), "s.yaml"), NOW)
        found = has_session(parts, name)
        if messages:
            heard = [Message("no/source/reads/this", b"")] * messages
            parts.intake.commit(parts.intake.prepare(heard, NOW))
        parts.journal.close()
        return found

    assert not is_expected("plant", 0)  # a new journal
    assert not is_expected("plant", 1)  # the broker may never have been reached
    assert is_expected("plant", 0)
    assert not is_expected("other", 0)
    assert is_expected("other", 0)


def nameless(folder: Path, port: int) -> Daemon:
    daemon = Daemon(folder, port)
    daemon.settings.write_text(NAMELESS.format(port=port, folder=folder), encoding="utf-8")
    return daemon


def test_the_same_settings_with_another_journal_take_nothing_over(tmp_path, mosquitto: Mosquitto):
    """The first one is away meanwhile: what the broker holds for it is its own afterwards."""
    folders = journals(tmp_path, "plant", "laptop")
    plant, laptop = (nameless(folder, mosquitto.port) for folder in folders)
    messages = round_of(0) + round_of(1)
    try:
        plant.start()
        laptop.start()
        plant.kill()
        with BrokerPublisher("127.0.0.1", mosquitto.port, client_id="publisher") as out:
            for said in messages:
                out.publish(said.topic, said.payload)
        for daemon in (laptop, plant):
            if daemon is plant:
                plant.start()
            until("all came", lambda d=daemon: _committed(d) == len(messages))
        names = [MADE.search(daemon.log())[0] for daemon in (plant, laptop)]
        assert names[0] != names[1]
        assert plant.value("monitor_session_lost_total") == 0.0
    finally:
        plant.kill()
        laptop.kill()


def _committed(daemon: Daemon) -> float:
    return daemon.value("monitor_messages_committed_total")


class HangingUp(ScriptedWire):
    """An empty chunk is the end of a connection."""

    def receive(self) -> bytes:
        if self.chunks and not self.chunks[0]:
            self.chunks.popleft()
            raise EndedError
        return super().receive()


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        ("5", "another client with the client id 'reader' took the session over"),
        (
            "3.1.1",
            (
                "the broker hung up again, soon after connecting; does another client use .* id "
                "'reader'"
            ),
        ),
    ],
)
def test_a_takeover_is_told_with_the_name(protocol, expected, monkeypatch, caplog):
    """MQTT 5 says what it is; in 3.1.1 two connections that end soon make one ask."""
    wire = HangingUp()
    wire.chunks.clear()
    wire.chunks.extend((CONNACK[protocol], SUBACK[protocol]))
    source = source_on_wire(wire, monkeypatch, protocol=protocol)
    with caplog.at_level(logging.WARNING):
        if protocol == "5":
            wire.chunks.append(mqtt_packets.packet(0xE0, b"\x8e\x00"))
        else:
            wire.chunks.extend((b"", CONNACK[protocol], SUBACK[protocol], b""))
        while source.connected or wire.chunks:
            source.receive(0.05)

    assert re.search(expected, caplog.text)
    assert re.search(expected, source.status)
