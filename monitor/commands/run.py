"""``monitor run``: the daemon."""

from __future__ import annotations

import argparse
import logging
import time
from contextlib import ExitStack
from pathlib import Path

from monitor.commands.options import config_option
from monitor.config import Settings
from monitor.daemon.loop import ReloadingDaemon, read_settings
from monitor.daemon.runtime import Supervisor, configure, freeze, postpone_imports, retain_freed
from monitor.http.access import access_of
from monitor.http.service import Service
from monitor.mqtt.connection import is_loopback

_log = logging.getLogger("monitor")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    config_option(parser)
    parser.add_argument(
        "--recover", action="store_true", help="repair the journal first if it is damaged"
    )


def run(options: argparse.Namespace) -> int:
    """Run the daemon until SIGTERM or SIGINT; raises MonitorError if it cannot continue."""
    retain_freed(32 << 20, 4 << 20)  # room for a large read and its columns
    postpone_imports()
    first = read_settings(options.config)
    configure(first.settings.log.level, first.settings.log.format)
    if options.recover:
        _recover(Path(first.settings.journal.path))
    daemon = ReloadingDaemon(options.config, first)
    service = _service(first.settings)
    with ExitStack() as stack:
        stack.callback(service.stop)
        supervisor = stack.enter_context(Supervisor.of_environment())
        stack.callback(supervisor.stopping)
        daemon.run(service, supervisor)
    return 0


def _recover(path: Path) -> None:
    from monitor.journal.repairing import recover_journal  # noqa: PLC0415 - seldom needed

    done = recover_journal(path, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()))
    for line in done.sentences() if done is not None else ():
        _log.warning("%s: %s", path, line)


def _service(settings: Settings) -> Service:
    """Return a running service according to the settings."""
    http = settings.http
    access = access_of(
        http.web_config, http.host, is_local=is_loopback(http.host), allow_remote=http.allow_remote
    )
    service = Service(
        http.host,
        http.port,
        connections_max=http.max_connections,
        header_timeout_seconds=http.header_timeout_seconds,
        access=access,
        root_path=http.root_path,
        host_names=http.host_names if is_loopback(http.host) or http.host_names else None,
        essential_metrics=http.metrics == "essential",
        loaded=freeze,
        extensions=settings.with_pages,
    )
    service.start()
    _log.info("page and metrics on %s", service.url)
    return service
