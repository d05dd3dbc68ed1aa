"""`monitor discover` at a broker with very many sensors: a sentence a kind, work in proportion."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

import pytest
from harness.broker import Mosquitto
from harness.calls import lines
from harness.daemon import Daemon
from harness.device_messages import at
from harness.programs import free_port, until

from monitor.cli import main
from monitor.config import parse
from monitor.extensions.discover.heard import Heard
from monitor.extensions.discover.proposal import Proposal, propose
from monitor.extensions.discover.settings_text import Broker
from monitor.mqtt.publish import BrokerPublisher

NOW = 1_800_000_000.0
BROKER = Broker({"host": "127.0.0.1", "port": 1883})
APPLICATION = "4b0d9f4a-6b0f-4f1f-9d19-0e0e6a2f7a10"


def message(topic: str, body: object, moment: float) -> Heard:
    return Heard(topic, json.dumps(body).encode(), moment)


def five_families(count: int, moment: float) -> Iterator[tuple[str, Heard]]:
    """Yield ``count`` sensors of five families, each with what it sends of 21 degC."""
    for n in range(count // 5):
        body = {"temperature": 21.2, "humidity": 44, "linkquality": 80, "battery": 97}
        yield f"z{n:04}", message(f"zigbee2mqtt/z{n:04}", body, moment)
        board = {"Time": at(moment, ""), "DS18B20": {"Temperature": 21.4}, "TempUnit": "C"}
        yield f"tas{n:04}", message(f"tele/tas{n:04}/SENSOR", board, moment)
        yield f"esp{n:04}", message(f"esp{n:04}/sensor/temperature/state", 21.1, moment)
        eui = f"{n:016x}"
        uplink = {"deduplicationId": "x", "time": at(moment), "object": {"temperature": 20.9}}
        yield eui, message(f"application/{APPLICATION}/device/{eui}/event/up", uplink, moment)
        node = {"ts": moment, "temperature": 21.0, "temperature_u": 0.3}
        yield f"hall{n % 7}.node{n:04}", message(f"plant/hall{n % 7}/node{n:04}", node, moment)


def reference(subject: str, moment: float) -> Heard:
    body = {"time": at(moment), "value": 21.0, "u": 0.05}
    return message(f"truth/{subject}/temperature", body, moment)


def with_own_references(count: int) -> list[Heard]:
    """Return the messages of sensors and of a reference for each of them."""
    return [
        each
        for moment in (NOW, NOW + 10.0)
        for name, sent in five_families(count, moment)
        for each in (sent, reference(name, moment))
    ]


def with_one_reference(count: int) -> list[Heard]:
    """Return the messages of sensors, and of a reference that stands beside all of them."""
    sensors = [sent for moment in (NOW, NOW + 10.0) for _, sent in five_families(count, moment)]
    return [*sensors, message("lab/hall", {"time": at(NOW), "temperature": 21.0, "u": 0.05}, NOW)]


def with_references_of_places(count: int) -> list[Heard]:
    """Return the messages of sensors and of as many references that have none of their names."""
    sensors = [sent for _, sent in five_families(count, NOW)]
    return sensors + [reference(f"place{n}", NOW) for n in range(count)]


def proposed(messages: list[Heard]) -> Proposal:
    """Return a proposal, which is settings without a mistake."""
    found = propose(messages, NOW + 60.0, BROKER)
    parse(found.text.encode(), "proposal.yaml")
    return found


@pytest.mark.parametrize("crowd", [with_own_references, with_references_of_places])
def test_four_times_the_sensors_are_four_times_the_work(crowd: Callable[[int], list[Heard]]):
    few, many = (
        lines(lambda n=n: proposed(crowd(n)), "/monitor/extensions/discover/") for n in (100, 400)
    )

    assert many < 4.0 * few


@pytest.mark.parametrize("crowd", [with_own_references, with_one_reference])
def test_a_thousand_sensors_of_five_families_are_one_sentence(crowd: Callable[[int], list[Heard]]):
    found = proposed(crowd(1000))

    assert sum(each > 0 for each in found.trial.pairs.values()) == 1000
    (sentence,) = [each for each in found.findings if each.startswith("temperature")]
    assert sentence.startswith("temperature: 1000 of 1000 sensors paired with ")
    assert len(sentence) < 100
    assert len(found.findings) + len(found.missing) < 10


def test_references_that_have_no_sensors_name_are_one_sentence():
    found = proposed(with_references_of_places(1000))

    assert not found.trial.pairs.get(("z0000", "temperature"))
    assert "areas:" not in found.text
    (sentence,) = [each for each in found.missing if "place0" in each]
    assert sentence.startswith("no sensor of temperature is concerned by references of place0, ")
    assert len(found.findings) + len(found.missing) < 10


def test_refusals_of_a_kind_are_one_sentence():
    messages = [message(f"plant/n{n}/up", {"temperature": 21.0}, NOW) for n in range(200)]
    broken = [
        each._replace(payload=b'{"temperature": "open"}', time=NOW + 1.0) for each in messages
    ]

    found = proposed([*messages, *messages, *broken])

    (sentence,) = [each for each in found.missing if "refused" in each]
    assert sentence.startswith("200 messages on plant/n0/up, plant/n1/up, ")


def test_more_kinds_than_settings_have_room_for_leave_a_file_and_a_sentence():
    attributes = {"state": 20.8, "device_class": "temperature", "unit_of_measurement": "°C"}
    rooms = [
        message(f"statestream/sensor/room{n}_temperature/{name}", stated, NOW)
        for n in range(300)
        for name, stated in attributes.items()
    ]
    plant = [message(f"plant/n{n}/up", {"temperature": 21.0}, NOW) for n in range(5)]

    found = proposed(rooms + plant)

    assert {sensor for sensor, _ in found.trial.content.readings} >= {f"n{n}" for n in range(5)}
    assert any("left out of sources, to be written by hand" in each for each in found.missing)


def test_a_thousand_sensors_at_a_broker_are_proposed_and_pair_under_the_daemon(tmp_path, capsys):
    (tmp_path / "broker").mkdir()
    broker = Mosquitto(tmp_path / "broker")
    out, now = tmp_path / "found.yaml", time.time()
    # What states its time may be retained: so nothing hangs on how fast the machine publishes.
    stating = ("application/", "plant/")
    crowd = [each for each in five_families(2500, now) if each[1].topic.startswith(stating)]
    try:
        with BrokerPublisher("127.0.0.1", broker.port) as publisher:
            for name, sent in crowd:
                for each in (sent, reference(name, now)):
                    publisher.publish(each.topic, each.payload, retain=True)
            publisher.flush()
        address = f"127.0.0.1:{broker.port}"
        code = main(["discover", address, "--seconds", "4", "--out", str(out)])
        told = capsys.readouterr().err
        assert code == 0, told
        assert "temperature: 1000 of 1000 sensors paired with 1000 references" in told

        daemon = Daemon(tmp_path, broker.port)
        text = out.read_text(encoding="utf-8").replace("9108", str(free_port()))
        daemon.settings.write_text(
            text.replace("state/journal.sqlite", f"{tmp_path}/journal.sqlite"), encoding="utf-8"
        )
        daemon.start()
        try:
            until("all sensors have paired", lambda: paired(daemon) == 1000)
        finally:
            daemon.kill()
    finally:
        broker.stop()


def paired(daemon: Daemon) -> int:
    """Return how many series have pairs."""
    return sum(
        value > 0.0
        for name, value in daemon.metrics().items()
        if name.startswith("monitor_window_pairs{")
    )
