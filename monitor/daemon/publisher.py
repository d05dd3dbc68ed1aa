"""From the network to its observers: a page for HTTP, alert transitions for the sinks.

Rules of this file: it runs once per publish interval, on the data's thread, in steps of a few
milliseconds between two reads; a page is immutable and carries the time at which its publication
began; nothing here waits for a sink, and no sink learns of what is not durable yet. Series that
HTTP asks for are evaluated anew at every publication; what needs a search or many windows, every
few seconds at most.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from monitor.alerts.dispatch import STOP_SECONDS, Dispatch
from monitor.alerts.ledger import View
from monitor.alerts.outlet import Outlet
from monitor.config.loading import settings_hash, shown_settings
from monitor.config.sources import ByHand
from monitor.core.formatting import duration
from monitor.core.registry import SeriesKey
from monitor.core.snapshot.details import Contenders, Contest, Detail, Occasion
from monitor.core.state.network import Network
from monitor.core.steps import Steps
from monitor.daemon.assembly import Parts, notices_of
from monitor.daemon.listeners import OpenBroker
from monitor.daemon.runtime import return_freed
from monitor.http.by_hand import LinesByHand
from monitor.http.published import OnDemandRequests, Page
from monitor.http.telemetry import Figures
from monitor.journal.store import DeadLetter
from monitor.mqtt.topic_templates import Template

DOCTOR_SECONDS: Final = 2.0
# Series judged per publication; the first one judges all, so that a restart notifies nothing twice.
JUDGED_MOST: Final = 128


class SourceStatus(Protocol):
    """The source's figures that are published."""

    connected: bool
    status: str
    sessions_lost: int
    reconnects: int
    full_reads: int
    stale_acknowledgements: int
    denied: dict[str, str]
    last_message: dict[str, float]
    tls_not_after: float | None


class Show(Protocol):
    """Where pages go, and where requests for more come from."""

    @property
    def requests(self) -> OnDemandRequests:
        """Requests of readers."""

    def publish(self, page: Page) -> None:
        """Show a page from now on."""

    def tick(self, seconds: float) -> None:
        """Note that the data's thread is alive, and may connect for ``seconds`` from now."""


class Publisher:
    """Evaluates the network and publishes the results.

    It starts ``outlets``, and the listeners of ``parts`` with ``connect``, which opens their
    connections to the broker. The settings are those of ``file``, if any.
    """

    def __init__(
        self,
        parts: Parts,
        show: Show,
        outlets: Sequence[Outlet] = (),
        connect: OpenBroker | None = None,
        *,
        file: str = "",
    ) -> None:
        self._parts: Final = parts
        self._show: Final = show
        self._dispatch: Final = Dispatch(parts.journal.alerts, outlets)
        self._hash: Final = settings_hash(parts.settings)
        self._settings: Final = shown_settings(parts.settings)
        self._by_hand: Final = LinesByHand(parts.settings, file)
        self._kinds: Final[dict[str, str]] = {
            Template.parse(each.topic).filter: "by_hand" if isinstance(each, ByHand) else each.kind
            for each in parts.settings.sources
        }
        self._on_demand: Final = OnDemandEvaluator(parts.network, show.requests)
        self.reload_successful = True
        self._page: Page | None = None
        self._connection: SourceStatus | None = None
        self._trouble = ""
        self._work: Steps[None] | None = None
        self._worked_seconds = 0.0
        self._publish_seconds = 0.0
        self._began = self._shown_began = time.monotonic()
        self._full_reads = 0
        self._letters: tuple[DeadLetter, ...] = ()
        self._refused_sensors: dict[str, DeadLetter] = {}
        self._letters_seen = 0
        self._doctor: dict[str, Any] = {}
        self._doctor_due = -float("inf")
        self._answered = 0
        self._listeners: Final = parts.listeners if connect is not None else ()
        if connect is not None:
            for each in parts.listeners:
                each.start(connect)

    @property
    def is_busy(self) -> bool:
        """Whether a publication is under way."""
        return self._work is not None

    @property
    def shown_connected(self) -> bool:
        """Whether the last page says that the source is connected."""
        figures = None if self._page is None else self._page.figures
        return figures is not None and figures.connected

    def begin(self, now: float, connection: SourceStatus, trouble: str = "") -> None:
        """Begin a publication; ``trouble`` says what keeps the daemon from committing.

        :meth:`work` continues it. The page carries ``now`` as its time.
        """
        self._connection, self._trouble = connection, trouble
        self._work = self._steps(now, connection)
        self._began = time.monotonic()
        self._worked_seconds = 0.0

    def work(self, seconds: float = math.inf) -> None:
        """Continue a publication under way for about ``seconds``, one step at least.

        Called in every round of the loop, whether one is under way or not.
        """
        self._show.tick(self._parts.settings.mqtt.connect_timeout_seconds)
        began = time.perf_counter()
        while self._work is not None:
            is_done = next(self._work, True)
            worked = time.perf_counter() - began
            if is_done:
                self._work = None
                self._publish_seconds = self._worked_seconds + worked
            elif worked >= seconds:
                self._worked_seconds += worked
                return

    def publish(self, now: float, connection: SourceStatus, trouble: str = "") -> None:
        """Publish the state at ``now`` at once, after completing a publication under way."""
        self._trouble = trouble
        self.work()
        self.begin(now, connection, trouble)
        self.work()

    def finish(self, now: float, connection: SourceStatus, seconds: float) -> None:
        """Publish the state at ``now`` if that takes about ``seconds`` at most.

        A state that is not published is durable all the same: the next start derives it again.
        """
        began = time.perf_counter()
        self.work(seconds)
        left = seconds - (time.perf_counter() - began)
        if not self.is_busy and left > 0.0:
            self.begin(now, connection)
            self.work(left)

    def answer(self, now: float) -> None:
        """Publish at once what a reader has just begun to look at."""
        made = self._show.requests.made
        if self._page is None or made == self._answered:
            return
        self._answered = made
        if self._on_demand.is_behind() or self._is_doctor_behind():
            answers = self._on_demand.evaluate(now)
            self._page = replace(self._page, **answers._asdict(), doctor=self._examined(now))
            self._show.publish(self._page)

    def close(self) -> None:
        """Give all threads one moment to deliver; the rest is delivered after the next start."""
        ends_at = time.monotonic() + STOP_SECONDS
        for each in self._listeners:
            each.end()
        self._dispatch.end(STOP_SECONDS)
        for each in self._listeners:
            each.stop(max(ends_at - time.monotonic(), 0.0))
        self._dispatch.close(max(ends_at - time.monotonic(), 0.0))

    def _steps(self, now: float, connection: SourceStatus) -> Steps[None]:
        parts = self._parts
        most = None if self._page is None else JUDGED_MOST
        snapshot = yield from parts.network.steps(now, most)
        for each in parts.listeners:
            snapshot = each.see(snapshot)
        view = View(
            snapshot,
            parts.network.drain_transitions(),
            parts.network.drain_taken_back(),
        )
        if self._trouble:  # memory has an event, say, that is not durable
            self._dispatch.hold(view)
        else:
            self._dispatch.notify(view)
        yield
        answers = self._on_demand.evaluate(now)
        yield
        behind = self._behind(connection)
        self._page = Page(
            snapshot=snapshot,
            figures=self._measure(connection),
            not_ready=self._trouble
            or ("" if connection.connected else connection.status)
            or parts.clock.doubt,
            catching_up=behind,
            dead_letters=self._refused(),
            refused=self._refused_sensors,
            doctor=self._examined(now),
            notices=(*filter(None, (behind,)), *notices_of(parts, now)),
            details=answers.details,
            occasions=answers.occasions,
            contenders=answers.contenders,
            settings=self._settings,
            settings_hash=self._hash,
            history=self._dispatch.history,
            by_hand=self._by_hand,
            places=parts.places,
            others=parts.others.counts(),
        )
        self._show.publish(self._page)
        if most is None:  # what was made of all series at once is free again
            return_freed()
        self._shown_began = self._began
        if not self._trouble:
            for each in self._listeners:
                each.publish(self._page)

    def _behind(self, connection: SourceStatus) -> str:
        """Return what is missing if a read since the last publication left messages waiting."""
        before, self._full_reads = self._full_reads, connection.full_reads
        if before == self._full_reads:
            return ""
        late = duration(max(min(self._parts.intake.delays.medians().values(), default=0.0), 0.0))
        return f"catching up: messages wait at the broker, and those of the last {late} are missing"

    def _refused(self) -> tuple[DeadLetter, ...]:
        """Return the newest dead letters of each topic, put in order only if there are new ones."""
        letters = self._parts.letters
        if letters.changes != self._letters_seen:
            self._letters_seen = letters.changes
            self._letters = letters.newest()
            self._refused_sensors = letters.by_sensor(self._parts.intake.sensor_of)
        return self._letters

    def _is_doctor_behind(self) -> bool:
        return self._show.requests.doctor() and not self._doctor

    def _examined(self, moment: float) -> dict[str, Any]:
        """Return the doctor's report if somebody reads it, at most every few seconds a new one.

        It is as of ``moment``, s since 1970 UTC.
        """
        now = time.perf_counter()
        if not self._show.requests.doctor():
            self._doctor = {}
        elif not self._doctor or now >= self._doctor_due:
            from monitor.daemon.examination import examined  # noqa: PLC0415 - few ask for it
            from monitor.explain.doctor import doctor_report  # noqa: PLC0415

            report = doctor_report(examined(self._parts, moment), self._connection)
            self._doctor = report.document()
            self._doctor_due = now + DOCTOR_SECONDS
        return self._doctor

    def _measure(self, connection: SourceStatus) -> Figures:
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
            limited_references=pairing.limited_references,
            sessions_lost=connection.sessions_lost,
            reconnects=connection.reconnects,
            stale_acknowledgements=connection.stale_acknowledgements,
            connected=connection.connected,
            last_message={
                (topics, self._kinds.get(topics, "covariate")): at
                for topics, at in connection.last_message.items()
            },
            delays=parts.intake.delays.medians(),
            pending_readings=pairing.readings + parts.network.waiting.readings,
            pending_references=len(pairing.references),
            series=len(parts.network.registry),
            series_waiting=len(parts.network.waiting.by_series),
            series_forgotten=parts.network.eviction.evictions,
            pairs_other_settings=sum(parts.others.counts().values()),
            commit_seconds=parts.intake.commit_seconds,
            commits=parts.intake.commits,
            publish_seconds=self._publish_seconds,
            page_age_seconds=time.monotonic() - self._shown_began,
            self_checks=dict(parts.self_check.results),
            journal_writable=not self._trouble,
            clock_trusted=not parts.clock.doubt,
            clock_doubts=parts.clock.doubts,
            reload_successful=self.reload_successful,
            tls_not_after=connection.tls_not_after,
            of_extensions=[family for each in parts.listeners for family in each.families()],
            public_url=parts.settings.http.public_url,
            settings_hash=self._hash,
            transitions=dict(self._dispatch.transitions),
            sinks=self._dispatch.figures(),
        )


# -- requested data -------------------------------------------------------------------------------

# What needs a search or many windows is evaluated anew after so long.
FRESH_SECONDS: Final = 5.0

K = TypeVar("K")
M = TypeVar("M", Occasion, Contenders)


class OnDemand(NamedTuple):
    """The requested data, as far as they exist."""

    details: Mapping[SeriesKey, Detail]
    occasions: Mapping[str, Occasion]
    contenders: Mapping[Contest, Contenders]


class OnDemandEvaluator:
    """Evaluates what ``requests`` ask of ``network``."""

    def __init__(self, network: Network, requests: OnDemandRequests) -> None:
        self._network: Final = network
        self._requests: Final = requests
        self._series: set[SeriesKey] = set()
        self._made = OnDemand({}, {}, {})

    def evaluate(self, now: float) -> OnDemand:
        """Return all requested data as of ``now`` (s UTC)."""
        wanted = self._requests.series()
        self._series = set(wanted)
        details = {key: self._network.detail(key, now) for key in wanted}
        made, network = self._made, self._network
        self._made = OnDemand(
            {key: detail for key, detail in details.items() if detail is not None},
            _fresh(self._requests.occasions(), made.occasions, network.occasion, now),
            _fresh(self._requests.contests(), made.contenders, network.contenders, now),
        )
        return self._made

    def is_behind(self) -> bool:
        """Return whether a request has not been evaluated yet."""
        return not (
            self._series.issuperset(self._requests.series())
            and self._made.occasions.keys() >= set(self._requests.occasions())
            and self._made.contenders.keys() >= set(self._requests.contests())
        )


def _fresh(
    wanted: Iterable[K], made: Mapping[K, M], make: Callable[[K, float], M], now: float
) -> dict[K, M]:
    """Return the requested data, evaluated anew where the last evaluation is too old."""
    return {
        key: made[key]
        if key in made and abs(now - made[key].time) < FRESH_SECONDS
        else make(key, now)
        for key in wanted
    }
