"""Verdicts for Home Assistant's discovery: one device per sensor, a few entities per quantity.

https://www.home-assistant.io/integrations/mqtt/#device-discovery-payload: one retained message on
``homeassistant/device/<id>/config`` names the device, the origin of the message and, under
``components``, the entities. An empty message removes the device; a component that has only its
platform removes that one entity.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from monitor.alerts.mqtt_sink import identity, sensor_device
from monitor.core.registry import SeriesName
from monitor.core.snapshot.snapshot import STATE_MEANINGS
from monitor.mqtt.publish import Retained
from monitor.topics.payload import verdict_topic
from monitor.topics.reference_numbers import ReferenceNumbers

ONLINE: Final = "online"
OFFLINE: Final = "offline"


def status_topic(prefix: str) -> str:
    """Return the topic that says whether the daemon is alive."""
    return f"{prefix}/status"


class HomeAssistantDevices:
    """State: what was announced for each sensor; see :class:`monitor.topics.series.Devices`."""

    def __init__(
        self, prefix: str, discovery_topic: str, numbers: ReferenceNumbers | None = None
    ) -> None:
        self._prefix: Final = prefix
        self._numbers: Final = numbers or ReferenceNumbers()
        self._discovery_topic: Final = discovery_topic
        self._announced: Final[dict[str, tuple[SeriesName, ...]]] = {}

    def again(self) -> None:
        """Announce everything anew."""
        self._announced.clear()

    def announced(self, sensor: str, series: Iterable[SeriesName]) -> list[Retained]:
        """Return what is new about a sensor with these ``series``; without any it is removed."""
        wanted, known = tuple(series), self._announced.get(sensor)
        if wanted == known:
            return []
        self._announced[sensor] = wanted
        topic = self.topic(sensor)
        if not wanted:
            return [Retained(topic, b"")]
        found = self.config(sensor, wanted)
        gone = {
            name: {"platform": entity["platform"]}
            for each in known or ()
            for name, entity in self._components(each).items()
            if name not in found["components"]
        }
        messages = [Retained(topic, msgspec.json.encode(found))]
        if gone:
            with_gone = {**found, "components": {**found["components"], **gone}}
            messages.insert(0, Retained(topic, msgspec.json.encode(with_gone)))
        return messages

    def topic(self, sensor: str) -> str:
        """Return the topic on which a sensor's device is discovered."""
        return f"{self._discovery_topic}/device/{identity(self._prefix, sensor)}/config"

    def config(self, sensor: str, series: Iterable[SeriesName]) -> dict[str, Any]:
        """Return the device of a sensor."""
        return {
            **sensor_device(sensor, model="verdicts"),
            "availability_topic": status_topic(self._prefix),
            "payload_available": ONLINE,
            "payload_not_available": OFFLINE,
            "qos": 1,
            "components": {
                name: entity for each in series for name, entity in self._components(each).items()
            },
        }

    def _components(self, of: SeriesName) -> dict[str, dict[str, Any]]:
        """Return the entities of a series by their unique ids."""
        topic = verdict_topic(self._prefix, of.sensor, of.quantity)
        unit = {"unit_of_measurement": of.unit} if of.unit else {}
        entities: dict[str, dict[str, Any]] = {
            "state": {
                "platform": "sensor",
                "device_class": "enum",
                "options": [*STATE_MEANINGS],
                "value_template": "{{ value_json.state }}",
                "json_attributes_topic": topic,
            },
            "bias": {
                "platform": "sensor",
                "state_class": "measurement",
                "value_template": "{{ value_json.bias.value }}",
                **unit,
            },
            "ZMS": {
                "platform": "sensor",
                "state_class": "measurement",
                "value_template": "{{ value_json.zms.value }}",
            },
            "problem": {
                "platform": "binary_sensor",
                "device_class": "problem",
                "value_template": "{{ 'ON' if value_json.problem else 'OFF' }}",
                "payload_on": "ON",
                "payload_off": "OFF",
            },
        }
        entities = {name: {"state_topic": topic, **each} for name, each in entities.items()}
        if (number := self._numbers.entity(of)) is not None:
            entities["reference"] = number
        return {
            (unique := identity(self._prefix, of.sensor, of.quantity, name)): {
                "name": f"{of.quantity} {name}",
                "unique_id": unique,
                **entity,
            }
            for name, entity in entities.items()
        }
