"""The values that the data's thread and HTTP share: page, requests, a sign of life.

The data's thread replaces the page, which is immutable, and reads the requests; routes do the
opposite. Neither waits for the other. Routes know this module and not the service that runs them.

Data that are too large to publish for everybody are requested by HTTP and evaluated on the data's
thread: the pairs of a series, all that shares a key, the windows of a ranking. A request is safe
between threads and expires a minute after it was last made; if there are too many, the oldest are
dropped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeVar

from monitor.alerts.transition import Transition
from monitor.config.sources import Place
from monitor.core.registry import SeriesKey
from monitor.core.snapshot.details import Contenders, Contest, Detail, Occasion
from monitor.core.snapshot.snapshot import Snapshot
from monitor.http.by_hand import LinesByHand
from monitor.http.telemetry import Figures
from monitor.journal.store import DeadLetter

TICK_SECONDS_MAX: Final = 10.0
START_SECONDS_MAX: Final = 600.0  # as long as the unit file allows for a start


@dataclass(frozen=True)
class Page:
    """One publication. ``not_ready`` is a sentence on why the daemon cannot work, if it cannot.

    ``catching_up`` is one on what is missing while more waits at the broker than a read takes.
    ``dead_letters`` are the newest of each topic, the newest of all first; ``refused`` the last of
    each sensor that a topic names.

    ``figures`` are the daemon's own; their text and that of the snapshot, the page of metrics, is
    written on request (:mod:`monitor.http.application`). ``details``, ``occasions`` and
    ``contenders`` are the requested ones; ``settings`` are in force and hold no credentials,
    ``settings_hash`` identifies them. ``history`` are the last transitions of alerts, the newest
    first; ``notices`` are sentences on what needs attention. ``by_hand`` knows what to type.
    ``places`` are those of sensors, ``others`` how many pairs of each series other settings made.
    """

    snapshot: Snapshot
    figures: Figures | None = None
    not_ready: str = ""
    catching_up: str = ""
    dead_letters: tuple[DeadLetter, ...] = ()
    refused: Mapping[str, DeadLetter] = field(default_factory=dict)
    doctor: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[SeriesKey, Detail] = field(default_factory=dict)
    occasions: Mapping[str, Occasion] = field(default_factory=dict)
    contenders: Mapping[Contest, Contenders] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    settings_hash: str = ""
    history: tuple[Transition, ...] = ()
    notices: tuple[str, ...] = ()
    by_hand: LinesByHand | None = None
    places: Mapping[str, Place] = field(default_factory=dict)
    others: Mapping[int, int] = field(default_factory=dict)

    @cached_property
    def rows(self) -> dict[SeriesKey, int]:
        """The row of each series in the snapshot that is present."""
        names, gone = self.snapshot.names, self.snapshot.gone
        return {
            SeriesKey(name.sensor, name.quantity): row
            for row, name in enumerate(names)
            if row not in gone
        }

    @cached_property
    def invisible(self) -> dict[str, DeadLetter]:
        """The last refused message of each sensor of which no message could be used."""
        shown = {key.sensor for key in self.rows} if self.refused else set()
        return {sensor: each for sensor, each in self.refused.items() if sensor not in shown}


class Published:
    """State: the shown page, the requests of readers, when the data's thread last ticked."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic: Final = monotonic
        self._page: Page | None = None
        self._ticked = monotonic()
        self.requests: Final = OnDemandRequests(monotonic)
        self.stopping = False

    def publish(self, page: Page) -> None:
        """Show ``page`` from now on."""
        self._page = page
        self._ticked = max(self._ticked, self._monotonic())

    def page(self) -> Page | None:
        """Return the page shown now, None before the first."""
        return self._page

    def tick(self, seconds: float = 0.0) -> None:
        """Note that the data's thread is alive, and may be silent for ``seconds`` from now."""
        self._ticked = self._monotonic() + seconds

    def starting(self) -> None:
        """Note that the data's thread reads the journal, and is silent meanwhile."""
        self.tick(START_SECONDS_MAX)

    def stalled_seconds(self) -> float:
        """Return how far the silence of the data's thread exceeds the limit, s."""
        return max(0.0, self._monotonic() - self._ticked - TICK_SECONDS_MAX)


REQUEST_SECONDS: Final = 60.0
SERIES_MAX: Final = 50
OCCASIONS_MAX: Final = 8
CONTESTS_MAX: Final = 4

T = TypeVar("T")


class OnDemandRequests:
    """State: the requested series, occasions (keys), rankings and report."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic: Final = monotonic
        self._lock: Final = threading.Lock()
        self._series: dict[SeriesKey, float] = {}
        self._occasions: dict[str, float] = {}
        self._contests: dict[Contest, float] = {}
        self._doctor: dict[str, float] = {}
        self.made = 0
        """How many requests were new: while it is unchanged, there is no new request."""

    def request_series(self, key: SeriesKey) -> None:
        """Request a series in full."""
        self._request(self._series, key, SERIES_MAX)

    def request_occasion(self, key: str) -> None:
        """Request everything that shares a key."""
        self._request(self._occasions, key, OCCASIONS_MAX)

    def request_contest(self, contest: Contest) -> None:
        """Request the windows of a ranking."""
        self._request(self._contests, contest, CONTESTS_MAX)

    def request_doctor(self) -> None:
        """Request the doctor's report."""
        self._request(self._doctor, "", 1)

    def series(self) -> list[SeriesKey]:
        """Return the requested series."""
        return self._current(self._series)

    def occasions(self) -> list[str]:
        """Return the requested keys."""
        return self._current(self._occasions)

    def contests(self) -> list[Contest]:
        """Return the requested rankings."""
        return self._current(self._contests)

    def doctor(self) -> bool:
        """Return whether the doctor's report is requested."""
        return bool(self._current(self._doctor))

    def _request(self, requests: dict[T, float], key: T, most: int) -> None:
        with self._lock:
            self.made += requests.pop(key, None) is None
            requests[key] = self._monotonic()
            while len(requests) > most:
                del requests[next(iter(requests))]

    def _current(self, requests: dict[T, float]) -> list[T]:
        oldest = self._monotonic() - REQUEST_SECONDS
        with self._lock:
            for key in [key for key, asked in requests.items() if asked < oldest]:
                del requests[key]
            return list(requests)
