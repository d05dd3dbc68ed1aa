"""Change detectors of river 0.26.1 on the streams of the detector's own table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
from detection_streams import DAY_ZERO, FAULTS, ONSET, first_alarms, progress, table

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]

KNOWN_TO_PEERS = (
    *("offset 0.5 u", "offset 1 u", "offset 2 u"),
    *("sd x 1.5", "sd x 2", "sd x 3", "sd / 2"),
)


def peers(share: float) -> str:
    """Return delays and misses of river's change detectors on the same streams."""
    try:
        drift = import_module("river.drift")
    except ImportError:
        sys.exit("river is not installed: pip install river==0.26.1, then run --peers again")
    watch = {
        "ADWIN z or z2": ([lambda: drift.ADWIN(0.03), lambda: drift.ADWIN(0.008)], 200),
        "PageHinkley z or z2": (
            [lambda: drift.PageHinkley(threshold=250), lambda: drift.PageHinkley(threshold=300)],
            200,
        ),
        "KSWIN z (15 streams)": ([lambda: drift.KSWIN(alpha=5e-5, seed=1)], 15),
    }
    honest = np.random.default_rng(20260101).standard_normal((1000, ONSET + 2500))
    rows = []
    for name in (*KNOWN_TO_PEERS, *(f"{name}, from day 0" for name in DAY_ZERO)):
        fault, day_zero = FAULTS[name.removesuffix(", from day 0")][0], name.endswith("day 0")
        onset = 0 if day_zero else ONSET
        start = ONSET if day_zero else 0
        z = honest[:200, start : start + onset + round(1000 * share)]
        z = np.concatenate([z[:, :onset], fault(z[:, onset:])], axis=1)
        cells = [name, median_and_misses(first_alarms(z)[0], onset, z.shape[1])]
        for made, streams in watch.values():
            alarm = np.array([first_drift(made, row) for row in z[:streams]])
            cells.append(median_and_misses(alarm, onset, z.shape[1]))
        rows.append(cells)
        progress(cells)
    return table(["median delay (missed within 1000)", "this detector", *watch], rows)


def first_drift(made: list[Callable[[], Any]], z: Float) -> int:
    """Return the index at which the first of the detectors (on z, on z squared) sees a drift."""
    detectors = [make() for make in made]
    for index, value in enumerate(z.tolist()):
        for power, detector in enumerate(detectors, start=1):
            detector.update(value**power)
            if detector.drift_detected:
                return index
    return int(z.size)


def median_and_misses(alarm: Int, onset: int, length: int) -> str:
    late = alarm[alarm >= onset]
    missed = float((late == length).mean())
    middle = "-" if missed >= 0.5 else f"{np.median(late) - onset + 1:.0f}"
    return f"{middle} ({missed:.0%})"
