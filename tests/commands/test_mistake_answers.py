"""Mistakes of the first days: each answer says what is wrong, where, and what would mend it."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.programs import written

from monitor.cli import main

PLAIN = "mqtt: {port: 1}\njournal: {path: state/journal.sqlite}\nhttp: {port: 0}\n"
TOPIC = "monitor/a/mass/reading"
TIME = '"time":"2026-01-01T00:00:00Z"'
NO_SPAN = """\
sources:
  - {topic: "scales/{sensor}", kind: reading, decoder: json,
     map: {time: ts, series: [{quantity: mass, value: kg, u: u}]}}
  - {topic: "truth/{subject}", kind: reference, decoder: json,
     map: {time: ts, series: [{quantity: mass, value: kg, u: u}]}}
"""
SPAN_MODE = "mode: mean_over_reference_interval, reading_seconds: 60"
P_95 = NO_SPAN.replace("u: u}]}}\n  -", "lower: lo, upper: hi, p: 95}]}}\n  -")


@pytest.fixture
def told(tmp_path: Path, capsys, monkeypatch):
    """Return what runs a command in an empty folder: its exit code, and all that it says."""
    monkeypatch.chdir(tmp_path)

    def tell(*words: str) -> tuple[int, str]:
        code = main(words)
        said = capsys.readouterr()
        return code, " ".join((said.out + said.err).split())

    return tell


@pytest.mark.parametrize(
    ("settings", "place", "words"),
    [
        ("mqtt: {host: '${BROKER}'}\n", "1:14: mqtt.host", ("not expanded", "username_env")),
        ("mqtt: {password_file: '$HOME/pw'}\n", "1:23: mqtt.password_file", ("not expanded",)),
        ("scoring: {level: 95}\n", "1:18: scoring.level", ("at most 0.9999", "95 % is 0.95")),
        (P_95, "3:84: sources[0].map.series[0].p", ("between 0 and 1", "95 % is 0.95")),
        (
            f"{NO_SPAN}pairing: {{{SPAN_MODE}}}\n",
            "6:17: pairing.mode",
            ("start and end into its map", "duration_seconds", "or use mode nearest"),
        ),
        (
            f"{NO_SPAN}overrides:\n  - {{quantity: mass, pairing: {{{SPAN_MODE}}}}}\n",
            "7:38: overrides[0].pairing.mode",
            ("no source of kind reference maps them",),
        ),
    ],
)
def test_settings(settings, place, words, told, tmp_path):
    written(tmp_path, "monitor.yaml", settings)

    code, said = told("check-config", "monitor.yaml")
    explained, refused = told("explain", "--config", "monitor.yaml", TOPIC, "{}")

    assert (code, explained) == (2, 2)
    for each in (f"monitor.yaml:{place}: ", *words):
        assert each in said
        assert each in refused


@pytest.mark.parametrize(
    ("payload", "place", "words"),
    [
        (
            '{"time":1767225600000,"value":1,"u":1}',
            "$.time",
            ("time is a number", "2026-03-01T06:12:44Z", "decoder json", "time_unit: ms"),
        ),
        ('{"time":"1767225600","value":1,"u":1}', "$.time", ("it is a number", "decoder json")),
        (f'{{{TIME},"value":"21.5","u":1}}', "$.value", ("send 21.5 without quotes",)),
        (f'{{{TIME},"value":"21,5","u":1}}', "$.value", ("21.5", "number_texts: true")),
        (
            f'{{{TIME},"value":50,"u":"2%"}}',
            "$.u",
            ("send 2 without quotes and %", "percent with k: 1"),
        ),
        (f'{{{TIME},"value":NaN,"u":1}}', "byte 39", ("NaN is not a number", "send null")),
        (f'{{{TIME},"value":1}}', "$", ("state u, U with k", "`assumed`")),
        (f'{{{TIME},"value":5,"lower":1,"upper":9,"p":95}}', "$.p", ("95 % is 0.95",)),
        (f'[{{{TIME},"value":1,"u":1}}]', "$", ("an array", "each: $")),
    ],
)
def test_payloads(payload, place, words, told, tmp_path):
    written(tmp_path, "monitor.yaml", PLAIN)

    code, said = told("explain", "--config", "monitor.yaml", TOPIC, payload)

    assert code == 1
    assert f" place {place} " in said
    for each in words:
        assert each in said


def test_a_value_outside_its_own_interval_is_taken_and_remarked(told, tmp_path):
    written(tmp_path, "monitor.yaml", PLAIN)
    payload = f'{{{TIME},"value":10,"lower":1,"upper":5,"p":0.9}}'

    code, said = told("explain", "--config", "monitor.yaml", TOPIC, payload)

    assert code == 0
    assert "the value lies outside its own interval" in said


def test_units_that_differ_are_named_and_never_subtracted(told, tmp_path):
    written(tmp_path, "monitor.yaml", PLAIN)
    payload = f'{{{TIME},"value":10,"u":1,"unit":"%s"}}'

    code, said = told(
        *("explain", "--config", "monitor.yaml", TOPIC, payload % "K"),
        *("--with", TOPIC.replace("reading", "reference"), payload % "kg"),
    )

    assert code == 1
    assert "'K' cannot be converted to 'kg'" in said


@pytest.mark.parametrize(("unit", "code"), [("", 1), (", unit: degC", 0)])
def test_a_unit_that_is_not_stated_is_missed_unless_the_settings_name_it(
    told, tmp_path, unit, code
):
    of = f"{{value: v, u: 1, unit_path: unit, to_unit: degC{unit}}}"
    mapped = f"{{time: arrival, series: [{of}]}}"
    written(
        tmp_path,
        "monitor.yaml",
        f"sources: [{{topic: 'a/{{sensor}}', kind: reading, decoder: json, map: {mapped}}},"
        "{topic: 'b/{subject}', kind: reference}]\n",
    )

    found, said = told("explain", "--config", "monitor.yaml", "a/s", '{"v": 21.5}')

    assert found == code
    assert ("unit is missing at `$.unit`; the series is in 'degC'" in said) == bool(code)


def test_a_name_with_a_blank_an_umlaut_and_a_parenthesis_is_a_name(told, tmp_path):
    written(tmp_path, "monitor.yaml", PLAIN)
    topic = "monitor/Küche (Süd)/mass/reading"

    code, said = told("explain", "--config", "monitor.yaml", topic, f'{{{TIME},"value":1,"u":1}}')

    assert code == 0
    assert "Küche (Süd), mass" in said
