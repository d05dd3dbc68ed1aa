"""Table of who is accused when a reference is off, and when one of its sensors is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from detection_streams import PATIENCE, progress, table

from monitor.core.fleet.common_errors import Meetings
from monitor.core.fleet.suspect_references import (
    PAIRS,
    accuses,
    suspicion,
)

Float = npt.NDArray[np.float64]

U_REF = 0.2
ROUNDS = 60


def world(seed: list[int], sensors: int) -> tuple[Float, Float]:
    """Return (errors, times) [rounds, sensors] of honest sensors; each round in another order."""
    chance = np.random.default_rng(seed)
    rounds = min(ROUNDS, PAIRS // sensors)
    common = U_REF * chance.standard_normal(rounds)
    error = chance.standard_normal((rounds, sensors)) - common[:, None]
    order = chance.permuted(np.tile(np.arange(sensors), (rounds, 1)), axis=1)
    return error, order


def as_met(error: Float, order: Float, rounds: int) -> Meetings:
    """Return the pairs of the first rounds, in the order they came."""
    sensors = error.shape[1]
    which = np.repeat(np.arange(rounds), sensors)
    series = order[:rounds].ravel().astype(np.int64)
    flat = np.ones(series.size)
    unknown = np.full(series.size, np.nan)
    return Meetings(
        series, which, which.astype(float), error[which, series], flat, U_REF * flat, unknown
    )


def references(share: float) -> str:
    runs, rows = max(5, round(200 * share)), []
    for sensors in (5, 10, 20, 50):
        cells = [str(sensors)]
        for size in (0.0, 1.0, 2.0, 5.0, 20.0):
            alone, rule = some_bad(sensors, 1, size, runs)
            cells.append(f"{alone:.1%} -> {rule:.1%}")
        alone, rule = some_bad(sensors, sensors // 5, 2.0, runs)
        cells.append(f"{alone:.1%} -> {rule:.1%}")
        cells += [delay(sensors, size, max(3, runs // 5)) for size in (0.5, 1.0, 2.0)]
        rows.append(cells)
        progress(cells)
    return table(
        [
            "sensors",
            "accused, all honest",
            *(f"one sensor off by {size} u" for size in (1, 2, 5, 20)),
            "a fifth of them off by 2 u",
            *(f"rounds until found, reference off by {size} u" for size in (0.5, 1, 2)),
        ],
        rows,
    )


def some_bad(sensors: int, bad: int, size: float, runs: int) -> tuple[float, float]:
    """Return the share of runs that accuse the reference: the streams alone, and the rule."""
    alone = rule = 0
    for seed in range(runs):
        error, order = world([20260130, sensors, seed], sensors)
        onset = np.random.default_rng(seed).integers(0, error.shape[0] // 2)
        error[onset:, :bad] += size
        pairs = as_met(error, order, error.shape[0])
        alone += accuses(pairs, PATIENCE)
        rule += suspicion(pairs, PATIENCE) is not None
    return alone / runs, rule / runs


def delay(sensors: int, size: float, runs: int) -> str:
    """Return the median number of rounds from the onset until a reference is accused."""
    found = []
    for seed in range(runs):
        error, order = world([20260131, sensors, seed], sensors)
        onset = error.shape[0] // 4
        error[onset:] += size
        rounds = range(onset + 1, error.shape[0] + 1)
        first = next((at for at in rounds if suspicion(as_met(error, order, at), PATIENCE)), None)
        found.append(np.inf if first is None else first - onset)
    middle = float(np.median(found))
    return f"{middle:.0f}" if np.isfinite(middle) else f"> {error.shape[0] - onset}"
