"""Whether what is said of a sensor is true: names, sizes, beginnings and advice against the truth.

    python benchmarks/verdicts.py [--share 0.25] [--table NAME] [--only FAULT]

The streams and the truth about them are in verdicts_streams.py; the alarm is the detector's. Every
table has its goal beside it.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np
import scipy
import verdicts_streams as sim

from monitor.core.detector.detector import Detector
from monitor.core.diagnosis_new import (
    Pairs,
    Verdict,
    judge,
    judge_file,
)

Float = sim.Float
Int = sim.Int

WINDOW = 512
PATIENCE = 1000.0
LATER = (20, 50, 200)  # pairs after the alarm, or after the newest change
NEXT = 100  # pairs on which advice is held to its word
FEWEST = 10  # streams that alarm, below which a cell says nothing
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


# --- what is measured ----------------------------------------------------------------------------


class Said(NamedTuple):
    """One verdict against the truth."""

    later: int
    verdict: Verdict
    label: str
    holds: bool
    onset: int  # where it is said to have begun less where it did
    after_alarm: bool
    crps: tuple[float, float] | None


class Cell(NamedTuple):
    fault: str
    model: str
    shape: str
    said: list[Said]
    streams: int
    missed: int
    seconds: float


def crps_normal(error: Float, u: Float) -> Float:
    z = error / u
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    return u * (z * (2 * scipy.special.ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi))


def alarms(value: Float, u: Float, reference: Float, u_ref: Float) -> Int:
    """Return the pair of each stream's first alarm, -1 if there is none."""
    z = (value - reference) / np.hypot(u, u_ref)
    rows = np.arange(z.shape[0])
    detector, alarm = Detector(np.full(rows.size, PATIENCE)), np.full(rows.size, -1)
    for first in range(0, z.shape[1], 50):
        block = np.ascontiguousarray(z[:, first : first + 50])
        for change in detector.advance(rows, rows * block.shape[1], block.ravel()):
            if change.after == "firing" and alarm[change.series] < 0:
                alarm[change.series] = first + change.position % block.shape[1]
    return alarm


def advised(
    verdict: Verdict, value: Float, u: Float, reference: Float
) -> tuple[float, float] | None:
    """Return the mean CRPS of pairs as they come and as advised, None without advice."""
    remedy = verdict.remedy
    if verdict.state != "fault" or remedy is None or remedy.kind == "none" or not value.size:
        return None
    slope = remedy.slope if remedy.kind == "linear" else 1.0
    shift = remedy.intercept if remedy.kind == "linear" else np.nan_to_num(remedy.add)
    factor = 1.0 if np.isnan(remedy.scale_u) else remedy.scale_u
    after = crps_normal(shift + slope * value - reference, factor * abs(slope) * u)
    return float(crps_normal(value - reference, u).mean()), float(after.mean())


def cell(job: tuple[str, str, str, int, int, dict[str, float]]) -> Cell:
    name, model, shape, count, seed, changes = job
    fault = sim.FAULTS[name]
    f = sim.streams(name, model, shape, count, seed, **changes)
    columns = (f.value, f.u, f.reference, f.u_ref)
    alarm, clock = alarms(*columns), sim.times(f.value.shape[1])
    longest = f.value.shape[1] - LATER[-1] - NEXT - 1
    said, seconds, missed = [], 0.0, 0
    for row in range(count):
        first = max(int(alarm[row]), f.changed)
        if alarm[row] < f.onset or first >= longest:
            missed += 1
            continue
        for later in LATER:
            end = first + later + 1
            begin = max(0, end - WINDOW)
            value, u, reference, u_ref = (each[row, begin:end] for each in columns)
            pairs = Pairs(clock[begin:end], value, u, reference, u_ref)
            began = time.thread_time()
            verdict = judge(pairs, alarm=int(alarm[row]) - begin)
            seconds += time.thread_time() - began
            size = verdict.level if fault.label in ("offset", "drift") else verdict.size
            following = slice(end, end + NEXT)
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


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def goal(value: float, *, atleast: float | None = None, atmost: float | None = None) -> str:
    wanted = f">= {atleast:g}" if atleast is not None else f"<= {atmost:g}"
    met = value >= atleast if atleast is not None else value <= (atmost or 0.0)
    return f"{wanted} {'met' if met else 'MISSED'}"


def share(rows: Iterable[bool]) -> float:
    rows = list(rows)
    return float(np.mean(rows)) if rows else float("nan")


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
        "named right at +20, +200",
        *(f"{c.model}, {c.shape}" for c in cells_of),
        "unsure at +20",
        "else",
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
    return table(["95 % interval holds the size", "+50", "goal", "+200", "goal"], rows) + (
        f"\n\nLeast: {least:.2f}. Levels whatever the name; other sizes where the name is right."
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
    head = ["beginning said less the true one, pairs (10, 50, 90 %)", "+20", "+200"]
    return (
        table(head, rows) + f"\n\nSaid to begin after the alarm: {late} ({goal(late, atmost=0)})."
    )


def advice(found: list[Cell]) -> str:
    rows = []
    for name, group in by_fault(found):
        every = [s for each in group for s in each.said if s.later != 20]
        if not any(s.crps for s in every):
            continue
        ratios = np.array([s.crps[1] / s.crps[0] for s in every if s.crps])
        rows.append([name, f"{ratios.size / len(every):.2f}", *_ratios(ratios)])
    every = np.array([s.crps[1] / s.crps[0] for c in found for s in c.said if s.crps])
    return _judged(rows, every)


def _ratios(ratios: Float) -> list[str]:
    return [f"{np.median(ratios):.2f}", f"{np.mean(ratios > 1):.3f}", f"{ratios.max():.2f}"]


def _judged(rows: list[list[str]], ratios: Float) -> str:
    head = ["advice", "told", "CRPS after / before, median", "worse", "worst"]
    if not ratios.size:
        return table(head, rows)
    worse, worst = float(np.mean(ratios > 1.0)), float(ratios.max())
    return table(head, rows) + (
        f"\n\nOf {ratios.size} pieces of advice, on the {NEXT} pairs after: worse {worse:.4f} "
        f"({goal(worse, atmost=0.02)}), worst {worst:.3f} ({goal(worst, atmost=1.05)})."
    )


def files(scale: float) -> str:
    """Return what is said of whole files, honest and faulty."""
    count, length = max(4, round(20 * scale)), 50_000
    shapes: dict[str, sim.Draw] = {
        **sim.SHAPES,
        "AR(0.7)": sim.autoregressive(0.7),
        "AR(0.9)": sim.autoregressive(0.9),
        "24-pair cycle": sim.cyclic,
    }
    sim.SHAPES.update(shapes)
    rows = []
    clock = sim.times(length)
    for shape in shapes:
        for model in sim.MODELS:
            f = sim.honest(model, shape, count, 5, length=length, onset=0)
            said = [
                judge_file(Pairs(clock, f.value[i], f.u[i], f.reference[i], f.u_ref[i]))
                for i in range(count)
            ]
            wrong = sum(v.state == "fault" for v in said)
            models = Counter(v.error_model for v in said)
            cells_ = [f"{shape}, {model}", str(count), str(wrong), goal(wrong, atmost=count / 20)]
            rows.append([*cells_, ", ".join(f"{k} {n}" for k, n in models.items())])
    for shape in set(shapes) - {"normal", "t4", "AR(0.5)"}:
        sim.SHAPES.pop(shape)
    head = [f"honest files of {length} pairs", "files", "called faulty", "goal", "error model"]
    return table(head, rows) + "\n\n" + _faulty_files(count)


def _faulty_files(count: int) -> str:
    rows = []
    for name, fault in sim.FAULTS.items():
        if "then" in name or fault.label == "stuck":
            continue
        line = [name]
        for model in sim.MODELS:
            for shape in sim.SHAPES:
                f = sim.streams(name, model, shape, count, 9, onset=0, length=1000)
                clock = sim.times(1000)
                said = [
                    judge_file(Pairs(clock, f.value[i], f.u[i], f.reference[i], f.u_ref[i]))
                    for i in range(count)
                ]
                line.append(f"{share(v.fault == fault.label for v in said):.2f}")
        rows.append(line)
    head = [f"{model}, {shape}" for model in sim.MODELS for shape in sim.SHAPES]
    return table(["faulty from the first of 1000 pairs, named right", *head], rows)


def recorded(_: float) -> str:
    """Return verdicts over recorded sensors as the daemon would give them, and what became of it."""
    parts, ratios = [], []
    for path in ("uwb_pairs.csv", "airquality_pairs.csv.gz"):
        for sensor, (clock, value, u, reference) in sorted(_read(DATA / path).items()):
            none = np.zeros(value.size)
            whole = judge_file(Pairs(clock, value, u, reference, none))
            parts.append(
                f"**{sensor}**, {value.size} pairs, the whole: {whole.sentence}. {whole.advice}"
            )
            if value.size > 2 * WINDOW:
                rows, found = _along(clock, value, u, reference)
                ratios += found
                head = [
                    "until",
                    "mean error of the last 100",
                    "said",
                    "advice",
                    f"CRPS ratio on the next {NEXT}",
                ]
                parts.append(table(head, rows))
    return "\n\n".join(parts) + "\n\n" + _judged([], np.array(ratios))


def _read(path: Path) -> dict[str, tuple[Float, ...]]:
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else path.open()
    found: dict[str, list[tuple[float, ...]]] = {}
    with opened as lines:
        for row in csv.DictReader(lines):
            clock = datetime.fromisoformat(row["time"].replace("Z", "+00:00")).timestamp()
            numbers = (float(row[name]) for name in ("value", "sigma", "reference"))
            found.setdefault(row["sensor"], []).append((clock, *numbers))
    return {sensor: tuple(np.array(rows).T) for sensor, rows in found.items()}


def _along(
    clock: Float, value: Float, u: Float, reference: Float
) -> tuple[list[list[str]], list[float]]:
    none = np.zeros(value.size)
    alarm = int(alarms(*(each[None] for each in (value, u, reference, none)))[0])
    rows, ratios = [], []
    month = ""
    for end in range(max(alarm + 50, WINDOW // 2), value.size - NEXT, 50):
        begin = max(0, end - WINDOW)
        part = slice(begin, end)
        pairs = Pairs(clock[part], value[part], u[part], reference[part], none[part])
        verdict = judge(pairs, alarm=max(alarm - begin, 0))
        following = slice(end, end + NEXT)
        crps = advised(verdict, value[following], u[following], reference[following])
        ratio = "" if crps is None else f"{crps[1] / crps[0]:.2f}"
        if crps:
            ratios.append(crps[1] / crps[0])
        day = f"{datetime.fromtimestamp(clock[end - 1], UTC):%Y-%m-%d}"
        if day[:7] != month:
            month = day[:7]
            error = float(np.mean(value[end - 100 : end] - reference[end - 100 : end]))
            rows.append([day, f"{error:.3g}", verdict.sentence, verdict.advice, ratio])
    return rows, ratios


FIRST_DAY = ("offset 1 u", "drift 0.02 u/pair", "gain 1.25", "gain 0.5", "u x 2", "u / 2")
MORE_FIRST_DAY = ("5 % outliers of 8 u", "stuck, truth's sd 1 u", "lag of 2 pairs", "sign, about 0")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the streams")
    parser.add_argument("--table", default="", help="only this one")
    parser.add_argument("--only", default="", help="faults whose name holds this")
    options = parser.parse_args(arguments)
    began = time.perf_counter()

    def wanted(*tables: str) -> bool:
        return not options.table or options.table in tables

    if wanted("names", "sizes", "onsets", "advice"):
        found = cells(options.share, options.only, {}, sim.FAULTS)
        verdicts = sum(len(each.said) for each in found)
        for title, made in _TABLES.items():
            if wanted(title):
                print(f"\n## {title}\n\n{made(found)}", flush=True)
        print(f"\n{1e3 * sum(c.seconds for c in found) / verdicts:.2f} ms of processor a verdict")
    if wanted("first day"):
        some = [*FIRST_DAY, *MORE_FIRST_DAY]
        found = cells(options.share, options.only, {"onset": 0}, some)
        print(f"\n## wrong from the first pair\n\n{names(found)}\n\n{sizes(found)}", flush=True)
    if wanted("narrow"):
        narrow = [name for name, fault in sim.FAULTS.items() if fault.spread == 3.0]
        found = cells(options.share, options.only, {"spread": 1.5}, narrow)
        print(f"\n## truth's sd 1.5 u (R2 0.7)\n\n{names(found)}", flush=True)
    if wanted("files"):
        print(f"\n## files\n\n{files(options.share)}", flush=True)
    if wanted("recorded"):
        print(f"\n## recorded\n\n{recorded(options.share)}", flush=True)
    print(f"\n{time.perf_counter() - began:.0f} s", file=sys.stderr)


_TABLES: dict[str, Callable[[list[Cell]], str]] = {
    "names": names,
    "sizes": sizes,
    "onsets": onsets,
    "advice": advice,
}

if __name__ == "__main__":
    main(sys.argv[1:])
