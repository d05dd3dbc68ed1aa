"""The settings that the pairs of a journal were made with, as marks of each series.

Rules of this file: marks are small numbers that only tell settings apart (``config.pair_marks``).
Of each series the journal has the marks in force, and up to which event time its pairs were made
with others. A series or a pair from before there were marks counts as made with the settings in
force. The note is written with the pairs that are made again, or after them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from monitor.config.pair_marks import MARKS, MarksOf
from monitor.core.formatting import grouped_count
from monitor.core.model import Bool, Float, Int
from monitor.core.state.network import Network
from monitor.journal.store import Store

NOTE: Final = "made_with"  # name of the journal's note
_FORMER_MAX: Final = 8  # settings that are told apart in one series; the oldest count as the next

Marks = npt.NDArray[np.uint32]
_Form = tuple[bytes, list[tuple[int, int, list[tuple[float, int]]]], bool]


class MadeWith:
    """State: the marks of each series, one row each, and the former ones with when they ended.

    ``has_dropped``: the journal has dropped observations, and need not have all of any time.
    """

    def __init__(self, marks_of: MarksOf, note: bytes) -> None:
        """Load what :meth:`note` returned, empty for none; ``marks_of`` are those in force."""
        self._marks_of: Final = marks_of
        read: _Form = msgspec.msgpack.decode(note, type=_Form) if note else (b"", [], False)
        marks, former, has_dropped = read
        self.has_dropped = has_dropped
        self.marks: Marks = np.frombuffer(marks, np.uint32).reshape(-1, MARKS)
        self._former: Final = {(row, part): ends for row, part, ends in former}

    def note(self, *, drops: bool = False) -> bytes:
        """Return it as the journal keeps it; ``drops``: as one that is about to drop something."""
        former = [(*key, ends) for key, ends in self._former.items()]
        return msgspec.msgpack.encode((self.marks.tobytes(), former, drops or self.has_dropped))

    def in_force(self, series: Sequence[tuple[str, str]]) -> Marks:
        """Return the marks in force of series, each named by its sensor and quantity."""
        rows = [self._marks_of(*name) for name in series]
        return np.array(rows, dtype=np.uint32).reshape(-1, MARKS)

    def differences(self, marks: Marks) -> Bool:
        """Return which of the marks in force differ from those noted; of a new series all do."""
        noted = np.zeros_like(marks)
        noted[: len(self.marks)] = self.marks[: len(marks)]
        return marks != noted

    def follow(self, marks: Marks, ends: Float) -> None:
        """Take the marks in force; up to the times ``ends`` pairs stay as they were made.

        Both have one row a series and one column a mark; -inf where all are as the settings say.
        """
        former = self._former
        for row, part in np.argwhere(self.differences(marks)).tolist():
            if row >= len(self.marks):
                continue
            end, now = float(ends[row, part]), (inf, int(self.marks[row, part]))
            spans = [*former.pop((row, part), ()), now]
            stay = [each for each in spans if each[0] < end]
            if end > -inf:
                former[row, part] = [*stay, (end, spans[len(stay)][1])][-_FORMER_MAX:]
        self.marks = marks

    def keep_up(self, series: Sequence[tuple[str, str]]) -> bool:
        """Take the marks of the series that began since; return whether there are some."""
        new = self.in_force(series[len(self.marks) :])
        self.marks = np.concatenate((self.marks, new))
        return bool(len(new))

    def rows(self) -> Int:
        """Return the series that may have pairs made with other settings."""
        return np.unique(np.array([row for row, _ in self._former], dtype=np.int64))

    def others(self, row: int, times: Float) -> Bool:
        """Return which pairs of a series, at ascending event times, other settings made."""
        is_other = np.zeros(times.size, dtype=np.bool_)
        for part, now in enumerate(self.marks[row].tolist()):
            first = 0
            for end, mark in self._former.get((row, part), ()):
                last = int(np.searchsorted(times, end, side="right"))
                if mark and now and mark != now:
                    is_other[first:last] = True
                first = last
        return is_other


class OtherPairs:
    """State: how many pairs of each series other settings made, as of the start.

    They count until an event begins the series anew, or the journal has dropped them.
    """

    def __init__(self, made_with: MadeWith, network: Network, store: Store) -> None:
        self._network: Final = network
        self._counts: Final[dict[int, tuple[int, float]]] = {}
        rows = made_with.rows().tolist()
        for row, pairs in store.pairs_of_each(rows).items() if rows else ():
            times = network.since_event(row, pairs)["time"]
            others = times[made_with.others(row, times)]
            if others.size:
                self._counts[row] = others.size, float(others[-1])

    def counts(self) -> dict[int, int]:
        """Return how many there are of each series that has some."""
        return {
            row: count
            for row, (count, last) in self._counts.items()
            if self._network.still_counts(row, last)
        }

    def sentences(self) -> Iterator[str]:
        """Yield them in words, nothing if there are none."""
        counts, keys = self.counts(), self._network.registry.keys
        if not counts:
            return
        pairs = grouped_count(sum(counts.values()), "pair")
        sensors = grouped_count(len({keys[row].sensor for row in counts}), "sensor")
        yield f"{pairs} of {sensors} {_STAYS}"


_STAYS: Final = (
    "were made with other settings and stay as they are: what made them is not held any more, or "
    "was read otherwise; `monitor event` begins a sensor anew"
)
