"""What intervals cost by the user's own weight: live as in a file, and only where it was asked."""

from __future__ import annotations

import json

import numpy as np
import pytest
from harness.members import assert_described

from monitor.cli import main
from monitor.config import SettingsError, parse
from monitor.config.core_plan import rules_of
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import SeriesKey
from monitor.extensions.costs.live_costs import LiveCosts
from monitor.http.documents import entry, pairs_csv
from tests.core.state.test_network import Shell, stream

WEIGHED = SeriesRules(unit="kg", level=0.9, asks=(("cost_weight", 0.3),))


def test_a_daemon_has_the_costs_of_the_file_of_its_pairs_bit_for_bit(tmp_path, capsys):
    shell = Shell(WEIGHED, additions=(LiveCosts,))
    shell.take(stream("a", 40, 1))
    shell.take(stream("b", 60, 2))
    shell.take(stream("b", 180, 2, bias=10.0)[120:])
    shell.network.evaluate(0.0)
    shell.take(stream("a", 90, 1)[80:])  # an evaluated series goes on
    now = shell.network.evaluate(0.0)
    assert now.window_pairs.tolist() == [90, 122]  # those of b are from its incident on
    for row, name in enumerate(now.names):
        file = tmp_path / f"{name.sensor}.csv"
        detail = shell.network.detail(SeriesKey(name.sensor, name.quantity), 0.0)
        assert detail is not None
        file.write_text(pairs_csv(detail, int(now.window_pairs[row])), encoding="utf-8")
        assert main(["score", str(file), "--cost", "0.3", "--json"]) == 0
        (scored,) = json.loads(capsys.readouterr().out)["series"]

        live = entry(now, row)
        assert scored["n"] == live["pairs"]
        assert live["costs"] == scored["costs"]
        assert_described("costs", live)
        published = [live["statistics"][name] for name in now.helps]
        assert [0.3, *published] == [*scored["costs"].values()]


def test_an_interval_score_is_the_cost_with_its_own_weight():
    shell = Shell(WEIGHED._replace(asks=(("cost_weight", 0.1 / 1.1),)), additions=(LiveCosts,))
    shell.take(stream("a", 64, 3))
    now = shell.network.evaluate(0.0)

    live = now.statistics["ucc_weighted_scale_optimal"][0]
    assert live == now.statistics["ucc_scale_optimal"][0]


def test_nothing_is_added_where_nobody_weighs():
    shell = Shell(WEIGHED._replace(asks=()), additions=(LiveCosts,))
    shell.take(stream("a", 30, 1))
    now = shell.network.evaluate(0.0)

    assert now.additions == {}
    assert "ucc_weighted_cost" not in now.statistics


def test_groups_weigh_as_they_like_and_the_weight_is_below_one():
    settings = parse(
        b"""
scoring: {cost_weight: 0.2}
groups:
  - {name: north, sensors: ["n*"], scoring: {cost_weight: 0}}
overrides:
  - {sensor: "x*", scoring: {level: 0.8}}
""",
        "settings.yaml",
    )
    weights = [rules_of(settings, each, "w").asked("cost_weight") for each in ("n1", "x1", "a")]
    assert weights == [0.0, 0.2, 0.2]
    with pytest.raises(SettingsError, match="cost_weight"):
        parse(b"scoring: {cost_weight: 1}", "settings.yaml")


def test_a_series_that_stopped_shows_no_costs():
    shell = Shell(WEIGHED._replace(stale_after_seconds=10.0), additions=(LiveCosts,))
    shell.take(stream("a", 30, 1))
    now = shell.network.evaluate(1e6)

    assert bool(now.withdrawn[0])
    assert entry(now, 0)["costs"] is None
    assert np.isfinite(now.statistics["ucc_weighted_cost"][0])
