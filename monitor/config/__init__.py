"""Typed settings from YAML: every key has a default, every mistake its place.

``load`` reads a file, ``for_series`` says what holds for one series, ``resolve_secret`` reads name
and password, ``settings_hash`` tells two runs' settings apart.
"""

from monitor.config.areas import Area, Place
from monitor.config.credentials import (
    Credentials,
    SinkSecrets,
    resolve_secret,
    resolve_sink_secrets,
)
from monitor.config.loading import check, load, parse, settings_hash, shown_settings
from monitor.config.mistakes import Mistake, SettingsError
from monitor.config.sections import (
    Alerts,
    Http,
    Journal,
    Log,
    Mqtt,
    Pairing,
    Publish,
    Scoring,
    Series,
    Tls,
    Windows,
)
from monitor.config.series_settings import SeriesSettings, for_series
from monitor.config.settings import Group, Override, Settings
from monitor.config.sink_settings import (
    LogSink,
    MqttSink,
    Sinks,
    WebhookSink,
)
from monitor.config.sources import Maintenance, Map, MappedSeries, Source

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
    "Map",
    "MappedSeries",
    "Mistake",
    "Mqtt",
    "MqttSink",
    "Override",
    "Pairing",
    "Place",
    "Publish",
    "Scoring",
    "Series",
    "SeriesSettings",
    "Settings",
    "SettingsError",
    "SinkSecrets",
    "Sinks",
    "Source",
    "Tls",
    "WebhookSink",
    "Windows",
    "check",
    "for_series",
    "load",
    "parse",
    "resolve_secret",
    "resolve_sink_secrets",
    "settings_hash",
    "shown_settings",
]
