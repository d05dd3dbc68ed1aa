"""Live = direct = batch: the same bits from the broker, from the stream and from the file."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.broker import Mosquitto
from harness.cases import further
from harness.daemon import Daemon
from harness.programs import until

from monitor.mqtt.publish import BrokerPublisher

# The file's `crps` is that of the normal density, whatever a sensor states.
NORMAL = "scoring: {density: normal}"
# Metrics and the statistics of `monitor score --json`, of the pairs that the verdict is from, that
# they must equal, bit for bit.
SAME = {
    "monitor_score_crps_mean": "crps",
    "monitor_score_crps_expected_ratio": "crps_expected_ratio",
    "monitor_score_quadratic_mean": "quadratic",
    "monitor_score_interval_mean": "interval",
    "monitor_score_norm_mean": "norm",
    "monitor_calibration_bias": "bias",
    "monitor_calibration_zms": "zms",
    "monitor_calibration_rce": "rce",
    "monitor_calibration_nll": "nll",
    "monitor_calibration_coverage_ratio": "coverage",
    "monitor_calibration_z_lag1": "z_lag1",
    "monitor_ucc_auucc": "auucc",
    "monitor_ucc_partial_gain_ratio": "auucc_partial_gain",
}


def monitor(*arguments: str) -> str:
    command = [sys.executable, "-m", "monitor", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def scored(path: Path) -> list[dict]:
    return json.loads(monitor("score", str(path), "--json"))["series"]


@pytest.fixture
def daemon(tmp_path: Path, mosquitto: Mosquitto) -> Iterator[Daemon]:
    running = Daemon(tmp_path, mosquitto.port, NORMAL)
    running.start()
    yield running
    running.kill()


def assert_same(daemon: Daemon, series: list[dict]) -> None:
    for each in series:
        labels = f'{{sensor="{each["sensor"]}",quantity="{each["quantity"]}"}}'
        expected = {metric: each["judged"][statistic] for metric, statistic in SAME.items()}
        expected["monitor_window_pairs"] = each["verdict"]["pairs"]

        def figures(names=tuple(expected), labels=labels) -> dict[str, float | None]:
            page = daemon.metrics()
            return {name: page.get(name + labels) for name in names}

        until(f"{labels} with {expected}", lambda: figures() == expected)  # noqa: B023


@pytest.mark.parametrize("name", ["uwb_stream.csv", "airquality_stream.csv.gz"])
def test_real_streams_through_mosquitto_equal_the_file_bit_for_bit(name, daemon, shared_data):
    series = scored(shared_data / name)
    monitor("replay", str(shared_data / name), "--config", str(daemon.settings))

    assert_same(daemon, series)


def test_own_stream_through_mosquitto_equals_the_file_bit_for_bit(daemon):
    stream = next((Path(__file__).parents[1] / "small").glob("*stream*.csv*"))
    series = scored(stream)
    monitor("replay", str(stream), "--config", str(daemon.settings))

    assert_same(daemon, series)


def test_direct_replay_equals_the_file_bit_for_bit(tmp_path, mosquitto, shared_data):
    daemon = Daemon(tmp_path, mosquitto.port, NORMAL)
    stream = shared_data / "uwb_stream.csv"
    monitor("replay", str(stream), "--config", str(daemon.settings), "--direct")
    daemon.start()
    try:
        assert_same(daemon, scored(stream))
    finally:
        daemon.kill()


@pytest.mark.parametrize("number", [1, 2, *further(3, 4, 5)])
def test_pernots_sets_published_with_keys_equal_the_file(number, daemon, mosquitto, shared_data):
    path = shared_data / f"pernot_set{number}.csv"
    topic = f"monitor/pernot_set{number}/value"
    with path.open(encoding="utf-8") as table, BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        for at, row in enumerate(csv.DictReader(table)):
            time = f"2026-01-01T{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}Z"
            stated = {"time": time, "key": at}
            reading = {**stated, "value": float(row["value"]), "u": float(row["sigma"])}
            reference = {**stated, "value": float(row["reference"])}
            out.publish(f"{topic}/reading", json.dumps(reading).encode())
            out.publish(f"{topic}/reference", json.dumps(reference).encode())
        out.flush()

    assert_same(daemon, scored(path))
