"""Rows of the table about the engine alone: windows and detector, growth, memory.

Pairs are handed to the daemon's own network as it gets them from the journal's commit.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from rows import Goal, Line, line
from subscribers import peers_python, resident_bytes

from monitor.config import Settings
from monitor.config.core_plan import plan_of
from monitor.core.model import PAIR, Reading, Records
from monitor.core.pairing.identities import digest
from monitor.core.registry import KnownSeries
from monitor.core.state.network import Network
from monitor.core.windows.rings import combined
from monitor.core.windows.windows import Windows
from monitor.journal.in_memory import InMemoryStore
from monitor.journal.store import NO_PAIRS

START = 1_767_225_600.0
BATCH = 1000
AT_ONCE = 10_000
SCORES = 8
WINDOW = 100
MILLION = 1_000_000
PENDING = 200_000
_RIVER = Path(__file__).with_name("river_peer.py")


class Source:
    """Makes batches of pairs: of random series, each pair newer than all before."""

    def __init__(self, series: int, *, seed: int = 1) -> None:
        self.series = series
        self._chance = np.random.default_rng(seed)
        self._made = 0
        self._names = np.array([digest(sensor(row)) for row in range(series)], np.uint64)

    def batch(self, size: int = BATCH, series: np.ndarray | None = None) -> Records:
        """Return the next pairs; ``series`` says of whom, by chance without."""
        pairs = np.zeros(size, PAIR)
        chosen = self._chance.integers(0, self.series, size) if series is None else series
        pairs["series"] = chosen
        pairs["reference_id"] = np.arange(self._made + 1, self._made + 1 + size)
        pairs["id"] = combined(self._names[chosen], pairs["reference_id"])
        pairs["time"] = START + 0.001 * np.arange(self._made, self._made + size)
        pairs["reference"] = self._chance.normal(500.0, 50.0, size)
        pairs["u"] = 5.0
        pairs["value"] = pairs["reference"] + self._chance.normal(0.0, 5.0, size)
        for name in ("lower", "upper", "p", "crps"):
            pairs[name] = np.nan
        pairs["u_ref"] = 0.5
        self._made += size
        return pairs


def sensor(row: int) -> str:
    """Return the name of the sensor in a row."""
    return f"sensor-{row:07}"


def network_of(series: int, window: int = WINDOW, **windows: str | int) -> Network:
    """Return a network that knows so many series."""
    settings = Settings.model_validate(
        {"series": {"max": series}, "windows": {"pairs": window, **windows}}
    )
    network = Network(plan_of(settings), InMemoryStore())
    network.restore_series(
        KnownSeries(row, sensor(row), "mass", "kg", START) for row in range(series)
    )
    return network


def rounds_of_all(source: Source, window: int) -> Iterator[Records]:
    """Yield pairs that fill the window of every series."""
    every = np.arange(source.series)
    for _ in range(window):
        for at in range(0, every.size, AT_ONCE):
            part = every[at : at + AT_ONCE]
            yield source.batch(part.size, part)


class Deques:
    """The plain engine: a deque of scores a series, with running sums."""

    def __init__(self, series: int) -> None:
        self._rows: list[deque[tuple[float, ...]]] = [deque(maxlen=WINDOW) for _ in range(series)]
        self._sums = [[0.0] * SCORES for _ in range(series)]

    def take(self, batch: list[tuple[int, float, float, float]]) -> None:
        """Score pairs (series, value, reference, u)."""
        for series, value, reference, u in batch:
            error = value - reference
            z = error / u
            scores = (error, error * error, abs(error), z, z * z, abs(z), u, u * u)
            rows, sums = self._rows[series], self._sums[series]
            gone = rows[0] if len(rows) == WINDOW else (0.0,) * SCORES
            rows.append(scores)
            for at, score in enumerate(scores):
                sums[at] += score - gone[at]


def engine() -> list[Line]:
    """Windows and evidence of 1000 series in batches of 1000, and all statistics now and then."""
    series, batches, rounds = 1000, 100, 5
    network, source, deques = network_of(series), Source(series), Deques(series)
    for pairs in rounds_of_all(source, WINDOW):
        network.apply(pairs)
    network.evaluate(START)
    windows = Windows(series, WINDOW, lambda _: NO_PAIRS)
    for pairs in rounds_of_all(Source(series), WINDOW):
        windows.apply(pairs)
    ours, alone, kept, theirs = [], [], [], []
    for _ in range(rounds):
        made = [source.batch() for _ in range(batches)]
        plain = [each[["series", "value", "reference", "u"]].tolist() for each in made]
        began = time.process_time()
        for pairs in made:
            network.apply(pairs)
        applied = time.process_time()
        network.evaluate(START)
        evaluated = time.process_time()
        for pairs in made:
            windows.apply(pairs)
        held = time.process_time()
        for each in plain:
            deques.take(each)
        theirs.append(time.process_time() - held)
        kept.append(held - evaluated)
        alone.append(applied - began)
        ours.append(evaluated - began)
    unit = 1e6 / (batches * BATCH)
    river = [each * batches * BATCH for each in _river(rounds)]
    what = "a pair in batches of 1000, 1000 series:"
    all_of_it = f"{what} window, detector, all statistics every 100 batches"
    river_name, deque_name = "river 0.26, Rolling x 8", "deque with 8 running sums"
    bets, sort = "the detector's bets, of which the peer has none", "sorting a batch by series"
    return [
        line(Goal(f"{what} window", river_name, 50, 100, sort), kept, river, "us", unit),
        line(Goal("the same", deque_name, 7, 12, sort), kept, theirs, "us", unit),
        line(Goal(f"{what} window, detector", deque_name, limit=bets), alone, theirs, "us", unit),
        line(Goal(all_of_it, river_name, limit=bets), ours, river, "us", unit),
        line(Goal("the same", deque_name, limit=bets), ours, theirs, "us", unit),
    ]


def _river(rounds: int) -> list[float]:
    """Return the seconds a pair that river takes, in each round."""
    command = [str(peers_python()), "-W", "ignore", str(_RIVER), str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(each) for each in done.stdout.split()]


def growth() -> list[Line]:
    """What a pair costs as series grow: batches of 1000 pairs of random series.

    Those of a million take 4 GB: in single precision, evidence confirmed on the window.
    """
    counts = (1000, 10_000, 100_000, MILLION)
    parts = {
        count: (network_of(count, precision="single", replay_pairs=WINDOW), Source(count))
        for count in counts
    }
    for count, (network, source) in parts.items():
        for pairs in rounds_of_all(source, 1 if count > 10_000 else 10):
            network.apply(pairs)
    costs: dict[int, list[float]] = {count: [] for count in counts}
    for _ in range(5):
        for count, (network, source) in parts.items():
            made = [source.batch() for _ in range(30)]
            began = time.process_time()
            for pairs in made:
                network.apply(pairs)
            costs[count].append((time.process_time() - began) / (30 * BATCH))
    small = costs[counts[0]]
    lines = []
    for count in counts[1:]:
        goal = Goal(
            f"cost of a pair with {count:,} series against 1000 (window and detector)",
            "itself with 1000 series", 0.25, 0.5, "memory: a few cache misses a pair",
        )  # fmt: skip
        lines.append(line(goal, costs[count], small, "us", 1e6))
    return lines


def memory() -> list[Line]:
    """What a series with a full window weighs, and a reading that waits for its reference."""
    return [*_windows(), _pending()]


def _windows() -> list[Line]:
    lines = []
    for window, precision in ((100, "double"), (100, "single"), (500, "double"), (500, "single")):
        own = apart(partial(_own_bytes, 20_000, window, precision))
        theirs = apart(partial(_deque_bytes, 1000, window))
        goal = Goal(
            f"memory of a series, window of {window} in {precision} precision",
            "deque of 8 scores a pair",
            limit="rows of the window; z, where it is shorter than `replay_pairs`; names",
        )
        lines.append(Line(goal, f"{own / 1e3:.1f} kB", f"{theirs / 1e3:.1f} kB", theirs / own))
    return lines


def _own_bytes(count: int, window: int, precision: str) -> float:
    few = network_of(10)
    few.apply(Source(10).batch())  # what is imported with the first pair
    before = resident_bytes()
    network, source = network_of(count, window, precision=precision), Source(count)
    for pairs in rounds_of_all(source, window):
        network.apply(pairs)
    return (resident_bytes() - before) / len(network.registry)


def _deque_bytes(count: int, window: int) -> float:
    before = resident_bytes()
    chance = np.random.default_rng(1)
    rows = [
        deque((tuple(each) for each in chance.random((window, SCORES)).tolist()), window)
        for _ in range(count)
    ]
    return (resident_bytes() - before) / len(rows)


def _pending() -> Line:
    own, theirs = apart(_waiting_bytes), apart(_dict_bytes)
    goal = Goal("memory of a reading that waits for its reference", "a dict of it in a list")
    return Line(goal, f"{own:.0f} bytes", f"{theirs:.0f} bytes", theirs / own)


def _waiting_bytes() -> float:
    network = network_of(PENDING // 100)
    before = resident_bytes()
    for second in range(100):
        network.observe(
            [
                Reading(f"sensor-{row:07}", "mass", START + 70.0 * second, 500.0 + row, u=5.0)
                for row in range(PENDING // 100)
            ],
            START,
        )
    return (resident_bytes() - before) / network.pairing.readings


def _dict_bytes() -> float:
    before = resident_bytes()
    kept = [
        {"sensor": f"sensor-{at % 1000:07}", "time": START + at, "value": 500.0 + at, "u": 5.0}
        for at in range(PENDING)
    ]
    return (resident_bytes() - before) / len(kept)


def apart(work: Callable[[], float]) -> float:
    """Return what ``work`` returns in a process of its own, whose memory nobody used before."""
    ours, its = os.pipe()
    child = os.fork()
    if not child:
        os.write(its, repr(work()).encode())
        os._exit(0)
    os.close(its)
    with os.fdopen(ours) as answer:
        found = answer.read()
    os.waitpid(child, 0)
    return float(found)
