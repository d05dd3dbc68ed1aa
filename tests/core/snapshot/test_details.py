"""A series in full is its window; an occasion is what shares a key or a reference."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.model import Event, Reading, Reference
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits, SeriesKey
from monitor.core.snapshot.details import PAIRS_MAX, Contest
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.journal.in_memory import InMemoryStore
from tests.core.snapshot.conftest import KEYED, weighed


def test_a_detail_is_the_window_with_where_each_reference_came_from(network):
    detail = network.detail(SeriesKey("a", "mass"), 7.0)

    assert (detail.time, detail.name.sensor, detail.total) == (7.0, "a", 30)
    assert detail.pairs.time.tolist() == [100.0 * animal for animal in range(30)]
    assert [each.key for each in detail.origins] == [f"tag {animal}" for animal in range(30)]
    assert detail.origins[3][1:] == ("W3", "crush", 309.0)


def test_what_is_unknown_is_none_and_what_has_no_pairs_says_so(network):
    assert network.detail(SeriesKey("nobody", "mass"), 0.0) is None
    assert network.detail(SeriesKey("c", "mass"), 0.0).pairs is None


def test_the_origin_of_a_pair_is_not_known_for_longer_than_its_reference_is_held(network):
    network.expire(1e9)
    detail = network.detail(SeriesKey("a", "mass"), 0.0)

    assert detail.total == 30
    assert {each.key for each in detail.origins} == {""}


def test_a_detail_has_the_events_of_its_sensor_and_begins_at_the_last(network):
    network.observe([Event("a", 1450.0, "adjusted", "re-zeroed")], 0.0)
    detail = network.detail(SeriesKey("a", "mass"), 0.0)

    assert [(each.time, each.note) for each in detail.events] == [(1450.0, "re-zeroed")]
    assert detail.pairs.time.min() == 1500.0


def test_a_detail_has_room_for_the_last_pairs_only():
    rules = SeriesRules(window_pairs=PAIRS_MAX + 10, pairing=Rules("nearest", 0.4))
    plan = CoreSettings(lambda _s, _q: rules, limits=Limits(1, 1), window_pairs_max=PAIRS_MAX + 10)
    network = Network(plan, InMemoryStore())
    for at in range(PAIRS_MAX + 3):
        both = [Reading("a", "m", at, 1.0, u=1.0), Reference("a", "m", at + 0.1, 1.0)]
        network.apply(network.observe(both, 0.0).pairs)
    detail = network.detail(SeriesKey("a", "m"), 0.0)

    assert (detail.total, detail.pairs.time.size) == (PAIRS_MAX + 3, PAIRS_MAX)
    assert (detail.pairs.time[0], len(detail.origins)) == (3.0, PAIRS_MAX)


@pytest.mark.parametrize("name", ["tag 7", "W7"])
def test_an_occasion_is_every_pair_of_one_key_or_reference(name, network):
    occasion = network.occasion(name, 3.0)

    assert [each.sensor for each in occasion.names] == ["a", "b"]
    assert {each.identity for each in occasion.origins} == {"W7"}
    assert np.ptp(occasion.pairs.reference) == 0.0
    assert occasion.pairs.counts.tolist() == [1, 1]
    assert occasion.pairs.width[1] == pytest.approx(16.0)


@pytest.mark.parametrize(
    ("density", "both", "b"),
    [("auto", "normal", "tophat"), ("normal", "normal", "normal"), ("tophat", "tophat", "tophat")],
)
def test_contenders_have_the_density_of_their_settings(density, both, b):
    made = weighed(KEYED._replace(density=density))

    assert made.contenders(Contest("mass"), 0.0).density == both
    assert made.contenders(Contest("mass", sensors=("b",)), 0.0).density == b


def test_an_occasion_nobody_had_is_empty(network):
    assert network.occasion("tag 99", 0.0).pairs is None
