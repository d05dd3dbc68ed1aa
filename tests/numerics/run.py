"""Pairs through the windows by the hundred million, and what is published then in fifty digits.

Rules of this file: pairs are made in chunks, each of its own seed, so that the last ones can be
made again without asking the windows; huge values come all along, but not within the last window.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns, columns
from monitor.core.model import PAIR, Records
from monitor.core.scores import proper_scores
from monitor.core.scores.statistics import STATISTICS, compute
from monitor.core.windows.windows import Windows

from .exact import exact, off

LEVEL: Final = 0.9
WINDOW: Final = 500
SERIES: Final = 32
LENGTH: Final = 4_000
HUGE: Final = (1e20, -1e308, 1e308, 1e15)
BOUND: Final = 1e-12
KINDS: Final = 4


class Outcome(NamedTuple):
    """Pairs taken; the statistic that is off most, by how much; figures compared and within."""

    pairs: int
    worst: str
    off: float
    figures: int
    within: int
    series: int
    same_bits: int


def chunk(seed: int, number: int, *, huge: bool) -> Records:
    """Return the pairs of all series of one stretch of time, series by series in each instant."""
    random = np.random.default_rng([seed, number])
    shape = (LENGTH, SERIES)
    kind = np.broadcast_to(np.arange(SERIES) % KINDS, shape)
    u = np.choose(
        kind,
        (
            random.uniform(0.5, 2.0, shape),
            10.0 ** random.uniform(-10.0, 10.0, shape),
            np.full(shape, 1e-3),
            np.exp(random.normal(0.0, 1.0, shape)),
        ),
    )
    truth = np.choose(
        kind,
        (
            random.uniform(100.0, 600.0, shape),
            np.zeros(shape),
            1e9 + random.uniform(0.0, 1.0, shape),
            random.normal(0.0, 1e6, shape),
        ),
    )
    made = np.zeros(shape, dtype=PAIR)
    made["series"] = np.arange(SERIES)
    made["id"] = 1 + number * made.size + np.arange(made.size).reshape(shape)
    made["time"] = (number * LENGTH + np.arange(LENGTH))[:, None]
    made["u"], made["u_ref"] = u, u * random.choice([0.0, 0.1, 3.0], shape)
    made["reference"] = truth
    made["value"] = truth + u * random.standard_t(4, shape)
    if huge:
        struck = random.random(shape) < 1e-4
        made["value"][struck] = random.choice(HUGE, int(struck.sum()))
    made["lower"] = made["upper"] = made["p"] = made["crps"] = np.nan
    return made.reshape(-1)


def chunks(pairs: int, seed: int) -> Iterator[Records]:
    """Yield at least so many pairs, the last chunk without huge values."""
    count = max(2, -(-pairs // (SERIES * LENGTH)))
    for number in range(count):
        yield chunk(seed, number, huge=number < count - 1)


def run(pairs: int, seed: int = 1, compared: int = SERIES) -> Outcome:
    """Let so many pairs pass through windows; compare the figures of the first series."""
    windows = Windows(SERIES, WINDOW, lambda _: np.zeros(0, dtype=PAIR))
    taken = 0
    last = np.zeros(0, dtype=PAIR)
    with np.errstate(over="ignore"):
        for last in chunks(pairs, seed):
            windows.apply(last)
            taken += last.size
    whole = np.arange(SERIES)
    starts, rows = windows.gather(whole, np.full(SERIES, WINDOW), np.full(SERIES, np.inf))
    published = compute(_columns(starts, rows), STATISTICS)
    worst, figures, within, same = ("", 0.0), 0, 0, 0
    for series in range(compared):
        own = last[last["series"] == series][-WINDOW:]
        alone = _columns(np.zeros(1, dtype=np.int64), own)
        found = compute(alone, STATISTICS)
        same += all(found[name].tobytes() == published[name][series].tobytes() for name in found)
        for name, wanted in exact(alone).items():
            distance = off(wanted, float(published[name][series]))
            figures += 1
            within += distance <= BOUND
            worst = max(worst, (name, distance), key=lambda each: each[1])
    return Outcome(taken, *worst, figures, within, compared, same)


def _columns(starts: np.ndarray, rows: Records) -> Columns:
    names = ("time", "value", "reference", "u", "lower", "upper", "p", "u_ref")
    return columns(starts, level=LEVEL, **{name: rows[name] for name in names})


# -- the bounds -----------------------------------------------------------------------------------


def at_the_bounds(count: int, seed: int = 1) -> Columns:
    """Return pairs of every size within the bounds, 20 a series."""
    random = np.random.default_rng(seed)
    count -= count % 20

    def numbers() -> np.ndarray:
        size = 10.0 ** random.uniform(-16.0, 15.0, count) * random.choice([-1.0, 1.0], count)
        return np.where(random.random(count) < 0.1, random.choice([0.0, 1e15, -1e15], count), size)

    value, near = numbers(), random.random(count) < 0.5
    u = np.clip(10.0 ** random.uniform(-12.5, 15.5, count), 1e-12, 1e15)
    u_ref = np.clip(10.0 ** random.uniform(-12.5, 15.5, count), 1e-12, 1e15)
    none = np.full(count, np.nan)
    return columns(
        np.arange(0, count, 20),
        time=np.arange(count, dtype=np.float64),
        value=value,
        reference=np.clip(
            np.where(near, value + u * random.normal(size=count), numbers()), -1e15, 1e15
        ),
        u=u,
        lower=none,
        upper=none,
        p=none,
        u_ref=np.where(random.random(count) < 0.3, 0.0, u_ref),
        level=LEVEL,
    )


def not_finite(c: Columns) -> dict[str, int]:
    """Return how many pairs each score is not finite for; an interval without width has no top hat.

    A top hat's log score is infinite for a miss by definition and is left out.
    """
    found = {}
    with np.errstate(all="ignore"):
        for name, score in proper_scores.SCORES.items():
            if name == "log_tophat":
                continue
            wide = (c.width > 0.0) | (score.density != "tophat")
            for what, rows in (("", score.rows), (" expected", score.expected)):
                if rows is not None:
                    found[name + what] = int((~np.isfinite(c.once(rows)) & wide).sum())
    return found


def undefined(c: Columns) -> dict[str, int]:
    """Return how many windows lack the mean of each score though it is defined."""
    flat = np.minimum.reduceat(c.width, c.starts) <= 0.0
    found = compute(c, [name for name in proper_scores.SCORES if not name.startswith("log")])
    return {
        name: int((np.isnan(each) & ~(flat & name.endswith("tophat"))).sum())
        for name, each in found.items()
    }


def faults(cases: int, seed: int = 1) -> list[str]:
    """Return what is not finite of so many pairs within the bounds."""
    told: list[str] = []
    for part, size in enumerate(itertools.repeat(100_000, -(-cases // 100_000))):
        c = at_the_bounds(min(size, cases), seed + part)
        for name, count in itertools.chain(not_finite(c).items(), undefined(c).items()):
            if count:
                told.append(f"{name}: {count} pairs or windows")
    return told
