"""What the statistics cost: each figure is a ratio of two things timed in turn in one run.

    python benchmarks/statistics_speed.py [--quick]

CPU seconds of this process, best of several turns. No figure is a pass mark by itself; the goals
stand beside them.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from scipy import stats

from monitor.core import curves, intervals, resampling
from monitor.core.columns import Columns, columns
from monitor.core.statistics import compute, live_statistics

SERIES, PAIRS = 10_000, 200


def fleet(series: int, pairs: int, *, u_ref: float = 0.0, tails: float | None = None) -> Columns:
    random = np.random.default_rng(1)
    n = series * pairs
    u = np.exp(random.normal(0.0, 0.3, n))
    value = random.normal(20.0, 5.0, n)
    noise = random.normal(size=n) if tails is None else random.standard_t(tails, n)
    absent = np.full(n, np.nan)
    return columns(
        np.arange(0, n, pairs),
        time=np.arange(float(n)),
        value=value,
        reference=value + u * noise,
        u=u,
        lower=absent,
        upper=absent,
        p=absent,
        u_ref=np.full(n, u_ref),
        level=0.9,
    )


def cost(work: Callable[[], object], repeat: int = 1) -> float:
    """Return the CPU seconds of one call, over ``repeat`` calls."""
    begin = time.process_time()
    for _ in range(repeat):
        work()
    return (time.process_time() - begin) / repeat


def paired(
    one: Callable[[], object],
    other: Callable[[], object],
    turns: int = 5,
    repeats: tuple[int, int] = (1, 1),
) -> tuple[float, float]:
    """Return the least cost of each, measured in turn."""
    both = [(cost(one, repeats[0]), cost(other, repeats[1])) for _ in range(turns)]
    return min(a for a, _ in both), min(b for _, b in both)


def fresh(c: Columns) -> Columns:
    """Return the same pairs with nothing worked out yet."""
    return c.take(np.arange(c.starts.size))


def live_against_passes() -> None:
    """All live statistics of 10 000 series of 200 pairs, in passes of np.sum over their bytes."""
    for u_ref in (0.0, 0.1):
        c = fleet(SERIES, PAIRS, u_ref=u_ref)
        for words, rows in (("7 columns", 7), ("9 columns, as a window keeps them", 9)):
            window = np.random.default_rng(0).normal(size=(rows, SERIES * PAIRS))
            for density in ("normal", "tophat"):
                names = list(live_statistics(density).values())
                ours, one_pass = paired(
                    lambda c=c, names=names: compute(c, names),
                    lambda w=window: np.sum(w),
                    repeats=(1, 20),
                )
                print(
                    f"live statistics, {density}, u_ref {u_ref}: {ours / one_pass:.0f} passes over "
                    f"{words} ({1e9 * ours / c.value.size:.0f} ns a pair; goal 40)"
                )


def interval_against_scipy(quick: bool) -> None:  # noqa: FBT001
    """The live interval of ZMS against scipy.stats.bootstrap's BCa with 10 000 replicates."""
    many = 64
    for n, goal in ((1000, 1000), (5000, 8000)):
        c = fleet(many, n)
        rows = c.z[:n] ** 2
        replicates = 1000 if quick else 10_000
        scale = 10_000 / replicates
        for name in ("abc_zms", "saddlepoint_zms"):
            method = getattr(intervals, name)
            theirs, ours = paired(
                lambda rows=rows, r=replicates: stats.bootstrap(
                    (rows,), np.mean, n_resamples=r, method="BCa"
                ),
                lambda c=c, m=method: m(fresh(c)),
                turns=2,
            )
            note = ", scipy scaled up from 1000 replicates" if quick else ""
            print(
                f"interval of ZMS, n {n}, {name}: x{scale * theirs / (ours / many):,.0f} "
                f"(goal x{goal:,}{note})"
            )


def bca_against_scipy(quick: bool) -> None:  # noqa: FBT001
    """The Monte-Carlo BCa of reports against scipy's at n = 14 000, time and memory."""
    c = fleet(1, 14_000)
    rows = c.z**2
    replicates = 1000 if quick else 10_000
    begin = time.process_time()
    stats.bootstrap((rows,), np.mean, n_resamples=replicates, method="BCa", batch=replicates)
    theirs = (time.process_time() - begin) * 10_000 / replicates
    ours = min(cost(lambda: resampling.bca_zms(fresh(c), seed=1)) for _ in range(3))
    tracemalloc.start()
    resampling.bca_zms(fresh(c), seed=1)
    megabytes = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    note = ", scipy scaled up from 1000 replicates" if quick else ""
    print(
        f"BCa by replicates, n 14000: x{theirs / ours:.0f} (goal x10{note}), "
        f"{megabytes:.0f} MB more (goal 20)"
    )


def by_definition(below: np.ndarray, above: np.ndarray, error: np.ndarray) -> float:
    """Return the areas of the curve, every pair looked at for every scale."""
    scales = np.sort(curves.critical_scales(below, above, error))
    points = np.empty((scales.size, 4))
    for i, k in enumerate(scales):
        low, high = -k * below, k * above
        hit = (low <= -error) & (-error <= high)
        near = np.minimum(-error - low, high + error)
        far = np.maximum(low + error, -error - high)
        band, excess, deficit = (
            0.5 * (high - low),
            np.where(hit, near, 0.0),
            np.where(hit, 0.0, far),
        )
        points[i] = band.mean(), 1.0 - hit.mean(), excess.mean(), deficit.mean()
    band, miss, excess, deficit = points.T
    return curves.step_area(band, miss) + curves.trapezoid_area(excess, deficit)


def curve_and_areas(below: np.ndarray, above: np.ndarray, error: np.ndarray) -> float:
    points = curves.curve(below, above, error)
    return curves.step_area(points.bandwidth, points.miss) + curves.trapezoid_area(
        points.excess, points.deficit
    )


def curve_against_definition(quick: bool) -> None:  # noqa: FBT001
    """The characteristics curve with its areas at N = 10 000."""
    n = 10_000
    c = fleet(1, n)
    random = np.random.default_rng(2)
    below, above = random.uniform(0.5, 2.0, (2, n)) * c.u
    scales = curves.critical_scales(below, above, c.error)
    ours, sort = paired(
        lambda: curve_and_areas(below, above, c.error),
        lambda: np.argsort(scales),
        repeats=(20, 100),
    )
    stable = min(cost(lambda: np.argsort(scales, kind="stable"), 50) for _ in range(5))
    print(
        f"curve with areas, N {n}: {ours / sort:.1f} argsorts, "
        f"{ours / stable:.1f} stable ones (goal 15)"
    )
    part = 1000 if quick else n
    theirs = (
        cost(lambda: by_definition(below[:part], above[:part], c.error[:part])) * (n / part) ** 2
    )
    note = ", scaled up from N 1000" if quick else ""
    print(
        f"curve with areas, N {n}: x{theirs / ours:,.0f} against the definition (goal x2,000{note})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller rivals, scaled up")
    quick = parser.parse_args().quick
    live_against_passes()
    curve_against_definition(quick)
    interval_against_scipy(quick)
    bca_against_scipy(quick)


if __name__ == "__main__":
    main()
