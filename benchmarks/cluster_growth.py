"""How the cluster grows: what a message, a batch and a byte of state cost from 2000 sensors on.

Blocks are alone in what they know, so a fleet grows by more of them. For each size of it every
block takes a batch of 12 messages a sensor and is dumped; the states of the fleet are kept as
bytes, and the driver takes what every block says. Processor time of this process; the rest is
arithmetic, printed with the numbers it is made of.
Run: python benchmarks/cluster_growth.py [--sizes 2000 ...] [--window 100]
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from monitor.config import parse
from monitor.extensions.cluster import results
from monitor.extensions.cluster.block import Block, Recipe
from monitor.extensions.cluster.fleet_verdicts import Fleet
from monitor.extensions.cluster.log_records import LogMessage, pack_messages, unpack_messages
from monitor.extensions.cluster.recipes import recipe_of

START = 1_767_225_600
A_BLOCK = 64
EVENTS = 6  # of each sensor in a batch: a reading with its reference each
APART = 10.0
WORST = 4  # calm series that a block shows
SETTINGS = """
series: {{max: {most}, max_new_per_minute: {most}}}
windows: {{pairs: {window}, precision: single}}
pairing: {{tolerance_seconds: 1, max_wait_hours: 0.02, max_pending: 100000000}}
cluster: {{blocks: {blocks}, history_pairs: {history}, log: {{partitions: 1}}}}
"""
GOAL_SENSORS, GOAL_RATE, TRIGGER = 10_000_000, 1_000_000, 10.0


class Figures(NamedTuple):
    """One size of the fleet; times in s of processor time."""

    sensors: int
    blocks: int
    messages: int
    apply: float
    load: float
    dump: float
    say: float
    driver: float
    state: int
    said: int
    memory: float

    @property
    def message(self) -> float:
        """Microseconds a message, blocks in memory."""
        return 1e6 * (self.apply + self.dump + self.say) / self.messages


def batch(block: int, events: range, sensors: int) -> Iterator[LogMessage]:
    """Yield one batch of one block; a sensor in fifty is off."""
    chance = np.random.default_rng((block, events.start))
    for event in events:
        seconds = START + event * APART
        stamp = datetime.fromtimestamp(seconds, UTC).isoformat()
        truths = chance.uniform(400.0, 600.0, sensors).tolist()
        errors = chance.standard_normal(sensors).tolist()
        for at, (truth, error) in enumerate(zip(truths, errors, strict=True)):
            number_of = block * A_BLOCK + at
            off = 8.0 if number_of % 50 == 0 else 0.0
            said = {"time": stamp, "value": truth + error + off, "u": 1.0}
            came = int(seconds) + 1
            topic = f"monitor/s{number_of}/mass/reading"
            yield LogMessage(came, topic, json.dumps(said).encode())
            said = {"time": stamp, "value": truth, "u": 0.1}
            topic = f"monitor/s{number_of}/mass/reference"
            yield LogMessage(came, topic, json.dumps(said).encode())


def measured(sensors: int, window: int) -> Figures:
    """Return what a fleet costs."""
    blocks = -(-sensors // A_BLOCK)
    history = max(64, window)
    text = SETTINGS.format(window=window, blocks=blocks, history=history, most=sensors)
    recipe = recipe_of(parse(text.encode(), "benchmark"))
    fleet, spent = Fleet(100), dict.fromkeys(("apply", "load", "dump", "say", "driver"), 0.0)
    state = said = messages = 0
    everything: list[tuple[int, results.BlockReport]] = []
    states: list[bytes] = []
    for number in range(blocks):
        size = min(A_BLOCK, sensors - number * A_BLOCK)
        body = one(recipe, number, size, spent)
        messages += 2 * size * EVENTS
        states.append(body.state)
        state, said = state + len(body.state), said + len(body.said)
        everything.append((number, results.load_report(body.said)))
    began = time.process_time()
    fleet.update(everything)
    fleet.verdict()
    fleet.shown()
    spent["driver"] = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    return Figures(sensors, blocks, messages, **spent, state=state, said=said, memory=memory)


class Body(NamedTuple):
    """A block as bytes, and what it said last."""

    state: bytes
    said: bytes


def one(recipe: Recipe, number: int, size: int, spent: dict[str, float]) -> Body:
    """Return a block that has its series, after one batch more, which is what is measured."""
    block = Block(recipe, None, number)
    block.apply([*batch(number, range(1), size)])
    packed, before = pack_messages(batch(number, range(1, 1 + EVENTS), size)), block.dump()

    def on(name: str, began: float) -> float:
        now = time.process_time()
        spent[name] += now - began
        return time.process_time()

    now = time.process_time()
    found = block.apply(unpack_messages(packed))
    now = on("apply", now)
    state = block.dump()
    now = on("dump", now)
    said = results.dump(results.block_report(found, WORST, len(state)))
    results.dump(results.changed(found))
    now = on("say", now)
    Block(recipe, before, number)
    on("load", now)
    return Body(state, said)


def full(window: int) -> tuple[int, int]:
    """Return the bytes of a block's state in its steady state, in double and single precision."""
    found = []
    for precision in ("double", "single"):
        text = SETTINGS.format(window=window, blocks=1, history=max(64, window), most=A_BLOCK)
        recipe = recipe_of(parse(text.replace("single", precision).encode(), "benchmark"))
        block, sizes = Block(recipe), []
        for first in range(0, 3 * window, EVENTS):
            block.apply([*batch(0, range(first, first + EVENTS), A_BLOCK)])
            if first > 2 * window:
                sizes.append(len(block.dump()))
        found.append(int(np.mean(sizes)) // A_BLOCK)
    return found[0], found[1]


def table(found: list[Figures]) -> None:
    """Print what was measured."""
    print(
        "sensors  blocks   messages  us a message  load, ms a block  driver, us a sensor  peak MB"
    )
    for each in found:
        print(
            f"{each.sensors:7d} {each.blocks:7d} {each.messages:10d} {each.message:13.1f} "
            f"{1e3 * each.load / each.blocks:17.1f} {1e6 * each.driver / each.sensors:20.1f} "
            f"{each.memory:8.0f}"
        )
    last = found[-1]
    batch_seconds = 1e-6 * last.message * last.messages
    print(
        f"one batch of {last.sensors} sensors ({last.messages} messages): {batch_seconds:.1f} s of "
        f"one core and {last.driver:.1f} s of the driver; what blocks say of it: "
        f"{last.said / last.sensors:.0f} bytes a sensor"
    )


def extrapolated(last: Figures, states: tuple[int, int], window: int) -> None:
    """Print the arithmetic for ten million sensors and a million readings a second."""
    messages = 2 * GOAL_RATE  # every reading with its reference
    cores = messages * last.message / 1e6
    blocks = GOAL_SENSORS / A_BLOCK
    heard = min(GOAL_SENSORS, GOAL_RATE * TRIGGER)
    print(f"\n{GOAL_SENSORS} sensors and {GOAL_RATE} readings/s, each with its reference:")
    print(
        f"  {messages} messages/s x {last.message:.1f} us = {cores:.0f} cores; plan {2 * cores:.0f}"
    )
    print(f"  {GOAL_SENSORS} / {A_BLOCK} = {blocks:.0f} blocks")
    for precision, size in zip(("double", "single"), states, strict=True):
        total = GOAL_SENSORS * size
        print(
            f"  state, {precision}, {window} pairs in the window: {GOAL_SENSORS} x {size} bytes = "
            f"{total / 1e9:.0f} GB; all of it every {TRIGGER:.0f} s is {total / TRIGGER / 1e9:.1f} "
            "GB/s, if every block is heard in every batch"
        )
    said = heard * last.said / last.sensors
    driver = heard * last.driver / last.sensors
    print(
        f"  to the driver, a sensor in fifty off: {heard:.0f} sensors a batch x "
        f"{last.said / last.sensors:.0f} bytes = {said / 1e9:.1f} GB, {driver:.0f} s a batch"
    )


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 20_000, 200_000])
    parser.add_argument("--window", type=int, default=100)
    options = parser.parse_args()
    found = [measured(sensors, options.window) for sensors in options.sizes]
    states = full(options.window)
    table(found)
    print(f"state, bytes a sensor: {states[0]} double, {states[1]} single")
    extrapolated(found[-1], states, options.window)


if __name__ == "__main__":
    main()
