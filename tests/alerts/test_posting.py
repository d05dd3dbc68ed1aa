"""HTTP posts: the pause that a server asks for; the tests of both sinks do post."""

from __future__ import annotations

import pytest

from monitor.alerts.posting import retry_after


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        (" 120 ", 120.0),
        ("9" * 30, 999_999_999.0),
        ("Thu, 28 May 2026 20:27:20 GMT", 600.0),
        ("Wed, 01 Jan 2020 00:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
        ("-5", None),
        ("\N{SUPERSCRIPT TWO}", None),
    ],
)
def test_the_pause_that_a_server_asks_for(text, seconds):
    assert retry_after(text, 1_779_999_440.0) == seconds
