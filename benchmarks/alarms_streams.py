"""Simulated sensors for the tables of alarms: honest ones of many sorts, and faults.

Written from the definitions alone; nothing is taken from the detector. The unit is the median
stated uncertainty. An honest sensor's z = (value - reference) / sqrt(u^2 + u_ref^2) has mean 0 and
standard deviation 1 over the sensors of a row; how it depends on itself is the row's business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Float]

PIVOT = 100.0
TRUTH_SD = 3.0
HELD = 0.95  # share of u_ref that a held reference's pairs have in common; the most one can say
P90 = 1.6448536269514722  # half a 90 % interval of a normal error, in u


class Sensors(NamedTuple):
    """Pairs of many sensors, [sensors, pairs] each; times are one hour apart.

    ``half`` is half the width of the stated 90 % interval where there is no u. ``held`` numbers the
    reference measurement of a pair where several pairs share one, else 0. ``systematic`` is the
    declared share of u^2 that never averages out, ``of_reference`` that of u_ref. ``changed`` is
    the pair from which alarms count, ``event`` whether an operator reports something there.
    """

    value: Float
    u: Float
    reference: Float
    u_ref: Float
    half: Float
    held: Int
    systematic: float = 0.0
    changed: int = 0
    event: bool = False
    of_reference: float = 0.0

    @property
    def unit(self) -> Float:
        """Return the standard uncertainty stated, or that of a normal with the stated interval."""
        return np.where(np.isnan(self.u), self.half / P90, self.u)

    @property
    def z(self) -> Float:
        """Return the errors in units of what was stated of them."""
        return (self.value - self.reference) / np.hypot(self.u, self.u_ref)


# --- errors of mean 0 and standard deviation 1 ---------------------------------------------------


def normal(rng: np.random.Generator, size: tuple[int, int]) -> Float:
    return rng.standard_normal(size)


def student(nu: float) -> Draw:
    return lambda rng, size: rng.standard_t(nu, size) / np.sqrt(nu / (nu - 2.0))


def laplace(rng: np.random.Generator, size: tuple[int, int]) -> Float:
    return rng.laplace(0.0, np.sqrt(0.5), size)


def exponential(rng: np.random.Generator, size: tuple[int, int]) -> Float:
    return rng.exponential(1.0, size) - 1.0


def contaminated(rng: np.random.Generator, size: tuple[int, int]) -> Float:
    wide = np.where(rng.random(size) < 0.05, 5.0, 1.0)
    return rng.standard_normal(size) * wide / np.sqrt(0.95 + 0.05 * 25.0)


def garch(rng: np.random.Generator, size: tuple[int, int]) -> Float:
    z, variance = rng.standard_normal(size), np.ones(size[0])
    for t in range(size[1]):
        z[:, t] *= np.sqrt(variance)
        variance = 0.1 + 0.1 * z[:, t] ** 2 + 0.8 * variance
    return z


def autoregressive(rho: float) -> Draw:
    def draw(rng: np.random.Generator, size: tuple[int, int]) -> Float:
        z = rng.standard_normal(size)
        scale = np.sqrt(1.0 - rho * rho)
        for t in range(1, size[1]):
            z[:, t] = rho * z[:, t - 1] + scale * z[:, t]
        return z

    return draw


def cyclic(period: int, amplitude: float = 0.7) -> Draw:
    def draw(rng: np.random.Generator, size: tuple[int, int]) -> Float:
        phase = rng.uniform(0.0, 2.0 * np.pi, (size[0], 1))
        wave = amplitude * np.sin(2.0 * np.pi * np.arange(size[1]) / period + phase)
        return wave + np.sqrt(1.0 - 0.5 * amplitude**2) * rng.standard_normal(size)

    return draw


def partly(share: float, slow: Draw) -> Draw:
    """Return errors of which ``share`` of the variance is ``slow``, the rest independent."""

    def draw(rng: np.random.Generator, size: tuple[int, int]) -> Float:
        return np.sqrt(share) * slow(rng, size) + np.sqrt(1.0 - share) * rng.standard_normal(size)

    return draw


SHAPES: dict[str, Draw] = {"normal": normal, "t4": student(4.0), "AR(0.7)": autoregressive(0.7)}


# --- honest sensors ------------------------------------------------------------------------------


def truths(rng: np.random.Generator, size: tuple[int, int]) -> Float:
    """Return what is measured: half of the sensors see it move slowly, the others at random."""
    moving = autoregressive(0.8)(rng, size)
    moving[::2] = rng.standard_normal(moving[::2].shape)
    return PIVOT + TRUTH_SD * moving


def stated(rng: np.random.Generator, size: tuple[int, int]) -> Float:
    return np.exp(rng.normal(0.0, 0.25, size))


def sensors(value: Float, u: Float, reference: Float, **more: object) -> Sensors:
    """Return sensors with an exact reference where ``more`` says nothing else."""
    zero = np.zeros(value.shape)
    usual = {"u_ref": zero, "half": np.full(value.shape, np.nan), "held": zero.astype(np.int64)}
    return Sensors(value, u, reference, **(usual | more))  # type: ignore[arg-type]


Honest = Callable[[np.random.Generator, tuple[int, int]], Sensors]


def classical(draw: Draw) -> Honest:
    """Return sensors whose error is independent of the truth."""

    def made(rng: np.random.Generator, size: tuple[int, int]) -> Sensors:
        truth, u = truths(rng, size), stated(rng, size)
        return sensors(truth + u * draw(rng, size), u, truth)

    return made


def predictive(r2: float) -> Honest:
    """Return sensors whose error is independent of their value, as that of a regression."""

    def made(rng: np.random.Generator, size: tuple[int, int]) -> Sensors:
        value = PIVOT + np.sqrt(r2 / (1.0 - r2)) * (truths(rng, size) - PIVOT) / TRUTH_SD
        return sensors(value, np.ones(size), value - rng.standard_normal(size))

    return made


def changing(before: Draw, after: Draw, at: int, *, event: bool) -> Honest:
    """Return sensors whose dependence changes, their honesty does not."""

    def made(rng: np.random.Generator, size: tuple[int, int]) -> Sensors:
        truth, u = truths(rng, size), stated(rng, size)
        noise = np.hstack([before(rng, (size[0], at)), after(rng, (size[0], size[1] - at))])
        return sensors(truth + u * noise, u, truth, changed=at, event=event)

    return made


def rounded(step: float, slow: float) -> Honest:
    """Return sensors that show multiples of ``step`` u of their noise, and state that too."""

    def made(rng: np.random.Generator, size: tuple[int, int]) -> Sensors:
        truth = PIVOT + 5.0 * step * autoregressive(slow)(rng, size)
        value = step * np.round((truth + rng.standard_normal(size)) / step)
        return sensors(value, np.full(size, np.sqrt(1.0 + step * step / 12.0)), truth)

    return made


def held(pairs: int, u_ref: float) -> Honest:
    """Return sensors whose reference is measured once for so many pairs of one truth."""

    def made(rng: np.random.Generator, size: tuple[int, int]) -> Sensors:
        which = np.arange(size[1]) // pairs
        blocks = (size[0], int(which[-1]) + 1)
        truth = truths(rng, blocks)
        reference = (truth + u_ref * rng.standard_normal(blocks))[:, which]
        u = stated(rng, size)
        number = 1 + which + blocks[1] * np.arange(size[0])[:, None]
        value = truth[:, which] + u * rng.standard_normal(size)
        blur = np.full(size, u_ref)
        return sensors(value, u, reference, u_ref=blur, held=number, of_reference=HELD)

    return made


def intervals(u_ref: float) -> Honest:
    """Return sensors that state a 90 % interval and no u, beside an uncertain reference."""

    def made(rng: np.random.Generator, size: tuple[int, int]) -> Sensors:
        truth, u = truths(rng, size), stated(rng, size)
        value = truth + u * rng.standard_normal(size)
        reference = truth + u_ref * u * rng.standard_normal(size)
        blank = np.full(size, np.nan)
        return sensors(value, blank, reference, u_ref=u_ref * u, half=P90 * u)

    return made


def systematic(share: float, *, declared: bool) -> Honest:
    """Return sensors ``share`` of whose u^2 is one error for life."""

    def made(rng: np.random.Generator, size: tuple[int, int]) -> Sensors:
        truth = truths(rng, size)
        own = np.sqrt(share) * rng.standard_normal((size[0], 1))
        value = truth + own + np.sqrt(1.0 - share) * rng.standard_normal(size)
        return sensors(value, np.ones(size), truth, systematic=share if declared else 0.0)

    return made


CHANGED = 1000
_AR7, _AR9 = autoregressive(0.7), autoregressive(0.9)


def _changes() -> dict[str, tuple[Honest, float]]:
    kinds = {
        "AR(0.7), then independent": (_AR7, normal),
        "AR(0.9), then independent": (_AR9, normal),
        "independent, then AR(0.7)": (normal, _AR7),
    }
    return {
        f"{name}{', with an event' if event else ''}": (
            changing(*draws, CHANGED, event=event),
            1000.0,
        )
        for name, draws in kinds.items()
        for event in (False, True)
    }


# name: (sensors, least mean number of pairs to a false alarm, 0 where none is promised)
HONEST: dict[str, tuple[Honest, float]] = {
    "independent, normal": (classical(normal), 10_000.0),
    "independent, t4": (classical(student(4.0)), 10_000.0),
    "independent, t3": (classical(student(3.0)), 2500.0),
    "independent, Laplace": (classical(laplace), 10_000.0),
    "independent, exponential": (classical(exponential), 10_000.0),
    "5 % of the errors five times as wide": (classical(contaminated), 2500.0),
    "GARCH(0.1, 0.8)": (classical(garch), 0.0),
    "AR(0.7)": (classical(_AR7), 1000.0),
    "AR(0.9)": (classical(_AR9), 1000.0),
    **_changes(),
    **{f"cycle of {n} pairs": (classical(cyclic(n)), 1000.0) for n in (24, 48, 96, 288)},
    "10 % AR(0.99)": (classical(partly(0.1, autoregressive(0.99))), 1000.0),
    "half AR(0.99)": (classical(partly(0.5, autoregressive(0.99))), 1000.0),
    "half AR(0.95)": (classical(partly(0.5, autoregressive(0.95))), 1000.0),
    "rounded to 3 u, truth at random": (rounded(3.0, 0.0), 1000.0),
    "rounded to 10 u, truth AR(0.99)": (rounded(10.0, 0.99), 1000.0),
    "rounded to 10 u, truth AR(0.999)": (rounded(10.0, 0.999), 1000.0),
    **{f"reference held for {n} pairs, declared": (held(n, 0.5), 1000.0) for n in (5, 10, 50)},
    **{f"predictive, R2 {r2}": (predictive(r2), 10_000.0) for r2 in (0.3, 0.8)},
    **{f"90 % intervals, u_ref {r} u": (intervals(r), 1000.0) for r in (0.0, 0.33, 0.5, 1.0)},
}


# --- faults --------------------------------------------------------------------------------------


class Fault(NamedTuple):
    """What a faulty z is: ``scale`` times an honest one, plus ``shift`` (pairs since the onset).

    A gain turns about the pivot: value = PIVOT + gain (value - PIVOT). ``outliers`` is their share.
    ``after`` is how many pairs are looked at, ``goal`` what our delay over the oracle's may be with
    normal errors, after 100 and 1000 honest pairs and from day 0.
    """

    offset: float = 0.0
    slope: float = 0.0
    scale: float = 1.0
    gain: float = 1.0
    outliers: float = 0.0
    after: int = 600
    goal: tuple[float, float] | None = (1.5, 1.6)


FAR = 6.0  # how far an outlier lies off, in u

FAULTS: dict[str, Fault] = {
    "offset 0.25 u": Fault(offset=0.25, after=2500, goal=None),
    "offset 0.5 u": Fault(offset=0.5, after=1500),
    "offset 1 u": Fault(offset=1.0),
    "offset 2 u": Fault(offset=2.0),
    "offset 5 u": Fault(offset=5.0),
    "sd x 2": Fault(scale=2.0),
    "sd / 2": Fault(scale=0.5, goal=(1.6, 1.6)),
    "gain 1.25": Fault(gain=1.25, goal=(2.0, 2.0)),
    "gain 0.75": Fault(gain=0.75, goal=None),
    "5 % outliers of 6 u": Fault(outliers=0.05, after=1000, goal=(2.0, 2.0)),
    "drift 0.01 u a pair": Fault(slope=0.01, goal=None),
}


def faulty(
    fault: Fault, honest: Sensors, onset: int, rng: np.random.Generator, until: int | None = None
) -> Sensors:
    """Return ``honest`` sensors with ``fault`` from pair ``onset`` on, before ``until``."""
    span = slice(onset, until)
    truth, u = honest.reference[:, span], honest.unit[:, span]
    value = truth + fault.scale * (honest.value[:, span] - truth)
    value = PIVOT + fault.gain * (value - PIVOT)
    value = value + u * (fault.offset + fault.slope * np.arange(1.0, u.shape[1] + 1.0))
    if fault.outliers:
        way = np.where(rng.random(u.shape) < 0.5, -FAR, FAR)
        value = value + np.where(rng.random(u.shape) < fault.outliers, way, 0.0) * u
    changed = honest.value.copy()
    changed[:, span] = value
    return honest._replace(value=changed)


def tolerated(rng: np.random.Generator, size: tuple[int, int]) -> Sensors:
    """Return sensors at the corner of what the detector tolerates."""
    return faulty(Fault(offset=0.1, scale=1.1), classical(normal)(rng, size), 0, rng)


ACCEPTED = HONEST | {"off by 0.1 u, errors 1.1 times as wide": (tolerated, 1000.0)}
