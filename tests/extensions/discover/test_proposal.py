"""`monitor discover`: a broker of many kinds of devices becomes settings that pair as they are."""

from __future__ import annotations

import json
import math
import random
import re

import numpy as np
import pytest
from harness.device_messages import FAMILIES, MORE_FAMILIES, Sent, at, references, sent
from harness.transitions import transition

from monitor.alerts.mqtt_sink import MqttSink, MqttSinkSettings, discovery
from monitor.config import parse
from monitor.config.sources import nameless_fields
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import SeriesName
from monitor.core.verdict.quality import UNCHECKED
from monitor.decode.checks import NO_FAULT
from monitor.extensions.corrected.corrected_readings import CorrectedReading, corrected_message
from monitor.extensions.discover.heard import Heard
from monitor.extensions.discover.proposal import Proposal, _concerned, propose
from monitor.extensions.discover.settings_text import Broker, Joining
from monitor.extensions.discover.trial import Content
from monitor.extensions.topics.home_assistant import HomeAssistantDevices
from monitor.extensions.topics.series import DeviceSeries, SeriesTopics
from monitor.report.recorded import InMemoryNetwork
from monitor.simulate.trades import TRADES

NOW = 1_800_000_000.0
BROKER = Broker({"host": "127.0.0.1", "port": 1883})
# What each family measures, by sensor: written from the messages by hand.
MEASURED = {
    "zigbee2mqtt": {
        ("Küche Süd", "temperature"), ("Küche Süd", "humidity"), ("Küche Süd", "pressure"),
        ("Bad (oben)", "temperature"), ("Bad (oben)", "humidity"),
    },
    "tasmota": {("tasmota_4F2A", of) for of in ("temperature", "humidity", "pressure")},
    "esphome": {("livingroom", of) for of in ("temperature", "humidity")},
    "shelly-1": {("shellyht-6A1B2C", of) for of in ("temperature", "humidity")},
    "shelly-rpc": {("shellyplusht-b8d61a8b17cc", of) for of in ("temperature", "humidity")},
    "things-stack": {("attic-1", of) for of in ("temperature", "humidity")},
    "chirpstack": {("0101010101010101", of) for of in ("temperature", "humidity")},
    "airgradient": {
        ("ecda3b1eaaaf", of) for of in ("temperature", "humidity", "co2", "pm1", "pm25", "pm10")
    },
    "sensorthings": {("Datastreams(1)", "temperature")},
    "statestream": {("bedroom", "temperature")},
    "native": {("probe-1", "temperature")},
    "dragino": {("shed-1", of) for of in ("temperature", "humidity")},
    "rtl_433": {
        (name, of) for name in ("Acurite-Tower.A.11524", "Acurite-Tower.B.4711")
        for of in ("temperature", "humidity")
    },
    "rtl_433-events": {
        (name, of) for name in ("Acurite-Tower.11524", "Acurite-Tower.4711")
        for of in ("temperature", "humidity")
    },
    "theengs": {
        (name, of) for name in ("A4C138AABBCC", "A4C138AABBDD")
        for of in ("temperature", "humidity")
    },
    "shelly-switch": {("shellyplus1pm-a8032abe54dc.switch:0", "power")},
    "ruuvi": {
        (name, of) for name in ("F4:1F:0C:28:CB:D6", "F4:1F:0C:28:CB:D7")
        for of in ("temperature", "humidity", "pressure")
    },
    "wiren-board": {
        (name, of) for name in ("wb-msw-v3_21", "wb-msw-v3_22")
        for of in ("temperature", "humidity")
    },
    "displays": {
        ("p1", "temperature"), ("p2", "temperature"), ("s1", "mass"), ("s2", "mass"),
        ("net", "mass"),
    },
    "texts": {(name, of) for name in ("r1", "r2") for of in ("temperature", "humidity")},
    "embedded": {
        (name, of) for name in ("m1", "m2", "m3", "m4") for of in ("temperature", "humidity")
    },
    "units-in-names": {
        ("f1", "temperature"), ("f2", "temperature"), ("c1", "temperature"),
        ("f1", "pressure"), ("f2", "pressure"),
    },
    "senml-bridge": {
        *((name, of) for name in ("b1", "b2") for of in ("temperature", "humidity")),
        ("n1", "temperature"), ("n2", "temperature"),
    },
}  # fmt: skip
# What all of them measure, as the references do, to within what their messages differ by.
TRUTH = {"temperature": (21.0, 0.7), "humidity": (45.0, 2.5), "pressure": (1005.0, 25.0)}
EVERY = FAMILIES | MORE_FAMILIES


def heard(*messages: Sent, time: float = NOW, at_first: bool = False) -> list[Heard]:
    """Return messages; those that the broker kept are marked as such ``at_first`` alone."""
    return [Heard(each.topic, each.payload, time, at_first and each.retain) for each in messages]


def twice(*makers) -> list[Heard]:
    """Return what several kinds of devices send within half a minute."""
    return [
        each
        for moment in (NOW, NOW + 30.0)
        for make in makers
        for each in heard(*make(moment), time=moment, at_first=moment == NOW)
    ]


def proposed(messages: list[Heard]) -> Proposal:
    """Return a proposal, which is settings without a mistake whatever was heard."""
    found = propose(messages, NOW + 60.0, BROKER)
    parse(found.text.encode(), "proposal.yaml")
    return found


# -- each family by itself, and all of them -------------------------------------------------------


@pytest.mark.parametrize("family", EVERY)
def test_a_family_is_read_and_pairs_with_the_references_without_an_edit(family):
    found = proposed(twice(EVERY[family], references))

    assert set(found.trial.content.readings) == MEASURED[family]
    assert set(found.trial.content.references) == {
        ("hall", "temperature"),
        ("hygrometer", "humidity"),
    }
    paired = {key for key, count in found.trial.pairs.items() if count}
    assert paired == {key for key in MEASURED[family] if key[1] in ("temperature", "humidity")}
    assert {each.reason for each in found.trial.content.refused} <= NO_FAULT
    for (_, quantity), readings in found.trial.content.readings.items():
        value, most = TRUTH.get(quantity, (math.nan, math.inf))
        assert not [each.value for each in readings if abs(each.value - value) > most]


@pytest.mark.parametrize("family", EVERY)
def test_the_uncertainty_is_assumed_and_marked_where_a_family_states_none(family):
    found = proposed(twice(EVERY[family], references))

    is_assumed = family != "native"
    for readings in found.trial.content.readings.values():
        assert {each.assumed for each in readings} == {is_assumed}
        assert all(each.u > 0.0 for each in readings)
    assert ("ASSUMED u =" in found.text) == is_assumed


def test_a_mixed_broker_becomes_settings_that_pair_without_an_edit():
    found = proposed(twice(*FAMILIES.values(), references))

    assert set(found.trial.content.readings) == set().union(*(MEASURED[of] for of in FAMILIES))
    assert "temperature: 12 of 12 sensors paired with the reference hall while listening" in (
        found.findings
    )
    assert "humidity: 9 of 9 sensors paired with the reference hygrometer while listening" in (
        found.findings
    )
    assert "co2 has no reference" in found.missing


def test_times_units_and_values_are_those_that_were_sent():
    found = proposed(twice(*FAMILIES.values(), references))

    values = {
        (sensor, of): (each.value, each.time - NOW)
        for (sensor, of), readings in found.trial.content.readings.items()
        for each in readings[:1]
    }
    assert values["tasmota_4F2A", "pressure"] == (1001.3, 0.0)
    assert values["attic-1", "temperature"] == (21.3, pytest.approx(0.785788, abs=1e-6))
    assert values["0101010101010101", "humidity"] == (46.8, pytest.approx(0.775023, abs=1e-6))
    assert values["Datastreams(1)", "temperature"] == (21.2, 0.0)
    assert values["ecda3b1eaaaf", "pm25"] == (7.0, 0.0)
    assert values["livingroom", "temperature"] == (21.1, 0.0)


def test_what_all_families_together_send_is_read_as_what_each_alone_does():
    together = {name: make for name, make in EVERY.items() if name != "rtl_433-events"}

    found = proposed(twice(*together.values(), references))

    assert set(found.trial.content.readings) == set().union(*(MEASURED[of] for of in together))
    assert not [each for each in found.missing if "not read" in each]
    sources = parse(found.text.encode(), "proposal.yaml").sources
    assert not [each.topic for each in sources if nameless_fields(each)]


def test_pressures_are_told_to_be_in_pascals_by_their_size():
    found = proposed(twice(MORE_FAMILIES["ruuvi"], references))

    (pressure, *_) = found.trial.content.readings["F4:1F:0C:28:CB:D6", "pressure"]
    assert pressure.value == pytest.approx(1001.3)
    assert pressure.u == 1.0


def test_an_area_concerns_the_sensors_that_it_names_and_no_part_of_a_name():
    content = Content({("p1", "no2"): [], ("p11", "no2"): []}, {("S3", "no2"): []}, set(), {})
    area = {"subject": "S3", "sensors": ["p11", "p2"]}

    concerned = _concerned(Joining([(area, "")], {}, [], []), content)

    assert concerned == {("S3", "no2"): ["p11"]}


def test_the_proposal_does_not_hang_on_the_order_of_messages():
    messages = twice(*FAMILIES.values(), references)
    shuffled = random.Random(3).sample(messages, len(messages))

    assert proposed(shuffled).text == proposed(messages).text


# -- what it finds out by itself -------------------------------------------------------------------


@pytest.mark.parametrize("trade", TRADES)
def test_the_three_trades_pair_as_proposed(trade):
    messages = TRADES[trade](np.random.default_rng(1)).messages[:3000]
    found = propose([Heard(*each[1:], each[0]) for each in messages], messages[-1].time, BROKER)

    parse(found.text.encode(), "proposal.yaml")
    of = {"weighing": "mass", "air": "pm25", "process": "density"}[trade]
    counts = {sensor: n for (sensor, quantity), n in found.trial.pairs.items() if quantity == of}
    assert counts
    assert min(counts.values()) >= 3


def own_messages(prefix: str) -> list[Heard]:
    """Return what a daemon publishes about itself, made by what makes it."""
    of = transition(1)
    name = SeriesName("probe-1", "temperature", "degC")
    devices = HomeAssistantDevices(prefix, f"{prefix}/home")
    memory, topics = InMemoryNetwork(lambda *_: SeriesRules(), 32), SeriesTopics(prefix)
    memory.network.registry.add("probe-1", "temperature")
    topics.update(memory.network.evaluate(NOW))
    corrected = CorrectedReading(
        name, NOW, 20.1, 0.5, 19.0, 21.0, 0.9, is_compared=True, quality=UNCHECKED
    )
    (verdict,) = topics.messages(9)
    alert = MqttSink(MqttSinkSettings(topic=prefix), lambda: None)._payload(of)
    config = json.dumps(discovery(of, prefix)).encode()
    return [
        Heard(verdict.topic, verdict.payload, NOW, retained=True),
        Heard(f"{prefix}/probe-1/temperature/offset", alert, NOW),
        Heard(f"{prefix}/binary_sensor/x/config", config, NOW),
        Heard(
            devices.topic("probe-1"),
            json.dumps(devices.config("probe-1", [DeviceSeries(name)])).encode(),
            NOW,
        ),
        Heard(f"{prefix}/corrected/temperature", corrected_message(corrected), NOW),
        Heard(f"{prefix}/status", b"online", NOW),
    ]


def test_what_monitor_itself_publishes_is_no_sensor():
    plain = heard(sent("boxes/box-7/data", {"temperature": 21.5}))
    own = own_messages("plant/a")

    found = proposed([*plain, *own])

    assert set(found.trial.content.readings) == {("box-7", "temperature")}
    assert "plant/a" not in re.sub(r"(?m)^#.*\n", "", found.text)
    assert not any("plant/a" in each for each in found.missing)
    (line,) = [each for each in found.findings if "`monitor` itself" in each]
    assert f"{len(own) - 1} messages on plant/a/" in line
    assert not any("itself" in each for each in proposed(plain).findings)


def test_references_and_readings_as_plain_numbers_are_told_apart():
    found = proposed(heard(sent("lab/temperature", "21.0"), sent("attic/temperature", "21.3")))

    assert set(found.trial.content.references) == {("lab", "temperature")}
    assert set(found.trial.content.readings) == {("attic", "temperature")}


# -- what is missing -------------------------------------------------------------------------------


def test_without_references_it_says_how_to_give_one():
    found = proposed(twice(FAMILIES["tasmota"]))

    assert not found.trial.pairs["tasmota_4F2A", "temperature"]
    assert any("no topic looks like a reference" in each for each in found.missing)
    assert any("monitor reference" in each for each in found.missing)
    assert "MISSING: no topic looks like a reference" in " ".join(found.text.split("\n# "))


def test_references_that_are_all_refused_are_not_said_to_be_missing():
    body = {"time": at(NOW), "temperature": 21.0}
    found = proposed(heard(sent("shed/a1/up", body), sent("lab/a1/up", {**body, "U": -1.0})))

    assert "no reference was read of those on lab/{subject}/up" in found.missing
    assert any("on lab/a1/up refused" in each for each in found.missing)
    assert not any("no topic looks" in each for each in found.missing)


def test_of_nothing_it_says_that_nothing_was_heard():
    found = proposed([])

    assert found.missing[0].startswith("nothing was heard")
