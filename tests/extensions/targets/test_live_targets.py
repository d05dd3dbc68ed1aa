"""Figures for a regulator, live: as in a file of the same pairs, and only where they were asked."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import numpy as np
import pytest
from harness.daemon import Daemon
from harness.members import assert_described
from harness.programs import until

from monitor.cli import main
from monitor.core.diagnosis.onsets import PAIRS_MAX
from monitor.core.formatting import instant
from monitor.core.model import Reading, Reference
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import SeriesKey
from monitor.extensions.targets.live_targets import METRICS, LiveTargets
from monitor.http.documents import entry, pairs_csv
from monitor.mqtt.publish import BrokerPublisher
from tests.core.state.test_network import Shell

NO2 = SeriesRules(
    unit="ug/m3", pairing=Rules("nearest", 60.0), asks=(("limit_value", 100.0), ("targets", "eu"))
)


def hours(sensor: str, count: int, *, quantity: str = "no2", gain: float = 1.3) -> list:
    """Return readings and references, one of each an hour."""
    random = np.random.default_rng(5)
    observations: list[Reading | Reference] = []
    for at in range(count):
        truth, moment = random.uniform(5.0, 180.0), 3600.0 * at
        value = gain * truth + random.normal(0.0, 6.0)
        observations.append(Reading(sensor, quantity, moment, value, u=6.0, sequence=str(at)))
        observations.append(Reference(sensor, quantity, moment + 1.0, truth, u=0.5))
    return observations


def test_a_daemon_has_what_the_file_of_its_pairs_has(tmp_path, capsys):
    shell = Shell(NO2, additions=(LiveTargets,))
    shell.take(hours("n1", 60) + hours("n2", 60, gain=1.0))
    shell.network.evaluate(0.0)
    shell.take(hours("n1", 90)[120:])  # an evaluated series goes on
    shell.take(hours("n2", 150, gain=1.3)[120:])  # and another becomes wrong
    now = shell.network.evaluate(0.0)
    assert now.window_pairs[0] == 90
    assert 20 < now.window_pairs[1] < 150  # those from its incident on
    for row, name in enumerate(now.names):
        file = tmp_path / "pairs.csv"
        detail = shell.network.detail(SeriesKey(name.sensor, "no2"), 0.0)
        assert detail is not None
        pairs = int(now.window_pairs[row])
        file.write_text(pairs_csv(detail, pairs), encoding="utf-8")

        assert main(["targets", str(file), "--for", "eu", "--limit-value", "100", "--json"]) == 0
        (recorded,) = json.loads(capsys.readouterr().out)["series"]

        live = entry(now, row)
        names = ("sensor", "quantity", "unit")
        assert live["targets"] == {key: recorded[key] for key in recorded if key not in names}
        assert_described("targets", live)
        w = recorded["figures"][0]
        assert live["statistics"]["expanded_uncertainty_ratio"] == w["value"]
        assert live["statistics"]["expanded_uncertainty_upper_ratio"] == w["upper"]
        assert live["statistics"]["targets_met_ratio"] == 0.5  # classes 2 and 3 of four levels
        assert recorded["averages"] == pairs


@pytest.mark.parametrize("gain", [1.0, 1.3])
def test_a_window_of_a_month_counts_whole_though_a_verdict_is_of_less(gain):
    shell = Shell(NO2._replace(window_pairs=800), additions=(LiveTargets,), window_pairs_max=800)
    shell.take(hours("n1", 792, quantity="pm25", gain=gain))
    now = shell.network.evaluate(0.0)

    assert now.window_pairs[0] == PAIRS_MAX
    assert entry(now, 0)["targets"]["averages"] == 33


def test_the_page_of_a_series_has_the_sentence_and_a_stopped_one_has_none():
    shell = Shell(NO2._replace(stale_after_seconds=10.0), additions=(LiveTargets,))
    shell.take(hours("<n1>", 40))
    now = shell.network.evaluate(0.0)
    findings = now.additions["targets"]

    below, further = findings.fragments(now, 0)
    assert below.startswith("<p>By the rules <code>eu</code>: ")
    assert "at the limit value of 100 ug/m3: class 2" in below
    assert further == ""

    stopped = replace(now, withdrawn=np.array([True]))
    assert findings.fragments(stopped, 0) == ("", "")
    assert findings.document(stopped, 0) == {"targets": None}


def test_a_series_of_which_nothing_can_be_said_has_no_number_and_a_reason():
    shell = Shell(NO2, additions=(LiveTargets,))
    shell.take(hours("n1", 40, quantity="noise") + hours("n1", 12))
    now = shell.network.evaluate(0.0)

    for row, name in enumerate(now.names):
        assert np.isnan(now.statistics["targets_met_ratio"][row])
        words = (
            "a pollutant known" if name.quantity == "noise" else "has 12 complete hourly averages"
        )
        assert words in entry(now, row)["targets"]["sentence"]


def test_epa_targets_have_a_share_and_no_expanded_uncertainty():
    rules = NO2._replace(unit="ppb", asks=(("targets", "epa"),))
    shell = Shell(rules, additions=(LiveTargets,))
    shell.take(hours("n1", 100, quantity="o3", gain=1.0))
    now = shell.network.evaluate(0.0)

    assert now.statistics["targets_met_ratio"][0] == 0.75  # all but RMSE: 6 ppb are too many
    assert np.isnan(now.statistics["expanded_uncertainty_ratio"][0])


def test_nothing_is_added_where_nobody_asks():
    shell = Shell(NO2._replace(asks=()), additions=(LiveTargets,))
    shell.take(hours("n1", 30))
    now = shell.network.evaluate(0.0)

    assert now.additions == {}
    assert not {name.removeprefix("monitor_") for name in METRICS} & now.statistics.keys()


def test_a_daemon_shows_and_reports_what_its_settings_ask(tmp_path, mosquitto):
    asks = "scoring: {targets: eu, limit_value: 100}\nseries: {stale_after_seconds: 1e6}"
    daemon = Daemon(tmp_path, mosquitto.port, asks)
    daemon.start()
    begin = time.time() // 3600.0 * 3600.0 - 50 * 3600.0
    try:
        with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
            for each in hours("n1", 40):
                stated = {"time": instant(begin + each.time - each.time % 60.0)}
                stated |= {"value": each.value, "u": each.u, "unit": "ug/m3"}
                kind = "reading" if isinstance(each, Reading) else "reference"
                out.publish(f"monitor/n1/no2/{kind}", json.dumps(stated).encode())
        share = 'monitor_targets_met_ratio{sensor="n1",quantity="no2"}'
        pairs = 'monitor_window_pairs{sensor="n1",quantity="no2"}'
        until("all pairs are in", lambda: daemon.value(pairs) == 40)

        assert daemon.value(share) == 0.5
        sentence = daemon.json("/api/v1/series/n1/no2")["targets"]["sentence"]
        assert "at the limit value of 100 ug/m3: class 2" in sentence
        page = daemon.get("/series/n1/no2")[1].decode()
        assert f"<p>By the rules <code>eu</code>: {sentence}.</p>" in page
    finally:
        daemon.stop()
    out_file = tmp_path / "report.html"
    assert main(["report", "--config", str(daemon.settings), "--out", str(out_file)]) == 0
    assert f"By the rules eu: {sentence}." in out_file.read_text(encoding="utf-8")
