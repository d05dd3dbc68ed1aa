"""Room for the series that settings admit and a journal has."""

from __future__ import annotations

import pytest

from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import KnownSeries, Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.journal.in_memory import InMemoryStore


@pytest.mark.parametrize(("maximum", "known", "capacity"), [(3, 5, 7), (6, 5, 8)])
def test_a_journal_with_more_series_than_are_admitted_now_is_restored_whole(
    maximum, known, capacity
):
    plan = CoreSettings(
        lambda _s, _q: SeriesRules(), limits=Limits(maximum, 9), known_series=known, rows_spare=2
    )
    network = Network(plan, InMemoryStore())
    network.restore_series(KnownSeries(row, f"s{row}", "x", "", 0.0) for row in range(known))

    assert plan.capacity == network.windows.capacity == capacity
    assert len(network.registry) == known
