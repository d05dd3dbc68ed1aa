"""References whose nearest reading comes after them, late ones and revised ones: what they cost.

Costs are counted, not timed: how often the history is read, and how many pairs the detector takes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from harness.cases import further

from monitor.core.detector.detector import Detector
from monitor.core.model import Event, Observation, Reading, Records, Reference
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.daemon.intake import recover
from monitor.journal import Batch
from monitor.journal.in_memory import InMemoryStore

SENSORS = 6
PAIRS = 560  # more than a window holds
SETTINGS = CoreSettings(
    lambda _s, _q: SeriesRules(patience=1e12, pairing=Rules("nearest", 60.0)),
    limits=Limits(SENSORS, 1000),
    max_wait_seconds=1e9,
)


class CountingStore(InMemoryStore):
    """A store that counts how often the pairs of a series are asked for, and how many it gives."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0
        self.given: list[int] = []

    def pairs_of(self, series: int) -> Records:
        self.reads += 1
        return super().pairs_of(series)

    def pairs_of_each(self, series: Sequence[int], since: float = -math.inf) -> dict[int, Records]:
        found = super().pairs_of_each(series, since)
        self.given.append(sum(rows.size for rows in found.values()))
        return found


class Stream:
    """A network that is fed a batch at a time, and published after each."""

    def __init__(self) -> None:
        self.replayed = 0  # pairs that detectors took, if somebody counts them
        self.store = CountingStore()
        self.network = Network(SETTINGS, self.store)

    def take(self, *observations: Observation) -> None:
        outcome = self.network.observe(observations, 0.0)
        measured = [each for each in observations if not isinstance(each, Event)]
        events = [each for each in observations if isinstance(each, Event)]
        self.store.append(Batch(0.0, measured, outcome.pairs, outcome.series, events=events))
        self.network.apply(outcome.pairs)
        self.network.evaluate(0.0)

    def bits(self) -> list[bytes]:
        every = np.arange(SENSORS)
        records = self.network.detector.records(every)
        windows = [self.network.windows.rows(row)[-500:].tobytes() for row in every.tolist()]
        return [*windows, *(records[name].tobytes() for name in records.dtype.names)]


def readings(chance: np.random.Generator, at: int) -> list[Reading]:
    return [Reading(f"s{n}", "w", 10.0 * at, 500.0 + chance.normal(), 1.0) for n in range(SENSORS)]


def references(at: int, after: float) -> list[Reference]:
    return [Reference(f"s{n}", "w", 10.0 * at + after, 500.0, 0.1) for n in range(SENSORS)]


def lived(after: float, *, batch: int = 1) -> Stream:
    """Return a stream in which each reference comes so many seconds after a reading."""
    chance, stream = np.random.default_rng(4), Stream()
    said: list[list[Observation]] = []
    for at in range(PAIRS):
        said += [readings(chance, at), references(at, after)]
    said.append(readings(chance, PAIRS))
    for first in range(0, len(said), batch):
        stream.take(*(each for some in said[first : first + batch] for each in some))
    return stream


@cache
def lived_one_by_one(after: float) -> Stream:
    """Return what :func:`lived` does, to be read only, with its pairs that detectors took."""
    taken: list[int] = []
    advance = Detector.advance

    def counting(self, series, starts, z, *stated):
        taken.append(z.size)
        return advance(self, series, starts, z, *stated)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Detector, "advance", counting)
        stream = lived(after)
    stream.replayed = sum(taken)
    return stream


@pytest.mark.slow
@pytest.mark.parametrize("after", [7.0, *further(3.0)])
def test_a_live_reference_never_reads_the_history(after):
    stream = lived_one_by_one(after)

    assert stream.store.reads == 0
    assert stream.bits() == lived(after, batch=10_000).bits()


@pytest.mark.slow
def test_a_live_reference_replays_a_few_pairs():
    assert 0 < lived_one_by_one(7.0).replayed < 40 * SENSORS * PAIRS


@pytest.mark.slow
@pytest.mark.parametrize("back", [60, *further(5, 230)])
def test_a_reference_that_is_late_reads_no_history_where_the_window_holds_its_past(back):
    stream = lived(3.0)
    for at in range(20):
        stream.take(*readings(np.random.default_rng(at), PAIRS + 1 + at))
        stream.take(*references(PAIRS + 1 + at, 0.0))
        stream.take(Reference("s1", "w", 10.0 * (PAIRS - back + at) + 4.0, 501.0, 0.2))
    assert stream.store.reads <= 1  # at the first one no checkpoint was kept


@pytest.mark.slow
def test_a_series_that_is_new_reads_no_history_whatever_comes_late():
    chance, stream = np.random.default_rng(5), Stream()
    for at in range(120):
        stream.take(*readings(chance, at))
    for at in range(118, 0, -1):
        stream.take(Reference("s2", "w", 10.0 * at, 500.0, 0.1))

    assert stream.store.reads == 0


@pytest.mark.slow
def test_what_comes_late_before_an_epoch_replays_it_from_its_past():
    """What was learnt before an epoch stays in it: a change there is one in the epoch as well."""
    chance, stream = np.random.default_rng(6), Stream()
    said: list[list[Observation]] = [
        [*readings(chance, at), *(references(at, 0.0) if at % 7 else ())] for at in range(300)
    ]
    said.insert(200, [Event(f"s{n}", 1995.0, "adjusted") for n in range(SENSORS)])
    said += [references(at, 0.0) for at in range(140, 270, 7)][::-1]
    whole = Stream()
    for each in said:
        stream.take(*each)
    whole.take(*(each for some in said for each in some))

    assert stream.bits() == whole.bits()


def test_an_event_after_all_pairs_reads_no_history_and_leaves_the_same_bits():
    chance, stream, whole = np.random.default_rng(7), Stream(), Stream()
    said: list[list[Observation]] = [
        [*readings(chance, at), *references(at, 0.0)] for at in range(60)
    ]
    said.insert(40, [Event(f"s{n}", 395.0, "adjusted") for n in range(SENSORS)])
    for each in said:
        stream.take(*each)
    stream.take(*references(41, 7.0))  # nearest to the reading after it
    whole.take(*(each for some in said for each in some), *references(41, 7.0))

    assert stream.store.reads == 0
    assert stream.bits() == whole.bits()


@pytest.mark.slow
def test_references_that_are_late_across_events_read_no_history_and_leave_the_same_bits():
    chance, stream, whole = np.random.default_rng(8), Stream(), Stream()
    said: list[list[Observation]] = []
    for at in range(700):  # more than a ring holds
        said.append([*readings(chance, at), *(references(at - 40, 0.0) if at >= 40 else ())])
        if at % 30 == 29:
            said.append([Event(f"s{n}", 10.0 * at + 5.0, "adjusted") for n in range(SENSORS)])
    for each in said:
        stream.take(*each)
    whole.take(*(each for some in said for each in some))

    assert stream.store.reads == 0
    assert stream.bits() == whole.bits()


@pytest.mark.slow
def test_after_a_start_what_is_late_across_events_reads_no_history_either():
    chance, stream = np.random.default_rng(9), Stream()
    for at in range(620):
        stream.take(*readings(chance, at), *references(at, 0.0))
        if at % 50 == 49:
            stream.take(*(Event(f"s{n}", 10.0 * at + 5.0, "adjusted") for n in range(SENSORS)))
    begun = Stream()
    begun.store = stream.store
    begun.network = Network(SETTINGS, begun.store)
    recover(begun.network, begun.store, 0.0)
    begun.network.evaluate(0.0)
    stream.store.reads = 0
    for each in (stream, begun):
        each.network.evaluate(0.0)
    assert begun.bits() == stream.bits()
    begun.take(*references(560, 4.0))
    assert begun.store.reads == 0


@pytest.mark.slow
def test_what_is_late_beyond_the_window_reads_no_more_of_a_longer_history():
    length, back = 6000, 900
    places = [length - back - 60 * (at % 3) + 7 * at for at in range(14)]
    chance, stream = np.random.default_rng(8), Stream()
    said: list[Observation] = []
    for at in range(length):
        said += readings(chance, at)[:1]
        if at not in places:
            said += references(at, 3.0)[:1]
        if at % 700 == 650:
            said.append(Event("s0", 10.0 * at + 1.0, "adjusted"))
    stream.take(*said)
    for at, place in enumerate(places):
        late: list[Observation] = [Reference("s0", "w", 10.0 * place + 4.0, 503.0, 0.2)]
        if at == 9:
            late.append(Event("s0", 10.0 * place + 40.0, "moved"))
        late += [readings(chance, length + at)[0], references(length + at, 3.0)[0]]
        stream.take(*late)
        said += late
    at_once = Stream()
    at_once.take(*said)

    assert stream.bits() == at_once.bits()
    assert len(stream.store.given) > len(places)
    first, *later = stream.store.given
    assert first > length - len(places) - 1  # nothing was kept yet
    assert max(later) < 2 * back
