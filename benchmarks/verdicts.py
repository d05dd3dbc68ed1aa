"""Verdicts compared with the truth: names, sizes, onsets and advice.

    python benchmarks/verdicts.py [--share 0.25] [--table NAME] [--only FAULT]

The streams and the truth about them are in verdicts_streams.py; the alarm is the detector's. Every
table has its goal beside it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
import verdicts_streams as sim
from verdicts_files import files, recorded
from verdicts_percent import in_proportion
from verdicts_scoring import NEXT, WINDOW, advised, alarms, goal, judged, ratios_of, share, table

from monitor.core.verdict import Pairs, Verdict, judge_all, judge_whole

LATER = (20, 50, 200)  # pairs after the alarm, or after the newest change
FEWEST = 10  # streams with an alarm; a cell with fewer is left out


# --- what is measured ----------------------------------------------------------------------------


class Said(NamedTuple):
    """One verdict compared with the truth."""

    later: int
    verdict: Verdict
    label: str
    holds: bool
    onset: int  # stated minus true onset, in pairs
    after_alarm: bool
    score: tuple[float, float] | None


class Cell(NamedTuple):
    """All verdicts on one fault of one kind of sensor."""

    fault: str
    model: str
    shape: str
    said: list[Said]
    streams: int
    missed: int
    seconds: float


def cell(job: tuple[str, str, str, int, int, dict[str, float]]) -> Cell:
    name, model, shape, count, seed, changes = job
    fault = sim.FAULTS[name]
    f = sim.streams(name, model, shape, count, seed, **changes)
    columns = (f.value, f.u, f.reference, f.u_ref)
    alarm, clock = alarms(*columns), sim.times(f.value.shape[1])
    longest = f.value.shape[1] - LATER[-1] - NEXT - 1
    jobs, missed = [], 0
    for row in range(count):
        first = max(int(alarm[row]), f.changed)
        if alarm[row] < f.onset or first >= longest:
            missed += 1
            continue
        jobs += [(row, later, first + later + 1) for later in LATER]
    windows = [
        Pairs(clock[part], *(each[row, part] for each in columns))
        for row, _, end in jobs
        for part in [slice(max(0, end - WINDOW), end)]
    ]
    alarmed = [int(alarm[row]) - max(0, end - WINDOW) for row, _, end in jobs]
    began = time.thread_time()
    verdicts = judge_all(windows, alarm=alarmed)
    seconds = time.thread_time() - began
    said = []
    for (row, later, end), verdict in zip(jobs, verdicts, strict=True):
        begin, following = max(0, end - WINDOW), slice(end, end + NEXT)
        size = verdict.level if fault.label in ("offset", "drift") else verdict.size
        said.append(
            Said(
                later,
                verdict,
                verdict.fault,
                bool(size.lower <= f.size[row, end - 1] <= size.upper),
                verdict.since + begin - f.onset,
                verdict.since + begin > alarm[row],
                advised(verdict, *(each[row, following] for each in columns[:3])),
            )
        )
    return Cell(name, model, shape, said, count, missed, seconds)


def cells(share: float, only: str, changes: dict[str, float], names: Iterable[str]) -> list[Cell]:
    count = max(12, round(100 * share))
    jobs = [
        (name, model, shape, count, 1000 * at + 100 * m + s, changes)
        for at, name in enumerate(names)
        if only in name
        for m, model in enumerate(sim.MODELS)
        for s, shape in enumerate(sim.SHAPES)
    ]
    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(cell, jobs))


# --- tables --------------------------------------------------------------------------------------


def by_fault(found: list[Cell]) -> Iterator[tuple[str, list[Cell]]]:
    for name in dict.fromkeys(each.fault for each in found):
        yield name, [each for each in found if each.fault == name]


def right(each: Cell, later: int) -> float:
    label = sim.FAULTS[each.fault].label
    return share(s.label == label for s in each.said if s.later == later)


def names(found: list[Cell]) -> str:
    rows = []
    means: dict[int, list[float]] = {20: [], 200: []}
    for name, group in by_fault(found):
        line = [name]
        unsure = share(s.verdict.state != "fault" for c in group for s in c.said if s.later == 20)
        wrong: Counter[str] = Counter()
        for each in group:
            if len(each.said) < FEWEST * len(LATER):
                line.append(f"({each.missed} of {each.streams} without alarm)")
                continue
            pair = right(each, 20), right(each, 200)
            means[20].append(pair[0])
            means[200].append(pair[1])
            line.append(f"{pair[0]:.2f} {pair[1]:.2f}")
            label = sim.FAULTS[name].label
            wrong.update(
                (s.label or "open") for s in each.said if s.label != label and s.later != 50
            )
        line.append(f"{unsure:.2f}")
        line.append(", ".join(f"{label} {count}" for label, count in wrong.most_common(3)))
        rows.append(line)
    mean = {later: float(np.mean(each)) for later, each in means.items()}
    cells_of = found[: len(sim.MODELS) * len(sim.SHAPES)]
    head = [
        "share named correctly at +20, +200",
        *(f"{c.model}, {c.shape}" for c in cells_of),
        "no fault named at +20",
        "wrong names",
    ]
    return table(head, rows) + (
        f"\n\nMean of all cells: {mean[20]:.3f} at +20 ({goal(mean[20], atleast=0.9)}), "
        f"{mean[200]:.3f} at +200 ({goal(mean[200], atleast=0.97)})."
    )


def sizes(found: list[Cell]) -> str:
    rows, least = [], 1.0
    for name, group in by_fault(found):
        fault = sim.FAULTS[name]
        if not fault.sized:
            continue
        line = [name]
        for later in (50, 200):
            holds = [
                [s.holds for s in each.said if s.later == later and _sized(s, fault.label)]
                for each in group
            ]
            whole = share(hit for part in holds for hit in part)
            worst = min((share(part) for part in holds if len(part) >= FEWEST), default=np.nan)
            least = min(least, whole)
            line += [f"{whole:.2f} (worst cell {worst:.2f})", goal(whole, atleast=0.88)]
        rows.append(line)
    return table(["95 % interval contains the true size", "+50", "goal", "+200", "goal"], rows) + (
        f"\n\nLowest: {least:.2f}. Intervals of a level count whatever the fault was called, "
        "other sizes only if it was named correctly."
    )


def _sized(s: Said, label: str) -> bool:
    return label in ("offset", "drift") or s.label == label


def onsets(found: list[Cell]) -> str:
    rows, late = [], 0
    for name, group in by_fault(found):
        if sim.FAULTS[name].label == "drift":
            continue
        line = [name]
        for later in (20, 200):
            off = [s.onset for each in group for s in each.said if s.later == later]
            line.append(" / ".join(f"{q:+.0f}" for q in np.percentile(off, [10, 50, 90])))
        late += sum(s.after_alarm for each in group for s in each.said)
        rows.append(line)
    head = ["stated minus true onset, pairs (10, 50, 90 %)", "+20", "+200"]
    return (
        table(head, rows) + f"\n\nOnsets stated after the alarm: {late} ({goal(late, atmost=0)})."
    )


def advice(found: list[Cell]) -> str:
    rows = []
    for name, group in by_fault(found):
        every = [s for each in group for s in each.said if s.later != 20]
        if not any(s.score for s in every):
            continue
        ratios = np.array([s.score[1] / s.score[0] for s in every if s.score])
        rows.append([name, f"{ratios.size / len(every):.2f}", *ratios_of(ratios)])
    every = np.array([s.score[1] / s.score[0] for c in found for s in c.said if s.score])
    return judged(rows, every)


FIRST_DAY = ("offset 1 u", "drift 0.02 u/pair", "gain 1.25", "gain 0.5", "u x 2", "u / 2")
MORE_FIRST_DAY = ("5 % outliers of 8 u", "stuck, truth's sd 1 u", "lag of 2 pairs", "sign, about 0")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="share of the streams to run")
    parser.add_argument("--table", default="", help="print only this table")
    parser.add_argument("--only", default="", help="only faults whose name contains this text")
    options = parser.parse_args(arguments)
    began = time.perf_counter()
    if options.table in ("", *_TABLES):
        of_faults(options)
    for title, made in _MORE.items():
        if options.table in ("", title):
            print(f"\n## {title}\n\n{made(options)}", flush=True)
    print(f"\n{time.perf_counter() - began:.0f} s", file=sys.stderr)


def of_faults(options: argparse.Namespace) -> None:
    found = cells(options.share, options.only, {}, sim.FAULTS)
    for title, made in _TABLES.items():
        if options.table in ("", title):
            print(f"\n## {title}\n\n{made(found)}", flush=True)
    verdicts = max(1, sum(len(each.said) for each in found))
    print(
        f"\n{1e3 * sum(c.seconds for c in found) / verdicts:.2f} ms of processor time per verdict"
    )


def from_the_first_pair(options: argparse.Namespace) -> str:
    found = cells(options.share, options.only, {"onset": 0}, [*FIRST_DAY, *MORE_FIRST_DAY])
    return f"{names(found)}\n\n{sizes(found)}"


def mostly_noise(options: argparse.Namespace) -> str:
    narrow = [name for name, fault in sim.FAULTS.items() if fault.spread == 3.0]
    return names(cells(options.share, options.only, {"spread": 1.5}, narrow))


def cost(_: argparse.Namespace) -> str:
    """Return the cost of a verdict, judged alone and in batches."""
    pairs, alarmed = [], []
    for at, name in enumerate(sim.FAULTS):
        shape = tuple(sim.SHAPES)[at % len(sim.SHAPES)]
        f = sim.streams(name, sim.MODELS[at % 2], shape, 12, at)
        clock = sim.times(f.value.shape[1])
        for row in range(12):
            for end in (260, 420, 712):
                part = slice(max(0, end - WINDOW), end)
                columns = (f.value, f.u, f.reference, f.u_ref)
                pairs.append(Pairs(clock[part], *(each[row, part] for each in columns)))
                alarmed.append(max(0, 220 - part.start))
    order = np.random.default_rng(0).permutation(len(pairs))[:1024].tolist()
    rows = []
    for many in (1, 16, 64, 1024):
        line = [str(many)]
        for fired in (True, False):
            taken = []
            for _again in range(3):
                began = time.thread_time()
                for first in range(0, 64 if many == 1 else 1024, many):
                    some = order[first : first + many]
                    _judged([pairs[i] for i in some], [alarmed[i] for i in some] if fired else None)
                taken.append((time.thread_time() - began) / (64 if many == 1 else 1024))
            line.append(f"{1e3 * min(taken):.2f}")
        rows.append(line)
    return table(["series at once", "ms of processor time per series, faulty", "no alarm"], rows)


def _judged(pairs: list[Pairs], alarm: list[int] | None) -> list[Verdict]:
    return judge_whole(pairs) if alarm is None else judge_all(pairs, alarm=alarm)


_MORE: dict[str, Callable[[argparse.Namespace], str]] = {
    "wrong from the first pair": from_the_first_pair,
    "truth's sd 1.5 u": mostly_noise,
    "cost": cost,
    "files": lambda options: files(options.share),
    "recorded": lambda options: recorded(options.share),
    "u in proportion to the reading": lambda options: in_proportion(options.share),
}
_TABLES: dict[str, Callable[[list[Cell]], str]] = {
    "names": names,
    "sizes": sizes,
    "onsets": onsets,
    "advice": advice,
}

if __name__ == "__main__":
    main(sys.argv[1:])
