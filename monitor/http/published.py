"""What the data's thread and HTTP share: the page shown now, requests, and a sign of life.

The data's thread replaces the page, which is immutable, and reads the requests; routes do the
opposite. Neither waits for the other. Routes know this and not the service that runs them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from monitor.alerts.transition import Transition
from monitor.core.registry import SeriesKey
from monitor.core.snapshot.details import (
    Contenders,
    Contest,
    Detail,
    Occasion,
)
from monitor.core.snapshot.snapshot import Snapshot
from monitor.http.on_demand import OnDemandRequests
from monitor.http.telemetry import Figures
from monitor.journal import DeadLetter

TICK_SECONDS_MAX: Final = 10.0


@dataclass(frozen=True)
class Page:
    """One publication. ``not_ready`` says in a sentence why the daemon cannot work, if so.

    ``figures`` are what the daemon knows of itself; their text and that of the snapshot, the page
    of metrics, is written for those who ask for it (:mod:`monitor.http.metrics_routes`).
    ``details``, ``occasions`` and ``contenders`` are those that somebody looks at; ``settings``
    are in force and hold no credentials, ``settings_hash`` names them. ``history`` are the last
    transitions of alerts, the newest first.
    """

    snapshot: Snapshot
    figures: Figures | None = None
    not_ready: str = ""
    dead_letters: tuple[DeadLetter, ...] = ()
    doctor: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[SeriesKey, Detail] = field(default_factory=dict)
    occasions: Mapping[str, Occasion] = field(default_factory=dict)
    contenders: Mapping[Contest, Contenders] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    settings_hash: str = ""
    history: tuple[Transition, ...] = ()

    @cached_property
    def rows(self) -> dict[SeriesKey, int]:
        """The row of each series in the snapshot."""
        names = self.snapshot.names
        return {SeriesKey(name.sensor, name.quantity): row for row, name in enumerate(names)}


class Published:
    """State: the page that is shown, what readers ask for, when the data's thread last ticked."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic: Final = monotonic
        self._page: Page | None = None
        self._ticked = monotonic()
        self.requests: Final = OnDemandRequests(monotonic)
        self.stopping = False

    def publish(self, page: Page) -> None:
        """Show ``page`` from now on."""
        self._page = page
        self.tick()

    def page(self) -> Page | None:
        """Return the page shown now, None before the first."""
        return self._page

    def tick(self) -> None:
        """Say that the data's thread is alive."""
        self._ticked = self._monotonic()

    def stalled_seconds(self) -> float:
        """Return for how long beyond the allowed the data's thread has been silent."""
        return max(0.0, self._monotonic() - self._ticked - TICK_SECONDS_MAX)
