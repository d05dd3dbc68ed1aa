"""The statistics of one window in fifty digits, each with the size of its terms.

Source: the formulas named in ``monitor.core.scores``: ``proper_scores``, ``calibration`` and
``characteristics``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import mpmath
import numpy as np

from monitor.core.columns import Columns

from .interval import abc_rce_zeta, zms_ends

DIGITS: Final = 50
TIES: Final = (mpmath.mpf("1e-13"), mpmath.mpf("-1e-13"))
SMALLEST: Final = mpmath.mpf("1e-130")  # the square of what is smaller may be 0
BANDS_FLOOR: Final = mpmath.mpf(1e-6)
Mp = mpmath.mpf
Term = tuple[Mp, Mp]


class Exact(NamedTuple):
    """A figure and the size of its terms: an error of 1e-12 is relative to that.

    Where all from ``value`` to ``highest`` is as good, any of it is right.
    """

    value: Mp
    size: Mp
    highest: Mp | None = None


class Pair(NamedTuple):
    """One pair, as the doubles of the window say exactly."""

    value: Mp
    reference: Mp
    u: Mp
    lower: Mp
    upper: Mp
    p: Mp
    u_ref: Mp

    @property
    def error(self) -> Mp:
        """Value less reference."""
        return self.value - self.reference

    @property
    def variance(self) -> Mp:
        """Square of u_eff."""
        return self.u**2 + self.u_ref**2

    @property
    def z(self) -> Mp:
        """Error over u_eff."""
        return self.error / mpmath.sqrt(self.variance)

    @property
    def width(self) -> Mp:
        """Width of the interval."""
        return self.upper - self.lower

    @property
    def outside(self) -> Mp:
        """Distance of the reference from the interval."""
        return max(self.lower - self.reference, self.reference - self.upper, Mp(0))

    @property
    def alpha(self) -> Mp:
        """Stated probability of a miss."""
        return 1 - self.p


def pairs_of(c: Columns) -> list[Pair]:
    """Return the pairs of the only series of ``c``."""
    columns = (c.value, c.reference, c.u, c.lower, c.upper, c.p, c.u_ref)
    return [Pair(*(Mp(float(each)) for each in row)) for row in zip(*columns, strict=True)]


# -- scores: a term and its size ------------------------------------------------------------------


def _sqrt_pi() -> Mp:
    return mpmath.sqrt(mpmath.pi)


def _crps(x: Pair) -> Term:
    z = x.error / x.u
    term = x.u * (z * (2 * mpmath.ncdf(z) - 1) + 2 * mpmath.npdf(z) - 1 / _sqrt_pi())
    return term, term


def _both(x: Pair) -> Mp:
    return mpmath.sqrt(x.u**2 + x.variance)


def _crps_expected(x: Pair) -> Term:
    one, two = _both(x) * mpmath.sqrt(2 / mpmath.pi), x.u / _sqrt_pi()
    return one - two, one + two


def _quadratic(x: Pair) -> Term:
    one, two = 1 / (2 * x.u * _sqrt_pi()), 2 * mpmath.npdf(x.error / x.u) / x.u
    return one - two, one + two


def _quadratic_expected(x: Pair) -> Term:
    one, two = 1 / (2 * x.u * _sqrt_pi()), 2 / (mpmath.sqrt(2 * mpmath.pi) * _both(x))
    return one - two, one + two


def _interval(x: Pair) -> Term:
    term = x.width + 2 * x.outside / x.alpha
    return term, term


def _factor(p: Mp) -> Mp:
    return mpmath.sqrt(2) * mpmath.erfinv(p)


def _spread(x: Pair) -> Mp:
    """Return the reference's spread about the middle under the claim."""
    return mpmath.sqrt((x.width / 2 / _factor(x.p)) ** 2 + x.u_ref**2)


def _miss(x: Pair) -> Mp:
    """Return the probability of a miss under the claim."""
    return x.alpha if x.u_ref == 0 else 2 * mpmath.ncdf(-x.width / 2 / _spread(x))


def _held(x: Pair) -> Mp:
    """Return the probability of a hit under the claim, each side of the value by itself."""
    if x.u_ref == 0:
        return x.p
    sides = [x.value - x.lower, x.upper - x.value]
    if min(sides) < 0:
        sides = [x.width / 2] * 2
    spreads = [mpmath.sqrt((side / _factor(x.p)) ** 2 + x.u_ref**2) for side in sides]
    return 1 - mpmath.fsum(mpmath.ncdf(-a / s) for a, s in zip(sides, spreads, strict=True))


def _interval_expected(x: Pair) -> Term:
    s = _spread(x)
    if not s:
        return s, s
    t = x.width / 2 / s
    one, two = 4 * s * mpmath.npdf(t) / x.alpha, 4 * s * t * mpmath.ncdf(-t) / x.alpha
    return x.width + one - two, x.width + one + two


def _norm(x: Pair) -> Term:
    one, two = (x.error / x.u) ** 2 / 2, mpmath.log(x.u)
    return one + two, one + abs(two)


def _crps_tophat(x: Pair) -> Term:
    middle = (x.lower + x.upper) / 2
    within = min(abs(x.reference - middle), x.width / 2)
    term = x.outside + within**2 / x.width + x.width / 12
    return term, term


def _cubed(at: Mp, s: Mp) -> Mp:
    """Return E|at + s N|^3."""
    t = at / s
    folded = (t**3 + 3 * t) * (1 - 2 * mpmath.ncdf(-t)) + (2 * t**2 + 4) * mpmath.npdf(t)
    return s**3 * folded


def _crps_tophat_expected(x: Pair) -> Term:
    w, s = x.width, x.u_ref
    if s == 0:
        return w / 6, w / 6
    # The cubes of near numbers: three times the digits, where the interval is a point beside s.
    with mpmath.extradps(2 * DIGITS):
        far = (_cubed(w, s) - _cubed(Mp(0), s)) / (3 * w**2)
    return far - w / 6, far + w / 6


def _quadratic_tophat(x: Pair) -> Term:
    return (1 if x.outside else -1) / x.width, 1 / x.width


def _quadratic_tophat_expected(x: Pair) -> Term:
    return (2 * _miss(x) - 1) / x.width, 1 / x.width


Score = Callable[[Pair], Term]
SCORES: Final[dict[str, tuple[Score, Score | None]]] = {
    "crps": (_crps, _crps_expected),
    "crps_tophat": (_crps_tophat, _crps_tophat_expected),
    "quadratic": (_quadratic, _quadratic_expected),
    "quadratic_tophat": (_quadratic_tophat, _quadratic_tophat_expected),
    "interval": (_interval, _interval_expected),
    "norm": (_norm, None),
}


# -- from terms to figures ------------------------------------------------------------------------


def _mean(terms: Iterable[Mp]) -> Mp:
    listed = list(terms)
    return mpmath.fsum(listed) / len(listed)


def _mean_of(terms: Sequence[Term]) -> Exact:
    return Exact(_mean(term for term, _ in terms), _mean(abs(size) for _, size in terms))


def _plain(values: Iterable[Mp]) -> Exact:
    listed = list(values)
    return Exact(_mean(listed), _mean(map(abs, listed)))


def _median_of(terms: Sequence[Term]) -> Exact:
    ordered = sorted(terms)
    two = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return Exact(_mean(term for term, _ in two), max(abs(size) for _, size in two))


def _trimmed_of(terms: Sequence[Term]) -> Exact:
    cut = len(terms) // 10
    return _mean_of(sorted(terms)[cut : len(terms) - cut])


def _ratio(name: str, seen: Exact, wanted: Exact) -> Exact | None:
    sign = -1 if name.startswith("quadratic") else 1
    if sign * wanted.value <= Mp("1e-12") * wanted.size:  # the product may see it on either side
        return None
    share = abs(seen.value / wanted.value)
    found = 1 + (seen.value - wanted.value) / abs(wanted.value)
    return Exact(found, (seen.size + share * wanted.size) / abs(wanted.value))


def scores(pairs: Sequence[Pair]) -> dict[str, Exact]:
    """Return the proper scores, and their ratios to what is expected."""
    found: dict[str, Exact] = {}
    for name, (score, expected) in SCORES.items():
        if name.endswith("tophat") and not all(x.width for x in pairs):
            continue
        terms = [score(x) for x in pairs]
        found[name] = _mean_of(terms)
        found[f"{name}_median"] = _median_of(terms)
        found[f"{name}_trimmed"] = _trimmed_of(terms)
        if expected is not None:
            ratio = _ratio(name, found[name], _mean_of([expected(x) for x in pairs]))
            if ratio is not None:
                found[f"{name}_expected_ratio"] = ratio
    return found


# -- calibration ----------------------------------------------------------------------------------


def calibration(pairs: Sequence[Pair]) -> dict[str, Exact]:
    """Return errors, moments of z, and shares of references within intervals."""
    n = len(pairs)
    error, square = _plain(x.error for x in pairs), _plain(x.error**2 for x in pairs)
    variance = _plain(x.variance for x in pairs)
    z, zms = _plain(x.z for x in pairs), _plain(x.z**2 for x in pairs)
    root = mpmath.sqrt(square.value / variance.value)
    half_log = mpmath.log(2 * mpmath.pi) / 2
    norm = _mean_of([_norm(x) for x in pairs])
    errors, sharpness = (
        _plain((x.error / x.u) ** 2 / 2 for x in pairs),
        _plain(mpmath.log(x.u) for x in pairs),
    )
    u_ref, u = (
        mpmath.fsum(each) for each in ((x.u_ref**2 for x in pairs), (x.u**2 for x in pairs))
    )
    found = {
        "bias": error,
        "mae": Exact(error.size, error.size),
        "rmse": Exact(mpmath.sqrt(square.value), mpmath.sqrt(square.value)),
        "ce": Exact(square.value - variance.value, square.value + variance.value),
        "rce": Exact(1 - root, 1 + root),
        "z_mean": z,
        "zms": zms,
        "nll": Exact(norm.value + half_log, norm.size + half_log),
        "nll_calibration": errors,
        "nll_sharpness": Exact(sharpness.value + half_log, sharpness.size + half_log),
        "u_ref_ratio": Exact(mpmath.sqrt(u_ref / u), mpmath.sqrt(u_ref / u)),
        "coverage": _plain(Mp(not x.outside) for x in pairs),
        "coverage_stated": _plain(_held(x) for x in pairs),
        "miss_rate": _plain(Mp(_missed(x)) for x in pairs),
    }
    if n > 1:
        found["z_var"] = Exact(
            mpmath.fsum((x.z - z.value) ** 2 for x in pairs) / (n - 1), zms.value * n / (n - 1)
        )
    lag = _lag1([x.z for x in pairs])
    if lag is not None:
        found["z_lag1"] = Exact(lag, Mp(1))
    r = max(lag or Mp(0), Mp(0))
    found["n_effective"] = Exact(max(n * (1 - r) / (1 + r), Mp(1)), Mp(n))
    return found


def _missed(x: Pair) -> bool:
    """Return whether the interval misses, by the part of the error that the reference has not."""
    if x.u_ref == 0 or not x.lower <= x.value <= x.upper:
        return bool(x.outside)
    side = x.value - x.lower if x.error > 0 else x.upper - x.value
    return bool(x.error**2 - (_factor(x.p) * x.u_ref) ** 2 > side**2)


def _lag1(z: Sequence[Mp]) -> Mp | None:
    """Return the correlation of each with the next, None without spread."""
    if len(z) < 3:
        return None
    one, two = z[:-1], z[1:]
    a, b = _mean(one), _mean(two)
    first, second = (mpmath.fsum((x - m) ** 2 for x in side) for side, m in ((one, a), (two, b)))
    middle = _mean(z)
    if min(first, second) <= Mp("1e-12") * mpmath.fsum((x - middle) ** 2 for x in z):
        return None
    products = mpmath.fsum((x - a) * (y - b) for x, y in zip(one, two, strict=True))
    return products / mpmath.sqrt(first * second)


def bins(pairs: Sequence[Pair]) -> dict[str, Exact]:
    """B-06, B-07: ten bins of nearly equal count along u, ties in event order."""
    if len(pairs) < 20:
        return {}
    ordered = sorted(pairs, key=lambda x: x.u)
    places = np.array_split(np.arange(len(pairs)), 10)
    squares = [_mean(ordered[at].error ** 2 for at in bin_) for bin_ in places]
    variances = [_mean(ordered[at].variance for at in bin_) for bin_ in places]
    roots = [mpmath.sqrt(s / v) for s, v in zip(squares, variances, strict=True)]
    both = [s + v for s, v in zip(squares, variances, strict=True)]
    gaps = [abs(s - v) for s, v in zip(squares, variances, strict=True)]
    return {
        "ence": Exact(_mean(abs(1 - root) for root in roots), _mean(1 + root for root in roots)),
        "uce": Exact(
            mpmath.fsum(len(at) * gap for at, gap in zip(places, gaps, strict=True)) / len(pairs),
            _mean(both),
        ),
    }


# -- parts of the CRPS ----------------------------------------------------------------------------


def crps_parts(pairs: Sequence[Pair]) -> dict[str, Exact]:
    """Hersbach 2000: what is below and above, between neighbours, at the observed weights."""
    climate = _below_and_above([(x.reference, Mp(1)) for x in pairs])
    found = {"crps_uncertainty": Exact(climate, climate)}
    stated = {"crps": (_crps, [(-x.error / x.u, x.u) for x in pairs])}
    if all(x.width for x in pairs):
        places = [((x.reference - x.lower) / x.width, x.width) for x in pairs]
        stated["crps_tophat"] = (_crps_tophat, places)
    for key, (score, places) in stated.items():
        potential = _mean(width for _, width in places) * _below_and_above(places)
        crps = _mean(score(x)[0] for x in pairs)
        size = _mean(abs(place) * width for place, width in places)
        found[f"{key}_reliability"] = Exact(crps - potential, crps + size)
        found[f"{key}_resolution"] = Exact(climate - potential, climate + size)
    return found


def _below_and_above(places: Sequence[Term]) -> Mp:
    """Return the integral of F (1 - F) of weighted places."""
    ordered, below, found = sorted(places), Mp(0), Mp(0)
    whole = mpmath.fsum(weight for _, weight in places)
    for (place, weight), (after, _) in itertools.pairwise(ordered):
        below += weight
        found += (after - place) * below * (whole - below)
    return found / whole**2


# -- characteristics ------------------------------------------------------------------------------


class Band(NamedTuple):
    """Half-width towards the reference, half of the width, own |error|, critical scale."""

    active: Mp
    half: Mp
    distance: Mp
    scale: Mp


def _bands(pairs: Sequence[Pair]) -> list[Band]:
    valid = [x for x in pairs if x.lower <= x.value <= x.upper]
    floor = BANDS_FLOOR * _mean(x.width / 2 for x in valid)
    found = []
    for x in valid:
        active = x.value - x.lower if x.error > 0 else x.upper - x.value
        active = max(active, floor) if active > 0 else active
        reach = _factor(x.p) * x.u_ref
        distance = mpmath.sqrt(max(x.error**2 - reach**2, Mp(0)))
        scale = distance / active if active else mpmath.inf if distance else Mp(0)
        found.append(Band(active, x.width / 2, distance, scale))
    return found


def characteristics(pairs: Sequence[Pair]) -> dict[str, Exact]:
    """Return what the uncertainty characteristics curve gives."""
    found = {
        "bandwidth": _plain(x.width / 2 for x in pairs),
        "excess": _plain(
            max(min(x.reference - x.lower, x.upper - x.reference), Mp(0)) for x in pairs
        ),
        "deficit": _plain(x.outside for x in pairs),
    }
    bands = _bands(pairs)
    if not bands or any(mpmath.isinf(b.scale) for b in bands):
        return found
    half, scale = _mean(b.half for b in bands), _mean(b.scale for b in bands)
    constant = _mean(b.distance for b in bands)
    found["auucc"] = Exact(half * scale, half * scale)
    found["auucc_constant"] = Exact(constant, constant)
    if constant:
        found["auucc_gain"] = Exact(1 - half * scale / constant, 1 + half * scale / constant)
    own, flat = (
        _beyond_middle([b.scale for b in bands]),
        _beyond_middle([b.distance for b in bands]),
    )
    if flat.value > Mp("1e-12") * flat.size:
        share = half * own.value / flat.value
        size = half * own.size / flat.value + share * flat.size / flat.value
        found["auucc_partial_gain"] = Exact(1 - share, 1 + size)
    alpha = _mean(x.alpha for x in pairs)
    weight = alpha / (1 + alpha)
    # Where the bands are alike, the cost is level from one critical scale to the next.
    best, highest = (_best_scale(bands, weight / (1 - weight) * (1 + tie)) for tie in TIES)
    found["scale_optimal"] = Exact(best, best, highest)
    for name, k in (("cost", Mp(1)), ("cost_optimal", best)):
        short = _mean(max(b.distance - k * b.active, Mp(0)) for b in bands)
        size = (1 - weight) * _mean(b.distance + k * b.active for b in bands)
        cost = weight * k * half + (1 - weight) * short
        found[name] = Exact(cost, weight * k * half + size)
    rank = mpmath.ceil((len(bands) + 1) * (1 - alpha) - Mp("1e-9"))
    if rank <= len(bands):
        level = sorted(b.scale for b in bands)[max(int(rank), 1) - 1]
        found["scale_for_level"] = Exact(level, level)
    return found


def _beyond_middle(rows: Sequence[Mp]) -> Exact:
    """Return the mean of how far each of ``rows`` lies beyond the one in the middle."""
    ordered = sorted(rows)
    middle = ordered[(len(ordered) + 1) // 2 - 1]
    return Exact(
        mpmath.fsum(max(x - middle, Mp(0)) for x in ordered) / len(ordered),
        mpmath.fsum(x + middle for x in ordered if x > middle) / len(ordered),
    )


def _best_scale(bands: Sequence[Band], share: Mp) -> Mp:
    """Return the first scale beyond which the bands sum to at most that share of all."""
    allowed, beyond = share * mpmath.fsum(b.half for b in bands), Mp(0)
    for b in sorted(bands, key=lambda each: -each.scale):
        beyond += b.active
        if beyond > allowed:
            return b.scale
    return Mp(0)


# -- all of it ------------------------------------------------------------------------------------


ALL: Final = (scores, calibration, bins, crps_parts, characteristics)


def exact(
    c: Columns, of: Sequence[Callable[[Sequence[Pair]], dict[str, Exact]]] = ALL
) -> dict[str, Exact]:
    """Return what is defined of the only series of ``c``; of some parts only, if asked."""
    with mpmath.workdps(DIGITS):
        pairs = pairs_of(c)
        found: dict[str, Exact] = {}
        for part in of:
            found |= part(pairs)
        if of is not ALL:
            return found
        if c.stated_crps is not None:
            found["crps_stated"] = _plain(Mp(float(x)) for x in c.stated_crps if np.isfinite(x))
        if len(pairs) >= 20:
            found |= {
                name: Exact(*each)
                for name, each in zms_ends(
                    [x.z for x in pairs], _lag1([x.z for x in pairs])
                ).items()
            }
            found["rce_zeta"] = Exact(
                *abc_rce_zeta([x.error**2 for x in pairs], [x.variance for x in pairs])
            )
        return found


def off(wanted: Exact, found: float) -> float:
    """Return how far a figure is from the exact one, relative to the size of its terms."""
    with mpmath.workdps(DIGITS):
        highest = wanted.value if wanted.highest is None else wanted.highest
        nearest = min(max(Mp(found), wanted.value), highest)
        return float(abs(Mp(found) - nearest) / max(wanted.size, SMALLEST))
