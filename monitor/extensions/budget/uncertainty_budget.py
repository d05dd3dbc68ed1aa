"""Whose uncertainty is wrong: the variance of differences split among sensors and reference.

Rules of this file: with three or more views of one quantity (a reference and at least two sensors,
on the events that all of them saw) the variance of each view follows from those of all differences,
if the views err independently: Grubbs' estimators, Allan's three-cornered hat, by least squares
with no variance below 0. Each view's stated uncertainty is compared with the one it shows; the rest
is dark uncertainty (Thompson and Ellison 2011). Intervals come from resampled blocks of events.

Beside that stand the common figures of interlaboratory comparisons, over all events together: the
dark uncertainty that every view would need (DerSimonian-Laird, Mandel-Paule), and the largest
subset of views whose values agree within what they state (Cox 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
import scipy

from monitor.core.analysis.common_events import common_set, on_common_events
from monitor.core.analysis.ranking import events_together
from monitor.core.columns import Columns
from monitor.core.formatting import significant
from monitor.core.model import Float, Int
from monitor.core.registry import SeriesName
from monitor.core.verdict import Estimate
from monitor.core.verdict.weights import usual_us

EVENTS_MIN: Final = 20
VIEWS_MAX: Final = 12
REPLICATES: Final = 500
_LEVEL: Final = 0.95
_DRAWN_LEVEL: Final = 0.98  # level of the percentiles of resampled variances; they hold some 95 %
_HALVINGS: Final = 18
REFERENCE: Final = "reference"
PARTS: Final = ("sensor", "sensor dark", "pairing", "reference", "reference dark")
"""The parts of the variance of a sensor's differences from the reference."""


_WHOSE: Final = dict(
    zip(
        PARTS,
        (
            "the sensor's as stated",
            "the sensor's beyond that",
            "the pairing's",
            "the reference's as stated",
            "the reference's beyond that",
        ),
        strict=True,
    )
)


class BudgetedView(NamedTuple):
    """Uncertainties that one view states and shows, standard, in the quantity's unit.

    ``stated`` is the root of the mean of u², ``shown`` comes from the differences, ``dark`` is
    what is shown beyond what is stated. ``verdict`` is understated, overstated or "".
    """

    name: str
    stated: float
    shown: Estimate
    dark: Estimate
    verdict: str


class UncertaintyBudget(NamedTuple):
    """The budget of views on ``events`` common events; ``unit`` is the quantity's.

    ``shares`` has for each sensor the share of each of ``PARTS`` in the variance of its differences
    from the reference. ``dark_dl`` and ``dark_mp`` are the dark uncertainty that all views would
    need, ``consistent`` names the largest consistent subset. The sensors ``aside`` share too few
    events, or there are too many.
    """

    quantity: str
    unit: str
    views: tuple[BudgetedView, ...]
    shares: tuple[dict[str, Estimate], ...]
    dark_dl: Estimate
    dark_mp: Estimate
    consistent: tuple[str, ...]
    events: int
    block: int
    aside: tuple[str, ...]


def uncertainty_budget(
    c: Columns, event: Int, names: Sequence[SeriesName], seed: int = 0
) -> UncertaintyBudget | str:
    """Return the budget of sensors of one quantity, or a sentence on why there is none.

    ``event`` (one a pair) numbers the reference of a pair; ``names`` has one entry a series.
    """
    if len(names) < 2:
        return (
            f"{len(names)} sensor and its reference are two views; three are needed to say whose "
            "uncertainty is wrong: a second sensor that meets the same references"
        )
    units = {each.unit for each in names} - {""}
    if len(units) > 1:
        return f"the sensors are in {' and '.join(sorted(units))}; convert them to one unit"
    chosen = common_set(c, event)
    if chosen is None:
        return (
            "no two sensors have a reference in common; three views of the same events are needed"
        )
    rows = np.sort(chosen.kept[: VIEWS_MAX - 1])
    joint = on_common_events(c.take(rows), np.concatenate([event[c.series == row] for row in rows]))
    events = 0 if joint is None else joint[0].value.size // rows.size
    if joint is None or events < EVENTS_MIN:
        return f"the sensors have {events} events in common; {EVENTS_MIN} are needed"
    sensors = [names[row] for row in rows.tolist()]
    return _budget(
        joint[0], sensors, [n.sensor for i, n in enumerate(names) if i not in rows], seed
    )


class _Stated(NamedTuple):
    """Mean stated variances: of each sensor, of its pairing, and of the reference."""

    sensors: Float
    pairing: Float
    reference: float


def _budget(
    c: Columns, names: Sequence[SeriesName], aside: Sequence[str], seed: int
) -> UncertaintyBudget:
    shape = (len(names), -1)
    error, u, u_ref = (each.reshape(shape) for each in (c.error, c.u, c.u_ref))
    least = (u_ref**2).min(axis=0)
    stated = _Stated((u**2).mean(axis=1), (u_ref**2 - least).mean(axis=1), float(least.mean()))
    events, block = error.shape[1], max(1, min(events_together(c), error.shape[1] // 10))
    usual = usual_us(c.u, c.value, c.reference, c.starts).reshape(shape)
    known = _Known.of(error, usual, np.sqrt(np.maximum(u_ref**2 - least, 0.0)), np.sqrt(least))
    drawn = _drawn(events, block, seed)
    at = _figures(known, np.arange(events), stated)
    again = [_figures(known, rows, stated) for rows in drawn]
    shown = _intervals(at.shown, np.array([each.shown for each in again]))
    dark = _intervals(at.dark, np.array([each.dark for each in again]))
    parts = _intervals(at.shares.ravel(), np.array([each.shares.ravel() for each in again]))
    pooled = _intervals(at.pooled, np.array([each.pooled for each in again]))
    words = [*(each.sensor for each in names), REFERENCE]
    claims = np.sqrt(np.append(stated.sensors, stated.reference))
    width = len(PARTS)
    return UncertaintyBudget(
        names[0].quantity,
        names[0].unit,
        tuple(
            BudgetedView(word, float(claim), seen, more, _judged(float(claim), seen))
            for word, claim, seen, more in zip(words, claims, shown, dark, strict=True)
        ),
        tuple(
            dict(zip(PARTS, parts[i * width : (i + 1) * width], strict=True))
            for i in range(len(names))
        ),
        pooled[0],
        pooled[1],
        tuple(words[i] for i in _consistent(known, block)),
        events,
        block,
        tuple(aside),
    )


def _judged(stated: float, shown: Estimate) -> str:
    if shown.lower > stated:
        return "understated"
    return "overstated" if shown.upper < stated else ""


class _Known(NamedTuple):
    """Values and stated variances of all views, the reference last: (views, events)."""

    value: Float
    variance: Float

    @classmethod
    def of(cls, error: Float, u: Float, u_pair: Float, u_ref: Float) -> _Known:
        value = np.vstack([error, np.zeros(error.shape[1])])
        return cls(value, np.vstack([u**2 + u_pair**2, u_ref**2]))


class _Figures(NamedTuple):
    shown: Float
    dark: Float
    shares: Float
    pooled: Float


def _figures(known: _Known, rows: Int, stated: _Stated) -> _Figures:
    value, variance = known.value[:, rows], known.variance[:, rows]
    own = three_cornered_hat(np.cov(value))
    pairing = np.minimum(stated.pairing, own[:-1])
    sensors, reference = own[:-1] - pairing, float(own[-1])
    inside = np.minimum(sensors, stated.sensors)
    low = min(reference, stated.reference)
    rows_of = np.stack(
        [
            inside,
            sensors - inside,
            pairing,
            np.full(sensors.size, low),
            np.full(sensors.size, reference - low),
        ],
        axis=1,
    )
    total = rows_of.sum(axis=1, keepdims=True)
    alone = np.append(sensors, reference)
    more = np.append(sensors - inside, reference - low)
    return _Figures(
        np.sqrt(alone),
        np.sqrt(more),
        rows_of / np.where(total > 0.0, total, 1.0),
        np.array([dersimonian_laird(value, variance), mandel_paule(value, variance)]),
    )


def three_cornered_hat(covariance: Float) -> Float:
    """Return the variance of each view, given the covariance of their values.

    ``covariance`` (views, views) may contain what all views have in common: only differences count.
    For three views it is Grubbs' and Allan's estimate, where that is not below 0.
    """
    views = covariance.shape[0]
    pairs = np.array([*combinations(range(views), 2)])
    one, other = pairs.T
    apart = covariance[one, one] + covariance[other, other] - 2.0 * covariance[one, other]
    if not apart.max() > 0.0:
        return np.zeros(views)
    weight = 1.0 / np.maximum(apart, 1e-12 * apart.max())
    design = np.zeros((len(pairs), views))
    design[np.arange(len(pairs)), one] = design[np.arange(len(pairs)), other] = 1.0
    variance: Float = scipy.optimize.nnls(design * weight[:, None], apart * weight)[0]
    return variance


def _centred(value: Float) -> Float:
    """Return values without the constant offset of each view from the others."""
    return value - value.mean(axis=1, keepdims=True)


def _spread(value: Float, variance: Float) -> Float:
    """Return the weighted sum of squares about the weighted mean, for each event."""
    weight = 1.0 / np.maximum(variance, 1e-12 * variance.max())
    mean = (weight * value).sum(axis=0) / weight.sum(axis=0)
    total: Float = (weight * (value - mean) ** 2).sum(axis=0)
    return total


def dersimonian_laird(value: Float, variance: Float) -> float:
    """Return the dark uncertainty of all views (views, events) after DerSimonian and Laird.

    It equates the means over events of the sum of squares and of its expectation. Lasting offsets
    do not count.
    """
    floored = np.maximum(variance, 1e-12 * variance.max())
    weight = 1.0 / floored
    total = weight.sum(axis=0)
    excess = _spread(_centred(value), floored).mean() - (len(value) - 1)
    slope = (total - (weight**2).sum(axis=0) / total).mean()
    return float(np.sqrt(max(excess / slope, 0.0)))


def mandel_paule(value: Float, variance: Float) -> float:
    """Return the dark uncertainty with which all views (views, events) agree on average."""
    off, freedom = _centred(value), len(value) - 1
    floored = np.maximum(variance, 1e-12 * variance.max())
    if _spread(off, floored).mean() <= freedom:
        return 0.0
    low, high = 0.0, float(np.sqrt((off**2).sum(axis=0).mean()))
    while _spread(off, floored + high**2).mean() > freedom:
        high *= 2.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        is_low = _spread(off, floored + middle**2).mean() > freedom
        low, high = (middle, high) if is_low else (low, middle)
    return 0.5 * (low + high)


def _consistent(known: _Known, block: int) -> tuple[int, ...]:
    """Return the largest subset of views that agree, offsets included; on a tie the closest one."""
    events = known.value.shape[1]
    for size in range(len(known.value), 1, -1):
        most = float(scipy.special.chdtri(events / block * (size - 1), 1.0 - _LEVEL)) * block
        misfits = []
        for some in combinations(range(len(known.value)), size):
            rows = list(some)
            misfits.append((float(_spread(known.value[rows], known.variance[rows]).sum()), some))
        least, some = min(misfits)
        if least <= most:
            return some
    return ()


def _drawn(events: int, block: int, seed: int) -> Int:
    """Return the events of each replicate: blocks drawn with replacement, on a circle."""
    random = np.random.default_rng(seed)
    blocks = -(-events // block)
    first = random.integers(0, events, (REPLICATES, blocks, 1))
    drawn: Int = ((first + np.arange(block)) % events).reshape(REPLICATES, -1)[:, :events]
    return drawn


def _intervals(at: Float, again: Float) -> list[Estimate]:
    ends = np.quantile(again, [0.5 - 0.5 * _DRAWN_LEVEL, 0.5 + 0.5 * _DRAWN_LEVEL], axis=0)
    return [
        Estimate(float(value), float(min(low, value)), float(max(high, value)))
        for value, low, high in zip(at, *ends, strict=True)
    ]


def budget_sentences(budget: UncertaintyBudget) -> list[str]:
    """Return sentences on whose uncertainty is wrong, and what the differences consist of."""
    first = sorted(budget.views, key=lambda view: not view.verdict)
    lines = [_view_sentence(view, budget.unit) for view in first]
    for view, parts in zip(budget.views, budget.shares, strict=False):
        listed = ", ".join(
            f"{_percent(part)} is {_WHOSE[name]}"
            for name, part in parts.items()
            if part.value >= 0.005
        )
        if listed:
            lines.append(f"Of the variance of {view.name}'s differences {listed}.")
    if budget.dark_mp.value > 0.0:
        more = f"{significant(budget.dark_mp.value)} {budget.unit}".rstrip()
        lines.append(f"For all to agree each would need {more} more (Mandel-Paule).")
    if len(budget.consistent) == len(budget.views):
        is_wrong = any(view.verdict for view in budget.views)
        lines.append(_TOGETHER if is_wrong else "All of them agree within what they state.")
    elif budget.consistent:
        lines.append(f"Those that agree within what they state: {', '.join(budget.consistent)}.")
    else:
        lines.append("No two of them agree within what they state.")
    if budget.aside:
        lines.append(f"{_left_out(budget)}: {', '.join(budget.aside)}.")
    return lines


def _left_out(budget: UncertaintyBudget) -> str:
    if len(budget.views) == VIEWS_MAX:
        return f"A budget has at most {VIEWS_MAX - 1} sensors; left out are these"
    return "Too few events in common with the others"


_TOGETHER: Final = (
    "Taken together they are no farther apart than they state: what some overstate makes up for "
    "what others understate."
)


def _view_sentence(view: BudgetedView, unit: str) -> str:
    low, high = significant(view.shown.lower), significant(view.shown.upper)
    shown = f"{significant(view.shown.value)} {unit}".rstrip()
    stated = f"{significant(view.stated)} {unit}".rstrip()
    name = "The reference" if view.name == REFERENCE else view.name
    verdict = (
        f"its uncertainty is {view.verdict}"
        if view.verdict
        else "that is right as far as can be told"
    )
    return f"{name} states {stated} and shows {shown} ({low} to {high}): {verdict}."


def _percent(part: Estimate) -> str:
    value, low, high = (round(100.0 * each) for each in part)
    return f"{value} % ({low} to {high})"
