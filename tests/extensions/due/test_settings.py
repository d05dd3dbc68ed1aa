"""Whether the settings ask for due dates."""

from __future__ import annotations

import pytest

from monitor.config import parse
from monitor.extensions.due.settings import has_pages


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("{}", False),
        ("alerts: {due: true}", True),
        ("overrides: [{sensor: 'a*', alerts: {due: true}}]", True),
        ("overrides: [{sensor: 'a*', alerts: {due: false}}]", False),
        ("groups: [{name: g, sensors: ['a*'], alerts: {due: true}}]", True),
    ],
)
def test_one_series_that_is_asked_for_is_enough(text, pages):
    assert has_pages(parse(text.encode(), "s.yaml")) is pages
