"""The incidents that recorded air sensors would have had, with dates, each held to its errors."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from alarms_streams import Float
from alarms_table import table

from monitor.core.columns import Columns
from monitor.core.pairing.series_rules import SeriesRules
from monitor.report.incidents import incident_document, incidents_of
from monitor.report.recorded import read

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "airquality_pairs.csv.gz"
AROUND = 7 * 86_400.0  # seconds before and after an incident that it is held beside
LEAST = 20


def effective(x: Float) -> float:
    """Return how many independent values have the same information on their mean (AR(1))."""
    rho = float(np.corrcoef(x[1:], x[:-1])[0, 1]) if x.size > LEAST else 0.0
    return max(1.0, x.size * (1.0 - max(rho, 0.0)) / (1.0 + max(rho, 0.0)))


def interval(x: Float) -> tuple[float, float, float]:
    """Return the mean of ``x`` with its 95 % interval, as far as AR(1) says."""
    half = 1.96 * float(x.std()) / np.sqrt(effective(x))
    return float(x.mean()), float(x.mean() - half), float(x.mean() + half)


def is_wrong(z: Float) -> tuple[bool, str]:
    """Return whether errors contradict what was stated, and what they are."""
    if z.size < LEAST:
        return False, f"{z.size} pairs"
    (mean, lower, upper), (square, least, most) = interval(z), interval(z * z)
    wrong = lower > 0.1 or upper < -0.1 or least > 1.21 or most < 0.81
    return (
        wrong,
        f"mean error {mean:+.1f} u, ZMS {square:.2f} ({max(least, 0.0):.2f} to {most:.2f})",
    )


def sentence(one: Columns, incident: dict[str, Any], previous: float) -> str:
    """Return what the errors before, in and after an incident say of it."""
    began, alarm = (datetime.fromisoformat(incident[k]).timestamp() for k in ("since", "fired"))
    ended = incident["until"]
    end = datetime.fromisoformat(ended).timestamp() if ended else float(one.time[-1]) + 1.0
    time, z = one.time, (one.value - one.reference) / np.hypot(one.u, one.u_ref)
    wrong, said = is_wrong(z[(time >= began) & (time <= max(end, alarm))])
    judged = [f"{'justified' if wrong else 'not shown by its errors alone'}: {said}"]
    if ended:
        still, after = is_wrong(z[(time > end) & (time <= end + AROUND)])
        judged.append(
            f"{'ended too soon' if still else 'ended rightly'}: the week after has {after}"
        )
    if alarm - previous < AROUND:
        judged.append("begins within a week of the last one's end")
    return "; ".join(judged)


def recorded(share: float, _: ProcessPoolExecutor) -> str:
    """Return the incidents of the air sensors; nothing where the data is not there."""
    del share
    if not DATA.exists():
        return "The recorded data is not there."
    found = read(DATA, SeriesRules())
    windows = found.columns(0.9)
    names = {(each.sensor, each.quantity): row for row, each in enumerate(found.names)}
    last: dict[int, float] = {}
    rows = []
    for incident in incidents_of(found, windows, {}):
        each = incident_document(incident, found)
        row = names[each["sensor"], each["quantity"]]
        words = sentence(windows.take(np.array([row])), each, last.get(row, -np.inf))
        if each["until"]:
            last[row] = datetime.fromisoformat(each["until"]).timestamp()
        dates = [
            (each[key] or "goes on")[:16].replace("T", " ") for key in ("since", "fired", "until")
        ]
        rows.append([each["sensor"], each["alert"], *dates, words])
    head = ["air sensor", "called", "onset", "alarm", "all-clear", "what its errors say"]
    return table(head, rows) + f"\n\n{len(rows)} incidents."
