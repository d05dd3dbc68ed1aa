"""Metrics that are pushed by OTLP are those of the page, and no collector holds up the data."""

from __future__ import annotations

import json
import math

import pytest
from harness.daemon import Daemon
from harness.programs import until
from harness.receiver import Answer, Receiver

from monitor.mqtt.publish import BrokerPublisher

proto = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")
pytest.importorskip("opentelemetry.exporter.otlp.proto.http.metric_exporter")
PAIRS = 'monitor_window_pairs{sensor="s",quantity="x"}'


@pytest.fixture
def collector():
    running = Receiver()
    running.usual = Answer(200)
    yield running
    running.stop()


@pytest.fixture
def daemon(tmp_path, mosquitto, collector):
    url = collector.url("/v1/metrics")
    more = f'otlp: {{endpoint: "{url}", interval_seconds: 0.3, timeout_seconds: 1}}'
    running = Daemon(
        tmp_path, mosquitto.port, f"{more}\nseries: {{stale_after_seconds: 1e7}}",
        environment={"OTEL_EXPORTER_OTLP_HEADERS": "x-key=geheim"},
    )  # fmt: skip
    yield running
    running.kill()


def send(port: int, first: int, count: int) -> None:
    with BrokerPublisher("127.0.0.1", port) as out:
        for at in range(first, first + count):
            stated = {"time": f"2026-01-01T00:{at:02}:00Z", "value": at % 3 + 1.0, "u": 1.0}
            out.publish("monitor/s/x/reading", json.dumps(stated).encode())
            stated |= {"value": 1.5, "u": 0.1}
            out.publish("monitor/s/x/reference", json.dumps(stated).encode())


def told(body: bytes) -> dict[str, float]:
    """Return what a post says, each number under its name and labels as the page has them."""
    request = proto.ExportMetricsServiceRequest.FromString(body)
    found = {}
    for metric in request.resource_metrics[0].scope_metrics[0].metrics:
        for point in (metric.sum if metric.HasField("sum") else metric.gauge).data_points:
            labels = ",".join(
                f'{each.key}="{each.value.string_value}"' for each in point.attributes
            )
            found[f"{metric.name}{{{labels}}}" if labels else metric.name] = point.as_double
    return found


def of_series(samples: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in samples.items() if 'sensor="' in name}


def test_the_collector_is_told_the_numbers_of_the_page(daemon, mosquitto, collector):
    daemon.start()
    send(mosquitto.port, 0, 40)
    until("the pairs are in", lambda: daemon.value(PAIRS) == 40)
    pushed: dict[str, float] = {}

    def has_all() -> bool:
        pushed.update(told(collector.posts[-1].body) if collector.posts else {})
        return pushed.get(PAIRS) == 40.0

    until("they are pushed", has_all)
    until(
        "and settled",
        lambda: of_series(told(collector.posts[-1].body)) == of_series(daemon.metrics()),
    )
    pushed, shown = told(collector.posts[-1].body), daemon.metrics()
    assert len(of_series(pushed)) > 40
    assert pushed.keys() | {'monitor_otlp_posts_total{result="sent"}'} >= {
        name for name in shown if not name.startswith("python_gc_")
    }
    assert all(math.isfinite(value) for value in pushed.values())
    post = collector.posts[-1]
    assert (post.path, post.headers["x-key"]) == ("/v1/metrics", "geheim")
    names = proto.ExportMetricsServiceRequest.FromString(post.body).resource_metrics[0]
    kinds = {each.name: each.WhichOneof("data") for each in names.scope_metrics[0].metrics}
    assert kinds["monitor_messages_committed_total"] == "sum"
    assert kinds["monitor_window_pairs"] == "gauge"
    until("it counts", lambda: daemon.value('monitor_otlp_posts_total{result="sent"}') > 1.0)


def test_a_collector_that_stalls_or_refuses_costs_only_its_pushes(daemon, mosquitto, collector):
    collector.usual = Answer(400)
    daemon.start()
    failed = 'monitor_otlp_posts_total{result="failed"}'
    until("it is refused", lambda: daemon.value(failed) > 0.0)
    collector.usual = Answer(200, wait=60.0)
    send(mosquitto.port, 0, 40)
    until("the pairs are in", lambda: daemon.value(PAIRS) == 40)
    assert daemon.stop() == 0


def test_without_an_endpoint_nothing_is_pushed(tmp_path, mosquitto):
    daemon = Daemon(tmp_path, mosquitto.port)
    daemon.start()
    try:
        assert not [name for name in daemon.metrics() if "otlp" in name]
    finally:
        daemon.kill()
