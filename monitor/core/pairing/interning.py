"""Interning: a number for each name, looked up once however many rows refer to the name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

import numpy as np

from monitor.core.model import Int

T = TypeVar("T")
UNKNOWN: Final = -1  # the name has no number yet: it is looked up again
NONE: Final = -2  # the name will never have one


class Interner(Generic[T]):
    """Caches ``number_of`` a name (0 or more, UNKNOWN, NONE) for one list of names.

    The list may only grow; another list starts an empty cache.
    """

    def __init__(self, number_of: Callable[[T], int]) -> None:
        self._number_of: Final = number_of
        self._names: Sequence[T] = ()
        self._numbers: Int = np.zeros(0, dtype=np.int64)

    def numbers(self, names: Sequence[T], which: Int) -> Int:
        """Return the numbers of the names at the places ``which`` among ``names``."""
        if names is not self._names:
            self._names, self._numbers = names, np.zeros(0, dtype=np.int64)
        if self._numbers.size < len(names):
            more = np.full(len(names) - self._numbers.size, UNKNOWN)
            self._numbers = np.concatenate((self._numbers, more))
        found: Int = self._numbers[which]
        is_unknown = found == UNKNOWN
        if is_unknown.any():
            for place in np.unique(which[is_unknown]).tolist():
                self._numbers[place] = self._number_of(names[place])
            found = self._numbers[which]
        return found

    def forget(self, which: Int | slice = slice(None)) -> None:
        """Drop the cached numbers at some places, by default all."""
        self._numbers[which] = UNKNOWN
