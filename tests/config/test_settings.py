"""Settings: defaults, every mistake with its place, what holds for one series, secrets."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from monitor.config import Settings, SettingsError, parse, resolve_secret, settings_hash
from monitor.config.document import read_document
from monitor.config.kinds import Section
from monitor.config.parts import Group, Overridable, Part

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
    for nothing in (
        "tls",
        "mqtt",
        "webhook",
        "alertmanager",
        "prefix",
        "home_assistant",
        "publish",
    ):
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


# -- the file as a file -------------------------------------------------------------------------


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


# -- secrets --------------------------------------------------------------------------------------


def test_without_credentials_there_are_none():
    assert resolve_secret(Settings(), environment={"MQTT_PASSWORD": "x"}) == (None, None)


# -- the hash -------------------------------------------------------------------------------------


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
