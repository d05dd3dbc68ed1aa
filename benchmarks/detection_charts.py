"""Classical charts on the streams of the detector's own table, at its rate of false alarms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from detection_streams import FAULTS, ONSET, Draw, first_alarms, normal, progress, student, table
from scipy.stats import norm

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Path = Callable[[Float], Float]  # z [streams, pairs] -> the chart's statistic after each pair

BETWEEN = 50_000  # pairs between false alarms that every chart is set to, on the same errors
CALIBRATED = 5000
ROLLING = 50
AFTER = 2000


def cusum(step: Path) -> Path:
    """Return the chart max(0, C + step), of log likelihood ratios or z less an allowance."""

    def path(z: Float) -> Float:
        steps = step(z)
        total, found = np.zeros(z.shape[0]), np.empty_like(steps)
        for t in range(z.shape[1]):
            total = np.maximum(0.0, total + steps[:, t])
            found[:, t] = total
        return found

    return path


def ewma(of: Path, middle: float) -> Path:
    """Return the distance of an exponential mean (weight 0.1) from its middle."""

    def path(z: Float) -> Float:
        values, found = of(z), np.empty_like(z)
        mean = np.full(z.shape[0], middle)
        for t in range(z.shape[1]):
            mean = mean + 0.1 * (values[:, t] - mean)
            found[:, t] = np.abs(mean - middle)
        return found

    return path


def spread(sd: float) -> Path:
    """Return log likelihood ratios of N(0, sd^2) against N(0, 1)."""
    return lambda z: 0.5 * z * z * (1.0 - 1.0 / (sd * sd)) - np.log(sd)


def rolling_crps(z: Float) -> Float:
    """Return the mean of the last 50 CRPS of a normal statement; nothing before there are 50."""
    score = z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi)
    total = np.cumsum(np.pad(score, ((0, 0), (1, 0))), axis=1)
    found = np.full(z.shape, -np.inf)
    found[:, ROLLING - 1 :] = (total[:, ROLLING:] - total[:, :-ROLLING]) / ROLLING
    return found


CHARTS: dict[str, tuple[Path, ...]] = {
    "CUSUM of z and of spread": (
        cusum(lambda z: z - 0.5),
        cusum(lambda z: -z - 0.5),
        cusum(spread(1.5)),
        cusum(spread(0.67)),
    ),
    "EWMA of z and of z squared": (ewma(lambda z: z, 0.0), ewma(lambda z: z * z, 1.0)),
    "rolling CRPS of 50": (rolling_crps,),
}
WATCHED = (
    *("offset 0.5 u", "offset 1 u", "offset 2 u"),
    *("sd x 1.5", "sd x 2", "sd x 3", "sd / 2"),
)


def limits(paths: tuple[Path, ...], draw: Draw, streams: int) -> list[float]:
    """Return the limit of each part at which the chart has BETWEEN pairs between false alarms."""
    alarmed = 1.0 - np.exp(-CALIBRATED / (len(paths) * BETWEEN))
    highest: list[list[Float]] = [[] for _ in paths]
    for part in range(0, streams, 250):
        z = draw(np.random.default_rng([20260140, part]), (min(250, streams - part), CALIBRATED))
        for found, path in zip(highest, paths, strict=True):
            found.append(path(z).max(axis=1))
    return [float(np.quantile(np.concatenate(found), 1.0 - alarmed)) for found in highest]


def first(z: Float, paths: tuple[Path, ...], limit: list[float]) -> Int:
    """Return the pair at which each stream's chart is first beyond a limit, its length if never."""
    beyond = np.zeros(z.shape, np.bool_)
    for path, most in zip(paths, limit, strict=True):
        beyond |= path(z) > most
    return np.where(beyond.any(axis=1), np.argmax(beyond, axis=1), z.shape[1])


def charts(share: float) -> str:
    streams, rows = max(50, round(500 * share)), []
    for shape, draw in (("normal", normal), ("t4", student(4))):
        calibrating = max(500, round(4000 * share))
        set_to = {name: limits(paths, draw, calibrating) for name, paths in CHARTS.items()}
        honest = draw(np.random.default_rng(20260101), (streams, ONSET + AFTER))
        for name in WATCHED:
            z = np.concatenate([honest[:, :ONSET], FAULTS[name][0](honest[:, ONSET:])], axis=1)
            cells = [f"{shape}, {name}", delayed(first_alarms(z)[0], z.shape[1])]
            for chart, paths in CHARTS.items():
                cells.append(delayed(first(z, paths, set_to[chart]), z.shape[1]))
            rows.append(cells)
            progress(cells)
    return table(["median delay (missed within 2000)", "this detector", *CHARTS], rows)


def delayed(alarm: Int, length: int) -> str:
    late = alarm[alarm >= ONSET]
    missed = float((late == length).mean())
    middle = "-" if missed >= 0.5 else f"{np.median(late) - ONSET + 1:.0f}"
    return f"{middle} ({missed:.0%})"
