"""The sink ``mqtt``: one retained message for each alert of each series.

Rules of this file: a connection is open only while something is delivered; a message counts as
delivered once the broker has acknowledged it. Discovery follows Home Assistant's
https://www.home-assistant.io/integrations/mqtt/#mqtt-discovery, component binary_sensor.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

from annotated_types import MaxLen, MinLen, doc

from monitor import __version__
from monitor.alerts.outlet import GiveUpHours, LaterError, RetrySeconds, SinkKind
from monitor.alerts.transition import Transition, links, transition_document
from monitor.core.setting import Check, Contradiction
from monitor.mqtt.topic_templates import topic_level

if TYPE_CHECKING:
    from monitor.mqtt.publish import BrokerPublisher

_OUTSIDE: Final = re.compile(r"[^A-Za-z0-9_-]")
_NOT_IN_TOPICS: Final = frozenset("+#$\0")


def _accept_prefix(topic: str) -> str:
    levels = topic.split("/")
    if not topic.isprintable() or _NOT_IN_TOPICS & set(topic) or "" in levels:
        raise ValueError("is not a topic prefix; write levels separated by /, such as a/b")
    return topic


Prefix = Annotated[str, MinLen(1), MaxLen(256), Check(_accept_prefix)]


class MqttSinkSettings(NamedTuple):
    """A retained message for each alert of each series, at the daemon's own broker."""

    topic: Annotated[Prefix, doc("Topic prefix; sensor, quantity and alert follow it.")] = (
        "monitor/alert"
    )
    resolved: Annotated[
        Literal["keep", "clear"],
        doc("When an alert ends: keep a message that says so, or clear the retained one."),
    ] = "keep"
    discovery: Annotated[
        bool, doc("Whether to announce each alert to Home Assistant (MQTT discovery).")
    ] = False
    discovery_topic: Annotated[Prefix, doc("Home Assistant's discovery prefix.")] = "homeassistant"
    retry_seconds_max: RetrySeconds = 300.0
    give_up_hours: GiveUpHours = 72.0


class MqttSink:
    """Publishes over the connections that ``connect`` opens."""

    def __init__(
        self,
        settings: MqttSinkSettings,
        connect: Callable[[], BrokerPublisher],
        public_url: str = "",
    ) -> None:
        self._public_url: Final = public_url
        self._settings: Final = settings
        self._connect: Final = connect
        self._announced: Final[set[str]] = set()

    def deliver(self, transition: Transition) -> None:
        """Publish the alert's state; raises LaterError while the broker does not accept it."""
        if not transition.is_news:
            return
        from monitor.mqtt.publish import PublishError  # noqa: PLC0415 - only who publishes loads it

        topic = topic_of(self._settings.topic, transition)
        try:
            with self._connect() as publisher:
                if self._settings.discovery and topic not in self._announced:
                    publisher.publish(
                        discovery_topic(self._settings.discovery_topic, transition),
                        json.dumps(discovery(transition, topic, self._public_url)).encode(),
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
        state = {
            "active": transition.fires,
            **transition_document(transition),
            **links(transition, self._public_url),
        }
        return json.dumps(state, ensure_ascii=False).encode()


def topic_of(prefix: str, of: Transition) -> str:
    """Return the topic of an alert."""
    return f"{prefix}/{topic_level(of.sensor)}/{topic_level(of.quantity)}/{of.alert}"


def discovery_topic(prefix: str, of: Transition) -> str:
    """Return the topic on which Home Assistant discovers an alert."""
    return f"{prefix}/binary_sensor/{identity(of.sensor, of.quantity, of.alert)}/config"


def discovery(of: Transition, topic: str, public_url: str = "") -> dict[str, Any]:
    """Return the discovery message of an alert: a binary sensor, one device per sensor."""
    page = links(of, public_url).get("page_url")
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
        **sensor_device(of.sensor, **({} if page is None else {"configuration_url": page})),
    }


def sensor_device(sensor: str, **more: str) -> dict[str, Any]:
    """Return what discovery says of a sensor's device, and where the message comes from."""
    return {
        "device": {
            "identifiers": [identity(sensor)],
            "name": sensor,
            "manufacturer": "monitor",
            **more,
        },
        "origin": {"name": "monitor", "sw_version": __version__},
    }


def identity(*names: str) -> str:
    """Return a unique name of letters, digits, _ and - for ``names``."""
    plain = _OUTSIDE.sub("_", "_".join(names))
    return f"monitor_{plain}_{sha256('/'.join(names).encode()).hexdigest()[:8]}"


def _contradictions(settings: MqttSinkSettings) -> Iterator[Contradiction]:
    if settings.discovery and settings.resolved == "clear":
        yield Contradiction(
            ("resolved",), "must be keep, because Home Assistant reads that message"
        )


MQTT: Final = SinkKind(
    "Retained MQTT messages at the broker above; null for none, {} for the defaults.",
    MqttSinkSettings,
    lambda settings, context: MqttSink(settings, context.connect, context.public_url),
    contradictions=_contradictions,
)
