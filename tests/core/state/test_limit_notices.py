"""Limits that keep sensors without a series are told, and no others."""

from __future__ import annotations

from collections import Counter

from monitor.core.model import Reading
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.limit_notices import limit_notices
from monitor.core.state.network import Network
from monitor.journal.in_memory import InMemoryStore


def notices(maximum: int, new_per_minute: int, before: int = 0) -> list[str]:
    """Return what is told after four sensors came at once; ``before`` were refused earlier."""
    limits = Limits(maximum, new_per_minute)
    network = Network(CoreSettings(lambda _s, _q: SeriesRules(), limits=limits), InMemoryStore())
    outcome = network.observe([Reading(name, "x", 1.0, 1.0, u=1.0) for name in "abcd"], 5.0)
    rejected = Counter(reason for _, reason in outcome.refused)
    return [*limit_notices(network, rejected + Counter(series_limit=before))]


def test_what_waits_and_what_is_refused_is_told_with_its_setting():
    assert notices(4, 9) == notices(5, 9, before=1) == []  # there is room again
    (full,) = notices(3, 9)
    assert full.startswith("series.max is reached (3): readings of further sensors are rejected")
    (slow,) = notices(9, 1)
    assert slow.startswith("3 new series wait, as series.max_new_per_minute is 1")
