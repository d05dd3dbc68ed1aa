"""Peers for the tables of alarms: charts, change detectors and mixtures, each a statistic of z.

A peer is a function from z [streams, pairs] to what it watches after each pair, of one part or
several; it alarms where one part is beyond its limit. Limits are set by simulation so that honest
streams of the shape at hand alarm as seldom as ours do: the peers know the shape, we do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy
from alarms_streams import Float, Int

Parts = Callable[[Float], Iterator[Float]]

OFFSETS = (0.3, 0.6, 1.2, 2.5, 5.0)
SPREADS = (0.5, 0.7, 1.5, 2.5)
MEMORY = 50.0  # pairs that the prior rho = 0 counts for
CALIBRATED = 4000  # pairs of each stream that limits are set on


def cusum(steps: Float) -> Float:
    """Return Page's sums max(0, C + step)."""
    total = np.cumsum(steps, axis=1)
    return total - np.minimum.accumulate(np.minimum(total, 0.0), axis=1)


def log_ratio(z: Float, shift: float | Float, scale: float) -> Float:
    """Return log N(z; shift, scale) / N(z; 0, 1)."""
    return 0.5 * (z * z - ((z - shift) / scale) ** 2) - np.log(scale)


def bank(z: Float, shrunk: float | Float = 1.0) -> Iterator[Float]:
    """Yield the greatest of CUSUMs for offsets of both signs and for spreads."""
    best = np.zeros(z.shape)
    for size in OFFSETS:
        for shift in (size, -size):
            np.maximum(best, cusum(log_ratio(z, shift * shrunk, 1.0)), out=best)
    for scale in SPREADS:
        np.maximum(best, cusum(log_ratio(z, 0.0, scale)), out=best)
    yield best


def clipped_and_whitened(z: Float) -> Iterator[Float]:
    """Yield the same of z within 3, whitened by the lag-1 correlation of the pairs before."""
    z = np.clip(z, -3.0, 3.0)
    before = np.hstack([np.zeros((z.shape[0], 1)), z[:, :-1]])
    products = np.cumsum(z * before, axis=1) - z * before
    squares = np.cumsum(before * before, axis=1)
    rho = np.clip(products / (squares + MEMORY), 0.0, 0.95)
    root = np.sqrt(1.0 - rho * rho)
    return bank(np.clip((z - rho * before) / root, -3.0, 3.0), (1.0 - rho) / root)


def ewma(z: Float) -> Iterator[Float]:
    """Yield the distance of exponential means of z and of z squared (weight 0.1) from theirs."""
    for values in (z, z * z - 1.0):
        yield np.abs(scipy.signal.lfilter([0.1], [1.0, -0.9], values, axis=1))


LAGS = sorted({*range(5, 20), *np.geomspace(20, 300, 20).astype(int).tolist()})


def glr(z: Float) -> Iterator[Float]:
    """Yield the generalised likelihood ratio of mean and variance of the last 5 to 300 pairs."""
    first, second = (np.cumsum(np.pad(v, ((0, 0), (1, 0))), axis=1) for v in (z, z * z))
    best = np.zeros(z.shape)
    for lag in LAGS:
        if lag > z.shape[1]:
            break
        mean, square = ((c[:, lag:] - c[:, :-lag]) / lag for c in (first, second))
        variance = np.maximum(square - mean * mean, 1e-6)
        found = 0.5 * lag * (square - 1.0 - np.log(variance))
        np.maximum(best[:, lag - 1 :], found, out=best[:, lag - 1 :])
    yield best


def student(z: Float, shift: float, scale: float) -> Float:
    """Return the log density of t5 with mean ``shift`` and standard deviation ``scale``."""
    x = (z - shift) / (scale * np.sqrt(0.6))
    return -3.0 * np.log1p(x * x / 5.0) - np.log(scale)


def shiryaev_roberts(steps: Float, first: Float | None = None) -> Float:
    """Return log R with R = sum over beginnings of the product of exp(step) since.

    ``first`` are the log ratios of a pair at which the change begins, where they differ.
    """
    total = np.cumsum(steps, axis=1)
    begun = -total if first is None else first - total
    if first is None:
        begun = np.hstack([np.zeros((total.shape[0], 1)), begun[:, :-1]])
    return total + np.logaddexp.accumulate(begun, axis=1)


def mixture(z: Float) -> Iterator[Float]:
    """Yield the log of the mean of Shiryaev-Roberts statistics of t5 errors."""
    null = student(z, 0.0, 1.0)
    faults = [(s * way, 1.0) for s in OFFSETS for way in (1, -1)] + [(0.0, s) for s in SPREADS]
    found = np.full(z.shape, -np.inf)
    for shift, scale in faults:
        steps = student(z, shift, scale) - null
        np.logaddexp(found, shiryaev_roberts(steps) - np.log(len(faults)), out=found)
    yield found


CUTS = sorted({*np.geomspace(5, 2000, 32).astype(int).tolist()})


def adwin(z: Float) -> Iterator[Float]:
    """Yield ln(2 / delta) at which ADWIN would cut its window, of z and of z squared.

    Bifet, Gavalda 2007, equation of the variance bound; cuts at 32 ages, the window from the first
    pair on, as only the first alarm is wanted.
    """
    for values in (np.clip(z, -5.0, 5.0) / 10.0, np.minimum(z * z, 25.0) / 25.0):
        sums, squares = (
            np.cumsum(np.pad(v, ((0, 0), (1, 0))), axis=1) for v in (values, values**2)
        )
        count = np.arange(1.0, z.shape[1] + 1.0)
        variance = np.maximum(squares[:, 1:] / count - (sums[:, 1:] / count) ** 2, 1e-6)
        best = np.zeros(z.shape)
        for age in CUTS:
            if age + 5 > z.shape[1]:
                break
            older = count[age:] - age
            late = (sums[:, age + 1 :] - sums[:, 1:-age]) / age
            gap = np.abs(late - sums[:, 1:-age] / older)
            harmonic = 1.0 / older + 1.0 / age
            a, b = 2.0 / 3.0 * harmonic, np.sqrt(2.0 * harmonic * variance[:, age:])
            found = ((np.sqrt(b * b + 4.0 * a * gap) - b) / (2.0 * a)) ** 2
            found[:, :5] = 0.0
            np.maximum(best[:, age:], found, out=best[:, age:])
        yield best


def page_hinkley(z: Float) -> Iterator[Float]:
    """Yield Page-Hinkley's sums of z and of z squared against their own mean, both ways."""
    count = np.arange(1.0, z.shape[1] + 1.0)
    for values in (z, z * z):
        away = values - np.cumsum(values, axis=1) / count
        yield np.maximum(cusum(away - 0.1), cusum(-away - 0.1))


PEERS: dict[str, Parts] = {
    "CUSUM bank": bank,
    "CUSUM, clipped and whitened": clipped_and_whitened,
    "EWMA": ewma,
    "GLR": glr,
    "t5 SR mixture": mixture,
    "ADWIN": adwin,
    "PageHinkley": page_hinkley,
}


# --- limits and alarms ---------------------------------------------------------------------------


def limits(peer: Parts, blocks: list[Float], between: float) -> list[float]:
    """Return the limits of the parts at which honest streams have ``between`` pairs to an alarm.

    All parts alarm equally often; together they alarm as often as wanted.
    """
    highest = np.vstack([np.stack([part.max(axis=1) for part in peer(z)], axis=1) for z in blocks])
    wanted = 1.0 - np.exp(-blocks[0].shape[1] / between)
    parts = highest.shape[1]
    each = np.quantile(highest, 1.0 - wanted / parts, axis=0)
    joint = np.quantile((highest / each).max(axis=1), 1.0 - wanted) if parts > 1 else 1.0
    return [float(limit * joint) for limit in each]


def first_beyond(peer: Parts, limit: list[float], z: Float) -> Int:
    """Return the pair at which each stream is first beyond a limit, its length if never."""
    beyond = np.zeros(z.shape, np.bool_)
    for part, most in zip(peer(z), limit, strict=True):
        beyond |= part > most
    return np.where(beyond.any(axis=1), np.argmax(beyond, axis=1), z.shape[1])


def between(alarm: Int, length: int) -> float:
    """Return the mean number of pairs to an alarm, streams without one censored."""
    return float(np.minimum(alarm + 1, length).sum() / max(1, int((alarm < length).sum())))
