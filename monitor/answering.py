"""What somebody looks at, made in full on the data's thread, so that HTTP has it to show.

Rules of this file: only what is wished for is made; series are made anew at every publication,
what asks for a search or for many windows every few seconds at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeVar

from monitor.core.details import Contenders, Contest, Detail, Occasion
from monitor.core.network import Network
from monitor.core.registry import SeriesKey
from monitor.web.wishes import Wishes

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
