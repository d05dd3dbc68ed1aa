"""Covariates join pairs by event time: the newest number at or before a reading, if not too old.

Rules of this file: a number holds for one series, for all quantities of a sensor, or for all. A
pair takes its numbers when it is made, from the samples known by then, in whatever order they came;
a pair that is made again keeps the numbers it has (see ``BESIDE``). Samples wait as long as
readings do, and have the same limit. So the numbers of a pair follow from the samples and pairs in
the order of their batches, and are the same bits after a crash.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import numpy as np

from monitor.core.model import BESIDE, Float, Records, Sample
from monitor.core.pairing.identities import digest
from monitor.core.registry import SeriesKey


class CovariateRule(NamedTuple):
    """A watched covariate: what its samples are about, and how old one may be, s.

    ``scope`` "none" is for covariates that are made from the pairs themselves. The samples of one
    with ``categories`` are places in them.
    """

    name: str
    unit: str = ""
    scope: Literal["series", "sensor", "everyone", "none"] = "none"
    max_age_seconds: float = 0.0
    categories: tuple[str, ...] = ()


class _Buffer(NamedTuple):
    """Samples of one covariate about one holder, by event time; ``received`` in s UTC."""

    times: array[float]
    numbers: array[float]
    received: array[float]


class CovariateSamples:
    """State: the samples that may still be needed, ``most`` of them."""

    def __init__(self, rules: Sequence[CovariateRule], most: int) -> None:
        self._rules: Final = [
            (rule, digest("covariate", rule.name)) for rule in rules if rule.scope != "none"
        ]
        self._most: Final = most
        self._buffers: dict[tuple[str, str, str], _Buffer] = {}
        self.held = 0
        self.dropped = 0

    def add(self, sample: Sample, received: float) -> bool:
        """Hold a sample; return whether it says anything new."""
        key = (sample.covariate, sample.sensor, sample.quantity)
        buffer = self._buffers.get(key)
        if buffer is None:
            buffer = self._buffers[key] = _Buffer(array("d"), array("d"), array("d"))
        times, numbers, arrivals = buffer
        at = bisect_left(times, sample.time)
        if at < len(times) and times[at] == sample.time:
            if numbers[at] == sample.number:
                return False
            numbers[at], arrivals[at] = sample.number, received
            return True
        times.insert(at, sample.time)
        numbers.insert(at, sample.number)
        arrivals.insert(at, received)
        self.held += 1
        return True

    def beside(self, pairs: Records, names: Sequence[SeriesKey]) -> Records:
        """Return the numbers (of ``BESIDE``) beside pairs that were made, where there are any."""
        rows = []
        stands = pairs[~pairs["removed"]]
        keys = (stands[name].tolist() for name in ("series", "id", "time"))
        for series, identity, time in zip(*keys, strict=True):
            for rule, name in self._rules:
                number = self.number(rule, names[series], time)
                if not math.isnan(number):
                    rows.append((series, identity, time, name, number))
        return np.array(rows, dtype=BESIDE)

    def number(self, rule: CovariateRule, name: SeriesKey, time: float) -> float:
        """Return the number that holds for a reading at ``time``, s UTC; NaN if none does."""
        sensor = "" if rule.scope == "everyone" else name.sensor
        quantity = name.quantity if rule.scope == "series" else ""
        buffer = self._buffers.get((rule.name, sensor, quantity))
        if buffer is None:
            return math.nan
        at = bisect_right(buffer.times, time) - 1
        if at < 0 or time - buffer.times[at] > rule.max_age_seconds:
            return math.nan
        return buffer.numbers[at]

    def expire(self, before: float) -> None:
        """Drop the samples that came before a time, s UTC."""
        for key, buffer in [*self._buffers.items()]:
            arrivals = np.frombuffer(buffer.received)
            is_kept = arrivals >= before
            if is_kept.all():
                continue
            rest = _Buffer(*(array("d", np.frombuffer(each)[is_kept]) for each in buffer))
            self.held -= is_kept.size - len(rest.times)
            if rest.times:
                self._buffers[key] = rest
            else:
                del self._buffers[key]

    def drop_excess(self) -> None:
        """Drop the quarter that came first if there are too many samples, which is rare."""
        if self.held <= self._most:
            return
        arrivals = np.concatenate(
            [np.frombuffer(buffer.received) for buffer in self._buffers.values()]
        )
        had = self.held
        self.expire(math.nextafter(float(np.partition(arrivals, had // 4)[had // 4]), math.inf))
        self.dropped += had - self.held


def numbers_of(rows: Records, pairs: Records, name: str) -> Float:
    """Return the number of a covariate beside each of some pairs of one series, NaN for none.

    ``rows`` (of ``BESIDE``) are those of the series, in the order they were made.
    """
    own = rows[rows["covariate"] == np.uint64(digest("covariate", name))]
    numbers = {
        (identity, time): number
        for identity, time, number in zip(
            *(own[field][::-1].tolist() for field in ("id", "time", "number")), strict=True
        )
    }
    keys = zip(pairs["id"].tolist(), pairs["time"].tolist(), strict=True)
    return np.array([numbers.get(key, math.nan) for key in keys], dtype=np.float64)
