"""What the statistics cost: each figure is a ratio of two things timed in turn in one run.

    python benchmarks/statistics_speed.py [--quick | --closeness]

CPU seconds of this process, best of several turns. No figure is a pass mark by itself; the goals
stand beside them.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats

from monitor.core.analysis import resampling
from monitor.core.columns import Columns, columns, parts
from monitor.core.scores import curves, intervals
from monitor.core.scores.statistics import compute, live_statistics
from monitor.core.windows.rings import WINDOW

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
    pairs = SERIES * PAIRS
    window = np.random.default_rng(0).normal(size=(WINDOW.itemsize // 8, pairs))
    for u_ref in (0.0, 0.1):
        c = fleet(SERIES, PAIRS, u_ref=u_ref)
        for density in ("normal", "tophat"):
            names = list(live_statistics(density).values())
            ours, one_pass = paired(
                lambda c=c, names=names: compute(c, names),
                lambda: np.sum(window),
                repeats=(1, 10),
            )
            passes = ours / one_pass
            print(
                f"live statistics, {density}, u_ref {u_ref}: {passes:.0f} passes over the windows' "
                f"{WINDOW.itemsize} bytes a pair ({passes * WINDOW.itemsize / 64:.0f} over the 64 "
                f"that are computed with; {1e9 * ours / pairs:.0f} ns a pair; goal 40)"
            )


def interval_against_scipy(quick: bool) -> None:  # noqa: FBT001
    """The live interval of ZMS against scipy.stats.bootstrap's BCa with 10 000 replicates."""
    many = 64
    for n, goal in ((1000, 1000), (5000, 8000)):
        c = fleet(many, n)
        rows = c.z[:n] ** 2
        replicates = 1000 if quick else 10_000
        scale = 10_000 / replicates
        note = ", scipy scaled up from 1000 replicates" if quick else ""
        for method in (intervals.saddlepoint_zms, intervals.abc_zms):
            theirs, ours = paired(
                lambda rows=rows, r=replicates: stats.bootstrap(
                    (rows,), np.mean, n_resamples=r, method="BCa"
                ),
                lambda c=c, m=method: [m(part) for _, part in parts(c)],
                turns=3,
                repeats=(1, 5),
            )
            print(
                f"interval of ZMS, n {n}, {method.__name__}: "
                f"x{scale * theirs / (ours / many):,.0f} (goal x{goal:,}{note})"
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


def closeness() -> None:
    """End-point errors of the two closed intervals of ZMS against BCa with 2 000 000 replicates."""
    for n, seeds in ((100, 6), (1000, 3)):
        for tails in (None, 4.0, 2.5):
            off: dict[str, list[float]] = {"saddlepoint_zms": [], "abc_zms": []}
            c = fleet(seeds, n, tails=tails)
            for i in range(seeds):
                one = c.take(np.array([i]))
                best = resampling.bca_zms(one, seed=i, replicates=2_000_000)
                for name, found in off.items():
                    got = getattr(intervals, name)(one)
                    gaps = abs(got.lower - best.lower) + abs(got.upper - best.upper)
                    found.append(float((0.5 * gaps / (best.upper - best.lower))[0]))
            means = ", ".join(f"{name} {100 * np.mean(each):.2f} %" for name, each in off.items())
            errors = "normal" if tails is None else f"t{tails:g}"
            print(f"end-point error over the interval's width, n {n}, {errors}: {means}")


def by_definition(
    below: np.ndarray, above: np.ndarray, error: np.ndarray, scales: np.ndarray
) -> np.ndarray:
    """Return (bandwidth, miss, excess, deficit) at ``scales``, every pair looked at for each.

    Step by step as the authors' program does it (UQ360 0.2): misses from both ends, excess and
    deficit at the end on the reference's side, which is told again for each of the two.
    """
    off = -error  # reference - value
    points = np.empty((scales.size, 4))

    def at_its_side(low: np.ndarray, high: np.ndarray, sign: float) -> float:
        rows = np.zeros(off.size)
        right, left = np.flatnonzero(off >= 0.0), np.flatnonzero(off < 0.0)
        rows[right] = np.maximum(sign * (high[right] - off[right]), 0.0)
        rows[left] = np.maximum(sign * (low[left] + off[left]), 0.0)
        return float(rows.mean())

    for i, k in enumerate(scales):
        low, high = k * np.maximum(below, 0.0), k * np.maximum(above, 0.0)
        held = np.sum((off >= -low) & (off <= high))
        points[i] = (
            np.mean([low, high]),
            1.0 - held / off.size,
            at_its_side(low, high, 1.0),
            at_its_side(low, high, -1.0),
        )
    return points.T


def leanest(
    below: np.ndarray, above: np.ndarray, error: np.ndarray, scales: np.ndarray
) -> np.ndarray:
    """Return the same with the fewest steps over all pairs for each scale."""
    active, distance = np.where(error > 0.0, below, above), np.abs(error)
    points = np.empty((scales.size, 4))
    for i, k in enumerate(scales):
        spare = k * active - distance
        excess = np.maximum(spare, 0.0).mean()
        points[i] = (
            k * 0.5 * (below.mean() + above.mean()),
            (spare < 0.0).mean(),
            excess,
            excess - spare.mean(),
        )
    return points.T


def areas(points: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return the areas in both coordinate systems."""
    bandwidth, miss, excess, deficit = points
    steps = float(np.sum(np.diff(bandwidth) * miss[:-1]))
    return steps, curves.trapezoid_area(excess, deficit)


def curve_and_areas(
    below: np.ndarray, above: np.ndarray, error: np.ndarray, *, nearer: bool = False
) -> tuple[float, float]:
    return areas(curves.curve(below, above, error, nearer=nearer)[1:])


def curve_against_definition(quick: bool) -> None:  # noqa: FBT001
    """The characteristics curve with its areas at N = 10 000."""
    n = 10_000
    c = fleet(1, n)
    random = np.random.default_rng(2)
    below, above = random.uniform(0.5, 2.0, (2, n)) * c.u
    scales = curves.critical_scales(below, above, c.error)
    curve = curves.curve(below, above, c.error, nearer=False)
    sides = ((False, "end on the reference's side"), (True, "nearer end"))
    costs = {}
    for nearer, words in sides:
        ours, sort = paired(
            lambda nearer=nearer: curve_and_areas(below, above, c.error, nearer=nearer),
            lambda: np.argsort(scales),
            repeats=(20, 20),
        )
        costs[nearer] = ours
        print(f"curve with areas, {words}, N {n}: {ours / sort:.1f} argsorts (goal 15)")
    some = np.sort(scales)[:: 10 if quick else 1]
    note = ", scaled up from every tenth scale" if quick else ""
    for rival, words in ((by_definition, "as UQ360 0.2"), (leanest, "fewest steps")):
        times = n / some.size * cost(lambda rival=rival: rival(below, above, c.error, some))
        print(
            f"curve with areas, N {n}, O(N^2) {words}: x{times / costs[False]:,.0f} "
            f"(goal x2,000 for UQ360's way{note})"
        )
    points = by_definition(below, above, c.error, np.sort(scales)[::100])
    at = np.searchsorted(curve.scale, np.sort(scales)[::100])
    # UQ360's miss is one pair too high where rounding puts a critical scale off its own band.
    for axis, theirs, most in zip(curve[1:], points, (1e-12, 1.5 / n, 1e-12, 1e-12), strict=True):
        assert np.abs(axis[at] - theirs).max() < most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller rivals, scaled up")
    parser.add_argument(
        "--closeness", action="store_true", help="instead: the closed intervals against BCa"
    )
    chosen = parser.parse_args()
    if chosen.closeness:
        closeness()
        return
    quick = chosen.quick
    live_against_passes()
    curve_against_definition(quick)
    interval_against_scipy(quick)
    bca_against_scipy(quick)


if __name__ == "__main__":
    main()
