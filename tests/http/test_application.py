"""Rules for every answer, whatever the route."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from dataclasses import replace

import pytest
from harness.http_service import get, page
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from monitor.http.metrics import Exposition
from monitor.http.telemetry import Figures


def test_metrics_are_the_published_bytes_packed_or_not(service):
    shown = page()
    service.publish(shown)
    status, body, headers = get(service, "/metrics")
    _, packed, packed_headers = get(service, "/metrics", **{"Accept-Encoding": "gzip"})

    metrics = Exposition().render(shown.snapshot)
    assert (status, body) == (200, metrics)
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert packed_headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed) == metrics


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("path", ["/", "/metrics", "/api/v1/series"])
def test_nothing_can_be_changed(method, path, service):
    service.publish(page())

    status, _, headers = get(service, path, method)

    assert status == 405
    assert headers["Allow"] == "GET, HEAD"


def test_head_is_answered(service):
    service.publish(page())

    assert get(service, "/metrics", "HEAD")[:2] == (200, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/redoc",
        "/docs/nothing",
        "/docs/images/../x",
        "/../etc/passwd",
        "/static/../limits.py",
        "/static/nothing",
        "/%2e%2e/x",
    ],
)
def test_only_the_fixed_routes_exist(path, service):
    assert get(service, path)[0] == 404


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/alerts",
        "/doctor",
        "/about",
        "/ranking",
        "/series/cart-01/mass",
        "/static/monitor.js",
        "/static/plots.js",
        "/nothing",
    ],
)
def test_every_answer_carries_the_policy_and_no_style_or_script_of_its_own(path, service, yard):
    status, body, headers = get(service, path)
    text = body.decode()

    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "'unsafe" not in headers["Content-Security-Policy"]
    if path.endswith(".js"):
        assert "immutable" in headers["Cache-Control"]
    else:
        assert headers["Cache-Control"] == "no-store"
        assert " style=" not in text
        assert "<style" not in text
        assert not re.search(r"\son\w+=", text)
    assert get(service, path, "HEAD")[:2] == (status, b"")


OPEN = "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.4,*/*;q=0.1"


@pytest.mark.parametrize("packed", ["gzip", "identity"])
def test_who_accepts_openmetrics_gets_the_same_samples_in_it(packed, service):
    figures = Figures(received=7, commit_seconds=0.5, public_url="http://x", settings_hash="y")
    service.publish(replace(page(), figures=figures))
    _, plain, plain_headers = get(service, "/metrics")
    _, body, headers = get(service, "/metrics", Accept=OPEN, **{"Accept-Encoding": packed})
    text = (gzip.decompress(body) if packed == "gzip" else body).decode()

    assert plain_headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert text.endswith("# EOF\n")
    read = {each.name: each for each in openmetrics(text)}
    assert read["monitor_messages_received"].type == "counter"
    assert read["monitor_commit_seconds"].unit == "seconds"
    assert read["monitor_score_interval_expected_ratio"].unit == "ratio"
    assert samples(read.values()) == samples(text_string_to_metric_families(plain.decode()))


def samples(families: Iterable[Metric]) -> set[tuple[str, tuple]]:
    """Return names and labels of all samples, without numbers: those of the process move."""
    return {
        (sample.name, tuple(sample.labels.items()))
        for family in families
        for sample in family.samples
    }


def test_a_page_without_figures_of_the_daemon_ends_too(service):
    service.publish(page())

    assert get(service, "/metrics", Accept=OPEN)[1].endswith(b"# EOF\n")
