"""What a million series weigh: all that a daemon holds of them but its page, part by part.

    python benchmarks/million.py [--series 1000000] [--window 100] [--precision single]
                                 [--replay 100] [--lanes] [--evaluate]

Fills the window of every series with pairs through the daemon's own network, alone in its process,
and prints the resident memory after each step, the peak, and what a pair costs.
"""

from __future__ import annotations

import argparse
import resource
import time

from engine_rows import BATCH, START, Source, network_of, rounds_of_all
from subscribers import resident_bytes

from monitor.core.model import Reading, Reference
from monitor.core.network import Network

GIB = 1 << 30


def main() -> None:
    """Fill and print."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--series", type=int, default=1_000_000)
    asked.add_argument("--window", type=int, default=100)
    asked.add_argument("--precision", default="single", choices=("single", "double"))
    asked.add_argument("--replay", type=int, default=100, help="pairs a replay looks back on")
    asked.add_argument("--lanes", action="store_true", help="and a reading and a reference of each")
    asked.add_argument("--evaluate", action="store_true", help="and one snapshot of all")
    chosen = asked.parse_args()
    series, before = chosen.series, resident_bytes()
    print(f"{before / 1e6:8.0f} MB  the program")

    def tell(what: str, since: float) -> float:
        now = float(resident_bytes())
        peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        grown = (now - since) / series
        print(f"{now / 1e6:8.0f} MB  {what}: {grown:.0f} bytes a series; peak {peak / GIB:.2f} GiB")
        return now

    network = network_of(
        series, chosen.window, replay_pairs=chosen.replay, precision=chosen.precision
    )
    now = tell("names, rules, indices", before)
    source = Source(series)
    began = time.process_time()
    for pairs in rounds_of_all(source, chosen.window):
        network.apply(pairs)
    spent = (time.process_time() - began) / (series * chosen.window)
    now = tell(f"windows and evidence, {1e6 * spent:.2f} us a pair", now)
    made = [source.batch() for _ in range(100)]
    began = time.process_time()
    for pairs in made:
        network.apply(pairs)
    spent = (time.process_time() - began) / (100 * BATCH)
    now = tell(f"pairs of random series, {BATCH} a batch, {1e6 * spent:.2f} us each", now)
    if chosen.lanes:
        _lanes(network, series)
        now = tell("a reading and a reference held of each", now)
    if chosen.evaluate:
        began = time.process_time()
        network.evaluate(START, 128)
        tell(f"a snapshot, {time.process_time() - began:.0f} s", now)


def _lanes(network: Network, series: int) -> None:
    """Let a reading and a reference of every series be held."""
    after = START + 1e7
    for at in range(0, series, 10_000):
        names = [f"sensor-{row:07}" for row in range(at, min(at + 10_000, series))]
        network.observe([Reading(name, "mass", after, 500.0, u=5.0) for name in names], after)
        outcome = network.observe([Reference(name, "mass", after, 500.0) for name in names], after)
        network.apply(outcome.pairs)


if __name__ == "__main__":
    main()
