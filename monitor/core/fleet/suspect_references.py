"""References judged by the sensors that meet them: many that disagree the same way accuse one.

Rules of this file: pure functions of the pairs with one reference (a station, a bench). A round is
one measurement of it, and each sensor has at most one pair in a round. The pairs of a round share
the reference's own error, which is subtracted from all but the first as far as the reference states
it. A few sensors cannot accuse a reference: those that lean most towards the verdict are left out,
the others must reach it alone, and most sensors must be off in that direction. A sensor that shows
a larger u among the others than it claims counts with the u it shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

import numpy as np
import scipy

from monitor.core.detector.detector import Detector
from monitor.core.detector.e_values import FAMILIES
from monitor.core.detector.lifecycle import FIRING
from monitor.core.detector.whitening import CLIP, learnt_from
from monitor.core.diagnosis.fault_reports import Clock
from monitor.core.fleet.common_errors import (
    FEW,
    Kind,
    Meetings,
    Nature,
    among_peers,
    as_shown,
    erratic,
    nature,
    rounds_of,
)
from monitor.core.formatting import TO_THE_MINUTE, amount, date_time, duration
from monitor.core.model import Float, Int, Records
from monitor.core.pairing.series_rules import MOST_SYSTEMATIC, Systematic
from monitor.core.verdict.pairs import inflation, inflation_of_squares
from monitor.core.verdict.rows import TO_SD
from monitor.core.verdict.verdict import LEVEL, Estimate
from monitor.core.verdict.weights import usual_us
from monitor.core.verdict.words import (
    STUCK_DIGITS,
    counted,
    direction,
    estimated,
    three_digits,
    with_unit,
)

SENSORS_MIN: Final = 5
SHORTEST: Final = 3  # rounds that a departure must last to count
PAIRS: Final = 1024  # last pairs of a reference that are looked at
PAIRS_MOST: Final = 16_384  # the same for what it was, and for its clock
LEFT_OUT: Final = 0.1  # share of the sensors left out, plus one sensor
_SURE: Final = 0.995  # level of the interval of the sensors' median that must exclude 0
_MEDIAN: Final = 1.2533  # standard error of a median over that of a mean, normal
_OFFSET: Final = FAMILIES.index("offset")
_VARIES: Final = ("offset", "understated", "outliers")  # families of a reference that errs
_NOTHING_DECLARED: Final = Systematic()
LONG: Final = 24  # rounds from which their autocorrelation can be estimated
_MOST_COMMON: Final = 0.99  # share of u in common that leaves a sensor an error of its own
_ODDS: Final = 3.0  # from which one of two explanations is told alone

Whose = Literal["", "reference", "sensors"]  # "": nothing declared decides it


class Suspect(NamedTuple):
    """A reference that looks wrong; ``estimate`` is by how much it reads high, in ``unit``.

    Of the ``sensors`` that met it since ``since`` (s UTC), ``agree`` disagree with it the same way.
    ``rows`` are all series that it is a reference of; a reference without a name is "". ``nature``
    says whether it is off, noisy, stands still, has a gain or a wrong clock; ``cleared`` are the
    rows that are right among the others. ``until`` (s UTC) is finite for a reference that no longer
    looks wrong.
    ``whose`` the common error is by what is declared: one of the sensors accuses no reference.
    """

    reference: str
    quantity: str
    unit: str
    estimate: Estimate
    since: float
    sensors: int
    agree: int
    rows: tuple[int, ...]
    nature: Nature = Nature("offset")
    cleared: tuple[int, ...] = ()
    until: float = np.inf
    whose: Whose = ""

    @property
    def clock(self) -> Clock | None:
        """Return its clock, None where that is right."""
        return Clock(self.nature.pairs, self.since) if self.nature.pairs else None

    @property
    def sentence(self) -> str:
        """Return "either reference S3 reads 1.4 ug/m3 high, since ..., or 8 of the 9 ..."."""
        who = f"reference {self.reference}" if self.reference else "its reference"
        if self.whose == "sensors":
            share = "share" if np.isinf(self.until) else "shared"
            return f"{self.agree} of the {self.sensors} sensors that met {who} {share} this fault"
        claim = self.words.removeprefix("either ")
        return f"{who} {claim}" if claim == self.words else f"either {who} {claim}"

    @property
    def words(self) -> str:
        """Return the sentence without its subject: "either reads 1.4 ug/m3 high, since ...".

        An offset or a gain that all sensors see may as well be theirs, so both explanations stand
        unless what is declared decides.
        """
        is_over = np.isfinite(self.until)
        when = f"{'from' if is_over else 'since'} {date_time(self.since, TO_THE_MINUTE)}"
        when += f" to {date_time(self.until, TO_THE_MINUTE)} UTC" if is_over else " UTC"
        if self.nature.kind in _ERRATIC:
            looks, agree = ("looked", "agreed") if is_over else ("looks", "agree")
            claim = f"{looks} {_ERRATIC[self.nature.kind](self.nature, self.unit)}, {when}"
            others = f"{self.agree} of {self.sensors} sensors that met it"
            return f"{claim}: {others} {agree} with each other"
        claim = f"{'had' if is_over else 'has'} a gain of {three_digits(self.nature.size)}"
        if self.nature.kind == "offset":
            size, between = estimated(self.estimate.unsigned)
            way = direction(self.estimate.value, self.unit)
            claim = f"{'read' if is_over else 'reads'} {with_unit(size, self.unit)} {way}{between}"
        if self.nature.kind == "lag":
            claim = f"{'had' if is_over else 'has'} a clock {_clock(self.nature)}"
        others = f"{self.agree} of the {self.sensors} sensors that met it"
        if self.whose:
            return f"{claim}, {when}: {others} {'agreed' if is_over else 'agree'} with each other"
        shares = "shared a fault" if is_over else f"share a fault: {_TODO}"
        return f"either {claim}, {when}, or {others} {shares}"


def _clock(of: Nature) -> str:
    """Return "20 s late (2 pairs)"."""
    way = "late" if of.pairs > 0 else "ahead"
    return f"{duration(of.size)} {way} ({counted(abs(of.pairs))})"


_TODO: Final = "compare one of them with another reference"
_ERRATIC: Final[dict[Kind, Callable[[Nature, str], str]]] = {
    "noise": lambda of, unit: (
        f"uncertain by {with_unit(three_digits(of.size), unit)}, not "
        f"{with_unit(three_digits(of.stated), unit)} as it states"
    ),
    "stuck": lambda of, unit: f"stuck at {amount(of.size, unit, STUCK_DIGITS)}",
}


# A pair of a reference under judgement: ``series`` are numbers in the order of the series,
# ``back`` counts from the newest pair of the series' window, ``measured`` names the measurement.
MEETING: Final = np.dtype(
    [
        ("series", np.int64),
        ("back", np.int64),
        ("measured", np.uint64),
        *((name, np.float64) for name in ("time", "reference", "error", "u_eff", "u_ref")),
    ]
)


def met(pairs: Records, rounds: Int, most: int = PAIRS) -> Meetings:
    """Return the last pairs (``MEETING``) of one reference; ``rounds`` names the round of each."""
    series, time = pairs["series"], pairs["time"]
    rows = np.argsort(time, kind="stable")
    _, first = np.unique(np.stack([rounds[rows], series[rows]]), axis=1, return_index=True)
    rows = rows[np.sort(first)]
    names, number = np.unique(rounds[rows], return_inverse=True)
    begun, shared = np.full(names.size, np.inf), np.full(names.size, np.inf)
    np.minimum.at(begun, number, time[rows])
    np.minimum.at(shared, number, pairs["u_ref"][rows])
    order = np.lexsort((series[rows], time[rows], number, begun[number]))[-most:]
    rows, number = rows[order], number[order]
    error, value = pairs["error"][rows], pairs["reference"][rows]
    own = np.sqrt(np.maximum(pairs["u_eff"][rows] ** 2 - shared[number] ** 2, 0.0))
    own = _usual(own, error, value, series[rows])
    return Meetings(series[rows], rounds[rows], time[rows], error, own, shared[number], value)


def _usual(u: Float, error: Float, reference: Float, series: Int) -> Float:
    """Return what weighs errors of several series, in the order of time, from their stated u."""
    order = np.argsort(series, kind="stable")
    starts = np.flatnonzero(np.diff(series[order], prepend=-1))
    usual = np.empty_like(u)
    columns = u[order], (reference + error)[order], reference[order]
    usual[order] = usual_us(*columns, starts)
    return usual


def innovations(pairs: Meetings) -> Float:
    """Return z of each pair given those before it in its round: N(0, 1) if all is as stated.

    The reference's error is a common part of a round's errors, of variance u_shared^2. Its estimate
    from the round's earlier pairs is subtracted, and its remaining variance is added. An error
    beyond 4 u counts as 4 u in that estimate, so that one sensor far off does not affect the
    others.
    """
    weight = 1.0 / np.maximum(pairs.u, 1e-300) ** 2
    begins = np.flatnonzero(np.append(True, pairs.round[1:] != pairs.round[:-1]))
    counts = np.diff(begins, append=pairs.round.size)
    weighted = weight * _clipped(pairs)
    weights, sums = np.cumsum(weight) - weight, np.cumsum(weighted) - weighted
    weights -= np.repeat(weights[begins], counts)
    sums -= np.repeat(sums[begins], counts)
    variance = pairs.u_shared**2
    left = variance / (1.0 + variance * weights)
    z: Float = (pairs.error - left * sums) / np.sqrt(pairs.u**2 + left)
    return z


def round_means(pairs: Meetings) -> Float:
    """Return z of each round's weighted mean error, of variance u_shared^2 + 1 / sum(1 / u^2)."""
    weight = 1.0 / np.maximum(pairs.u, 1e-300) ** 2
    begins = np.flatnonzero(np.append(True, pairs.round[1:] != pairs.round[:-1]))
    total = np.add.reduceat(weight, begins)
    mean = np.add.reduceat(weight * _clipped(pairs), begins) / total
    z: Float = mean / np.sqrt(pairs.u_shared[begins] ** 2 + 1.0 / total)
    return z


def _clipped(pairs: Meetings) -> Float:
    most = CLIP * np.hypot(pairs.u, pairs.u_shared)
    return np.clip(pairs.error, -most, most)


def _shares(pairs: Meetings, of: Systematic) -> tuple[float, float]:
    """Return which share of a pair's, and of a round's, uncertainty is the reference's for life.

    It is the largest of all pairs, because the estimate from a round's earlier pairs has been
    subtracted from the later ones.
    """
    if not (of.reference_value or of.reference_share):
        return 0.0, 0.0
    nothing = np.zeros(pairs.u.shape)
    fixed = of._replace(value=0.0, share=0.0).of(nothing, pairs.u_shared)
    weight = 1.0 / np.maximum(pairs.u, 1e-300) ** 2
    begins = np.flatnonzero(np.append(True, pairs.round[1:] != pairs.round[:-1]))
    of_means = np.sqrt(pairs.u_shared[begins] ** 2 + 1.0 / np.add.reduceat(weight, begins))
    of_pairs = np.maximum(np.hypot(pairs.u, pairs.u_shared), 1e-300)
    shares = (fixed / of_pairs).max(), (fixed[begins] / of_means).max()
    return min(float(shares[0]), MOST_SYSTEMATIC), min(float(shares[1]), MOST_SYSTEMATIC)


def accuses(pairs: Meetings, patience: float, systematic: Systematic = _NOTHING_DECLARED) -> bool:
    """Whether the detector fires for an offset at the last of ``pairs``.

    Either pair by pair, which finds a large offset within a round, or round by round, which finds a
    small one sooner where many sensors share a reference that is uncertain itself.
    """
    by_pair, by_round = _shares(pairs, systematic)
    return _fires(innovations(pairs), patience, by_pair) or _fires(
        round_means(pairs), patience, by_round
    )


def _fires(z: Float, patience: float, share: float) -> bool:
    return _fired(z, patience, share) == FAMILIES[_OFFSET]


def _fired(z: Float, patience: float, share: float) -> str:
    """Return the family of bets that fires at the last of ``z``, "" if none does."""
    detector, one = Detector(np.full(1, patience)), np.zeros(1, np.int64)
    detector.systematic[:] = share
    changes = detector.advance(one, one, z)
    fired = [change.family for change in changes if change.after == "firing"]
    return fired[-1] if detector.states(one)[0] == FIRING else ""


class Suspicion(NamedTuple):
    """Suspicion of one reference from its pairs: ``estimate`` is the sensors' common error.

    ``since`` when (s UTC), for how many ``sensors``, of which how many ``agree``, and what is wrong
    with it; ``cleared`` are the series that are right among the others; ``until`` is when it ended
    (s UTC), inf if it has not; ``whose`` the error is by what is declared.
    """

    estimate: Estimate
    since: float
    sensors: int
    agree: int
    nature: Nature
    cleared: Int
    until: float = np.inf
    whose: Whose = ""


def suspicion(
    pairs: Meetings, patience: float, systematic: Systematic = _NOTHING_DECLARED
) -> Suspicion | None:
    """Return what is wrong with a reference, None if nothing is or fewer than five met it.

    It is off, or its errors vary more than it and its sensors state. The u of a sensor is what it
    states, or what it shows among the others if that is more; ``systematic`` declares how far the
    reference may be off for life, and how far its sensors may err together: in a round as far as
    that, and for life too where it is declared to be systematic.
    """
    if np.unique(pairs.series).size < SENSORS_MIN:
        return None
    doubt = _suspicion(*_with_common(pairs, systematic), patience)
    if doubt is None:
        return None
    stated = float(np.median(pairs.u_shared[pairs.time >= doubt.since]))
    kind = doubt.nature._replace(stated=stated)
    return doubt._replace(nature=kind, whose=_whose(doubt, pairs, systematic.common))


def _with_common(pairs: Meetings, of: Systematic) -> tuple[Meetings, Systematic]:
    """Return pairs and declarations as if what the sensors have in common were the reference's."""
    if not of.common:
        return pairs, of
    nothing, part = np.zeros(pairs.u.shape), of.common * pairs.u
    sensors = of._replace(reference_value=0.0, reference_share=0.0).of(pairs.u, nothing)
    reference = of._replace(value=0.0, share=0.0).of(nothing, pairs.u_shared)
    fixed = float(np.median(np.hypot(reference, np.minimum(sensors, part))))
    _, number, counts = np.unique(pairs.round, return_inverse=True, return_counts=True)
    shared = np.hypot(pairs.u_shared, (np.bincount(number, part) / counts)[number])
    own = np.sqrt(1.0 - min(of.common, _MOST_COMMON) ** 2) * pairs.u
    return pairs._replace(u=own, u_shared=shared), Systematic(reference_value=fixed)


def _whose(doubt: Suspicion, pairs: Meetings, common: float | None) -> Whose:
    """Return whose a common error is, from the share of their u that sensors have in common.

    An error of the declared size explains it with a likelihood that falls slowly (Cauchy): where
    neither size reaches it, either may be at fault, and only the ratio of the two counts.
    """
    if common is None or doubt.nature.kind not in ("offset", "gain"):
        return ""
    late = pairs.time >= doubt.since
    sensors = common * float(np.median(pairs.u[late]))
    reference, error = float(np.median(pairs.u_shared[late])), doubt.estimate.value
    by_sensors = sensors * (error * error + reference * reference)
    by_reference = reference * (error * error + sensors * sensors)
    if common == 0.0 or by_reference >= _ODDS * by_sensors:
        return "reference"
    return "sensors" if by_sensors >= _ODDS * by_reference else ""


def _suspicion(pairs: Meetings, systematic: Systematic, patience: float) -> Suspicion | None:
    stated = pairs.u
    pairs = pairs._replace(u=as_shown(pairs))
    rounds = rounds_of(pairs)
    off = _off(pairs, patience, systematic)
    if off is not None:
        cleared = among_peers(pairs, rounds, stated).cleared
        return Suspicion(*off, nature(rounds, off[1]), cleared)
    _, share = _shares(pairs, systematic)
    varies = erratic(pairs, rounds, stated, lambda z: _fired(z, patience, share) in _VARIES)
    if varies is None:
        return None
    z = rounds.z
    since = float(rounds.time[change_point(z, _rho(z) if z.size > LONG else 0.0)])
    error = rounds.error[rounds.time >= since]
    half = float(scipy.special.stdtrit(max(error.size - 1.0, 1.0), 0.5 + 0.5 * LEVEL))
    half *= float(error.std(ddof=1)) / np.sqrt(error.size) if error.size > 1 else np.inf
    middle = float(error.mean())
    estimate = Estimate(middle, middle - half, middle + half)
    kind = nature(rounds, since)
    is_told = kind.kind != "offset" or error.size < FEW
    if not (is_told or _middle(_mean_errors(pairs, since), _SURE).excludes(0.0)):
        return None  # each sensor has an offset of its own, and these do not cancel
    return Suspicion(estimate, since, varies.names.size, varies.cleared.size, kind, varies.cleared)


def _off(
    pairs: Meetings, patience: float, systematic: Systematic
) -> tuple[Estimate, float, int, int] | None:
    """Return (sensors' common error, since when, sensors, how many share its sign), or None.

    The u of a pair is what its sensor shows; ``systematic`` declares how far the reference may be
    off for life.
    """
    if not accuses(pairs, patience, systematic):
        return None
    z = innovations(pairs)
    since = pairs.time[change_point(z, _rho(z))]
    late = pairs.where(np.flatnonzero(pairs.time >= since))
    names, number = np.unique(late.series, return_inverse=True)
    if names.size < SENSORS_MIN:
        return None
    counts = np.bincount(number)
    leaning = np.bincount(number, _clipped(late) / late.u) / counts
    way = 1.0 if float(counts @ leaning) >= 0.0 else -1.0
    few = 1 + int(np.ceil(LEFT_OUT * names.size))
    out = names[np.argsort(-way * leaning, kind="stable")[:few]]
    means = np.bincount(number, late.error) / counts
    middle, sure = _middle(means, LEVEL), _middle(means, _SURE)
    most = sure.lower > 0.0 if way > 0.0 else sure.upper < 0.0
    others = pairs.where(np.flatnonzero(~np.isin(pairs.series, out)))
    if not most or not accuses(others, patience, systematic):
        return None
    agree = int((way * means > 0.0).sum())
    return middle, float(since), int(names.size), agree


def _mean_errors(pairs: Meetings, since: float) -> Float:
    """Return the mean error of each sensor from a time on."""
    late = pairs.time >= since
    _, number, counts = np.unique(pairs.series[late], return_inverse=True, return_counts=True)
    return np.asarray(np.bincount(number, pairs.error[late]) / counts)


def _middle(means: Float, level: float) -> Estimate:
    """Return the median of the sensors' mean errors, its interval from their median deviation."""
    centre = float(np.median(means))
    spread = TO_SD * float(np.median(np.abs(means - centre)))
    half = float(scipy.special.stdtrit(means.size - 1.0, 0.5 + 0.5 * level)) * _MEDIAN * spread
    half /= float(np.sqrt(means.size))
    return Estimate(centre, centre - half, centre + half)


def _rho(z: Float) -> float:
    """Return the lag-1 autocorrelation of z as the detector estimates it."""
    q = np.clip(z, -4.0, 4.0)
    one, two = np.diff(q)[1:], q[2:] - q[:-2]
    far = q[12:] - q[:-12]
    parts = (one @ one, two @ two, one.size, far @ far, far.size, 0.0, 0.0)
    return float(learnt_from(*(np.array([float(part)]) for part in parts)).rho[0])


def change_point(z: Float, rho: float) -> int:
    """Return the index from which ``z`` departs most from N(0, 1): maximum likelihood with BIC.

    Each tail of at least three pairs is tried with a mean, a spread, or both; the last two cost
    by Schwarz's criterion. 0 if there are fewer than three pairs.
    """
    if z.size < SHORTEST:
        return 0
    q = np.clip(z[::-1], -CLIP, CLIP)
    n = np.arange(1.0, z.size + 1.0)
    mean, square = np.cumsum(q) / n, np.maximum(np.cumsum(q * q) / n, 1e-4)
    variance = np.maximum(square - mean * mean, 1e-4)
    for_mean, for_variance = 1.0 / inflation(rho), 1.0 / inflation_of_squares(rho)
    by_mean = 0.5 * n * for_mean * mean * mean
    by_spread = 0.5 * n * for_variance * (square - 1.0 - np.log(square))
    by_both = by_mean + 0.5 * n * for_variance * (variance - 1.0 - np.log(variance))
    penalty = 0.5 * np.log(z.size)
    best = np.maximum(np.maximum(by_mean, by_spread) - penalty, by_both - 2.0 * penalty)
    return z.size - SHORTEST - int(np.argmax(best[SHORTEST - 1 :]))
