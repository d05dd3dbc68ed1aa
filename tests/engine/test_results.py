"""What a block says of a batch, the fleet's figures made of it, and alerts told once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fleet_messages import stream
from test_block import block_of, settings_of

from monitor.engine import results
from monitor.engine.results import STATISTICS, Fleet
from monitor.engine.sink import Sink, Teller
from monitor.engine.telemetry import Served
from monitor.journal import Journal

MESSAGES = stream(["cart-1", "cart-2", "cart-3"], 200)


@pytest.fixture(scope="module")
def batches():
    """Return what one block says of three batches, written and read."""
    block, found = block_of(None), []
    for at in range(0, len(MESSAGES), len(MESSAGES) // 3 + 1):
        came = block.apply(MESSAGES[at : at + len(MESSAGES) // 3 + 1])
        found.append((came, results.load(results.dump(results.said(came, 1, 9)))))
    return found


class Heard:
    """An outlet that keeps what it is offered."""

    name, delivered, failed, dropped, waiting, done, room = "heard", 0, 0, 0, 0, 0, 1000

    def __init__(self):
        self.offered, self.got = 0, []

    def start(self, done):
        self.offered = self.done = done

    def drop(self, count):
        del count

    def offer(self, seq, each):
        self.offered = self.done = seq
        self.got.append(each)

    def stop(self, seconds):
        del seconds


def test_lines_are_the_rows_of_the_snapshot_bit_for_bit(batches):
    came, said = batches[-1]
    for line, row in zip(said.lines, came.rows.tolist(), strict=True):
        assert line.sensor == came.snapshot.names[row].sensor
        assert line.state == came.snapshot.states[row]
        for name, value in zip(STATISTICS, line.statistics, strict=True):
            there = came.snapshot.statistics.get(name)
            wanted = math.nan if there is None else there[row]
            assert np.float64(value).tobytes() == np.float64(wanted).tobytes()


def test_the_fleet_shows_what_alerts_and_the_worst_of_the_others(batches):
    fleet = Fleet(worst=1)
    fleet.take(4, batches[-1][1].summary)
    shown = fleet.snapshot()

    assert shown is not None
    assert len(shown.names) == 2
    assert shown.names[0].sensor == "cart-1"
    assert shown.alerts["offset"].tolist() == [True, False]
    assert sum(fleet.counted("states").values()) == 3
    assert fleet.counted("alerts")["offset"] == 1


def test_alerts_of_a_batch_that_comes_again_are_told_once_also_after_a_restart(tmp_path, batches):
    said = [each for _, each in batches]
    found = [transition.id for each in said for transition in each.transitions]
    got = []
    for _ in range(2):
        journal = Journal(tmp_path / "driver.sqlite")
        heard = Heard()
        sink = Sink(Teller(journal, [heard]), 10)
        for number, each in enumerate(said):
            sink.take(number, [(0, each)])
            sink.take(number, [(0, each)])
        got += [each.id for each in heard.got if each is not None]
        journal.close()

    assert found
    assert got == found


def test_the_page_has_the_fleets_figures_and_the_daemons_names(tmp_path, batches):
    journal = Journal(tmp_path / "driver.sqlite")
    sink = Sink(Teller(journal), 10)
    for number, (_, each) in enumerate(batches):
        sink.take(number, [(0, each)])
    served = Served(0, sink.families, sink.page)
    import urllib.request

    with urllib.request.urlopen(served.url) as answer:
        page = answer.read().decode()
    served.close()
    journal.close()

    assert 'monitor_cluster_alerts{alert="offset"} 1.0' in page
    assert 'monitor_alert_active{sensor="cart-1",quantity="mass",alert="offset"} 1' in page
    assert "monitor_cluster_batches_total 3.0" in page
    assert settings_of().cluster.blocks == 1024
