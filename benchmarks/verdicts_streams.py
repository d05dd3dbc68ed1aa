"""Simulated sensors with a known fault, size and onset, as the truth for verdicts.

Written from the definitions of the faults alone; nothing here is taken from the code that names
them. All streams are in a unit in which the median stated uncertainty is ``U``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from alarms_streams import Draw, Float, autoregressive, normal, student

U = 5.0
ONSET = 200
PIVOT = 100.0
STEP = 3600.0  # seconds between pairs
BEGAN = 1.7e9


SHAPES: dict[str, Draw] = {
    "normal": normal,
    "t4": student(4.0),
    "AR(0.5)": autoregressive(0.5),
}
MODELS = ("classical", "predictive")


# --- worlds --------------------------------------------------------------------------------------


@dataclass
class World:
    """Honest streams, before and after a fault: [streams, pairs] each.

    ``carrier`` is what the errors are independent of: the truth for a classical sensor, the value
    for a predictive one. ``noise`` has standard deviation 1.
    """

    model: str
    carrier: Float
    noise: Float
    u: Float
    u_ref: Float
    blur: Float
    onset: int

    def pairs(self, scale: Float | float = 1.0) -> tuple[Float, Float]:
        """Return value and true value where the error is ``scale`` times as large as stated."""
        error = scale * self.u * self.noise
        if self.model == "classical":
            return self.carrier + error, self.carrier
        return self.carrier, self.carrier - error


def world(
    model: str,
    shape: str,
    streams: int,
    seed: int,
    *,
    length: int = 1000,
    onset: int = ONSET,
    spread: float = 3.0,
    slow: float | None = None,
    centre: float = PIVOT,
) -> World:
    """Return honest streams; ``spread`` of the measurand in U, ``slow`` its lag-1 correlation.

    Without ``slow`` half of the streams have independent measurands, the others 0.8.
    """
    rng = np.random.default_rng(seed)
    size = (streams, length)
    moving = autoregressive(0.8 if slow is None else slow)(rng, size)
    if slow is None:
        moving[: streams // 2] = rng.standard_normal((streams // 2, length))
    return World(
        model=model,
        carrier=centre + spread * U * moving,
        noise=SHAPES[shape](rng, size),
        u=U * np.exp(rng.normal(0.0, 0.25, size)),
        u_ref=np.full(size, 0.2 * U),
        blur=0.2 * U * rng.standard_normal(size),
        onset=onset,
    )


# --- faults --------------------------------------------------------------------------------------


@dataclass
class Faulty:
    """The recorded pairs, and the truth about them.

    ``size`` [streams, pairs] is what the estimate should be at each pair (level in units of the
    series, factor on u, gain, share); ``changed`` is the pair of the newest change.
    """

    value: Float
    u: Float
    reference: Float
    u_ref: Float
    size: Float
    onset: int
    changed: int


@dataclass(frozen=True)
class Fault:
    """A fault: the label it must get and what it does to a world."""

    label: str
    apply: Callable[[World, np.random.Generator], Faulty]
    spread: float = 3.0
    slow: float | None = None
    centre: float = PIVOT
    sized: bool = True  # its size is one number that an interval can hold


def _recorded(
    w: World, value: Float, truth: Float, size: Float | float, changed: int | None = None
) -> Faulty:
    before_value, before_truth = w.pairs()
    value[:, : w.onset] = before_value[:, : w.onset]
    truth[:, : w.onset] = before_truth[:, : w.onset]
    return Faulty(
        value=value,
        u=w.u,
        reference=truth + w.blur,
        u_ref=w.u_ref,
        size=np.broadcast_to(np.asarray(size, float), value.shape),
        onset=w.onset,
        changed=w.onset if changed is None else changed,
    )


def _shifted(by: Float, changed: int = 0) -> Callable[[World, np.random.Generator], Faulty]:
    def apply(w: World, _: np.random.Generator) -> Faulty:
        level = np.zeros(w.u.shape[1])
        after = w.u.shape[1] - w.onset
        level[w.onset :] = U * np.resize(by, after) if by.size == 1 else U * by[:after]
        value, truth = w.pairs()
        return _recorded(w, value + level, truth.copy(), level, w.onset + changed)

    return apply


def offset(size: float) -> Fault:
    return Fault("offset", _shifted(np.array([size])))


CHANGE_AFTER = 80


def change(first: float, then: float) -> Fault:
    levels = np.full(5000, then)
    levels[:CHANGE_AFTER] = first
    return Fault("offset", _shifted(levels, CHANGE_AFTER))


def drift(rate: float) -> Fault:
    return Fault("drift", _shifted(rate * np.arange(1.0, 5001.0)))


def scaled(factor: float) -> Fault:
    def apply(w: World, _: np.random.Generator) -> Faulty:
        value, truth = w.pairs(factor)
        return _recorded(w, value.copy(), truth.copy(), factor)

    return Fault("understated" if factor > 1.0 else "overstated", apply)


def gain(size: float, spread: float = 3.0) -> Fault:
    def apply(w: World, _: np.random.Generator) -> Faulty:
        value, truth = w.pairs()
        return _recorded(w, PIVOT + size * (value - PIVOT), truth.copy(), size)

    return Fault("gain", apply, spread=spread)


def outliers(share: float, far: float) -> Fault:
    def apply(w: World, rng: np.random.Generator) -> Faulty:
        value, truth = w.pairs()
        hit = rng.random(value.shape) < share
        way = np.where(rng.random(value.shape) < 0.5, -1.0, 1.0)
        return _recorded(w, value + hit * way * far * w.u, truth.copy(), share)

    return Fault("outliers", apply)


def stuck(spread: float) -> Fault:
    def apply(w: World, _: np.random.Generator) -> Faulty:
        value, truth = (each.copy() for each in w.pairs())
        value[:, w.onset :] = value[:, [max(w.onset - 1, 0)]]
        return _recorded(w, value, truth, 0.0)

    return Fault("stuck", apply, spread=spread, sized=False)


def delayed(pairs: int) -> Fault:
    """Return a sensor whose value is late by so many pairs."""

    def apply(w: World, _: np.random.Generator) -> Faulty:
        value, truth = (each.copy() for each in w.pairs())
        late = np.roll(value, pairs, axis=1)
        return _recorded(w, late, truth, float(pairs))

    return Fault("lag", apply, slow=0.9, sized=False)


def sluggish(share: float) -> Fault:
    """Return a sensor of first order: each reading goes ``share`` of the way to the present."""

    def apply(w: World, _: np.random.Generator) -> Faulty:
        value, truth = (each.copy() for each in w.pairs())
        shown = w.carrier.copy()
        for t in range(w.onset, shown.shape[1]):
            shown[:, t] = shown[:, t - 1] + share * (w.carrier[:, t] - shown[:, t - 1])
        return _recorded(w, value - w.carrier + shown, truth, 0.0)

    return Fault("lag", apply, slow=0.9, sized=False)


def flipped(centre: float) -> Fault:
    def apply(w: World, _: np.random.Generator) -> Faulty:
        value, truth = w.pairs()
        return _recorded(w, -value, truth.copy(), -1.0)

    return Fault("sign", apply, centre=centre, sized=False)


FAULTS: dict[str, Fault] = {
    "offset 0.5 u": offset(0.5),
    "offset 1 u": offset(1.0),
    "offset -1 u": offset(-1.0),
    "offset 2 u": offset(2.0),
    "offset 5 u": offset(5.0),
    "4 u, then 2": change(4.0, 2.0),
    "1 u, then 4": change(1.0, 4.0),
    "-2 u, then 3": change(-2.0, 3.0),
    "drift 0.005 u/pair": drift(0.005),
    "drift 0.02 u/pair": drift(0.02),
    "drift -0.01 u/pair": drift(-0.01),
    "drift 0.05 u/pair": drift(0.05),
    "gain 1.25": gain(1.25),
    "gain 1.5": gain(1.5),
    "gain 0.75, truth's sd 5 u": gain(0.75, 5.0),
    "gain 0.5": gain(0.5),
    "u x 1.5": scaled(1.5),
    "u x 2": scaled(2.0),
    "u x 3": scaled(3.0),
    "u / 2": scaled(1 / 2),
    "u / 3": scaled(1 / 3),
    "5 % outliers of 8 u": outliers(0.05, 8.0),
    "3 % outliers of 10 u": outliers(0.03, 10.0),
    "stuck, truth's sd 3 u": stuck(3.0),
    "stuck, truth's sd 1 u": stuck(1.0),
    "stuck, truth's sd 0.3 u": stuck(0.3),
    "lag of 2 pairs": delayed(2),
    "first order, 0.4": sluggish(0.4),
    "sign, about 0": flipped(0.0),
    "sign, about 100": flipped(100.0),
}


def streams(name: str, model: str, shape: str, count: int, seed: int, **changes: float) -> Faulty:
    """Return ``count`` streams of the fault ``name``; ``changes`` override the world's settings."""
    fault = FAULTS[name]
    settings: dict = {"spread": fault.spread, "slow": fault.slow, "centre": fault.centre}
    w = world(model, shape, count, seed, **(settings | changes))
    return fault.apply(w, np.random.default_rng(seed + 1))


def honest(model: str, shape: str, count: int, seed: int, **changes: float) -> Faulty:
    w = world(model, shape, count, seed, **changes)
    value, truth = w.pairs()
    return _recorded(w, value.copy(), truth.copy(), 0.0)


def times(length: int) -> Float:
    return BEGAN + STEP * np.arange(length)
