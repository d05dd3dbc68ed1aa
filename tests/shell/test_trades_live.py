"""The trades' streams through a real broker into a daemon that is killed: the same bits."""

from __future__ import annotations

import random
import time
from pathlib import Path

import numpy as np
import pytest
from harness.daemon import Daemon
from harness.programs import until

from monitor.assembly import assemble
from monitor.config import load
from monitor.core.model import Records, in_event_order
from monitor.decode import DECODERS
from monitor.journal import Journal
from monitor.sources.publish import BrokerPublisher
from monitor.sources.trades import TRADES

CONFIGS = Path(__file__).parents[2] / "configs"
OWN = """
mqtt: {{port: {port}, client_id: "trade"}}
journal: {{path: "{folder}/journal.sqlite"}}
http: {{port: 0}}
publish: {{interval_seconds: 0.2}}
"""


def by_name(journal: Journal) -> Records:
    """The standing pairs, their series numbered by name."""
    rows = in_event_order(journal.pairs())
    names = {each.row: (each.sensor, each.quantity) for each in journal.series()}
    ranks = {name: rank for rank, name in enumerate(sorted(names.values()))}
    rows["series"] = [ranks[names[row]] for row in rows["series"].tolist()]
    return np.sort(rows, order=["series", "time", "id"])


def numbers(series: list[dict]) -> dict[tuple[str, str], tuple]:
    """What the interface says of each series, but for when it was heard."""
    return {
        (each["sensor"], each["quantity"]): (
            each["statistics"],
            each["evidence"],
            each["pairs"],
            each["advice"],
            each["last_pair"],
        )
        for each in series
    }


def settled(daemon: Daemon, messages: int) -> bool:
    """Whether all came and nothing more does: some come again after each kill."""
    before = daemon.value("monitor_messages_received_total")
    time.sleep(1.0)
    return before >= messages and daemon.value("monitor_messages_received_total") == before


@pytest.fixture
def daemon(tmp_path: Path, mosquitto):
    running = Daemon(tmp_path, mosquitto.port)
    yield running
    running.kill()


@pytest.mark.parametrize("trade", TRADES)
def test_a_killed_daemon_and_one_process_agree_bit_for_bit(trade, daemon, tmp_path, mosquitto):
    messages = TRADES[trade](np.random.default_rng(1)).messages
    text = (CONFIGS / f"{trade}.yaml").read_text(encoding="utf-8")
    daemon.settings.write_text(text + OWN.format(port=mosquitto.port, folder=tmp_path))
    daemon.start()
    chance = random.Random(trade)
    cuts = sorted(chance.sample(range(len(messages)), 3))
    for first, last in zip([0, *cuts], [*cuts, len(messages)], strict=True):
        with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
            for message in messages[first:last]:
                out.publish(message.topic, message.payload)
        if last < len(messages):
            daemon.kill()
            daemon.start()
    until("all messages are accounted for", lambda: settled(daemon, len(messages)))
    told = numbers(daemon.json("/api/v1/series")["series"])
    assert daemon.stop() == 0
    journal = Journal(tmp_path / "journal.sqlite")
    found = by_name(journal)
    journal.close()

    settings, now = load(daemon.settings, decoders=DECODERS), time.time()
    elsewhere = settings.journal.model_copy(update={"path": str(tmp_path / "one.sqlite")})
    parts = assemble(settings.model_copy(update={"journal": elsewhere}), now)
    parts.intake.commit(parts.intake.prepare(messages, now))
    parts.network.evaluate(now)
    wanted = by_name(parts.journal)
    parts.journal.close()

    assert found.tobytes() == wanted.tobytes()
    assert found.size > 80
    daemon.settings.write_text(
        daemon.settings.read_text().replace(f"{tmp_path}/journal.sqlite", f"{tmp_path}/one.sqlite")
    )
    daemon.start()
    until("it is published", lambda: daemon.get("/api/v1/series")[0] == 200)
    assert numbers(daemon.json("/api/v1/series")["series"]) == told
    daemon.stop()
