"""The settings of one series as the core reads them: plain values, times in seconds."""

from __future__ import annotations

import math
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar

import numpy as np
from annotated_types import Ge, Le, doc

from monitor.core.model import Float

# Share of an error's standard uncertainty: some of it is always by chance.
MOST_SYSTEMATIC: Final = 0.95
STATED_LEVEL: Final = 0.9  # of intervals that are stated without a level, unless set
COVERAGE_FACTOR: Final = 2.0  # GUM 6.2: for systematic effects, as for any expanded uncertainty

PerDistance = Annotated[float, Ge(0), Le(1e15)]


class PairUncertainty(NamedTuple):
    """Standard uncertainty of a pairing, in the unit of the series; its parts add in quadrature."""

    per_sqrt_hour: Annotated[
        PerDistance, doc("For each square root of an hour between reading and reference.")
    ] = 0.0
    per_hour: Annotated[PerDistance, doc("For each hour between reading and reference.")] = 0.0
    per_km: Annotated[PerDistance, doc("For each kilometre between sensor and reference.")] = 0.0

    def of(self, seconds: float, distance_km: float) -> float:
        """Return u_pair for a distance in time and in space: random walk, trend, gradient.

        u_pair^2 = per_sqrt_hour^2 h + (per_hour h)^2 + (per_km d)^2.
        """
        if not (self.per_sqrt_hour or self.per_hour or self.per_km):
            return 0.0
        hours = abs(seconds) / 3600.0
        walk = self.per_sqrt_hour * self.per_sqrt_hour * hours
        trend = self.per_hour * hours
        gradient = self.per_km * distance_km
        return math.sqrt(walk + trend * trend + gradient * gradient)


Share = Annotated[float, Ge(0), Le(0.95)]
Number = TypeVar("Number", float, Float)


class Systematic(NamedTuple):
    """Standard uncertainty from systematic effects, the part of u that no repetition averages out.

    A correction that is not known exactly (of a calibration, a reference material, a drift) is
    wrong by the same amount in every pair: a systematic measurement error (VIM 2.17) whose
    uncertainty is a component of the stated one (GUM 3.3.1, F.1.2), not beside it. Values
    in the series' unit, or shares of what is stated; all add in quadrature.
    """

    value: Annotated[
        PerDistance, doc("Of the sensor: standard uncertainty in the unit of the quantity.")
    ] = 0.0
    share: Annotated[Share, doc("Of the sensor: share of its stated u, instead of a value.")] = 0.0
    reference_value: Annotated[
        PerDistance, doc("Of the reference: standard uncertainty in the unit of the quantity.")
    ] = 0.0
    reference_share: Annotated[
        Share, doc("Of the reference: share of its stated u, instead of a value.")
    ] = 0.0
    common: Annotated[
        float | None,
        Ge(0),
        Le(1),
        doc(
            "Share of the u of sensors with one reference that is a common error of them all; null "
            "if unknown."
        ),
    ] = None

    @property
    def is_declared(self) -> bool:
        """Whether any part of the errors is declared to be systematic."""
        return any(self[:-1])  # all but ``common``

    def of(self, u: Float, u_ref: Float) -> Float:
        """Return the systematic standard uncertainty of each error, at most 0.95 of all of it."""
        parts = (self.value, self.share * u, self.reference_value, self.reference_share * u_ref)
        systematic = np.sqrt(sum(np.square(part) for part in parts) + np.zeros(u.shape))
        return np.minimum(systematic, MOST_SYSTEMATIC * np.hypot(u, u_ref))

    def share_of(self, u: Float, u_ref: Float) -> Float:
        """Return the systematic part of each error's standard uncertainty as a share of all."""
        whole = np.hypot(u, u_ref)
        return np.divide(self.of(u, u_ref), whole, out=np.zeros(u.shape), where=whole > 0.0)


def explained(systematic: Number) -> Number:
    """Return the largest bias that systematic effects account for, in the unit of ``systematic``.

    Detector, verdict and advice take it from here: a bias within it is nobody's fault.
    """
    return COVERAGE_FACTOR * systematic


class Rules(NamedTuple):
    """How one series is paired; ``mode`` names an entry of ``PAIRING_RULES``.

    ``lag_seconds`` is how much later than the reference the readings see the same thing,
    ``reading_seconds`` how long a reading stands for, ``completeness`` the share of a reference's
    interval that readings must cover, and ``correlation`` that between the errors of the readings
    that make up one pair. ``level`` is that of stated intervals without one. At most
    ``max_pairs_per_reference`` readings of a series, the nearest in time, pair with one reference.
    """

    mode: str = "nearest"
    tolerance_seconds: float = 60.0
    lag_seconds: float = 0.0
    reading_seconds: float = 0.0
    completeness: float = 0.75
    correlation: float = 1.0
    uncertainty: PairUncertainty = PairUncertainty()
    max_pairs_per_reference: int = 1000
    level: float = STATED_LEVEL


class SeriesRules(NamedTuple):
    """The settings that hold for one series.

    ``tolerance`` is the largest allowed error, in its unit; None: its typical standard uncertainty.
    ``asks`` are the keys of extensions that are on for it, such as ``due``, with their values.
    ``timed``: the times of
    its pairs are real; without them nothing is dated. ``severity`` is that of its alerts, empty for
    the alert's own.
    """

    group: str = ""
    site: str = ""
    severity: str = ""
    unit: str = ""
    density: Literal["auto", "normal", "tophat"] = "auto"
    level: float = STATED_LEVEL
    profile: Literal["accuracy", "coverage", "balanced"] = "balanced"
    window_pairs: int = 500
    window_seconds: float = float("inf")
    patience: float = 1000.0
    stale_after_seconds: float = 3600.0
    reference_stale_seconds: float = 86_400.0
    rejected_share: float = 0.05
    tolerance: float | None = None
    asks: tuple[tuple[str, Any], ...] = ()
    timed: bool = True
    systematic: Systematic = Systematic()
    pairing: Rules = Rules()

    def asked(self, key: str) -> Any:  # noqa: ANN401 - of the extension that has the key
        """Return the value of an extension's key, None where it is not on."""
        return next((value for name, value in self.asks if name == key), None)
