"""The daemon's loop: start, work, stop, and start again with new settings.

Rules of this file: one thread owns socket, journal and memory. Nothing is acknowledged before it is
durable; HTTP and sinks only read published pages; publishing alternates with reading; every wait is
bounded, so that a signal ends the work within seconds.

On a reload the process, its HTTP service and its lock stay. Settings with a mistake change nothing;
valid ones end the current daemon in good order and start the next from the journal, so that
everything derived follows the new settings.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec

from monitor.alerts.outlet import Outlet
from monitor.config.core_plan import plan_of
from monitor.config.credentials import Credentials, resolve_secret
from monitor.config.loading import load
from monitor.config.settings import Settings
from monitor.core.collecting import without_collecting
from monitor.daemon.assembly import (
    LAST_MESSAGES,
    Parts,
    assemble,
    client_id_of,
    connect_of,
    has_session,
    last_messages,
    note_settings,
    note_subscriptions,
    open_journal,
)
from monitor.daemon.checkpoints import save_all_evidence, save_evidence
from monitor.daemon.connecting import mqtt_settings, outlets
from monitor.daemon.intake import HOUSEKEEPING_SECONDS, SILENT
from monitor.daemon.made_with import NOTE as MADE_WITH
from monitor.daemon.publisher import Publisher, SourceStatus
from monitor.daemon.runtime import (
    Signals,
    StoppedError,
    Supervisor,
    collect_rarely,
    configure,
    freeze_after_start,
    return_freed,
)
from monitor.errors import MonitorError
from monitor.extensions import hooks
from monitor.http.published import START_SECONDS_MAX
from monitor.http.service import Service
from monitor.journal.failures import JournalFullError, target_of
from monitor.journal.store import Batch
from monitor.mqtt.source import MessageSource, MqttSource

# -- one daemon -----------------------------------------------------------------------------------

_log: Final = logging.getLogger("monitor")

_RECEIVE_SECONDS: Final = 0.25
_PUBLISH_SECONDS: Final = 0.01  # of publishing between two reads, or as much as the messages took
_FULL_RETRY_SECONDS: Final = 1.0
_LAST_PUBLICATION_SECONDS: Final = 2.0  # it is derived again at the next start
_SHARE_A_ROUND: Final = 0.05  # of the pairs, that retention deletes at once


class DaemonSource(MessageSource, SourceStatus, Protocol):
    """Where messages come from, and what is published about it."""


class Daemon:
    """Processes messages from a source until it is stopped.

    ``reload`` is called on SIGHUP; if it returns true, :meth:`run` returns.
    """

    def __init__(
        self,
        parts: Parts,
        source: DaemonSource,
        publisher: Publisher,
        *,
        supervisor: Supervisor | None = None,
        signals: Signals | None = None,
        reload: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._parts: Final = parts
        self._source: Final = source
        self._publisher: Final = publisher
        self._supervisor: Final = supervisor or Supervisor()
        self.signals: Final = signals or Signals()
        self._reload: Final = reload
        self._clock: Final = clock
        self._monotonic: Final = monotonic
        self._publish_due = -float("inf")
        self._silent = parts.journal.note(SILENT)
        self._last_messages_due = -float("inf")
        self._housekeeping_due = monotonic() + HOUSEKEEPING_SECONDS
        self._is_reloading = False
        self._is_durable = True  # all that memory has taken
        self._doubt = ""

    @property
    def stopping(self) -> bool:
        """Whether :meth:`run` is about to return."""
        return self.signals.stop or self._is_reloading

    def stop(self) -> None:
        """Let :meth:`run` return; may be called from any thread."""
        self.signals.stop = True

    def run(self) -> None:
        """Work until :attr:`stopping`; raises JournalError and SourceRefused."""
        self._source.confirm(self._parts.intake.redeliveries.round)
        try:
            while not self.stopping:
                self._work()
            if self._is_durable:
                self._publisher.finish(self._now(), self._source, _LAST_PUBLICATION_SECONDS)
                save_all_evidence(self._parts.network, self._parts.journal)
        finally:
            self._source.close()
            self._publisher.close()
            self._parts.journal.close()
        _log.info("stopped; everything acknowledged is in the journal")

    def _work(self) -> None:
        messages = self._source.receive(0.0 if self._publisher.is_busy else _RECEIVE_SECONDS)
        began = self._monotonic()
        if messages or self._parts.network.registry.may_begin(self._now()):
            batch = self._parts.intake.prepare(messages, self._now())
            self._is_durable = self._commit(self._with_notes(batch))
            if not self._is_durable:
                return
            self._source.acknowledge(messages)
            self._source.confirm(self._parts.intake.redeliveries.round)
        self._parts.intake.redeliveries.confirm(self._source.confirmed)
        if self.signals.reload:
            self.signals.reload = False
            self._is_reloading = self._publisher.reload_successful = self._reload()
        now = self._monotonic()
        is_shown_wrong = self._source.connected != self._publisher.shown_connected
        is_due = now >= self._publish_due or is_shown_wrong
        if is_due and not self._publisher.is_busy:
            self._parts.journal.check_place()
            self._publisher.begin(self._now(), self._source)
            self._publish_due = now + self._parts.settings.publish.interval_seconds
        self._publisher.work(max(_PUBLISH_SECONDS, now - began))
        self._supervisor.alive(self._source.status)
        self._publisher.answer(self._now())
        if not self._publisher.is_busy and now < self._publish_due:
            self._parts.self_check.work(now)
            for each in self._parts.listeners:
                each.work(now)
        if now >= self._housekeeping_due and not self._publisher.is_busy:
            self._housekeep()
            self._housekeeping_due = now + HOUSEKEEPING_SECONDS

    def _commit(self, batch: Batch) -> bool:
        """Make ``batch`` durable, waiting while the disk is full; False if stopped meanwhile."""
        while True:
            try:
                self._parts.intake.commit(batch)
            except JournalFullError as error:
                _log.error("%s", error)
                self._publish(str(error))
                self._supervisor.alive(str(error))
                if self.stopping:
                    return False
                time.sleep(_FULL_RETRY_SECONDS)
            else:
                return True

    def _with_notes(self, batch: Batch) -> Batch:
        """Add to a batch which settings the pairs of its new series follow, for a later start.

        Once a minute at most, also when messages last came: later starts go on.
        """
        made_with, now = self._parts.made_with, self._monotonic()
        notes = dict(batch.notes)
        if batch.series and made_with.keep_up(self._parts.network.registry.keys):
            notes[MADE_WITH] = made_with.note()
        if now >= self._last_messages_due:
            self._last_messages_due = now + HOUSEKEEPING_SECONDS
            notes[LAST_MESSAGES] = msgspec.json.encode(self._source.last_message)
        return batch._replace(notes=notes)

    def _publish(self, trouble: str = "") -> None:
        self._publisher.publish(self._now(), self._source, trouble)

    def _now(self) -> float:
        """Return the time to work with, s since 1970 UTC; log when doubt begins or ends."""
        guard = self._parts.clock
        now = guard.look(self._clock(), self._monotonic())
        if guard.doubt != self._doubt:
            if guard.doubt:
                _log.error("%s; nothing is deleted until messages agree with it", guard.doubt)
            else:
                _log.warning("this machine's clock is trusted again")
            self._doubt = guard.doubt
        return now

    def _housekeep(self) -> None:
        now, clock, settings = self._now(), self._parts.clock, self._parts.settings
        wait = settings.pairing.max_wait_hours * 3600.0
        held_before = observations_before = pairs_before = -math.inf
        if clock.may_expire(wait):
            network = self._parts.network
            network.expire(now)
            held_before = observations_before = max(now - wait, network.held_from)
            more = max((each.wait_more_seconds for each in self._parts.listeners), default=0.0)
            if more:
                observations_before = now - wait - more
            for each in self._parts.listeners:
                each.expire(now - wait - each.wait_more_seconds)
        if (newest := clock.retention_time()) is not None:
            pairs_before = newest - settings.journal.retention_days * 86_400.0
            self._evict(newest)
        try:
            self._note_silent(held_before)
            self._note_drops(observations_before)
            is_less = self._parts.journal.expire(
                observations_before=observations_before,
                pairs_before=pairs_before,
                share=_SHARE_A_ROUND,
            )
            if is_less:
                self._parts.network.drop_history(pairs_before)
            save_evidence(self._parts.network, self._parts.journal)
            self._parts.journal.compact()
        except JournalFullError as error:
            _log.error("%s", error)
        return_freed()

    def _note_silent(self, since: float) -> None:
        """Store when silent series were last heard, before their readings are dropped."""
        silent = self._parts.network.liveness.silent(since)
        if since > -math.inf and silent != self._silent:
            self._parts.journal.append(Batch(notes={SILENT: silent}))
            self._silent = silent

    def _note_drops(self, observations_before: float) -> None:
        """Store that the journal drops observations, for a start with other settings."""
        made_with, (oldest, _) = self._parts.made_with, self._parts.journal.oldest()
        if oldest < observations_before and not made_with.has_dropped:
            self._parts.journal.append(Batch(notes={MADE_WITH: made_with.note(drops=True)}))
            made_with.has_dropped = True

    def _evict(self, now: float) -> None:
        days = self._parts.settings.series.forget_after_days
        if days is not None and (gone := self._parts.network.evict(now, days)):
            _log.info("evicted %d silent series; their pairs stay in the journal", gone)


# -- one after the other --------------------------------------------------------------------------


class Prepared(NamedTuple):
    """Settings, and what they name, opened but not started."""

    settings: Settings
    credentials: Credentials
    source: MqttSource
    sinks: list[Outlet]


def read_settings(path: str) -> Prepared:
    """Read a settings file and what it names; raises MonitorError if any of it cannot be used."""
    settings = load(path)
    for check in hooks(settings.extensions, "checks"):
        check(settings)
    credentials = resolve_secret(settings, path)
    source = MqttSource(mqtt_settings(settings, credentials))
    return Prepared(settings, credentials, source, outlets(settings, path))


def _say_reading(service: Service, supervisor: Supervisor) -> None:
    """Tell page and service manager that the journal is read, which may take minutes."""
    service.starting()
    supervisor.reading(START_SECONDS_MAX)


class ReloadingDaemon:
    """State: the settings in force, their journal, and the settings to continue with."""

    def __init__(self, path: str, first: Prepared) -> None:
        """Open the journal of the first settings and listen to signals; raises JournalError."""
        self._path: Final = path
        self._current = first
        collect_rarely()
        self._journal = open_journal(first.settings)
        named, place = Path(first.settings.journal.path), self._journal.path
        link = "" if place == named else f", a link to {place}"
        shown = f"{named.parent.resolve() / named.name}{link}"
        _log.info("journal %s: %s", shown, self._journal.contents())
        self._next: Prepared | None = None
        self._counts: dict[str, int] = {}  # of extensions
        self._signals: Final = Signals()
        self._signals.install_reload()
        self._signals.install()  # before a page says that there is a daemon to stop

    def run(self, service: Service, supervisor: Supervisor) -> None:
        """Run until stopped by a signal; raises MonitorError if it cannot continue."""
        _say_reading(service, supervisor)
        self._run_once(service, supervisor)
        while self._next is not None and not self._signals.stop:
            self._current, self._next = self._next, None
            settings = self._current.settings
            configure(settings.log.level, settings.log.format)
            _say_reading(service, supervisor)
            self._journal = open_journal(settings)
            self._run_once(service, supervisor)

    def _assembled(self) -> Parts | None:
        """Rebuild all from the journal; None if stopped meanwhile."""
        try:
            with self._signals.stopping_at_once(), without_collecting():
                return assemble(self._current.settings, time.time(), self._journal, self._counts)
        except StoppedError:
            self._journal.close()
            return None
        except BaseException:
            self._journal.close()
            raise

    def _run_once(self, service: Service, supervisor: Supervisor) -> None:
        settings, credentials, source, sinks = self._current
        parts = self._assembled()
        if parts is None:
            return
        if parts.remade:
            _log.warning("%s", parts.remade)
        for sentence in parts.others.sentences():
            _log.warning("%s", sentence)
        note_settings(parts)
        client_id = client_id_of(parts)
        source.identify(client_id)
        source.leave(note_subscriptions(parts))
        source.last_message.update(last_messages(parts))
        if has_session(parts, client_id):
            source.expect_session()
        daemon = Daemon(
            parts,
            source,
            Publisher(
                parts,
                service,
                sinks,
                connect_of(settings, credentials, client_id),
                file=self._path,
            ),
            supervisor=supervisor,
            signals=self._signals,
            reload=self.reload,
        )
        freeze_after_start()
        daemon.run()

    def reload(self) -> bool:
        """Read the settings again; return whether to continue with them."""
        try:
            loaded = read_settings(self._path)
            self._check(loaded.settings)
        except MonitorError as error:
            for line in str(error).splitlines():
                _log.error("%s", line)
            _log.error("%s: not reloaded; the previous settings stay in force", self._path)
            return False
        now = self._current.settings
        served = loaded.settings.http.model_copy(update={"public_url": now.http.public_url})
        if served != now.http or loaded.settings.with_pages != now.with_pages:
            _log.warning("pages and http: changes take effect when the process is restarted")
        _log.info("%s: reloaded; every series is judged anew by its stored pairs", self._path)
        self._next = loaded
        return True

    def _check(self, settings: Settings) -> None:
        """Raise MonitorError if the daemon could not continue with these settings."""
        plan_of(settings)
        if target_of(Path(settings.journal.path)) != self._journal.path:
            raise MonitorError(
                f"{self._path}: journal.path has changed; restart the daemon to use another journal"
            )
