"""The sink ``mqtt``: one retained message for each alert of each series.

Rules of this file: a connection lives while something is told, no longer; a message counts as
delivered when the broker has acknowledged it. Discovery follows Home Assistant's
https://www.home-assistant.io/integrations/mqtt/#mqtt-discovery, component binary_sensor.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final

from monitor import __version__
from monitor.alerts.outlet import LaterError
from monitor.alerts.transition import Transition, document
from monitor.config import MqttSink as MqttSinkSettings
from monitor.mqtt.publish import BrokerPublisher, PublishError

_OUTSIDE: Final = re.compile(r"[^A-Za-z0-9_-]")


class MqttSink:
    """Publishes with what ``connect`` makes."""

    def __init__(self, settings: MqttSinkSettings, connect: Callable[[], BrokerPublisher]) -> None:
        self._settings: Final = settings
        self._connect: Final = connect
        self._announced: Final[set[str]] = set()

    def deliver(self, transition: Transition) -> None:
        """Publish the alert's state; raises LaterError while the broker does not take it."""
        if not transition.is_news:
            return
        topic = topic_of(self._settings.topic, transition)
        try:
            with self._connect() as publisher:
                if self._settings.discovery and topic not in self._announced:
                    publisher.publish(
                        discovery_topic(self._settings.discovery_topic, transition),
                        json.dumps(discovery(transition, topic)).encode(),
                        retain=True,
                    )
                publisher.publish(topic, self._payload(transition), retain=True)
        except PublishError as error:
            raise LaterError(str(error)) from error
        self._announced.add(topic)

    def close(self) -> None:
        """Do nothing: no connection is held."""

    def _payload(self, transition: Transition) -> bytes:
        if self._settings.resolved == "clear" and not transition.fires:
            return b""
        told = {"active": transition.fires, **document(transition)}
        return json.dumps(told, ensure_ascii=False).encode()


def topic_of(prefix: str, of: Transition) -> str:
    """Return the topic of an alert; names of series hold nothing that a topic may not."""
    return f"{prefix}/{of.sensor}/{of.quantity}/{of.alert}"


def discovery_topic(prefix: str, of: Transition) -> str:
    """Return where Home Assistant is told of an alert."""
    return f"{prefix}/binary_sensor/{identity(of.sensor, of.quantity, of.alert)}/config"


def discovery(of: Transition, topic: str) -> dict[str, Any]:
    """Return what Home Assistant is told of an alert: a sensor of problems, a device a sensor."""
    return {
        "name": f"{of.quantity} {of.alert}",
        "unique_id": identity(of.sensor, of.quantity, of.alert),
        "state_topic": topic,
        "value_template": "{{ 'ON' if value_json.active else 'OFF' }}",
        "payload_on": "ON",
        "payload_off": "OFF",
        "json_attributes_topic": topic,
        "device_class": "problem",
        "qos": 1,
        "device": {
            "identifiers": [identity(of.sensor)],
            "name": of.sensor,
            "manufacturer": "monitor",
        },
        "origin": {"name": "monitor", "sw_version": __version__},
    }


def identity(*names: str) -> str:
    """Return one name of letters, digits, _ and - that no other names give."""
    plain = _OUTSIDE.sub("_", "_".join(names))
    return f"monitor_{plain}_{sha256('/'.join(names).encode()).hexdigest()[:8]}"
