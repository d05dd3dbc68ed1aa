"""Table of what the detector finds in a fleet."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from detection_streams import (
    FAULTS,
    PATIENCE,
    SHAPES,
    judged,
    progress,
    table,
)

from monitor.core.detector.detector import Detector
from monitor.core.fleet.call_out import FleetRules, call_list

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]

SEEDS = (20260113, 20260114, 20260115)


def fleet(share: float) -> str:
    """Return the share of honest sensors on each list, every 24 pairs, and what it finds.

    Of evidence that runs on, so that an honest sensor's falls again; of alerts until resolved; and
    of those that the fleet's list pages. Means over three fleets; of running evidence one.
    """
    sensors, bad, length = max(1000, round(10_000 * share)), max(10, round(100 * share)), 720
    rows = []
    for shape, most in (("normal", 0.02), ("t4", 0.03), ("AR(0.5)", 0.08)):
        fleets = [some_bad(shape, seed, (sensors, length), bad) for seed in SEEDS]
        above = running(fleets[0][0], bad)
        found = [paged(*each) for each in fleets]
        rows.append([shape, f"{above:.1%}", judged(above, atmost=most)])
        for name in found[0]:
            wrong, right, delay = np.mean([each[name] for each in found], axis=0)
            rows[-1].append(f"{wrong:.1%}")
            if name == "e-bh":
                rows[-1].append(judged(float(wrong), atmost=0.01))
            rows[-1] += [f"{right:.2f}", f"{delay:.0f}"]
        progress(rows[-1])
    return table(
        [
            *("errors", "honest among S >= 1000", "wanted"),
            *("honest among warnings", "bad ones found", "median pairs"),
            *("honest among pages, e-bh", "wanted", "bad ones found", "median pairs"),
            *("honest among pages, bh", "bad ones found", "median pairs"),
        ],
        rows,
    )


def some_bad(shape: str, seed: int, size: tuple[int, int], bad: int) -> tuple[Float, Int]:
    """Return z of a fleet whose first sensors are bad, and the pair from which each of them is."""
    kinds = ("offset 0.5 u", "offset 1 u", "offset 2 u", "sd x 1.5", "sd x 2", "sd / 2")
    rng = np.random.default_rng(seed)
    z = SHAPES[shape][0](rng, size)
    onsets = rng.integers(100, 400, bad)
    for row, onset in enumerate(onsets.tolist()):
        part = z[row : row + 1, onset:]
        z[row, onset:] = FAULTS[kinds[row % len(kinds)]][0](part)[0]
    return z, onsets


def paged(z: Float, onsets: Int) -> dict[str, tuple[float, float, float]]:
    """Return for each list (honest share in reports 18 to 30, bad ones found, median delay)."""
    bad, every = onsets.size, np.arange(z.shape[0])
    detector = Detector(np.full(z.shape[0], PATIENCE))
    counted = np.ones(z.shape[0], np.bool_)
    wrong: dict[str, list[float]] = {"warning": [], "e-bh": [], "bh": []}
    first = {name: np.full(bad, z.shape[1]) for name in wrong}
    on = {name: np.zeros(z.shape[0], np.bool_) for name in wrong}
    for last in range(24, z.shape[1] + 1, 24):
        detector.advance(every, every * 24, z[:, last - 24 : last].ravel())
        fires, evidence = detector.states(every) == 2, detector.discounted(every)
        on["warning"] = fires
        on["e-bh"] = call_list(evidence, fires, counted, FleetRules())
        on["bh"] = call_list(evidence, fires, counted, FleetRules(procedure="bh"))
        for name, active in on.items():
            wrong[name].append(active[bad:].sum() / max(1, active.sum()))
            late = active[:bad] & (first[name] == z.shape[1]) & (last > onsets)
            first[name][late] = last
    return {
        name: (
            float(np.mean(wrong[name][17:])),
            float(on[name][:bad].mean()),
            float(np.median(first[name] - onsets)),
        )
        for name in wrong
    }


def running(z: Float, bad: int) -> float:
    """Return the share of honest sensors with S >= A in reports 18 to 30, S running on."""
    detector, every = Detector(np.full(z.shape[0], PATIENCE)), np.arange(z.shape[0])
    wrong = []
    for last in range(1, z.shape[1] + 1):
        detector.advance(every, every, z[:, last - 1])
        fires = (detector.states(every) == 2) & (detector.evidence(every) >= PATIENCE)
        if last % 24 == 0:
            wrong.append(fires[bad:].sum() / max(1, fires.sum()))
        rows = bad + np.flatnonzero(fires[bad:])
        if rows.size:
            records = detector.records(rows)
            records["state"] = 0
            detector.restore(rows, records, np.arange(rows.size) * last, z[rows, :last].ravel())
    return float(np.mean(wrong[17:]))
