"""The proposed settings, run on the messages: the daemon's decoders, pairing and network."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from monitor.config import parse
from monitor.config.core_plan import plan_of, router_of, units_of
from monitor.core.model import Observation, Reading, Reference
from monitor.core.pairing.unpaired import Unpaired, examine
from monitor.core.registry import SeriesKey
from monitor.core.state.network import Network
from monitor.decode import Rejected
from monitor.decode.formats.sparkplug_births import Births
from monitor.discover.heard import Heard
from monitor.journal.in_memory import InMemoryStore
from monitor.journal.store import Batch


class RefusedTopic(NamedTuple):
    """Why messages of a topic were refused, and one of them."""

    topic: str
    reason: str
    detail: str


class TrialRun(NamedTuple):
    """What became of the messages, by name and quantity."""

    readings: Mapping[SeriesKey, list[Reading]]
    references: Mapping[SeriesKey, list[Reference]]
    pairs: Mapping[SeriesKey, int]
    read: set[str]
    refused: Mapping[RefusedTopic, int]
    unpaired: Sequence[Unpaired]

    def sensors_of(self, quantity: str) -> list[str]:
        """Return the sensors that measure a quantity."""
        return [sensor for sensor, of in self.readings if of == quantity]


def trial_run(text: str, heard: Sequence[Heard], now: float) -> TrialRun:
    """Return the results of the settings in ``text``, each message at its own time."""
    settings = parse(text.encode(), "the proposal")
    units, births, store = units_of(settings), Births(), InMemoryStore()
    router = router_of(settings, births, units)
    network = Network(plan_of(settings, units), store)
    readings: dict[SeriesKey, list[Reading]] = defaultdict(list)
    references: dict[SeriesKey, list[Reference]] = defaultdict(list)
    refused: Counter[RefusedTopic] = Counter()
    read: set[str] = set()
    for each in sorted(heard, key=lambda each: each.time):
        found: list[Observation] = []
        for part in router.decode(each.topic, each.payload, each.time):
            if isinstance(part, Rejected):
                if part.reason != "unknown_topic":
                    refused[RefusedTopic(each.topic, part.reason, part.detail)] += 1
                continue
            found.append(part)
            if isinstance(part, Reading):
                readings[SeriesKey(part.sensor, part.quantity)].append(part)
            elif isinstance(part, Reference):
                references[SeriesKey(part.subject, part.quantity)].append(part)
        if found:
            read.add(each.topic)
            _observe(network, store, found, each.time)
    shown = network.evaluate(now)
    counts = zip(shown.names, shown.window_pairs.tolist(), strict=True)
    pairs = {SeriesKey(name.sensor, name.quantity): int(count) for name, count in counts}
    return TrialRun(readings, references, pairs, read, refused, examine(network.pairing))


def _observe(
    network: Network, store: InMemoryStore, found: list[Observation], received: float
) -> None:
    outcome = network.observe(found, received)
    kept = [each for each in found if isinstance(each, Reference)]
    store.append(Batch(observations=kept, pairs=outcome.pairs))
    network.apply(outcome.pairs)
