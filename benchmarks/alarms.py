"""How honest the alarms are: false ones, delays beside peers and an oracle, all-clears, fleets.

Limits on scores and conventions beside them, and what a pair costs.

    python benchmarks/alarms.py [--share 0.1] [--table NAME] [--write]

The sensors are made in alarms_streams.py, the peers in alarms_peers.py, who knows all in
alarms_oracle.py; the alerts are those of the daemon's core, which is fed pair by pair. Every table
has its goal beside it. A whole run writes the tables between the markers of
docs/evidence/detection.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import alarms_oracle as oracle
import numpy as np
from alarms_fleet import fleet, references
from alarms_life import all_clears, incidents, still_wrong
from alarms_limits import conventional, thresholds
from alarms_ours import first_alarms
from alarms_peers import CALIBRATED, PEERS, between, first_beyond, limits
from alarms_recorded import recorded
from alarms_streams import (
    ACCEPTED,
    FAULTS,
    PIVOT,
    SHAPES,
    Int,
    classical,
    faulty,
    intervals,
    systematic,
)
from alarms_table import judged, table

from monitor.core.detector.detector import Detector

DOCS = Path(__file__).resolve().parents[1] / "docs" / "evidence" / "detection.md"
ONSETS = (0, 100, 1000)
EARLY = 0.1  # of honest sensors may alarm in the first 100 pairs
RATE_MOST = 100_000.0  # pairs between false alarms that peers are set to, at most


# --- false alarms --------------------------------------------------------------------------------


class Rate(NamedTuple):
    """False alarms of one sort of honest sensor."""

    between: float
    alarms: int
    early: float  # share of sensors that alarm in the first 100 pairs


def rate(job: tuple[str, int, int]) -> Rate:
    name, count, length = job
    make, _ = ACCEPTED[name]
    s = make(np.random.default_rng([20261122, len(name)]), (count, length))
    alarm = first_alarms(s)
    alarm = alarm[alarm >= s.changed] - s.changed
    length -= s.changed
    return Rate(between(alarm, length), int((alarm < length).sum()), float((alarm < 100).mean()))


def false_alarms(share: float, pool: ProcessPoolExecutor) -> str:
    count, length = max(10, round(150 * share)), 6000
    rates = pool.map(rate, [(name, count, length) for name in ACCEPTED])
    rows = []
    for (name, (_, least)), each in zip(ACCEPTED.items(), rates, strict=True):
        goals = judged(each.between, atleast=least), judged(each.early, atmost=EARLY)
        often, early = goals if least else ("", "")
        figures = f"{each.between:,.0f}", str(each.alarms), often, f"{each.early:.1%}", early
        rows.append([name, *figures])
    for is_declared in (False, True):
        make = systematic(0.3, declared=is_declared)
        s = make(np.random.default_rng(20261123), (max(20, round(200 * share)), 2000))
        accused = float((first_alarms(s) < 2000).mean())
        name = f"30 % of u^2 systematic, {'' if is_declared else 'not '}declared"
        goal = judged(accused, atmost=0.05) if is_declared else ""
        rows.append([name, f"{accused:.0%} accused within 2000", "", goal, "", ""])
    head = ["honest sensors", "mean pairs to a false alarm", "seen", "goal"]
    return table([*head, "in the first 100", "goal"], rows)


# --- delays --------------------------------------------------------------------------------------


class Limits(NamedTuple):
    """What everybody's limit is for errors of one shape, and our rate that it is set to."""

    shape: str
    ours: float
    peers: dict[str, list[float]]
    oracle: dict[str, float]


def limits_of(job: tuple[str, int, int]) -> Limits:
    """Measure our rate of false alarms for a shape and set the peers to it."""
    shape, count, length = job
    rng = np.random.default_rng([20261124, len(shape)])
    alarm = first_alarms(classical(SHAPES[shape])(rng, (count, length)))
    rate = min(between(alarm, length), RATE_MOST)
    blocks = [SHAPES[shape](rng, (100, CALIBRATED)) for _ in range(max(1, count // 50))]
    return Limits(
        shape,
        rate,
        {name: limits(peer, blocks, rate) for name, peer in PEERS.items()},
        {name: oracle.limit(shape, fault, rate, rng, count) for name, fault in FAULTS.items()},
    )


def robust(found: list[Limits], share: float) -> str:
    """Return what becomes of limits set on normal errors where errors are otherwise."""
    count = max(50, round(250 * share))
    rows = []
    for name, peer in PEERS.items():
        row = [name]
        for each in found:
            z = SHAPES[each.shape](np.random.default_rng(20261125), (count, CALIBRATED))
            alarm = first_beyond(peer, found[0].peers[name], z)
            row.append(f"{between(alarm, CALIBRATED):,.0f}")
        rows.append(row)
    rows.append(["this detector", *(f"{each.ours:,.0f}" for each in found)])
    head = [f"{each.shape}" for each in found]
    return table(["limits set on normal errors: pairs to a false alarm", *head], rows)


class Delay(NamedTuple):
    """Delays from the onset, in pairs: mean (cut off), median, share not found."""

    mean: float
    median: float
    missed: float


def delay(alarm: Int, onset: int, after: int) -> Delay:
    late = np.minimum(alarm[alarm >= onset] - onset + 1, after)
    if not late.size:
        return Delay(np.nan, np.nan, np.nan)
    return Delay(float(late.mean()), float(np.median(late)), float((late >= after).mean()))


class Cell(NamedTuple):
    """Everybody's delays for one fault, one shape and one onset."""

    fault: str
    onset: int
    ours: Delay
    oracle: Delay
    peers: dict[str, Delay]


def cell(job: tuple[Limits, str, int, int]) -> Cell:
    limits, name, onset, count = job
    fault, shape = FAULTS[name], limits.shape
    after = fault.after * (2 if shape.startswith("AR") else 1)
    rng = np.random.default_rng([20261126, onset, len(shape)])
    s = faulty(fault, classical(SHAPES[shape])(rng, (count, onset + after)), onset, rng)
    truth = (s.reference - PIVOT) / s.u
    known = oracle.first_alarms(shape, fault, s.z, truth, limits.oracle[name])
    peers = {
        each: delay(first_beyond(peer, limits.peers[each], s.z), onset, after)
        for each, peer in PEERS.items()
    }
    ours = delay(first_alarms(s), onset, after)
    return Cell(name, onset, ours, delay(known, onset, after), peers)


def delays(share: float, pool: ProcessPoolExecutor) -> str:
    count = max(20, round(100 * share))
    jobs = [(shape, max(100, round(400 * share)), 5000) for shape in SHAPES]
    found = list(pool.map(limits_of, jobs))
    parts = [robust(found, share)]
    for each in found:
        cells = pool.map(cell, [(each, f, onset, count) for f in FAULTS for onset in ONSETS])
        parts.append(of_shape(each, list(cells)))
    return "\n\n".join(parts)


def of_shape(limits: Limits, cells: Iterable[Cell]) -> str:
    rows, missed, wanted = [], 0, 0
    for each in cells:
        ratio = each.ours.mean / each.oracle.mean
        goals = FAULTS[each.fault].goal if limits.shape == "normal" else None
        best = min(each.peers, key=lambda name: each.peers[name].mean)
        least = each.peers[best].mean
        goal = judged(ratio, atmost=goals[each.onset == 0]) if goals else ""
        beside = judged(each.ours.mean, atmost=1.05 * least + 0.5, shown=False)
        missed += "MISSED" in goal
        wanted += bool(goal)
        rows.append(
            [
                f"{each.fault}, {f'after {each.onset}' if each.onset else 'from day 0'}",
                f"{each.ours.mean:.1f} / {each.ours.median:.0f}",
                f"{each.oracle.mean:.1f}",
                f"{ratio:.2f}",
                goal,
                f"{best} {beside}",
                *(f"{of.mean:.1f}" for of in each.peers.values()),
            ]
        )
    head = ["ours, mean / median", "oracle", "ours / oracle", "goal", "no worse than the best"]
    title = f"{limits.shape} errors, all at {limits.ours:,.0f} pairs to a false alarm"
    return table([title, *head, *PEERS], rows) + (
        f"\n\n{missed} of {wanted} goals missed." if wanted else ""
    )


def of_intervals(share: float, pool: ProcessPoolExecutor) -> str:
    """Return median delays of sensors that state 90 % intervals alone."""
    names = ("offset 0.5 u", "offset 1 u", "offset 2 u", "sd x 2", "sd / 2")
    count = max(20, round(200 * share))
    jobs = [(u_ref, name, count) for u_ref in (0.0, 0.5, 1.0) for name in names]
    medians = iter(pool.map(of_interval, jobs))
    rows = [[f"{u_ref:g} u", *(next(medians) for _ in names)] for u_ref in (0.0, 0.5, 1.0)]
    return table(["u_ref, beside 90 % intervals", *names], rows)


def of_interval(job: tuple[float, str, int]) -> str:
    u_ref, name, count = job
    rng, fault = np.random.default_rng(20261127), FAULTS[name]
    s = faulty(fault, intervals(0.0)(rng, (count, 100 + fault.after)), 100, rng)
    blur = u_ref * s.unit
    s = s._replace(reference=s.reference + blur * rng.standard_normal(blur.shape), u_ref=blur)
    return f"{delay(first_alarms(s), 100, fault.after).median:.0f}"


# --- cost ----------------------------------------------------------------------------------------


def cost(_: float, __: ProcessPoolExecutor) -> str:
    """Return what a pair costs the detector, in batches of several sizes."""
    count = 10_000
    rounds = np.random.default_rng(1).standard_normal((20, count))
    every, one = np.arange(count), np.zeros(1, np.int64)
    rows = []
    for name, batches, series, starts in (
        ("10 000 sensors, one pair each", list(rounds), every, every),
        ("10 000 sensors, 20 pairs each", [rounds.T.ravel()] * 2, every, every * 20),
        ("one sensor, 20 000 pairs", [rounds[:2].ravel()], one, one),
        ("one sensor, one pair", list(rounds[0, :2000, None]), one, one),
    ):
        detector = Detector(np.full(count, 1000.0))
        detector.advance(series, starts, batches[0])
        began = time.process_time()
        for batch in batches:
            detector.advance(series, starts, batch)
        spent = time.process_time() - began
        rows.append([name, f"{1e6 * spent / sum(batch.size for batch in batches):.2f}"])
    return table(["batch", "microseconds of a processor, a pair"], rows)


# --- all of it -----------------------------------------------------------------------------------

Table = Callable[[float, ProcessPoolExecutor], str]
TABLES: dict[str, Table] = {
    "false": false_alarms,
    "delays": delays,
    "intervals": of_intervals,
    "all-clears": all_clears,
    "still-wrong": still_wrong,
    "incidents": incidents,
    "references": references,
    "fleet": fleet,
    "recorded": recorded,
    "thresholds": thresholds,
    "conventions": conventional,
    "cost": cost,
}


def write(name: str, text: str) -> None:
    """Put ``text`` between the markers of table ``alarms-name`` in the document."""
    document = DOCS.read_text(encoding="utf-8")
    opening, closing = f"<!-- table alarms-{name} -->", f"<!-- end alarms-{name} -->"
    before, rest = document.split(opening)
    _, after = rest.split(closing)
    DOCS.write_text(f"{before}{opening}\n{text}\n{closing}{after}", encoding="utf-8")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the streams; below 1 unwritten"
    )
    parser.add_argument("--write", action="store_true", help="write the tables of a share, too")
    parser.add_argument("--table", default="", choices=["", *TABLES], help="only this one")
    options = parser.parse_args(arguments)
    with ProcessPoolExecutor(2) as pool:
        for name, made in TABLES.items():
            if options.table not in ("", name):
                continue
            began = time.perf_counter()
            text = made(options.share, pool)
            print(f"\n## {name}\n\n{text}", flush=True)
            print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
            if options.write or options.share >= 1.0:
                write(name, text)


if __name__ == "__main__":
    main(sys.argv[1:])
