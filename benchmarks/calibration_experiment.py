"""How often a calibrated series passes the test of its calibration: Pernot (2402.10043v2) Fig. 3.

    python benchmarks/calibration_experiment.py [--n 5000] [--sets 1000] [--nu 2 3 20] [--rho 0.8]

u^2 is drawn from an inverse gamma (nu/2, nu/2), the error from N(0, u); the smaller nu, the heavier
the tail of u. ``--errors t4`` draws heavy-tailed errors of the same variance, ``--rho`` makes them
autocorrelated (AR(1) in z). A pass is |zeta| <= 1; the nominal share is 0.95.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from monitor.core.analysis import resampling
from monitor.core.columns import Columns, columns
from monitor.core.scores import intervals
from monitor.core.scores.calibration import binomial_interval
from monitor.core.scores.intervals import Interval

Float = npt.NDArray[np.float64]
Method = Callable[[Columns], Interval]

SEED = 20_240_210
ROWS = 500_000
ERRORS = ("normal", "t4")
NU = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0)


def drawn_z(random: np.random.Generator, sets: int, n: int, errors: str, rho: float) -> Float:
    """Return errors in units of u (sets x n): variance 1, lag-1 correlation ``rho``."""
    made = random.normal(size=(sets, n))
    for i in range(1, n if rho else 0):
        made[:, i] = rho * made[:, i - 1] + np.sqrt(1.0 - rho * rho) * made[:, i]
    if errors == "t4":
        made = random.standard_t(4, size=(sets, n)) / np.sqrt(2.0)
    return made


def calibrated(
    random: np.random.Generator, sets: int, n: int, nu: float, errors: str, rho: float
) -> Columns:
    """Return ``sets`` calibrated series of ``n`` pairs."""
    u = 1.0 / np.sqrt(random.gamma(0.5 * nu, 2.0 / nu, size=(sets, n)))
    z = drawn_z(random, sets, n, errors, rho)
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


def portions(sets: int, n: int) -> Iterator[int]:
    """Yield numbers of sets that fit into memory, ``sets`` in all."""
    size = max(1, ROWS // n)
    for begin in range(0, sets, size):
        yield min(size, sets - begin)


def passed(
    series: Callable[[int], Columns], sets: int, n: int, methods: dict[str, Method]
) -> Float:
    """Return the share of sets with an interval that pass, by each method."""
    valid, judged = np.zeros(len(methods)), np.zeros(len(methods))
    for size in portions(sets, n):
        c = series(size)
        for number, method in enumerate(methods.values()):
            zeta = method(c).zeta
            valid[number] += np.sum(np.abs(zeta) <= 1.0)
            judged[number] += np.sum(~np.isnan(zeta))
    return np.where(judged > 0, valid / np.maximum(judged, 1), np.nan)


def methods_of(name: str, replicates: int) -> dict[str, Method]:
    """Return the tests of ZMS and RCE by one kind of interval."""
    resampled = {"seed": SEED, "replicates": replicates}
    return {
        "abc": {"ZMS": intervals.abc_zms, "RCE": intervals.abc_rce},
        "effective": {"ZMS": intervals.effective_zms},
        "bca": {
            "ZMS": partial(resampling.bca_zms, **resampled),
            "RCE": partial(resampling.bca_rce, **resampled),
        },
        "block": {"ZMS": partial(resampling.block_zms, **resampled)},
    }[name]


def figure_3(
    n: int, sets: int, nus: tuple[float, ...], errors: str, rho: float, methods: dict[str, Method]
) -> list[Float]:
    """Return for each nu the shares of sets that pass."""
    found = []
    for nu in nus:
        random = np.random.default_rng([SEED, n, int(100 * nu)])
        series = partial(_series, random, n, nu, errors, rho)
        found.append(passed(series, sets, n, methods))
    return found


def _series(
    random: np.random.Generator, n: int, nu: float, errors: str, rho: float, sets: int
) -> Columns:
    return calibrated(random, sets, n, nu, errors, rho)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=5000, help="pairs a set")
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--nu", type=float, nargs="+", default=list(NU))
    parser.add_argument("--errors", choices=ERRORS, default="normal")
    parser.add_argument("--rho", type=float, default=0.0, help="lag-1 correlation of z")
    parser.add_argument(
        "--method", choices=("abc", "effective", "bca", "block"), default="abc",
        help="kind of interval (abc: BCa's without replicates)",
    )  # fmt: skip
    parser.add_argument("--replicates", type=int, default=1000, help="of bca and block")
    options = parser.parse_args()
    if options.rho and options.errors != "normal":
        parser.error("--rho is for normal errors")
    methods = methods_of(options.method, options.replicates)
    print(f"n {options.n}, {options.sets} sets, {options.errors} errors, lag-1 {options.rho:g}")
    print("nu  " + "".join(f"{name:>26}" for name in methods))
    for nu in options.nu:
        shares = figure_3(options.n, options.sets, (nu,), options.errors, options.rho, methods)[0]
        cells = []
        for share in shares:
            low, high = binomial_interval(
                np.array([share * options.sets]), np.array([options.sets])
            )
            cells.append(f"{share:.3f} ({low[0]:.3f} to {high[0]:.3f})".rjust(26))
        print(f"{nu:<4g}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
