"""A daemon's parts in memory: which source reads a topic, and what becomes of messages.

Rules of this file: messages go in one after the other. The daemon's own router, decoders, pairing
and network decide; all messages share one time of arrival; the journal is neither read nor written.
For sources that do not read a topic the result says where each fails and which is nearest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Final, NamedTuple

from monitor.config.core_plan import plan_of, router_of, supplements_of, units_of
from monitor.config.settings import Settings
from monitor.config.sources import place_of
from monitor.core.model import Collocation, Event, Observation, Reading, Records, Reference
from monitor.core.pairing.identities import reference_digest, same_content
from monitor.core.pairing.join_index import Concern
from monitor.core.registry import SeriesKey
from monitor.core.state.network import Network
from monitor.decode.checks import Rejected
from monitor.decode.formats.sparkplug_births import Births
from monitor.decode.mapping import Mapped
from monitor.decode.records import Found, Seen
from monitor.explain.explanation import Pair, Series, Source, Tried
from monitor.explain.pair_wording import (
    JoinConditions,
    Miss,
    miss,
    nearest_miss,
    net_changes,
    pair_of,
    rules_sentence,
    series_of,
)
from monitor.journal.in_memory import InMemoryStore
from monitor.journal.store import Batch
from monitor.mqtt.topic_templates import Template

# -- topics ---------------------------------------------------------------------------------------


class _Miss(NamedTuple):
    """How well a template fits, and the first level that does not."""

    score: float
    why: str


def sources_of(settings: Settings) -> list[Source]:
    """Return all readers of messages: the settings' sources, then the topics of extensions."""
    sources = [
        Source(place_of(each, at), each.topic, each.kind, each.decoder, each.unit, {})
        for at, each in enumerate(settings.sources)
    ]
    sources += [
        Source(each.place, each.route.template, "covariate", each.route.decoder, each.unit, {})
        for supplement in supplements_of(settings)
        for each in supplement.topics
    ]
    return sources


def tried(sources: Sequence[Source], topic: str) -> list[Tried]:
    """Return every source's template with its verdict on ``topic``, in the order of the settings.

    Only the first that fits reads the message. Where none does, the nearest is marked.
    """
    tries: list[Tried] = []
    misses: list[_Miss] = []
    for source in sources:
        fits = Template.parse(source.template).match(topic) is not None
        miss = _Miss(0.0, "") if fits else _miss(source.template, topic)
        why = miss.why
        if fits and any(each.fits for each in tries):
            why = "fits too, but the first that fits reads the message"
        tries.append(Tried(source.place, source.template, fits, why))
        misses.append(miss)
    if not any(each.fits for each in tries):
        nearest = max(range(len(tries)), key=lambda at: misses[at].score)
        near = tries[nearest]
        tries[nearest] = Tried(near.source, near.template, fits=False, why=near.why, nearest=True)
    return tries


def _miss(template: str, topic: str) -> _Miss:
    if topic.startswith("$") and template[0] in "{+#":
        return _Miss(0.0, "a first wildcard or field does not take topics that begin with $")
    wanted, given = template.split("/"), topic.split("/")
    if wanted[-1] == "#":
        wanted = wanted[:-1]
        given = given[: len(wanted)]
    levels = [_level(*each) for each in enumerate(zip_longest(wanted, given), 1)]
    score = sum(alike for alike, _ in levels) / len(levels)
    failing = [at for at, (_, why) in enumerate(levels, 1) if why]
    if not failing:
        return _Miss(score, "")
    rest = ", ".join(map(str, failing[1:]))
    more = f"; {rest} {'do' if len(failing) > 2 else 'does'} not fit either" if rest else ""
    return _Miss(score, levels[failing[0] - 1][1] + more)


def _level(at: int, pair: tuple[str | None, str | None]) -> tuple[float, str]:
    """Return how similar one level is, from 0 to 1, and why it does not fit."""
    want, got = pair
    if want is None:
        return 0.0, f"level {at} is {got!r}, where the template has ended"
    if got is None:
        return 0.0, f"level {at} is missing, the template has {want!r}"
    if want == "+" or want.startswith("{"):
        return 0.5, ""
    if want == got:
        return 1.0, ""
    alike = SequenceMatcher(None, want.lower(), got.lower()[:1000]).ratio()
    return 0.9 * alike, f"level {at} is {got!r}, the template has {want!r}"


# -- messages -------------------------------------------------------------------------------------

_SERIES_MAX: Final = 10_000


class Message(NamedTuple):
    """A topic and a payload that was received on it."""

    topic: str
    payload: bytes


class Fate(NamedTuple):
    """The fate of one observation (``verdict`` as the network gives it) and of pairs."""

    verdict: str
    pairs: list[Pair]


class Took(NamedTuple):
    """The content of a message, and the fate of each part; None for a refused part.

    ``places`` has for each part the number of its record and its place within that record's
    content; -1 for a part that concerns the whole message. ``births`` is how many metrics it named.
    """

    seen: Sequence[Seen]
    found: list[Found]
    places: list[tuple[int, int]]
    fates: list[Fate | None]
    births: int


class DryRun:
    """State: the messages so far. ``now`` is s since 1970 UTC."""

    def __init__(self, settings: Settings, now: float) -> None:
        self.units: Final = units_of(settings)
        plan = plan_of(settings, self.units)
        maximum = min(plan.limits.maximum, _SERIES_MAX)
        self.births: Final = Births()
        self.now: Final = now
        self._has_others = bool(settings.areas)  # references of other subjects concern sensors
        self._router: Final = router_of(settings, self.births, self.units)
        self._plan: Final = plan._replace(limits=plan.limits._replace(maximum=maximum))
        self._store: Final = InMemoryStore()
        self._network: Final = Network(self._plan, self._store)
        self._standing: Final[dict[tuple[int, int], Records]] = {}

    def accept(self, message: Message) -> Took:
        """Accept one message and return what became of it."""
        known = self.births.changed
        rows, error = self._router.trace(message.topic, message.payload, self.now)
        if error is not None:
            return Took(rows, [error], [(-1, -1)], [None], 0)
        places = [
            (number, place) for number, each in enumerate(rows) for place in range(len(each.found))
        ]
        observed = [rows[number].found[place] for number, place in places]
        fates = [None if isinstance(each, Rejected) else self._observe(each) for each in observed]
        return Took(rows, observed, places, fates, self.births.changed - known)

    def mapping(self, topic: str) -> Mapped | None:
        """Return the mapping that reads a topic, None if no source does."""
        route = self._router.route_of(topic)
        return None if route is None else route.mapped

    def _observe(self, observation: Observation) -> Fate:
        outcome = self._network.observe([observation], self.now)
        references = [observation] if isinstance(observation, Reference) else []
        self._store.append(Batch(observations=references, pairs=outcome.pairs))
        self._has_others = self._has_others or isinstance(observation, Collocation)
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
        """Return the series of a reading."""
        if not isinstance(observation, Reading):
            return None
        key = SeriesKey(observation.sensor, observation.quantity)
        concerns = self._concerns(observation.sensor)
        return series_of(key, self._plan.rules_of(*key), self._plan.match_on, concerns)

    def meaning(self, observation: Observation) -> str:
        """Return the effect of an observation that is not a reading."""
        if isinstance(observation, Reference) and observation.void:
            whose = observation.subject or "every subject"
            named = observation.identity or "its key and time"
            return f"withdraws the reference {named} of {whose}, and the pairs it made"
        if isinstance(observation, Reference):
            rules = self._plan.rules_of(observation.subject, observation.quantity)
            sentence = rules_sentence(rules, self._plan.match_on)
            return f"for readings {self._whose(observation)}: {sentence}"
        if isinstance(observation, Event):
            return f"begins an epoch: windows of {observation.sensor} hold only pairs from then on"
        if isinstance(observation, Collocation):
            return (
                f"references of {observation.subject} concern {observation.sensor} during that time"
            )
        return ""

    def _whose(self, reference: Reference) -> str:
        match_on = self._plan.match_on
        whose = f"of {reference.subject}" if "subject" in match_on else "of any sensor"
        if "subject" in match_on and self._has_others:
            whose += " and of the sensors it concerns by areas and collocations,"
        if "key" not in match_on:
            return whose
        return f"{whose} with the key {reference.key}" if reference.key else f"{whose} without key"

    def unpaired(self, observation: Observation) -> str:
        """Return why an accepted observation made no pair."""
        if isinstance(observation, Reading):
            misses = [self._miss(observation, each) for each in self._references()]
            return nearest_miss(misses, "no reference has come; give one with --with TOPIC PAYLOAD")
        if not isinstance(observation, Reference):
            return ""
        if observation.void:
            return "there is no pair that it could withdraw"
        for each in self._references():
            if _outdoes(each, observation):
                if each.revision > observation.revision:
                    return "a higher revision of it is in force"
                return "another one of that revision is in force; a correction needs a higher rev"
        misses = [self._miss(each, observation) for each in self._readings()]
        return nearest_miss(misses, "no reading has come; give one with --with TOPIC PAYLOAD")

    def _concerns(self, sensor: str) -> list[Concern]:
        """Return which other references concern a sensor besides its own."""
        if "subject" not in self._plan.match_on:
            return []
        return self._network.concerns_of(sensor)

    def _references(self) -> Iterator[Reference]:
        for references in self._network.pairing.reference_buffers.values():
            yield from references.references()

    def _readings(self) -> Iterator[Reading]:
        for readings in self._network.pairing.reading_buffers.values():
            yield from map(readings.reading, range(len(readings.times)))

    def _miss(self, reading: Reading, reference: Reference) -> Miss:
        concerns = [Concern(reading.sensor), *self._concerns(reading.sensor)]
        rules = self._plan.rules_of(reading.sensor, reading.quantity).pairing
        return miss(reading, reference, JoinConditions(self._plan.match_on, concerns, rules))


def _outdoes(standing: Reference, came: Reference) -> bool:
    """Return whether the standing message of a reference is not the one that came."""
    return reference_digest(standing) == reference_digest(came) and not same_content(standing, came)
