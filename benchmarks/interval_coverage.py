"""Coverage of each interval of a calibrated series: writes docs/evidence/statistics.md.

    python benchmarks/interval_coverage.py [--sets 4000] [--resampled 400] [--replicates 1000]

The nominal share is 0.95. u^2 is drawn from an inverse gamma (2, 2), as in Pernot's experiment with
nu = 4; errors are normal, Student's t with 4 degrees of freedom, or normal AR(1) with 0.8, all of
variance u^2. ``--out -`` prints instead.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import stats

from monitor.core.analysis import resampling
from monitor.core.analysis.ranking import ranked
from monitor.core.columns import Columns
from monitor.core.model import Float
from monitor.core.scores import intervals
from monitor.core.scores.calibration import coverage_bounds, z_lag1, z_square
from monitor.core.scores.intervals import LEVEL, Interval, zeta_of
from monitor.extensions.papers.calibrated_sets import (
    SEED,
    TESTS,
    Errors,
    calibrated,
    passed,
    set_portions,
)

PAGE = Path(__file__).parents[1] / "docs" / "evidence" / "statistics.md"
SIZES = (20, 50, 200, 1000)
NU = 4.0
ERRORS: dict[str, tuple[Errors, float]] = {
    "normal": ("normal", 0.0),
    "t4": ("t4", 0.0),
    "AR(0.8)": ("normal", 0.8),
}
FIGURE_NU = (2.0, 3.0, 4.0, 6.0, 10.0, 20.0)
FIGURE_SIZES = ((20, 0.0), (100, 0.0), (1000, 0.0), (5000, 0.0), (168, 0.8), (720, 0.8))
PAGE_TEXT = """# How far the intervals can be trusted

Written by `python benchmarks/interval_coverage.py`; do not edit. Simulated series of a sensor that
is right about its uncertainty, seed {seed}.

## Share of 95 % intervals that hold the truth

u² from an inverse gamma (2, 2); errors normal, Student's t with 4 degrees of freedom, or
autocorrelated (AR(1), lag 1 of 0.8), all of variance u². {fine};
BCa and blocks {coarse}.
A dash: no interval (resampled intervals need 50 pairs).

{coverage}

* Below a few hundred pairs every interval of ZMS is too narrow, more so for heavy-tailed errors;
  the exact interval of the coverage is not. Read ZMS beside the coverage.
* If pairs depend on each other, an interval for independent pairs is worth little, and so is the
  exact interval of the coverage. The live interval of ZMS allows for autocorrelation as in an AR(1)
  series; it is too short in small windows. Blocks of pairs take longer and cover less.
* For independent pairs RCE is the worse test, because it weights each pair by the square of its u.

## Share of calibrated series that pass the test (Pernot, Fig. 3)

ZMS / RCE, |zeta| at most 1 by the ABC interval, normal errors, u² from an inverse gamma
(nu/2, nu/2); {figure_sets} sets each. Columns: pairs per set, lag-1 correlation of z.
`monitor reproduce pernot --sets 1000 --pairs 5000` does the same for other numbers.

{figure}
"""
Held = Callable[[Columns, str], Float]


def holds(interval: Interval, truth: float) -> Float:
    """Return 1 where an interval holds the truth, 0 where it does not, NaN where there is none."""
    held = (interval.lower <= truth) & (truth <= interval.upper)
    return np.where(np.isnan(interval.lower), np.nan, held.astype(np.float64))


def by(method: Callable[[Columns], Interval], truth: float) -> Held:
    return lambda c, _: holds(method(c), truth)


def resampled(method: Callable[..., Interval], truth: float, replicates: int) -> Held:
    """Judge by an interval with replicates, each series with a seed of its own."""

    def held(c: Columns, _: str) -> Float:
        found = [
            holds(method(c.take(np.array([i])), seed=SEED + i, replicates=replicates), truth)
            for i in range(c.starts.size)
        ]
        return np.concatenate(found)

    return held


def block_zms(c: Columns, *, seed: int, replicates: int) -> Interval:
    """Return the circular-block bootstrap interval of ZMS of one series."""
    estimate, lower, upper = np.full((3, 1), np.nan)
    if c.value.size >= resampling.MIN_RESAMPLED:
        length = resampling.block_length(c.value.size, float(z_lag1(c)[0]))
        squares = z_square(c)[:, None]
        found = ranked(squares, seed=seed, replicates=replicates, block=length)
        estimate, lower, upper = found.mean, found.lower, found.upper
    zeta = zeta_of(estimate, lower, upper, 1.0)
    return Interval("block", LEVEL, estimate, lower, upper, zeta, replicates, seed)


def exact_coverage(c: Columns, errors: str) -> Float:
    """Return the same for the exact binomial interval of the coverage of the 90 % intervals."""
    k = stats.norm.ppf(0.95)
    truth = 0.9 if errors == "normal" else 1.0 - 2.0 * stats.t.sf(k * np.sqrt(2.0), 4)
    lower, upper = coverage_bounds(c)
    return ((lower <= truth) & (truth <= upper)).astype(np.float64)


def methods(replicates: int) -> dict[str, tuple[Held, bool]]:
    """Return for each row of the table what it judges by, and whether it resamples."""
    return {
        "ZMS, saddlepoint": (by(intervals.saddlepoint_zms, 1.0), False),
        "ZMS, ABC": (by(intervals.abc_zms, 1.0), False),
        "ZMS, allowing for autocorrelation (live)": (by(intervals.zms_interval, 1.0), False),
        "ZMS, BCa": (resampled(resampling.bca_zms, 1.0, replicates), True),
        "ZMS, circular blocks": (resampled(block_zms, 1.0, replicates), True),
        "RCE, ABC": (by(intervals.abc_rce, 0.0), False),
        "RCE, BCa": (resampled(resampling.bca_rce, 0.0, replicates), True),
        "coverage, exact binomial": (exact_coverage, False),
    }


def cell(held: Held, n: int, kind: str, sets: int) -> str:
    """Return the share of ``sets`` series of ``n`` pairs whose interval holds the truth."""
    errors, rho = ERRORS[kind]
    random = np.random.default_rng([SEED, n, len(kind)])
    found = [
        held(calibrated(random, size, n, NU, errors, rho), errors) for size in set_portions(sets, n)
    ]
    rows = np.concatenate(found)
    return "-" if np.isnan(rows).all() else f"{np.nanmean(rows):.3f}"


def coverage_table(sets: int, resampled: int, replicates: int) -> list[str]:
    heads = [f"{kind}, n = {n}" for kind in ERRORS for n in SIZES]
    lines = ["| interval | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for name, (held, resamples) in methods(replicates).items():
        number = resampled if resamples else sets
        cells = [cell(held, n, kind, number) for kind in ERRORS for n in SIZES]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return lines


def figure_table(sets: int) -> list[str]:
    lines = ["| nu | " + " | ".join(f"{n}, {rho:g}" for n, rho in FIGURE_SIZES) + " |"]
    lines.append("|---" * (len(FIGURE_SIZES) + 1) + "|")
    columns = [
        [passed(TESTS, sets, n, nu, "normal", rho).share for nu in FIGURE_NU]
        for n, rho in FIGURE_SIZES
    ]
    for row, nu in enumerate(FIGURE_NU):
        cells = [f"{column[row][0]:.3f} / {column[row][1]:.3f}" for column in columns]
        lines.append(f"| {nu:g} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return lines


def page(options: argparse.Namespace) -> str:
    fine, coarse = (np.sqrt(0.95 * 0.05 / sets) for sets in (options.sets, options.resampled))
    return PAGE_TEXT.format(
        seed=SEED,
        fine=f"{options.sets} series each (standard error {fine:.3f})",
        coarse=f"{options.resampled} series of {options.replicates} replicates ({coarse:.3f})",
        coverage="\n".join(coverage_table(options.sets, options.resampled, options.replicates)),
        figure="\n".join(figure_table(options.figure_sets)),
        figure_sets=options.figure_sets,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=4000, help="series for closed intervals")
    parser.add_argument("--resampled", type=int, default=400, help="series for resampled ones")
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--figure-sets", type=int, default=500, help="sets of Fig. 3")
    parser.add_argument("--out", default=str(PAGE), help="file to write, - for none")
    options = parser.parse_args()
    made = page(options)
    if options.out == "-":
        print(made)
    else:
        Path(options.out).write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
