"""Regulators' figures: how often their intervals hold, and what recorded sensors come to.

    python benchmarks/targets.py [--runs 2000]   # its two tables to standard output, a minute

Simulated: a reference of log-normal concentrations and a sensor with a line of its own, whose
errors are drawn from the distribution of each row. Shown is the share of 95 % intervals that hold
the figure of a million such averages. Recorded: the airquality sensors of ../shared/data, by the
rules of each regulator that has any for them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from scipy.signal import lfilter

from monitor.core.pairing.series_rules import SeriesRules
from monitor.extensions.targets.assessment import Question
from monitor.extensions.targets.jackknife import jackknifed
from monitor.extensions.targets.moment_figures import (
    EPA_FIGURES,
    MomentOrigin,
    log_expanded,
    moment_rows,
    performance_scales,
)
from monitor.extensions.targets.recorded_targets import recorded_assessments
from monitor.report.recorded import read

DATA: Final = Path(__file__).resolve().parents[2] / "shared" / "data" / "airquality_pairs.csv.gz"
LIMIT: Final = 50.0
COUNTS: Final = (20, 40, 100, 400, 2000)
TRUTH: Final = 1_000_000
Draw = Callable[[np.random.Generator, int], np.ndarray]


def autoregressive(lag: float) -> Draw:
    """Return how to draw AR(1) numbers of variance 1."""

    def draw(random: np.random.Generator, n: int) -> np.ndarray:
        noise = random.standard_normal(n + 200)
        return lfilter([np.sqrt(1.0 - lag * lag)], [1.0, -lag], noise)[200:]

    return draw


def skewed(random: np.random.Generator, n: int) -> np.ndarray:
    """Return numbers of mean 0 and variance 1 with a long upper tail."""
    return random.exponential(1.0, n) - 1.0


def heavy(random: np.random.Generator, n: int) -> np.ndarray:
    """Return numbers of variance 1 from t with four degrees of freedom."""
    return random.standard_t(4, n) / np.sqrt(2.0)


def half_slow(random: np.random.Generator, n: int) -> np.ndarray:
    """Return numbers of variance 1, half of it independent and half AR(.95)."""
    return (random.standard_normal(n) + autoregressive(0.95)(random, n)) / np.sqrt(2.0)


# Name, errors, whether they grow with the concentration, and the level's own memory.
SHAPES: Final[dict[str, tuple[Draw, bool, float]]] = {
    "normal": (autoregressive(0.0), False, 0.0),
    "t4": (heavy, False, 0.0),
    "skewed": (skewed, False, 0.0),
    "in proportion to the level": (autoregressive(0.0), True, 0.0),
    "AR(.5)": (autoregressive(0.5), False, 0.8),
    "AR(.7)": (autoregressive(0.7), False, 0.8),
    "AR(.9)": (autoregressive(0.9), False, 0.8),
    "half independent, half AR(.95)": (half_slow, False, 0.8),
}


def averages(shape: str, random: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the reference and the sensor of one run."""
    errors, grows, memory = SHAPES[shape]
    x = np.exp(np.log(25.0) + 0.5 * autoregressive(memory)(random, n))
    return x, 2.0 + 0.9 * x + 4.0 * errors(random, n) * (x / 30.0 if grows else 1.0)


def figures(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return (3, 6): W and the EPA's figures on their scales, with their ends."""
    origin = MomentOrigin(float(x.mean()), float(y.mean()))
    rows = moment_rows(x, y, origin)
    at_limit = partial(log_expanded, n=x.size, origin=origin, limit=LIMIT, u_ref=0.0)
    parts = (at_limit, partial(performance_scales, origin=origin))
    return np.hstack([jackknifed(rows, each) for each in parts])


def simulated(runs: int) -> str:
    """Return the table of how often intervals hold."""
    lines = [
        f"| errors | averages | W | {' | '.join(EPA_FIGURES)} |",
        f"|{'---|' * (3 + len(EPA_FIGURES))}",
    ]
    for number, shape in enumerate(SHAPES):
        random = np.random.default_rng(number)
        truth = figures(*averages(shape, random, TRUTH))[0]
        for n in COUNTS:
            ends = np.array([figures(*averages(shape, random, n)) for _ in range(runs)])
            held = ((ends[:, 1] <= truth) & (truth <= ends[:, 2])).mean(axis=0)
            shares = " | ".join(f"{100.0 * each:.0f} %" for each in held)
            lines.append(f"| {shape} | {n} | {shares} |")
    return "\n".join(lines)


def recorded() -> str:
    """Return the table of the recorded sensors."""
    lines = ["| sensor | rules | averages | result |", "|---|---|---|---|"]
    pairs = read(DATA, SeriesRules())
    for rules, sensors in (("eu", ("co", "no2")), ("eu-2024", ("co", "no2"))):
        rows = [row for row, name in enumerate(pairs.names) if name.sensor in sensors]
        for row, of in recorded_assessments(pairs, dict.fromkeys(rows, Question(rules))).items():
            name = pairs.names[row].sensor
            lines.append(f"| {name} | {rules} | {of.averages} | {of.sentence} |")
    return "\n".join(lines)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    print(simulated(parser.parse_args().runs))
    print(f"\n{recorded()}")


if __name__ == "__main__":
    main()
