"""The core on blocks of sensors, without Spark: what a message, a load and a byte of state cost.

Beside it, in the same run and by turns, the daemon's own engine (its intake, with a journal on
disk) on the same messages, and what a bridge does to each. Processor time (user + system) of this
process; quote the ratios. Run: python benchmarks/cluster.py [--sensors 256] [--growth]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np

from monitor.config import Settings, parse
from monitor.daemon.assembly import Parts, assemble
from monitor.daemon.runtime import OF_WORKERS, freeze_after_start, retain_freed
from monitor.extensions.cluster import results
from monitor.extensions.cluster.block import Block
from monitor.extensions.cluster.log_records import (
    LogMessage,
    dump_record,
    load_record,
    pack_messages,
    unpack_messages,
)
from monitor.extensions.cluster.placing import Placing
from monitor.extensions.cluster.recipes import recipe_of

START = 1_767_225_600
A_BLOCK = 64
WINDOW = 200
APART = 2.0
HELD_MINUTES = 2.0
# What is asked for, by messages a sensor and batch: 50 000 pairs/s are twice as many messages.
AIMS = {" 300 messages": 100_000, " 12 messages": 40_000}
SETTINGS = """
series: {{max: 1000000, max_new_per_minute: 1000000}}
windows: {{pairs: {window}}}
pairing: {{tolerance_seconds: 1, max_wait_hours: {hours}, max_pending: 10000000}}
journal: {{path: "{folder}/journal.sqlite"}}
cluster: {{blocks: {blocks}, history_pairs: {history}, log: {{partitions: 1}}}}
"""


def settings_of(folder: str, sensors: int) -> Settings:
    """Return settings for so many sensors, some 64 to a block."""
    text = SETTINGS.format(
        window=WINDOW,
        hours=HELD_MINUTES / 60.0,
        folder=folder,
        blocks=max(1, sensors // A_BLOCK),
        history=WINDOW + 56,
    )
    return parse(text.encode(), "benchmark")


def batch(sensors: range, number: int, a_sensor: int) -> Iterator[LogMessage]:
    """Yield the messages of one batch: a reading and its reference, ``a_sensor`` of them each."""
    chance = np.random.default_rng(number)
    for event in range(number * a_sensor // 2, (number + 1) * a_sensor // 2):
        seconds = START + event * APART
        stamp = datetime.fromtimestamp(seconds, UTC).isoformat()
        truths = chance.uniform(400.0, 600.0, len(sensors))
        errors = chance.standard_normal(len(sensors))
        for sensor, truth, error in zip(sensors, truths.tolist(), errors.tolist(), strict=True):
            said = {"time": stamp, "value": truth + error, "u": 1.0}
            topic = f"monitor/s{sensor}/mass/reading"
            yield LogMessage(int(seconds) + 1, topic, json.dumps(said).encode())
            said = {"time": stamp, "value": truth, "u": 0.1}
            topic = f"monitor/s{sensor}/mass/reference"
            yield LogMessage(int(seconds) + 1, topic, json.dumps(said).encode())


class Cost:
    """Seconds of processor time by what they were spent on."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}

    def on(self, name: str, began: float) -> None:
        """Count the time since ``began``."""
        self.spent[name] = self.spent.get(name, 0.0) + time.process_time() - began


def by_blocks(messages: list[LogMessage], count: int) -> list[list[LogMessage]]:
    """Return the messages of each block of sensors, as if sensors were placed in their order."""
    found: list[list[LogMessage]] = [[] for _ in range(count)]
    for message in messages:
        found[int(message.topic.split("/")[1][1:]) // A_BLOCK].append(message)
    return found


def compared(sensors: int, a_sensor: int, warm: int, measured: int) -> dict[str, float]:
    """Return microseconds a message of each part, blocks and daemon by turns."""
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_of(folder, sensors)
        recipe, count = recipe_of(settings), max(1, sensors // A_BLOCK)
        parts = assemble(settings, float(START))
        placing = Placing(settings)
        kept = [Block(recipe) for _ in range(count)]
        cost, messages, size = Cost(), 0, 0
        for number in range(warm + measured):
            came = list(batch(range(sensors), number, a_sensor))
            if number == warm:
                cost, messages = Cost(), 0
            messages += len(came)
            bodies = bridged(placing, came, cost)
            began = time.process_time()
            packed = [
                pack_messages(each)
                for each in by_blocks([load_record(b).message for b in bodies], count)
            ]
            cost.on("source", began)
            for at, body in enumerate(packed):
                began = time.process_time()
                found = kept[at].apply(unpack_messages(body))
                cost.on("apply", began)
                began = time.process_time()
                state = kept[at].dump()
                cost.on("dump", began)
                size = len(state)
                began = time.process_time()
                (
                    results.dump(results.block_report(found, 100, size)),
                    results.dump(results.changed(found)),
                )
                cost.on("results", began)
                if number == warm + measured - 1:
                    began = time.process_time()
                    Block(recipe, state)
                    cost.on("load, once a block", began)
            daemon(parts, came, cost)
        parts.journal.close()
    figures = {name: 1e6 * spent / messages for name, spent in cost.spent.items()}
    load = cost.spent["load, once a block"] / count
    figures["load, once a block"] = 1e3 * load
    figures["state, bytes a sensor"] = size / A_BLOCK
    return figures


def bridged(placing: Placing, messages: list[LogMessage], cost: Cost) -> list[bytes]:
    """Return the records that a bridge writes."""
    began = time.process_time()
    topics, payloads = [m.topic for m in messages], [m.payload for m in messages]
    decoded = placing.router.decode_all(topics, payloads, float(messages[-1].received))
    places = placing.places(topics, decoded)
    bodies = [
        dump_record(named, message)
        for message, blocks in zip(messages, places, strict=True)
        for named in placing.partitioned(blocks).values()
    ]
    cost.on("bridge", began)
    return bodies


def daemon(parts: Parts, messages: list[LogMessage], cost: Cost) -> None:
    """Let the daemon's own engine take the messages, 4096 at a time, and evaluate once."""
    began = time.process_time()
    for at in range(0, len(messages), 4096):
        some = messages[at : at + 4096]
        parts.intake.commit(parts.intake.prepare(some, float(some[-1].received)))
    parts.network.expire(float(messages[-1].received))
    parts.network.evaluate(float(messages[-1].received))
    cost.on("daemon", began)


def shown(title: str, figures: dict[str, float]) -> None:
    """Print one table and what follows from it."""
    print(f"\n{title}")
    for name, value in figures.items():
        print(f"  {name:24s} {value:10.1f}")
    engine = sum(figures[name] for name in ("source", "apply", "dump", "results"))
    print(f"  {'engine, us a message':24s} {engine:10.1f}")
    print(f"  {'messages/s a core':24s} {1e6 / engine:10.0f}")
    print(f"  {'pairs/s a core':24s} {0.5e6 / engine:10.0f}")
    aim = next(aim for words, aim in AIMS.items() if words in title)
    print(f"  {'aim, messages/s a core':24s} {aim:10d}")
    print(f"  {'engine over daemon':24s} {engine / figures['daemon']:10.2f}")
    print(f"  {'bridge, messages/s':24s} {1e6 / figures['bridge']:10.0f}")


def grown() -> None:
    """Print the cost of a message with ten and a hundred times as many sensors."""
    for sensors in (2048, 20_480):
        costs = [compared(sensors, 12, 2, 1) for _ in range(1)]
        cost = {name: statistics.median(each[name] for each in costs) for name in costs[0]}
        shown(f"{sensors} sensors, 12 messages a sensor and batch, us a message", cost)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sensors", type=int, default=256)
    parser.add_argument("--growth", action="store_true")
    options = parser.parse_args()
    if options.growth:
        grown()
        sys.exit()
    freeze_after_start()  # as a daemon does, and a worker
    retain_freed(*OF_WORKERS)  # as cluster.workers does
    for a_sensor, warm, measured in ((300, 2, 1), (12, 44, 4)):
        title = f"{options.sensors} sensors, {a_sensor} messages a sensor and batch, us a message"
        shown(title, compared(options.sensors, a_sensor, warm, measured))


if __name__ == "__main__":
    main()
