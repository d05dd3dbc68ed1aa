"""The document of settings: its places and what is refused in it."""

from __future__ import annotations

import math
import re

import pytest

from monitor.config.document import BYTES_MAX, read_document
from tests.config.test_settings import mistakes_of

# YAML 1.2.2, 10.3.2, and what YAML 1.1 reads otherwise.
CORE_SCHEMA = (
    (None, ("~", "null", "Null", "NULL", "")),
    (True, ("true", "True", "TRUE")),
    (False, ("false", "False", "FALSE")),
    (0, ("0", "-0", "0o0", "0x0")),
    (7, ("7", "+7", "007", "0o7", "0x7")),
    (-19, ("-19",)),
    (15, ("0o17", "0xF", "0xf")),
    (1.5, ("1.5", "+1.5", "15e-1", "0.15E+1")),
    (0.001, ("1e-3", "1E-3", ".001", "0.001")),
    (12000.0, ("12e03", "12000.", "12000.0")),
    (math.inf, (".inf", ".Inf", ".INF", "+.inf")),
    (-math.inf, ("-.inf", "-.INF")),
)


TEXTS = (
    *("on", "off", "yes", "no", "y", "n", "nULL", "tRUE", "None", "<<", "=", "2026-03-01"),
    *("1_000", "12:30:45", "0b1", "0o8", "0xg", "-0o7", "+0xF", ".", "+", "e3", "1e", ".e1"),
    *("inf", "nan", "+.nan", ".iNF", "1.2.3", "\u0661"),
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, value) for value, texts in CORE_SCHEMA for text in texts),
        *((text, text) for text in TEXTS),
    ],
)
def test_a_plain_scalar_is_what_the_core_schema_of_yaml_says(text, value):
    document = read_document(f"key: {text}\nquoted: '{text}'".encode())

    assert document.flaws == []
    assert document.values == {"key": value, "quoted": text}
    assert type(document.values["key"]) is type(value)


@pytest.mark.parametrize("text", [".nan", ".NaN", ".NAN"])
def test_not_a_number_is_a_number_of_yaml(text):
    assert math.isnan(read_document(text.encode()).values)


@pytest.mark.parametrize(
    ("raw", "place", "words"),
    [
        (b"mqtt: {port: 1\n", "2:1", "not YAML"),
        (b"mqtt:\n\tport: 1\n", "2:1", "not YAML"),
        (b"mqtt: 'x\n", "2:1", "that begins at 1:7"),
        (b"mqtt:\n  port: 1\n host: x\n", "3:2", "not YAML"),
        (b'mqtt: "\\ud800"\n', "1:10", "invalid Unicode"),
        (b"mqtt: {}\n---\nhttp: {}\n", "2:1", "second document"),
        (b"mqtt: {}\nhttp: \xff\n", "2:7", "not UTF-8: byte 0xff"),
        ("mqtt: {}\n".encode("utf-16"), "1:1", "not UTF-8"),
        (b"mqtt:\n  host: a\x00b\n", "2:10", "control character U+0000"),
        (b"x" * (BYTES_MAX + 1), "1:1", "larger than 1048576 bytes"),
        (b"a: " + b"[" * 17 + b"]" * 17, "1:19", "nested deeper than 16"),
        (b"[" * 900 + b"]" * 900, "1:17", "nested deeper than 16"),
        (b"- " * (BYTES_MAX // 2), "1:33", "nested deeper than 16"),
        (b"{a: " * (BYTES_MAX // 4), "1:65", "nested deeper than 16"),
        (b"? " * (BYTES_MAX // 2), "1:3", "a key must be plain text"),
    ],
    ids=lambda each: str(each[:20]),  # megabytes would be names otherwise
)
def test_a_file_that_is_not_settings_at_all_is_refused_with_a_sentence(raw, place, words):
    mistake = mistakes_of(raw)[0]

    assert mistake.startswith(f"{place}: (file): ")
    assert words in mistake


def test_brackets_without_end_are_refused_for_their_depth():
    """The libyaml of PyYAML 6.0.4 reads ahead and refuses the 1001st; earlier ones refuse none."""
    (mistake,) = mistakes_of(b"[" * BYTES_MAX)

    assert re.match(r"1:(17|1001): \(file\): .*nested deeper than 16 levels", mistake)
