"""Verdicts on whole files, simulated and recorded, and along recorded sensors."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import verdicts_streams as sim
from alarms_streams import Float, autoregressive, cyclic
from verdicts_scoring import (
    NEXT,
    WINDOW,
    advised,
    alarms,
    goal,
    judged,
    share,
    table,
)

import monitor
from monitor.core.verdict import Pairs, judge, judge_whole

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def files(scale: float) -> str:
    """Return the table of verdicts on whole files, honest and faulty."""
    count, length = max(4, round(20 * scale)), 50_000
    shapes: dict[str, sim.Draw] = {
        **sim.SHAPES,
        "AR(0.7)": autoregressive(0.7),
        "AR(0.9)": autoregressive(0.9),
        "24-pair cycle": cyclic(24),
    }
    sim.SHAPES.update(shapes)
    rows = []
    clock = sim.times(length)
    for shape in shapes:
        for model in sim.MODELS:
            f = sim.honest(model, shape, count, 5, length=length, onset=0)
            said = [
                judge_whole([Pairs(clock, f.value[i], f.u[i], f.reference[i], f.u_ref[i])])[0]
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
                    judge_whole([Pairs(clock, f.value[i], f.u[i], f.reference[i], f.u_ref[i])])[0]
                    for i in range(count)
                ]
                line.append(f"{share(v.fault == fault.label for v in said):.2f}")
        rows.append(line)
    head = [f"{model}, {shape}" for model in sim.MODELS for shape in sim.SHAPES]
    return table(["share named correctly, faulty from the first of 1000 pairs", *head], rows)


def recorded(_: float) -> str:
    """Return the verdicts along recorded sensors, and the effect of their advice."""
    parts, ratios = [], []
    for path in ("uwb_pairs.csv", "airquality_pairs.csv.gz"):
        frame = pl.read_csv(DATA / path)["time", "sensor", "value", "sigma", "reference"]
        said = {each["sensor"]: each["verdict"] for each in monitor.score(frame).series}
        for sensor, (clock, value, u, reference) in sorted(_read(DATA / path).items()):
            whole = said[sensor]
            parts.append(
                f"**{sensor}**, {value.size} pairs, whole file: {whole['sentence']}. "
                f"{whole['advice']}"
            )
            if value.size > 2 * WINDOW:
                rows, found = _along(clock, value, u, reference)
                ratios += found
                head = [
                    "until",
                    "mean error of the last 100",
                    "sentence",
                    "advice",
                    f"ratio of scores on the next {NEXT}",
                ]
                parts.append(table(head, rows))
    return "\n\n".join(parts) + "\n\n" + judged([], np.array(ratios))


def _read(path: Path) -> dict[str, tuple[Float, ...]]:
    opener = gzip.open if path.suffix == ".gz" else open
    found: dict[str, list[tuple[float, ...]]] = {}
    with opener(path, "rt") as lines:
        for row in csv.DictReader(lines):
            clock = datetime.fromisoformat(row["time"]).timestamp()
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
        score = advised(verdict, value[following], u[following], reference[following])
        ratio = "" if score is None else f"{score[1] / score[0]:.2f}"
        if score:
            ratios.append(score[1] / score[0])
        day = f"{datetime.fromtimestamp(clock[end - 1], UTC):%Y-%m-%d}"
        if day[:7] != month:
            month = day[:7]
            error = float(np.mean(value[end - 100 : end] - reference[end - 100 : end]))
            rows.append([day, f"{error:.3g}", verdict.sentence, verdict.advice, ratio])
    return rows, ratios
