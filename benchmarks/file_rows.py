"""Rows of the table about recorded data: 10^6 pairs of 20 sensors scored, reported and read."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
from rows import Goal, Line, in_turn, line

from monitor.files import arrow_csv, read_pairs

PAIRS = 1_000_000
SENSORS = 20


def files() -> list[Line]:
    """Commands over a CSV of honest sensors beside numpy's reading of its three numbers."""
    with tempfile.TemporaryDirectory() as name:
        csv, parquet = Path(name) / "pairs.csv", Path(name) / "pairs.parquet"
        table = _pairs()
        table.to_csv(csv, index=False, float_format="%.4f", date_format="%Y-%m-%dT%H:%M:%SZ")
        table.to_parquet(parquet)

        def loaded() -> None:
            assert np.loadtxt(csv, delimiter=",", skiprows=1, usecols=(2, 3, 4)).size == 3 * PAIRS

        score, plain = _turns(["score", str(csv)], loaded)
        report, plain_too = _turns(["report", str(csv), "--out", f"{name}/report.html"], loaded)
        ours, theirs = in_turn(lambda: read_pairs(parquet), lambda: pd.read_parquet(parquet))
        by_columns, row_by_row = in_turn(lambda: read_pairs(csv), lambda: _row_by_row(csv))
    peer = "numpy.loadtxt, its three numbers alone"
    return [
        line(Goal("`monitor score` of 10^6 pairs in CSV, 20 sensors", peer,
                  limit="the detector's 50 000 steps of 20 series, half of it"),
             score, plain, "s"),
        line(Goal("`monitor report` of the same", peer,
                  limit="the same; remedies tried on 100 windows; drawings"),
             report, plain_too, "s"),
        line(Goal("10^6 pairs read from Parquet, checked", "pandas.read_parquet",
                  limit="eleven columns checked and kept, of which pandas keeps five; their pages"),
             ours, theirs, "s"),
        line(Goal("10^6 pairs read from CSV, checked", "itself row by row, without pyarrow",
                  limit="texts as such: times, names"),
             by_columns, row_by_row, "s"),
    ]  # fmt: skip


def _row_by_row(csv: Path) -> None:
    least, arrow_csv.LEAST_BYTES = arrow_csv.LEAST_BYTES, 1 << 62
    try:
        read_pairs(csv)
    finally:
        arrow_csv.LEAST_BYTES = least


def _pairs() -> pd.DataFrame:
    random = np.random.default_rng(1)
    reference, u = random.normal(500.0, 20.0, PAIRS), random.uniform(1.0, 2.0, PAIRS)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    times = [start + timedelta(minutes=at) for at in range(PAIRS // SENSORS)]
    return pd.DataFrame(
        {
            "time": pd.to_datetime(np.repeat(pd.DatetimeIndex(times), SENSORS)),
            "sensor": np.tile([f"s{at:02}" for at in range(SENSORS)], PAIRS // SENSORS),
            "value": reference + u * random.normal(size=PAIRS),
            "u": u,
            "reference": reference,
        }
    )


def _turns(command: list[str], loaded: Callable[[], None]) -> list[list[float]]:
    """Return seconds of processor time of a command, and of reading alone, in turns."""
    found: list[list[float]] = [[], []]
    for _ in range(3):
        before = _children()
        run = [sys.executable, "-m", "monitor", *command]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found[0].append(_children() - before)
        (theirs,) = in_turn(loaded, rounds=1)
        found[1] += theirs
    return found


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
