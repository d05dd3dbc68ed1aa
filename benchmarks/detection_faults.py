"""Tables of what the detector finds in a fleet, and of the names it gives to faults."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from detection_streams import (
    FAULTS,
    ONSET,
    PATIENCE,
    SHAPES,
    judged,
    one,
    physical,
    progress,
    table,
)

from monitor.core.detection import Detector
from monitor.core.diagnosis import diagnose

Float = npt.NDArray[np.float64]

ATTRIBUTED: dict[str, tuple[str, float]] = {  # fault: (label it must get, share wanted at +20)
    "offset 0.5 u": ("offset", 0.9),
    "offset 1 u": ("offset", 0.9),
    "offset 2 u": ("offset", 0.9),
    "offset -1 u": ("offset", 0.9),
    "ramp 0.01 u/pair": ("offset", 0.9),
    "sd x 1.5": ("understated", 0.9),
    "sd x 2": ("understated", 0.9),
    "sd x 3": ("understated", 0.9),
    "sd / 2": ("overstated", 0.9),
    "sd / 3": ("overstated", 0.9),
    "gain 1.25": ("gain", 0.9),
    "gain 1.5": ("gain", 0.9),
    "stuck": ("stuck", 0.9),
    "5 % outliers": ("outliers", 0.9),
    "2 % outliers": ("outliers", 0.0),
}


def attribution(share: float) -> str:
    streams, rows = max(60, round(300 * share)), []
    for name, (label, wanted) in ATTRIBUTED.items():
        cells = [name, label]
        for shape in ("normal", "t4", "AR(0.5)"):
            named, later = labels(physical(name, SHAPES[shape][0], streams, ONSET + 1200))
            right = [np.mean([found == label for found in part]) for part in (named, later)]
            cells.append(f"{right[0]:.2f} -> {right[1]:.2f}")
        cells.append(judged(float(cells[2][-4:]), atleast=wanted))
        rows.append(cells)
        progress(cells)
    return table(
        ["fault", "label", "right, normal", "t4", "AR(0.5)", "wanted at +20, normal"], rows
    )


def labels(world: dict[str, Float], later: int = 20) -> tuple[list[str], list[str]]:
    """Return the labels at each stream's alarm and ``later`` pairs after it."""
    z = (world["value"] - world["reference"]) / np.hypot(world["u"], world["u_ref"])
    streams, length = z.shape
    detector = Detector(np.full(streams, PATIENCE))
    running, alarm = np.arange(streams), np.full(streams, -1)
    family = [""] * streams
    found: tuple[list[str], list[str]] = ([], [])
    for t in range(length):
        changes = detector.advance(running, np.arange(running.size), z[running, t])
        for change in changes:
            if change.after == "firing" and alarm[change.series] < 0:
                alarm[change.series], family[change.series] = t, change.family
        for place, moment in enumerate((0, later)):
            for row in running[(alarm[running] >= ONSET) & (alarm[running] == t - moment)]:
                rho = float(detector.rho(np.array([row]))[0])
                window = one(world, row, max(0, t - 511), t + 1)
                at = int(alarm[row]) - max(0, t - 511)
                found[place].append(diagnose(window, rho, family[row], at).label)
        running = running[(alarm[running] < 0) | (alarm[running] > t - later)]
        if not running.size:
            break
    return found


def fleet(share: float) -> str:
    """Return the share of alarmed sensors that are honest, every 24 pairs.

    Of evidence that runs on, so that an honest sensor's falls again, and of alerts until resolved.
    """
    sensors, bad, length = max(1000, round(10_000 * share)), max(10, round(100 * share)), 720
    kinds = ("offset 0.5 u", "offset 1 u", "offset 2 u", "sd x 1.5", "sd x 2", "sd / 2")
    rows = []
    for shape, most in (("normal", 0.02), ("t4", 0.03), ("AR(0.5)", 0.08)):
        rng = np.random.default_rng(20260113)
        z = SHAPES[shape][0](rng, (sensors, length))
        for row, onset in enumerate(rng.integers(100, 400, bad).tolist()):
            part = z[row : row + 1, onset:]
            z[row, onset:] = FAULTS[kinds[row % len(kinds)]][0](part)[0]
        above, _ = reports(z, bad, lasting=False)
        firing, found = reports(z, bad, lasting=True)
        rows.append([shape, f"{above:.1%}", judged(above, atmost=most), f"{firing:.1%}"])
        rows[-1].append(f"{found:.2f}")
        progress(rows[-1])
    head = ["errors", "honest among S >= 1000", "wanted", "honest among firing alerts"]
    return table([*head, "bad sensors firing at the end"], rows)


def reports(z: Float, bad: int, *, lasting: bool) -> tuple[float, float]:
    """Return (share of honest sensors in reports 18 to 30, share of bad ones in the last)."""
    detector, every = Detector(np.full(z.shape[0], PATIENCE)), np.arange(z.shape[0])
    wrong, step = [], 24 if lasting else 1
    for last in range(step, z.shape[1] + 1, step):
        detector.advance(every, every * step, z[:, last - step : last].ravel())
        fires = (detector.states(every) == 2) & (detector.evidence(every) >= PATIENCE)
        if last % 24 == 0:
            wrong.append(fires[bad:].sum() / max(1, fires.sum()))
        rows = bad + np.flatnonzero(fires[bad:])
        if not lasting and rows.size:
            records = detector.records(rows)
            records["state"] = 0
            detector.restore(rows, records, np.arange(rows.size) * last, z[rows, :last].ravel())
    return float(np.mean(wrong[17:])), float(fires[:bad].mean())
