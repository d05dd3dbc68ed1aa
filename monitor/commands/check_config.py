"""``monitor check-config``: every mistake in a settings file, one per line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from monitor.config import Settings, SettingsError, load
from monitor.config.concerns import concerns_of
from monitor.config.core_plan import check_units
from monitor.config.credentials import Credentials
from monitor.config.sources import ByHand, named_sources, nameless_fields, place_of
from monitor.daemon.connecting import mqtt_settings, outlets
from monitor.errors import USAGE, MonitorError
from monitor.extensions import hooks
from monitor.http.access import access_of
from monitor.journal.opening import try_folder
from monitor.mqtt.source import MqttSource


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("config", metavar="FILE", help="settings file (YAML)")


def run(options: argparse.Namespace) -> int:
    """Print one line per mistake; return 0 if there is none, else 2."""
    try:
        settings = load(options.config)
        concerns_of(settings)
        for check in hooks(settings.extensions, "checks"):
            check(settings)
        check_units(settings, options.config)
    except SettingsError as error:
        for line in error.lines():
            print(line)
        return USAGE
    print(f"{options.config}: no mistakes")
    if all(isinstance(each, ByHand) for each in named_sources(settings.sources, "reference")):
        print("sources name no references: only those by hand (`monitor reference`) will pair")
    for line in (*_nameless(settings), *_on_this_machine(settings, options.config)):
        print(line)
    for remarks in hooks(settings.extensions, "remarks"):
        for remark in remarks(settings):
            print(remark)
    return 0


def _nameless(settings: Settings) -> Iterator[str]:
    for at, source in enumerate(settings.sources):
        for name in nameless_fields(source):
            yield (
                f"{place_of(source, at)}.topic: {{{name}}} is part of no name, so topics that "
                "differ in it alone become one series: name it in the map's sensor (or subject), "
                f'such as "{{{name}}}.{{sensor}}", or write + in its place'
            )


def _on_this_machine(settings: Settings, config: str) -> list[str]:
    """Return why the daemon could not start here: files and variables that may be elsewhere."""
    http, broker, lines = settings.http, Credentials(None, None), []
    for attempt in (
        lambda: try_folder(Path(settings.journal.path)),
        lambda: outlets(settings, config),  # also reads user and password of the broker
        lambda: MqttSource(mqtt_settings(settings, broker)),
        lambda: access_of(http.web_config, http.host, is_local=True, allow_remote=True),
    ):
        try:
            attempt()
        except SettingsError as error:
            lines += error.lines()
        except MonitorError as error:
            lines.append(str(error))
    return [f"on this machine: {line}" for line in lines]
