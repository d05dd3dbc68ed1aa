"""References when they are due against references at fixed intervals, on simulated fleets.

A fleet of sensors drifts and walks, each at its own rate, for three years. A visit is one reference
measurement; who is found beyond half the tolerance is adjusted, which begins a new epoch, so that
only later pairs count. Truth is the simulated error of every day. Fixed intervals are tried over a
grid, and compared is the one with which the same share of sensor-days is out of tolerance.

    python benchmarks/due_dates.py [--seeds 3]      # writes its table to standard output
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import columns
from monitor.core.fleet.due_dates import DueDates, due_dates, forecast_of
from monitor.core.registry import SeriesName

SENSORS: Final = 60
DAYS: Final = 1096
DAY: Final = 86_400.0
TOLERANCE: Final = 5.0  # in standard uncertainties of a reading
U_REF: Final = 0.3
ACTION: Final = 0.5 * TOLERANCE
INTERVALS: Final = (5, 7, 10, 14, 20, 28, 40, 56, 80, 112, 160, 224)
RISKS: Final = ("lower", "due")

Rates = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


class Outcome(NamedTuple):
    """What a way of choosing visits came to: visits, and sensor-days out of tolerance."""

    visits: int
    out: float


def alike(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """All sensors walk alike: here an interval for all is as good as any."""
    del rng
    return np.full(SENSORS, 0.15), np.zeros(SENSORS)


def mixed(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Most hardly move, a fifth drifts, a fifth walks."""
    kind = rng.permutation(SENSORS) % 5
    walk = np.where(kind == 0, rng.uniform(0.2, 0.5, SENSORS), 0.03)
    drift = np.where(kind == 1, rng.normal(0.0, 0.05, SENSORS), 0.0)
    return walk, drift


def spread(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rates from a log-normal distribution, a factor of 3 about their median."""
    walk = 0.06 * np.exp(rng.normal(0.0, 1.1, SENSORS))
    return walk, 0.008 * rng.normal(size=SENSORS) * np.exp(rng.normal(0.0, 1.1, SENSORS))


def drifting(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Every sensor drifts on a line at a rate of its own, with hardly a walk."""
    return np.full(SENSORS, 0.02), rng.normal(0.0, 0.03, SENSORS)


FLEETS: Final[dict[str, Rates]] = {
    "all walk alike": alike,
    "a fifth drifts, a fifth walks": mixed,
    "rates log-normal": spread,
    "each drifts at its own rate": drifting,
}


class Fleet:
    """State: true errors, and the pairs since each sensor was last adjusted."""

    def __init__(self, rates: Rates, seed: int) -> None:
        rng = np.random.default_rng(seed)
        walk, drift = rates(rng)
        steps = walk * rng.normal(size=(DAYS, SENSORS)) + drift
        self._moves = np.cumsum(steps, axis=0)
        self._noise = rng.normal(size=(DAYS, SENSORS)) * np.hypot(1.0, U_REF)
        self._zero = np.zeros(SENSORS)
        self.pairs: list[list[tuple[float, float]]] = [[] for _ in range(SENSORS)]
        self.visits = 0
        self.days_out = 0

    def visit(self, day: int, who: np.ndarray) -> None:
        """Measure some sensors, and adjust those that are found beyond half the tolerance."""
        for sensor in who.tolist():
            found = self._moves[day, sensor] + self._zero[sensor] + self._noise[day, sensor]
            self.visits += 1
            self.pairs[sensor].append((day * DAY, found))
            if abs(found) > ACTION:
                # What it is off is the mean of two readings: the one found, and one to make sure.
                self._zero[sensor] = -self._moves[day, sensor] + self._noise[day - 1, sensor]
                self.pairs[sensor] = [(day * DAY + 1.0, self._noise[day - 1, sensor])]

    def pass_day(self, day: int) -> None:
        """Count who is out of tolerance."""
        error = self._moves[day] + self._zero
        self.days_out += int((np.abs(error) > TOLERANCE).sum())

    def outcome(self) -> Outcome:
        return Outcome(self.visits, self.days_out / (DAYS * SENSORS))

    def dates(self, day: int) -> DueDates:
        """Return when each sensor is due by its pairs."""
        counts = [len(each) for each in self.pairs]
        time, error = np.array([pair for each in self.pairs for pair in each]).T
        nothing = np.full(time.size, np.nan)
        pairs = columns(
            np.cumsum([0, *counts[:-1]]),
            time=time,
            value=error,
            reference=np.zeros(time.size),
            u=np.ones(time.size),
            lower=nothing,
            upper=nothing,
            p=nothing,
            u_ref=np.full(time.size, U_REF),
            level=0.9,
        )
        names = [SeriesName(f"{i:03}", "q") for i in range(SENSORS)]
        return due_dates(forecast_of(pairs, names, np.full(SENSORS, TOLERANCE), {}), day * DAY)


def at_intervals(rates: Rates, seed: int, interval: int) -> Outcome:
    """Visit every sensor at a fixed interval, the sensors in turn."""
    fleet, phase = Fleet(rates, seed), np.arange(SENSORS) % interval
    fleet.visit(1, np.arange(SENSORS))
    for day in range(2, DAYS):
        fleet.visit(day, np.flatnonzero((day - phase) % interval == 0))
        fleet.pass_day(day)
    return fleet.outcome()


def when_due(rates: Rates, seed: int, risk: str) -> Outcome:
    """Visit who is due by the date of a risk."""
    fleet = Fleet(rates, seed)
    fleet.visit(1, np.arange(SENSORS))
    for day in range(2, DAYS):
        date = getattr(fleet.dates(day), risk)
        fleet.visit(day, np.flatnonzero(date <= day * DAY))
        fleet.pass_day(day)
    return fleet.outcome()


def visits_alike(fixed: list[Outcome], share: float) -> float:
    """Return the visits at the fixed interval with which so large a share is out of tolerance."""
    order = sorted(fixed, key=lambda each: each.out)
    return float(
        np.exp(
            np.interp(share, [each.out for each in order], np.log([each.visits for each in order]))
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print("| fleet | visit at | out of tolerance | references | at a fixed interval | fewer |")
    print("|---|---|---|---|---|---|")
    for name, rates in FLEETS.items():
        by_seed = [
            [at_intervals(rates, seed, each) for each in INTERVALS] for seed in range(options.seeds)
        ]
        for risk in RISKS:
            found = [when_due(rates, seed, risk) for seed in range(options.seeds)]
            alike_visits = [
                visits_alike(fixed, each.out) for fixed, each in zip(by_seed, found, strict=True)
            ]
            visits = sum(each.visits for each in found)
            out = np.mean([each.out for each in found])
            fewer = 1.0 - visits / sum(alike_visits)
            line = f"| {name} | {risk} | {100.0 * out:.1f} % | {visits} | "
            print(f"{line}{sum(alike_visits):.0f} | {100.0 * fewer:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
