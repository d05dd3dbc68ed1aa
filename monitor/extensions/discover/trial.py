"""The proposed settings, run on the messages: the daemon's decoders, pairing and network."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from monitor.config import Settings
from monitor.config.core_plan import plan_of, router_of, units_of
from monitor.core.model import Observation, Reading, Reference, in_event_order
from monitor.core.pairing.unpaired import Unpaired, examine
from monitor.core.registry import SeriesKey
from monitor.core.state.network import Network
from monitor.decode.formats.sparkplug_births import Births
from monitor.extensions.discover.heard import Heard
from monitor.journal.in_memory import InMemoryStore
from monitor.journal.store import Batch


class RefusedTopic(NamedTuple):
    """Why messages of a topic were refused, and one of them."""

    topic: str
    reason: str
    detail: str


class Content(NamedTuple):
    """The observations that sources make of messages, by name and quantity.

    ``moments`` are the observations that may pair, by arrival; ``undated`` counts the others: the
    broker kept their messages for an unknown time, and they state none.
    """

    readings: Mapping[SeriesKey, list[Reading]]
    references: Mapping[SeriesKey, list[Reference]]
    read: set[str]
    refused: Mapping[RefusedTopic, int]
    moments: Sequence[tuple[float, Sequence[Observation]]] = ()
    undated: int = 0


class TrialRun(NamedTuple):
    """The content of the messages, and how many pairs it made, by sensor and quantity."""

    content: Content
    pairs: Mapping[SeriesKey, int]
    unpaired: Sequence[Unpaired]


def content_of(settings: Settings, heard: Sequence[Heard]) -> Content:
    """Return what the sources of ``settings`` read, each message at its own time."""
    router = router_of(settings, Births(), units_of(settings))
    readings: dict[SeriesKey, list[Reading]] = defaultdict(list)
    references: dict[SeriesKey, list[Reference]] = defaultdict(list)
    refused: Counter[RefusedTopic] = Counter()
    read: set[str] = set()
    moments: list[tuple[float, Sequence[Observation]]] = []
    undated = 0
    batches = groupby(sorted(heard, key=attrgetter("time")), attrgetter("time", "retained"))
    for (time, retained), batch in batches:
        topics, payloads, *_ = zip(*batch, strict=True)
        decoded = router.decode_all(topics, payloads, time)
        for place, rejected in decoded.refused:
            if rejected.reason != "unknown_topic":
                refused[RefusedTopic(topics[place], rejected.reason, rejected.detail)] += 1
        read.update(topics[place] for place in decoded.sources)
        observations = list(decoded.observations)
        for each in observations:
            if isinstance(each, Reading):
                readings[SeriesKey(each.sensor, each.quantity)].append(each)
            elif isinstance(each, Reference):
                references[SeriesKey(each.subject, each.quantity)].append(each)
        dated = [each for each in observations if not (retained and _arrived(each, time))]
        undated += len(observations) - len(dated)
        moments.append((time, dated))
    return Content(readings, references, read, refused, moments, undated)


def _arrived(observation: Observation, time: float) -> bool:
    """Return whether an observation has the time of its arrival."""
    return isinstance(observation, Reading | Reference) and observation.time == time


def trial_run(settings: Settings, content: Content) -> TrialRun:
    """Return what pairs under ``settings``."""
    store = InMemoryStore()
    network = Network(plan_of(settings, units_of(settings)), store)
    for received, observations in content.moments:
        outcome = network.observe(observations, received)
        references = [each for each in observations if isinstance(each, Reference)]
        store.append(Batch(observations=references, pairs=outcome.pairs))
        network.apply(outcome.pairs)
    names = network.names()
    counts = np.bincount(in_event_order(store.pairs())["series"], minlength=len(names))
    pairs = {
        SeriesKey(name.sensor, name.quantity): int(count)
        for name, count in zip(names, counts, strict=True)
    }
    return TrialRun(content, pairs, examine(network.pairing))
