"""From the network to what others see: a page for HTTP, transitions of alerts for the sinks.

Rules of this file: once every publish interval, on the data's thread; what is handed out is
immutable; nothing here waits for a sink.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from monitor.answering import Answerer
from monitor.assembly import Parts
from monitor.config import settings_hash, shown_settings
from monitor.core.snapshot import Snapshot
from monitor.doctoring import report, text
from monitor.sinks import Outlet
from monitor.sinks.dispatch import Dispatch
from monitor.sinks.ledger import View
from monitor.telemetry import Figures
from monitor.web.page import Page
from monitor.web.wishes import Wishes

DEAD_LETTERS_SHOWN: Final = 100
DOCTOR_SECONDS: Final = 2.0
# Series judged anew at a time, but for the first: a restart must not change what was told.
JUDGED_MOST: Final = 128


class Connection(Protocol):
    """What publishing tells of the source."""

    connected: bool
    status: str
    sessions_lost: int
    reconnects: int
    stale_acknowledgements: int
    last_message: dict[str, float]
    tls_not_after: float | None


class Show(Protocol):
    """Where pages go; ``wishes`` are what those who read them look at."""

    wishes: Wishes

    def publish(self, page: Page) -> None:
        """Show a page from now on."""


class Publisher:
    """Evaluates the network and shows what it finds; ``outlets`` begin to work with it."""

    def __init__(self, parts: Parts, show: Show, outlets: Sequence[Outlet] = ()) -> None:
        self._parts: Final = parts
        self._show: Final = show
        self._dispatch: Final = Dispatch(parts.journal, outlets)
        self._hash: Final = settings_hash(parts.settings)
        self._settings: Final = shown_settings(parts.settings)
        self._answerer: Final = Answerer(parts.network, show.wishes)
        self.reload_successful = True
        self._page: Page | None = None
        self._publish_seconds = 0.0
        self._doctor: dict[str, Any] = {}
        self._doctor_due = -float("inf")

    def publish(self, now: float, connection: Connection, trouble: str = "") -> Snapshot:
        """Publish what is known at ``now``; ``trouble`` says what keeps the daemon from working."""
        began = time.perf_counter()
        parts = self._parts
        most = None if self._page is None else JUDGED_MOST
        snapshot = parts.network.evaluate(now, most)
        self._dispatch.tell(
            View(
                snapshot,
                parts.network.judgement,
                parts.network.take_transitions(),
                frozenset(parts.network.watch.taken_back),
            )
        )
        answers = self._answerer.answers(now)
        self._page = Page(
            snapshot=snapshot,
            figures=self._measure(connection, trouble),
            not_ready=trouble or ("" if connection.connected else connection.status),
            dead_letters=tuple(parts.journal.dead_letters(DEAD_LETTERS_SHOWN)),
            doctor=self._examined(connection, began),
            details=answers.details,
            occasions=answers.occasions,
            contenders=answers.contenders,
            settings=self._settings,
            settings_hash=self._hash,
            history=self._dispatch.history,
        )
        self._show.publish(self._page)
        self._publish_seconds = time.perf_counter() - began
        return snapshot

    def answer(self, now: float) -> None:
        """Show at once what somebody has just begun to look at."""
        if self._page is not None and self._answerer.is_behind():
            answers = self._answerer.answers(now)
            self._page = replace(self._page, **answers._asdict())
            self._show.publish(self._page)

    def close(self) -> None:
        """Let the sinks deliver what they can at once; the rest is told after the next start."""
        self._dispatch.close()

    def _examined(self, connection: Connection, now: float) -> dict[str, Any]:
        """Return the doctor's report; made anew every few seconds only."""
        if now >= self._doctor_due:
            found = report(self._parts, connection)
            self._doctor = {**found.document(), "text": text(found)}
            self._doctor_due = now + DOCTOR_SECONDS
        return self._doctor

    def _measure(self, connection: Connection, trouble: str) -> Figures:
        parts, counts = self._parts, self._parts.intake.counts
        pairing = parts.network.pairing
        return Figures(
            received=counts.received,
            committed=counts.committed,
            duplicate=counts.duplicate,
            rejected=dict(counts.rejected),
            records_rejected=dict(counts.records_rejected),
            expired_unpaired=pairing.expired_unpaired,
            corrections=pairing.corrections,
            sessions_lost=connection.sessions_lost,
            reconnects=connection.reconnects,
            stale_acknowledgements=connection.stale_acknowledgements,
            connected=connection.connected,
            last_message=dict(connection.last_message),
            delays=parts.intake.delays.medians(),
            pending_readings=pairing.readings,
            pending_references=len(pairing.references),
            series=len(parts.network.registry),
            series_forgotten=parts.network.silence.forgotten,
            commit_seconds=parts.intake.commit_seconds,
            commits=parts.intake.commits,
            publish_seconds=self._publish_seconds,
            journal_writable=not trouble,
            reload_successful=self.reload_successful,
            tls_not_after=connection.tls_not_after,
            settings_hash=self._hash,
            transitions=dict(self._dispatch.transitions),
            sinks=self._dispatch.figures(),
        )
