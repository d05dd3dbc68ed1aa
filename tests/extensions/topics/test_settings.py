"""Settings of verdicts at the broker."""

from __future__ import annotations

import pytest

from monitor.config import SettingsError, parse

WILD = """
sources:
  - {topic: "a/{sensor}/{quantity}", kind: reading}
  - {topic: "r/+/{subject}/{quantity}", kind: reference}
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("verdicts: {home_assistant: {}}", "give verdicts.prefix too"),
        ("verdicts: {prefix: 'a/+'}", "is not a topic prefix"),
        (
            "verdicts: {prefix: a}\nsources: [{topic: 'a/+/{sensor}/{quantity}', kind: reading}]",
            "also matches the verdicts",
        ),
        (
            "verdicts: {prefix: a, home_assistant: {references: [{minimum: 2, maximum: 1}]}}",
            "is not above minimum",
        ),
        ("verdicts: {prefix: a, home_assistant: {references: [{u: 1}]}}" + WILD, "no source reads"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(text, words):
    with pytest.raises(SettingsError, match=words):
        parse(text.encode(), "s.yaml")
