"""What the daemon would have raised over recorded pairs, as plain values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from monitor.core.columns import Columns, in_blocks
from monitor.core.detector.replay import AlertChange
from monitor.core.diagnosis.fault_reports import fault_report, pairs_around
from monitor.core.diagnosis.faults import estimate_unit
from monitor.core.formatting import finite, instant
from monitor.core.model import Int
from monitor.core.scores.proper_scores import Density
from monitor.core.scores.statistics import compute
from monitor.report.recorded import Recorded


def events_of(recorded: Recorded) -> Int:
    """Return the occasion of each pair: its reference's identity, else its time and reference."""
    rows = recorded.pairs
    if rows["reference_id"].any():
        return np.asarray(rows["reference_id"].astype(np.int64))
    both = np.stack([rows["time"], rows["reference"]])
    return np.unique(both, axis=1, return_inverse=True)[1].ravel().astype(np.int64)


def blocks(one: Columns, count: int, density: Density = "normal") -> list[dict[str, Any]]:
    """Return the figures of the only series of ``one`` block by block in time (C-32).

    Blocks are of nearly equal count, at most one a pair.
    """
    parts = in_blocks(one, count)
    hat = "_tophat" if density == "tophat" else ""
    wanted = {
        "bias": "bias",
        "crps": f"crps{hat}",
        "crps_expected_ratio": f"crps{hat}_expected_ratio",
        "interval": "interval",
        "zms": "zms",
        "coverage": "coverage",
        "auucc_partial_gain": "auucc_partial_gain",
    }
    found = compute(parts, list(wanted.values()))
    ends = parts.starts + parts.counts - 1
    return [
        {
            "since": instant(float(parts.time[first])),
            "until": instant(float(parts.time[last])),
            "n": int(last - first + 1),
            "statistics": {key: finite(found[name][at]) for key, name in wanted.items()},
        }
        for at, (first, last) in enumerate(zip(parts.starts.tolist(), ends.tolist(), strict=True))
    ]


def alerts(recorded: Recorded, windows: Columns) -> list[dict[str, Any]]:
    """Return what the daemon would have raised over the file, in event order."""
    firing: dict[int, AlertChange] = {}
    found: list[tuple[AlertChange, AlertChange | None]] = []
    for change in sorted(recorded.changes, key=lambda each: each.time):
        if change.before == "firing" and change.series in firing:
            found.append((firing.pop(change.series), change))
        if change.after == "firing":
            firing[change.series] = change
    found += [(began, None) for began in firing.values()]
    found.sort(key=lambda each: each[0].time)
    return [_alert(recorded, windows, *each) for each in found]


def _alert(
    recorded: Recorded, windows: Columns, began: AlertChange, ended: AlertChange | None
) -> dict[str, Any]:
    """Return one alert with the figures of the pairs until it ended."""
    name = recorded.names[began.series]
    until = math.inf if ended is None else ended.time
    pairs, alarm = pairs_around(windows, began.series, began.time, until)
    found = fault_report(pairs, float(recorded.rho[began.series]), began.family, alarm, name.unit)
    return {
        "sensor": name.sensor,
        "quantity": name.quantity,
        "alert": found.alert,
        "since": instant(began.time),
        "until": None if ended is None else instant(ended.time),
        "estimate": finite(found.estimate.value),
        "lower": finite(found.estimate.lower),
        "upper": finite(found.estimate.upper),
        "unit": estimate_unit(found.alert, name.unit),
        "sentence": f"{name.sensor} {found.sentence}",
        "advice": found.advice,
    }
