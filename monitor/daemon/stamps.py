"""The event times that messages carry: a few of each batch, and how long after them they come.

Rules of this file: a sample spread over a batch speaks for all of it, at a bounded cost.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final, NamedTuple

from monitor.core.model import Reading, Reference
from monitor.decode.router import Decoded

_DELAYS_KEPT: Final = 101


class Stamp(NamedTuple):
    """The event time that a message of ``topic`` carries, s since 1970 UTC."""

    topic: str
    time: float


def stamps_of(topics: Sequence[str], decoded: Decoded, step: int) -> list[Stamp]:
    """Return the event times of every ``step``th reading or reference."""
    plain, others = decoded.observations.plain, decoded.observations.others
    found = []
    for at in range(0, len(decoded.sources), step):
        time = math.nan
        if at < len(plain):
            time = float(plain.times[at])
        elif isinstance(other := others[at - len(plain)], Reading | Reference):
            time = other.time
        if math.isfinite(time):
            found.append(Stamp(topics[decoded.sources[at]], time))
    return found


class Delays:
    """How long after their event messages come, by the topic filter of their source, in s.

    Below zero the sender's clock is ahead of this machine's.
    """

    def __init__(self) -> None:
        self._last: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_DELAYS_KEPT))

    def add(self, topics: str, seconds: float) -> None:
        """Record one message's delay."""
        self._last[topics].append(seconds)

    def medians(self) -> Mapping[str, float]:
        """Return the median delay of the last messages of each source."""
        return {topics: median(last) for topics, last in self._last.items()}
