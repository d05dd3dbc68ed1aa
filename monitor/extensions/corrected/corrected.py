"""The pairs of a series as they would have been corrected, each from the pairs before it.

Rules of this file: the remedy is the verdict's own; none is chosen here. It is adopted at a pair,
for the pairs after it. It is withdrawn when the alert ends, or when it no longer helps. The
difference that it makes to the CRPS of a pair, over the largest possible one, is a bet between -1
and 1 against "on average it makes the CRPS no worse". The winnings from every pair on are summed,
as in the Shiryaev-Roberts procedure, so that a remedy that does no harm is withdrawn at most once
in ``PATIENCE`` pairs. After a withdrawal no remedy is adopted for ``PAUSE`` pairs.

Intervals hold their level whatever the errors do: the interval of a reading is value -+ factor * u.
The factor follows the pairs in event order: up by exp(step * level) after a miss, down by
exp(step * (1 - level)) after a hit. So over any run of W pairs the share of misses is 1 - level +
log(factor after / factor before) / (step * W), exactly, unless the factor reached a limit. No
assumption about the errors is used.

Sources: Shin, Ramdas, Rinaldo, E-detectors, NEJSDS (2024); Dawid, JRSS A 147 (1984) (prequential);
Gibbs, Candes, NeurIPS 34 (2021) (adaptive conformal inference); Angelopoulos, Candes, Tibshirani,
NeurIPS 36 (2023) (quantile tracking), here on the logarithm of the factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import scipy

from monitor.core.formatting import amount, significant
from monitor.core.model import Bool, Float, Int
from monitor.core.verdict import Pairs, Remedy, words
from monitor.core.verdict.pairs import Spread
from monitor.core.verdict.remedy import crps
from monitor.core.verdict.verdict import NO_REMEDY

PATIENCE: Final = 100.0  # least pairs between two withdrawals of remedies that do no harm
PAUSE: Final = 32  # pairs
_BET: Final = 0.5
_LINE_DIGITS: Final = 7  # of a linear correction, whose two terms may almost cancel
_IMPLYING: Final = {"interval": "its interval implies", "members": "its members imply"}
# Largest change of a normal's CRPS with its standard deviation; with its mean it is 1.
_BY_WIDTH: Final = 1.0 / math.sqrt(math.pi)
# Within 2 % of the level over any 1000 pairs in which the factor changes less than exp(2) = 7.4
# times; a smaller step follows jumps too slowly, a larger one makes the width fluctuate more.
FACTOR_STEP: Final = 0.1
_LOG_FACTOR_MOST: Final = float(np.log(1e6))


class Amendment(NamedTuple):
    """value' = intercept + slope value, u' = scale abs(slope) u."""

    intercept: float = 0.0
    slope: float = 1.0
    scale: float = 1.0

    def value(self, value: Float) -> Float:
        """Return corrected values."""
        return self.intercept + self.slope * value

    def u(self, u: Float) -> Float:
        """Return corrected standard uncertainties."""
        return self.scale * abs(self.slope) * u


AS_SENT: Final = Amendment()


def amendment_of(remedy: Remedy | None) -> Amendment:
    """Return what a remedy does to readings; None, or the kind "none", does nothing."""
    if remedy is None:
        return AS_SENT
    shift = remedy.intercept if math.isfinite(remedy.intercept) else remedy.add
    return Amendment(
        shift if math.isfinite(shift) else 0.0,
        remedy.slope if math.isfinite(remedy.slope) else 1.0,
        remedy.scale_u if math.isfinite(remedy.scale_u) else 1.0,
    )


class Told(NamedTuple):
    """The fault's remedy as known after pair ``at``; None if no alert fires any more."""

    at: int
    remedy: Remedy | None


class Adoption(NamedTuple):
    """The amendment from pair ``first`` on; ``taken_back``: the one before no longer helped."""

    first: int
    amendment: Amendment
    taken_back: bool = False


class Adopted(NamedTuple):
    """Adoptions over some pairs in event order, and the state after the last.

    ``evidence`` is against the remedy in force; none is adopted for ``pause`` more pairs.
    """

    steps: tuple[Adoption, ...] = (Adoption(0, AS_SENT),)
    evidence: float = 0.0
    pause: int = 0

    @property
    def amendment(self) -> Amendment:
        """The correction after the last pair."""
        return self.steps[-1].amendment


def adoptions(pairs: Pairs, remedies: Sequence[Told], before: Adopted | None = None) -> Adopted:
    """Return what applies to the pairs of a series, from the first one on, in event order.

    ``remedies`` is in the order of its pairs, -1 before the first; an entry without a remedy leaves
    the one in force as it is. ``before`` is what applied until the first pair; None means readings
    as sent. Pairs may come in any pieces.
    """
    before = before or Adopted()
    steps = [Adoption(0, before.amendment)]
    allowed, evidence = before.pause, before.evidence
    remedies = [Told(-1, NO_REMEDY), *remedies]
    stops = [*(each.at + 1 for each in remedies[1:]), pairs.n]
    for each, stop in zip(remedies, stops, strict=True):
        first, now = each.at + 1, steps[-1].amendment
        wanted = _wanted(each.remedy, now, may_adopt=first >= allowed)
        if wanted != now:
            steps.append(Adoption(first, wanted))
        if wanted == AS_SENT:
            evidence = 0.0
            continue
        for at, bet in enumerate(_bets(pairs.rows(slice(first, stop)), wanted), first):
            evidence = (evidence + 1.0) * bet
            if evidence >= PATIENCE:
                steps.append(Adoption(at + 1, AS_SENT, taken_back=True))
                allowed, evidence = at + 1 + PAUSE, 0.0
                break
    return Adopted(tuple(steps), evidence, max(allowed - pairs.n, 0))


def _wanted(remedy: Remedy | None, now: Amendment, *, may_adopt: bool) -> Amendment:
    if remedy is None:
        return AS_SENT
    wanted = amendment_of(remedy)
    return wanted if wanted != AS_SENT and may_adopt else now


def _bets(p: Pairs, amendment: Amendment) -> list[float]:
    """Return each pair's bet against "the CRPS is at least as good as without the amendment"."""
    value, u = amendment.value(p.value), np.hypot(amendment.u(p.u), p.u_ref)
    stated = np.hypot(p.u, p.u_ref)
    worse = crps(value - p.reference, u) - crps(p.error, stated)
    most = np.abs(value - p.value) + _BY_WIDTH * np.abs(u - stated)
    share = np.divide(worse, most, out=np.zeros_like(worse), where=most > 0.0)
    bets: list[float] = (1.0 + _BET * np.clip(share, -1.0, 1.0)).tolist()
    return bets


def each_pairs(steps: Sequence[Adoption], n: int) -> Int:
    """Return the adoption that applies to each of ``n`` pairs, as its place in ``steps``."""
    return np.searchsorted([each.first for each in steps], np.arange(n), side="right") - 1


def in_words(amendment: Amendment, unit: str, spread: Spread) -> str:
    """Return what is done to a reading of a sensor that states ``spread``, empty for nothing."""
    intercept, slope, scale = amendment
    parts = []
    if slope != 1.0:
        at, times = (significant(each, _LINE_DIGITS) for each in (intercept, slope))
        parts.append(words.instead(at, times, unit))
    elif intercept:
        verb = "add" if intercept > 0.0 else "subtract"
        parts.append(f"{verb} {amount(abs(intercept), unit, 3)}")
    if scale * abs(slope) != 1.0:
        parts.append(words.spread_times(words.three_digits(scale * abs(slope)), spread))
    return " and ".join(parts)


def half_width_in_words(factor: float, spread: Spread) -> str:
    """Return the half width of an interval that is ``factor`` u, "1.9 u" for a sensor with a u."""
    number = significant(factor)
    return f"{number} u" if spread == "u" else f"{number} times the u that {_IMPLYING[spread]}"


class TrackedFactors(NamedTuple):
    """Logarithms of the factors: ``before`` each pair [series, pairs] and ``after`` all [series].

    ``before`` is NaN where there is no pair.
    """

    before: Float
    after: Float


def first_log_factors(series: int, level: float) -> Float:
    """Return the first factors [series]: the quantile of the normal with standard deviation u.

    Raises:
        ValueError: if ``level`` is not between 0 and 1.
    """
    _check_level(level)
    return np.full(series, np.log(scipy.special.ndtri(0.5 + 0.5 * level)))


def track_factors(log_factor: Float, ratio: Float, level: float) -> TrackedFactors:
    """Return the factors before each of some pairs in event order, and those after the last.

    Args:
        log_factor: of each series before its first pair [series].
        ratio: abs(value - reference) / u of each pair [series, pairs]; NaN where there is no pair,
            and where u is 0 and no factor helps.
        level: share of references that intervals are to contain, between 0 and 1.

    Pairs may come in any pieces: the factors are the same bits.

    Raises:
        ValueError: if ``level`` is not between 0 and 1.
    """
    _check_level(level)
    now = np.array(log_factor, dtype=np.float64)
    before = np.full(ratio.shape, np.nan)
    up, down = FACTOR_STEP * level, FACTOR_STEP * (1.0 - level)
    for k in range(ratio.shape[1]):
        some = ~np.isnan(ratio[:, k])
        before[some, k] = now[some]
        moved = np.where(ratio[:, k] > np.exp(now), now + up, now - down)
        now = np.where(some, np.clip(moved, -_LOG_FACTOR_MOST, _LOG_FACTOR_MOST), now)
    return TrackedFactors(before, now)


def _check_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be between 0 and 1, not {level}")


class Corrected(NamedTuple):
    """Corrected pairs in event order [pairs], in the series' unit; ``level`` is the interval's.

    ``lower`` and ``upper`` are value -+ ``factor`` u, NaN where u is 0. ``which`` is the place in
    ``adopted.steps`` of the amendment of each pair; ``log_factor`` and ``adopted`` are the state
    after the last pair.
    """

    value: Float
    u: Float
    lower: Float
    upper: Float
    factor: Float
    which: Int
    adopted: Adopted
    level: float
    log_factor: float

    def within(self, reference: Float) -> Bool:
        """Return whether each interval contains its reference."""
        return (self.lower <= reference) & (reference <= self.upper)

    def crps(self, pairs: Pairs) -> Float:
        """Return the CRPS of corrected value and u, in the series' unit."""
        return crps(self.value - pairs.reference, np.hypot(self.u, pairs.u_ref))


def corrected(
    pairs: Pairs,
    remedies: Sequence[Told],
    level: float,
    before: tuple[Adopted, float] | None = None,
) -> Corrected:
    """Return the pairs of a series corrected by the ``remedies`` before each of them.

    ``before``: what applied until the first pair, and the logarithm of the factor; None for a
    series without an earlier pair. Pairs may come in any pieces: the numbers are the same bits.

    Raises:
        ValueError: if ``level`` is not between 0 and 1.
    """
    first, log_factor = before or (Adopted(), float(first_log_factors(1, level)[0]))
    adopted = adoptions(pairs, remedies, first)
    steps = each_pairs(adopted.steps, pairs.n)
    intercept, slope, scale = np.array([each.amendment for each in adopted.steps]).T[:, steps]
    value = intercept + slope * pairs.value
    u = scale * np.abs(slope) * pairs.u
    ratio = np.full(pairs.n, np.nan)
    some = u > 0.0
    ratio[some] = np.abs(value - pairs.reference)[some] / u[some]
    tracked = track_factors(np.array([log_factor]), ratio[None, :], level)
    factor = np.exp(tracked.before[0])
    return Corrected(
        value=value,
        u=u,
        lower=value - factor * u,
        upper=value + factor * u,
        factor=factor,
        which=steps,
        adopted=adopted,
        level=level,
        log_factor=float(tracked.after[0]),
    )
