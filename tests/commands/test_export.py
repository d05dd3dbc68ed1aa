"""``monitor export`` and ``monitor report --config``: of a running daemon and of its journal."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from harness.daemon import Daemon
from harness.programs import free_port, until

from monitor.cli import main
from monitor.client.current_pairs import current_pairs
from monitor.config import load
from monitor.core.scores.statistics import STATISTICS, compute
from monitor.mqtt.publish import BrokerPublisher
from monitor.report.incidents import incident_document, incidents_of

PROJECT = Path(__file__).parents[2]
SETTINGS = """
mqtt: {{port: {port}, client_id: exported}}
journal: {{path: "{folder}/journal.sqlite"}}
http: {{port: {http}}}
publish: {{interval_seconds: 0.1}}
pairing: {{mode: key, match_on: [subject, key]}}
"""


def settings_in(folder: Path, port: int = 1) -> Path:
    path = folder / "monitor.yaml"
    path.write_text(SETTINGS.format(port=port, folder=folder, http=free_port()))
    return path


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    """Return the settings of a daemon that took a stream and was stopped."""
    folder = tmp_path_factory.mktemp("recorded")
    settings = settings_in(folder)
    stream = PROJECT / "tests" / "small" / "stream.csv"
    assert main(["replay", str(stream), "--config", str(settings), "--direct"]) == 0
    return settings


def exported(settings: Path, out: Path, form: str) -> Path:
    assert main(["export", "--config", str(settings), "--format", form, "--out", str(out)]) == 0
    return out


def scored(capsys, file: Path) -> dict:
    capsys.readouterr()
    assert main(["score", str(file), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_score_of_the_file_is_that_of_the_journal(recorded, tmp_path, capsys, form):
    if form == "parquet":
        pytest.importorskip("pyarrow")
    found = current_pairs(load(recorded))
    statistics = compute(found.columns(0.9), STATISTICS)

    document = scored(capsys, exported(recorded, tmp_path / "pairs", form))

    assert len(document["series"]) == len(found.names) > 8
    for row, each in enumerate(document["series"]):
        assert (each["sensor"], each["unit"]) == (found.names[row].sensor, found.names[row].unit)
        for name, value in each["statistics"].items():
            want = float(statistics[name][row])
            assert value == (want if np.isfinite(want) else None), name
    raised = incidents_of(found, found.columns(0.9), {})
    assert document["alerts"] == [incident_document(each, found) for each in raised]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_an_interval_without_a_level_is_exported_with_that_of_the_settings(tmp_path, capsys, form):
    settings = settings_in(tmp_path)
    settings.write_text(f"{settings.read_text()}scoring: {{level: 0.8}}\n")
    lines = []
    for at in range(6):
        when = f"2026-03-01T06:0{at}:00Z"
        for sensor, u in (("both", {"u": 1.0}), ("bare", {})):
            known = {"time": when, "key": f"{at}"}
            told = known | {"value": 1.0 * at, "lower": at - 2.0, "upper": at + 2.0}
            met = known | {"value": 0.5}
            lines += [
                {"topic": f"monitor/{sensor}/mass/reading", "payload": json.dumps(told | u)},
                {"topic": f"monitor/{sensor}/mass/reference", "payload": json.dumps(met)},
            ]
    file = tmp_path / "messages.jsonl"
    file.write_text("".join(f"{json.dumps({'time': 1.7724e9} | each)}\n" for each in lines))
    assert main(["replay", str(file), "--config", str(settings), "--direct"]) == 0
    found = current_pairs(load(settings))
    wanted = compute(found.columns(0.8), ["coverage", "bandwidth", "zms"])

    document = scored(capsys, exported(settings, tmp_path / "pairs", form))

    assert [each["sensor"] for each in document["series"]] == ["both", "bare"]
    for row, series in enumerate(document["series"]):
        for key, column in wanted.items():
            assert series["statistics"][key] == column[row], (row, key)


def test_a_file_says_of_each_pair_whose_reference_it_has(recorded, tmp_path):
    with exported(recorded, tmp_path / "pairs.csv", "csv").open() as text:
        rows = list(csv.DictReader(text))

    names = [(row["sensor"], row["quantity"], row["time"]) for row in rows]
    assert names == sorted(names)
    assert all(row["reference_event"].isdecimal() for row in rows)
    assert {row["sigma"] == "" for row in rows if row["sensor"] == "cart-10"} == {True}
    assert {row["lower"] == "" for row in rows if row["sensor"] == "cart-01"} == {True}


@pytest.mark.parametrize(("form", "is_told"), [("csv", True), ("jsonl", False)])
def test_a_name_that_a_spreadsheet_takes_for_a_formula_is_told(form, is_told, tmp_path, capsys):
    settings = settings_in(tmp_path)
    stream = tmp_path / "stream.csv"
    rows = (f"2026-03-01T0{hour}:00:00Z,=A1,x,reading,1.0,0.5,{hour}\n" for hour in range(3))
    stream.write_text(
        "time,sensor,quantity,kind,value,sigma,key\n"
        + "".join(row + row.replace("reading", "reference") for row in rows)
    )
    assert main(["replay", str(stream), "--config", str(settings), "--direct"]) == 0

    file = exported(settings, tmp_path / "pairs", form)

    assert file.read_text().count("=A1") == 3
    assert ("takes '=A1' for a formula" in capsys.readouterr().err) is is_told


def test_a_report_of_the_journal_repeats_and_names_its_settings(recorded, tmp_path, capsys):
    pages = []
    for name in ("one.html", "two.html"):
        out = tmp_path / name
        assert main(["report", "--config", str(recorded), "--out", str(out)]) == 0
        lines = out.read_text(encoding="utf-8").splitlines()
        pages.append([line for line in lines if 'id="date"' not in line])

    assert pages[0] == pages[1]
    text = "\n".join(pages[0])
    assert "SHA-256 of the settings" in text
    assert "SHA-256 of the raw pairs" in text
    assert "12 series" in capsys.readouterr().err


def test_a_report_has_the_density_that_the_settings_give_its_sensors(recorded, tmp_path):
    settings, out = tmp_path / "other.yaml", tmp_path / "report.html"
    more = 'overrides: [{sensor: "*", scoring: {density: tophat}}]'
    settings.write_text(f"{recorded.read_text()}{more}\n")
    assert main(["report", "--config", str(settings), "--out", str(out)]) == 0

    assert "density tophat;" in out.read_text(encoding="utf-8")


def test_a_running_daemon_gives_the_same_pairs_as_its_journal(tmp_path, mosquitto, capsys):
    daemon = Daemon(tmp_path, mosquitto.port)
    daemon.settings.write_text(settings_in(tmp_path, mosquitto.port).read_text())
    daemon.start()
    try:
        with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
            for at in range(30):
                stated = {"time": f"2026-01-01T00:00:{at:02}Z", "key": f"k{at}", "unit": "kg"}
                value = 500.0 + at % 7
                claims = {
                    "a": {"u": 5.0},
                    "b/c": {"U": 8.0, "k": 2.0},
                    "d": {"lower": value - 8.0, "upper": value + 9.0, "p": 0.8},
                }
                for sensor, more in claims.items():
                    name = sensor.replace("/", ":")
                    told = stated | {"value": value, **more}
                    out.publish(f"monitor/{name}/mass/reading", json.dumps(told).encode())
                    told = stated | {"value": 501.0, "u": 0.5}
                    out.publish(f"monitor/{name}/mass/reference", json.dumps(told).encode())
        until("90 pairs", lambda: sum_of_pairs(daemon) == 90)
        live = scored(capsys, exported(daemon.settings, tmp_path / "live.csv", "csv"))
        report = ["report", "--config", str(daemon.settings), "--out", str(tmp_path / "r.html")]
        assert main(report) == 0
        assert "pairs in its windows" in (tmp_path / "r.html").read_text()
        assert daemon.stop() == 0
    finally:
        daemon.kill()

    stopped = scored(capsys, exported(daemon.settings, tmp_path / "stopped.csv", "csv"))

    assert [each["n"] for each in live["series"]] == [30, 30, 30]
    assert as_stated(tmp_path / "live.csv") == as_stated(tmp_path / "stopped.csv")
    for one, other in zip(live["series"], stopped["series"], strict=True):
        assert numbers(one["statistics"]) == pytest.approx(numbers(other["statistics"]), rel=1e-12)


def as_stated(file: Path) -> list[tuple[str, ...]]:
    columns = ("sensor", "time", "value", "sigma", "lower", "upper", "alpha")
    with file.open() as text:
        return [tuple(row[name] for name in columns) for row in csv.DictReader(text)]


def numbers(statistics: dict) -> dict[str, float]:
    return {name: -9e9 if value is None else value for name, value in statistics.items()}


def sum_of_pairs(daemon: Daemon) -> int:
    return sum(each["pairs"] for each in daemon.json("/api/v1/series")["series"])


def test_without_daemon_journal_or_pyarrow_it_says_what_to_do(tmp_path, capsys, monkeypatch):
    settings = str(settings_in(tmp_path))

    assert main(["export", "--config", settings]) != 0
    assert "no daemon answers on http://127.0.0.1:" in capsys.readouterr().err
    assert not (tmp_path / "journal.sqlite").exists()

    assert main(["export", "--config", settings, "--format", "parquet"]) != 0
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert main(["export", "--config", settings, "--format", "parquet", "--out", "x"]) != 0
    assert "pip install '.[parquet]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (['{"value":1,"sigma":1,"reference":1'], ":1: is not JSON"),
        (['{"value":1,"sigma":1,"reference":1}', '{"reference":1,"u":1}'], ":2:u: the first line"),
        (['{"value":1,"sigma":-1,"reference":1}'], ":1:sigma: must be at least"),
    ],
)
def test_a_wrong_line_of_json_is_named(tmp_path, capsys, lines, said):
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(lines))

    assert main(["score", str(path)]) != 0
    assert said in capsys.readouterr().err


def test_what_is_no_parquet_after_its_first_bytes_is_refused(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    path = tmp_path / "pairs.parquet"
    path.write_bytes(b"PAR1 and nothing else")

    assert main(["score", str(path)]) != 0
    assert "cannot be read as Parquet" in capsys.readouterr().err
