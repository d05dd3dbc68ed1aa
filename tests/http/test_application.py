"""Rules for every answer, whatever the route."""

from __future__ import annotations

import gzip
import re

import pytest
from harness.http_service import get, page

from monitor.http.metrics import Exposition


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
