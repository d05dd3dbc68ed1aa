"""Checkpoints of evidence older than the rings, for series that were replayed from there.

Rules of this file: they decide what a replay costs, never what it finds. A series that was once
replayed from its history keeps the newest few, so that the next replay reads only the history after
one of them, however long the history is.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

SPACING: Final = 256  # pairs between two
EACH: Final = 8  # of a series
BYTES_MAX: Final = 32 << 20  # in total; beyond that, the least recently used go


class Checkpoint(NamedTuple):
    """The detector's state after the pair (time, id)."""

    time: float
    id: int
    state: bytes


class FarCheckpoints:
    """State: the checkpoints of each series, in event order."""

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self._bytes_max: Final = bytes_max
        self._bytes = 0
        self._kept: Final[OrderedDict[int, list[Checkpoint]]] = OrderedDict()

    def before(self, row: int, since: float) -> Checkpoint | None:
        """Return the last one before an event time; forget those after it: its past changed."""
        kept = self._kept.get(row)
        if kept is None:
            return None
        self._kept.move_to_end(row)
        while kept and not kept[-1].time < since:
            self._bytes -= len(kept.pop().state)
        return kept[-1] if kept else None

    def add(self, row: int, checkpoint: Checkpoint) -> None:
        """Keep one that is later than all others of its series."""
        kept = self._kept.setdefault(row, [])
        kept.append(checkpoint)
        self._bytes += len(checkpoint.state)
        if len(kept) > EACH:
            self._bytes -= len(kept.pop(0).state)
        while self._bytes > self._bytes_max:
            self.forget(next(iter(self._kept)))

    def forget(self, row: int) -> None:
        """Drop the checkpoints of a series."""
        self._bytes -= sum(len(each.state) for each in self._kept.pop(row, ()))
