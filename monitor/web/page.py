"""What is published: everything that HTTP may say, made once on the data's thread, immutable."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from monitor.core.snapshot import Snapshot
from monitor.journal import DeadLetter


@dataclass(frozen=True)
class Page:
    """One publication. ``not_ready`` says in a sentence why the daemon cannot work, if so."""

    metrics: bytes
    snapshot: Snapshot
    not_ready: str = ""
    dead_letters: tuple[DeadLetter, ...] = ()
    doctor: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def metrics_gzip(self) -> bytes:
        """The metrics, packed at the first request that wants them so."""
        return gzip.compress(self.metrics, compresslevel=1, mtime=0)
