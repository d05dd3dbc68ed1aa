"""Names are any text that a level of a topic holds; they are escaped wherever they are shown."""

from __future__ import annotations

import html
import json
import re
import urllib.request
from collections.abc import Iterator
from urllib.parse import unquote

import pytest
from harness.http_service import page
from harness.programs import WAIT_SECONDS, until
from prometheus_client.parser import text_string_to_metric_families

from monitor.config import SettingsError, parse
from monitor.config.core_plan import plan_of, router_of, units_of
from monitor.core.formatting import series_path
from monitor.core.state.network import Network
from monitor.http.answers import attachment
from monitor.http.metrics import Exposition
from monitor.http.published import Page
from monitor.http.service import Service
from monitor.journal.in_memory import InMemoryStore

NAMES = [
    "Küche Süd (Fenster)",
    "Datastreams(1)",
    'a"b\\c%d',
    "<b>&amp;'",
    "100 %?x=1;y",
    "気温 🌡",
    " edge ",
    "~$",
]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    running = Service("127.0.0.1", 0)
    running.start()
    until("the service answers", lambda: got(running, "/healthz"))
    yield running
    running.stop()


def got(service: Service, path: str) -> str:
    try:
        with urllib.request.urlopen(service.url + path, timeout=WAIT_SECONDS) as answer:
            return answer.read().decode()
    except OSError:
        return ""


@pytest.fixture(scope="module")
def network() -> Network:
    """Return a network in which each sensor has a pair, its messages decoded by the settings."""
    settings = parse(b"", "monitor.yaml")
    units = units_of(settings)
    router, network = router_of(settings, units=units), Network(plan_of(settings), InMemoryStore())
    for name in NAMES:
        for kind, value in (("reading", 2.0), ("reference", 1.0)):
            body = json.dumps({"time": "2026-01-01T00:00:00Z", "value": value, "u": 1.0})
            found = router.decode(f"monitor/{name}/größe/{kind}", body.encode(), 1.8e9)
            network.apply(network.observe(found, 1.8e9).pairs)
    return network


def test_every_sensor_is_in_the_metrics_under_its_own_name(network):
    text = Exposition().render(network.evaluate(1.8e9)).decode()

    pairs = {
        sample.labels["sensor"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "monitor_window_pairs"
    }
    assert pairs == dict.fromkeys(NAMES, 1.0)


def test_the_page_of_the_fleet_links_to_the_page_of_each_sensor(network, service):
    service.publish(Page(network.evaluate(1.8e9)))
    found = re.findall(r'href="(/series/[^"]*)"', got(service, "/"))
    links = set(map(html.unescape, found))

    assert {unquote(each.split("/")[2]) for each in links} == set(NAMES)
    for name in NAMES:
        link = series_path(name, "größe")
        assert link in links
        told = json.loads(got(service, f"/api/v1{link}"))
        assert (told["sensor"], told["quantity"]) == (name, "größe")
        header = attachment(f"{name}_größe.csv").encode("latin-1").decode()
        assert unquote(header.partition("filename*=UTF-8''")[2]) == f"{name}_größe.csv"


def test_a_name_in_the_settings_may_be_such_a_name_and_a_pattern_may_hold_it():
    text = """
areas:
  - {subject: "Meßstelle 3", sensors: ["Küche *", "Datastreams([0-9])"]}
places:
  - {sensor: "Küche Süd (Fenster)", site: "Außen"}
"""
    assert parse(text.encode(), "monitor.yaml").areas[0].subject == "Meßstelle 3"
    with pytest.raises(SettingsError, match="without / \\+ # and control characters"):
        parse(text.replace("Küche Süd", "Küche/Süd").encode(), "monitor.yaml")


def test_no_name_is_shown_as_markup(service):
    service.publish(page("<img src=x onerror=alert(1)>"))

    assert "<img" not in got(service, "/")
