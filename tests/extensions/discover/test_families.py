"""Topics of one shape are one family."""

from __future__ import annotations

import json

import pytest
from harness.device_messages import at, sent

from monitor.config import parse
from monitor.extensions.discover.heard import Heard
from monitor.extensions.discover.proposal import Proposal
from tests.extensions.discover.test_proposal import NOW, heard, proposed


def tasmota(name: str, moment: float = NOW) -> Heard:
    content = {
        "Time": at(moment, ""),
        "PMS5003": {"CF1": 9, "PM2.5": 12.0, "PM10": 20.0},
        "BME280": {"Temperature": 71.6, "Humidity": 40.0, "Pressure": 29.53},
        "PressureUnit": "inHg",
        "TempUnit": "F",
    }
    return Heard(f"tele/{name}/SENSOR", json.dumps(content).encode(), moment)


def test_tasmotas_units_and_names_with_points_are_read_as_sent():
    found = proposed([tasmota("roof"), tasmota("shed"), tasmota("roof", NOW + 30.0)])

    read = {
        of: found.trial.content.readings["roof", of][0].value
        for _, of in found.trial.content.readings
    }
    assert read == {
        "pm25": 12.0,
        "pm10": 20.0,
        "temperature": pytest.approx(22.0),
        "humidity": 40.0,
        "pressure": pytest.approx(1000.0, abs=0.1),
    }
    assert r'value: "PMS5003[\"PM2.5\"]"' in found.text
    assert "TempUnit says degF" in found.text


@pytest.mark.parametrize("names", [("a", "b"), (3, 4)], ids=["texts", "numbers"])
def test_devices_that_share_a_topic_are_told_apart_by_their_payloads(names):
    bodies = [{"node": name, "ts": NOW, "kg": 512.5} for name in names]
    found = proposed(heard(*(sent("farm/weights", body) for body in bodies)))

    assert set(found.trial.content.readings) == {(str(name), "mass") for name in names}
    assert topics_of(found) == ["farm/weights"]


def shelly(name: str, *, humidity_notified: bool) -> list[Heard]:
    """Return what a Shelly H&T sends that notifies its temperature, and maybe its humidity."""
    temperature, humidity = {"id": 0, "tC": 20.9, "tF": 69.6}, {"id": 0, "rh": 45.9}
    params = {"ts": NOW, "temperature:0": temperature}
    params |= {"humidity:0": humidity} if humidity_notified else {}
    return heard(
        sent(f"{name}/events/rpc", {"src": name, "method": "NotifyStatus", "params": params}),
        sent(f"{name}/status/temperature:0", temperature),
        sent(f"{name}/status/humidity:0", humidity),
    )


def test_a_shellys_status_is_read_where_its_notifications_lack_the_quantity():
    found = proposed(shelly("attic", humidity_notified=False))

    assert {key: len(all_) for key, all_ in found.trial.content.readings.items()} == {
        ("attic", "temperature"): 1,
        ("attic", "humidity"): 1,
    }
    assert '"{sensor}/status/humidity:0"' in found.text


def test_no_number_of_several_shellys_is_read_twice():
    found = proposed(
        shelly("attic", humidity_notified=False) + shelly("cellar", humidity_notified=True)
    )

    assert {key: len(all_) for key, all_ in found.trial.content.readings.items()} == {
        (name, of): 1 for name in ("attic", "cellar") for of in ("temperature", "humidity")
    }


def test_topics_that_name_quantities_at_different_levels_are_all_read():
    topics = ("temperature/hall", "door/hall", "door/humidity")

    found = proposed(heard(*(sent(topic, "21.0") for topic in topics)))

    assert set(found.trial.content.readings) == {("hall", "temperature"), ("door", "humidity")}


@pytest.mark.parametrize(
    ("readings", "reference", "sources"),
    [
        (["house/d1/state"], "ref/d1/state", ["house/{sensor}/state", "ref/{subject}/state"]),
        (["m/d1/r", "m/d2/r"], "lab/d1/r", ["lab/{subject}/r", "m/{sensor}/r"]),
        (
            ["house/d1/state", "shed/d1/state"],
            "ref/d1/state",
            ["ref/{subject}/state", "{sensor}/d1/state"],
        ),
    ],
)
def test_the_level_that_tells_references_from_readings_stays_a_word(readings, reference, sources):
    body = {"ts": at(NOW), "temperature": 21.0}
    found = proposed(heard(sent(reference, {**body, "u": 0.1}), *(sent(x, body) for x in readings)))

    assert topics_of(found) == sources
    content = found.trial.content
    assert set(content.references) == {("d1", "temperature")}
    assert sum(map(len, content.readings.values())) == len(readings)
    assert not any("no topic looks like a reference" in each for each in found.missing)


def test_a_lone_result_of_a_station_does_not_open_the_level_of_its_reading():
    body = {"ts": at(NOW), "temperature": 21.0}
    result = {**body, "status": "final", "rev": 1}
    found = proposed(heard(sent("house/d1/state", body), sent("post/d1/state", result)))

    assert topics_of(found) == ["house/{sensor}/state", "post/{subject}/state"]
    assert found.trial.pairs["d1", "temperature"] == 1


def topics_of(found: Proposal) -> list[str]:
    """Return the topics of the proposed sources, without the project's own."""
    sources = parse(found.text.encode(), "proposal.yaml").sources
    return sorted(each.topic for each in sources if not each.topic.startswith("monitor/"))
