"""Rules for every answer, whatever the route."""

from __future__ import annotations

import gzip
import html
import json
import re
from collections.abc import Iterable
from dataclasses import replace

import pytest
from harness.http_service import answers, get, page, stream
from harness.programs import until
from harness.yard import Yard
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from monitor.extensions import all_extensions
from monitor.http.metrics import Exposition
from monitor.http.service import Service
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
def test_nothing_can_be_changed(method, path, shown):
    status, _, headers = get(shown, path, method)

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
def test_only_the_fixed_routes_exist(path, shown):
    assert get(shown, path)[0] == 404


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
def test_every_answer_carries_the_policy_and_no_style_or_script_of_its_own(path, shown):
    status, body, headers = get(shown, path)
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
    assert get(shown, path, "HEAD")[:2] == (status, b"")


@pytest.mark.parametrize(
    ("header", "value", "is_packed", "is_open"),
    [
        ("Accept-Encoding", "gzip;q=0, identity", False, False),
        ("Accept-Encoding", "br, gzip ; q=0.000", False, False),
        ("Accept-Encoding", "br;q=0, gzip;q=0.5", True, False),
        ("Accept", "application/openmetrics-text;version=1.0.0;q=0, text/plain", False, False),
        ("Accept", "application/openmetrics-text;q=0.01;version=1.0.0", False, True),
    ],
)
def test_what_a_weight_of_zero_refuses_is_not_sent(header, value, is_packed, is_open, shown):
    for path in ("/metrics", "/"):
        headers = get(shown, path, **{header: value})[2]
        assert (headers["Content-Encoding"] == "gzip") is is_packed
        assert "openmetrics" not in headers["Content-Type"] or is_open
    assert (
        "openmetrics" in get(shown, "/metrics", **{header: value})[2]["Content-Type"]
    ) is is_open


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


def test_every_link_leads_below_the_path_of_the_proxy_which_may_cut_it_off():
    shown = [each for each in all_extensions() if each.routes]
    service = Service("127.0.0.1", 0, root_path="/docs/watch", extensions=shown)
    service.start()
    until("the service answers", lambda: answers(service))
    yard = Yard(service)
    yard.work(150.0)
    yard.run(0.1)
    waiting, read = ["/"], set()
    try:
        while waiting:
            path = waiting.pop()
            if path in read:
                continue
            read.add(path)
            status, body, headers = get(service, f"/docs/watch{path}")
            cut = get(service, path)
            assert status == cut[0] == 200, path
            if not headers["Content-Type"].startswith("text/html"):
                continue
            text = body.decode()
            assert "/static/monitor.css" in text
            links = re.findall(r'(?:href|src|action)="(/[^"]*)"', text)
            assert [link for link in links if not link.startswith("/docs/watch/")] == []
            links = [html.unescape(link).removeprefix("/docs/watch") for link in links]
            if path == "/" or path.startswith("/series/cart-03"):
                plain = (link.partition("#")[0] for link in links)
                waiting += [link for link in plain if not re.search("sort=|^/events/", link)]
        first = next(stream(service, "/docs/watch/live/fleet"))
        described = json.loads(get(service, "/docs/watch/api/v1/openapi.json")[1])
        refused = get(service, "/docs/watch/api/v1/nothing")
    finally:
        yard.stop()
        service.stop()

    assert {"/alerts", "/docs", "/budget", "/series/cart-03/mass", "/metrics"} <= read
    assert all('href="/docs/watch/series/' in row for row in first["rows"].values())
    assert 'href="/docs/watch/' in first["summary"]
    assert described["servers"] == [{"url": "/docs/watch"}]
    assert refused[0] == 404
    assert refused[2]["Content-Type"] == "application/problem+json"
