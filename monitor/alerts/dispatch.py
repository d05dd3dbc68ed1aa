"""From a snapshot to the sinks: differences, then the journal, then the queues.

Rules of this file: it runs on the data's thread and never waits for a sink; a transition is in the
journal before a sink has it; transitions for which a queue has no room wait in the journal.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from monitor.alerts.ledger import Ledger, View, reworded
from monitor.alerts.outlet import Outlet, SinkFigures
from monitor.alerts.transition import FIRING, PENDING, SHOWN, Transition
from monitor.core.detector.replay import AlertChange
from monitor.core.snapshot.snapshot import Snapshot
from monitor.journal.failures import JournalError, JournalFullError
from monitor.journal.journal import JournalAlerts
from monitor.journal.store import Notification

STOP_SECONDS: Final = 2.0
REPEATED_SECONDS: Final = 900.0  # how long an end is said again to sinks that repeat

_log: Final = logging.getLogger("monitor")


class Dispatch:
    """Sends the transitions of alerts to ``outlets``; ``alerts`` is its durable state.

    ``transitions`` counts those since the process started, by (alert, state reached).
    ``history`` are the last :data:`SHOWN` transitions, the newest first.
    """

    def __init__(self, alerts: JournalAlerts, outlets: Sequence[Outlet] = ()) -> None:
        self._log: Final = alerts
        self._outlets: Final = outlets
        self._encode: Final = msgspec.msgpack.Encoder().encode
        self._decode: Final = msgspec.msgpack.Decoder(Transition).decode
        self._ledger: Final = Ledger(map(self._decode, self._log.active()), self._log.last_seq())
        self._done: Final = self._log.delivered()
        self._started_at: Final = self._ledger.last
        self._new: Final[dict[str, frozenset[int]]] = {}
        self._changes: dict[int, AlertChange] = {}  # the last one of each series
        self._taken_back: set[int] = set()
        self._history: Final = deque(map(self._decode, self._log.newest(SHOWN)), SHOWN)
        self.history: tuple[Transition, ...] = tuple(self._history)
        self.transitions: Final[Counter[tuple[str, str]]] = Counter()
        self._shown: tuple[Snapshot | None, list[Transition]] = (None, self._ledger.firing())
        for outlet in outlets:
            self._start(outlet)

    def notify(self, view: View) -> None:
        """Make new transitions durable, then queue them for the sinks; raises JournalError.

        While the journal is full nothing is sent; sending resumes once there is space.
        """
        self.hold(view)
        changes, taken_back = [*self._changes.values()], frozenset(self._taken_back)
        news = self._ledger.differences(view._replace(changes=changes, taken_back=taken_back))
        try:
            self._write(news)
        except JournalFullError:
            return
        # The alerts of a stale series end later.
        states = view.snapshot.states
        self._changes = {row: of for row, of in self._changes.items() if states[row] == "stale"}
        self._taken_back = {row for row in self._taken_back if states[row] == "stale"}
        self._ledger.record(news)
        for each in news:
            self.transitions[each.alert, each.after] += 1
            self._history.appendleft(each)
        if news:
            self.history = tuple(self._history)
        self._shown = (view.snapshot, self._ledger.firing())
        for outlet in self._outlets:
            self._fill(outlet)

    def hold(self, view: View) -> None:
        """Keep what happened for the next :meth:`notify`, which tells of it."""
        self._changes.update((change.series, change) for change in view.changes)
        self._taken_back |= view.taken_back

    def current(self) -> list[Transition]:
        """Return what fires, as the newest page says it, and what ended lately; from any thread.

        An alert whose labels changed since it fired ends under its old ones.
        """
        snapshot, firing = self._shown
        if snapshot is None:
            return firing
        active, since = {_alert(of) for of in firing}, snapshot.time - REPEATED_SECONDS
        ended = (of for of in self.history if of.before == FIRING and of.notified > since)
        recent = {_alert(of): of for of in ended if _alert(of) not in active}
        return [*recent.values(), *reworded(snapshot, firing, self._ledger.sizes)]

    def flush(self) -> None:
        """Record how far the sinks are, and queue the transitions that had no room before."""
        with suppress(JournalFullError):
            self._write([])
        for outlet in self._outlets:
            self._fill(outlet)

    def figures(self) -> dict[str, SinkFigures]:
        """Return the figures of each sink."""
        return {
            outlet.name: SinkFigures(
                outlet.delivered,
                outlet.failed,
                outlet.dropped,
                outlet.waiting + max(0, self._ledger.last - outlet.offered),
            )
            for outlet in self._outlets
        }

    def end(self, seconds: float) -> None:
        """Let the sinks deliver their queues within ``seconds``, without waiting for them."""
        for outlet in self._outlets:
            outlet.end(seconds)

    def close(self, seconds: float = STOP_SECONDS) -> None:
        """Give the sinks ``seconds`` to deliver their queues, and record how far they are."""
        self.end(seconds)
        ends_at = time.monotonic() + seconds
        for outlet in self._outlets:
            outlet.stop(max(ends_at - time.monotonic(), 0.0))
        try:
            self._write([])
        except JournalError as error:
            _log.error("%s", error)

    # -- inside -------------------------------------------------------------------------------

    def _start(self, outlet: Outlet) -> None:
        """Let an outlet continue where it was; a new one starts with the alerts that are firing."""
        done = self._done.get(outlet.name)
        if done is None:
            firing = [each.seq for each in self._ledger.firing()]
            self._new[outlet.name] = frozenset(firing)
            done = min(firing, default=self._started_at + 1) - 1
        outlet.start(done, self.current)

    def _write(self, transitions: Iterable[Transition]) -> None:
        # A new outlet counts once it is past the history: else the next start would send all of it.
        done = {
            outlet.name: at
            for outlet in self._outlets
            if (at := outlet.done) != self._done.get(outlet.name)
            and (outlet.name not in self._new or at >= self._started_at)
        }
        notifications = self._notifications(transitions)
        if notifications or done:
            self._log.record(notifications, done)
            self._done.update(done)

    def _notifications(self, transitions: Iterable[Transition]) -> list[Notification]:
        """Return transitions in the form that the journal keeps."""
        return [
            Notification(
                each.seq,
                (each.sensor, each.quantity, each.alert),
                each.after in (PENDING, FIRING),
                self._encode(each),
            )
            for each in transitions
        ]

    def _fill(self, outlet: Outlet) -> None:
        """Queue as many transitions as an outlet has room for."""
        if outlet.offered >= self._ledger.last or outlet.room <= 0:
            return
        firing = self._new.get(outlet.name)
        for each in map(self._decode, self._log.after(outlet.offered, outlet.room)):
            if firing is None or each.seq > self._started_at:
                outlet.drop(each.seq - outlet.offered - 1)
                outlet.offer(each.seq, each)
            else:
                outlet.offer(each.seq, each if each.seq in firing else None)


def _alert(of: Transition) -> tuple[str, ...]:
    return of.sensor, of.quantity, of.unit, of.alert
