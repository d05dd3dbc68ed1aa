"""Ten minutes of ``monitor demo`` on a simulated clock, many times: who is accused, and of what.

    python benchmarks/demo_runs.py [--seeds 20] [--seconds 600]

Rules of this file: the fleet, the settings and the ledger of alerts are the demonstration's own;
its clock and its broker are left out. Ends with 1 if an honest cart, or the scale, was accused.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np

from monitor.alerts.dispatch import Dispatch
from monitor.alerts.ledger import View
from monitor.alerts.transition import Transition
from monitor.commands.demo import INTERVAL_SECONDS, SETTINGS
from monitor.config import parse
from monitor.config.core_plan import plan_of
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.state.network import Network
from monitor.journal import Batch, InMemoryStore
from monitor.journal.in_memory import InMemoryAlertLog
from monitor.simulate.carts import RACE, CartFleet

START = 1_780_000_000.0


class Demo(NamedTuple):
    """What one run showed; ``told`` by sensor, the oldest first."""

    told: dict[str, list[Transition]]
    snapshot: Snapshot
    network: Network


def run(seed: int, seconds: float) -> Demo:
    """Return what the demonstration says within ``seconds``."""
    text = SETTINGS.format(host="h", port=1, state="/nowhere")
    store = InMemoryStore()
    network = Network(plan_of(parse(text.encode(), "demo")), store)
    dispatch = Dispatch(InMemoryAlertLog())
    fleet = CartFleet(np.random.default_rng(seed), START, INTERVAL_SECONDS, RACE, race=True)
    told: dict[str, list[Transition]] = {cart.sensor: [] for cart in RACE}
    for now in _clock(seconds):
        observations = fleet.step(now)
        outcome = network.observe(observations, now)
        store.append(Batch(observations=tuple(observations), pairs=outcome.pairs))
        network.apply(outcome.pairs)
        snapshot = network.evaluate(now)
        taken_back = frozenset(network.replayer.taken_back)
        last = dispatch.history[0].seq if dispatch.history else 0
        dispatch.notify(
            View(snapshot, network.fault_report, network.drain_transitions(), taken_back)
        )
        for each in reversed(dispatch.history):
            if each.seq > last and each.is_news:
                told.setdefault(each.sensor, [])
                told[each.sensor].append(each)
    return Demo(told, snapshot, network)


def _clock(seconds: float) -> Iterator[float]:
    passed = 0.0
    while passed < seconds:
        passed += 1.0
        yield START + passed


def line(demo: Demo) -> dict[str, str]:
    """Return by sensor what was said of it in the order in which it was said."""
    return {
        sensor: "; ".join(
            f"{each.notified - START:.0f} s {each.alert} {each.after}: {each.sentence}"
            for each in transitions
        )
        for sensor, transitions in demo.told.items()
    }


def accused(demo: Demo) -> list[str]:
    """Return the honest carts of which an alert fired."""
    faulty = {cart.sensor for cart in RACE if cart.alert}
    return [name for name, said in demo.told.items() if said and name not in faulty]


def left_over(demo: Demo) -> list[str]:
    """Return the faulty carts that the end of a run does not name, and a silent one not seen."""
    rows = {name.sensor: row for row, name in enumerate(demo.snapshot.names)}
    states = {name: demo.snapshot.states[row] for name, row in rows.items()}
    wanted = {"stops": "stale"}
    return [
        cart.sensor
        for cart in RACE
        if (cart.alert or cart.kind in wanted)
        and states[cart.sensor] != wanted.get(cart.kind, "firing")
    ]


def _job(seed: int, seconds: float) -> tuple[dict[str, str], list[str], list[str], str]:
    demo = run(seed, seconds)
    drift = next(cart.sensor for cart in RACE if cart.kind == "drift")
    row = [name.sensor for name in demo.snapshot.names].index(drift)
    return line(demo), accused(demo), left_over(demo), f"{drift} {demo.snapshot.sentences[row]}"


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=600.0)
    options = parser.parse_args()
    began, wrong = time.perf_counter(), 0
    with ProcessPoolExecutor(2) as pool:
        runs = pool.map(partial(_job, seconds=options.seconds), range(options.seeds))
        for seed, (told, honest, missed, drift) in enumerate(runs):
            wrong += bool(honest)
            print(f"seed {seed}: accused although honest: {', '.join(honest) or 'none'}")
            print(f"    not named at the end: {', '.join(missed) or 'none'}; {drift}")
            for sensor, said in told.items():
                if said:
                    print(f"    {sensor} {said}", flush=True)
    print(
        f"{wrong} of {options.seeds} with a false accusation; {time.perf_counter() - began:.0f} s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
