"""The HTTP service: health, limits, and pages that hostile names cannot break."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser

import numpy as np
import pytest
from harness.programs import until

from monitor.core.snapshot import SeriesName, Snapshot
from monitor.exposition import Exposition
from monitor.journal import DeadLetter
from monitor.web import Page, Service, ServiceError

HOSTILE = "<script>alert(1)</script>\"'&"


def page(sensor: str = "cart-01", not_ready: str = "") -> Page:
    snapshot = Snapshot(
        time=1000.0,
        names=(SeriesName(sensor, "mass", "kg", "yard"),),
        statistics={
            "calibration_bias": np.array([6.2]),
            "calibration_zms": np.array([np.nan]),
            "score_crps_expected_ratio": np.array([1.5]),
        },
        states=("firing",),
        alerts={"offset": np.array([True])},
        evidence=np.array([1234.5]),
        sentences=("reads 6.2 kg heavy",),
        advice=("subtract 6.2 kg",),
        window_pairs=np.array([60]),
        last_reading=np.array([999.0]),
        last_pair=np.array([998.0]),
        withdrawn=np.array([False]),
    )
    letters = (DeadLetter(1.0, HOSTILE, "bad_payload", "not JSON", b"\xff<b>"),)
    return Page(Exposition().render(snapshot), snapshot, not_ready, letters)


@pytest.fixture
def service() -> Iterator[Service]:
    running = Service("127.0.0.1", 0, connections_max=20, header_timeout_seconds=0.5)
    running.start()
    until("the service answers", lambda: get(running, "/healthz")[0] == 200)
    yield running
    running.stop()


def get(service: Service, path: str, method: str = "GET", **headers: str):
    request = urllib.request.Request(service.url + path, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=5.0) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers
    except OSError:
        return 0, b"", {}


def test_before_the_first_page_it_is_alive_but_not_ready(service):
    assert get(service, "/healthz")[0] == 200
    assert get(service, "/readyz")[:2] == (503, b"still starting\n")
    assert get(service, "/metrics")[0] == 503
    assert b"No readings yet" in get(service, "/")[1]


def test_ready_says_in_words_what_is_missing(service):
    service.publish(page(not_ready="no connection to broker:1883: refused"))
    assert get(service, "/readyz")[:2] == (503, b"no connection to broker:1883: refused\n")
    service.publish(page())
    assert get(service, "/readyz")[0] == 200


def test_a_main_loop_that_stalls_is_seen():
    now = [0.0]
    stalled = Service("127.0.0.1", 0, monotonic=lambda: now[0])
    stalled.start()
    try:
        stalled.publish(page())
        until("it answers", lambda: get(stalled, "/healthz")[0] == 200)
        now[0] = 11.0
        assert get(stalled, "/healthz")[0] == 503
    finally:
        stalled.stop()


def test_metrics_are_the_published_bytes_packed_or_not(service):
    shown = page()
    service.publish(shown)
    status, body, headers = get(service, "/metrics")
    _, packed, packed_headers = get(service, "/metrics", **{"Accept-Encoding": "gzip"})

    assert (status, body) == (200, shown.metrics)
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert packed_headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed) == shown.metrics


def test_series_and_alerts_are_there_as_json_with_null_for_what_is_undefined(service):
    service.publish(page())
    series = json.loads(get(service, "/api/v1/series")[1])["series"]
    one = json.loads(get(service, "/api/v1/series/cart-01/mass")[1])
    alerts = json.loads(get(service, "/api/v1/alerts")[1])["alerts"]

    assert series == [one]
    assert one["statistics"]["calibration_zms"] is None
    assert (one["state"], one["sentence"], one["pairs"]) == ("firing", "reads 6.2 kg heavy", 60)
    assert [(each["sensor"], each["alert"]) for each in alerts] == [("cart-01", "offset")]
    assert get(service, "/api/v1/series/nobody/mass")[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("path", ["/", "/metrics", "/api/v1/series"])
def test_nothing_can_be_changed(method, path, service):
    service.publish(page())

    assert get(service, path, method)[0] == 405


def test_head_is_answered(service):
    service.publish(page())

    assert get(service, "/metrics", "HEAD")[:2] == (200, b"")


@pytest.mark.parametrize(
    "path", ["/docs", "/../etc/passwd", "/static/../limits.py", "/static/nothing", "/%2e%2e/x"]
)
def test_only_the_fixed_routes_exist(path, service):
    assert get(service, path)[0] == 404


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[str | None] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "script":
            self.scripts.append(dict(attrs).get("src"))


def test_a_hostile_name_is_text_and_the_policy_forbids_foreign_hosts(service):
    service.publish(page(HOSTILE))
    _, body, headers = get(service, "/")
    text = body.decode()

    assert [src.partition("?")[0] for src in Elements(text).scripts] == ["/static/monitor.js"]
    assert "&lt;script&gt;" in text
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "http://" not in text
    assert "https://" not in text
    letters = json.loads(get(service, "/api/v1/deadletters")[1])["deadletters"]
    assert letters[0]["topic"] == HOSTILE


def test_slow_connections_are_dropped_and_do_not_keep_others_out(service):
    service.publish(page())
    port = int(service.url.rsplit(":", 1)[1])
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
    for each in slow:
        each.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
    try:
        until("the slow ones are gone", lambda: get(service, "/metrics")[0] == 200, 5.0)
        for each in slow:
            each.settimeout(2.0)
            try:
                assert each.recv(1) == b""
            except ConnectionError:
                continue
    finally:
        for each in slow:
            each.close()


def test_an_idle_connection_may_ask_again_within_the_limit(service):
    service.publish(page())
    connection = http.client.HTTPConnection(service.url.removeprefix("http://"))
    for _ in range(3):
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b"ok\n"
        time.sleep(0.1)
    connection.close()


def test_a_taken_address_is_said_with_what_to_do():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        service = Service("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(ServiceError, match=r"set http\.port"):
            service.start()


def test_stopping_is_quick(service):
    began = time.monotonic()
    service.stop()

    assert time.monotonic() - began < 3.0
    assert get(service, "/healthz")[0] == 0
