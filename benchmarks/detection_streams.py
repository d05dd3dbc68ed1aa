"""Simulated sensors for the detector's tables: honest errors, faults, and running them."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from monitor.core.columns import Columns, columns
from monitor.core.detector.detector import Detector
from monitor.core.detector.e_values import coverage_code

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Float]

PATIENCE = 1000.0
BLOCK = 100  # pairs of each stream handed over at once
ONSET = 200


# --- honest errors: mean 0, standard deviation 1 -------------------------------------------------


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Float:
    return rng.standard_normal(shape)


def student(nu: float) -> Draw:
    return lambda rng, shape: rng.standard_t(nu, shape) / np.sqrt(nu / (nu - 2))


def laplace(rng: np.random.Generator, shape: tuple[int, int]) -> Float:
    return rng.laplace(0, np.sqrt(0.5), shape)


def exponential(rng: np.random.Generator, shape: tuple[int, int]) -> Float:
    return rng.exponential(1, shape) - 1


def contaminated(rng: np.random.Generator, shape: tuple[int, int]) -> Float:
    wide = np.where(rng.random(shape) < 0.05, 5.0, 1.0)
    return rng.standard_normal(shape) * wide / np.sqrt(0.95 + 0.05 * 25)


def autoregressive(rho: float, innovations: Draw = normal) -> Draw:
    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Float:
        z = innovations(rng, shape)
        scale = np.sqrt(1 - rho * rho)
        for t in range(1, shape[1]):
            z[:, t] = rho * z[:, t - 1] + scale * z[:, t]
        return z

    return draw


def cyclic(rng: np.random.Generator, shape: tuple[int, int]) -> Float:
    phase = rng.uniform(0, 2 * np.pi, (shape[0], 1))
    wave = 0.7 * np.sin(2 * np.pi * np.arange(shape[1]) / 24 + phase)
    return wave + np.sqrt(1 - 0.245) * rng.standard_normal(shape)


def garch(rng: np.random.Generator, shape: tuple[int, int]) -> Float:
    z = rng.standard_normal(shape)
    variance = np.ones(shape[0])
    for t in range(shape[1]):
        z[:, t] *= np.sqrt(variance)
        variance = 0.1 + 0.1 * z[:, t] ** 2 + 0.8 * variance
    return z


def corner(rng: np.random.Generator, shape: tuple[int, int]) -> Float:
    return 0.1 + 1.1 * rng.standard_normal(shape)


# name: (draw, mean pairs between false alarms it must reach)
SHAPES: dict[str, tuple[Draw, float]] = {
    "normal": (normal, 40_000),
    "t4": (student(4), 30_000),
    "t3": (student(3), 2_500),
    "Laplace": (laplace, 15_000),
    "exponential - 1": (exponential, 15_000),
    "5 % N(0, 25) contaminated": (contaminated, 2_500),
    "AR(0.3)": (autoregressive(0.3), 30_000),
    "AR(0.5)": (autoregressive(0.5), 25_000),
    "AR(0.7)": (autoregressive(0.7), 18_000),
    "AR(0.9)": (autoregressive(0.9), 0),
    "AR(0.5), t4 innovations": (autoregressive(0.5, student(4)), 0),
    "24-pair cycle, amplitude 0.7": (cyclic, 0),
    "GARCH(0.1, 0.8)": (garch, 0),
    "bias 0.1 and sd 1.1": (corner, 2_000),
}

# name: (fault applied to z from its onset on, largest median delay or 0)
Fault = Callable[[Float], Float]


def ramp(slope: float) -> Fault:
    return lambda z: z + slope * np.arange(1, z.shape[1] + 1)


def gain(z: Float) -> Float:
    v = np.random.default_rng(20260102).standard_normal((1000, ONSET + 2500))
    return z + v[: z.shape[0], -z.shape[1] :]


def outliers(z: Float) -> Float:
    rng = np.random.default_rng(20260103)
    sign = np.where(rng.random(z.shape) < 0.5, -8.0, 8.0)
    return np.where(rng.random(z.shape) < 0.025, sign, z)


FAULTS: dict[str, tuple[Fault, float]] = {
    "offset 0.25 u": (lambda z: z + 0.25, 0),
    "offset 0.5 u": (lambda z: z + 0.5, 95),
    "offset 1 u": (lambda z: z + 1, 26),
    "offset 2 u": (lambda z: z + 2, 9),
    "ramp 0.002 u/pair": (ramp(0.002), 0),
    "ramp 0.01 u/pair": (ramp(0.01), 92),
    "ramp 0.05 u/pair": (ramp(0.05), 0),
    "sd x 1.5": (lambda z: z * 1.5, 52),
    "sd x 2": (lambda z: z * 2, 19),
    "sd x 3": (lambda z: z * 3, 9),
    "sd / 2": (lambda z: z / 2, 64),
    "gain, sd 1 u": (gain, 0),
    "2.5 % outliers": (outliers, 0),
}
DAY_ZERO = {"offset 0.5 u": 0, "offset 1 u": 40, "sd x 2": 23, "sd / 2": 0}


# --- running streams -----------------------------------------------------------------------------


def first_alarms(
    z: Float, *, coverage: bool = False, patience: float = PATIENCE
) -> tuple[Int, list[str]]:
    """Return the pair index and family of each stream's first alarm (length, "" if none)."""
    streams, length = z.shape
    detector = Detector(np.full(streams, patience), np.full(streams, coverage))
    alarm = np.full(streams, length)
    family = [""] * streams
    running = np.arange(streams)
    for first in range(0, length, BLOCK):
        block = z[running, first : first + BLOCK]
        starts = np.arange(running.size) * block.shape[1]
        for change in detector.advance(running, starts, block.ravel()):
            if change.after == "firing" and alarm[change.series] == length:
                alarm[change.series] = first + change.position % block.shape[1]
                family[change.series] = change.family
        running = running[alarm[running] == length]
        if not running.size:
            break
    return alarm, family


def between_alarms(alarm: Int, length: int) -> float:
    """Return mean pairs to a false alarm, streams without one censored at their length."""
    return float((np.minimum(alarm + 1, length)).sum() / max(1, (alarm < length).sum()))


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def judged(value: float, *, atleast: float = 0, atmost: float = 0) -> str:
    if atleast and value < atleast:
        return f"FAIL (>= {atleast:,g})"
    if atmost and value > atmost:
        return f"FAIL (<= {atmost:,g})"
    return f">= {atleast:,g}" if atleast else (f"<= {atmost:,g}" if atmost else "")


def codes(z: Float, half: float, level: float) -> Float:
    return coverage_code(
        -z, np.full_like(z, -half), np.full_like(z, half), np.full_like(z, 1 - level)
    )


def physical(name: str, draw: Draw, streams: int, length: int) -> dict[str, Float]:
    """Return columns [streams, length] of sensors in physical units, faulty from ONSET on."""
    rng = np.random.default_rng(20260112)
    shape = (streams, length)
    truth, u = rng.normal(100, 20, shape), 5 * np.exp(0.2 * rng.standard_normal(shape))
    error = u * draw(rng, shape)
    kind, *size = name.split(" ")
    now = np.arange(length) >= ONSET
    if kind == "offset":
        error = error + now * float(size[0]) * u
    elif kind == "ramp":
        error = error + 0.01 * np.maximum(np.arange(length) - ONSET + 1, 0) * u
    elif kind == "sd":
        factor = float(size[1]) if size[0] == "x" else 1 / float(size[1])
        error = np.where(now, factor, 1.0) * error
    elif kind == "gain":
        error = error + now * (float(size[0]) - 1) * (truth - 100)
    elif "outliers" in name:
        hit = now & (rng.random(shape) < float(kind) / 100)
        error = np.where(hit, np.where(rng.random(shape) < 0.5, 8, -8) * u, error)
    value = truth + error
    if kind == "stuck":
        value[:, ONSET:] = value[:, ONSET, None]
    reference = truth + rng.standard_normal(shape)
    return {"value": value, "reference": reference, "u": u, "u_ref": np.ones(shape)}


def one(world: dict[str, Float], row: int, first: int, last: int) -> Columns:
    """Return one stream's pairs as columns."""
    part = {name: rows[row, first:last] for name, rows in world.items()}
    blank = np.full(last - first, np.nan)
    return columns(
        np.zeros(1, np.int64),
        time=np.arange(float(last - first)),
        lower=blank,
        upper=blank,
        p=blank,
        level=0.9,
        **part,
    )


def progress(cells: list[str]) -> None:
    print("  " + "  ".join(cells), file=sys.stderr, flush=True)
