"""What pairing costs beside decoding, with many readings pending; what a pending reading weighs.

Both are measured in one run on the same messages: decoding through the router as the daemon does
it, pairing by handing the decoded readings and references to a Pairing that already holds 100 000
readings. Run: python benchmarks/pairing.py
"""

from __future__ import annotations

import gc
import json
import statistics
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from monitor.config import Settings, load
from monitor.config.core_plan import plan_of, router_of
from monitor.core.model import Observation, Reading, Reference
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.observations import observed
from monitor.decode import Rejected
from monitor.journal.in_memory import InMemoryStore
from monitor.simulate.playback import RawMessage
from monitor.simulate.trades import TRADES

CONFIGS = Path(__file__).parents[1] / "configs"

PENDING = 100_000
SENSORS = 1000
ROUNDS = 7
ROUND_SECONDS = 20  # of event time, a reading a sensor each; a reference a sensor in each round
START = 1_772_000_000
NOW = 1_780_000_000.0


def messages(first: int) -> list[tuple[str, bytes]]:
    """Return readings of all sensors, one a second, and a reference to one in twenty of them."""
    made = []
    for second in range(ROUND_SECONDS):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START + first + second))
        line = json.dumps({"time": stamp, "value": 512.25, "u": 5.0}).encode()
        for sensor in range(SENSORS):
            made.append((f"monitor/s{sensor}/mass/reading", line))
            if sensor % ROUND_SECONDS == second:
                made.append((f"monitor/s{sensor}/mass/reference", line))
    return made


def give(pairing: Pairing, batch: Sequence[Observation], rows: dict[tuple[str, str], int]) -> None:
    """Hand observations to the pairing, as the network does."""
    whole = observed(batch)
    taken = pairing.ingest_plain(whole.plain, NOW)
    left = [taken.size + at for at in pairing.ingest_in_order(whole.others, NOW)]
    for at in (*np.flatnonzero(taken < 0).tolist(), *left):
        observation = whole[at]
        if isinstance(observation, Reading):
            name = (observation.sensor, observation.quantity)
            row = rows.setdefault(name, len(rows))
            readings = pairing.buffer_of(observation) or pairing.open_buffer(observation, row)
            pairing.ingest_reading(readings, observation, NOW)
        elif isinstance(observation, Reference):
            pairing.add_reference(observation, NOW)
    pairing.drain_changes()


def main() -> None:
    """Print the ratio, and the bytes a pending reading takes."""
    settings = Settings()
    plan, router = plan_of(settings), router_of(settings)
    pairing = Pairing(
        lambda sensor, quantity: plan.rules_of(sensor, quantity).pairing,
        plan.match_on,
        InMemoryStore(),
    )
    rows: dict[tuple[str, str], int] = {}
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for second in range(PENDING // SENSORS):
        give(
            pairing,
            [
                Reading(f"s{sensor}", "mass", START - 10_000.0 + 70.0 * second, 512.25, u=5.0)
                for sensor in range(SENSORS)
            ],
            rows,
        )
    held = pairing.readings
    weight = (tracemalloc.get_traced_memory()[0] - before) / held
    tracemalloc.stop()
    decoding, matching = [], []
    for number in range(ROUNDS):
        sent = messages(number * ROUND_SECONDS)
        gc.collect()
        began = time.process_time()
        decoded = router.decode_all(*zip(*sent, strict=True), NOW).observations
        between = time.process_time()
        give(pairing, decoded, rows)
        ended = time.process_time()
        decoding.append(1e6 * (between - began) / len(sent))
        matching.append(1e6 * (ended - between) / len(sent))
    ratio = statistics.median(m / d for m, d in zip(matching, decoding, strict=True))
    print(
        f"{held} readings pending, {weight:.0f} bytes each; a native message: decoding "
        f"{statistics.median(decoding):.2f} us, pairing {statistics.median(matching):.2f} us, "
        f"ratio {ratio:.2f}"
    )
    for name, simulate in TRADES.items():
        print(f"{name}: {trade(name, simulate(np.random.default_rng(1)).messages)}")


def trade(name: str, sent: list[RawMessage]) -> str:
    """Return the two costs for the stream of a trade with its settings."""
    settings = load(CONFIGS / f"{name}.yaml")
    plan = plan_of(settings)
    ratios, figures = [], ""
    for _ in range(ROUNDS):
        router = router_of(settings)
        pairing = Pairing(
            lambda sensor, quantity: plan.rules_of(sensor, quantity).pairing,
            plan.match_on,
            InMemoryStore(),
            plan.concerns_of,
        )
        decoded: list[Observation] = []
        began = time.process_time()
        for message in sent:
            try:
                found = router.decode(message.topic, message.payload, NOW)
            except Rejected:
                continue
            decoded += [each for each in found if not isinstance(each, Rejected)]
        between = time.process_time()
        give(pairing, decoded, {})
        ended = time.process_time()
        ratios.append((ended - between) / (between - began))
        figures = (
            f"a message: decoding {1e6 * (between - began) / len(sent):.2f} us, "
            f"pairing {1e6 * (ended - between) / len(sent):.2f} us"
        )
    return f"{figures}, ratio {statistics.median(ratios):.2f}"


if __name__ == "__main__":
    main()
