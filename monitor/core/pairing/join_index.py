"""Who may pair with whom: the lanes of readings, the buckets of references, and their links.

Rules of this file: a lane is linked to the bucket of its sensor and to those of the subjects that
concern it; what is linked is a function of the settings, never of what arrived in which order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from typing import Final, NamedTuple

from monitor.core.model import NAN, Reading, Reference
from monitor.core.pairing.buffers import (
    Bucket,
    Fronts,
    Lane,
    LaneName,
    Link,
    Scope,
    covered,
    digest,
)
from monitor.core.pairing.pairing_rules import MODES, Mode, Rules
from monitor.core.pairing.staging import Fresh

MatchKey = tuple[str, str, str]


class Concern(NamedTuple):
    """The references of ``subject`` concern a sensor, from ``start`` to ``end`` (s UTC)."""

    subject: str
    start: float = -float("inf")
    end: float = float("inf")
    distance_km: float = 0.0


class Matching:
    """State: lanes by name, buckets by what their references agree in, the rules of each series.

    ``rules_of(sensor, quantity)`` gives the rules of a series; ``match_on`` names what must agree
    besides the quantity: ``subject``, ``key``, both or neither. ``concerns_of(sensor)`` names the
    subjects besides the sensor itself whose references are its own.
    """

    def __init__(
        self,
        rules_of: Callable[[str, str], Rules],
        match_on: frozenset[str],
        concerns_of: Callable[[str], Iterable[Concern]],
    ) -> None:
        self._rules_of: Final = rules_of
        self._concerns_of: Final = concerns_of
        self._by_subject: Final = "subject" in match_on
        self.by_key: Final = "key" in match_on
        self.lanes: Final[dict[LaneName, Lane]] = {}
        self.fronts: Final = Fronts()
        self.fresh: Final = Fresh(self.fronts)
        self.buckets: Final[dict[MatchKey, Bucket]] = {}
        self.rules: Final[dict[int, Rules]] = {}
        self.modes: Final[dict[int, Mode]] = {}
        self.names: Final[dict[int, tuple[str, str]]] = {}
        self._scopes: dict[tuple[str, str], Scope] = {}
        self._touched: set[Scope] = set()
        self._lanes_of: Final[dict[int, dict[Lane, None]]] = {}

    # -- lanes ------------------------------------------------------------------------------

    def lane_of(self, reading: Reading) -> Lane | None:
        """Return the lane of a reading, None if it is the first of its series (and key)."""
        key = reading.key if self.by_key else ""
        return self.lanes.get((reading.sensor, reading.quantity, key))

    def lanes_of(self, series: int) -> Iterable[Lane]:
        """Return the lanes of a series, one a key."""
        return self._lanes_of.get(series, ())

    def open_lane(self, name: LaneName, series: int) -> Lane:
        """Return a new lane."""
        sensor, quantity, key = name
        self.names[series] = (sensor, quantity)
        rules = self._rules_of(sensor, quantity)
        reach = 0.0 if MODES[rules.mode].is_local else inf
        lane = self.lanes[name] = Lane(series, name, rules.lag_seconds, reach, self.fronts)
        if lane.is_plain:
            self.fresh.open(lane)
        self._lanes_of.setdefault(series, {})[lane] = None
        self.rules[series], self.modes[series] = rules, MODES[rules.mode]
        for concern in (Concern(sensor), *self._concerns_of(sensor)):
            self.link(lane, self.bucket(concern.subject, quantity, key), concern)
        return lane

    def link(self, lane: Lane, bucket: Bucket, concern: Concern) -> None:
        """Let the references of a bucket concern a lane."""
        link = Link(bucket, *concern[1:])
        if link not in lane.links:
            lane.links.append(link)
        if lane not in bucket.lanes:
            bucket.lanes.append(lane)
            bucket.taken = NAN
            if bucket.times:
                lane.meet(bucket.times[-1])
            bucket.scope.series.add(lane.series)
            self.touch(bucket)

    def close_lane(self, name: LaneName, lane: Lane) -> None:
        """Forget a lane in which nothing is left."""
        for link in lane.links:
            if lane in link.bucket.lanes:
                link.bucket.lanes.remove(lane)
                link.bucket.taken = NAN
        del self.lanes[name]
        if lane.is_plain:
            self.fresh.close(lane)
        self.fronts.close(lane.front)
        del self._lanes_of[lane.series][lane]

    # -- buckets ----------------------------------------------------------------------------

    def bucket_of(self, reference: Reference) -> Bucket:
        """Return the bucket that a reference belongs in."""
        return self.bucket(reference.subject, reference.quantity, reference.key)

    def bucket(self, subject: str, quantity: str, key: str) -> Bucket:
        """Return the bucket of the references that agree in this, a new one if there is none."""
        match = (quantity, subject if self._by_subject else "", key if self.by_key else "")
        bucket = self.buckets.get(match)
        if bucket is None:
            scope = self._scopes.setdefault(match[:2], Scope())
            bucket = self.buckets[match] = Bucket(digest(*match), scope)
        return bucket

    def drop_empty_buckets(self) -> None:
        """Forget the buckets that hold nothing and serve nobody."""
        for key, bucket in list(self.buckets.items()):
            if not bucket.times and not bucket.lanes:
                del self.buckets[key]
        used = {key[:2] for key in self.buckets}
        self._scopes = {key: scope for key, scope in self._scopes.items() if key in used}

    # -- what is known ----------------------------------------------------------------------

    def touch(self, bucket: Bucket) -> None:
        """Note that a bucket, or those it serves, are others now."""
        self._touched.add(bucket.scope)

    def take_touched(self) -> set[int]:
        """Return the series whose references are others than at the last call."""
        touched, self._touched = self._touched, set()
        return set().union(*(scope.series for scope in touched))

    def availability(self, series: int, first: float) -> float:
        """Return the share of the references held that came with a usable reading of a series.

        Counted from ``first``, the time of its first reading, on; NaN if none concerns it.
        """
        lanes = self._lanes_of.get(series)
        if not lanes:
            return NAN
        paired = sum([len(lane.slots) for lane in lanes])
        one = next(iter(lanes))
        due = covered(one.links, first - one.lag_seconds)
        return paired / max(due, paired) if due or paired else NAN
