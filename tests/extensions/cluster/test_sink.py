"""The driver's end of a batch: alerts once, metrics under the daemon's names."""

from __future__ import annotations

import re
import urllib.request
from collections import defaultdict
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from monitor.extensions.cluster.fleet_verdicts import Fleet
from monitor.extensions.cluster.sink import NOTE, ClusterSink
from monitor.http.metrics import METRICS, OTHERS
from monitor.http.process_metrics import serve_metrics
from monitor.journal import Journal
from tests.extensions.cluster.conftest import MESSAGES


class Recorder:
    """An outlet that keeps what it is offered."""

    name, delivered, failed, dropped, waiting, done, room = "heard", 0, 0, 0, 0, 0, 1000

    def __init__(self):
        self.offered, self.got = 0, []

    def start(self, done, current):
        del current
        self.offered = self.done = done

    def drop(self, count):
        del count

    def offer(self, seq, each):
        self.offered = self.done = seq
        self.got.append(each)

    def end(self, seconds):
        del seconds

    def stop(self, seconds):
        del seconds


def sink_of(journal, *outlets, worst=10):
    return ClusterSink(journal, Fleet(worst, noted=journal.note(NOTE)), outlets)


def families(sink):
    """Return the samples of a scrape, by name of their family, as Prometheus reads them."""
    with (
        serve_metrics(0, sink.families, sink.page) as url,
        urllib.request.urlopen(url) as answer,
    ):
        page = answer.read().decode()
    found = defaultdict(list)
    for family in text_string_to_metric_families(page):
        assert family.name not in found, "a family comes twice"
        found[family.name] += family.samples
    return found


def test_alerts_of_a_batch_that_comes_again_are_told_once_also_after_a_restart(tmp_path, batches):
    said = [each for _, each in batches]
    got = []
    for _ in range(2):
        journal = Journal(tmp_path / "driver.sqlite")
        heard = Recorder()
        sink = sink_of(journal, heard)
        for each in said if not got else said[-1:]:
            sink.publish([(0, each)])
            sink.publish([(0, each)])
        got.append([each for each in heard.got if each is not None])
        sink.close()
        journal.close()

    first, again = got
    fired = [(each.sensor, each.alert) for each in first if each.fires]
    assert fired.count(("cart-1", "offset")) == 1
    assert len({each.id for each in first}) == len(first)
    assert not [each for each in again if each.id not in {told.id for told in first}]


def test_counters_count_from_the_start_of_the_driver_on(batches):
    """A scrape after a restart must not show the blocks' whole life as new."""
    wanted = [each.totals["received"] for each, _ in batches]
    whole, restarted = Fleet(worst=1), Fleet(worst=1)
    for _, report in batches:
        whole.update([(4, report)])
    for _ in range(2):  # a batch that comes again
        restarted.update([(4, batches[-1][1])])

    assert whole.totals()["received"] == wanted[-1] == len(MESSAGES)
    assert restarted.totals()["received"] == wanted[-1] - wanted[-2]
    assert restarted.committed() == whole.committed() == whole.totals()["committed"]
    assert all(count >= 0 for count in restarted.totals().values())


def test_prometheus_reads_the_page_and_its_names_are_the_daemons(tmp_path, batches):
    journal = Journal(tmp_path / "driver.sqlite")
    sink = sink_of(journal, Recorder(), worst=2)
    for _, each in batches:
        sink.publish([(0, each)])
    found = families(sink)
    journal.close()

    def value(family, **labels):
        (only,) = [each.value for each in found[family] if each.labels == labels]
        return only

    one = {"sensor": "cart-1", "quantity": "mass"}
    assert value("monitor_cluster_alerts", alert="offset") == 1.0
    assert value("monitor_alert_active", **one, alert="offset") == 1.0
    assert value("monitor_alert_page", **one) in (0.0, 1.0)
    assert value("monitor_series") == 3.0
    received = value("monitor_messages_received")
    assert received == len(MESSAGES)
    assert received == (
        value("monitor_messages_committed")
        + value("monitor_messages_duplicate")
        + sum(each.value for each in found["monitor_messages_rejected"])
    )
    assert value("monitor_cluster_batches") == 3.0
    own = {name for name in found if name.startswith("monitor_cluster_")}
    known = set(METRICS) | set(OTHERS)
    counted = {name for name in found if name.startswith(("monitor_messages", "monitor_sink"))}
    others = {name for name in found if name.startswith("monitor_")} - own - known - counted
    assert others == {
        *("monitor_alert_transitions", "monitor_build_info", "monitor_corrections"),
        *("monitor_readings_unpaired_expired", "monitor_records_rejected", "monitor_series"),
    }
    page = (Path(__file__).parents[3] / "docs" / "scale.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`(cluster_\w+?)(?:_total)?`", page))
    assert {name.removeprefix("monitor_") for name in own} == told
