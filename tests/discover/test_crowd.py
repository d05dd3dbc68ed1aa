"""`monitor discover` at a broker with very many sensors: a sentence a kind, work in proportion."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from harness.calls import lines
from harness.device_messages import at

from monitor.config import parse
from monitor.discover import Broker, Heard, Proposal, propose

NOW = 1_800_000_000.0
BROKER = Broker({"host": "127.0.0.1", "port": 1883})
APPLICATION = "4b0d9f4a-6b0f-4f1f-9d19-0e0e6a2f7a10"


def message(topic: str, body: object, time: float) -> Heard:
    return Heard(topic, json.dumps(body).encode(), time)


def five_families(count: int, time: float) -> Iterator[tuple[str, Heard]]:
    """Yield ``count`` sensors of five families, each with what it sends of 21 degC."""
    for n in range(count // 5):
        body = {"temperature": 21.2, "humidity": 44, "linkquality": 80, "battery": 97}
        yield f"z{n:04}", message(f"zigbee2mqtt/z{n:04}", body, time)
        board = {"Time": at(time, ""), "DS18B20": {"Temperature": 21.4}, "TempUnit": "C"}
        yield f"tas{n:04}", message(f"tele/tas{n:04}/SENSOR", board, time)
        yield f"esp{n:04}", message(f"esp{n:04}/sensor/temperature/state", 21.1, time)
        eui = f"{n:016x}"
        uplink = {"deduplicationId": "x", "time": at(time), "object": {"temperature": 20.9}}
        yield eui, message(f"application/{APPLICATION}/device/{eui}/event/up", uplink, time)
        node = {"ts": time, "temperature": 21.0, "temperature_u": 0.3}
        yield f"hall{n % 7}.node{n:04}", message(f"plant/hall{n % 7}/node{n:04}", node, time)


def reference(subject: str, time: float) -> Heard:
    body = {"time": at(time), "value": 21.0, "u": 0.05}
    return message(f"truth/{subject}/temperature", body, time)


def with_own_references(count: int) -> list[Heard]:
    """Return the messages of sensors and of a reference for each of them."""
    return [
        each
        for time in (NOW, NOW + 10.0)
        for name, sent in five_families(count, time)
        for each in (sent, reference(name, time))
    ]


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
    few, many = (lines(lambda n=n: proposed(crowd(n)), "/monitor/discover/") for n in (100, 400))

    assert many < 4.0 * few


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
