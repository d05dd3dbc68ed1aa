"""Table 1 and 2 of Pernot (2402.10043v2) beside ours, for the sets at hand: into docs/papers.md.

    python benchmarks/paper_tables.py [FOLDER] [--replicates 10000] [--out -]

FOLDER holds pernot_set1.csv ... and expected.json with what the paper prints; by default that of
the tests. The table goes between the page's two marks.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from monitor.core.analysis import resampling
from monitor.core.columns import Columns, columns
from monitor.core.scores import calibration, intervals
from monitor.core.scores.intervals import Interval

PROJECT = Path(__file__).parents[1]
PAGE = PROJECT / "docs" / "papers.md"
BEGIN, END = "<!-- table 2: begin -->\n", "<!-- table 2: end -->\n"
SEED = 20_240_210
HEADS = (
    "set, statistic", "paper: estimate", "interval", "zeta",
    "ours: estimate", "BCa", "zeta", "bootstrap bias", "ABC", "verdict",
)  # fmt: skip


METHODS = {
    "ZMS": (resampling.bca_zms, intervals.abc_zms),
    "RCE": (resampling.bca_rce, intervals.abc_rce),
}


def pairs_of(path: Path) -> Columns:
    """Return the pairs of a file with columns value, sigma, reference."""
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    value, u, reference = (
        np.array([float(row[name]) for row in rows]) for name in ("value", "sigma", "reference")
    )
    absent = np.full(value.size, np.nan)
    return columns(
        np.zeros(1, dtype=np.int64),
        time=np.arange(float(value.size)),
        value=value,
        reference=reference,
        u=u,
        lower=absent,
        upper=absent,
        p=absent,
        u_ref=np.zeros(value.size),
        level=0.9,
    )


def table_2(folder: Path, replicates: int) -> list[str]:
    """Return the lines of the table: two a set, skewness of u with the first."""
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["sets"]
    lines = ["| " + " | ".join(HEADS) + " |", "|---" * len(HEADS) + "|"]
    for name in sorted(key for key in expected if "beta_gm" in expected[key].get("paper", {})):
        paper, c = expected[name]["paper"], pairs_of(folder / expected[name]["file"])
        skew = f"beta_GM {paper['beta_gm']} (ours {calibration.beta_gm(c)[0]:.3f})"
        for key, (bca, abc) in METHODS.items():
            title = f"{name.removeprefix('pernot_')}, {key}"
            if key == "ZMS":
                title += f"; {skew}"
            cells = printed(paper[key.lower()]) + ours(c, bca, abc, replicates)
            lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return lines


def printed(of_paper: dict[str, Any]) -> list[str]:
    low, high = of_paper["ci"]
    return [f"{of_paper['est']}", f"{low} to {high}", f"{of_paper['zeta']}"]


def ours(
    c: Columns, bca: Callable[..., Interval], abc: Callable[[Columns], Interval], replicates: int
) -> list[str]:
    found, closed = bca(c, seed=SEED, replicates=replicates), abc(c)
    return [
        f"{found.estimate[0]:.4f}",
        f"{found.lower[0]:.4f} to {found.upper[0]:.4f}",
        f"{found.zeta[0]:.2f}",
        f"{found.bias[0]:.1e}",
        f"{closed.lower[0]:.4f} to {closed.upper[0]:.4f}",
        intervals.verdict(float(closed.zeta[0])),
    ]


def between_marks(page: str, lines: list[str]) -> str:
    """Return the page with ``lines`` between its marks."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + "\n" + "\n".join(lines) + "\n\n" + END + rest.split(END)[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = PROJECT.parent / "shared" / "data"
    parser.add_argument("folder", nargs="?", type=Path, default=default)
    parser.add_argument("--replicates", type=int, default=resampling.REPLICATES)
    parser.add_argument("--out", default=str(PAGE), help="page to write into, - for none")
    options = parser.parse_args()
    lines = table_2(options.folder, options.replicates)
    if options.out == "-":
        print("\n".join(lines))
    else:
        page = Path(options.out)
        page.write_text(between_marks(page.read_text(encoding="utf-8"), lines), encoding="utf-8")


if __name__ == "__main__":
    main()
