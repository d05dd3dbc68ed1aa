"""A daemon that reloads its settings while the process, its HTTP service and its lock stay.

Rules of this file: settings with a mistake change nothing; valid ones end the current daemon in
good order and start the next from the journal, so that everything derived follows the new settings.
"""

from __future__ import annotations

import logging
import time
from typing import Final, NamedTuple

from monitor.alerts.outlet import Outlet
from monitor.config import Settings, load, resolve_secret
from monitor.config.core_plan import plan_of
from monitor.daemon.assembly import assemble, mqtt_settings, note_subscriptions
from monitor.daemon.gc_tuning import freeze_after_start
from monitor.daemon.logs import configure
from monitor.daemon.loop import Daemon
from monitor.daemon.outlets import outlets
from monitor.daemon.publisher import Publisher
from monitor.daemon.signals import Signals
from monitor.daemon.systemd import Supervisor
from monitor.decode import DECODERS
from monitor.errors import MonitorError
from monitor.http.service import Service
from monitor.mqtt.source import MqttSource

_log: Final = logging.getLogger("monitor")


class Prepared(NamedTuple):
    """Settings, and what they name, opened but not started."""

    settings: Settings
    source: MqttSource
    sinks: list[Outlet]


def prepare(path: str) -> Prepared:
    """Read a settings file and what it names; raises MonitorError if any of it cannot be used."""
    settings = load(path, decoders=DECODERS)
    credentials = resolve_secret(settings, path)
    source = MqttSource(mqtt_settings(settings, credentials))
    return Prepared(settings, source, outlets(settings, path))


class ReloadingDaemon:
    """State: the settings in force, the daemon's parts, and the settings to continue with."""

    def __init__(self, path: str, first: Prepared, now: float) -> None:
        """Open the journal of the first settings at ``now``; raises JournalError."""
        self._path: Final = path
        self._current = first
        self._parts = assemble(first.settings, now)
        self._next: Prepared | None = None
        self._signals: Final = Signals()

    def run(self, service: Service, supervisor: Supervisor) -> None:
        """Run until stopped by a signal; raises MonitorError if it cannot continue."""
        self._signals.install()
        self._run_once(service, supervisor)
        while self._next is not None and not self._signals.stop:
            self._current, self._next = self._next, None
            settings = self._current.settings
            configure(settings.log.level, settings.log.format)
            self._parts = assemble(settings, time.time())
            self._run_once(service, supervisor)

    def _run_once(self, service: Service, supervisor: Supervisor) -> None:
        parts, (_, source, sinks) = self._parts, self._current
        source.leave(note_subscriptions(parts))
        daemon = Daemon(
            parts,
            source,
            Publisher(parts, service, sinks),
            supervisor=supervisor,
            signals=self._signals,
            reload=self.reload,
        )
        freeze_after_start()
        daemon.run()

    def reload(self) -> bool:
        """Read the settings again; return whether to continue with them."""
        try:
            found = prepare(self._path)
            self._check(found.settings)
        except MonitorError as error:
            for line in str(error).splitlines():
                _log.error("%s", line)
            _log.error("%s: not reloaded; the previous settings stay in force", self._path)
            return False
        if found.settings.http != self._current.settings.http:
            _log.warning("http: changes take effect when the process is restarted")
        _log.info("%s: reloaded; everything is computed again from the journal", self._path)
        self._next = found
        return True

    def _check(self, settings: Settings) -> None:
        """Raise MonitorError if the daemon could not continue with these settings."""
        plan_of(settings)
        if settings.journal.path != self._current.settings.journal.path:
            raise MonitorError(
                f"{self._path}: journal.path has changed; restart the daemon to use another journal"
            )
