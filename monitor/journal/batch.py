"""What one transaction makes durable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from monitor.core.model import Collocation, Event, Records
from monitor.core.pairing.observations import Durable
from monitor.core.state.network import KnownSeries


class DeadLetter(NamedTuple):
    """A message that was not understood: kept for a person to look at."""

    received: float
    topic: str
    reason: str
    detail: str
    payload: bytes


class Batch(NamedTuple):
    """What one transaction makes durable."""

    received: float
    observations: Sequence[Durable]
    pairs: Records
    series: Sequence[KnownSeries]
    dead_letters: Sequence[DeadLetter]
    totals: Mapping[str, int]
    events: Sequence[Event] = ()
    collocations: Sequence[Collocation] = ()
    notes: Mapping[str, bytes] = MappingProxyType({})
