"""How the benchmark scores verdicts: alarms, scores of advice, tables with their goals."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy
from alarms_streams import Float, Int
from alarms_table import judged as goal
from alarms_table import table

from monitor.core.detector.detector import Detector
from monitor.core.detector.usual_u import StatedColumns
from monitor.core.verdict import Verdict

WINDOW = 512
PATIENCE = 1000.0
NEXT = 100  # pairs on which advice is tested


def crps_normal(error: Float, u: Float) -> Float:
    z = error / u
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    return u * (z * (2 * scipy.special.ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi))


def interval_score(error: Float, u: Float) -> Float:
    half = scipy.special.ndtri(0.975) * u
    return 2.0 * half + 40.0 * np.maximum(np.abs(error) - half, 0.0)


def alarms(value: Float, u: Float, reference: Float, u_ref: Float) -> Int:
    """Return the pair of each stream's first alarm, -1 if there is none."""
    u_eff = np.hypot(u, u_ref)
    z = (value - reference) / u_eff
    rows = np.arange(z.shape[0])
    detector, alarm = Detector(np.full(rows.size, PATIENCE)), np.full(rows.size, -1)
    for first in range(0, z.shape[1], 50):
        block = z[:, first : first + 50]
        of_block = [each[:, first : first + 50].ravel() for each in (u_eff, value)]
        stated, starts = StatedColumns(*of_block), rows * block.shape[1]
        for change in detector.advance(rows, starts, block.ravel(), stated):
            if change.after == "firing" and alarm[change.series] < 0:
                alarm[change.series] = first + change.position % block.shape[1]
    return alarm


def advised(
    verdict: Verdict, value: Float, u: Float, reference: Float
) -> tuple[float, float] | None:
    """Return the mean score of pairs as sent and as advised, None without advice.

    It is the CRPS, which hardly responds to u; of a factor on u alone the interval score (95 %).
    """
    remedy = verdict.remedy
    if verdict.state != "fault" or remedy is None or remedy.kind == "none" or not value.size:
        return None
    slope = remedy.slope if remedy.kind == "linear" else 1.0
    shift = remedy.intercept if remedy.kind == "linear" else np.nan_to_num(remedy.add)
    factor = 1.0 if np.isnan(remedy.scale_u) else remedy.scale_u
    score = interval_score if remedy.kind == "scale_u" else crps_normal
    after = score(shift + slope * value - reference, factor * abs(slope) * u)
    return float(score(value - reference, u).mean()), float(after.mean())


def share(rows: Iterable[bool]) -> float:
    rows = list(rows)
    return float(np.mean(rows)) if rows else float("nan")


def ratios_of(ratios: Float) -> list[str]:
    return [f"{np.median(ratios):.2f}", f"{np.mean(ratios > 1):.3f}", f"{ratios.max():.2f}"]


def judged(rows: list[list[str]], ratios: Float) -> str:
    head = ["advice", "share given", "score after / before, median", "share worse", "largest"]
    if not ratios.size:
        return table(head, rows)
    worse, worst = float(np.mean(ratios > 1.0)), float(ratios.max())
    return table(head, rows) + (
        f"\n\n{ratios.size} pieces of advice, each on the next {NEXT} pairs: "
        f"share worse {worse:.4f} ({goal(worse, atmost=0.02)}), "
        f"largest ratio {worst:.3f} ({goal(worst, atmost=1.05)})."
    )
