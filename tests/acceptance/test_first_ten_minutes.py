"""What somebody tries in the first ten minutes, and must not leave over: real programs, a to j."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.programs import WAIT_SECONDS, free_port, need, until
from harness.reaper import MARK

from monitor.cli import main
from monitor.mqtt.publish import BrokerPublisher

PROGRAMS = Path(sys.executable).parent
PROJECT = Path(__file__).parents[2]
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SIX_LINES = """\
mqtt: {{port: {port}}}
journal: {{path: "{folder}/journal.sqlite"}}
http: {{port: {page}}}
"""
JSON = """
sources:
  - topic: wow/{sensor}/reading
    kind: reading
    decoder: json
    map: {time: ts, key: eid, series: [{quantity: weight, value: kgs, u: u}]}
  - {topic: "monitor/{subject}/{quantity}/reference", kind: reference}
"""
PAGE_BYTES = 5_000_000  # what docs/operations.md promises of a thousand series, and a third more
PAGE_BYTES_PACKED = 550_000

Begun = Callable[..., Daemon]


@pytest.fixture
def begun(tmp_path: Path, mosquitto: Mosquitto) -> Iterator[Begun]:
    """Return what starts a daemon with settings of its own, on a broker of its own."""
    daemons: list[Daemon] = []

    def begin(more: str = "", whole: str = "") -> Daemon:
        daemons.append(Daemon(tmp_path, mosquitto.port, more))
        if whole:
            daemons[0].settings.write_text(whole, encoding="utf-8")
        daemons[0].start()
        return daemons[0]

    yield begin
    for daemon in daemons:
        daemon.kill()


@pytest.fixture
def own(tmp_path: Path, mosquitto: Mosquitto, begun: Begun) -> Callable[[], Daemon]:
    """Return what starts a daemon with nothing but the six lines."""

    def begin() -> Daemon:
        text = SIX_LINES.format(port=mosquitto.port, folder=tmp_path, page=free_port())
        return begun(whole=text)

    return begin


def instant(at: int) -> str:
    return (BEGIN + timedelta(minutes=at)).isoformat()


def send(port: int, errors: list[float], *, u: float, sensor: str = "p03", first: int = 0) -> None:
    """Publish a reading with each error, and its reference."""
    with BrokerPublisher("127.0.0.1", port) as out:
        for at, error in enumerate(errors, first):
            true = 500.0 + 7.0 * (at % 13)
            reading = {"time": instant(at), "value": true + error, "u": u}
            reference = {"time": instant(at), "value": true, "u": 0.1, "id": f"w{at}"}
            out.publish(f"monitor/{sensor}/weight/reading", json.dumps(reading).encode())
            out.publish(f"monitor/{sensor}/weight/reference", json.dumps(reference).encode())


def noise(count: int, size: float, seed: int = 1) -> list[float]:
    return np.random.default_rng(seed).normal(0.0, size, count).tolist()


def series(daemon: Daemon, sensor: str = "p03") -> dict:
    return daemon.json(f"/api/v1/series/{sensor}/weight")


def after(daemon: Daemon, pairs: int, sensor: str = "p03") -> dict:
    """Return what is said of a series once it has so many pairs."""
    until(f"{pairs} pairs", lambda: series(daemon, sensor).get("pairs") == pairs)
    return series(daemon, sensor)


def test_a_one_command_shows_a_fleet_without_broker_docker_or_database(tmp_path):
    port = free_port()
    command = [PROGRAMS / "monitor", "demo", "--port", str(port)]
    environment = {"PATH": str(PROGRAMS), "HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    environment[MARK] = os.environ[MARK]
    demo = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE)
    assert demo.stdout is not None
    with demo.stdout as out:
        for line in out:
            if b"first pairs are in" in line:
                break
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=WAIT_SECONDS) as page:
            assert b"cart-03" in page.read()
        demo.terminate()
        last = out.read().decode()
    assert demo.wait(WAIT_SECONDS) == 0
    assert "What is true, and what was found" in last
    asked = subprocess.run(
        [need("make"), "--no-print-directory", "--dry-run", "demo"],
        cwd=PROJECT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert re.search(r"monitor demo\s*$", asked.stdout)


def test_b_six_lines_of_settings_give_a_result_from_ones_own_broker(own, mosquitto):
    daemon = own()
    assert len(daemon.settings.read_text(encoding="utf-8").splitlines()) <= 6

    send(mosquitto.port, [25.0 + each for each in noise(60, 5.0)], u=5.0)

    found = after(daemon, 60)
    assert found["state"] == "firing"
    assert re.match(r"reads 2\d(\.\d)? high", found["sentence"])


def test_c_a_wrong_path_is_named_beside_the_payload(mosquitto, begun, capsys):
    daemon = begun(JSON)
    payload = '{"ts":"2026-01-01T00:00:00Z","kg":512.5,"u":5,"eid":"982"}'
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        out.publish("wow/p03/reading", payload.encode())

    (letter,) = until("it is refused", lambda: daemon.json("/api/v1/deadletters")["deadletters"])
    assert letter["reason"] == "missing_field"
    assert "$.kgs" in letter["detail"]
    assert payload in json.dumps(letter, ensure_ascii=False).replace('\\"', '"')
    assert main(["explain", "--config", str(daemon.settings), "wow/p03/reading", payload]) == 1
    told = capsys.readouterr().out
    for words in ("$.kgs", "kg", payload, "docs/formats.md#paths-fields-times"):
        assert words in told


def test_d_where_nothing_pairs_doctor_names_the_cause(own, mosquitto, capsys):
    daemon = own()
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        for what, key in (("reading", "982 000412345678"), ("reference", "982000412345678")):
            stated = {"time": instant(0), "value": 512.0, "u": 5.0, "key": key}
            out.publish(f"monitor/p03/weight/{what}", json.dumps(stated).encode())

    def told() -> str:
        assert main(["doctor", "--config", str(daemon.settings)]) == 1
        return capsys.readouterr().out

    until("both have come", lambda: "1 reading and 1 reference" in told())
    for words in (
        "0 keys in common",
        "'982 000412345678'",
        "key_remove",
        "docs/pairing.md#no-pairs",
    ):
        assert words in told()


def test_e_a_restart_loses_nothing(mosquitto, begun):
    daemon = begun()
    send(mosquitto.port, noise(40, 5.0), u=5.0)
    after(daemon, 40)
    daemon.kill()
    send(mosquitto.port, noise(40, 5.0, seed=2), u=5.0, first=40)

    daemon.start()

    after(daemon, 80)
    assert daemon.value("monitor_session_lost_total") == 0


def test_f_a_sensor_that_dies_becomes_stale_and_its_gauges_vanish(mosquitto, begun):
    daemon = begun("series: {stale_after_seconds: 2}")
    send(mosquitto.port, noise(40, 5.0), u=5.0)
    until("its bias is there", lambda: 'monitor_calibration_bias{sensor="p03"' in text(daemon))

    stale = 'monitor_series_state{sensor="p03",quantity="weight",state="stale"}'
    until("it is stale", lambda: daemon.value(stale) == 1)
    assert 'monitor_calibration_bias{sensor="p03"' not in text(daemon)


def text(daemon: Daemon) -> str:
    return daemon.get("/metrics")[1].decode()


def test_g_one_gross_mistake_pages_nobody_and_can_be_seen(mosquitto, begun):
    daemon = begun()
    errors = noise(100, 5.0)
    errors[70] = 500.0
    send(mosquitto.port, errors, u=5.0)

    found = after(daemon, 100)
    assert found["state"] != "firing"
    assert found["alerts"] == []
    firing = [name for name, value in daemon.metrics().items() if "alert_active{" in name and value]
    assert firing == []
    pairs = daemon.json("/api/v1/series/p03/weight/pairs")["pairs"]
    assert sum(abs(each["error"]) > 400.0 for each in pairs) == 1


def test_h_a_sensor_that_is_wide_and_says_so_is_not_called_offset(mosquitto, begun):
    daemon = begun()
    send(mosquitto.port, noise(200, 60.0), u=60.0)

    found = after(daemon, 200)
    assert found["state"] == "ok"
    assert found["sentence"].startswith("right within 0.")


def test_i_a_revised_reference_changes_its_pair_and_no_other(mosquitto, begun):
    daemon = begun()
    send(mosquitto.port, noise(20, 5.0), u=5.0)
    after(daemon, 20)
    before = pairs_by_time(daemon)
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        revised = {"time": instant(7), "value": 777.0, "u": 0.1, "id": "w7", "rev": 1}
        out.publish("monitor/p03/weight/reference", json.dumps(revised).encode())

    until("it is corrected", lambda: daemon.value("monitor_corrections_total") == 1)
    now = pairs_by_time(daemon)
    assert [time for time in before if now[time] != before[time]] == [
        (BEGIN + timedelta(minutes=7)).timestamp()
    ]
    assert now[(BEGIN + timedelta(minutes=7)).timestamp()]["reference"] == 777.0


def pairs_by_time(daemon: Daemon) -> dict[float, dict]:
    pairs = daemon.json("/api/v1/series/p03/weight/pairs")["pairs"]
    return {each["time"]: each for each in pairs}


def test_j_five_hundred_sensors_of_two_quantities_fit_the_page_of_metrics(mosquitto, begun):
    daemon = begun()
    chance = np.random.default_rng(1)
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        for at in range(12):
            for sensor in range(500):
                for quantity in ("pm25", "no2"):
                    for what, value in (("reading", chance.normal(20.0, 3.0)), ("reference", 20.0)):
                        stated = {"time": instant(at), "value": value, "u": 3.0}
                        topic = f"monitor/n{sensor:04}/{quantity}/{what}"
                        out.publish(topic, json.dumps(stated).encode())
    last = 'monitor_window_pairs{sensor="n0499",quantity="no2"}'
    until("all pairs are there", lambda: daemon.value(last) == 12)

    asked = urllib.request.Request(f"{daemon.url}/metrics", headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(asked, timeout=WAIT_SECONDS) as answer:
        packed = answer.read()
    page = gzip.decompress(packed)
    assert daemon.value("monitor_series") == 1000
    assert page.count(b"monitor_calibration_zms{") == 1000
    assert len(page) < PAGE_BYTES
    assert len(packed) < PAGE_BYTES_PACKED
    command = [need("promtool"), "check", "metrics"]
    checked = subprocess.run(command, input=page, check=False, capture_output=True)
    assert checked.returncode == 0, checked.stdout
