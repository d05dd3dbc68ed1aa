"""What the statistics cost: each figure is a ratio of two things timed in turn in one run.

    python benchmarks/statistics_speed.py [--quick | --closeness]

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

from monitor.core.analysis import resampling
from monitor.core.columns import Columns, columns
from monitor.core.scores import intervals
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
    bca_against_scipy(quick)


if __name__ == "__main__":
    main()
