"""What is published: everything that HTTP may say, made once on the data's thread, immutable."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from monitor.core.details import Contenders, Contest, Detail, Occasion
from monitor.core.registry import SeriesKey
from monitor.core.snapshot import Snapshot
from monitor.journal import DeadLetter
from monitor.transition import Transition


@dataclass(frozen=True)
class Page:
    """One publication. ``not_ready`` says in a sentence why the daemon cannot work, if so.

    ``details``, ``occasions`` and ``contenders`` are those that somebody looks at; ``settings``
    are in force and hold no credentials, ``settings_hash`` names them. ``history`` are the last
    transitions of alerts, the newest first.
    """

    metrics: bytes
    snapshot: Snapshot
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
    def metrics_gzip(self) -> bytes:
        """The metrics, packed at the first request that wants them so."""
        return gzip.compress(self.metrics, compresslevel=1, mtime=0)

    @cached_property
    def rows(self) -> dict[SeriesKey, int]:
        """The row of each series in the snapshot."""
        names = self.snapshot.names
        return {SeriesKey(name.sensor, name.quantity): row for row, name in enumerate(names)}
