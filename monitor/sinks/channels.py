"""Settings and secrets become outlets: one function a channel, None where it is not asked for."""

from __future__ import annotations

from typing import NamedTuple

from monitor.assembly import publisher_of
from monitor.config import Credentials, Settings, SinkSecrets
from monitor.sinks.log import LogSink
from monitor.sinks.mqtt import MqttSink
from monitor.sinks.outlet import Outlet


class Keys(NamedTuple):
    """What sinks show to those they speak to: the broker's credentials, the webhook's secrets."""

    broker: Credentials
    sinks: SinkSecrets


def log_outlet(settings: Settings, keys: Keys) -> Outlet | None:
    """Return the outlet to the log."""
    del keys
    section = settings.sinks.log
    return None if section is None else Outlet("log", LogSink(), section)


def mqtt_outlet(settings: Settings, keys: Keys) -> Outlet | None:
    """Return the outlet to the broker."""
    section = settings.sinks.mqtt
    if section is None:
        return None
    sink = MqttSink(section, lambda: publisher_of(settings, keys.broker))
    return Outlet("mqtt", sink, section)


def webhook_outlet(settings: Settings, keys: Keys) -> Outlet | None:
    """Return the outlet to the webhook; raises SettingsError where its files are wrong."""
    section = settings.sinks.webhook
    if section is None:
        return None
    from monitor.sinks.webhook import Target, WebhookSink  # noqa: PLC0415 - only who posts loads it

    secrets = keys.sinks
    target = Target(
        url=secrets.url.get_secret_value(),
        key=None if secrets.key is None else secrets.key.get_secret_value(),
        authorization=(
            None if secrets.authorization is None else secrets.authorization.get_secret_value()
        ),
        ca_file=section.ca_file,
        timeout_seconds=section.timeout_seconds,
    )
    return Outlet("webhook", WebhookSink(target), section)
