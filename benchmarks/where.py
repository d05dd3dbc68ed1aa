"""Calibrated where? Found on honest and on planted series, beside tests of each bin at each look.

    python benchmarks/where.py [SERIES]

Prints three tables for docs/beyond.md. Series are seeded; SERIES of each kind (400).
"""

from __future__ import annotations

import math
import sys

import numpy as np

from monitor.core.analysis.remarks import zms_in_bins
from monitor.core.analysis.where import (
    Conditional,
    Covariate,
    along_hour,
    along_level,
    calibrated_where,
)
from monitor.core.columns import Columns, columns

LIFE = 3000
PLANTED = 500
LOOK = 50  # pairs between two looks of the per-bin tests
HONEST = ("normal", "t4", "AR(.7)", "heteroscedastic")
PLANTS = (
    "u x 2 above 80 % RH",
    "1 u high from 9 to 15 h",
    "1 u high above level 60",
    "3 u high from 40 to 60 % RH",
)
ALONG = (0, 1, 2, 0)  # which covariate each is planted along
ALIKE = ("0.6 u high", "u x 1.5")  # faults that no covariate has to do with


def drawn(seed: int, pairs: int, kind: str, plant: str = "") -> tuple[Columns, np.ndarray]:
    """Return a series of one pair an hour, and its relative humidity."""
    random = np.random.default_rng(seed)
    u = np.exp(random.normal(0.0, 0.4, pairs)) if kind == "heteroscedastic" else np.ones(pairs)
    noise = random.normal(size=pairs)
    if kind == "t4":
        noise = random.standard_t(4, pairs) / math.sqrt(2.0)
    if kind == "AR(.7)":
        for at in range(1, pairs):
            noise[at] = 0.7 * noise[at - 1] + math.sqrt(1.0 - 0.49) * noise[at]
    humidity, level = random.uniform(0.0, 100.0, pairs), random.normal(50.0, 10.0, pairs)
    time = np.arange(pairs) * 3600.0
    hour = time / 3600.0 % 24.0
    # By name of the plant: factor on the errors, and offset in u.
    wrong: dict[str, tuple[np.ndarray | float, np.ndarray | float]] = {
        PLANTS[0]: (np.where(humidity > 80.0, 2.0, 1.0), 0.0),
        PLANTS[1]: (1.0, np.where((hour >= 9.0) & (hour < 15.0), 1.0, 0.0)),
        PLANTS[2]: (1.0, np.where(level > 60.0, 1.0, 0.0)),
        PLANTS[3]: (1.0, np.where((humidity >= 40.0) & (humidity < 60.0), 3.0, 0.0)),
        ALIKE[0]: (1.0, 0.6),
        ALIKE[1]: (1.5, 0.0),
    }
    factor, offset = wrong.get(plant, (1.0, 0.0))
    error = factor * u * noise + offset * u
    nothing = np.full(pairs, np.nan)
    made = columns(
        np.zeros(1, dtype=np.int64),
        time=time,
        value=level + error,
        reference=level,
        u=u,
        lower=nothing,
        upper=nothing,
        p=nothing,
        u_ref=np.zeros(pairs),
        level=0.9,
    )
    return made, humidity


def asked(c: Columns, humidity: np.ndarray) -> list[Covariate]:
    """Return the three covariates."""
    return [Covariate("RH", humidity, "%"), along_hour(c.time), along_level(c, "ug")]


def by_bins_at_each_look(c: Columns, covariate: np.ndarray) -> bool:
    """Return whether any bin is called invalid (Holm over bins) at any look."""
    for count in range(2 * LOOK, c.value.size + 1, LOOK):
        part = c.select(slice(0, count), np.zeros(1, dtype=np.int64))
        if "invalid" in zms_in_bins(part, covariate[:count]).verdicts:
            return True
    return False


def is_named(plant: str, found: Conditional) -> bool:
    """Return whether one part with the right fault, edges and size was found, the rest right."""
    if found.state != "found" or len(found.findings) != 1 or not found.rest_is_right:
        return False
    (only,) = found.findings
    if plant == PLANTS[0]:
        right = only.fault == "understated" and abs(only.low - 80.0) <= 10.0
        return right and math.isinf(only.high) and only.estimate.lower <= 2.0 <= only.estimate.upper
    if plant == PLANTS[3]:
        right = only.fault == "offset" and abs(only.estimate.value - 3.0) <= 1.0
        return right and abs(only.low - 40.0) <= 10.0 and abs(only.high - 60.0) <= 10.0
    right = only.fault == "offset" and only.estimate.lower <= 1.0 <= only.estimate.upper
    if plant == PLANTS[1]:
        return right and abs(only.low - 9.0) <= 2.0 and abs(only.high - 15.0) <= 2.0
    return right and abs(only.low - 60.0) <= 5.0 and math.isinf(only.high)


def honest(series: int) -> None:
    """Print how many honest series are ever found wrong."""
    print(
        "| honest series of 3000 pairs | RH | hour | level | any of them | bins by RH, each look |"
    )
    print("|---|---|---|---|---|---|")
    for kind in HONEST:
        counts = np.zeros(5)
        for seed in range(series):
            c, humidity = drawn(seed, LIFE, kind)
            three = asked(c, humidity)
            counts[:3] += [calibrated_where(c, each).since >= 0 for each in three]
            together = [calibrated_where(c, each, asked=3).since >= 0 for each in three]
            counts[3] += any(together)
            counts[4] += by_bins_at_each_look(c, humidity)
        print("|", kind, *(f"| {each:.1f} %" for each in 100.0 * counts / series), "|", flush=True)


def planted(series: int) -> None:
    """Print how many faults of one part are found, and how."""
    print("| planted, 500 pairs | found | found with place, size and the rest | pairs (median) |")
    print("|---|---|---|---|")
    for at, plant in zip(ALONG, PLANTS, strict=True):
        found = []
        for seed in range(series):
            c, humidity = drawn(seed, PLANTED, "normal", plant)
            found.append(calibrated_where(c, asked(c, humidity)[at]))
        clear = [each.since + 1 for each in found if each.since >= 0]
        named = sum(is_named(plant, each) for each in found)
        shares = 100.0 * len(clear) / series, 100.0 * named / series
        print(f"| {plant} | {shares[0]:.0f} % | {shares[1]:.0f} % | {np.median(clear):.0f} |")


def alike(series: int) -> None:
    """Print of how many series a part is named along covariates that errors do not depend on."""
    print("| nothing to do with the covariate, 500 pairs | RH | hour | level |")
    print("|---|---|---|---|")
    # A fault that depends on one covariate only is looked for along the others.
    cases = [(fault, (0, 1, 2)) for fault in ALIKE] + [(PLANTS[0], (1, 2)), (PLANTS[1], (0, 2))]
    for fault, along in cases:
        counts = dict.fromkeys(along, 0)
        for seed in range(series):
            c, humidity = drawn(seed, PLANTED, "normal", fault)
            three = asked(c, humidity)
            for at in along:
                counts[at] += calibrated_where(c, three[at]).state == "found"
        shares = (f"{100.0 * counts[at] / series:.1f} %" if at in counts else "" for at in range(3))
        print("|", fault, *(f"| {each}" for each in shares), "|", flush=True)


def main(series: int) -> None:
    """Print the tables."""
    for each in (honest, planted, alike):
        each(series)
        print()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
