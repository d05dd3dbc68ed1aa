"""``monitor run``: the daemon."""

from __future__ import annotations

import argparse
import logging
import time
from pathlib import Path

from monitor.assembly import Parts, assemble, mqtt_settings
from monitor.config import Settings, load, resolve_secret, resolve_sink_secrets
from monitor.config.kinds import is_loopback
from monitor.daemon import Daemon
from monitor.decode import DECODERS
from monitor.journal.repairing import recover
from monitor.logs import configure
from monitor.memory import settle
from monitor.notify import Supervisor
from monitor.publishing import Publisher
from monitor.sinks import Keys, Outlet, outlets
from monitor.sources.mqtt import MqttSource
from monitor.web.access import access_of
from monitor.web.service import Service

_log = logging.getLogger("monitor")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Take the settings file."""
    parser.add_argument("--config", required=True, metavar="FILE", help="settings, in YAML")
    parser.add_argument(
        "--recover", action="store_true", help="repair the journal first, if it is damaged"
    )


def run(options: argparse.Namespace) -> int:
    """Run the daemon until SIGTERM or SIGINT; raises MonitorError where it cannot go on."""
    settings = load(options.config, decoders=DECODERS)
    configure(settings.log.level, settings.log.format)
    credentials = resolve_secret(settings, options.config)
    keys = Keys(credentials, resolve_sink_secrets(settings, options.config))
    source = MqttSource(mqtt_settings(settings, credentials))
    sinks = outlets(settings, keys)
    if options.recover:
        _recover(Path(settings.journal.path))
    parts = assemble(settings, time.time())
    work(settings, parts, source, sinks)
    return 0


def _recover(path: Path) -> None:
    done = recover(path, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()))
    for line in done.sentences() if done is not None else ():
        _log.warning("%s: %s", path, line)


def work(settings: Settings, parts: Parts, source: MqttSource, sinks: list[Outlet]) -> None:
    """Serve HTTP and take messages until told to stop."""
    http = settings.http
    access = access_of(
        http.web_config, http.host, is_local=is_loopback(http.host), allow_remote=http.allow_remote
    )
    service = Service(
        settings.http.host,
        settings.http.port,
        connections_max=settings.http.max_connections,
        header_timeout_seconds=settings.http.header_timeout_seconds,
        access=access,
    )
    service.start()
    _log.info("page and metrics on %s", service.url)
    with Supervisor.of_environment() as supervisor:
        daemon = Daemon(parts, source, Publisher(parts, service, sinks), supervisor=supervisor)
        daemon.stop_on_signals()
        settle()
        try:
            daemon.run()
        finally:
            service.stop()
