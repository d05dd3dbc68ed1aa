"""Rows of the table about statistics: the daemon's own beside scipy, scoringrules and UQ360."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scoringrules
from rows import Goal, Line, in_turn, line
from scipy import stats
from statistics_speed import fleet, fresh

from monitor.core.scores import curves, intervals
from monitor.core.scores.proper_scores import crps_normal

MANY = 64
_SOME = 20  # the O(N^2) way is asked at every so many scales, and scaled up


def scores() -> list[Line]:
    """CRPS of normals, 10^5 pairs: vectorised, and one by one as a stream gives them."""
    n = 100_000
    c = fleet(1, n)
    few = [(float(a), float(b), float(u)) for a, b, u in zip(
        c.reference[:3000], c.value[:3000], c.u[:3000], strict=True)]  # fmt: skip

    def ours() -> None:
        for _ in range(20):
            crps_normal(fresh(c))

    def theirs() -> None:
        for _ in range(20):
            scoringrules.crps_normal(c.reference, c.value, c.u)

    def single() -> None:
        for reference, value, u in few:
            scoringrules.crps_normal(reference, value, u)

    assert np.allclose(crps_normal(c), scoringrules.crps_normal(c.reference, c.value, c.u))
    mine, columns, one = in_turn(ours, theirs, single, rounds=5)
    a_pair = [each / (20 * n) for each in mine]
    limit = "the error function of scipy"
    return [
        line(Goal("CRPS of a normal, a pair among 10^5", "scoringrules, arrays", 1, limit=limit),
             a_pair, [each / (20 * n) for each in columns], "ns", 1e9),
        line(Goal("the same", "scoringrules, one by one", limit=limit),
             a_pair, [each / len(few) for each in one], "ns", 1e9),
    ]  # fmt: skip


def interval() -> list[Line]:
    """The live interval of ZMS beside BCa with 10 000 replicates."""
    lines = []
    for n, floor, aim in ((1000, 1000, 5000), (5000, 8000, 13_000)):
        c = fleet(MANY, n)
        rows = c.z[:n] ** 2
        replicates = 10_000 if n == 1000 else 2500
        scale = 10_000 / replicates
        fresh(c)

        def ours(c: object = c) -> None:
            intervals.saddlepoint_zms(fresh(c))  # type: ignore[arg-type]

        def theirs(rows: np.ndarray = rows, replicates: int = replicates) -> None:
            stats.bootstrap((rows,), np.mean, n_resamples=replicates, method="BCa")

        mine, other = in_turn(ours, theirs, rounds=3)
        goal = Goal(
            f"interval of ZMS, n = {n}, {MANY} series at once", "scipy.stats.bootstrap, BCa, 10^4",
            floor, aim, "exponentials of the saddlepoint",
        )  # fmt: skip
        lines.append(
            line(goal, [each / MANY for each in mine], [scale * each for each in other], "ms", 1e3)
        )
    return lines


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


def areas(points: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return the areas in both coordinate systems."""
    bandwidth, miss, excess, deficit = points
    steps = float(np.sum(np.diff(bandwidth) * miss[:-1]))
    return steps, curves.trapezoid_area(excess, deficit)


def curve() -> list[Line]:
    """The characteristics curve with both areas at N = 10 000."""
    n = 10_000
    c = fleet(1, n)
    below, above = np.random.default_rng(2).uniform(0.5, 2.0, (2, n)) * c.u
    scales = np.sort(curves.critical_scales(below, above, c.error))

    def ours() -> None:
        for _ in range(20):
            areas(curves.curve(below, above, c.error, nearer=False)[1:])

    def theirs() -> None:
        by_definition(below, above, c.error, scales[::_SOME])

    def sort() -> None:
        for _ in range(20):
            np.argsort(scales[::-1].copy())

    scale, *axes = curves.curve(below, above, c.error, nearer=False)
    some = np.searchsorted(scale, scales[::100])
    points = by_definition(below, above, c.error, scales[::100])
    # UQ360's miss is one pair too high where rounding puts a critical scale off its own band.
    for axis, defined, most in zip(axes, points, (1e-12, 1.5 / n, 1e-12, 1e-12), strict=True):
        assert np.abs(axis[some] - defined).max() < most
    mine, other, floor = in_turn(ours, theirs, sort, rounds=3)
    mine, floor = ([each / 20 for each in times] for times in (mine, floor))
    limit = "two argsorts of the pairs"
    return [
        line(Goal("characteristics curve with areas, N = 10^4", "UQ360's way, O(N^2)", 2000, 4000,
                  limit), mine, [_SOME * each for each in other], "ms", 1e3),
        line(Goal("the same", "one argsort (the limit)", limit=limit), mine, floor, "ms", 1e3),
    ]  # fmt: skip
