"""Tables of what limits on statistics cost: thresholds of the papers, and conventions a pair."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import numpy.typing as npt
from alarms_ours import first_alarms
from alarms_peers import between
from alarms_streams import Draw, Float, Int, autoregressive, normal, sensors, student
from alarms_table import table

from monitor.core.columns import Columns, columns
from monitor.core.scores import conventions
from monitor.core.scores.statistics import compute

Bool = npt.NDArray[np.bool_]
Values = dict[str, Float]  # statistic: one number a stream and look, [streams, looks]

WINDOW = 100
EVERY = 10  # pairs between two looks, as a publish interval would have it
ONSET, LENGTH = 200, 1600
FAULTY = slice(None, None, 4)  # of a world with a fault: the others are the fleet around them
SHAPES: dict[str, Draw] = {
    "normal": normal,
    "t4": student(4.0),
    "AR(0.5)": autoregressive(0.5),
}
FAULTS: dict[str, Callable[[Float], Float]] = {
    "offset 0.5 u": lambda z: z + 0.5,
    "offset 1 u": lambda z: z + 1.0,
    "sd x 2": lambda z: 2.0 * z,
    "sd / 2": lambda z: 0.5 * z,
}
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


def series(error: Float, u: Float) -> Columns:
    """Return rows [series, pairs] as the columns of series beside an exact reference of zero."""
    count, length = error.shape
    blank, zero = np.full(error.size, np.nan), np.zeros(error.size)
    return columns(
        np.arange(0, error.size, length),
        time=np.tile(np.arange(float(length)), count),
        value=error.ravel(),
        reference=zero,
        u=u.ravel(),
        u_ref=zero,
        lower=blank,
        upper=blank,
        p=blank,
        level=0.9,
    )


def looks(error: Float, u: Float) -> Values:
    """Return the statistics of the window before each look, [streams, looks]."""
    ends = np.arange(WINDOW, error.shape[1] + 1, EVERY)
    rows = ends[:, None] + np.arange(-WINDOW, 0)
    parts: dict[str, list[Float]] = {name: [] for name in ASKED}
    for first in range(0, error.shape[0], 10):
        windows = (part[first : first + 10, rows].reshape(-1, WINDOW) for part in (error, u))
        for name, found in compute(series(*windows), list(ASKED)).items():
            parts[name].append(found.reshape(-1, ends.size))
    return {name: np.concatenate(found) for name, found in parts.items()}


def thresholds(share: float, _: ProcessPoolExecutor) -> str:
    streams = max(8, round(200 * share))
    shape = (streams, LENGTH)
    one = np.ones(shape)
    u_doubles = np.where(np.arange(LENGTH) >= ONSET, 2.0, 1.0) * one
    honest = {name: draw(np.random.default_rng(20260120), shape) for name, draw in SHAPES.items()}
    worlds = {name: (z, one) for name, z in honest.items()}
    worlds["u doubles, honestly"] = (honest["normal"] * u_doubles, u_doubles)
    for name, fault in FAULTS.items():
        z = honest["normal"].copy()
        z[FAULTY, ONSET:] = fault(z[FAULTY, ONSET:])
        worlds[name] = (z, one)
    values = {name: looks(*world) for name, world in worlds.items()}
    rows = []
    for limit, crossed in LIMITS.items():
        cells = [limit]
        for name in worlds:
            alarm = first(crossed(values[name]))[FAULTY if name in FAULTS else slice(None)]
            cells.append(shown(alarm, faulty=name in FAULTS))
        rows.append(cells)
    cells = ["this detector"]
    for name, (error, u) in worlds.items():
        own = FAULTY if name in FAULTS else slice(None)
        alarm = first_alarms(sensors(error[own], u[own], 0.0 * error[own]))
        cells.append(shown(alarm, faulty=name in FAULTS))
    return table(["alert", *worlds], [*rows, cells])


def first(crossed: Bool) -> Int:
    """Return the pair at which each stream's limit is first crossed, LENGTH if never."""
    look = np.argmax(crossed, axis=1)
    return np.where(crossed.any(axis=1), WINDOW + EVERY * look - 1, LENGTH)


def shown(alarm: Int, *, faulty: bool) -> str:
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


def conventional(share: float, _: ProcessPoolExecutor) -> str:
    streams, length = max(50, round(400 * share)), 4000
    one = np.ones((streams, length))
    worlds = {
        name: series(draw(np.random.default_rng(20260121), (streams, length)), one)
        for name, draw in SHAPES.items()
    }
    rows = []
    for rule, broken in RULES.items():
        cells = [rule]
        for c in worlds.values():
            found = broken(c).reshape(streams, length)
            alarm = np.where(found.any(axis=1), np.argmax(found, axis=1), length)
            cells.append(f"{between(alarm, length):,.0f}")
        rows.append(cells)
    return table(["convention, at every pair", *worlds], rows)
