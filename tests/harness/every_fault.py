"""Sensors with every fault, and how the texts of their alerts and of their verdicts look."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from monitor.core.model import Observation, Reading, Reference
from monitor.core.verdict import FAULTS

PAIRS, HONEST, APART_SECONDS = 400, 150, 600.0


def fleet_with_every_fault(
    end: float, seed: int = 5, name: str = "{fault}"
) -> Iterator[Observation]:
    """Yield what a sensor a fault sends, honest at first, with its references.

    What they measure varies by some 7 about 500; they state u = 1.
    """
    random = np.random.default_rng(seed)
    at = np.arange(PAIRS)
    for fault in FAULTS:
        apart = 6.0 * APART_SECONDS if fault == "daily" else APART_SECONDS
        times = end - apart * (PAIRS - 1 - at)
        noise, steps = random.normal(size=(2, PAIRS))
        truth = 500.0 + np.convolve(6.0 * steps, 0.5 ** np.arange(20))[:PAIRS]
        if fault == "sensitivity":  # a gain shows by how far the truth moves
            truth = 500.0 + 8.0 * (truth - 500.0)
        far = np.where(random.random(PAIRS) < 0.1, 12.0, 0.0)
        value = {
            "offset": truth + 4.0 + noise,
            "understated": truth + 2.5 * noise,
            "overstated": truth + 0.3 * noise,
            "outliers": truth + noise + far * np.sign(noise),
            "drift": truth + noise + 0.02 * (at - HONEST),
            "stuck": np.full(PAIRS, 507.5),
            "gain": truth + noise + 0.3 * (truth - 500.0),
            "lag": np.roll(truth, 3) + noise,
            "sign": 1000.0 - truth + noise,
            "clipped": np.minimum(truth + noise, 505.0),
            "spells": truth + noise + 8.0 * (at % 40 < 9),
            "daily": truth + noise + 8.0 * np.sin(times / 86_400.0 * 2.0 * np.pi),
            "step": truth + noise + 6.0 * (truth > 503.0),
            "sensitivity": (truth + noise) * (1.0 + 1e-4 * (at - HONEST)),
            "unrelated": np.roll(truth[::-1], PAIRS // 3) + noise,
        }[fault]
        value = np.where(at < HONEST, truth + noise, value)
        rows = zip(times.tolist(), value.tolist(), truth.tolist(), strict=True)
        sensor = name.format(fault=fault)
        for key, (moment, said, true) in enumerate(rows):
            yield Reading(sensor, "mass", moment, said, u=1.0, key=str(key))
            yield Reference(sensor, "mass", moment, true, u=0.1, key=str(key))


NUMBER = r"([+-]?\d+(?:\.\d+)?(?:e[+-]\d+)?)"
SIZE = rf"{NUMBER}(?: kg)?(?: %)?(?: of its pairs| a day| heavy)? \({NUMBER} to {NUMBER}\)"
# Of each fault: how its alert begins, and how its sentence does, with the same numbers.
TEXTS = {
    "offset": (
        rf"reads too high or too low: {NUMBER} kg \({NUMBER} to {NUMBER}\)",
        rf"reads {SIZE}",
    ),
    "understated": (rf"understates its uncertainty by a factor of {SIZE}",) * 2,
    "overstated": (rf"overstates its uncertainty by a factor of {SIZE}",) * 2,
    "outliers": (
        rf"is far off in {SIZE}",
        rf"is more than 4 standard uncertainties off in {SIZE}",
    ),
    "drift": (
        rf"drifts {SIZE}, {NUMBER} kg off now",
        rf"drifts {SIZE}, {NUMBER} heavy now",
    ),
    "stuck": (rf"is stuck at {NUMBER} kg",) * 2,
    "gain": (rf"has an error that changes with the level: gain {SIZE}",) * 2,
    "lag": (rf"is late by {NUMBER}m 0s", rf"is late by {NUMBER} min"),
    "sign": ("has the wrong sign",) * 2,
    "clipped": (rf"stands at {NUMBER} kg whatever",) * 2,
    "spells": (rf"is off in {SIZE}, in spells", rf"reads .* in {SIZE}, in spells"),
    "daily": (
        rf"has an error that goes with the hour of the day: \+-{SIZE}",
        rf"has an error that goes with the hour of the day: \+-{SIZE}",
    ),
    "step": (
        rf"is off on one side of a level: {NUMBER} kg \({NUMBER} to {NUMBER}\)",
        rf"reads {SIZE} above",
    ),
    "sensitivity": (
        rf"changes its gain by {SIZE}",
        rf"gains {NUMBER} % of its sensitivity a day \({NUMBER} to {NUMBER}\)",
    ),
    "unrelated": ("has readings that have nothing to do with its references",) * 2,
}


def numbers(pattern: str, text: str) -> list[float]:
    found = re.match(pattern, text)
    assert found, f"{text!r} is not like {pattern!r}"
    return [float(each) for each in found.groups()]


def rounding(pattern: str, text: str) -> list[float]:
    """Return half a unit in the last digit of each number."""
    return [0.5 * 10.0 ** -len(each.partition(".")[2]) for each in re.match(pattern, text).groups()]


def as_stated(verdict: dict) -> list[float]:
    """Return the numbers of a verdict as its alert states them: value, lower and upper end."""
    estimate = verdict["fault_estimate"]
    value = [estimate[name] for name in ("value", "lower", "upper") if estimate[name] is not None]
    if verdict["fault"] in ("stuck", "clipped"):  # has no interval
        return value[:1]
    if verdict["fault"] == "overstated":
        return [1.0 / value[0], 1.0 / value[2], 1.0 / value[1]]
    scale = {"outliers": 100.0, "spells": 100.0, "sensitivity": 100.0, "lag": 1.0 / 60.0}.get(
        verdict["fault"], 1.0
    )
    return [scale * each for each in value]
