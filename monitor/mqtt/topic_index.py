"""Topics as numbers, looked up one by one or, for a large read, all at once.

A topic is stored as in its packet, with its length before it. What the column lookup finds is
compared byte by byte, and what it does not find is looked up in the dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

import numpy as np
import numpy.typing as npt

from monitor.core.model import Int
from monitor.mqtt.payload_slices import all_of, octets_at

Words = npt.NDArray[np.uint64]

NOBODY: Final = -1
_BYTES_MAX: Final = 128  # of a topic that is found by the column
_WORD_BYTES: Final = 8
_ROOM_FIRST: Final = 64
_CELLS_A_NAME: Final = 8
_FACTORS: Final = np.cumprod(np.full(_BYTES_MAX // _WORD_BYTES, 0x9E3779B97F4A7C15, np.uint64))
# What belongs to a topic of so many bytes, and what comes after it.
_MASKS: Final = np.where(np.arange(_BYTES_MAX) < np.arange(_BYTES_MAX + 1)[:, None], 255, 0)
_WORD_MASKS: Final = _MASKS.astype(np.uint8).view(np.uint64)


class TopicIndex:
    """State: topics in the order of their first message; the number of each is its position."""

    def __init__(self) -> None:
        self.names: Final[list[str]] = []
        self._numbers: Final[dict[bytes, int]] = {}
        self._table = _Table(0, _WORD_BYTES)
        self._longest = _WORD_BYTES

    def get(self, name: bytes) -> int | None:
        """Return the number of a topic, None if it is new."""
        return self._numbers.get(name)

    def learn(self, name: bytes, topic: str) -> int:
        """Return the number of a topic that is new; ``name`` has its length before it."""
        number = len(self.names)
        self.names.append(topic)
        self._numbers[name] = number
        self._longest = min(max(self._longest, len(name)), _BYTES_MAX)
        return number

    def find(self, data: bytes, starts: Int, stops: Int) -> Int | None:
        """Return the numbers of the topics at some places of ``data``, None if any is new."""
        found = self._up_to_date().find(data, starts, stops)
        left = np.flatnonzero(found == NOBODY)
        spans = zip(starts[left].tolist(), stops[left].tolist(), strict=True)
        others = [self._numbers.get(data[start:stop], NOBODY) for start, stop in spans]
        if NOBODY in others:
            return None
        found[left] = others
        return found

    def _up_to_date(self) -> _Table:
        table, count = self._table, len(self.names)
        if table.size < count:
            if table.room < count or table.width < self._longest:
                table = self._table = _Table(2 * count, self._longest)
            table.add(list(islice(self._numbers, table.size, None)))
        return table


class _Table:
    """Topics as words, and where to look for each: of two that meet there the later one is found.

    There is ``room`` for so many, of at most ``width`` bytes.
    """

    def __init__(self, names: int, longest: int) -> None:
        self.size = 0
        self.room: Final = 1 << max(names, _ROOM_FIRST).bit_length()
        self._count: Final = -(-longest // _WORD_BYTES)  # words
        self.width: Final = self._count * _WORD_BYTES
        self._words: Final[Words] = np.zeros((self.room, self._count), dtype=np.uint64)
        self._cells: Final[Int] = np.full(self.room * _CELLS_A_NAME, NOBODY, dtype=np.int64)
        self._shift: Final = np.uint64(65 - self._cells.size.bit_length())

    def add(self, names: Sequence[bytes]) -> None:
        """Add topics that are new."""
        fitting = [at for at, name in enumerate(names) if len(name) <= self.width]
        padded = b"".join(names[at].ljust(self.width, b"\0") for at in fitting)
        words = np.frombuffer(padded, np.uint64).reshape(-1, self._count)
        numbers = self.size + np.array(fitting, dtype=np.int64)
        self._words[numbers] = words
        self._cells[self._cells_of(words)] = numbers
        self.size += len(names)

    def find(self, data: bytes, starts: Int, stops: Int) -> Int:
        """Return the numbers of topics, NOBODY for those that are not found here."""
        last, lengths = len(data) - self.width, stops - starts
        if last < 0:
            return np.full(starts.size, NOBODY)
        is_whole = (starts <= last) & (lengths <= self.width)
        words = octets_at(data, np.minimum(starts, last), self.width).view(np.uint64)
        words &= _WORD_MASKS[np.where(is_whole, lengths, 0), : self._count]
        found = self._cells[self._cells_of(words)]
        is_found = all_of(self._words[found] == words)
        return np.where(is_found & is_whole, found, NOBODY)

    def _cells_of(self, words: Words) -> Int:
        mixed = words @ _FACTORS[: self._count]
        return (mixed >> self._shift).astype(np.int64)
