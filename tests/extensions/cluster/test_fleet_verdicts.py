"""The whole fleet as the blocks' reports have it."""

from __future__ import annotations

import msgspec

from monitor.extensions.cluster import results
from monitor.extensions.cluster.fleet_verdicts import Fleet


def test_the_fleet_shows_what_alerts_and_the_worst_of_the_others(batches):
    fleet = Fleet(worst=1)
    fleet.update([(4, batches[-1][1])])
    shown = fleet.shown()

    assert shown is not None
    assert shown.names[0].sensor == "cart-1"
    assert len(shown.names) == 2
    assert shown.alerts["offset"].tolist() == [True, False]
    assert sum(fleet.counted("states").values()) == 3
    assert fleet.counted("alerts")["offset"] == 1


def test_old_figures_of_a_series_that_is_calm_again_are_not_shown(batches):
    """Its block reports it once more; afterwards it is shown if it is among the worst."""
    fleet, report = Fleet(worst=9), results.load_report(results.dump(batches[-1][1]))
    for each in report.series:
        each.line.alerts, each.firing = [], False
    fleet.update([(4, report)])
    summary = msgspec.structs.replace(report.summary, worst=[])
    fresh = fleet.shown()
    fleet.update([(4, results.BlockReport([], [], [], summary))])

    assert fresh is not None
    assert "cart-1" in [name.sensor for name in fresh.names]
    assert fleet.shown() is None
