"""Simulated crossings of one platform, and the statements of several estimators on each.

They replace the cattle of Martin, Molteno, Parry (arXiv 1411.4354), which are not public.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.analysis.common_events import Events
from monitor.core.columns import Columns, columns, coverage_factor
from monitor.reproduce.stated_columns import STATED_P
from monitor.simulate.forces import STANDARD_GRAVITY, force_trace, method_e

SEED: Final = 20_141_117
CROSSINGS: Final = 400


class Estimators(NamedTuple):
    """What several estimators stated for the same crossings, one series each."""

    names: tuple[str, ...]
    pairs: Columns
    event: Events


def estimators() -> Estimators:
    """Return method E, the median force, and six of known spread, over the same animals."""
    chance = np.random.default_rng(SEED)
    mass = 500.0 + 60.0 * chance.standard_normal(CROSSINGS)
    traces = [force_trace(each, chance) for each in mass.tolist()]
    e = np.array([method_e(trace) for trace in traces])
    said = {"E": (e[:, 0], 0.5 * (e[:, 2] - e[:, 1]) / coverage_factor(e[:, 3]))}
    median = np.array([np.median(trace[trace > 500.0]) for trace in traces]) / STANDARD_GRAVITY
    said["median force"] = median, np.full(CROSSINGS, 50.0)
    for name, bias, spread, claim in (
        ("honest 5 kg", 0.0, 5.0, 1.0),
        ("honest 15 kg", 0.0, 15.0, 1.0),
        ("honest 30 kg", 0.0, 30.0, 1.0),
        ("12 kg heavy", 12.0, 8.0, 1.0),
        ("over-confident", 0.0, 20.0, 0.3),
        ("under-confident", 0.0, 8.0, 4.0),
    ):
        value = mass + bias + spread * chance.standard_normal(CROSSINGS)
        said[name] = value, np.full(CROSSINGS, claim * spread)
    count = len(said)
    blank = np.full(count * CROSSINGS, np.nan)
    pairs = columns(
        CROSSINGS * np.arange(count),
        time=np.tile(np.arange(float(CROSSINGS)), count),
        value=np.concatenate([value for value, _ in said.values()]),
        reference=np.tile(mass, count),
        u=np.concatenate([u for _, u in said.values()]),
        lower=blank,
        upper=blank,
        p=blank,
        u_ref=np.zeros(count * CROSSINGS),
        level=STATED_P,
    )
    return Estimators(tuple(said), pairs, np.tile(np.arange(CROSSINGS), count))
