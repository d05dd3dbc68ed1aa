"""Readings that a sensor sent while it was under maintenance are refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from typing import Final, NamedTuple

from monitor.core.model import Observation, Reading
from monitor.decode.checks import Rejected


class Work(NamedTuple):
    """From ``start`` until before ``end`` (s since 1970 UTC) on sensors that fit a pattern."""

    sensor: str
    start: float
    end: float


class Maintenance:
    """Knows when who is worked on."""

    def __init__(self, works: Iterable[Work]) -> None:
        self._works: Final = [(re.compile(translate(work.sensor)), work) for work in works]

    def without(self, found: Sequence[Observation | Rejected]) -> list[Observation | Rejected]:
        """Return ``found`` with a Rejected in place of each reading of a sensor worked on."""
        return [self._refused(each) if isinstance(each, Reading) else each for each in found]

    def _refused(self, reading: Reading) -> Reading | Rejected:
        for pattern, work in self._works:
            if work.start <= reading.time < work.end and pattern.match(reading.sensor):
                what = f"{reading.sensor} was worked on at that time (maintenance {work.sensor!r})"
                return Rejected("maintenance", what)
        return reading
