"""Typed settings from YAML: every key has a default, every mistake its place.

``load`` reads a file, ``for_series`` says what holds for one series, ``resolve_secret`` reads name
and password, ``settings_hash`` tells two runs' settings apart.
"""

from monitor.config.areas import Area, Place
from monitor.config.broker_settings import Mqtt, Tls
from monitor.config.credentials import (
    Credentials,
    SinkSecrets,
    resolve_secret,
    resolve_sink_secrets,
)
from monitor.config.loading import check, load, parse, settings_hash, shown_settings
from monitor.config.mistakes import Mistake, SettingsError
from monitor.config.parts import Group, Override
from monitor.config.sections import (
    Alerts,
    Http,
    Journal,
    Log,
    Pairing,
    Publish,
    Scoring,
    Series,
    Windows,
)
from monitor.config.settings import Settings
from monitor.config.sink_settings import (
    LogSink,
    MqttSink,
    Sinks,
    WebhookSink,
)
from monitor.config.sources import Maintenance, Source

__all__ = [
    "Alerts",
    "Area",
    "Credentials",
    "Group",
    "Http",
    "Journal",
    "Log",
    "LogSink",
    "Maintenance",
    "Mistake",
    "Mqtt",
    "MqttSink",
    "Override",
    "Pairing",
    "Place",
    "Publish",
    "Scoring",
    "Series",
    "Settings",
    "SettingsError",
    "SinkSecrets",
    "Sinks",
    "Source",
    "Tls",
    "WebhookSink",
    "Windows",
    "check",
    "load",
    "parse",
    "resolve_secret",
    "resolve_sink_secrets",
    "settings_hash",
    "shown_settings",
]
