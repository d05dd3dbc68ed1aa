"""What is published: everything that HTTP may say, gathered on the data's thread, immutable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from monitor.alerts.transition import Transition
from monitor.core.registry import SeriesKey
from monitor.core.snapshot.details import (
    Contenders,
    Contest,
    Detail,
    Occasion,
)
from monitor.core.snapshot.snapshot import Snapshot
from monitor.http.telemetry import Figures
from monitor.journal import DeadLetter


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
