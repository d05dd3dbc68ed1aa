"""Where metrics are pushed to."""

from __future__ import annotations

import pytest

from monitor.config import SettingsError, parse
from monitor.extensions.otlp.settings import otlp_of


def test_an_endpoint_is_a_url_and_nothing_is_pushed_without_one():
    assert otlp_of(parse(b"otlp: {interval_seconds: 5}", "s.yaml")).endpoint is None
    url = "http://127.0.0.1:4318/v1/metrics"
    assert otlp_of(parse(f"otlp: {{endpoint: '{url}'}}".encode(), "s.yaml")).endpoint == url


@pytest.mark.parametrize(
    "section",
    ["endpoint: 'a:4318'", "endpoint: 'http://a b'", "interval_seconds: 0", "timeout_seconds: 601"],
)
def test_what_cannot_be_meant_is_refused_with_its_place(section):
    with pytest.raises(SettingsError, match=rf"otlp\.{section.partition(':')[0]}"):
        parse(f"otlp: {{{section}}}".encode(), "s.yaml")
