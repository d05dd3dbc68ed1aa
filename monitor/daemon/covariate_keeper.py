"""Covariates of readings: held until pairs need them, then stored beside the pairs.

Rules of this file: a batch's samples are held before its pairs take their numbers, and both are
written in the transaction of the batch. A bad number is counted and reported, and rejects nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Records, Sample
from monitor.core.pairing.covariate_samples import CovariateRule, CovariateSamples
from monitor.core.pairing.observations import Durable
from monitor.core.registry import Registry
from monitor.decode.records import BadNumber
from monitor.journal.store import NO_NUMBERS


class KeptNumbers(NamedTuple):
    """The covariates of a batch: samples, numbers beside its pairs, and repeated messages."""

    samples: Sequence[Sample] = ()
    beside: Records = NO_NUMBERS
    repeated: frozenset[int] = frozenset()


class CovariateKeeper:
    """State: the samples that may still be needed, and the numbers that could not be used.

    ``refused`` are these by covariate and reason since the start; ``changed`` are the series with
    pairs that nobody has looked at yet, in the order they are due.
    """

    def __init__(self, rules: Sequence[CovariateRule], registry: Registry, most: int) -> None:
        self.rules: Final = tuple(rules)
        self.samples: Final = CovariateSamples(rules, most)
        self.refused: Final[dict[tuple[str, str], int]] = {}
        self._details: Final[dict[tuple[str, str], str]] = {}
        self._registry: Final = registry
        self._greatest_age: Final = max((rule.max_age_seconds for rule in rules), default=0.0)
        self._heard: Final[set[str]] = set()
        self.changed: Final[dict[int, None]] = {}

    def take(
        self, found: Sequence[tuple[int, Sample | BadNumber]], pairs: Records, received: float
    ) -> KeptNumbers:
        """Hold the samples of a batch; return what to write with it, its pairs included."""
        kept: list[Sample] = []
        fresh: set[int] = set()
        own: set[int] = set()
        for message, each in found:
            if isinstance(each, BadNumber):
                key = (each.covariate, each.reason)
                self.refused[key] = self.refused.get(key, 0) + 1
                self._details[key] = each.detail
                continue
            if each.quantity and self._registry.get(each.sensor, each.quantity) is None:
                continue  # its reading was refused
            if not each.quantity:
                own.add(message)
            self._heard.add(each.covariate)
            if self.samples.add(each, received):
                kept.append(each)
                fresh.add(message)
        self.samples.drop_excess()
        self.changed.update(dict.fromkeys(np.unique(pairs["series"]).tolist()))
        beside = self.samples.beside(pairs, self._registry.keys)
        return KeptNumbers(kept, beside, frozenset(own - fresh))

    def restore(self, received: float, observations: Iterable[Durable]) -> None:
        """Hold again the samples among observations that a journal kept."""
        for each in observations:
            if isinstance(each, Sample):
                self._heard.add(each.covariate)
                self.samples.add(each, received)
        self.samples.drop_excess()

    def wait_seconds(self, wait: float) -> float:
        """Return how long samples may be needed where readings wait for so long."""
        return wait + self._greatest_age

    def notices(self) -> Iterator[str]:
        """Yield a sentence for each number that never arrived or could not be used."""
        for rule in self.rules:
            if rule.scope != "none" and rule.name not in self._heard and len(self._registry):
                yield f"covariate {rule.name}: none of its numbers has come yet"
        for (name, reason), count in sorted(self.refused.items()):
            detail = self._details[name, reason]
            times = "reading" if count == 1 else "readings"
            yield f"covariate {name}: {count} {times} without a usable number, the last: {detail}"
