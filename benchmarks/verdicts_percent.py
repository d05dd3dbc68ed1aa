"""Verdicts on sensors that state a share of their reading as u, with errors in their own unit.

A reading that is low by chance states a smaller u and would weigh more (Peelle's puzzle).
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import numpy as np
import verdicts_streams as sim
from verdicts_scoring import Float, alarms, goal, share, table

from monitor.core.verdict import Estimate, Pairs, Verdict, judge_all, judge_whole

PAIRS = 600
SHARES = (0.05, 0.1, 0.15, 0.2, 0.3)
LEVEL, SD = 100.0, 20.0
OFFSET, GAIN = 20.0, 1.3
FEWEST = 10  # streams of a name; a cell with fewer has no size
MOST_HONEST = 0.2  # share above which the stated u is no standard deviation any more
Columns = tuple[Float, Float, Float, Float]


def proportional(
    model: str, kind: str, story: str, x: float, streams: int, seed: int, pairs: int = PAIRS
) -> Columns:
    """Return values, u, references and u_ref [streams, pairs]; a drift ends at the offset."""
    rng = np.random.default_rng(seed)
    carrier = LEVEL + SD * rng.standard_normal((streams, pairs))
    of = x * np.abs(carrier)
    error = of * rng.standard_normal(carrier.shape)
    value, truth = (
        (carrier + error, carrier) if model == "classical" else (carrier, carrier - error)
    )
    if story == "offset":
        value = value + OFFSET
    elif story == "drift":
        value = value + OFFSET * np.arange(1, pairs + 1) / pairs
    elif story == "gain":
        value = LEVEL + GAIN * (value - LEVEL)
    u = x * np.abs(truth if kind == "of the truth" else value)
    return value, np.maximum(u, 1e-9), truth, np.zeros_like(value)


def judged_columns(columns: Columns) -> tuple[list[Verdict], list[Verdict], int]:
    """Return verdicts on files, live ones where an alarm was raised, and how many were."""
    clock = sim.times(columns[0].shape[1])
    pairs = [Pairs(clock, *rows) for rows in zip(*columns, strict=True)]
    alarm = alarms(*columns).tolist()
    fired = [i for i, at in enumerate(alarm) if at >= 0]
    live = judge_all([pairs[i] for i in fired], alarm=[alarm[i] for i in fired])
    return judge_whole(pairs), live, len(fired)


def _row(job: tuple[str, str, float, int]) -> list[str]:
    model, kind, x, streams = job
    files, live, fired = judged_columns(proportional(model, kind, "honest", x, streams, 1))
    accused = [sum(each.state == "fault" for each in part) / streams for part in (files, live)]
    line = [f"{100 * x:g} % {kind}, {model}", f"{fired / streams:.2f}"]
    line += [
        f"{accused[0]:.2f}, {accused[1]:.2f}",
        goal(max(accused), atmost=0.05) if x <= MOST_HONEST else "-",
    ]
    for story, truth in (("offset", OFFSET), ("drift", OFFSET), ("gain", GAIN)):
        files, live, _ = judged_columns(proportional(model, kind, story, x, streams, 2))
        sizes, of_live = ([_size(v, story) for v in part] for part in (files, live))
        named = [each for each in sizes if each is not None]
        if len(named) < FEWEST:
            line += [f"- ({len(named) / streams:.2f})", "-"]
            continue
        mean = float(np.mean([each.value for each in named]))
        holds, holds_live = (
            share(each.lower <= truth <= each.upper for each in part if each is not None)
            for part in (sizes, of_live)
        )
        line += [f"{mean:.3g} ({len(named) / streams:.2f})"]
        line += [f"{holds:.2f}, {holds_live:.2f} ({goal(holds, atleast=0.9)})"]
    return line


def _size(verdict: Verdict, story: str) -> Estimate | None:
    if verdict.fault != story:
        return None
    return verdict.gain if story == "gain" else verdict.level


def in_proportion(scale: float) -> str:
    """Return the table of names and sizes where u is a share of the reading."""
    streams = max(2 * FEWEST, round(200 * scale))
    jobs = [(m, "of the reading", x, streams) for m in sim.MODELS for x in SHARES]
    jobs += [(m, "of the truth", 0.1, streams) for m in sim.MODELS]
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(_row, jobs))
    head = ["u", "honest: alarm", "named at fault, file and live", "goal"]
    for truth in (f"{OFFSET:g} high", f"drift to {OFFSET:g}", f"gain {GAIN:g}"):
        head += [f"{truth}: mean size (share named so)", "95 % interval holds it, file, live"]
    return table(head, rows)
