"""Tables of what limits on statistics cost: thresholds of the papers, and conventions a pair."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from detection_streams import FAULTS, ONSET, SHAPES, between_alarms, first_alarms, progress, table

from monitor.core.columns import Columns, columns
from monitor.core.scores import conventions
from monitor.core.scores.statistics import compute

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
Values = dict[str, Float]  # statistic: one number a stream and look, [streams, looks]

WINDOW = 100
EVERY = 10  # pairs between two looks, as a publish interval would have it
LENGTH = 1600
FAULTY = slice(None, None, 4)  # of a world with a fault: the others are the fleet around them
ASKED = (
    *("crps", "crps_expected_ratio", "quadratic_expected_ratio", "interval_expected_ratio"),
    *("zms_zeta", "coverage"),
)

LIMITS: dict[str, Callable[[Values], Bool]] = {
    "CRPS > 1.3 of its unit's usual": lambda v: v["crps"] > 1.3 * 0.5642,
    "CRPS > 1.3 times expected": lambda v: v["crps_expected_ratio"] > 1.3,
    "CRPS > 1.3 times its first 100 pairs'": lambda v: v["crps"] > 1.3 * v["crps"][:, :1],
    "CRPS > 1.3 times the fleet's median": lambda v: v["crps"] > 1.3 * np.median(v["crps"], axis=0),
    "quadratic > 1.3 times expected": lambda v: v["quadratic_expected_ratio"] > 1.3,
    "interval score > 1.5 times expected": lambda v: v["interval_expected_ratio"] > 1.5,
    "ZMS, zeta beyond 1": lambda v: np.abs(v["zms_zeta"]) > 1.0,
    "ZMS, zeta beyond 1 for 100 pairs": lambda v: lasting(np.abs(v["zms_zeta"]) > 1.0, 10),
    "coverage of 90 % < 0.8": lambda v: v["coverage"] < 0.8,
}


def lasting(beyond: Bool, looks: int) -> Bool:
    """Return where a limit was exceeded at this look and the so many before."""
    found = beyond.copy()
    for back in range(1, looks + 1):
        found[:, back:] &= beyond[:, :-back]
        found[:, :back] = False
    return found


def windows(error: Float, u: Float) -> Columns:
    """Return the window before each look of each stream as a series, streams first."""
    ends = np.arange(WINDOW, error.shape[1] + 1, EVERY)
    rows = ends[:, None] + np.arange(-WINDOW, 0)
    flat, spread = error[:, rows].ravel(), u[:, rows].ravel()
    blank = np.full(flat.size, np.nan)
    starts = np.arange(0, flat.size, WINDOW)
    zero = np.zeros(flat.size)
    return columns(
        starts,
        time=np.tile(np.arange(float(WINDOW)), starts.size),
        value=flat,
        reference=zero,
        u=spread,
        u_ref=zero,
        lower=blank,
        upper=blank,
        p=blank,
        level=0.9,
    )


def looks(error: Float, u: Float) -> Values:
    """Return the statistics of the windows, [streams, looks]."""
    parts: dict[str, list[Float]] = {name: [] for name in ASKED}
    for first in range(0, error.shape[0], 10):
        few = slice(first, first + 10)
        for name, found in compute(windows(error[few], u[few]), list(ASKED)).items():
            parts[name].append(found.reshape(error[few].shape[0], -1))
    return {name: np.concatenate(found) for name, found in parts.items()}


def thresholds(share: float) -> str:
    streams = max(8, round(200 * share))
    shape = (streams, LENGTH)
    one = np.ones(shape)
    u_doubles = np.where(np.arange(LENGTH) >= ONSET, 2.0, 1.0) * one
    honest = {
        name: SHAPES[name][0](np.random.default_rng(20260120), shape)
        for name in ("normal", "t4", "AR(0.5)")
    }
    worlds = {name: (z, one) for name, z in honest.items()}
    worlds["u doubles, honestly"] = (honest["normal"] * u_doubles, u_doubles)
    for name in ("offset 0.5 u", "offset 1 u", "sd x 2", "sd / 2"):
        z = honest["normal"].copy()
        z[FAULTY, ONSET:] = FAULTS[name][0](z[FAULTY, ONSET:])
        worlds[name] = (z, one)
    values = {name: looks(*world) for name, world in worlds.items()}
    rows = []
    for limit, crossed in LIMITS.items():
        cells = [limit]
        for name in worlds:
            alarm = first(crossed(values[name]))[FAULTY if name in FAULTS else slice(None)]
            cells.append(told(alarm, faulty=name in FAULTS))
        rows.append(cells)
        progress(cells)
    cells = ["this detector"]
    for name, (error, u) in worlds.items():
        z = (error / u)[FAULTY if name in FAULTS else slice(None)]
        cells.append(told(first_alarms(z)[0], faulty=name in FAULTS))
    progress(cells)
    return table(["alert", *worlds], [*rows, cells])


def first(crossed: Bool) -> Int:
    """Return the pair at which each stream's limit is first crossed, LENGTH if never."""
    look = np.argmax(crossed, axis=1)
    return np.where(crossed.any(axis=1), WINDOW + EVERY * look - 1, LENGTH)


def told(alarm: Int, *, faulty: bool) -> str:
    """Return the share of honest streams that alarm, or the median delay and what is missed."""
    if not faulty:
        return f"{(alarm < LENGTH).mean():.0%}"
    late = alarm[alarm >= ONSET] - ONSET + 1
    if not late.size:
        return "- (all before)"
    missed = float((late > LENGTH - ONSET).mean())
    middle = "-" if missed >= 0.5 else f"{np.median(late):.0f}"
    return f"{middle} ({missed:.0%} missed)"


RULES: dict[str, Callable[[Columns], Bool]] = {
    "En beyond 1 (k = 2)": lambda c: np.abs(conventions.en(c)) > 1.0,
    "zeta, ISO 13528 action (3)": lambda c: conventions.performance_bands(c)[1],
    **{f"Westgard {rule}": found for rule, found in conventions.WESTGARD.items()},
    "Westgard, all but 1_2s": lambda c: np.logical_or.reduce(
        [found(c) for rule, found in conventions.WESTGARD.items() if rule != "1_2s"]
    ),
}


def conventional(share: float) -> str:
    streams, length = max(50, round(400 * share)), 4000
    worlds = {
        name: of_z(SHAPES[name][0](np.random.default_rng(20260121), (streams, length)))
        for name in ("normal", "t4", "AR(0.5)")
    }
    rows = []
    for rule, broken in RULES.items():
        cells = [rule]
        for c in worlds.values():
            found = broken(c).reshape(streams, length)
            alarm = np.where(found.any(axis=1), np.argmax(found, axis=1), length)
            cells.append(f"{between_alarms(alarm, length):,.0f}")
        rows.append(cells)
        progress(cells)
    return table(["convention, at every pair", *worlds], rows)


def of_z(z: Float) -> Columns:
    """Return streams of z as series with u = 1."""
    flat = z.ravel()
    blank, zero = np.full(flat.size, np.nan), np.zeros(flat.size)
    return columns(
        np.arange(0, flat.size, z.shape[1]),
        time=np.tile(np.arange(float(z.shape[1])), z.shape[0]),
        value=flat,
        reference=zero,
        u=np.ones(flat.size),
        u_ref=zero,
        lower=blank,
        upper=blank,
        p=blank,
        level=0.9,
    )
