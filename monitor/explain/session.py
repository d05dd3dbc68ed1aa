"""A daemon's parts in memory: messages in one after the other, and what became of each.

Rules of this file: the daemon's own router, decoders, pairing and network decide; all comes at one
moment; nothing is read from or written to the journal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from monitor.config import Settings
from monitor.config.core_plan import plan_of, router_of
from monitor.core.model import (
    Collocation,
    Event,
    Observation,
    Reading,
    Records,
    Reference,
)
from monitor.core.pairing.engine import Concern
from monitor.core.registry import SeriesKey
from monitor.core.state.network import Network
from monitor.decode import Found, Rejected
from monitor.decode.sparkplug_births import Births
from monitor.explain.document import Pair, Series
from monitor.explain.pairs import (
    Matching,
    Miss,
    miss,
    nearest_miss,
    net_changes,
    pair_of,
    rules_sentence,
    series_of,
)
from monitor.journal import Batch, InMemoryStore

_SERIES_MAX: Final = 10_000


class Message(NamedTuple):
    """A topic and what came under it."""

    topic: str
    payload: bytes


class Fate(NamedTuple):
    """What became of one observation (``verdict`` as the network gives it) and of pairs."""

    verdict: str
    pairs: list[Pair]


class Took(NamedTuple):
    """What a message said, and the fate of each part; None stands beside what was refused.

    ``whole`` says that the message was refused as a whole, ``births`` how many metrics it named.
    """

    found: Sequence[Found]
    fates: list[Fate | None]
    whole: bool
    births: int


class Session:
    """State: what came so far. ``now`` is s since 1970 UTC."""

    def __init__(self, settings: Settings, now: float) -> None:
        plan = plan_of(settings)
        maximum = min(plan.limits.maximum, _SERIES_MAX)
        self.births: Final = Births()
        self._now: Final = now
        self._has_areas: Final = bool(settings.areas)
        self._router: Final = router_of(settings, self.births)
        self._plan: Final = plan._replace(limits=plan.limits._replace(maximum=maximum))
        self._store: Final = InMemoryStore()
        self._network: Final = Network(self._plan, self._store)
        self._standing: Final[dict[tuple[int, int], Records]] = {}
        self._collocations: Final[dict[str, list[Concern]]] = {}

    def take(self, message: Message) -> Took:
        """Take one message and return what became of it."""
        known = self.births.changed
        try:
            found = self._router.decode(message.topic, message.payload, self._now)
        except Rejected as error:
            return Took([error], [None], whole=True, births=0)
        fates = [None if isinstance(each, Rejected) else self._observe(each) for each in found]
        return Took(found, fates, whole=False, births=self.births.changed - known)

    def _observe(self, observation: Observation) -> Fate:
        outcome = self._network.observe([observation], self._now)
        references = [observation] if isinstance(observation, Reference) else []
        self._store.append(Batch(observations=references, pairs=outcome.pairs))
        if isinstance(observation, Collocation):
            concern = Concern(
                observation.subject, observation.start, observation.end, observation.distance_km
            )
            self._collocations.setdefault(observation.sensor, []).append(concern)
        keys, rules = self._network.registry.keys, self._network.rules
        pairs = [
            pair_of(row, change, keys[row["series"]], rules[row["series"]])
            for change, row in net_changes(outcome.pairs, self._standing)
        ]
        if outcome.refused:
            return Fate(outcome.refused[0][1], pairs)
        return Fate("duplicate" if outcome.duplicates else "accepted", pairs)

    # -- what is known ----------------------------------------------------------------------

    def series(self, observation: Observation) -> Series | None:
        """Return the series a reading goes to."""
        if not isinstance(observation, Reading):
            return None
        key = SeriesKey(observation.sensor, observation.quantity)
        concerns = self._concerns(observation.sensor)
        return series_of(key, self._plan.rules_of(*key), self._plan.match_on, concerns)

    def meaning(self, observation: Observation) -> str:
        """Return what an observation that is no reading does."""
        if isinstance(observation, Reference) and observation.void:
            whose = observation.subject or "every subject"
            named = observation.identity or "its key and time"
            return f"takes back the reference {named} of {whose}, and the pairs it made"
        if isinstance(observation, Reference):
            rules = self._plan.rules_of(observation.subject, observation.quantity)
            sentence = rules_sentence(rules, self._plan.match_on)
            return f"for readings {self._whose(observation)}: {sentence}"
        if isinstance(observation, Event):
            return f"begins an epoch: windows of {observation.sensor} hold only pairs from then on"
        if isinstance(observation, Collocation):
            return f"references of {observation.subject} concern {observation.sensor} meanwhile"
        return ""

    def _whose(self, reference: Reference) -> str:
        match_on = self._plan.match_on
        whose = f"of {reference.subject}" if "subject" in match_on else "of any sensor"
        if "subject" in match_on and (self._has_areas or self._collocations):
            whose += " and of the sensors it concerns by areas and collocations,"
        if "key" not in match_on:
            return whose
        return f"{whose} with the key {reference.key}" if reference.key else f"{whose} without key"

    def unpaired(self, observation: Observation) -> str:
        """Return why an observation that was taken made no pair."""
        if isinstance(observation, Reading):
            misses = [self._miss(observation, each) for each in self._references()]
            return nearest_miss(misses, "no reference has come; give one with --with TOPIC PAYLOAD")
        if not isinstance(observation, Reference):
            return ""
        if observation.void:
            return "no pair stands that it could take back"
        if any(_outdoes(each, observation) for each in self._references()):
            return "a higher revision of it stands"
        misses = [self._miss(each, observation) for each in self._readings()]
        return nearest_miss(misses, "no reading has come; give one with --with TOPIC PAYLOAD")

    def _concerns(self, sensor: str) -> list[Concern]:
        """Return which references concern a sensor besides its own."""
        if "subject" not in self._plan.match_on:
            return []
        return [*self._plan.concerns_of(sensor), *self._collocations.get(sensor, ())]

    def _references(self) -> Iterator[Reference]:
        for bucket in self._network.pairing.buckets.values():
            yield from bucket.references

    def _readings(self) -> Iterator[Reading]:
        for lane in self._network.pairing.lanes.values():
            yield from map(lane.reading, range(len(lane.times)))

    def _miss(self, reading: Reading, reference: Reference) -> Miss:
        concerns = [Concern(reading.sensor), *self._concerns(reading.sensor)]
        rules = self._plan.rules_of(reading.sensor, reading.quantity).pairing
        return miss(reading, reference, Matching(self._plan.match_on, concerns, rules))


def _outdoes(standing: Reference, came: Reference) -> bool:
    """Return whether what stands of a reference is another message than the one that came."""
    names = [(each.subject, each.quantity, each.identity) for each in (standing, came)]
    return bool(came.identity) and names[0] == names[1] and standing is not came
