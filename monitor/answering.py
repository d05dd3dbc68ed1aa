"""What somebody looks at, made in full on the data's thread, so that HTTP has it to show.

Rules of this file: only what is wished for is made; series are made anew at every publication,
occasions, which ask for a search, every few seconds at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from monitor.core.details import Detail, Occasion
from monitor.core.network import Network
from monitor.core.registry import SeriesKey
from monitor.web.wishes import Wishes

OCCASION_SECONDS: Final = 5.0


class Answers(NamedTuple):
    """What is wished for, as far as there is such a thing."""

    details: Mapping[SeriesKey, Detail]
    occasions: Mapping[str, Occasion]


class Answerer:
    """Makes what ``wishes`` asks for out of ``network``."""

    def __init__(self, network: Network, wishes: Wishes) -> None:
        self._network: Final = network
        self._wishes: Final = wishes
        self._occasions: dict[str, Occasion] = {}
        self._answered: set[SeriesKey] = set()

    def answers(self, now: float) -> Answers:
        """Return all that is wished for at ``now`` (s UTC)."""
        wanted = self._wishes.series()
        self._answered = set(wanted)
        details = {}
        for key in wanted:
            detail = self._network.detail(key, now)
            if detail is not None:
                details[key] = detail
        self._occasions = {key: self._occasion(key, now) for key in self._wishes.occasions()}
        return Answers(details, self._occasions)

    def is_behind(self) -> bool:
        """Return whether something is wished for that was not made yet."""
        return not (
            self._answered.issuperset(self._wishes.series())
            and self._occasions.keys() >= set(self._wishes.occasions())
        )

    def _occasion(self, key: str, now: float) -> Occasion:
        known = self._occasions.get(key)
        if known is not None and abs(now - known.time) < OCCASION_SECONDS:
            return known
        return self._network.occasion(key, now)
