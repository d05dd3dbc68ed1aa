"""Claims that are generated: a value, a standard uncertainty and a 90 % interval, with references.

Simulated crossings of one platform, with the statements of several estimators on each, replace the
cattle of Martin, Molteno, Parry (arXiv 1411.4354), which are not public. Uncertainties of the same
values and errors, informative ones and controls (C-27), are normal with u in kg for an object of
500 kg; the first two are those of the figure.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.analysis.common_events import Events
from monitor.core.columns import Columns, columns, coverage_factor
from monitor.core.model import Float
from monitor.simulate.forces import STANDARD_GRAVITY, force_trace, method_e

STATED_P: Final = 0.9  # coverage probability of the stated intervals


def stated_columns(value: Float, reference: Float, u: Float, lower: Float, upper: Float) -> Columns:
    """Return claims and their exact references, in order; arrays have one number per claim."""
    n = value.size
    return Columns(
        starts=np.array([0]),
        time=np.arange(float(n)),
        value=value,
        reference=reference,
        u=u,
        lower=lower,
        upper=upper,
        p=np.full(n, STATED_P),
        u_ref=np.zeros(n),
    )


SEED: Final = 20_141_117
CROSSINGS: Final = 400


class Estimators(NamedTuple):
    """Statements of several estimators on the same crossings, one series each."""

    names: tuple[str, ...]
    pairs: Columns
    event: Events


def estimators() -> Estimators:
    """Return method E, the median force, and six of known spread, over the same animals."""
    chance = np.random.default_rng(SEED)
    mass = 500.0 + 60.0 * chance.standard_normal(CROSSINGS)
    traces = [force_trace(each, chance) for each in mass.tolist()]
    e = np.array([method_e(trace) for trace in traces])
    claims = {"E": (e[:, 0], 0.5 * (e[:, 2] - e[:, 1]) / coverage_factor(e[:, 3]))}
    median = np.array([np.median(trace[trace > 500.0]) for trace in traces]) / STANDARD_GRAVITY
    claims["median force"] = median, np.full(CROSSINGS, 50.0)
    for name, bias, spread, claim in (
        ("honest 5 kg", 0.0, 5.0, 1.0),
        ("honest 15 kg", 0.0, 15.0, 1.0),
        ("honest 30 kg", 0.0, 30.0, 1.0),
        ("12 kg heavy", 12.0, 8.0, 1.0),
        ("over-confident", 0.0, 20.0, 0.3),
        ("under-confident", 0.0, 8.0, 4.0),
    ):
        value = mass + bias + spread * chance.standard_normal(CROSSINGS)
        claims[name] = value, np.full(CROSSINGS, claim * spread)
    count = len(claims)
    blank = np.full(count * CROSSINGS, np.nan)
    pairs = columns(
        CROSSINGS * np.arange(count),
        time=np.tile(np.arange(float(CROSSINGS)), count),
        value=np.concatenate([value for value, _ in claims.values()]),
        reference=np.tile(mass, count),
        u=np.concatenate([u for _, u in claims.values()]),
        lower=blank,
        upper=blank,
        p=blank,
        u_ref=np.zeros(count * CROSSINGS),
        level=STATED_P,
    )
    return Estimators(tuple(claims), pairs, np.tile(np.arange(CROSSINGS), count))


PAIRS: Final = 400
_REFERENCE_KG: Final = 500.0
_U_KG: Final = 5.0
_VARIED: Final = 0.6  # spread of ln u
_NEARLY_KG: Final = 0.5  # added by the perfect one to the error it knows
_BLUR: Final = 0.3  # spread of the part of ln u that the weak one does not know


class Generated(NamedTuple):
    """Bands of the same errors by name; ``honest`` is the one the errors were drawn from."""

    honest: Columns
    shuffled: Columns
    perfect: Columns
    weak: Columns
    constant: Columns


def generated() -> Generated:
    """Return the bands, one series each."""
    chance = np.random.default_rng(SEED)
    u = _U_KG * np.exp(_VARIED * chance.standard_normal(PAIRS))
    error = u * chance.standard_normal(PAIRS)
    shuffled = chance.permutation(u)
    blurred = u * np.exp(_BLUR * chance.standard_normal(PAIRS))
    return Generated(
        *(
            _stated(error, each)
            for each in (
                u,
                shuffled,
                np.abs(error) + _NEARLY_KG,
                blurred,
                np.full(PAIRS, float(np.sqrt(np.mean(u * u)))),
            )
        )
    )


def _stated(error: Float, u: Float) -> Columns:
    n = error.size
    half = u * coverage_factor(np.full(n, STATED_P))
    reference = np.full(n, _REFERENCE_KG)
    value = reference + error
    return stated_columns(value, reference, u, value - half, value + half)
