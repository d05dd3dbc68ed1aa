"""What people look at: noted by HTTP, read by the data's thread.

Rules of this file: bounded and safe between threads; a wish is forgotten a minute after it was
last uttered; of too many the oldest give way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from monitor.core.details import Contest
from monitor.core.registry import SeriesKey

WISH_SECONDS: Final = 60.0
SERIES_MAX: Final = 50
OCCASIONS_MAX: Final = 8
CONTESTS_MAX: Final = 4

T = TypeVar("T")


class Wishes:
    """The series, the occasions (keys), rankings and the report that somebody wants to see."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic: Final = monotonic
        self._lock: Final = threading.Lock()
        self._series: dict[SeriesKey, float] = {}
        self._occasions: dict[str, float] = {}
        self._contests: dict[Contest, float] = {}
        self._doctor: dict[str, float] = {}
        self.noted = 0
        """How many were uttered anew: who finds it as it was need not ask."""

    def want_series(self, key: SeriesKey) -> None:
        """Note that somebody looks at a series."""
        self._note(self._series, key, SERIES_MAX)

    def want_occasion(self, key: str) -> None:
        """Note that somebody looks at what shares a key."""
        self._note(self._occasions, key, OCCASIONS_MAX)

    def want_contest(self, contest: Contest) -> None:
        """Note that somebody looks at a ranking."""
        self._note(self._contests, contest, CONTESTS_MAX)

    def want_doctor(self) -> None:
        """Note that somebody reads the doctor's report."""
        self._note(self._doctor, "", 1)

    def series(self) -> list[SeriesKey]:
        """Return the series that are looked at."""
        return self._standing(self._series)

    def occasions(self) -> list[str]:
        """Return the keys that are looked at."""
        return self._standing(self._occasions)

    def contests(self) -> list[Contest]:
        """Return the rankings that are looked at."""
        return self._standing(self._contests)

    def doctor(self) -> bool:
        """Return whether somebody reads the doctor's report."""
        return bool(self._standing(self._doctor))

    def _note(self, wishes: dict[T, float], key: T, most: int) -> None:
        with self._lock:
            self.noted += wishes.pop(key, None) is None
            wishes[key] = self._monotonic()
            while len(wishes) > most:
                del wishes[next(iter(wishes))]

    def _standing(self, wishes: dict[T, float]) -> list[T]:
        oldest = self._monotonic() - WISH_SECONDS
        with self._lock:
            for key in [key for key, uttered in wishes.items() if uttered < oldest]:
                del wishes[key]
            return list(wishes)
