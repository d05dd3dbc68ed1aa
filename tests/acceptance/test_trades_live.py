"""The trades' streams through a real broker into a daemon, in any order and killed: the same bits.

What the pairs must be is said by the oracle of tests/acceptance/test_trades.py, bit for bit the
same as here.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from harness.cases import further
from harness.daemon import Daemon
from harness.programs import until

from monitor.config import load
from monitor.core.model import Records, in_event_order
from monitor.daemon.assembly import assemble
from monitor.journal import Journal
from monitor.mqtt.publish import BrokerPublisher
from monitor.simulate.playback import RawMessage
from monitor.simulate.trades import TRADES

CONFIGS = Path(__file__).parents[2] / "configs"
OWN = """
mqtt: {{port: {port}, client_id: "trade"}}
journal: {{path: "{folder}/journal.sqlite"}}
http: {{port: 0}}
publish: {{interval_seconds: 0.2}}
"""
# A message that is refused: when it has been, all before it were taken.
LAST = {
    "weighing": "wow/otago/last/static",
    "air": "ref/last/hourly",
    "process": "lims/last/result",
}

Numbers = dict[tuple[str, str], tuple]


class Known(NamedTuple):
    """A trade's stream and what must come of it, in whatever order it comes."""

    trade: str
    births: list[RawMessage]
    rest: list[RawMessage]
    pairs: bytes
    numbers: Numbers


def by_name(journal: Journal) -> Records:
    """The standing pairs, their series numbered by name."""
    rows = in_event_order(journal.pairs())
    names = {each.row: (each.sensor, each.quantity) for each in journal.series()}
    ranks = {name: rank for rank, name in enumerate(sorted(names.values()))}
    rows["series"] = [ranks[names[row]] for row in rows["series"].tolist()]
    return np.sort(rows, order=["series", "time", "id"])


def kept(folder: Path) -> bytes:
    journal = Journal(folder / "journal.sqlite")
    found = by_name(journal)
    journal.close()
    return found.tobytes()


def numbers(daemon: Daemon) -> Numbers:
    """What the interface says of each series, but for when it was heard."""
    status, body = daemon.get("/api/v1/series")
    told = ("statistics", "evidence", "pairs", "advice", "last_pair")
    return {
        (each["sensor"], each["quantity"]): tuple(each[name] for name in told)
        for each in (json.loads(body)["series"] if status == 200 else ())
    }


def daemon_of(trade: str, folder: Path, port: int) -> Daemon:
    daemon = Daemon(folder, port)
    text = (CONFIGS / f"{trade}.yaml").read_text(encoding="utf-8")
    daemon.settings.write_text(text + OWN.format(port=port, folder=folder))
    return daemon


def is_revision(message: RawMessage) -> bool:
    if not message.payload.startswith(b"{"):
        return False
    body = json.loads(message.payload)
    return body.get("rev", 1) > 1 or body.get("status") in ("final", "void")


@pytest.fixture(scope="module", params=list(TRADES))
def known(request, tmp_path_factory) -> Known:
    """The stream taken in one piece by one process; its numbers as a daemon publishes them."""
    trade, folder = request.param, tmp_path_factory.mktemp(request.param)
    messages = TRADES[trade](np.random.default_rng(1)).messages
    daemon, now = daemon_of(trade, folder, 1), time.time()
    parts = assemble(load(daemon.settings), now)
    parts.intake.commit(parts.intake.prepare(messages, now))
    parts.network.evaluate(now)
    found = by_name(parts.journal)
    parts.journal.close()
    assert found.size > 80
    daemon.start(ready=False)
    until("it publishes", lambda: numbers(daemon))
    told = numbers(daemon)
    daemon.kill()
    births = [each for each in messages if "BIRTH" in each.topic]
    rest = [each for each in messages if "BIRTH" not in each.topic]
    return Known(trade, births, rest, found.tobytes(), told)


@pytest.fixture
def daemon(known: Known, tmp_path: Path, mosquitto) -> Iterator[Daemon]:
    running = daemon_of(known.trade, tmp_path, mosquitto.port)
    running.start()
    yield running
    running.kill()


def publish(port: int, messages: Sequence[RawMessage]) -> None:
    with BrokerPublisher("127.0.0.1", port) as out:
        for message in messages:
            out.publish(message.topic, message.payload)


def assert_it_knows(daemon: Daemon, known: Known, folder: Path, port: int) -> None:
    """The daemon publishes the numbers, and keeps the pairs, once all that was sent is taken."""
    last = RawMessage(0.0, LAST[known.trade], b"the last")
    publish(port, [last])
    until(
        "the last message is refused",
        lambda: b"the last" in daemon.get("/api/v1/deadletters")[1],
    )
    until("it publishes the numbers", lambda: numbers(daemon) == known.numbers)
    assert daemon.stop() == 0
    assert kept(folder) == known.pairs


@pytest.mark.parametrize("known", ["process", *further("air", "weighing")], indirect=True)
def test_shuffled_and_doubled(known, daemon, tmp_path, mosquitto):
    chance = random.Random(known.trade)
    rest = known.rest + chance.sample(known.rest, len(known.rest) // 3)
    chance.shuffle(rest)
    publish(mosquitto.port, known.births + rest)

    assert_it_knows(daemon, known, tmp_path, mosquitto.port)


@pytest.mark.parametrize("known", ["air", *further("process", "weighing")], indirect=True)
def test_every_revision_after_the_fact(known, daemon, tmp_path, mosquitto):
    revisions = [each for each in known.rest if is_revision(each)]
    rest = [each for each in known.rest if not is_revision(each)]
    assert known.trade == "weighing" or len(revisions) > 20
    publish(mosquitto.port, known.births + rest + revisions)

    assert_it_knows(daemon, known, tmp_path, mosquitto.port)


def test_in_order_and_killed_at_random_places(known, daemon, tmp_path, mosquitto):
    messages = known.births + known.rest
    kills = random.Random(known.trade).sample(range(1, len(messages)), 3)
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        for at, message in enumerate(messages):
            if at in kills:
                daemon.kill()
                daemon.start()
            out.publish(message.topic, message.payload)

    assert_it_knows(daemon, known, tmp_path, mosquitto.port)
