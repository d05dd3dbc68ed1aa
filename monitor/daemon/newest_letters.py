"""The newest refused messages of each topic, so that no sensor's are lost among another's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Final

from monitor.journal.store import DeadLetter

LETTERS_MOST: Final = 10_000
LETTERS_A_TOPIC: Final = 50


class NewestLetters:
    """State: the newest dead letters of each topic that is among the last to have one.

    There are ``LETTERS_MOST`` at most; topics share them alike once that is too few.
    """

    def __init__(self, newest_first: Iterable[DeadLetter] = ()) -> None:
        self._of: Final[dict[str, tuple[DeadLetter, ...]]] = {}
        self.changes = 0
        self.add([*newest_first][::-1])

    def add(self, letters: Iterable[DeadLetter]) -> None:
        """Add dead letters in the order in which they came."""
        for each in letters:
            self._of[each.topic] = (*self._of.pop(each.topic, ()), each)[-self._share() :]
            if len(self._of) > LETTERS_MOST:
                del self._of[next(iter(self._of))]
            self.changes += 1

    def newest(self) -> tuple[DeadLetter, ...]:
        """Return all of them, the newest first."""
        share = self._share()
        newest = chain.from_iterable(of[-share:] for of in self._of.values())
        return tuple(sorted(newest, key=lambda each: each.received)[::-1])

    def by_sensor(self, sensor_of: Callable[[str], str]) -> dict[str, DeadLetter]:
        """Return the newest of each sensor, which ``sensor_of`` reads from a topic."""
        last = {sensor_of(topic): of[-1] for topic, of in self._of.items()}
        return {sensor: each for sensor, each in last.items() if sensor}

    def _share(self) -> int:
        return max(1, min(LETTERS_A_TOPIC, LETTERS_MOST // max(1, len(self._of))))
