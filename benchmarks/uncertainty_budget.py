"""Planted uncertainties of sensors and reference against the intervals of the budget.

Streams of known parts: a truth that moves, sensors and a reference that err independently with what
is planted, which may be more than they state. Counted is how often the 95 % intervals hold it.

    python benchmarks/uncertainty_budget.py [--trials 200]
"""

from __future__ import annotations

import argparse
from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import columns
from monitor.core.registry import SeriesName
from monitor.extensions.budget.uncertainty_budget import UncertaintyBudget, uncertainty_budget


class Case(NamedTuple):
    """What is stated and planted: standard uncertainties of the sensors and of the reference."""

    name: str
    stated: tuple[float, ...]
    planted: tuple[float, ...]
    u_ref: float
    ref: float
    events: int
    shape: str = "normal"


CASES: Final = (
    Case("all as stated, three views", (1.0, 1.0), (1.0, 1.0), 0.5, 0.5, 200),
    Case("a sensor understates twice", (1.0, 1.0), (2.0, 1.0), 0.5, 0.5, 200),
    Case("the reference understates three times", (1.0, 1.0, 1.0), (1.0, 1.0, 1.0), 0.3, 0.9, 200),
    Case("five sensors, one of them wrong", (1.0,) * 5, (1.0, 1.0, 3.0, 1.0, 1.0), 0.5, 0.5, 200),
    Case("few events", (1.0, 1.0, 2.0), (1.0, 2.0, 2.0), 0.8, 0.8, 60),
    Case("heavy tails (t5)", (1.0, 1.0, 1.0), (1.5, 1.0, 1.0), 0.8, 0.8, 300, "t5"),
)


def planted(case: Case, seed: int) -> UncertaintyBudget | str:
    """Return the budget of one stream with planted parts."""
    random = np.random.default_rng(seed)
    views, events = len(case.stated), case.events

    def drawn() -> np.ndarray:
        if case.shape == "t5":
            return random.standard_t(5, events) / np.sqrt(5.0 / 3.0)
        return random.standard_normal(events)

    truth = 20.0 + 10.0 * np.sin(np.arange(events) / 9.0)
    reference = truth + case.ref * drawn()
    value = np.concatenate([truth + each * drawn() for each in case.planted])
    nothing = np.full(value.size, np.nan)
    pairs = columns(
        np.arange(views) * events,
        time=np.tile(np.arange(events) * 60.0, views),
        value=value,
        reference=np.tile(reference, views),
        u=np.repeat(case.stated, events),
        lower=nothing,
        upper=nothing,
        p=nothing,
        u_ref=np.full(value.size, case.u_ref),
        level=0.9,
    )
    names = [SeriesName(f"s{i}", "t") for i in range(views)]
    return uncertainty_budget(pairs, np.tile(np.arange(events), views), names, seed)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    options = parser.parse_args()
    print("| views | events | held: sensors | held: reference | called wrong, rightly | wrongly |")
    print("|---|---|---|---|---|---|")
    for case in CASES:
        truth = np.array([*case.planted, case.ref])
        wrong = truth != np.array([*case.stated, case.u_ref])
        held, called = [], []
        for seed in range(options.trials):
            found = planted(case, seed)
            assert not isinstance(found, str), found
            held.append(
                [
                    v.shown.lower <= t <= v.shown.upper
                    for v, t in zip(found.views, truth, strict=True)
                ]
            )
            called.append([v.verdict != "" for v in found.views])
        holds, calls = np.mean(held, axis=0), np.mean(called, axis=0)
        rightly = f"{100.0 * calls[wrong].mean():.0f} %" if wrong.any() else ""
        wrongly = f"{100.0 * calls[~wrong].mean():.1f} %"
        cells = (
            f"{100.0 * holds[:-1].mean():.0f} %",
            f"{100.0 * holds[-1]:.0f} %",
            rightly,
            wrongly,
        )
        print(f"| {case.name} | {case.events} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
