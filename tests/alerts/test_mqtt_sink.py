"""Alerts as messages at the broker."""

from __future__ import annotations

import json

from harness.transitions import transition

from monitor.alerts.mqtt_sink import MqttSink, MqttSinkSettings, discovery_topic
from tests.alerts.test_outlet import broker, retained


def test_an_alert_is_kept_by_the_broker_until_it_ends(mosquitto):
    sink = MqttSink(MqttSinkSettings(), broker(mosquitto))
    sink.deliver(transition(1, after="pending"))
    assert retained(mosquitto.port, "monitor/alert/#") == {}

    sink.deliver(transition(2))
    (told,) = retained(mosquitto.port, "monitor/alert/s/mass/offset").values()
    assert json.loads(told)["active"] is True
    assert json.loads(told)["estimate"] == {"value": 3.0, "lower": 2.0, "upper": 4.0, "unit": "kg"}
    sink.deliver(transition(3, before="firing", after="resolved"))
    (told,) = retained(mosquitto.port, "monitor/alert/s/mass/offset").values()
    assert json.loads(told)["active"] is False

    clearing = MqttSink(MqttSinkSettings(resolved="clear", topic="x/y"), broker(mosquitto))
    clearing.deliver(transition(2))
    assert list(retained(mosquitto.port, "x/#")) == ["x/y/s/mass/offset"]
    clearing.deliver(transition(3, before="firing", after="resolved"))
    assert retained(mosquitto.port, "x/#") == {}


def test_home_assistant_finds_each_alert(mosquitto):
    sink = MqttSink(MqttSinkSettings(discovery=True), broker(mosquitto))
    sink.deliver(transition(1))
    sink.deliver(transition(2, sensor="s:1"))
    sink.deliver(transition(3, sensor="s_1"))

    found = retained(mosquitto.port, "homeassistant/#")
    assert len(found) == 3
    told = json.loads(found[discovery_topic("homeassistant", transition(1))])
    assert told["state_topic"] == "monitor/alert/s/mass/offset"
    assert told["device_class"] == "problem"
    assert told["value_template"] == "{{ 'ON' if value_json.active else 'OFF' }}"
    assert len({json.loads(each)["unique_id"] for each in found.values()}) == 3
