"""Verdicts for Home Assistant's discovery: one device per sensor, a few entities per quantity.

https://www.home-assistant.io/integrations/mqtt/#device-discovery-payload: one retained message on
``homeassistant/device/<id>/config`` names the device, the origin of the message and, under
``components``, the entities. An empty message removes the device; a component that has only its
platform removes that one entity. A number entity's command is a reference
(https://www.home-assistant.io/integrations/number.mqtt/): Home Assistant renders the typed number
with a template, which writes the native payload, to the topic of the settings' native source of
references, where it is read, kept and acknowledged like any other.

A value has a device class, an error has none: as a temperature, 1 °C too high would become 33.8 °F.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

import msgspec

from monitor.alerts.mqtt_sink import identity, sensor_device
from monitor.core.registry import SeriesName
from monitor.core.snapshot.additions import Press
from monitor.core.snapshot.snapshot import STATE_MEANINGS
from monitor.extensions.topics.device_classes import unit_and_class, unit_of_measurement
from monitor.extensions.topics.series import DeviceSeries, verdict_topic
from monitor.extensions.topics.settings import TypedReference
from monitor.mqtt.publish import Retained
from monitor.mqtt.topic_templates import topic_level

# Home Assistant's own functions; it renders the template when a number is typed.
_NOW: Final = "{{ utcnow().isoformat() }}"
_TYPED: Final = "{{ value }}"


class ReferenceNumbers:
    """Which series have a number entity for references, and what it sends.

    ``topic`` is the template of the native source of references, with {subject} and {quantity}.
    """

    def __init__(self, wanted: Sequence[TypedReference] = (), topic: str = "") -> None:
        self._wanted: Final = wanted
        self._topic: Final = topic

    def entity(self, of: SeriesName) -> dict[str, Any] | None:
        """Return the number entity of a series, without names; None if there is none.

        A series whose name is not usable as a topic level has none: no source could name it.
        """
        if topic_level(of.sensor) != of.sensor or topic_level(of.quantity) != of.quantity:
            return None
        for each in self._wanted:
            if fnmatchcase(of.sensor, each.sensor) and fnmatchcase(of.quantity, each.quantity):
                return self._number(of, each)
        return None

    def _number(self, of: SeriesName, wanted: TypedReference) -> dict[str, Any]:
        names = {"{subject}": of.sensor, "{sensor}": of.sensor, "{quantity}": of.quantity}
        topic = "/".join(names.get(level, level) for level in self._topic.split("/"))
        return {
            "platform": "number",
            "command_topic": topic,
            "command_template": _payload(of.unit, wanted.u),
            "mode": "box",
            "min": wanted.minimum,
            "max": wanted.maximum,
            "step": wanted.step,
            **unit_and_class(of),
        }


def _payload(unit: str, u: float | None) -> str:
    """Return the template of a native reference; ``unit`` must not be read as template code."""
    stated: dict[str, Any] = {} if u is None else {"u": u}
    if unit and "{" not in unit:
        stated["unit"] = unit
    more = msgspec.json.encode(stated).decode()[1:-1]
    return f'{{"time":"{_NOW}","value":{_TYPED}{"," if more else ""}{more}}}'


def _button(press: Press) -> dict[str, Any]:
    """Return a button (https://www.home-assistant.io/integrations/button.mqtt/)."""
    event = msgspec.json.encode({"event": press.event, "note": press.note}).decode()
    return {
        "platform": "button",
        "command_topic": press.topic,
        "command_template": f'{{"time":"{_NOW}",{event[1:]}',
    }


ONLINE: Final = "online"
OFFLINE: Final = "offline"


def status_topic(prefix: str) -> str:
    """Return the topic that says whether the daemon is alive."""
    return f"{prefix}/status"


class HomeAssistantDevices:
    """State: what was announced for each sensor; see :class:`~.series.Devices`."""

    def __init__(
        self, prefix: str, discovery_topic: str, numbers: ReferenceNumbers | None = None
    ) -> None:
        self._prefix: Final = prefix
        self._numbers: Final = numbers or ReferenceNumbers()
        self._discovery_topic: Final = discovery_topic
        self._announced: Final[dict[str, tuple[DeviceSeries, ...]]] = {}

    def again(self) -> None:
        """Announce everything anew."""
        self._announced.clear()

    def announced(self, sensor: str, series: Iterable[DeviceSeries]) -> list[Retained]:
        """Return what is new about a sensor with these ``series``; without any it is removed."""
        wanted, known = tuple(series), self._announced.get(sensor)
        if wanted == known:
            return []
        self._announced[sensor] = wanted
        topic = self.topic(sensor)
        if not wanted:
            return [Retained(topic, b"")]
        config = self.config(sensor, wanted)
        gone = {
            name: {"platform": entity["platform"]}
            for each in known or ()
            for name, entity in self._components(each).items()
            if name not in config["components"]
        }
        messages = [Retained(topic, msgspec.json.encode(config))]
        if gone:
            with_gone = {**config, "components": {**config["components"], **gone}}
            messages.insert(0, Retained(topic, msgspec.json.encode(with_gone)))
        return messages

    def topic(self, sensor: str) -> str:
        """Return the topic on which a sensor's device is discovered."""
        return f"{self._discovery_topic}/device/{identity(self._prefix, sensor)}/config"

    def config(self, sensor: str, series: Iterable[DeviceSeries]) -> dict[str, Any]:
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

    def _components(self, facts: DeviceSeries) -> dict[str, dict[str, Any]]:
        """Return the entities of a series by their unique ids."""
        of = facts.name
        topic = verdict_topic(self._prefix, of.sensor, of.quantity)
        number: dict[str, Any] = {"platform": "sensor", "state_class": "measurement"}
        in_unit = number.copy()
        if facts.decimals is not None:
            in_unit["suggested_display_precision"] = facts.decimals
        entities: dict[str, dict[str, Any]] = {
            "state": {
                "platform": "sensor",
                "device_class": "enum",
                "options": [*STATE_MEANINGS],
                "value_template": "{{ value_json.state }}",
                "json_attributes_topic": topic,
            },
            "bias": {
                **in_unit,
                "value_template": "{{ value_json.bias.value }}",
                **unit_of_measurement(of),
            },
            "ZMS": {**number, "value_template": "{{ value_json.zms.value }}"},
            "problem": {
                "platform": "binary_sensor",
                "device_class": "problem",
                "value_template": "{{ 'ON' if value_json.problem else 'OFF' }}",
                "payload_on": "ON",
                "payload_off": "OFF",
            },
        }
        entities = {name: {"state_topic": topic, **each} for name, each in entities.items()}
        for name, own in facts.values.items():
            value = {"state_topic": own, "value_template": "{{ value_json.value }}"}
            entities[name] = {
                **in_unit,
                **value,
                "json_attributes_topic": own,
                **unit_and_class(of),
            }
        for name, press in facts.presses.items():
            if "{" not in press.note:  # it must not be read as template code
                entities[name] = _button(press)
        if (typed := self._numbers.entity(of)) is not None:
            entities["reference"] = typed
        return {
            (unique := identity(self._prefix, of.sensor, of.quantity, name)): {
                "name": f"{of.quantity} {name}",
                "unique_id": unique,
                **entity,
            }
            for name, entity in entities.items()
        }
