"""Evidence, valid at any time, that a series is wrong in one part of a covariate's range.

Rules of this file: one series at a time, from its first pair on, in event order; looking at it
after each pair does not add false findings. The null hypothesis is the detector's own: given the
covariates and all earlier errors, an honest sensor's mean z is within 0.1 and its standard
deviation within 0.9 to 1.1, whatever its autocorrelation (:mod:`monitor.core.detector.e_values`).

*Parts.* Up to nine round edges near the deciles of the first 100 covariates; again of the first
400, 1600 ... for a covariate whose range grows. Edges do not depend on errors. A part is a run of
neighbouring bins, cut off by one or two edges. On a circle (the hour) it may pass the end.

*Evidence.* In each part the bets of the detector on offset, understated and overstated multiply
over its pairs and are mixed: an e-process, whose highest value E exceeds c with probability 1/c at
most (Ville). So 1/E is a p-value, corrected over parts by Holm's step-down, over grids by weights
1/2, 1/4 ... and over the requested covariates by their number.

*Findings.* They are the parts with most evidence among those that stand out, apart from each other,
with at most three edges together. Where errors are alike everywhere, some part has by chance more
evidence than the whole. So a part is named only if its errors differ from those outside it
(:mod:`.part_and_rest`) at the level of the evidence, divided by the number of parts. If no part
does, or the whole has more evidence, or all parts that stand out are nearly the whole, the series
is wrong everywhere, which is not a finding but belongs to the verdict.

*Faults.* An offset of 2 u also has much evidence for an understated uncertainty. A part whose bias
is clear has an offset if the errors about that bias agree with u, or if the bias explains more of
them than their spread (by the divergence of normal distributions); else the bias is told beside the
factor on u. Where the bias is not clear, the fault is that of the bets with most evidence.

*Level.* Errors correlate with the value of a classical sensor and with the reference of a
predictive one, even if the sensor is honest. Evidence by level is the smaller of both at each look,
so that it is valid for either.

Sources: Ville (1939); Shin, Ramdas, Rinaldo (arXiv 2203.03532); Vovk, Wang, E-values (Annals of
Statistics 49, 2021); Holm, Scandinavian Journal of Statistics 6 (1979).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np

from monitor.core.analysis.adjustments import Adjustment, applied, factor_on_u
from monitor.core.analysis.conditional import holm
from monitor.core.analysis.covariate_parts import PartGrid, grid_of
from monitor.core.analysis.part_and_rest import BinSums, bin_sums
from monitor.core.columns import Columns
from monitor.core.detector.e_process import bets_from_first
from monitor.core.detector.e_values import ROWS, WEIGHTS_Z
from monitor.core.detector.usual_u import StatedColumns
from monitor.core.model import Bool, Float, Int
from monitor.core.scores.calibration import n_effective
from monitor.core.scores.intervals import abc_ends, zms_moments
from monitor.core.verdict.verdict import NORMAL_QUANTILE, Estimate

FALSE_FINDINGS: Final = 0.05  # largest share of honest series that ever have a finding
FIRST_EDGES: Final = 100  # covariates from which the first edges are taken; then 4 times as many
EDGES_MOST: Final = 3
LOOK: Final = 16  # pairs between two looks: what a later look finds does not change earlier ones
PART_MOST: Final = 0.85  # share of the pairs in a part; more than that is everywhere
PAIRS_LEAST: Final = 30  # in a part to be reported, and in the rest to be called right
RIGHT: Final = Estimate(1.0, 0.9, 1.1)  # u itself is known to about 10 % (GUM table E.1)
BIAS_RIGHT: Final = 0.1  # times u
_OF_MANY: Final = 1.5  # an interval of 3 standard deviations for each bin, since there are many
DAY: Final = 86_400.0
FAULTS_TOLD: Final = ("offset", "understated", "overstated")

_BETS: Final = slice(0, ROWS[2].stop)
_LOG_WEIGHTS: Final = np.log(WEIGHTS_Z[_BETS] / WEIGHTS_Z[_BETS].sum())
_TINY: Final = 1e-300
_ONE: Final[Int] = np.zeros(1, dtype=np.int64)  # one series, from its first row on


class Covariate(NamedTuple):
    """A covariate that errors may depend on: one number per pair, NaN where there is none.

    ``other``: second numbers of the same pairs, along which the evidence must hold too (see
    *Level*). ``period``: of a circle, 0 for none. ``categories``: numbers are places among these
    names, in no order.
    """

    name: str
    numbers: Float
    unit: str = ""
    other: Float | None = None
    period: float = 0.0
    categories: tuple[str, ...] = ()

    def of_last(self, pairs: int) -> Covariate:
        """Return the covariate of the last ``pairs`` alone."""
        return self._replace(numbers=self.numbers[self.numbers.size - pairs :])


class Finding(NamedTuple):
    """A part of a covariate, ``low`` <= number < ``high`` (infinite: no edge), that is wrong.

    A part with two faults has two findings, one after the other.
    ``estimate`` is the bias in the series' unit, or the factor by which u is wrong (above 1 for
    both ways). ``log_evidence`` is the natural logarithm of the highest E.
    """

    fault: str
    low: float
    high: float
    pairs: int
    estimate: Estimate
    log_evidence: float


class BinOfCovariate(NamedTuple):
    """One bar of the picture: pairs with ``low`` <= number < ``high``, their ZMS and bias."""

    low: float
    high: float
    pairs: int
    zms: Estimate
    bias: Estimate


class Conditional(NamedTuple):
    """The result along one covariate.

    ``state``: "found", "nothing", "everywhere" (wrong, but not in one part more than another), or
    why there is no answer: "missing", "constant", "few". ``rest_is_right``: the pairs outside all
    findings are right, in each bin too, and differ from each. ``without`` is how many pairs have no
    such number. ``since`` is the pair, from 0, by which it was clear that something is wrong; -1 if
    it is not.
    """

    covariate: str
    unit: str
    state: str
    without: int
    findings: tuple[Finding, ...] = ()
    rest_is_right: bool = False
    bins: tuple[BinOfCovariate, ...] = ()
    period: float = 0.0
    since: int = -1


class _Seen(NamedTuple):
    """Pairs that have the covariate: logarithms of their bets [pairs, bets], and its numbers."""

    logs: Float
    z: Float
    numbers: Float
    other: Float | None

    def bins(self, grid: PartGrid) -> list[Int]:
        """Return the bin of each pair by its number, and by the other one if there is one."""
        return [grid.bins_of(each) for each in (self.numbers, self.other) if each is not None]


def along_hour(time: Float) -> Covariate:
    """Return the hour of day, UTC, of times in s UTC."""
    return Covariate("hour", (time % DAY) / 3600.0, "h UTC", period=24.0)


def along_level(c: Columns, unit: str) -> Covariate:
    """Return the level: the reference, with the value beside it (see *Level*)."""
    return Covariate("level", c.reference, unit, other=c.value)


# Covariates made from the pairs, by name: functions of columns and the unit of the series.
BUILT_IN: Final[Mapping[str, Callable[[Columns, str], Covariate]]] = {
    "hour": lambda c, _unit: along_hour(c.time),
    "level": along_level,
}


def calibrated_where(
    c: Columns, covariate: Covariate, *, asked: int = 1, systematic: Float | None = None
) -> Conditional:
    """Return where along ``covariate`` the only series of ``c`` is wrong.

    ``c``: all pairs of the series' life. ``asked``: how many covariates are looked at. An infinite
    number counts as one that never came. ``systematic``: the declared systematic share of the
    uncertainty, [1].
    """
    known = np.isfinite(covariate.numbers)
    if covariate.other is not None:
        known &= np.isfinite(covariate.other)
    rows = np.flatnonzero(known)
    numbers = covariate.numbers[rows]
    nothing = Conditional(
        covariate=covariate.name,
        unit=covariate.unit,
        state=_unable(numbers),
        without=known.size - rows.size,
        period=covariate.period,
    )
    if nothing.state:
        return nothing
    bets = bets_from_first(c.z, StatedColumns(c.u_eff, c.value), systematic)[_BETS, rows]
    other = None if covariate.other is None else covariate.other[rows]
    pairs = _Seen(np.log(np.maximum(bets, _TINY)).T, c.z[rows], numbers, other)
    best, clear = _judged(pairs, covariate.period, 1.0 / max(asked, 1))
    if best is None:
        return nothing._replace(state="constant")
    part = c.select(rows, np.zeros(1, dtype=np.int64))
    stretch = math.sqrt(c.value.size / float(n_effective(c)[0]))
    result = _told_of(nothing, best, part, numbers, stretch)
    return result._replace(since=int(rows[clear - 1]) if clear else -1)


def _unable(numbers: Float) -> str:
    if not numbers.size:
        return "missing"
    if np.ptp(numbers) == 0.0:
        return "constant"
    return "few" if numbers.size < FIRST_EDGES else ""


def _judged(pairs: _Seen, period: float, share: float) -> tuple[_Judged | None, int]:
    """Return the last grid in which a part stands out, else the first, and how many pairs it took.

    0 pairs mean that nothing stands out.
    """
    best, clear = None, 0
    level = FALSE_FINDINGS * share
    for count in _counts(pairs.numbers.size):
        level *= 0.5
        grid = grid_of(pairs.numbers[:count], period)
        if grid is None:
            continue
        evidence = _evidence(pairs, grid, count)
        judged = _standing_out(pairs, grid, evidence, level)
        if best is None or judged.parts:
            best = judged
        over = evidence.logs.max(axis=1) >= math.log(grid.parts.shape[0] / level)
        if over.any():
            first = int(evidence.looks[np.argmax(over)])
            clear = min(clear or first, first)
    return best, clear


def _counts(pairs: int) -> Iterator[int]:
    count = FIRST_EDGES
    while count <= pairs:
        yield count
        count *= 4


# -- evidence -------------------------------------------------------------------------------------


class _Evidence(NamedTuple):
    """Logarithms of the evidence of each part."""

    highest: Float
    looks: Int  # pairs that were seen at each look
    logs: Float  # [looks, parts]
    families: Float  # [parts, 3]: that of each family at the look of the highest


def _evidence(pairs: _Seen, grid: PartGrid, count: int) -> _Evidence:
    """Return the evidence of every part at each look from ``count`` pairs on."""
    logs = pairs.logs
    bins = pairs.bins(grid)
    blocks = logs.shape[0] // LOOK
    used = blocks * LOOK
    first = min(-(-count // LOOK), blocks) - 1
    looks = (np.arange(blocks) + 1) * LOOK
    sums = np.zeros((len(bins), blocks, grid.bins, logs.shape[1]))
    block = np.arange(used) // LOOK
    cells = blocks * grid.bins
    for each, of in zip(sums, bins, strict=True):
        cell = block * grid.bins + of[:used]
        for bet in range(logs.shape[1]):
            summed = np.bincount(cell, logs[:used, bet], cells)
            each[:, :, bet] = summed.reshape(blocks, grid.bins)
    sums = np.cumsum(sums, axis=1)[:, first:]
    mixed = np.empty((blocks - first, grid.parts.shape[0]))
    families = np.empty((grid.parts.shape[0], len(FAULTS_TOLD)))
    for at, part in enumerate(grid.parts):
        grown = sums[:, :, part].sum(axis=2) + _LOG_WEIGHTS
        total = np.logaddexp.reduce(grown, axis=2)
        mixed[:, at] = total.min(axis=0)
        top = grown[int(total.min(axis=1).argmin()), int(mixed[:, at].argmax())]
        families[at] = [np.logaddexp.reduce(top[each]) for each in ROWS[:3]]
    return _Evidence(mixed.max(axis=0), looks[first:], mixed, families)


class _Judged(NamedTuple):
    grid: PartGrid
    evidence: _Evidence
    parts: list[int]
    sums: list[BinSums]
    least: float  # logarithm of the evidence that makes a part differ from others


def _standing_out(pairs: _Seen, grid: PartGrid, evidence: _Evidence, level: float) -> _Judged:
    """Return the parts to report, those with most evidence first.

    If a sensor is wrong, but no part of it differs from the rest, the whole is returned alone.
    """
    p_values = np.exp(-np.maximum(evidence.highest, 0.0))
    outstanding = holm(p_values) <= level
    least = math.log(grid.parts.shape[0] / level)
    if not outstanding.any():
        return _Judged(grid, evidence, [], [], least)
    sums = [bin_sums(pairs.z, of, grid.bins) for of in pairs.bins(grid)]
    chosen: list[int] = []
    taken = np.zeros(grid.bins, dtype=np.bool_)
    edges = 0
    whole = grid.parts.shape[0] - 1
    for part in np.argsort(-evidence.highest, kind="stable").tolist():
        mask = grid.parts[part]
        is_whole = sums[0].share(mask) > PART_MOST
        if not outstanding[part] or (is_whole and not chosen):
            break
        cuts = grid.cuts(mask)
        if is_whole or (mask & taken).any() or edges + cuts > EDGES_MOST:
            continue
        if _are_apart(sums, mask, ~mask, least):
            chosen.append(part)
            taken |= mask
            edges += cuts
    return _Judged(grid, evidence, chosen or [whole], sums, least)


def _are_apart(sums: list[BinSums], part: Bool, rest: Bool, least: float) -> bool:
    """Return whether the errors of two sets of bins clearly differ."""
    return min(each.log_evidence(part, rest) for each in sums) >= least


# -- the report -----------------------------------------------------------------------------------


def _told_of(
    nothing: Conditional, judged: _Judged, c: Columns, numbers: Float, stretch: float
) -> Conditional:
    grid, evidence, parts, sums, least = judged
    of = grid.bins_of(numbers)
    bins = []
    for number, mask in enumerate(np.eye(grid.bins, dtype=np.bool_)):
        at = np.flatnonzero(of == number)
        bins.append(BinOfCovariate(*grid.ends(mask), at.size, *_estimates(c, at, stretch)))
    if parts == [grid.parts.shape[0] - 1]:
        return nothing._replace(state="everywhere", bins=tuple(bins))
    if not parts:
        return nothing._replace(state="nothing", bins=tuple(bins))
    findings, rest = [], np.ones(grid.bins, dtype=np.bool_)
    for part in parts:
        mask = grid.parts[part]
        rest &= ~mask
        at = np.flatnonzero(mask[of])
        likely = FAULTS_TOLD[int(np.argmax(evidence.families[part]))]
        findings += [
            Finding(fault, *grid.ends(mask), at.size, size, float(evidence.highest[part]))
            for fault, size in _faults(c.select(at, _ONE), stretch, likely)
        ]
    is_apart = all(_are_apart(sums, grid.parts[part], rest, least) for part in parts)
    outside = [np.flatnonzero(of == number) for number in np.flatnonzero(rest)]
    are_right = is_apart and all(
        _is_right(c, rows, _OF_MANY * stretch) for rows in outside if rows.size >= PAIRS_LEAST
    )
    return nothing._replace(
        state="found",
        findings=tuple(findings),
        rest_is_right=are_right and _is_right(c, np.flatnonzero(rest[of]), stretch),
        bins=tuple(bins),
    )


def _faults(part: Columns, stretch: float, likely: str) -> list[tuple[str, Estimate]]:
    """Return what is wrong in a part, and by how much; ``likely`` if its bias is not clear."""
    rows = np.arange(part.value.size)
    zms, bias = _estimates(part, rows, stretch)
    if not bias.is_beyond(_bias_tolerated(part)):
        if likely == "offset" and not _agrees(zms, part):
            likely = "understated" if zms.value > 1.0 else "overstated"
        return [(likely, bias if likely == "offset" else _factor(zms, likely, part))]
    mended = applied(part, Adjustment(offset=bias.value))
    about, _ = _estimates(mended, rows, stretch)
    if _agrees(about, mended) or zms.value - about.value >= _divergence(about.value):
        return [("offset", bias)]
    fault = "understated" if about.value > 1.0 else "overstated"
    return [(fault, _factor(about, fault, mended)), ("offset", bias)]


def _divergence(variance: float) -> float:
    """Return twice the divergence of N(0, ``variance``) from N(0, 1); that of N(m, 1) is m^2."""
    return variance - 1.0 - math.log(max(variance, _TINY))


def _estimates(c: Columns, rows: Int, stretch: float) -> tuple[Estimate, Estimate]:
    """Return ZMS and bias of some pairs; no interval below ``PAIRS_LEAST``."""
    if not rows.size:
        nothing = Estimate(math.nan, math.nan, math.nan)
        return nothing, nothing
    part = c.select(rows, _ONE)
    zms, spread, a = zms_moments(part)
    bias = float(part.error.mean())
    if rows.size < PAIRS_LEAST:
        missing = (math.nan, math.nan)
        return Estimate(float(zms[0]), *missing), Estimate(bias, *missing)
    lower, upper = abc_ends(zms, spread * stretch, a)
    off = NORMAL_QUANTILE * stretch * float(part.error.std()) / math.sqrt(rows.size)
    return (
        Estimate(float(zms[0]), max(float(lower[0]), 0.0), float(upper[0])),
        Estimate(bias, bias - off, bias + off),
    )


def _factor(zms: Estimate, fault: str, c: Columns) -> Estimate:
    """Return the factor by which the stated u of some pairs is too small, or too large."""
    root = factor_on_u(Estimate(*np.sqrt(zms).tolist()), c)
    if fault == "understated":
        return root
    with np.errstate(divide="ignore"):
        return Estimate(*(1.0 / np.array((root.value, root.upper, root.lower))).tolist())


def _is_right(c: Columns, rows: Int, stretch: float) -> bool:
    """Return whether some pairs agree with an honest sensor, within the tolerated range."""
    if rows.size < PAIRS_LEAST:
        return False
    zms, bias = _estimates(c, rows, stretch)
    part = c.select(rows, _ONE)
    return _agrees(zms, part) and not bias.is_beyond(_bias_tolerated(part))


def _agrees(zms: Estimate, c: Columns) -> bool:
    """Return whether some pairs' ZMS agrees with their u, within the tolerated range."""
    ratio = _factor(zms, "understated", c)
    return ratio.lower <= RIGHT.upper and ratio.upper >= RIGHT.lower


def _bias_tolerated(c: Columns) -> float:
    return BIAS_RIGHT * float(np.median(c.u_eff))
