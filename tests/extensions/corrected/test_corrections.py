"""``monitor correct``: intervals hold their level and corrections help, on known truth."""

from __future__ import annotations

import csv
import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from harness.cases import further

from monitor.core.pairing.series_rules import SeriesRules
from monitor.extensions.corrected.corrections import corrections
from monitor.report.recorded import read

N = 3000
RUN = 1000
SHARED = Path(__file__).parents[4] / "shared" / "data"


def errors(kind: str) -> np.ndarray:
    random = np.random.default_rng([*kind.encode()])
    normal, at = random.standard_normal(N), np.arange(N)
    if kind == "drift":
        return normal + at / 500.0
    if kind == "jumps":
        return normal + 5.0 * (at // 700 % 2)
    if kind == "spells":
        return normal + 5.0 * (at // 100 % 2)
    if kind == "understated":
        return 2.0 * normal
    if kind == "t4":
        return random.standard_t(4, N) / np.sqrt(2.0)
    if kind == "ar":
        for k in range(1, N):
            normal[k] = 0.7 * normal[k - 1] + np.sqrt(1.0 - 0.49) * normal[k]
    return normal


def write(path: Path, *kinds: str) -> Path:
    rows = ["time,sensor,quantity,value,u,reference"]
    for kind in kinds:
        for at, error in enumerate(errors(kind).tolist()):
            time = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=at)
            rows.append(f"{time.isoformat()},{kind},mass,{500.0 + 2.0 * error},2,500")
    path.write_text("\n".join(rows) + "\n")
    return path


def runs(within: np.ndarray) -> np.ndarray:
    """Return the coverage of every run of 1000 pairs."""
    sums = np.concatenate([[0], np.cumsum(within)])
    return (sums[RUN:] - sums[:-RUN]) / RUN


@pytest.mark.parametrize("kind", ["honest", "drift", "jumps", "spells", "understated", "t4", "ar"])
def test_intervals_hold_90_percent_over_any_1000_pairs_and_the_crps_is_no_worse(tmp_path, kind):
    (found,) = corrections(read(write(tmp_path / "pairs.csv", kind), SeriesRules()), 0.9)

    held = runs(found.corrected.within(found.pairs.reference))
    assert held.min() >= 0.88
    assert held.max() <= 0.92
    assert found.crps <= 1.02 * found.crps_as_sent
    if kind in ("drift", "jumps", "spells"):
        assert found.crps <= 0.6 * found.crps_as_sent
    if kind in ("honest", "ar"):
        assert len(found.corrected.adopted.steps) == 1


@pytest.mark.skipif(not SHARED.is_dir(), reason="recorded data are not here")
@pytest.mark.parametrize("sensor", ["no2", *further("co", "nox")])
def test_a_recorded_sensor_keeps_its_level_and_gains(sensor, tmp_path):
    file = tmp_path / "pairs.csv"
    with gzip.open(SHARED / "airquality_pairs.csv.gz", "rt") as recorded, file.open("w") as one:
        rows = csv.reader(recorded)
        csv.writer(one).writerows([next(rows), *(row for row in rows if row[1] == sensor)])
    (found,) = corrections(read(file, SeriesRules()), 0.9)

    held = runs(found.corrected.within(found.pairs.reference))
    assert held.min() >= 0.875
    assert held.max() <= 0.925
    assert found.crps <= 0.95 * found.crps_as_sent
