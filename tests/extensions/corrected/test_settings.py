"""Settings of corrected readings."""

from __future__ import annotations

import pytest

from monitor.config import SettingsError, parse

SOURCES = """
sources:
  - {topic: 'monitor/{sensor}/{quantity}/reading', kind: reading}
  - {topic: 'monitor/{subject}/{quantity}/reference', kind: reference}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("correct: {publish: 'fixed/{sensor}'}", "must have {sensor} and {quantity}"),
        ("correct: {publish: 'fixed/{sensor}/{quantity}/#'}", "must have {sensor} and {quantity}"),
        ("correct: {publish: 'fixed/{sensor}/{quantity}', level: 90}", "less than 1"),
        (
            "correct: {publish: 'monitor/{sensor}/{quantity}/reading'}" + SOURCES,
            "also matches the corrected readings",
        ),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(text, said):
    with pytest.raises(SettingsError) as caught:
        parse(text.encode(), "settings.yaml")

    assert said in str(caught.value)
