"""Reading a settings file: every mistake with its place, whatever the file holds; the hash."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.config import Mqtt, Settings, SettingsError, load, parse, settings_hash, shown_settings
from monitor.decode import DECODERS
from tests.config.test_settings import mistakes_of, settings_of

SOURCES = """sources:
- {topic: "a/{sensor}/r", kind: reading}
- {topic: "a/{subject}/s", kind: reference}
"""
CELLS = """\
- topic: c/{sensor}
  kind: reading
  decoder: csv
  map: {columns: %s, series: [{value: weight, u: 1}]}
"""
MISTAKES = [
    # what stands there, line:column, path, words in the sentence
    ("mqtt:\n  port: 0\n", "2:9", "mqtt.port", "at least 1"),
    ("mqtt:\n  port: 65536\n", "2:9", "mqtt.port", "at most 65535"),
    ("mqtt:\n  port: 1e3\n", "2:9", "mqtt.port", "without point or exponent: 1000"),
    ("mqtt:\n  port: 1.5\n", "2:9", "mqtt.port", "whole number"),
    ("mqtt:\n  port: true\n", "2:9", "mqtt.port", "whole number"),
    ("mqtt:\n  port: '1883'\n", "2:9", "mqtt.port", "whole number"),
    ("mqtt:\n  port:\n  host: x\n", "2:8", "mqtt.port", "is empty"),
    ("mqtt:\n  protocol: 5\n", "2:13", "mqtt.protocol", 'put it in quotes: "5"'),
    ("mqtt:\n  protocol: '4'\n", "2:13", "mqtt.protocol", "5 or 3.1.1"),
    ("mqtt:\n  hosst: a\n", "2:3", "mqtt.hosst", "did you mean host?"),
    ("mqtt:\n  host: mqtts://a\n", "2:9", "mqtt.host", "without mqtt://"),
    ("mqtt:\n  host: 12\n", "2:9", "mqtt.host", "must be text; put it in quotes"),
    ("mqtt:\n  host: true\n", "2:9", "mqtt.host", "must be text, not true or false"),
    ("mqtt:\n  client_id: a b\n", "2:14", "mqtt.client_id", "is not a name"),
    ("mqtt:\n  max_packet_bytes: 10\n", "2:21", "mqtt.max_packet_bytes", "at least 128"),
    ("mqtt:\n  tls:\n    cert_file: a\n", "3:16", "mqtt.tls.cert_file", "give key_file too"),
    ("mqtt:\n  tls:\n    key_file: a\n", "3:15", "mqtt.tls.key_file", "give cert_file too"),
    ("mqtt:\n  tls: true\n", "2:8", "mqtt.tls", "keys of its own"),
    ("mqtt: {username: a, username_env: B}", "1:35", "mqtt.username_env", "one of the two"),
    ("mqtt: {password_file: a, password_env: B}", "1:40", "mqtt.password_env", "one of the two"),
    ("mqtt: {password_env: a b}", "1:22", "mqtt.password_env", "environment variable"),
    (
        'mqtt: {protocol: "3.1.1", password_env: B}',
        "1:41",
        "mqtt.password_env",
        "needs a user name",
    ),
    ("port: 1\n", "1:1", "port", "did you mean mqtt.port or http.port?"),
    ("alerts: {thresholds: {}}\n", "1:10", "alerts.thresholds", "a section of its own"),
    ("wat: 1\n", "1:1", "wat", "unknown key; use mqtt, by_hand, sources"),
    ("http: [1]\n", "1:7", "http", "keys of its own"),
    ("http:\n", "1:6", "http", "is empty"),
    ("just text\n", "1:1", "(file)", "keys of its own"),
    ("- a\n", "1:1", "(file)", "keys of its own"),
    ("http:\n  host: 0.0.0.0\n", "2:9", "http.host", "would let other machines"),
    ("http:\n  host: '::'\n", "2:9", "http.host", "allow_remote: true"),
    ("http:\n  host: example.org\n", "2:9", "http.host", "without a password"),
    ("log: {level: warn}\n", "1:14", "log.level", "did you mean warning?"),
    ("log: {format: xml}\n", "1:15", "log.format", "must be text or json"),
    ("scoring: {level: 1}\n", "1:18", "scoring.level", "at most 0.9999"),
    ("scoring: {level: .nan}\n", "1:18", "scoring.level", "finite"),
    ("windows: {days: .inf}\n", "1:17", "windows.days", "finite"),
    ("windows: {days: 1e999}\n", "1:17", "windows.days", "finite"),
    ("windows: {days: 500}\n", "1:17", "windows.days", "journal.retention_days"),
    ("windows: {days: 0}\n", "1:17", "windows.days", "more than 0"),
    ("windows: {pairs: 99999999999999999999999}\n", "1:18", "windows.pairs", "too many digits"),
    ("series: {allow: '*'}\n", "1:17", "series.allow", "must be a list"),
    ("series: {allow: []}\n", "1:17", "series.allow", "at least one entry"),
    ("series: {allow: [a, 'b/c']}\n", "1:21", "series.allow[1]", "is not a pattern"),
    (
        "publish: {interval_seconds: 60}\nseries: {stale_after_seconds: 59}\n",
        "2:31",
        "series.stale_after_seconds",
        "shorter than publish.interval_seconds",
    ),
    ("publish: {interval_seconds: 3600.5}\n", "1:29", "publish.interval_seconds", "at most 3600"),
    (
        "pairing: {max_wait_hours: 1, tolerance_seconds: 3601}",
        "1:49",
        "pairing.tolerance_seconds",
        "waits for the other",
    ),
    ("pairing: {mode: key, match_on: [subject]}", "1:17", "pairing.mode", "key needs `key`"),
    ("pairing: {match_on: [key, key]}", "1:21", "pairing.match_on", "twice"),
    ("pairing: {match_on: [subjekt]}", "1:22", "pairing.match_on[0]", "did you mean subject?"),
    ("journal: {retention_days: 2}", "1:27", "journal.retention_days", "pairing.max_wait_hours"),
    ("journal: {path: ''}", "1:17", "journal.path", "not the path"),
    ("sources: []\n", "1:10", "sources", "at least one entry"),
    (f"{SOURCES}- kind: event\n", "4:3", "sources[2].topic", "is missing"),
    (f"{SOURCES}- topic: a/{{sensor}}\n", "4:3", "sources[2].kind", "is missing"),
    (
        f"{SOURCES}- kind: reading\n  topic: b/+/x\n",
        "5:10",
        "sources[2].topic",
        "reading must name its {sensor}",
    ),
    (
        f"{SOURCES}- kind: reference\n  topic: b/+/x\n",
        "5:10",
        "sources[2].topic",
        "{subject} or {sensor}",
    ),
    (f"{SOURCES}- kind: event\n  topic: a/{{}}\n", "5:10", "sources[2].topic", "no name"),
    (
        f'{SOURCES}- {{kind: event, topic: "a/{{sensor}}/r"}}\n',
        "4:24",
        "sources[2].topic",
        "same topics as sources[0]",
    ),
    (
        f'{SOURCES}- {{kind: event, topic: "e/{{sensor}}", qos: true}}\n',
        "4:43",
        "sources[2].qos",
        "whole number",
    ),
    (
        f"{SOURCES}{CELLS % '[time, w]'}",
        "7:46",
        "sources[2].map.series[0].value",
        "'weight' is none of map.columns; there are time, w",
    ),
    (f"{SOURCES}{CELLS % '[weight, weight]'}", "7:18", "sources[2].map.columns", "appears twice"),
    (
        'by_hand: false\nsources:\n- {topic: "a/{sensor}", kind: reading}\n',
        "3:1",
        "sources",
        "kind reference",
    ),
    ('sources:\n- {topic: "a/{sensor}", kind: reference}\n', "2:1", "sources", "kind reading"),
    ("groups: {a: 1}\n", "1:9", "groups", "must be a list"),
    ("groups:\n- name: a\n", "2:3", "groups[0].sensors", "is missing"),
    (
        "groups:\n- {name: a, sensors: [x]}\n- {name: a, sensors: [y]}\n",
        "3:10",
        "groups[1].name",
        "is the name of groups[0] too",
    ),
    (
        "groups:\n- {name: a, sensors: [x], windows: {pairs: null}}\n",
        "2:44",
        "groups[0].windows.pairs",
        "is empty",
    ),
    (
        "groups:\n- {name: a, sensors: [x], series: {max: 3}}\n",
        "2:36",
        "groups[0].series.max",
        "did you mean series.max?",
    ),
    (
        "groups:\n- {name: a, sensors: [x], windows: {days: 500}}\n",
        "2:43",
        "groups[0].windows.days",
        "journal.retention_days",
    ),
    ("overrides:\n- sensor: a\n", "2:3", "overrides[0]", "changes nothing"),
    (
        "overrides: [{series: {stale_after_seconds: 1}}]",
        "1:44",
        "overrides[0].series.stale_after_seconds",
        "publish.interval_seconds",
    ),
    ('"a\\nb": 1\n', "1:1", "'a\\nb'", "unknown key"),
    ("1: a\n", "1:1", "1", "unknown key"),
    ("<<: {mqtt: {port: 1}}\n", "1:1", "<<", "unknown key"),
]


@pytest.mark.parametrize(("text", "place", "path", "words"), MISTAKES)
def test_a_mistake_is_told_with_its_place_and_what_to_write(text, place, path, words):
    (mistake,) = mistakes_of(text)

    assert mistake.startswith(f"{place}: {path}: ")
    assert words in mistake


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file():
    text = """mqtt:
  port: 0
  port: 1
  tls: {cert_file: a}
windows: {days: 401}
http: {host: 0.0.0.0, prt: 1}
journal: &j {}
series: {stale_after_seconds: 0.5}
"""

    assert [mistake.split(" ")[:2] for mistake in mistakes_of(text)] == [
        ["2:9:", "mqtt.port:"],
        ["3:3:", "mqtt.port:"],
        ["4:20:", "mqtt.tls.cert_file:"],
        ["5:17:", "windows.days:"],
        ["6:23:", "http.prt:"],
        ["7:10:", "journal:"],
        ["8:31:", "series.stale_after_seconds:"],
    ]


def test_what_is_compared_with_a_wrong_value_is_not_complained_about():
    assert mistakes_of("journal: {retention_days: .inf}\nwindows: {days: 1000}") == [
        "1:27: journal.retention_days: must be a finite number"
    ]


def test_an_unknown_decoder_is_refused_with_the_known_ones_named():
    text = f"{SOURCES}- {{kind: event, topic: 'e/{{sensor}}', decoder: nativ}}"

    (mistake,) = mistakes_of(text)

    *others, last = DECODERS
    assert mistake == (
        f"4:47: sources[2].decoder: must be {', '.join(others)} or {last}; did you mean native?"
    )


def test_a_list_with_wrong_entries_is_not_called_empty_as_well():
    assert len(mistakes_of("sources: [{kind: event}]")) == 1


def test_mistakes_beyond_a_hundred_are_counted():
    mistakes = mistakes_of("\n".join(f"k{n}: 1" for n in range(1000)))

    assert len(mistakes) == 101
    assert mistakes[-1] == "101:1: (file): and 900 more mistakes"


def test_every_mistake_is_one_line_whatever_the_file_holds():
    lines = mistakes_of('"\\n\\e[31m": 1\n"x\\u2028y": 2\nmqtt: {"": 3}\n')

    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)


def lines_of(path: Path) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load(path)
    return caught.value.lines()


def test_mistakes_are_lines_that_name_the_file(tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text("mqtt: {port: 0}")

    assert lines_of(file) == [f"{file}:1:14: mqtt.port: must be at least 1"]


def test_a_file_that_cannot_be_read_is_a_mistake(tmp_path):
    (mistake,) = lines_of(tmp_path / "none.yaml")
    assert mistake.startswith(f"{tmp_path}/none.yaml:1:1: (file): cannot be read: No such file or")
    assert mistake.endswith("; `monitor init` writes one to start from")
    assert "Is a directory" in lines_of(tmp_path)[0]


def test_the_error_ends_a_command_with_2_and_has_every_line():
    with pytest.raises(SettingsError) as caught:
        settings_of("a: 1\nb: 2\n")

    assert caught.value.exit_code == 2
    assert "f:1:1: a: " in str(caught.value)
    assert "f:2:1: b: " in str(caught.value)


def test_what_is_nested_too_deep_in_what_cannot_be_used_is_read_no_further():
    beyond = b"? " * 17 + b"{a: 1, a: 1}"

    assert [each.partition("(file): ")[2] for each in mistakes_of(beyond)] == [
        "a key must be plain text, without anchor, alias or tag",
        "is nested deeper than 16 levels",
    ]


def test_nothing_more_is_said_of_a_value_that_could_not_be_read():
    assert len(mistakes_of("mqtt: {tls: {cert_file: a, key_file: *a}}")) == 1
    assert len(mistakes_of("mqtt: {port: !!str x}")) == 1


def test_a_yaml_bomb_costs_its_own_length_and_no_more():
    bomb = "a: &a [x,x]\n" + "\n".join(f"b{n}: &b{n} [*b{n - 1},*b{n - 1}]" for n in range(1, 40))

    assert mistakes_of(bomb)[0].startswith("1:1: a: unknown key")


WORDS = st.sampled_from(
    [
        *Settings.model_fields,
        *Mqtt.model_fields,
        "a",
        "1e5",
        "on",
        "1:30",
        "~",
        "null",
        ".nan",
        "-",
        "- ",
        ": ",
        "\n",
        "\n  ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "'",
        '"',
        "&a ",
        "*a",
        "!!str ",
        "---\n",
        "? ",
        "|\n",
        "#",
        "é",
        "0x",
        "<<: ",
        "topic: a/{sensor}",
        "kind: reading",
    ]
)


@settings(max_examples=300)
@given(st.one_of(st.text(), st.lists(WORDS, max_size=30).map("".join)))
def test_any_text_is_settings_or_mistakes_at_most_a_line_beyond_its_end(text):
    lines_max = 2 + len(re.findall("[\n\r\x85\u2028\u2029]", text))
    try:
        mistakes = []
        assert settings_hash(parse(text.encode("utf-8", errors="surrogatepass"), "f"))
    except SettingsError as error:
        mistakes = error.mistakes

    assert all(1 <= each.line <= lines_max and each.column >= 1 for each in mistakes)


@given(st.binary(max_size=200))
def test_any_bytes_are_settings_or_mistakes(raw):
    try:
        outcome = parse(raw, "f")
    except SettingsError as error:
        outcome = error.mistakes

    assert isinstance(outcome, Settings) or outcome


FILES = """
mqtt: {password_file: a/1, tls: {ca_file: b, cert_file: ./c, key_file: ../d}}
sources:
  - {topic: "a/{sensor}/x", kind: reading}
  - {topic: "b/{subject}/x", kind: reference, unit: kg, certificate: {path: e}}
places_file: f
sinks: {webhook: {url_file: g, secret_file: h, authorization_file: i, ca_file: /etc/j}}
http: {web_config: k}
cluster: {log: {properties_file: l}, job: {checkpoint: "s3a://bucket/m"}}
"""


def test_relative_paths_start_from_the_folder_of_the_settings_file():
    settings = parse(FILES.encode(), "/srv/mine/monitor.yaml")
    mqtt, hook = settings.mqtt, settings.sinks.webhook

    assert [
        *(mqtt.password_file, *mqtt.tls, settings.sources[1].certificate.path),
        *(settings.places_file, hook.url_file, hook.secret_file, hook.authorization_file),
        *(hook.ca_file, settings.http.web_config, settings.cluster.log.properties_file),
        *(settings.cluster.job.checkpoint, settings.cluster.job.results, settings.journal.path),
    ] == [
        *("/srv/mine/a/1", "/srv/mine/b", "/srv/mine/./c", "/srv/mine/../d", "/srv/mine/e"),
        *("/srv/mine/f", "/srv/mine/g", "/srv/mine/h", "/srv/mine/i"),
        *("/etc/j", "/srv/mine/k", "/srv/mine/l"),
        *("s3a://bucket/m", "/srv/mine/state/cluster/results", "/srv/mine/state/journal.sqlite"),
    ]
    assert settings.model_fields_set == yaml.safe_load(FILES).keys()
    assert settings.cluster.job.model_fields_set == {"checkpoint"}


def test_the_hash_and_what_is_shown_do_not_depend_on_the_folder():
    one, other = (parse(FILES.encode(), f"{folder}/m.yaml") for folder in ("/srv/a", "/srv/b"))

    assert one != other
    assert settings_hash(one) == settings_hash(other)
    assert shown_settings(one)["journal"]["path"] == "state/journal.sqlite"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", "mqtt: {port: 1883}"),
        ("windows: {days: 7}", "windows: {days: 7.0, pairs: 500}"),
        ("", "mqtt: {username: a, password_file: b}"),
    ],
)
def test_settings_that_say_the_same_have_the_same_hash(one, other):
    assert settings_hash(settings_of(one)) == settings_hash(settings_of(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", "mqtt: {port: 1884}"),
        ("windows: {days: 7}", "windows: {days: 8}"),
        ("overrides: [{windows: {days: null}}]", "overrides: [{windows: {}}]"),
        ("groups: [{name: a, sensors: [a]}]", "groups: [{name: a, sensors: [b]}]"),
    ],
)
def test_settings_that_differ_have_different_hashes(one, other):
    assert settings_hash(settings_of(one)) != settings_hash(settings_of(other))


def test_the_hash_is_the_same_in_another_process():
    program = "from monitor.config import *; print(settings_hash(Settings()))"
    environment = {"PYTHONHASHSEED": "7"}

    said = subprocess.check_output([sys.executable, "-c", program], env=environment, text=True)

    assert said.strip() == settings_hash(Settings())
