"""Who knows all: Shiryaev-Roberts with the true densities before and after the change.

It knows the errors' shape, the fault and its size, and for a gain the truth; only not when the
fault begins. Its limit gives it our rate of false alarms.
"""

from __future__ import annotations

import numpy as np
from alarms_peers import CALIBRATED, first_beyond, shiryaev_roberts
from alarms_streams import FAR, SHAPES, Fault, Float, Int

RAMP = 300  # pairs after which a drift that the oracle looks for began
SMALL = 60.0  # limit at which the statistic's overshoot is measured


def _density(shape: str, x: Float) -> Float:
    """Return the log density of errors of standard deviation 1, of innovations under AR.

    But for a constant, which cancels.
    """
    if shape == "t4":
        return -2.5 * np.log1p(0.5 * x * x)
    return -0.5 * x * x


def _clean(shape: str, fault: Fault, x: Float) -> Float:
    """Return the log density where a share of the errors lies off; ``x`` in u."""
    parts = [_density(shape, x)]
    share = fault.outliers
    if not share:
        return parts[0]
    root = _root(shape)
    low, high = (_density(shape, x + way * FAR / root) for way in (1.0, -1.0))
    off = np.log(0.5 * share) + np.logaddexp(low, high)
    return np.logaddexp(np.log1p(-share) + parts[0], off)


def _rho(shape: str) -> float:
    return 0.7 if shape == "AR(0.7)" else 0.0


def _root(shape: str) -> float:
    return float(np.sqrt(1.0 - _rho(shape) ** 2))


def log_statistic(shape: str, fault: Fault, z: Float, truth: Float) -> Float:
    """Return log R [streams, pairs]; ``truth`` is what is measured, in units of each pair's u."""
    rho, root = _rho(shape), _root(shape)
    before = np.hstack([np.zeros((z.shape[0], 1)), z[:, :-1]])
    starts = np.arange(z.shape[1]) == 0
    width = np.where(starts, 1.0, root)  # the first error has no past
    memory = np.where(starts, 0.0, rho)
    null = _density(shape, (z - memory * before) / width) - np.log(width)
    if fault.slope:
        return _drifting(shape, fault.slope, z, null)
    scale = fault.scale * fault.gain
    cleaned = (z - fault.offset - (fault.gain - 1.0) * truth) / scale
    if fault.outliers and rho:  # the best guess of what the error before was without its outlier
        before = np.where(np.abs(before) > 0.5 * FAR, before - np.sign(before) * FAR, before)
        last = before
    else:
        last = np.hstack([np.zeros((z.shape[0], 1)), cleaned[:, :-1]])
    norm = np.log(width) + np.log(scale)
    later = _clean(shape, fault, (cleaned - memory * last) / width) - norm - null
    first = _clean(shape, fault, (cleaned - memory * before) / width) - norm - null
    return shiryaev_roberts(later, first)


def _drifting(shape: str, slope: float, z: Float, null: Float) -> Float:
    """Return the same for a drift: each beginning has a likelihood of its own."""
    rho, root = _rho(shape), _root(shape)
    total = np.full(z.shape, -np.inf)
    steps = slope * np.arange(1.0, RAMP + 1.0)
    for began in range(z.shape[1]):
        part = slice(began, began + RAMP)
        clean = z[:, part] - steps[: z[:, part].shape[1]]
        last = np.empty_like(clean)
        last[:, 0] = z[:, began - 1] if began else 0.0
        last[:, 1:] = clean[:, :-1]
        log = _density(shape, (clean - rho * last) / root) - np.log(root) - null[:, part]
        np.logaddexp(total[:, part], np.cumsum(log, axis=1), out=total[:, part])
    return total


def limit(
    shape: str, fault: Fault, between: float, rng: np.random.Generator, streams: int
) -> float:
    """Return the limit on log R for so many pairs to a false alarm, by so many streams.

    R less the number of pairs is a martingale, so pairs to a false alarm are the limit times a
    constant of the overshoot, measured at a small limit. Among outliers the overshoot has no
    typical size: there the limit is simulated as those of the peers are.
    """
    size = (streams, CALIBRATED if fault.outliers else 400)
    z, truth = SHAPES[shape](rng, size), 3.0 * rng.standard_normal(size)
    found = log_statistic(shape, fault, z, truth)
    if fault.outliers:
        return float(np.quantile(found.max(axis=1), np.exp(-CALIBRATED / between)))
    alarm = first_beyond(lambda _: iter([found]), [np.log(SMALL)], z)
    mean = float(np.minimum(alarm + 1, size[1]).sum() / (alarm < size[1]).sum())
    return float(np.log(between * SMALL / mean))


def first_alarms(shape: str, fault: Fault, z: Float, truth: Float, most: float) -> Int:
    """Return the pair at which log R first reaches a limit, the number of pairs if never."""
    found = log_statistic(shape, fault, z, truth)
    return first_beyond(lambda _: iter([found]), [most], z)
