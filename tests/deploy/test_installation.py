"""All that is shipped, together: broker, daemon, Prometheus, Alertmanager, dashboards."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import promql_parser
import pytest
from harness.programs import until

from monitor.simulate.carts import CARTS
from tests.deploy.installation import DEPLOY, Installation

DASHBOARDS = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))
VARIABLES = {
    "$__rate_interval": "10s",
    "$job": ".*",
    "$instance": ".*",
    "$group": ".*",
    "$quantity": "mass",
    "$sensor": "cart-03",
}


def panels(name: str) -> Iterator[dict]:
    document = json.loads((DEPLOY / "grafana" / "dashboards" / name).read_text(encoding="utf-8"))
    yield from (panel for panel in document["panels"] if panel["type"] != "row")


def filled(expression: str) -> str:
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    assert "$" not in expression
    return expression


QUERIES = [
    pytest.param(filled(target["expr"]), id=f"{file.stem}: {panel['title']} {target['refId']}")
    for file in DASHBOARDS
    for panel in panels(file.name)
    for target in panel["targets"]
]
TABLES = [each for file in DASHBOARDS for each in panels(file.name) if each["type"] == "table"]


@pytest.fixture(scope="module")
def watched(installation: Installation) -> Installation:
    """Return the installation once Prometheus has seen messages come, among them bad ones."""
    prometheus = installation.prometheus
    until("the first scrape", lambda: prometheus.query('up{job="monitor"} == 1'))
    until("scraped twice", lambda: prometheus.query("changes(monitor_publish_seconds[1m]) > 0"))
    installation.publish(seconds_ago=0.0)
    with installation.secrets.publisher(installation.broker.port, "cart-01") as out:
        ahead = datetime.now(UTC) + timedelta(hours=1)
        for payload in (b"{", json.dumps({"time": ahead.isoformat(), "value": 1.0, "u": 1.0})):
            out.publish("monitor/cart-01/mass/reading", payload)
    late = "increase(monitor_messages_rejected_total{reason='bad_payload'}[1m]) > 0"
    until("the rates are there", lambda: prometheus.query(late))
    until("an offset fires", lambda: prometheus.query('monitor_alert_active{alert="offset"} == 1'))
    return installation


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_of_every_panel_is_promql_and_has_an_answer(watched, query):
    promql_parser.parse(query)
    samples = until(f"an answer to {query}", lambda: watched.prometheus.query(query))

    assert samples
    assert all(re.fullmatch(r"-?[0-9.e+-]+", sample["value"][1]) for sample in samples)


@pytest.mark.parametrize("panel", TABLES, ids=lambda panel: panel["title"])
def test_each_row_has_the_address_of_its_daemons_pages_once(watched, panel):
    expression = filled(panel["targets"][0]["expr"])
    rows = until("rows", lambda: watched.prometheus.query(expression))
    sensors = [each["metric"]["sensor"] for each in rows]

    assert {each["metric"]["url"] for each in rows} == {"http://127.0.0.1:9108"}
    assert len(sensors) == len({*sensors})


def test_every_reading_and_reference_went_through_under_its_own_account(watched):
    values = watched.daemon.metrics()

    assert values['monitor_messages_rejected_total{reason="bad_payload"}'] == 1
    assert values['monitor_messages_rejected_total{reason="future"}'] == 1
    assert values['monitor_messages_rejected_total{reason="bad_name"}'] == 0
    assert values["monitor_series"] == len(CARTS)
    assert "monitor_tls_peer_not_after_seconds" in values


def test_faults_are_told_in_one_notification_in_the_pages_words_with_the_way_to_the_runbook(
    watched,
):
    manager = watched.alertmanager

    def told() -> dict[str, dict]:
        digests = [each for each in manager.told if each["receiver"] == "sensors"]
        alerts = digests[-1]["alerts"] if digests else ()
        return {
            alert["labels"]["sensor"]: alert
            for alert in alerts
            if alert["labels"]["alertname"] == "SensorOffset"
        }

    # Animals go on crossing, for what the first of them looked like may be another fault.
    until("it is told", lambda: "cart-03" in told() or watched.publish(seconds_ago=0.0))
    alert = told()["cart-03"]
    assert {cart.sensor for cart in CARTS if cart.fault(0, 1).alert} >= told().keys()
    assert alert["labels"]["severity"] == "warning"
    assert (alert["annotations"]["many"], alert["annotations"]["of"]) == (
        "read heavy",
        str(len(CARTS)),
    )
    said = r"cart-03 \(mass\) reads \d+(\.\d+)? kg heavy \(.* to .*\)"
    assert re.match(said, alert["annotations"]["summary"])
    assert alert["annotations"]["sentence"] in alert["annotations"]["summary"]
    links = [alert["annotations"][name] for name in ("page_url", "runbook_url")]
    ends = ("/series/cart-03/mass", "/docs/alerts#sensoroffset")
    assert links == [f"http://127.0.0.1:9108{end}" for end in ends]  # what compose opens


def test_a_healthy_daemon_is_not_complained_about(watched):
    told = watched.alertmanager.told
    until("something is told", lambda: told)
    names = {alert["labels"]["alertname"] for each in told for alert in each["alerts"]}

    of_cards = {"MonitorHighCrps", "MonitorHighBrier", "MonitorDrift"}  # of a sensor, not of it
    assert not [name for name in names - of_cards if name.startswith("Monitor")]


def test_a_silence_by_the_runbooks_command_keeps_a_sensor_quiet(watched):
    manager = watched.alertmanager
    until("it fires", lambda: "cart-04" in manager.amtool("alert", "query"))
    manager.amtool(
        *("silence", "add", "sensor=cart-04"),
        *("--author=me", "--comment=sent to the workshop", "--duration=1h"),
    )

    def active() -> str:
        return manager.amtool("alert", "query", "--active", "sensor=cart-04")

    until("it is silenced", lambda: "cart-04" not in active() and "Sensor" not in active())
    assert "Sensor" in manager.amtool("alert", "query", "--silenced", "sensor=cart-04")
    assert "sent to the workshop" in manager.amtool("silence", "query")
