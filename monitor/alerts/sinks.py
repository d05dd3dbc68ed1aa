"""Where alerts are sent: the registry of sinks.

To add a sink, write a file with its settings, a class that keeps the contract of
:class:`monitor.alerts.outlet.Sink` and its :class:`SinkKind`, and add it here. Its section in the
settings file, their schema and documentation, its secrets, its queue and its metrics follow.
"""

from __future__ import annotations

from typing import Final

from monitor.alerts.alertmanager import ALERTMANAGER
from monitor.alerts.log_sink import LOG
from monitor.alerts.mqtt_sink import MQTT
from monitor.alerts.outlet import SinkKind
from monitor.alerts.webhook_settings import WEBHOOK

SINKS: Final[dict[str, SinkKind]] = {
    "log": LOG,
    "mqtt": MQTT,
    "webhook": WEBHOOK,
    "alertmanager": ALERTMANAGER,
}
