"""Judging by neighbours: how soon a drift is apart, how often an honest sensor is, what it costs.

A town of 30 sensors, hourly, for 150 days. Common air is an AR(.985) with a daily cycle, or the
hours of a recorded analyser; sensors see it with a gradient of +-15 % across the town, with local
air of their own, AR(.95), and with noise of u = 3. Each meets a reference every 30 days. From day
60 on three of them drift by 0.1 a day, 2 u in 60 days. Towns are seeded.

    python benchmarks/neighbours.py [--towns 12] [--write]   # the table of docs/evidence/beyond.md
    python benchmarks/neighbours.py --claim 5                 # with another threshold
    python benchmarks/neighbours.py --cost                    # a kept reading, paired rounds
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from hotway import START
from messages import readings_and_references
from scipy.signal import lfilter

from monitor.config.extended import model_of
from monitor.daemon.assembly import Parts, assemble
from monitor.daemon.runtime import freeze_after_start
from monitor.extensions.neighbours import weak_references
from monitor.extensions.neighbours.weak_references import Days, day_values, opinions

SENSORS: Final = 30
DRIFTING: Final = 3
DAYS: Final = 150
BEGINS: Final = 60  # of the drift, days
LOOKED: Final = 50  # from that day on
U: Final = 3.0
RATE: Final = 0.1  # a day
LOCAL: Final = 2.0  # standard deviation of local air
RECORDED: Final = Path(__file__).parents[2] / "shared" / "data" / "airquality_stream.csv.gz"
PAGE: Final = Path(__file__).parents[1] / "docs" / "evidence" / "beyond.md"
BEGIN: Final = "<!-- neighbours: python benchmarks/neighbours.py --write -->\n"
HEAD: Final = (
    "| town | days until apart, median / p90 | honest apart in 90 days | interval holds the drift |"
)


class Town(NamedTuple):
    """A kind of town: its local air, how many are off by 8 from the start, and its common air.

    Of ``sensors`` the first ``drifting`` drift.
    """

    name: str
    local: float = LOCAL
    faulty: int = 0
    is_recorded: bool = False
    sensors: int = SENSORS
    drifting: int = DRIFTING


TOWNS: Final = (
    Town("as above, local air of 2"),
    Town("six of 30 faulty from the start (+8)", faulty=6),
    Town("local air twice as strong", local=2.0 * LOCAL),
    Town("common air of a recorded CO analyser", is_recorded=True),
    Town("eight sensors, of which one drifts", sensors=8, drifting=1),
    Town("four sensors, of which one drifts", sensors=4, drifting=1),
)


def autoregressive(rng: np.random.Generator, rho: float, shape: tuple[int, ...]) -> np.ndarray:
    """Return AR(1) series of variance 1 along the first axis."""
    shocks = rng.normal(size=shape) * np.sqrt(1.0 - rho**2)
    shocks[0] /= np.sqrt(1.0 - rho**2)
    return lfilter([1.0], [1.0, -rho], shocks, axis=0)


def recorded_air(rng: np.random.Generator, hours: int) -> np.ndarray:
    """Return hours of the analyser from a random day on, scaled to mean 40 and deviation 10."""
    with gzip.open(RECORDED, "rt") as lines:
        cells = [line.split(",") for line in lines if ",co,reference," in line]
    times = [datetime.fromisoformat(each[0]).replace(tzinfo=UTC).timestamp() for each in cells]
    hour = ((np.array(times) - times[0]) // 3600).astype(int)
    air = np.interp(np.arange(hour[-1] + 1), hour, [float(each[3]) for each in cells])
    first = 24 * int(rng.integers((air.size - hours) // 24))
    return 40.0 + 10.0 * (air[first : first + hours] - air.mean()) / air.std()


def drawn(town: Town, seed: int) -> np.ndarray:
    """Return hourly means (hours, sensors); the first sensors drift."""
    rng, hours = np.random.default_rng(seed), 24 * DAYS
    day = np.arange(hours) / 24.0
    weather = 40.0 + 10.0 * autoregressive(rng, 0.985, (hours,)) + 5.0 * np.sin(2.0 * np.pi * day)
    common = recorded_air(rng, hours) if town.is_recorded else weather
    gradient = rng.permutation(np.linspace(0.85, 1.15, town.sensors))
    local = town.local * autoregressive(rng, 0.95, (hours, town.sensors))
    values = common[:, None] * gradient + local + U * rng.normal(size=(hours, town.sensors))
    values[:, : town.drifting] += RATE * np.maximum(day - BEGINS, 0.0)[:, None]
    values[:, town.sensors - town.faulty :] += 8.0
    return values


class Outcome(NamedTuple):
    """Days from the drift's begin until apart, honest sensors that were, and held intervals."""

    delays: list[float]
    honest: int
    accused: int
    held: list[bool]


def judged(town: Town, seed: int) -> Outcome:
    """Look at a town every day; a drift that is not seen counts as infinite."""
    values, sensors = drawn(town, seed), town.sensors
    nearby = np.array([[at for at in range(sensors) if at != own] for own in range(sensors)])
    daily = np.stack([day_values(each, nearby) for each in values.reshape(DAYS, 24, sensors)])
    pairs = np.zeros((DAYS, sensors), dtype=np.int64)
    for at, first in enumerate(np.random.default_rng(seed + 1000).integers(0, 30, sensors)):
        pairs[first::30, at] = 1
    since, trusted = np.zeros(sensors, dtype=np.int64), np.ones(sensors, dtype=np.bool_)
    first = np.full(sensors, np.inf)
    held = []
    for day in range(LOOKED, DAYS):
        table = Days(daily[: day + 1], pairs[: day + 1], since, nearby)
        for at, each in enumerate(opinions(table, trusted)):
            if each.state == "apart" and np.isinf(first[at]):
                first[at] = day
                if at < town.drifting:
                    drift = RATE * max(0.5 * (each.since + day) - BEGINS, 0.0)
                    held.append(each.lower <= drift <= each.upper)
    accused = first[town.drifting : sensors - town.faulty]
    return Outcome(
        (first[: town.drifting] - BEGINS).tolist(),
        accused.size,
        int(((accused >= BEGINS) & (accused < BEGINS + 90)).sum()),
        held,
    )


def row_of(town: Town, towns: int) -> str:
    """Return a line of the table."""
    outcomes = [judged(town, seed) for seed in range(towns * SENSORS // town.sensors)]
    delays = np.sort([delay for each in outcomes for delay in each.delays])
    middle, late = (delays[int(share * (delays.size - 1))] for share in (0.5, 0.9))
    honest = sum(each.honest for each in outcomes)
    accused = sum(each.accused for each in outcomes)
    held = [each for outcome in outcomes for each in outcome.held]
    shown = [f"{each:.0f}" if np.isfinite(each) else "not in 90" for each in (middle, late)]
    share = f"{accused} of {honest} ({100.0 * accused / honest:.1f} %)"
    return f"| {town.name} | {shown[0]} / {shown[1]} | {share} | {100.0 * np.mean(held):.0f} % |"


def write(lines: list[str]) -> None:
    """Put the table behind its mark in the page."""
    before, after = PAGE.read_text(encoding="utf-8").split(BEGIN)
    rest = after.split("\n\n", 1)[1]
    PAGE.write_text(f"{before}{BEGIN}" + "\n".join(lines) + f"\n\n{rest}", encoding="utf-8")


# -- cost -----------------------------------------------------------------------------------------


class Message(NamedTuple):
    """A message as the daemon takes it."""

    topic: str
    payload: bytes


def parts_of(folder: Path, *, watch: bool) -> Parts:
    """Return a daemon's parts, with the extension or without."""
    values: dict[str, object] = {
        "journal": {"path": str(folder / f"{watch}.sqlite")},
        "series": {"max_new_per_minute": 1_000_000},
        "groups": [{"name": "all", "sensors": ["*"]}],
    }
    if watch:
        values["neighbours"] = {"watch": True}
    return assemble(model_of(values).model_validate(values), START)


def cost(rounds: int, messages: int, size: int) -> None:
    """Print what a kept reading costs in batches, in paired rounds of processor time."""
    with tempfile.TemporaryDirectory() as name:
        both = [parts_of(Path(name), watch=watch) for watch in (False, True)]
        freeze_after_start()
        more: list[float] = []
        for number in range(rounds):
            sent = [
                Message(topic, payload)
                for topic, payload in readings_and_references(number * 10_000, messages)
            ]
            readings = sum(each.topic.endswith("reading") for each in sent)
            spent = []
            for parts in both if number % 2 else both[::-1]:
                began = time.process_time()
                for first in range(0, len(sent), size):
                    some = sent[first : first + size]
                    arrived = START + 20_000_000.0 + 60.0 * number + 1e-3 * first
                    parts.intake.commit(parts.intake.prepare(some, arrived))
                spent.append(time.process_time() - began)
            without, extended = spent if number % 2 else spent[::-1]
            more.append(1e6 * (extended - without) / readings)
        blocks = both[1].listeners[0].blocks  # type: ignore[attr-defined]
        print(f"a kept reading: {statistics.median(more):.2f} us more, batches of {size}")
        print(f"rounds: {', '.join(f'{each:.2f}' for each in more)}")
        print(f"open hours: {blocks.open_bytes} bytes for {blocks.width} series")
        for parts in both:
            parts.journal.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--towns", type=int, default=12)
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    parser.add_argument("--claim", type=float, metavar="SPREADS", default=weak_references.CLAIM)
    parser.add_argument("--cost", action="store_true", help="what a kept reading costs instead")
    options = parser.parse_args()
    if options.cost:
        cost(9, 30_000, 2000)
        return
    weak_references.CLAIM = options.claim  # type: ignore[misc]
    lines = [HEAD, "|---|---|---|---|"]
    print("\n".join(lines))
    for town in TOWNS:
        if town.is_recorded and not RECORDED.is_file():
            print(f"({town.name}: {RECORDED} is not there)")
            continue
        lines.append(row_of(town, options.towns))
        print(lines[-1], flush=True)
    if options.write:
        write(lines)


if __name__ == "__main__":
    main()
