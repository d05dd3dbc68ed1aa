"""What is too much to publish for everybody: requested by HTTP, evaluated on the data's thread.

The pairs of a series, all that shares a key, the windows of a ranking. A request is safe between
threads and expires a minute after it was last made; of too many the oldest give way. Series are
evaluated anew at every publication; what needs a search or many windows, every few seconds at most.
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

REQUEST_SECONDS: Final = 60.0
SERIES_MAX: Final = 50
OCCASIONS_MAX: Final = 8
CONTESTS_MAX: Final = 4

T = TypeVar("T")


class OnDemandRequests:
    """State: the series, occasions (keys), rankings and report that somebody has asked for."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic: Final = monotonic
        self._lock: Final = threading.Lock()
        self._series: dict[SeriesKey, float] = {}
        self._occasions: dict[str, float] = {}
        self._contests: dict[Contest, float] = {}
        self._doctor: dict[str, float] = {}
        self.made = 0
        """How many requests were new: as long as it stays the same, nothing new is asked for."""

    def request_series(self, key: SeriesKey) -> None:
        """Ask for a series in full."""
        self._request(self._series, key, SERIES_MAX)

    def request_occasion(self, key: str) -> None:
        """Ask for everything that shares a key."""
        self._request(self._occasions, key, OCCASIONS_MAX)

    def request_contest(self, contest: Contest) -> None:
        """Ask for the windows of a ranking."""
        self._request(self._contests, contest, CONTESTS_MAX)

    def request_doctor(self) -> None:
        """Ask for the doctor's report."""
        self._request(self._doctor, "", 1)

    def series(self) -> list[SeriesKey]:
        """Return the series that are asked for."""
        return self._current(self._series)

    def occasions(self) -> list[str]:
        """Return the keys that are asked for."""
        return self._current(self._occasions)

    def contests(self) -> list[Contest]:
        """Return the rankings that are asked for."""
        return self._current(self._contests)

    def doctor(self) -> bool:
        """Return whether the doctor's report is asked for."""
        return bool(self._current(self._doctor))

    def _request(self, requests: dict[T, float], key: T, most: int) -> None:
        with self._lock:
            self.made += requests.pop(key, None) is None
            requests[key] = self._monotonic()
            while len(requests) > most:
                del requests[next(iter(requests))]

    def _current(self, requests: dict[T, float]) -> list[T]:
        oldest = self._monotonic() - REQUEST_SECONDS
        with self._lock:
            for key in [key for key, asked in requests.items() if asked < oldest]:
                del requests[key]
            return list(requests)


FRESH_SECONDS: Final = 5.0

K = TypeVar("K")
M = TypeVar("M", Occasion, Contenders)


class OnDemand(NamedTuple):
    """What was asked for, as far as there is such a thing."""

    details: Mapping[SeriesKey, Detail]
    occasions: Mapping[str, Occasion]
    contenders: Mapping[Contest, Contenders]


class OnDemandEvaluator:
    """Evaluates what ``requests`` ask of ``network``."""

    def __init__(self, network: Network, requests: OnDemandRequests) -> None:
        self._network: Final = network
        self._requests: Final = requests
        self._series: set[SeriesKey] = set()
        self._made = OnDemand({}, {}, {})

    def evaluate(self, now: float) -> OnDemand:
        """Return all that is asked for as of ``now`` (s UTC)."""
        wanted = self._requests.series()
        self._series = set(wanted)
        found = {key: self._network.detail(key, now) for key in wanted}
        made, network = self._made, self._network
        self._made = OnDemand(
            {key: detail for key, detail in found.items() if detail is not None},
            _fresh(self._requests.occasions(), made.occasions, network.occasion, now),
            _fresh(self._requests.contests(), made.contenders, network.contenders, now),
        )
        return self._made

    def is_behind(self) -> bool:
        """Return whether something is asked for that was not evaluated yet."""
        return not (
            self._series.issuperset(self._requests.series())
            and self._made.occasions.keys() >= set(self._requests.occasions())
            and self._made.contenders.keys() >= set(self._requests.contests())
        )


def _fresh(
    wanted: Iterable[K], made: Mapping[K, M], make: Callable[[K, float], M], now: float
) -> dict[K, M]:
    """Return what is asked for, evaluated anew where the last evaluation is no longer fresh."""
    return {
        key: made[key]
        if key in made and abs(now - made[key].time) < FRESH_SECONDS
        else make(key, now)
        for key in wanted
    }
