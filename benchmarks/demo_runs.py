"""Ten minutes of ``monitor demo`` on a simulated clock, many times: who is accused, and of what.

    python benchmarks/demo_runs.py [--seeds 20] [--seconds 600]

Rules of this file: the fleet, the settings and the ledger of alerts are the demonstration's own;
its clock and its broker are left out; `monitor neighbours` reads the days of the hill. Ends
with 1 if an honest cart, or the scale, was accused, if a planted fault was not one incident that is
called by its name in the end, if neighbours named another cart of the hill, or if the ranking is
empty.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from monitor.alerts.dispatch import Dispatch
from monitor.alerts.ledger import View
from monitor.alerts.transition import Transition
from monitor.cli import main as main_of_monitor
from monitor.commands.demo import INTERVAL_SECONDS, SETTINGS
from monitor.config import parse
from monitor.config.core_plan import plan_of
from monitor.core.snapshot.details import Contest
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.state.network import Network
from monitor.files.exporting import write_stream
from monitor.http.rankings import table
from monitor.journal import Batch, Journal
from monitor.journal.in_memory import InMemoryStore
from monitor.simulate.carts import HILL, HILL_DAYS, QUANTITY, RACE, CartFleet, hill_yard

START = 1_780_000_000.0
DRIFTING = [cart.sensor for cart in HILL if cart.alert]


class Demo(NamedTuple):
    """What one run showed; ``told`` by sensor, the oldest first; ``incidents`` each had."""

    told: dict[str, list[Transition]]
    incidents: Counter[str]
    snapshot: Snapshot
    network: Network


def run(seed: int, seconds: float) -> Demo:
    """Return what the demonstration says within ``seconds``."""
    with TemporaryDirectory() as folder, closing(Journal(Path(folder, "alerts.sqlite"))) as journal:
        return _shown(seed, seconds, Dispatch(journal.alerts))


def _shown(seed: int, seconds: float, dispatch: Dispatch) -> Demo:
    text = SETTINGS.format(host="h", port=1, state="/nowhere")
    store = InMemoryStore()
    network = Network(plan_of(parse(text.encode(), "demo")), store)
    fleet = CartFleet(np.random.default_rng(seed), START, INTERVAL_SECONDS, RACE, race=True)
    told: dict[str, list[Transition]] = {cart.sensor: [] for cart in RACE}
    incidents: Counter[str] = Counter()
    firing: set[str] = set()
    for now in _clock(seconds):
        observations = fleet.step(now)
        outcome = network.observe(observations, now)
        store.append(Batch(observations=tuple(observations), pairs=outcome.pairs))
        network.apply(outcome.pairs)
        snapshot = network.evaluate(now)
        taken_back = network.drain_taken_back()
        now_firing = {
            name.sensor
            for name, state in zip(snapshot.names, snapshot.states, strict=True)
            if state == "firing"
        }
        incidents.update(now_firing - firing)
        firing = now_firing
        last = dispatch.history[0].seq if dispatch.history else 0
        dispatch.notify(View(snapshot, network.drain_transitions(), taken_back))
        for each in reversed(dispatch.history):
            if each.seq > last and each.is_news:
                told.setdefault(each.sensor, [])
                told[each.sensor].append(each)
    return Demo(told, incidents, snapshot, network)


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
    """Return what the end of a run does not say as it is, of every cart with a fault."""
    rows = {name.sensor: row for row, name in enumerate(demo.snapshot.names)}
    found = []
    for cart in RACE:
        state = demo.snapshot.states[rows[cart.sensor]]
        if cart.kind == "stops" and state != "stale":
            found.append(f"{cart.sensor} fell silent, and is {state}")
        if not cart.alert:
            continue
        fired = [each.alert for each in demo.told[cart.sensor] if each.fires]
        if state != "firing" or fired[-1:] != [cart.alert]:
            found.append(f"{cart.sensor} is {state}, last called {', '.join(fired[-1:])}")
        if demo.incidents[cart.sensor] != 1:
            found.append(f"{cart.sensor} had {demo.incidents[cart.sensor]} incidents")
    return found


def compared(demo: Demo) -> tuple[int, int]:
    """Return how many carts the ranking holds, on how many common events."""
    found = table(demo.network.contenders(Contest(QUANTITY), demo.snapshot.time), "accuracy")
    return len(found["series"]), found["events"]


def left_neighbours(seed: int) -> list[str]:
    """Return the carts of the hill whose neighbours say that they left them."""
    with TemporaryDirectory() as folder:
        stream = Path(folder, "hill.csv")
        fleet = hill_yard(np.random.default_rng(seed), START)
        observations = fleet.step(START + 86_400.0 * HILL_DAYS)
        with stream.open("w", encoding="utf-8", newline="") as out:
            write_stream(out, observations, fleet.units, "csv")
        said = StringIO()
        with redirect_stdout(said):
            main_of_monitor(["neighbours", str(stream), "--json"])
    series = json.loads(said.getvalue())
    return [each["sensor"] for each in series if each["state"] == "apart"]


class Told(NamedTuple):
    """What is printed of one run."""

    lines: dict[str, str]
    accused: list[str]
    left_over: list[str]
    drift: str
    least_available: float
    compared: tuple[int, int]
    left_neighbours: list[str]


def _job(seed: int, seconds: float) -> Told:
    demo = run(seed, seconds)
    drift = next(cart.sensor for cart in RACE if cart.kind == "drift")
    silent = {cart.sensor for cart in RACE if cart.kind == "stops"}
    row = [name.sensor for name in demo.snapshot.names].index(drift)
    shares = demo.snapshot.statistics["availability_ratio"].tolist()
    return Told(
        line(demo),
        accused(demo),
        left_over(demo),
        f"{drift} {demo.snapshot.sentences[row]}",
        min(
            share
            for name, share in zip(demo.snapshot.names, shares, strict=True)
            if name.sensor not in silent
        ),
        compared(demo),
        left_neighbours(seed),
    )


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=600.0)
    options = parser.parse_args()
    began, wrong, accused_falsely = time.perf_counter(), 0, 0
    with ProcessPoolExecutor(2) as pool:
        runs = pool.map(partial(_job, seconds=options.seconds), range(options.seeds))
        for seed, found in enumerate(runs):
            accused_falsely += bool(found.accused)
            sensors, events = found.compared
            apart = found.left_neighbours
            is_wrong = found.accused or found.left_over or not events or apart != DRIFTING
            wrong += bool(is_wrong)
            print(f"seed {seed}: accused although honest: {', '.join(found.accused) or 'none'}")
            print(f"    not as it is: {', '.join(found.left_over) or 'nothing'}; {found.drift}")
            print(f"    ranked: {sensors} carts on {events} events", end="; ")
            print(f"each saw at least {found.least_available:.0%} of its references")
            print(f"    left their neighbours: {', '.join(apart) or 'none'}")
            for sensor, said in found.lines.items():
                if said:
                    print(f"    {sensor} {said}", flush=True)
    print(
        f"{accused_falsely} of {options.seeds} with a false accusation, {wrong} with anything wrong"
    )
    print(f"{time.perf_counter() - began:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
