"""References when they are due against references at fixed intervals, on simulated fleets.

A fleet of sensors drifts and walks, each at its own rate, for four years; the first, in which the
fleet is learnt, is not counted. A visit is one reference measurement; who is found beyond half the
tolerance is adjusted, which is an event. Truth is the simulated error of every day. Fixed intervals
are tried over a grid, and compared is the one with which the same share of sensor-days is out of
tolerance.

    python benchmarks/due_dates.py [--seeds 3]      # writes its table to standard output
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import columns
from monitor.core.steps import finish
from monitor.extensions.due.due_dates import DueDates, Forecast, due_date_steps
from monitor.extensions.due.offset_walks import walks_of

SENSORS: Final = 60
DAYS: Final = 1461
SINCE: Final = 365  # the first year, in which the fleet is learnt, is counted apart
DAY: Final = 86_400.0
TOLERANCE: Final = 5.0  # in standard uncertainties of a reading
U_REF: Final = 0.3
ACTION: Final = 0.5 * TOLERANCE
INTERVALS: Final = (10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320, 450, 640)

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
        self.pairs: list[list[tuple[float, float, int]]] = [[] for _ in range(SENSORS)]
        self._epoch = [0] * SENSORS
        self.visits = 0
        self.days_out = 0

    def visit(self, day: int, who: np.ndarray) -> None:
        """Measure some sensors, and adjust those that are found beyond half the tolerance."""
        for sensor in who.tolist():
            found = self._moves[day, sensor] + self._zero[sensor] + self._noise[day, sensor]
            self.visits += day >= SINCE
            self.pairs[sensor].append((day * DAY, found, self._epoch[sensor]))
            if abs(found) > ACTION:
                # What it is off is the mean of two readings: the one found, and one to make sure.
                self._zero[sensor] = -self._moves[day, sensor] + self._noise[day - 1, sensor]
                self._epoch[sensor] += 1
                left = (day * DAY + 60.0, self._noise[day - 1, sensor], self._epoch[sensor])
                self.pairs[sensor].append(left)

    def pass_day(self, day: int) -> None:
        """Count who is out of tolerance."""
        error = self._moves[day] + self._zero
        if day >= SINCE:
            self.days_out += int((np.abs(error) > TOLERANCE).sum())

    def outcome(self) -> Outcome:
        """Return visits and share out of tolerance after the first year."""
        return Outcome(self.visits, self.days_out / ((DAYS - SINCE) * SENSORS))

    def dates(self, day: int) -> DueDates:
        """Return when each sensor is due by its pairs."""
        counts = [len(each) for each in self.pairs]
        time, error, epoch = np.array([pair for each in self.pairs for pair in each]).T
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
        walks = walks_of(pairs, epoch, np.ones(SENSORS))
        asked = Forecast(walks, ["q"] * SENSORS, np.full(SENSORS, TOLERANCE), {})
        return finish(due_date_steps(asked, day * DAY))


def at_intervals(rates: Rates, seed: int, interval: int) -> Outcome:
    """Visit every sensor at a fixed interval, the sensors in turn."""
    fleet, phase = Fleet(rates, seed), np.arange(SENSORS) % interval
    fleet.visit(1, np.arange(SENSORS))
    for day in range(2, DAYS):
        fleet.visit(day, np.flatnonzero((day - phase) % interval == 0))
        fleet.pass_day(day)
    return fleet.outcome()


def when_due(rates: Rates, seed: int) -> Outcome:
    """Visit who wants a reference by today."""
    fleet = Fleet(rates, seed)
    fleet.visit(1, np.arange(SENSORS))
    for day in range(2, DAYS):
        fleet.visit(day, np.flatnonzero(fleet.dates(day).lower <= day * DAY))
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
    print("| fleet | out of tolerance | references when due | at a fixed interval | fewer |")
    print("|---|---|---|---|---|")
    for name, rates in FLEETS.items():
        visits, out, others = 0, 0.0, 0.0
        for seed in range(options.seeds):
            fixed = [at_intervals(rates, seed, each) for each in INTERVALS]
            found = when_due(rates, seed)
            visits, out = visits + found.visits, out + found.out / options.seeds
            others += visits_alike(fixed, found.out)
        fewer = 100.0 * (1.0 - visits / others)
        print(
            f"| {name} | {100.0 * out:.1f} % | {visits} | {others:.0f} | {fewer:.0f} % |",
            flush=True,
        )


if __name__ == "__main__":
    main()
