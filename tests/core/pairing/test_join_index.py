"""A reference that is told of under each sensor's own subject is one where its messages say so."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from monitor.core.model import Reading, Reference
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.journal import Batch
from monitor.journal.in_memory import InMemoryStore

HOUR = 3600.0
SENSORS = [f"s{at}" for at in range(8)]
RULES = SeriesRules(unit="ppb", window_pairs=200, pairing=Rules("nearest", 30.0))


def messages(hours, seed, off=0.0, names=("A",) * 8, u_ref=0.2, level=40.0):
    """Return what comes in some hours: each measurement once for each sensor, under its name."""
    chance, seen = np.random.default_rng(seed), []
    for hour in range(hours):
        own = {name: off + u_ref * chance.standard_normal() for name in sorted(set(names))}
        truth = level or chance.normal(40.0, 5.0)
        for at, (sensor, name) in enumerate(zip(SENSORS, names, strict=True)):
            time, value = hour * HOUR, truth + own[name]
            seen.append(Reference(sensor, "o3", time, value, u=u_ref, reference_id=name))
            read = truth + 2.0 * chance.standard_normal()
            seen.append(Reading(sensor, "o3", time + 0.1 * at, read, u=2.0))
    return seen


def taken(seen, wait_seconds=1e9, concerned=""):
    store = InMemoryStore()
    plan = CoreSettings(
        lambda _s, _q: RULES,
        lambda _s: [Concern(concerned)] if concerned else [],
        limits=Limits(100, 1000),
        window_pairs_max=200,
        max_wait_seconds=wait_seconds,
    )
    network = Network(plan, store)
    for each in seen:
        outcome = network.observe([each], each.time)
        store.append(Batch(observations=[each], pairs=outcome.pairs))
        network.apply(outcome.pairs)
        network.expire(each.time)
    return network


def suspects(network):
    return [(each.reference, each.sensors) for each in network.evaluate(0.0).suspects]


@pytest.mark.slow
@pytest.mark.parametrize("wait_hours", [1e6, 5.5])
@pytest.mark.parametrize("level", [0.0, 40.0])
def test_a_named_reference_that_is_off_is_suspected_whatever_the_subjects(wait_hours, level):
    network = taken(messages(40, 1, off=2.0, level=level), wait_hours * HOUR)

    assert suspects(network) == [("A", 8)]
    (found,) = network.evaluate(0.0).suspects
    assert found.estimate.lower < 2.0 < found.estimate.upper
    assert found.sentence.startswith("either reference A reads ")


def test_without_a_name_each_subject_is_a_reference_of_its_own():
    assert suspects(taken(messages(40, 1, off=2.0, names=("",) * 8))) == []


def test_a_name_counts_from_five_sensors_on():
    names = ("A",) * 4 + ("B",) * 4

    assert suspects(taken(messages(40, 1, off=2.0, names=names))) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_measurement_under_many_subjects_counts_as_under_one(seed):
    seen = messages(40, seed, off=3.0, u_ref=2.0, level=0.0)
    under_one = [
        msgspec.structs.replace(each, subject="A", reference_id="")
        for each in seen
        if isinstance(each, Reference) and each.subject == "s0"
    ]
    by_name = taken(seen).evaluate(0.0).suspects
    by_subject = taken(
        [*under_one, *(each for each in seen if isinstance(each, Reading))], concerned="A"
    )

    assert by_name
    assert by_name == by_subject.evaluate(0.0).suspects


def test_a_name_stands_before_the_subject():
    seen = [
        Reference("bench", "o3", each.time, each.value, u=each.u, reference_id="mass 7")
        for each in messages(40, 2, off=2.0)
        if isinstance(each, Reference) and each.subject == "s0"
    ]
    readings = [each for each in messages(40, 2) if isinstance(each, Reading)]
    store = InMemoryStore()
    anyone = RULES._replace(pairing=Rules("nearest", 30.0))
    plan = CoreSettings(lambda _s, _q: anyone, match_on=frozenset(), limits=Limits(100, 1000))
    network = Network(plan, store)
    outcome = network.observe(seen + readings, 0.0)
    network.apply(outcome.pairs)

    assert suspects(network) == [("mass 7", 8)]
