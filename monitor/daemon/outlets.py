"""Settings and secrets become outlets: one function a channel, None where it is not asked for.

Sinks: whom the daemon tells when an alert begins or ends. One file a channel, one line each.

Rules of this package: what is told is a :class:`Transition`, durable in the journal before any
sink has it; each sink has a bounded queue and a thread of its own (:class:`Outlet`), so that none
can hold up the data or another sink; what a sink has not delivered when the process ends is
delivered after the next start, so a receiver may see an id twice and none is lost.
A new channel: a file with a class that keeps the contract of :class:`Sink`, a section in
``monitor.config.sink_settings``, and a line in :data:`SINKS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from monitor.alerts.log_sink import LogSink
from monitor.alerts.mqtt_sink import MqttSink
from monitor.alerts.outlet import (
    Outlet,
)
from monitor.config import Credentials, Settings, SinkSecrets
from monitor.daemon.assembly import publisher_of


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
    from monitor.alerts.webhook import Target, WebhookSink  # noqa: PLC0415 - only who posts loads it

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


SINKS: Final[dict[str, Callable[[Settings, Keys], Outlet | None]]] = {
    "log": log_outlet,
    "mqtt": mqtt_outlet,
    "webhook": webhook_outlet,
}


def outlets(settings: Settings, keys: Keys) -> list[Outlet]:
    """Return the outlets that the settings ask for; none has begun to work."""
    made = (make(settings, keys) for make in SINKS.values())
    return [outlet for outlet in made if outlet is not None]
