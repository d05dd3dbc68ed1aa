"""Settings: defaults, every mistake with its place, what holds for one series, secrets."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from monitor.config import (
    Mqtt,
    Settings,
    SettingsError,
    load,
    parse,
    resolve_secret,
    settings_hash,
    shown_settings,
)
from monitor.config.core_plan import plan_of, rules_of
from monitor.config.document import read_document
from monitor.config.kinds import Section
from monitor.config.parts import Group, Overridable, Override, Part
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.state.core_settings import CoreSettings
from monitor.decode import DECODERS

PROJECT = Path(__file__).parents[2]
DEFAULT = PROJECT / "configs" / "default.yaml"


def settings_of(text: str) -> Settings:
    return parse(text.encode(), "f")


def mistakes_of(text: str | bytes, **known) -> list[str]:
    """Return the mistakes in ``text`` as ``line:column: path: what``."""
    raw = text.encode() if isinstance(text, str) else text
    with pytest.raises(SettingsError) as caught:
        parse(raw, "f", **known)
    return [str(mistake).removeprefix("f:") for mistake in caught.value.mistakes]


def keys_of(model: type[Section]) -> set[str]:
    return set(model.model_fields)


_EMPTY = [f"{name}: []" for name in ("areas", "thresholds", "covariates", "groups", "overrides")]


def examples_taken_in(text: str) -> str:
    """Return default.yaml with its example lines in place of what they are examples of."""
    kept = [line for line in text.splitlines() if line not in _EMPTY]
    for nothing in ("tls", "mqtt", "webhook", "prefix", "home_assistant", "publish"):
        kept.remove(f"  {nothing}: null")
    return "\n".join(re.sub(r"^#(?! \S|$)", "", line) for line in kept)


# -- defaults ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "---\n", "{}", "mqtt: {}\nhttp: {}\n", "\ufeff"]
)
def test_a_file_that_says_nothing_gives_the_defaults(text):
    assert settings_of(text) == Settings()


def test_the_default_file_gives_the_defaults():
    loaded = parse(DEFAULT.read_bytes(), DEFAULT.name)

    defaults = type(loaded)()
    assert loaded == defaults
    assert loaded.model_dump_json() == defaults.model_dump_json()
    assert settings_hash(loaded) == settings_hash(Settings())


def test_the_default_files_examples_are_valid_and_show_every_key_of_a_group():
    loaded = settings_of(examples_taken_in(DEFAULT.read_text()))

    assert loaded.mqtt.tls is not None
    assert None not in loaded.mqtt.tls
    shown = read_document(examples_taken_in(DEFAULT.read_text()).encode()).values["sinks"]
    assert set(shown["mqtt"]) == set(loaded.sinks.mqtt._fields)
    assert set(shown["webhook"]) == set(loaded.sinks.webhook._fields) - {
        *("url_file", "url_env", "secret_env", "authorization_file")
    }
    (group,) = loaded.groups
    assert group.model_fields_set == keys_of(Group)
    parts = {key: getattr(group, key).model_fields_set for key in keys_of(Overridable)}
    parts["windows"] |= loaded.overrides[0].windows.model_fields_set
    assert parts == {key: keys_of(type(getattr(group, key))) for key in keys_of(Overridable)}


def test_the_default_file_has_a_comment_for_every_key_at_its_first_place():
    lines = DEFAULT.read_text().splitlines()
    sections = keys_of(Settings) - {"sources", "groups", "overrides"}
    seen = set()
    section = ""
    for above, line in pairwise(lines):
        found = re.match(r"(  (?:  |- )?)?([a-z_]+):", line)
        if found is None:
            continue
        section = section if found[1] else found[2]
        key = (section, found[2])
        if key not in seen and (found[1] or found[2] not in sections):
            assert re.match(r"\s*# \S", above), f"{key} has no comment above it"
        seen.add(key)
    assert ("mqtt", "password_env") in seen
    assert ("sources", "qos") in seen


def test_every_key_has_a_description():
    def descriptions(model):
        for key, field in model.model_fields.items():
            yield f"{model.__name__}.{key}", field.description

    models = [
        Section,
        *Section.__subclasses__(),
        *Part.__subclasses__(),
        *Overridable.__subclasses__(),
    ]
    found = dict(each for model in models for each in descriptions(model))

    assert "Tls.ca_file" in found
    assert "WindowsPart.days" in found
    assert all(re.search(r"\w.*\.$", text or "", re.DOTALL) for text in found.values())


def test_a_part_of_a_group_has_only_keys_of_its_section_with_the_same_limits():
    whole = Settings.model_json_schema()["$defs"]
    for name in keys_of(Overridable):
        section, part = whole[name.capitalize()], whole[f"{name.capitalize()}Part"]
        for key, field in part["properties"].items():
            said = {"description", "default", "title"}
            original = section["properties"][key]
            assert {k: v for k, v in field.items() if k not in said} == {
                k: v for k, v in original.items() if k not in said
            }


def test_settings_cannot_be_changed():
    with pytest.raises(ValidationError):
        Settings().mqtt.port = 1
    with pytest.raises(TypeError):
        Settings().sources[0] = None


def test_settings_made_in_code_are_checked_too():
    with pytest.raises(ValidationError, match="needs its key"):
        Mqtt(tls={"cert_file": "a.pem"})


# -- YAML 1.2 ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1e5", 1e5),
        ("1e-3", 1e-3),
        ("60", 60.0),
        ("0.5", 0.5),
        ("1.", 1.0),
        ("010", 10.0),
        ("0x10", 16.0),
        ("0o10", 8.0),
        ("+3", 3.0),
    ],
)
def test_numbers_are_those_of_yaml_1_2(text, number):
    assert (
        settings_of(f"pairing: {{tolerance_seconds: {text}}}").pairing.tolerance_seconds == number
    )


@pytest.mark.parametrize(
    "text", ["1:30", "1_000", "'60'", "60 s", "yes", "2026-01-01", "0b11", "+0x1"]
)
def test_what_yaml_1_1_took_for_a_number_is_refused(text):
    (mistake,) = mistakes_of(f"pairing: {{tolerance_seconds: {text}}}")

    assert mistake.startswith("1:30: pairing.tolerance_seconds: must be a number")


@pytest.mark.parametrize("text", ["on", "off", "yes", "no", "y", "1", "'true'"])
def test_only_true_and_false_are_truth_values(text):
    (mistake,) = mistakes_of(f"http:\n  allow_remote: {text}")

    assert mistake.startswith("2:17: http.allow_remote: must be true or false")


# -- mistakes -----------------------------------------------------------------------------------

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


# -- the file as a file -------------------------------------------------------------------------


def test_what_is_nested_too_deep_in_what_cannot_be_used_is_read_no_further():
    beyond = b"? " * 17 + b"{a: 1, a: 1}"

    assert [each.partition("(file): ")[2] for each in mistakes_of(beyond)] == [
        "a key must be plain text, without anchor, alias or tag",
        "is nested deeper than 16 levels",
    ]


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        ("mqtt: &a {}\n", ["1:7: mqtt: anchors (&)"]),
        ("mqtt: &a {}\nhttp: *a\n", ["1:7: mqtt: anchors (&)", "2:7: http: aliases (*)"]),
        ("http: *a\n", ["1:7: http: aliases (*)"]),
        ("*a\n", ["1:1: (file): aliases (*)"]),
        ("mqtt: {tls: {cert_file: a, key_file: *a}}\n", ["1:38: mqtt.tls.key_file: aliases (*)"]),
        ("sources: [*a]\n", ["1:11: sources[0]: aliases (*)"]),
        ("mqtt: !!map {}\n", ["1:7: mqtt: tags (!)"]),
        ("mqtt: {port: !!str 1883}\n", ["1:14: mqtt.port: tags (!)"]),
        ("mqtt: !!python/object/apply:os.system [id]\n", ["1:7: mqtt: tags (!)"]),
        ("&a mqtt: {}\n", ["1:1: (file): a key must be plain text"]),
        ("? [a]\n: {b: c}\n", ["1:3: (file): a key must be plain text"]),
        ("{a: b}: c\n", ["1:1: (file): a key must be plain text"]),
        (
            "mqtt:\n  port: 1\n  port: {a: [b]}\n",
            ["3:3: mqtt.port: is a duplicate key; first at 2:3"],
        ),
        (
            "mqtt: {}\nmqtt: {}\n'mqtt': {}\n",
            ["2:1: mqtt: is a duplicate key", "3:1: mqtt: is a duplicate key"],
        ),
        ("mqtt:\n  host: " + "x" * 5000, ["2:9: mqtt.host: is longer than 4096"]),
    ],
)
def test_what_yaml_can_do_and_settings_need_not_is_refused(text, mistakes):
    found = mistakes_of(text)

    assert len(found) >= len(mistakes)
    for mistake, start in zip(found, mistakes, strict=False):
        assert mistake.startswith(start)


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


# -- one series -----------------------------------------------------------------------------------

FLEET = """
windows: {pairs: 400, days: 30}
groups:
- name: north
  sensors: ["n-*", "[xy]?"]
  windows: {pairs: 60}
  scoring: {level: 0.95, density: tophat}
- name: mass-of-all
  sensors: ["*"]
  quantities: [mass]
  windows: {pairs: 70}
overrides:
- sensor: n-7
  windows: {days: null}
  alerts: {patience: 5000}
- quantity: mass
  scoring: {level: 0.5}
- sensor: n-7
  quantity: mass
  pairing: {tolerance_seconds: 5}
  scoring: {level: 0.6, profile: accuracy}
  series: {stale_after_seconds: 10}
"""


def test_a_series_without_group_has_the_sections_settings():
    series = rules_of(settings_of(FLEET), "s-1", "temperature")

    assert (series.group, series.window_pairs, series.window_seconds) == ("", 400, 30 * 86_400.0)
    assert (series.level, series.density, series.profile) == (0.9, "auto", "balanced")
    assert (series.patience, series.pairing.tolerance_seconds) == (1000.0, 60.0)
    assert series.stale_after_seconds == 3600.0


@pytest.mark.parametrize(
    ("sensor", "quantity", "group", "pairs"),
    [
        ("n-1", "mass", "north", 60),
        ("x1", "volume", "north", 60),
        ("z1", "mass", "mass-of-all", 70),
        ("z1", "volume", "", 400),
        ("N-1", "volume", "", 400),
        ("an-1", "volume", "", 400),
    ],
)
def test_the_first_group_that_fits_counts(sensor, quantity, group, pairs):
    series = rules_of(settings_of(FLEET), sensor, quantity)

    assert (series.group, series.window_pairs) == (group, pairs)


def test_overrides_win_over_groups_and_later_ones_over_earlier_ones():
    series = rules_of(settings_of(FLEET), "n-7", "mass")

    assert (series.level, series.profile, series.density) == (0.6, "accuracy", "tophat")
    assert (series.window_pairs, series.window_seconds) == (60, math.inf)
    assert (series.patience, series.pairing.tolerance_seconds) == (5000.0, 5.0)
    assert series.stale_after_seconds == 10.0
    assert rules_of(settings_of(FLEET), "n-1", "mass").level == 0.5


def test_the_cores_own_defaults_are_those_of_the_settings():
    plan = plan_of(Settings())

    assert rules_of(Settings(), "a", "q") == SeriesRules()
    assert plan == CoreSettings(
        plan.rules_of,
        plan.concerns_of,
        rows_spare=plan.rows_spare,
        replay_pairs=plan.replay_pairs,
        program=plan.program,
    )


def test_pairing_by_key_reaches_as_far_as_either_side_waits():
    series = rules_of(settings_of("pairing: {mode: key, max_wait_hours: 2}"), "a", "b")

    assert (series.pairing.mode, series.pairing.tolerance_seconds) == ("all", 7200.0)


def test_every_pairing_mode_resolves_to_one_the_core_has():
    from monitor.core.pairing.pairing_rules import PAIRING_RULES

    for mode in Settings.model_json_schema()["$defs"]["Pairing"]["properties"]["mode"]["enum"]:
        series = rules_of(settings_of(f"pairing: {{mode: {mode}, reading_seconds: 60}}"), "a", "b")
        assert series.pairing.mode in PAIRING_RULES


def test_the_unit_is_that_of_the_sources_that_may_carry_the_quantity():
    text = """sources:
- {topic: "w/{sensor}/kg", kind: reading, unit: kg}
- {topic: "t/{sensor}/{quantity}/c", kind: reading, unit: Cel}
- {topic: "w/{sensor}/ref", kind: reference, unit: lb}
"""

    assert rules_of(settings_of(text), "a", "temperature").unit == "Cel"
    assert rules_of(settings_of(text), "a", "value").unit == ""
    assert rules_of(settings_of(text.replace("Cel", "kg")), "a", "value").unit == "kg"
    assert rules_of(Settings(), "a", "b").unit == ""


@given(st.lists(st.sampled_from(["a", "b", "*", "?", "[ab]", "a*", "[!a]"]), max_size=5))
def test_the_last_fitting_override_wins_whatever_the_order(patterns):
    from fnmatch import fnmatchcase

    overrides = [
        Override(sensor=pattern, windows={"pairs": 10 + at}) for at, pattern in enumerate(patterns)
    ]
    expected = [10 + at for at, pattern in enumerate(patterns) if fnmatchcase("a", pattern)]

    series = rules_of(Settings(overrides=overrides), "a", "q")

    assert series.window_pairs == (expected[-1] if expected else 500)


# -- secrets --------------------------------------------------------------------------------------

CANARY = "canary-hunter2"


@pytest.mark.parametrize("key", ["password", "passwd", "secret"])
@pytest.mark.parametrize("section", ["", "mqtt: "])
def test_a_password_in_the_file_is_refused_and_not_repeated(key, section):
    text = f"mqtt: {{{key}: {CANARY}}}" if section else f"{key}: {CANARY}"

    (mistake,) = mistakes_of(text)

    assert "password_file" in mistake
    assert "password_env" in mistake
    assert CANARY not in mistake


@pytest.mark.parametrize(
    "text",
    [
        f"mqtt: {{passwort: {CANARY}}}",
        f"mqtt: {{host: 'mqtt://u:{CANARY}@h'}}",
        f"mqtt: {{password_env: '{CANARY}'}}",
        f"mqtt: {{password_file: [{CANARY}]}}",
        f"mqtt: {{port: {CANARY}}}",
        f"mqtt: {{protocol: {CANARY}}}",
        f"mqtt: {CANARY}",
        f"mqtt: {{tls: {{cert_file: {CANARY}}}}}",
        f"mqtt: {{host: a\n  password: {CANARY}\n",
        f"mqtt:\n  host: a: {CANARY}\n",
        f"mqtt: {{password: *{CANARY}}}",
    ],
)
def test_no_value_is_repeated_in_a_mistake(text):
    with pytest.raises(SettingsError) as caught:
        settings_of(text)

    assert CANARY not in f"{caught.value} {caught.value!r} {caught.value.mistakes}"


def test_without_credentials_there_are_none():
    assert resolve_secret(Settings(), environment={"MQTT_PASSWORD": "x"}) == (None, None)


# -- files ----------------------------------------------------------------------------------------

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


# -- the hash -------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("threshold", "what"),
    [
        ("{name: a, statistic: calibration_bias}", "has no limit"),
        ("{name: offset, statistic: calibration_bias, above: 1}", "there is already"),
        ("{name: A, statistic: calibration_bias, above: 1}", "is not the name of an alert"),
        (
            "{name: a, statistic: calibration_bias, above: 1, against: expected}",
            "has no expectation",
        ),
        ("{name: a, statistic: calibration_bias, above: 1, against: baseline}", "write absolute"),
        ("{name: a, statistic: score_norm_mean, above: 1, against: fleet_median}", "a ratio, wh"),
        ("{name: a, statistic: calibration_bias, above: 1, below: 2}", "is not less than above"),
    ],
)
def test_a_threshold_that_cannot_be_meant_is_refused(threshold, what):
    with pytest.raises(SettingsError, match=what):
        settings_of(f"thresholds:\n  - {threshold}\n")


def test_two_thresholds_have_two_names():
    one = "{name: a, statistic: calibration_bias, above: 1}"

    with pytest.raises(SettingsError, match=r"is the name of thresholds\[0\] too"):
        settings_of(f"thresholds:\n  - {one}\n  - {one}\n")
