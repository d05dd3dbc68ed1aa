"""Corrected readings and their intervals against the readings as they were sent.

    python benchmarks/corrected_intervals.py [--seeds 5]   # its table to standard output

Recorded pairs (airquality, uwb) and simulated sensors of known truth. Shown are the least and the
largest coverage of 90 % intervals over all runs of 1000 pairs (over all pairs where there are
fewer), of value -+ 1.645 u as sent and as corrected; the mean width and the CRPS of the corrected
over those as sent; how often a remedy was withdrawn in 10 000 pairs. For simulated sensors it is
the worst of all seeds.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np

from monitor.core.pairing.series_rules import SeriesRules
from monitor.extensions.corrected.corrections import CorrectedSeries, corrections
from monitor.report.recorded import read

DATA: Final = Path(__file__).resolve().parents[2] / "shared" / "data"
FILES: Final = ("airquality_pairs.csv.gz", "uwb_pairs.csv")
LEVEL: Final = 0.9
NORMAL: Final = 1.6448536269514722
RUN: Final = 1000
PAIRS: Final = 10_000


def simulated(seed: int) -> dict[str, np.ndarray]:
    """Return errors in u of sensors of known truth."""
    random = np.random.default_rng(seed)
    normal, at = random.standard_normal((8, PAIRS)), np.arange(PAIRS)
    related = normal[3].copy()
    for k in range(1, PAIRS):
        related[k] = 0.7 * related[k - 1] + np.sqrt(1.0 - 0.49) * related[k]
    return {
        "right": normal[0],
        "drift of 1 u in 1000 pairs": normal[1] + at / 1000.0,
        "offset of 5 u, on and off every 2500 pairs": normal[2] + 5.0 * (at // 2500 % 2),
        "offset of 5 u, on and off every 200 pairs": normal[4] + 5.0 * (at // 200 % 2),
        "offset that swings by 2 u in 1900 pairs": normal[5] + 2.0 * np.sin(at / 300.0),
        "AR(.7)": related,
        "t4": random.standard_t(4, PAIRS) / np.sqrt(2.0),
        "u half as large": 2.0 * normal[6],
        "u 2.5 times as large": 0.4 * normal[7],
    }


def written(path: Path, errors: dict[str, np.ndarray]) -> Path:
    """Write pairs of a value of 500, u of 2, a minute apart."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    stamps = [(start + timedelta(minutes=at)).isoformat() for at in range(PAIRS)]
    with path.open("w", encoding="utf-8") as out:
        out.write("time,sensor,value,u,reference\n")
        for name, error in errors.items():
            values = (500.0 + 2.0 * error).tolist()
            out.writelines(
                f'{stamp},"{name}",{value},2,500\n'
                for stamp, value in zip(stamps, values, strict=True)
            )
    return path


def coverage(within: np.ndarray) -> tuple[float, float]:
    """Return the least and the largest share of hits of all runs, in percent."""
    run = min(RUN, within.size)
    sums = np.concatenate([[0], np.cumsum(within)])
    shares = 100.0 * (sums[run:] - sums[:-run]) / run
    return float(shares.min()), float(shares.max())


def figures(of: CorrectedSeries) -> tuple[float, ...]:
    """Return coverage as sent and corrected, width, CRPS and remedies withdrawn."""
    p, one = of.pairs, of.corrected
    return (
        *coverage(np.abs(p.error) <= NORMAL * p.u),
        *coverage(one.within(p.reference)),
        float(np.mean(one.factor * one.u) / np.mean(NORMAL * p.u)),
        of.crps / of.crps_as_sent,
        sum(each.taken_back for each in one.adopted.steps) * PAIRS / p.n,
    )


def worst(found: list[tuple[float, ...]]) -> tuple[float, ...]:
    """Return the worst of each figure."""
    each = np.array(found)
    lowest = each.min(axis=0)
    return tuple(np.where([1, 0, 1, 0, 0, 0, 0], lowest, each.max(axis=0)).tolist())


def rows(seeds: int) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Yield the rows of the table."""
    found: dict[str, list[tuple[float, ...]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(21, 21 + seeds):
            file = written(Path(folder) / "pairs.csv", simulated(seed))
            for each in corrections(read(file, SeriesRules()), LEVEL):
                found.setdefault(f"simulated: {each.name.sensor}", []).append(figures(each))
    for name, each_seed in found.items():
        yield name, worst(each_seed)
    for path in (DATA / name for name in FILES):
        if path.exists():
            for each in corrections(read(path, SeriesRules()), LEVEL):
                label = f"{path.name.split('_')[0]}: {each.name.sensor}, {each.pairs.n} pairs"
                yield label, figures(each)


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    print("| series | within, as sent / % | within, corrected / % | width | CRPS | withdrawn |")
    print("|---|---|---|---|---|---|")
    for name, (low, high, least, most, width, crps, back) in rows(parser.parse_args().seeds):
        print(
            f"| {name} | {low:.1f} to {high:.1f} | {least:.1f} to {most:.1f} "
            f"| {width:.2f} | {crps:.3f} | {back:.0f} |"
        )


if __name__ == "__main__":
    main()
