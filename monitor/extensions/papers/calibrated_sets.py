"""How often calibrated series pass their calibration test: Pernot (2402.10043v2) Fig. 3.

u^2 is drawn from an inverse gamma (nu/2, nu/2), the error from N(0, u); the smaller nu, the heavier
the tail of u. Errors may also be heavy-tailed (Student's t with 4 degrees of freedom) or AR(1) in
z, with the same variance. A pass is |zeta| <= 1; the nominal share is 0.95.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple

import numpy as np
import scipy

from monitor.core.columns import Columns, columns
from monitor.core.model import Float
from monitor.core.scores import intervals
from monitor.core.scores.intervals import Interval

Method = Callable[[Columns], Interval]
Errors = Literal["normal", "t4"]

SEED: Final = 20_240_210
NU: Final = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0)
TESTS: Final[dict[str, Method]] = {"ZMS": intervals.abc_zms, "RCE": intervals.abc_rce}
_ROWS: Final = 500_000


def skewness(nu: float) -> float:
    """Return beta_GM of u where u^2 is drawn from an inverse gamma (nu/2, nu/2); nu above 1.

    u is the root of nu/2 over a gamma variable of shape nu/2; the factor cancels.
    """
    shape = 0.5 * nu
    middle = float(scipy.special.gammaincinv(shape, 0.5))  # median of that variable
    mean = np.exp(scipy.special.gammaln(shape - 0.5) - scipy.special.gammaln(shape))
    beyond = mean * scipy.special.gammainc(shape - 0.5, middle)
    median = 1.0 / np.sqrt(middle)
    return float((mean - median) / (2.0 * beyond - mean))


class PassShares(NamedTuple):
    """How many sets passed each test, and how many had an interval."""

    valid: Float
    judged: Float

    @property
    def share(self) -> Float:
        """The share that passed; NaN where no set had an interval."""
        return np.where(self.judged > 0, self.valid / np.maximum(self.judged, 1), np.nan)


def calibrated(
    random: np.random.Generator,
    sets: int,
    n: int,
    nu: float,
    errors: Errors = "normal",
    rho: float = 0.0,
) -> Columns:
    """Return ``sets`` calibrated series of ``n`` pairs; ``rho`` is the lag-1 correlation of z."""
    u = 1.0 / np.sqrt(random.gamma(0.5 * nu, 2.0 / nu, size=(sets, n)))
    z = _drawn_z(random, sets, n, errors, rho)
    absent = np.full(sets * n, np.nan)
    return columns(
        np.arange(sets) * n,
        time=np.tile(np.arange(float(n)), sets),
        value=(u * z).ravel(),
        reference=np.zeros(sets * n),
        u=u.ravel(),
        lower=absent,
        upper=absent,
        p=absent,
        u_ref=np.zeros(sets * n),
        level=0.9,
    )


def set_portions(sets: int, n: int) -> Iterator[int]:
    """Yield numbers of sets that fit into memory, ``sets`` in all."""
    size = max(1, _ROWS // n)
    for begin in range(0, sets, size):
        yield min(size, sets - begin)


def passed(
    methods: dict[str, Method],
    sets: int,
    n: int,
    nu: float,
    errors: Errors = "normal",
    rho: float = 0.0,
) -> PassShares:
    """Return how many of ``sets`` calibrated series of ``n`` pairs pass each test."""
    random = np.random.default_rng([SEED, n, int(100 * nu)])
    valid, judged = np.zeros(len(methods)), np.zeros(len(methods))
    for size in set_portions(sets, n):
        c = calibrated(random, size, n, nu, errors, rho)
        for number, method in enumerate(methods.values()):
            zeta = method(c).zeta
            valid[number] += np.sum(np.abs(zeta) <= 1.0)
            judged[number] += np.sum(~np.isnan(zeta))
    return PassShares(valid, judged)


def _drawn_z(random: np.random.Generator, sets: int, n: int, errors: Errors, rho: float) -> Float:
    """Return errors in units of u (sets x n): variance 1, lag-1 correlation ``rho``."""
    made = random.normal(size=(sets, n))
    for i in range(1, n if rho else 0):
        made[:, i] = rho * made[:, i - 1] + np.sqrt(1.0 - rho * rho) * made[:, i]
    if errors == "t4":
        made = random.standard_t(4, size=(sets, n)) / np.sqrt(2.0)
    return made
