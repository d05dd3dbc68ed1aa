"""`monitor discover`: a broker of many kinds of devices becomes settings that pair as they are."""

from __future__ import annotations

import json
import random
import re
import subprocess
import threading
import time

import numpy as np
import pytest
from harness.broker import Mosquitto
from harness.certificates import Authority
from harness.device_messages import (
    FAMILIES,
    MORE_FAMILIES,
    Sent,
    at,
    references,
    sensor_community,
    sent,
)
from harness.programs import free_port, need, written
from harness.transitions import transition

from monitor.alerts.mqtt_sink import MqttSink, MqttSinkSettings, discovery
from monitor.cli import main
from monitor.commands.broker_address import broker_keys
from monitor.config import load, parse
from monitor.core.model import Reading
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import SeriesName
from monitor.extensions.corrected.corrected_readings import CorrectedReading, corrected_message
from monitor.extensions.discover.heard import Heard
from monitor.extensions.discover.proposal import Proposal, _concerned, propose
from monitor.extensions.discover.settings_text import Broker, Joining
from monitor.extensions.discover.trial import Content, content_of
from monitor.extensions.topics.home_assistant import HomeAssistantDevices
from monitor.extensions.topics.series import SeriesTopics
from monitor.mqtt.publish import BrokerPublisher
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
}  # fmt: skip
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


def readings_of(text: str, body: object) -> list[Reading]:
    """Return what a changed proposal reads on the topic of its only device."""
    changed = parse(text.encode(), "changed.yaml")
    found = content_of(changed, heard(sent("shed/a1/up", body)))
    return [reading for readings in found.readings.values() for reading in readings]


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
    assert not found.trial.content.refused


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


def test_pressures_are_told_to_be_in_pascals_by_their_size():
    found = proposed(twice(MORE_FAMILIES["ruuvi"], references))

    (pressure, *_) = found.trial.content.readings["F4:1F:0C:28:CB:D6", "pressure"]
    assert pressure.value == pytest.approx(1001.3)
    assert pressure.u == 1.0


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


def test_tasmotas_that_differ_in_their_unit_are_read_by_the_unit_that_each_states():
    other = tasmota("shed")
    other = other._replace(
        payload=other.payload.replace(b"29.53", b"750.1").replace(b'"inHg"', b'"mmHg"')
    )

    found = proposed([tasmota("roof"), other])

    values = [found.trial.content.readings[name, "pressure"][0].value for name in ("roof", "shed")]
    assert values == [pytest.approx(1000.0, abs=0.1)] * 2


def test_devices_whose_announced_units_differ_have_a_source_each():
    announced = [
        sent(
            f"homeassistant/sensor/{name}/temperature/config",
            {
                "state_topic": f"boxes/{name}/data",
                "device_class": "temperature",
                "unit_of_measurement": unit,
                "value_template": "{{ value_json.t1 }}",
            },
            retain=True,
        )
        for name, unit in (("a1", "°C"), ("a2", "°C"), ("a3", "°F"))
    ]
    values = {"a1": 21.0, "a2": 21.5, "a3": 70.7}
    data = [sent(f"boxes/{name}/data", {"t1": value}) for name, value in values.items()]

    found = proposed(heard(*announced, *data))

    read = {name: readings[0].value for (name, _), readings in found.trial.content.readings.items()}
    assert read == {"a1": 21.0, "a2": 21.5, "a3": pytest.approx(21.5)}
    assert topics_of(found) == ["boxes/a3/data", "boxes/{sensor}/data"]


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


def test_names_of_sensors_in_references_and_keys_are_found():
    tags = ["982 000412", "982 000413", "982 000414"]
    messages = []
    for n, tag in enumerate(tags):
        moment = NOW + 40.0 * n
        reading = {"ts": at(moment), "animal": tag, "kg": 500.0 + n, "kg_sd": 5.0}
        truth = {"when": "", "ts": at(moment + 600.0), "chip": tag.replace(" ", ""), "kg": 501.0}
        messages += heard(sent("farm/scale-3/weighing", reading), time=moment)
        messages += heard(sent("farm/static/result", {**truth, "device": "scale-3"}), time=moment)

    found = propose(messages, NOW + 1000.0, BROKER)

    source, other, *_ = parse(found.text.encode(), "p").sources
    maps = {each.kind: each.map for each in (source, other)}
    assert maps["reading"].key == "animal"
    assert maps["reference"].key == "chip"
    assert maps["reference"].names == {"device": "{subject}"}
    assert found.trial.pairs == {("scale-3", "mass"): 3}
    assert {each.u for each in found.trial.content.readings["scale-3", "mass"]} == {5.0}


def test_a_tag_that_readings_state_too_is_the_key_and_no_subject():
    messages = []
    for n, tag in enumerate(("982 000412", "982 000413")):
        moment = NOW + 40.0 * n
        body = {"tag": tag, "ts": moment, "kg": 500.0, "sd": 5.0}
        truth = {"tag": tag, "ts": moment + 300.0, "kg": 501.0}
        messages += heard(sent("wow/race/p03", body), time=moment)
        messages += heard(sent("wow/static", truth), time=moment + 300.0)

    found = propose(messages, NOW + 1000.0, BROKER)

    parse(found.text.encode(), "proposal.yaml")
    assert found.trial.pairs == {("p03", "mass"): 2}
    assert {key.sensor for key in found.trial.content.references} == {"static"}


def test_local_times_without_a_zone_are_told_by_their_arrival():
    body = {"time": at(NOW + 13 * 3600.0, ""), "temperature": 21.0}
    found = proposed(heard(sent("garden/shed-1/weather", body)))

    ((reading,),) = found.trial.content.readings.values()
    assert reading.time == NOW
    assert "Etc/GMT-13" in found.text


def test_a_day_without_an_hour_is_no_time():
    body = {"date": at(NOW)[:10], "temperature": 21.0}
    found = proposed(heard(sent("garden/shed-1/weather", body)))

    ((reading,),) = found.trial.content.readings.values()
    assert reading.time == NOW
    assert "date is a day without an hour: the time of arrival is taken" in found.text


@pytest.mark.parametrize(
    "stated",
    [
        lambda time: time,
        lambda time: int(time * 1e3),
        lambda time: str(int(time * 1e6)),
        lambda time: at(time, "+00:00"),
        lambda time: at(time - 5 * 3600.0, ""),
    ],
    ids=["s", "ms", "us in a text", "ISO 8601", "without a zone"],
)
def test_a_time_is_known_by_its_values_under_any_name(stated):
    messages = []
    for moment in (NOW, NOW + 30.0):
        body = {"began": NOW - 100.0, "zeit_der_probe": stated(moment - 2.0), "temperature": 21.0}
        messages += heard(sent("garden/shed-1/weather", body), time=moment)

    found = proposed(messages)

    ((first, second),) = found.trial.content.readings.values()
    assert (first.time, second.time) == (NOW - 2.0, NOW + 28.0)
    assert "zeit_der_probe is the time, because it moves with the arrival" in found.text


def test_what_stays_while_messages_come_or_is_far_from_now_is_no_time():
    body = {"began": NOW - 100.0, "due": at(NOW + 7200.0), "temperature": 21.0}
    found = proposed(
        [
            each
            for moment in (NOW, NOW + 30.0)
            for each in heard(sent("garden/shed-1/weather", body), time=moment)
        ]
    )

    ((first, second),) = found.trial.content.readings.values()
    assert (first.time, second.time) == (NOW, NOW + 30.0)


@pytest.mark.parametrize(
    ("name", "key"),
    [("sigma", "u"), ("std", "u"), ("err", "u"), ("U95", "U"), ("accuracy", "plus_minus")],
)
def test_an_uncertainty_beside_several_quantities_is_a_question(name, key):
    body = {"temperature": 21.0, "humidity": 45.0, name: 0.4}
    found = proposed(heard(sent("shed/a1/up", body)))

    text = " ".join(found.text.replace("#", " ").split())
    assert f"QUESTION: is {name} the {key} of temperature or of humidity?" in text
    assert f"Then write {key}: {name} into its line in place of assumed" in text
    assert "1 question in the file, marked QUESTION" in found.findings
    changed = re.sub(r', assumed: "0.5"', f", {key}: {name}", found.text)
    (reading, *_) = readings_of(changed, body)
    assert (reading.quantity, reading.assumed) == ("temperature", False)


def test_a_word_that_may_be_an_error_code_is_a_question_beside_one_quantity_too():
    found = proposed(heard(sent("shed/a1/up", {"temperature": 21.0, "err": 0})))

    assert "QUESTION: is err the u of temperature?" in found.text
    ((reading,),) = found.trial.content.readings.values()
    assert reading.assumed


@pytest.mark.parametrize(
    ("quantity", "code", "values"),
    [
        ("temperature", -127, (21.0, 21.5)),
        ("temperature", 85.0, (-9.5, 30.0)),
        ("temperature", 327.67, (21.0, 21.5)),
        ("co2", 65535, (420, 512)),
        ("temperature", "850.0", ("21.0", "20.5")),
    ],
)
def test_a_number_that_says_there_is_no_value_is_no_reading(quantity, code, values):
    found = proposed(heard(*(sent("shed/a1/up", {quantity: each}) for each in (*values, code))))

    ((*readings,),) = found.trial.content.readings.values()
    assert [each.value for each in readings] == [float(each) for each in values]
    assert f"error_values: [{float(code)}]" in found.text
    assert not any("refused" in each for each in found.missing)


@pytest.mark.parametrize(
    ("quantity", "values"),
    [
        ("temperature", (71.0, 85.0)),
        ("co2", (420, 850)),
        ("humidity", (40, 85)),
        ("temperature", (85.0,)),
    ],
)
def test_a_number_among_others_of_its_size_is_a_reading(quantity, values):
    found = proposed(heard(*(sent("shed/a1/up", {quantity: each}) for each in values)))

    ((*readings,),) = found.trial.content.readings.values()
    assert [each.value for each in readings] == [float(each) for each in values]


def test_packs_of_senml_are_read_with_the_units_and_uncertainties_that_they_state():
    messages = [
        each
        for name, kelvin in (("n1", 294.15), ("n2", 295.15))
        for each in heard(
            sent(
                f"senml/{name}",
                [
                    {
                        "bn": f"urn:dev:{name}:",
                        "bt": NOW,
                        "n": "temperature",
                        "u": "K",
                        "v": kelvin,
                    },
                    {"n": "temperature_u", "u": "K", "v": 0.4},
                    {"n": "humidity", "u": "%RH", "v": 44.0},
                    {"n": "battery", "u": "%EL", "v": 97.0},
                    {"n": "zaehlrate", "v": 31.5},
                ],
            )
        )
    ]
    found = proposed([*messages, *heard(sent("lab/temperature", {"time": at(NOW), "value": 21.0}))])

    read = {key: readings[0] for key, readings in found.trial.content.readings.items()}
    assert set(read) == {(name, of) for name in ("n1", "n2") for of in ("temperature", "humidity")}
    first = read["n1", "temperature"]
    assert (first.value, first.u, first.time) == (pytest.approx(21.0), pytest.approx(0.4), NOW)
    assert (read["n2", "humidity"].value, read["n2", "humidity"].assumed) == (44.0, True)
    assert found.trial.pairs["n1", "temperature"] == found.trial.pairs["n2", "temperature"] == 1
    assert "is a measurement among beside.zaehlrate?" in found.text
    assert not any("SenML" in each for each in found.missing)


def test_numbers_that_are_left_over_are_a_question():
    body = {"temperature": 21.0, "zaehlrate": 31.5, "battery": 97}
    found = proposed(heard(sent("shed/a1/up", body)))

    text = " ".join(found.text.replace("#", " ").split())
    assert "QUESTION: is a measurement among zaehlrate? Then give it a line of its own" in text
    assert "* numbers left out: battery" in found.text


def test_a_counter_of_a_gateway_is_no_time():
    (uplink,) = FAMILIES["things-stack"](NOW)
    body = json.loads(uplink.payload)
    body["uplink_message"]["settings"]["timestamp"] = int(NOW) - 100 * 86_400  # microseconds, once
    found = proposed(heard(sent(uplink.topic, body)))

    assert found.trial.content.readings["attic-1", "temperature"][0].time == pytest.approx(
        NOW, abs=1.0
    )


@pytest.mark.parametrize("names", [("a", "b"), (3, 4)], ids=["texts", "numbers"])
def test_devices_that_share_a_topic_are_told_apart_by_their_payloads(names):
    bodies = [{"node": name, "ts": NOW, "kg": 512.5} for name in names]
    found = proposed(heard(*(sent("farm/weights", body) for body in bodies)))

    assert set(found.trial.content.readings) == {(str(name), "mass") for name in names}
    assert topics_of(found) == ["farm/weights"]


def test_an_uncertainty_may_be_a_text_too():
    body = {"ts": NOW, "kg": 512.5, "kg_sd": "5,5"}
    found = proposed(heard(sent("farm/scale-3/weighing", body)))

    ((reading,),) = found.trial.content.readings.values()
    assert (reading.u, reading.assumed) == (5.5, False)


@pytest.mark.parametrize(
    ("level", "p", "told"),
    [
        ({}, 0.9, "ASSUMED p = 0.9, because no level is stated: put yours here"),
        ({"confidence": 95}, 0.95, "confidence says 95 %"),
        ({"kg_p": 95}, 0.95, "kg_p says 95 %"),
        ({"p": 0.8}, 0.8, "p the coverage probability"),
    ],
)
def test_the_level_of_an_interval_is_that_stated_or_marked_as_assumed(level, p, told):
    limits = {"kg_lo": 500.0, "kg_hi": 525.0} if "kg_p" in level else {"lo": 500.0, "hi": 525.0}
    body = {"ts": NOW, "kg": 512.5, **limits, **level}
    found = proposed(heard(sent("farm/scale-3/weighing", body)))

    ((reading,),) = found.trial.content.readings.values()
    assert (reading.lower, reading.upper, reading.p) == (500.0, 525.0, p)
    assert told in " ".join(found.text.replace("#", " ").split())


def test_references_over_an_interval_are_held_against_the_mean_of_the_readings():
    messages = [
        each
        for n in range(12)
        for each in heard(
            sent("air/node-1/obs", {"ts": NOW + 600.0 * n, "pm25": {"v": 10.0, "u": 1.0}}),
            time=NOW + 600.0 * n,
        )
    ]
    hour = {"start": at(NOW), "end": at(NOW + 3600.0), "pm25": 9.0, "u": 0.5, "rev": 1}
    messages += heard(sent("official/S3/hourly", hour), time=NOW + 7200.0)

    found = propose(messages, NOW + 7200.0, BROKER)

    assert "reading_seconds: 600.0" in found.text
    assert found.trial.pairs == {("node-1", "pm25"): 1}


def own_messages(prefix: str) -> list[Heard]:
    """Return what a daemon publishes about itself, made by what makes it."""
    of = transition(1)
    name = SeriesName("probe-1", "temperature", "degC")
    devices = HomeAssistantDevices(prefix, f"{prefix}/home")
    memory, topics = InMemoryNetwork(lambda *_: SeriesRules(), 32), SeriesTopics(prefix)
    memory.network.registry.add("probe-1", "temperature")
    topics.take(memory.network.evaluate(NOW))
    corrected = CorrectedReading(name, NOW, 20.1, 0.5, 19.0, 21.0, 0.9, is_compared=True)
    (verdict,) = topics.messages(9)
    alert = MqttSink(MqttSinkSettings(topic=prefix), lambda: None)._payload(of)
    config = json.dumps(discovery(of, prefix)).encode()
    return [
        Heard(verdict.topic, verdict.payload, NOW, retained=True),
        Heard(f"{prefix}/probe-1/temperature/offset", alert, NOW),
        Heard(f"{prefix}/binary_sensor/x/config", config, NOW),
        Heard(
            devices.topic("probe-1"), json.dumps(devices.config("probe-1", [name])).encode(), NOW
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


def test_home_assistants_discovery_names_what_a_payload_does_not():
    device = {"identifiers": ["x"], "name": "x"}
    config = {
        "dev": device,
        "o": {"name": "x"},
        "cmps": {
            "a": {"p": "sensor", "dev_cla": "temperature", "unit_of_meas": "°F",
                  "val_tpl": "{{ value_json.a1 }}"},
            "b": {"p": "sensor", "dev_cla": "humidity", "unit_of_meas": "%",
                  "val_tpl": "{{ value_json.b['1.h'] }}"},
            "c": {"p": "sensor", "dev_cla": "temperature", "ent_cat": "diagnostic",
                  "val_tpl": "{{ value_json.chip }}"},
        },
        "~": "boxes/box-7",
        "stat_t": "~/data",
    }  # fmt: skip
    body = {"a1": 70.0, "b": {"1.h": 40}, "chip": 55.0}
    announcement = sent("homeassistant/device/x/config", config, retain=True)
    found = proposed(heard(announcement, sent("boxes/box-7/data", body)))

    assert set(found.trial.content.readings) == {("box-7", "temperature"), ("box-7", "humidity")}
    (reading,) = found.trial.content.readings["box-7", "temperature"]
    assert reading.value == pytest.approx((70.0 - 32.0) / 1.8)


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


def topics_of(found: Proposal) -> list[str]:
    """Return the topics of the proposed sources, without the project's own."""
    sources = parse(found.text.encode(), "proposal.yaml").sources
    return sorted(each.topic for each in sources if not each.topic.startswith("monitor/"))


def test_a_quantity_in_a_topic_is_a_fixed_word_and_leaves_other_topics_alone():
    found = proposed(
        heard(
            sent("co2/node1", "412.0"),
            sent("co2/node2", "415.0"),
            sent("door/node2", "1.0"),
            sent("senml/node1", [{"n": "kg", "v": 512}, {"bn": "other/", "n": "kg", "v": 2}]),
        )
    )

    assert topics_of(found) == ["co2/{sensor}"]
    assert set(found.trial.content.readings) == {("node1", "co2"), ("node2", "co2")}
    assert not found.trial.content.refused
    told = " ".join(found.missing)
    assert "not read: senml/node1 carries SenML" in told
    assert "no quantity was recognised there: door/node2." in told


def test_topics_that_name_quantities_at_different_levels_are_all_read():
    topics = ("temperature/hall", "door/hall", "door/humidity")

    found = proposed(heard(*(sent(topic, "21.0") for topic in topics)))

    assert set(found.trial.content.readings) == {("hall", "temperature"), ("door", "humidity")}


def test_each_quantity_that_topics_name_has_its_unit_and_its_uncertainty():
    found = proposed(
        heard(
            sent("sensors/room/temperature", "0.0"),
            sent("sensors/room/humidity", "45.5"),
            sent("sensors/room/battery", "88.0"),
        )
    )

    assert topics_of(found) == ["sensors/{sensor}/humidity", "sensors/{sensor}/temperature"]
    (temperature,) = found.trial.content.readings["room", "temperature"]
    (humidity,) = found.trial.content.readings["room", "humidity"]
    assert (temperature.value, temperature.u) == (0.0, 0.5)
    assert (humidity.value, humidity.u) == (45.5, 3.0)
    assert "left out, because they tell of the device itself: sensors/room/battery" in (
        found.findings
    )
    assert 'unit: "degC"' in found.text
    assert 'unit: "%"' in found.text


@pytest.mark.parametrize(
    ("values", "u_at_0"),
    [
        ((0.0, 3.25), 0.01),
        ((0, 400), 1.0),
        ((0.0, 33.333333333333336), 0.003),
        (("0,0", "0,5"), 0.1),
    ],
    ids=["hundredths", "whole", "computed", "texts"],
)
def test_an_assumed_share_of_the_value_has_the_last_digit_heard_as_its_least(values, u_at_0):
    found = proposed(heard(*(sent("mill/drain/flow", {"value": each}) for each in values)))

    (at_0, *_) = found.trial.content.readings["drain", "flow"]
    assert (at_0.value, at_0.u) == (0.0, u_at_0)
    assert "no unit is stated: if it has one, write it here as unit" in " ".join(
        found.text.replace("#", " ").split()
    )


def test_references_and_readings_as_plain_numbers_are_told_apart():
    found = proposed(heard(sent("lab/temperature", "21.0"), sent("attic/temperature", "21.3")))

    assert set(found.trial.content.references) == {("lab", "temperature")}
    assert set(found.trial.content.readings) == {("attic", "temperature")}


def test_a_level_that_others_use_for_something_else_is_a_fixed_word():
    body = {"temperature": 21.0}
    rooms = [sent(topic, body) for topic in ("east/hall", "west/hall", "east/attic")]

    assert topics_of(proposed(heard(*rooms))) == ["{level1}/{sensor}"]
    found = proposed(heard(*rooms, sent("door/hall", "open")))
    assert topics_of(found) == ["east/{sensor}", "west/{sensor}"]
    sensors = {sensor for sensor, _ in found.trial.content.readings}
    assert sensors == {"east.hall", "west.hall", "east.attic"}


def test_numbers_in_a_payload_that_are_no_measurement_are_told_in_a_comment():
    body = {"temperature": 21.0, "battery": 97, "serial": "4711", "ok": True}

    assert "  # * numbers left out: battery\n" in proposed(heard(sent("shed/a1/up", body))).text


def test_advice_for_a_format_is_given_where_a_proposed_source_refuses_it():
    senml = sent("nodes/n2", [{"n": "kg", "v": 512}])
    found = proposed(heard(sent("nodes/n1", {"temperature": 21.0}), senml))

    assert {each.topic for each in found.trial.content.refused} == {"nodes/n2"}
    assert any(each.startswith("not read: nodes/n2 carries SenML") for each in found.missing)


# -- what is missing -------------------------------------------------------------------------------


def test_without_references_it_says_how_to_give_one():
    found = proposed(twice(FAMILIES["tasmota"]))

    assert not found.trial.pairs["tasmota_4F2A", "temperature"]
    assert any("no topic looks like a reference" in each for each in found.missing)
    assert any("monitor reference" in each for each in found.missing)
    assert "MISSING: no topic looks like a reference" in " ".join(found.text.split("\n# "))


def test_a_sensor_that_says_it_has_no_value_is_not_told_as_refused():
    found = proposed(heard(*(sent("n1/sensor/co2/state", each) for each in ("nan", "612"))))

    assert set(found.trial.content.readings) == {("n1", "co2")}
    assert not any("refused" in each for each in found.missing)


def test_of_nothing_it_says_that_nothing_was_heard():
    found = proposed([])

    assert found.missing[0].startswith("nothing was heard")


def test_a_reference_that_is_too_old_is_told():
    old = [each._replace(time=NOW) for each in heard(*references(NOW - 7200.0))]
    found = proposed([*twice(FAMILIES["tasmota"]), *old])

    assert not any(found.trial.pairs.values())
    told = " ".join(found.missing)
    assert "no pair of temperature yet: readings and references are too far apart in time" in told
    assert at(NOW - 7200.0) in told


def test_a_reference_whose_topic_names_no_subject_is_read_and_stands_beside_all():
    truth = {"time": at(NOW), "value": 20.0, "u": 0.05}
    found = proposed(
        [
            *heard(
                *(sent(f"zigbee2mqtt/{n}", {"temperature": 20.1, "linkquality": 9}) for n in "ab")
            ),
            *heard(sent("reference/temperature", truth)),
        ]
    )

    assert found.trial.pairs == {("a", "temperature"): 1, ("b", "temperature"): 1}
    ((subject, _),) = found.trial.content.references
    assert subject == "reference"


def test_what_the_check_refuses_is_a_sentence_in_a_file_that_checks():
    years = 3.2e7  # beyond the longest time that settings let a reading stand for
    readings = [
        sent("air/node-1/obs", {"ts": NOW - years * n, "pm25": 10.0, "temperature": 21.0})
        for n in range(2)
    ]
    hour = {"start": at(NOW - 3600.0), "end": at(NOW), "pm25": 9.0, "u": 0.5, "rev": 1}
    found = proposed(heard(*readings, sent("official/S3/hourly", hour)))

    (sentence,) = [each for each in found.missing if each.startswith("left out")]
    assert sentence.startswith(
        "left out of overrides, to be written by hand (docs/formats.md): pm25;"
    )
    assert "must be at most 31622400" in sentence
    assert "MISSING: left out of overrides" in found.text
    assert set(found.trial.content.readings) == {("node-1", "pm25"), ("node-1", "temperature")}


# -- the command, at a real broker -----------------------------------------------------------------


@pytest.fixture
def mosquitto(tmp_path):
    (tmp_path / "broker").mkdir()
    broker = Mosquitto(tmp_path / "broker")
    yield broker
    broker.stop()


def test_the_command_listens_to_a_broker_and_writes_settings_that_check(
    mosquitto, tmp_path, capsys
):
    out, done = tmp_path / "found.yaml", threading.Event()

    def publish() -> None:
        with BrokerPublisher("127.0.0.1", mosquitto.port) as publisher:
            while not done.is_set():
                for make in (*FAMILIES.values(), references):
                    for each in make(time.time()):
                        publisher.publish(each.topic, each.payload, retain=each.retain)
                publisher.flush()
                publisher.sleep(0.5)

    sending = threading.Thread(target=publish)
    sending.start()
    try:
        code = main(
            ["discover", f"127.0.0.1:{mosquitto.port}", "--seconds", "4", "--out", str(out)]
        )
    finally:
        done.set()
        sending.join()
    said = capsys.readouterr()

    assert code == 0, said.err
    assert "temperature: 12 of 12 sensors paired with the reference hall" in said.err
    assert main(["check-config", str(out)]) == 0
    assert load(out).mqtt.port == mosquitto.port
    assert main(["discover", "--out", str(out)]) == 73


@pytest.mark.parametrize("way", ["ws", "mqtts", "mqtts by options"])
def test_the_command_listens_over_websocket_and_tls_and_proposes_the_same(tmp_path, capsys, way):
    is_encrypted = way != "ws"
    authority, port = Authority(tmp_path / "authority"), free_port()
    certificate, key = authority.issue("broker", "127.0.0.1")
    more = f"listener {port} 127.0.0.1\n"
    more += f"certfile {certificate}\nkeyfile {key}\n" if is_encrypted else "protocol websockets\n"
    (tmp_path / "broker").mkdir()
    broker = Mosquitto(tmp_path / "broker", more)
    out, given = tmp_path / "found.yaml", tmp_path / "given.yaml"
    given.write_text(
        f'mqtt: {{host: 127.0.0.1, port: {port}, tls: {{ca_file: "{authority.ca_file}"}}}}\n'
    )
    where = {
        "ws": [f"ws://127.0.0.1:{port}/mqtt"],
        "mqtts": ["--config", str(given)],
        "mqtts by options": [f"127.0.0.1:{port}", "--ca", str(authority.ca_file)],
    }[way]
    try:
        with BrokerPublisher("127.0.0.1", broker.port) as publisher:
            for each in references(time.time()):
                publisher.publish(each.topic, each.payload, retain=True)
        main(["discover", *where, "--seconds", "2", "--out", str(out)])
    finally:
        broker.stop()

    assert "lab/hygrometer" in out.read_text(encoding="utf-8"), capsys.readouterr().err
    found = load(out).mqtt
    assert found.port == port
    assert (found.tls is not None, found.websocket_path) == (
        (True, None) if is_encrypted else (False, "/mqtt")
    )


def test_the_command_takes_user_name_and_password_and_proposes_them(tmp_path, capsys, monkeypatch):
    (tmp_path / "broker").mkdir()
    passwords = tmp_path / "passwords"
    command = [need("mosquitto_passwd"), "-b", "-c", str(passwords), "herd", "a secret"]
    subprocess.run(command, check=True, capture_output=True)
    broker = Mosquitto(tmp_path / "broker", f"password_file {passwords}", anonymous=False)
    monkeypatch.chdir(written(tmp_path, "mine", "a secret\n").parent)
    try:
        with BrokerPublisher(
            "127.0.0.1", broker.port, username="herd", password="a secret"
        ) as publisher:
            publisher.publish("attic/temperature", b"21.5", retain=True)
        main(
            [
                *("discover", f"127.0.0.1:{broker.port}", "--username", "herd"),
                *("--password-file", "mine", "--seconds", "2", "--out", "found.yaml"),
            ]
        )
    finally:
        broker.stop()

    text = (tmp_path / "found.yaml").read_text(encoding="utf-8")
    assert "attic/temperature" in text, capsys.readouterr().err
    assert "a secret" not in text
    mqtt = load(tmp_path / "found.yaml").mqtt
    assert (mqtt.username, mqtt.password_file) == ("herd", str(tmp_path / "mine"))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--password-file", "mine"], "give --username too"),
        (["--cert", "mine.crt"], "give both"),
    ],
)
def test_options_that_need_another_are_told(given, says, capsys):
    assert main(["discover", "127.0.0.1:1", *given]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "keys"),
    [
        ("broker", {"host": "broker", "port": 1883}),
        ("mqtt://broker:1884/", {"host": "broker", "port": 1884}),
        ("mqtts://broker", {"host": "broker", "port": 8883, "tls": {}}),
        ("ws://broker:9001", {"host": "broker", "port": 9001, "websocket_path": "/mqtt"}),
        ("wss://[::1]/a/b", {"host": "::1", "port": 443, "tls": {}, "websocket_path": "/a/b"}),
    ],
)
def test_an_address_says_how_to_connect(address, keys):
    assert broker_keys(address) == keys


def test_a_broker_that_is_not_there_or_no_address_is_told(capsys):
    assert main(["discover", "http://host:1883"]) == 2
    assert "write one of mqtt, mqtts, ws, wss before ://" in capsys.readouterr().err
    assert main(["discover", "mqtt://u:p@host:1883"]) == 2
    assert "write HOST or HOST:PORT" in capsys.readouterr().err
    assert main(["discover", "host", "--out", "no-such-folder/found.yaml"]) == 73
    assert "there is no such folder" in capsys.readouterr().err
    address = f"127.0.0.1:{free_port()}"
    assert main(["discover", address, "--seconds", "1"]) == 69
    said = capsys.readouterr().err
    assert f"no connection to {address}: Connection refused; tried for 1 s. Start the " in said
    assert "such as monitor discover HOST:PORT, with --username, --password-file" in said


# -- what it does not read ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (
            sent(
                "senml/n1",
                [{"bn": "urn:1:", "n": "kg", "v": 5}, {"bn": "urn:2:", "n": "kg", "v": 6}],
            ),
            "local: [kg]",
        ),
        (sensor_community(NOW)[0], "quantity: temperature, value: value"),
        (sent("heads/c3", "512,LB,03/09/04"), 'columns: [value, "", ""]'),
        (sent("heads/c4", "21,5;LB"), 'delimiter: ";", columns: [value, ""]'),
        (sent("cmms/x/adjustment", {"at": at(NOW), "what": "adjusted"}), "{time: at, event: what}"),
    ],
)
def test_what_cannot_be_proposed_is_told_with_what_reads_it(message, says):
    found = propose(heard(message), NOW, BROKER)

    (line,) = [each for each in found.missing if message.topic in each]
    assert line.startswith(f"not read: {message.topic} ")
    assert says in line
    given = (
        line.partition("Add a source above the others: ")[2]
        .partition(" (docs/")[0]
        .partition(", each column")[0]
    )
    topic = "a/{sensor}" if "quantity" in given or "event" in given else "a/{sensor}/{quantity}"
    more = [
        given.replace("...", f'"{topic}"'),
        '{topic: "b/{sensor}/{quantity}", kind: reading}',
        '{topic: "r/{subject}/{quantity}", kind: reference}',
    ]
    parse(f"sources: [{', '.join(more)}]".encode(), "proposed")


@pytest.mark.parametrize(
    "payload",
    [
        [{"ts": NOW, "kg": 512.5}],
        {"readings": [{"ts": NOW, "kg": 512.5}]},
        "weather,node=n1 temp=21.5,u=0.2 1800000000000000000",
        "21.5 °C",
    ],
)
def test_batches_and_lines_are_not_passed_over_in_silence(payload):
    plain = sent("shed/a1/up", {"temperature": 21.0})
    found = proposed(heard(plain, sent("farm/s1/batch", payload)))

    assert any("no quantity was recognised there: farm/s1/batch." in each for each in found.missing)


@pytest.mark.parametrize("payload", ["online", "v1.2.3", "192.168.1.5", [1, 2], ["a"], {"a": []}])
def test_texts_and_lists_without_a_quantity_are_left_alone(payload):
    plain = sent("shed/a1/up", {"temperature": 21.0})
    found = proposed(heard(plain, sent("farm/s1/state", payload)))

    assert not any("farm/s1/state" in each for each in found.missing)


def test_events_of_devices_that_are_no_words_are_left_alone():
    assert not propose(heard(sent("a/b/event", {"temperature": 21.5})), NOW, BROKER).missing[1:]
