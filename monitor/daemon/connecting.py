"""From settings to connections: the reader's and publishers' to the broker, and those of sinks.

Rules of this file: nothing connects here; a command that only checks settings loads no network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.alerts.outlet import Outlet, SinkContext
from monitor.alerts.sinks import SINKS
from monitor.config.core_plan import supplements_of
from monitor.config.credentials import Credentials, resolve_secret, resolve_sink_secrets
from monitor.config.settings import Settings
from monitor.config.sources import ByHand
from monitor.mqtt.connection import MqttSettings, Subscription, tls_context
from monitor.mqtt.topic_templates import Template

if TYPE_CHECKING:
    from monitor.mqtt.publish import BrokerPublisher, Retained

CLIENT_ID_PREFIX: Final = "monitor"


def subscriptions_of(settings: Settings) -> tuple[Subscription, ...]:
    """Return what to subscribe to: the topics of sources, and those of extensions."""
    wanted = [
        Subscription(Template.parse(each.topic).filter, each.qos, isinstance(each, ByHand))
        for each in settings.sources
    ]
    own = [topic for supplement in supplements_of(settings) for topic in supplement.topics]
    wanted += [Subscription(Template.parse(of.route.template).filter, of.qos) for of in own]
    return tuple(wanted)


def mqtt_settings(settings: Settings, credentials: Credentials) -> MqttSettings:
    """Return how to reach the broker, and what to subscribe to.

    Where the settings give no client identifier, the caller has to set one.
    """
    mqtt, password = settings.mqtt, credentials.password
    return MqttSettings(
        host=mqtt.host,
        port=mqtt.port,
        client_id=mqtt.client_id or CLIENT_ID_PREFIX,
        subscriptions=subscriptions_of(settings),
        protocol=mqtt.protocol,
        username=credentials.username,
        password=None if password is None else password.get_secret_value(),
        keepalive_seconds=mqtt.keepalive_seconds,
        session_expiry_seconds=mqtt.session_expiry_seconds,
        receive_maximum=mqtt.receive_maximum,
        max_packet_bytes=mqtt.max_packet_bytes,
        connect_timeout_seconds=mqtt.connect_timeout_seconds,
        tls=mqtt.tls,
        websocket_path=mqtt.websocket_path,
    )


def publisher_of(
    settings: Settings,
    credentials: Credentials,
    *,
    client_id: str = "",
    will: Retained | None = None,
) -> BrokerPublisher:
    """Return a publisher to the settings' broker; the broker names it unless it has a name."""
    from monitor.mqtt.publish import BrokerPublisher  # noqa: PLC0415 - only who publishes loads it

    reader = mqtt_settings(settings, credentials)
    return BrokerPublisher(
        reader.host,
        reader.port,
        protocol=settings.mqtt.protocol,
        client_id=client_id,
        username=reader.username,
        password=reader.password,
        keepalive_seconds=reader.keepalive_seconds,
        will=will,
        websocket_path=reader.websocket_path,
        tls=None if reader.tls is None else tls_context(reader.tls),
    )


def outlets(settings: Settings, path: str) -> list[Outlet]:
    """Return the outlets of the settings in the file at ``path``; none is started.

    Raises SettingsError if a secret that the settings name cannot be read.
    """
    broker = resolve_secret(settings, path)
    secrets = resolve_sink_secrets(settings, path)
    opened = []
    for name, kind in SINKS.items():
        section = getattr(settings.sinks, name)
        if section is not None:
            own = {each: secret.get_secret_value() for each, secret in secrets[name].items()}
            context = SinkContext(
                lambda: publisher_of(settings, broker), own, settings.http.public_url
            )
            opened.append(Outlet(name, kind.open(section, context), section))
    return opened
