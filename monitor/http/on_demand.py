"""What people look at: noted by HTTP, read by the data's thread.

Rules of this file: bounded and safe between threads; a wish is forgotten a minute after it was
last uttered; of too many the oldest give way.

What somebody looks at, made in full on the data's thread, so that HTTP has it to show.

Rules of this file: only what is wished for is made; series are made anew at every publication,
what asks for a search or for many windows every few seconds at most.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeVar

from monitor.core.registry import SeriesKey
from monitor.core.snapshot.details import (
    Contenders,
    Contest,
    Detail,
    Occasion,
)
from monitor.core.state.network import Network

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


FRESH_SECONDS: Final = 5.0

K = TypeVar("K")
M = TypeVar("M", Occasion, Contenders)


class Answers(NamedTuple):
    """What is wished for, as far as there is such a thing."""

    details: Mapping[SeriesKey, Detail]
    occasions: Mapping[str, Occasion]
    contenders: Mapping[Contest, Contenders]


class Answerer:
    """Makes what ``wishes`` asks for out of ``network``."""

    def __init__(self, network: Network, wishes: Wishes) -> None:
        self._network: Final = network
        self._wishes: Final = wishes
        self._series: set[SeriesKey] = set()
        self._made = Answers({}, {}, {})

    def answers(self, now: float) -> Answers:
        """Return all that is wished for at ``now`` (s UTC)."""
        wanted = self._wishes.series()
        self._series = set(wanted)
        found = {key: self._network.detail(key, now) for key in wanted}
        made, network = self._made, self._network
        self._made = Answers(
            {key: detail for key, detail in found.items() if detail is not None},
            _fresh(self._wishes.occasions(), made.occasions, network.occasion, now),
            _fresh(self._wishes.contests(), made.contenders, network.contenders, now),
        )
        return self._made

    def is_behind(self) -> bool:
        """Return whether something is wished for that was not made yet."""
        return not (
            self._series.issuperset(self._wishes.series())
            and self._made.occasions.keys() >= set(self._wishes.occasions())
            and self._made.contenders.keys() >= set(self._wishes.contests())
        )


def _fresh(
    wanted: Iterable[K], made: Mapping[K, M], make: Callable[[K, float], M], now: float
) -> dict[K, M]:
    """Return what is wanted, made anew where what was made is no longer fresh."""
    return {
        key: made[key]
        if key in made and abs(now - made[key].time) < FRESH_SECONDS
        else make(key, now)
        for key in wanted
    }
