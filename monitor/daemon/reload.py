"""One life of the daemon after another: the settings are read again while the process goes on.

Rules of this file: settings that hold a mistake change nothing; new ones end a life in good order
and begin the next from the journal, so that all that is derived follows them; the page, the lock's
process and its number stay.
"""

from __future__ import annotations

import logging
import time
from typing import Final, NamedTuple

from monitor.alerts.outlet import Outlet
from monitor.config import (
    Settings,
    load,
    resolve_secret,
    resolve_sink_secrets,
)
from monitor.config.core_plan import plan_of
from monitor.daemon.assembly import assemble, mqtt_settings, note_subscriptions
from monitor.daemon.gc_tuning import settle
from monitor.daemon.logs import configure
from monitor.daemon.loop import Daemon
from monitor.daemon.outlets import Keys, outlets
from monitor.daemon.publisher import Publisher
from monitor.daemon.signals import Orders
from monitor.daemon.systemd import Supervisor
from monitor.decode import DECODERS
from monitor.errors import MonitorError
from monitor.http.service import Service
from monitor.mqtt.source import MqttSource

_log: Final = logging.getLogger("monitor")


class Plan(NamedTuple):
    """What a settings file comes to: nothing of it has begun to work."""

    settings: Settings
    source: MqttSource
    sinks: list[Outlet]


def plan(path: str) -> Plan:
    """Read a settings file and what it names; raises MonitorError where that cannot be used."""
    settings = load(path, decoders=DECODERS)
    credentials = resolve_secret(settings, path)
    keys = Keys(credentials, resolve_sink_secrets(settings, path))
    return Plan(settings, MqttSource(mqtt_settings(settings, credentials)), outlets(settings, keys))


class Lives:
    """State: the plan that is in force, its parts, and the plan that comes next."""

    def __init__(self, path: str, first: Plan, now: float) -> None:
        """Open the journal of the first life at ``now``; raises JournalError."""
        self._path: Final = path
        self._plan = first
        self._parts = assemble(first.settings, now)
        self._next: Plan | None = None
        self._orders: Final = Orders()

    def live(self, service: Service, supervisor: Supervisor) -> None:
        """Live until told to stop; raises MonitorError where a life cannot go on."""
        self._orders.heed_signals()
        self._live_once(service, supervisor)
        while self._next is not None and not self._orders.end:
            self._plan, self._next = self._next, None
            settings = self._plan.settings
            configure(settings.log.level, settings.log.format)
            self._parts = assemble(settings, time.time())
            self._live_once(service, supervisor)

    def _live_once(self, service: Service, supervisor: Supervisor) -> None:
        parts, (_, source, sinks) = self._parts, self._plan
        source.leave(note_subscriptions(parts))
        daemon = Daemon(
            parts,
            source,
            Publisher(parts, service, sinks),
            supervisor=supervisor,
            orders=self._orders,
            renew=self.renew,
        )
        settle()
        daemon.run()

    def renew(self) -> bool:
        """Read the settings again; return whether there is another life to begin with them."""
        try:
            found = plan(self._path)
            self._check(found.settings)
        except MonitorError as error:
            for line in str(error).splitlines():
                _log.error("%s", line)
            _log.error("%s: not taken; the former settings stay in force", self._path)
            return False
        if found.settings.http != self._plan.settings.http:
            _log.warning("http: takes effect at the next start of the process")
        _log.info("%s: taken; all is worked out again from the journal", self._path)
        self._next = found
        return True

    def _check(self, settings: Settings) -> None:
        """Raise MonitorError where a life could not begin with these settings."""
        plan_of(settings)
        if settings.journal.path != self._plan.settings.journal.path:
            raise MonitorError(
                f"{self._path}: journal.path is another one; stop the daemon and start it again"
            )
