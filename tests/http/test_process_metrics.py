"""A port that serves metrics alone, for as long as its context lasts."""

from __future__ import annotations

import time
import urllib.error
import urllib.request

import pytest
from harness.programs import WAIT_SECONDS
from prometheus_client.parser import text_string_to_metric_families

from monitor.http.process_metrics import serve_metrics


def test_metrics_of_the_process_stand_beside_the_given_lines_until_the_end():
    with serve_metrics(0, lambda: (), lambda: b"mine 7\n") as url:
        with urllib.request.urlopen(url, timeout=WAIT_SECONDS) as answer:
            families = text_string_to_metric_families(answer.read().decode())
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{url}/more", timeout=WAIT_SECONDS)

    values = {each.name: each.value for family in families for each in family.samples}
    assert values["mine"] == 7.0
    assert 0.0 < values["process_cpu_seconds_total"] <= time.process_time() + 1.0
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url, timeout=WAIT_SECONDS)
