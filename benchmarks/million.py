"""What a million series weigh: all that a daemon holds of them but its page, part by part.

    python benchmarks/million.py [--series 1000000] [--precision single] [--replay 100] [--lanes]
                                 [--evaluate]

Fills the window of every series with pairs through the daemon's own network, alone in its process,
and prints the resident memory after each step, the peak, and what a pair costs.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the harness, for the rows

from engine_rows import (
    AT_ONCE,
    BATCH,
    START,
    WINDOW,
    Source,
    apart,
    network_of,
    rounds_of_all,
    sensor,
)
from rows import Goal, Line
from subscribers import resident_bytes

from monitor.core.model import Reading, Reference
from monitor.core.state.network import Network

GIB = 1 << 30
MILLION = 1_000_000
_GOAL_GIB = 4.0
Told = Callable[[str], None]


def million() -> list[Line]:
    """Return the row of the table: the peak of a process that holds a million full windows."""
    peak = apart(partial(_peak_bytes, MILLION, "single", 100))
    goal = Goal(
        "a million series, their windows of 100 full, single precision, `replay_pairs: 100`: "
        "peak of the process, without snapshots",
        "the goal", 1, limit="rows of the windows, 3.3 of 4.1 kB a series",
    )  # fmt: skip
    return [Line(goal, f"{peak / GIB:.2f} GiB", f"{_GOAL_GIB:.0f} GiB", _GOAL_GIB * GIB / peak)]


def _peak_bytes(series: int, precision: str, replay: int) -> float:
    filled(series, precision, replay, lambda _what: None)
    return float(peak_bytes())


def peak_bytes() -> int:
    """Return the most that this process ever had in memory."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def filled(series: int, precision: str, replay: int, told: Told) -> Network:
    """Return a network whose series have full windows; ``told`` is called after each part."""
    network = network_of(series, WINDOW, precision=precision, replay_pairs=replay)
    told("names, rules, indices")
    source = Source(series)
    began = time.process_time()
    for pairs in rounds_of_all(source, WINDOW):
        network.apply(pairs)
    spent = 1e6 * (time.process_time() - began) / (series * WINDOW)
    told(f"windows and evidence ({spent:.2f} us a pair, {AT_ONCE} a batch)")
    made = [source.batch() for _ in range(100)]
    began = time.process_time()
    for pairs in made:
        network.apply(pairs)
    spent = 1e6 * (time.process_time() - began) / (100 * BATCH)
    told(f"pairs of random series ({spent:.2f} us each, {BATCH} a batch)")
    return network


def main() -> None:
    """Fill and print what each part takes."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--series", type=int, default=MILLION)
    asked.add_argument("--precision", default="single", choices=("single", "double"))
    asked.add_argument("--replay", type=int, default=100, help="pairs a replay looks back on")
    asked.add_argument("--lanes", action="store_true", help="and a reading and a reference of each")
    asked.add_argument("--evaluate", action="store_true", help="and one snapshot of all")
    chosen = asked.parse_args()
    series = chosen.series
    last = float(resident_bytes())
    print(f"{last / 1e6:8.0f} MB  the program")

    def told(what: str) -> None:
        nonlocal last
        now = float(resident_bytes())
        own, peak = (now - last) / series, peak_bytes() / GIB
        print(f"{now / 1e6:8.0f} MB  {what}: {own:.0f} bytes a series; peak {peak:.2f} GiB")
        last = now

    network = filled(series, chosen.precision, chosen.replay, told)
    if chosen.lanes:
        _lanes(network, series)
        told("a reading and a reference held of each")
    if chosen.evaluate:
        began = time.process_time()
        network.evaluate(START, 128)
        told(f"a snapshot ({time.process_time() - began:.0f} s)")


def _lanes(network: Network, series: int) -> None:
    """Let a reading and a reference of every series be held."""
    after = START + 1e7
    for at in range(0, series, AT_ONCE):
        names = [sensor(row) for row in range(at, min(at + AT_ONCE, series))]
        network.observe([Reading(name, "mass", after, 500.0, u=5.0) for name in names], after)
        outcome = network.observe([Reference(name, "mass", after, 500.0) for name in names], after)
        network.apply(outcome.pairs)


if __name__ == "__main__":
    main()
