"""The mistakes made most often on the first day: each is told with what to do and where to read.

``tests/test_docs.py`` checks that the places that messages name exist.
"""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest
from harness.programs import free_port, written

from monitor.cli import main

SETTINGS = """\
mqtt: {port: 1}
journal: {path: state/journal.sqlite}
http: {port: 0}
"""
MAPPED = """\
sources:
  - topic: scales/{sensor}
    kind: reading
    decoder: json
    unit: kg
    map: {time: ts, series: [{quantity: mass, value: kg, u: u, unit_path: unit}]}
  - {topic: "scales/{subject}/truth", kind: reference, unit: kg}
"""
WORKING = '{"ts":"2026-01-01T00:00:00Z","kg":512,"u":5,"unit":"kg"}'
FIELDS = "docs/formats.md#paths-fields-times"


@pytest.fixture
def told(tmp_path: Path, capsys, monkeypatch):
    """Return what runs a command in an empty folder: its exit code, and all that it says."""
    monkeypatch.chdir(tmp_path)

    def tell(*words: str) -> tuple[int, str]:
        try:
            code = main(words)
        except SystemExit as ended:
            code = int(ended.code)
        said = capsys.readouterr()
        return code, " ".join((said.out + said.err).split())

    return tell


def test_no_command_or_a_mistyped_one(told):
    assert told()[0] == 2
    assert "doctor" in told()[1]
    code, said = told("chekc-config", "monitor.yaml")
    assert code == 2
    assert "unknown command 'chekc-config'; did you mean `monitor check-config`?" in said


def test_settings_that_are_not_there(told):
    code, said = told("run", "--config", "monitor.yaml")

    assert code == 2
    for words in ("monitor.yaml", "No such file", "`monitor init`", "#the-settings-cannot-be-used"):
        assert words in said


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("mqtt:\n  hots: x\n", "2:3", "did you mean host?"),
        ("mqtt:\n\thost: x\n", "2:1", "with spaces, not with tabs"),
        ("mqtt:\n  host: x\n\tport: 1\n", "3:1", "with spaces, not with tabs"),
        ("mqtt\n  host: x\n", "2:7", "a colon is missing in the line above"),
        ("sources:\n  - topic: {sensor}/x\n", "2:20", 'needs quotes: "{sensor}/reading"'),
        ("mqtt: {host: x\n", "2:1", "a closing bracket is missing"),
        ("mqtt: {host: 'x}\n", "2:1", "a closing quote is missing"),
        ("mqtt: {port: 1883s}\n", "1:14", "whole number"),
        ("mqtt: {password: x}\n", "1:8", "mqtt.password_file"),
        ("pairing: {mode: nearset}\n", "1:17", "did you mean nearest?"),
    ],
)
def test_a_slip_in_the_settings(text, place, words, told, tmp_path):
    written(tmp_path, "monitor.yaml", text)

    code, said = told("check-config", "monitor.yaml")

    assert code == 2
    assert f"monitor.yaml:{place}: " in said
    assert words in said


@pytest.mark.parametrize(
    ("payload", "words", "see"),
    [
        (WORKING.replace('"kg":512', '"weight":512'), ("$.kg", "weight"), FIELDS),
        (WORKING.replace("00Z", "00"), ("no zone", "time_zone"), FIELDS),
        (WORKING.replace(',"u":5', ""), ("u is missing", "$.u"), FIELDS),
        (WORKING.replace('"u":5', '"u":0'), ("u is 0",), "docs/formats.md#uncertainty"),
        (WORKING.replace('"unit":"kg"', '"unit":"degC"'), ("degC", "kg"), "docs/formats.md#units"),
        (WORKING.replace("2026", "2999"), ("ahead",), "#a-time-is-in-the-future"),
        (WORKING[:-1], ("JSON",), "docs/formats.md#what-becomes-of-a-message"),
    ],
)
def test_a_payload_that_the_settings_do_not_fit(payload, words, see, told, tmp_path):
    written(tmp_path, "monitor.yaml", SETTINGS + MAPPED)

    assert told("explain", "--config", "monitor.yaml", "scales/a", WORKING)[0] == 0
    code, said = told("explain", "--config", "monitor.yaml", "scales/a", payload)

    assert code == 1
    for each in (*words, see):
        assert each in said


def test_a_native_payload_without_uncertainty(told, tmp_path):
    written(tmp_path, "monitor.yaml", SETTINGS)
    stated = '{"time":"2026-01-01T00:00:00Z","value":512}'

    code, said = told("explain", "--config", "monitor.yaml", "monitor/a/mass/reading", stated)

    assert code == 1
    assert "neither u nor a coverage interval is stated" in said
    assert "docs/formats.md#uncertainty" in said


def test_a_topic_that_no_source_reads(told, tmp_path):
    written(tmp_path, "monitor.yaml", SETTINGS + MAPPED)

    code, said = told("explain", "--config", "monitor.yaml", "scale/a", WORKING)

    assert code == 1
    assert "level 1 is 'scale', the template has 'scales'" in said
    assert "#no-source-reads-the-topic" in said


def test_a_broker_that_is_not_there(told):
    code, said = told("simulate", "--seconds", "1", "--broker", f"127.0.0.1:{free_port()}")

    assert code == 69
    assert "Connection refused; is the broker running" in said
    assert "#no-connection-to-the-broker" in said


@pytest.mark.parametrize(
    ("broker", "wanted", "words"),
    [
        (":1883", 2, "broker ':1883': write HOST or HOST:PORT"),
        ("a..b:1883", 69, "broker a..b:1883: "),
        ("127.0.0.1:0", 2, "mqtt.port: must be at least 1"),
        ("127.0.0.1:99999", 2, "mqtt.port: must be at most 65535"),
    ],
)
def test_a_broker_whose_address_is_none(told, broker, wanted, words):
    code, said = told("simulate", "--seconds", "1", "--broker", broker)

    assert code == wanted
    assert words in said


def test_a_port_of_the_page_that_is_none(told):
    code, said = told("demo", "--port", "99999", "--seconds", "1")

    assert code == 73
    assert "cannot listen on 127.0.0.1:99999: " in said


def test_a_port_that_is_taken(told, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        written(tmp_path, "monitor.yaml", SETTINGS.replace("port: 0", f"port: {port}"))
        code, said = told("run", "--config", "monitor.yaml")

    assert code == 73
    assert re.search(rf"cannot listen on 127.0.0.1:{port}: .*set http.port", said)
    assert "#the-port-is-taken" in said


def test_a_file_without_the_column_that_counts(told, tmp_path):
    written(tmp_path, "pairs.csv", "value,reference\n1,2\n")

    code, said = told("score", "pairs.csv")

    assert code == 65
    assert "no uncertainty is stated: add a column u, or lower and upper" in said


PAIRED = """
sources:
- {topic: "a/{sensor}/{quantity}", kind: reading, unit: degC}
- {topic: "b/{subject}/{quantity}", kind: reference, unit: UNIT}
"""


@pytest.mark.parametrize(
    ("settings", "status", "told"),
    [
        (PAIRED.replace("UNIT", "kg"), 2, "readings in degC have no reference: those in kg do not"),
        (PAIRED.replace("UNIT", "K"), 0, "no mistakes"),
        (PAIRED.replace(", unit: UNIT", ""), 0, "no mistakes"),
        ('mqtt: {host: "127.0.0.1:18930"}', 2, "mqtt.host: is not a host"),
        ('mqtt: {host: "::1"}', 0, "no mistakes"),
        ("mtqq: {host: a}", 2, "unknown key; did you mean mqtt?"),
        ("mqtt: {username: x, password_file: /nope}", 0, "on this machine: "),
        ("mqtt: {tls: {ca_file: /nope.pem}}", 0, "the TLS files cannot be found: /nope.pem"),
        ("http: {web_config: /nope.yaml}", 0, "on this machine: /nope.yaml"),
    ],
)
def test_check_config_says_what_could_not_work(tmp_path, capsys, settings, status, told):
    file = tmp_path / "settings.yaml"
    file.write_text(settings)

    assert main(["check-config", str(file)]) == status
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("excel.csv", b"sep=;\nvalue;u;reference\n1;1;1\n", "delete this line"),
        ("pairs.xlsx", b"PK\x03\x04\x14\x00", "save the sheet as CSV"),
    ],
)
def test_what_excel_writes_is_refused_with_what_to_do(tmp_path, capsys, name, content, told):
    file = tmp_path / name
    file.write_bytes(content)

    assert main(["score", str(file)]) != 0
    assert told in capsys.readouterr().err


def test_rows_that_repeat_the_one_before_are_counted_in_a_note(tmp_path, capsys):
    row = "2026-01-01T00:00:00Z,5,1,5.5\n"
    others = "".join(f"2026-01-01T01:00:00Z,5,1,{reference}\n" for reference in (5.5, 5.6, 5.7))
    file = tmp_path / "pairs.csv"
    file.write_text("time,value,u,reference\n" + 10 * row + others)

    assert main(["score", str(file)]) == 0
    assert (
        "9 rows repeat the time, value and reference of the row before" in capsys.readouterr().err
    )


def test_discover_refuses_a_filter_that_is_none(capsys):
    assert main(["discover", "127.0.0.1:1", "--topic", "a/#/b"]) == 2
    assert "--topic a/#/b: '#' stands for all that follows" in capsys.readouterr().err
