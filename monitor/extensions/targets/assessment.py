"""Figures beside their targets: met, missed or not sure yet, and the sentence that says so.

Rules of this file: a target is met if the whole 95 % interval lies within it, missed if all of it
lies outside, and not sure yet otherwise. Of alternatives (the EPA's RMSE or NRMSE) one is enough.
Where nothing can be said, ``reason`` says why and what to do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Annotated, Final, NamedTuple

import numpy as np
from typing_extensions import TypedDict

from monitor.core.columns import Columns
from monitor.core.formatting import amount, count_of, finite, significant
from monitor.core.registry import SeriesName
from monitor.core.setting import About, Number
from monitor.core.verdict import Estimate
from monitor.decode.checks import Rejected
from monitor.decode.units import conversion
from monitor.extensions.targets.jackknife import jackknifed
from monitor.extensions.targets.moment_figures import (
    EPA_FIGURES,
    MomentOrigin,
    OrthogonalLine,
    log_expanded,
    moment_rows,
    orthogonal_line,
    parts_at_limit,
    performance_scales,
    plain_performance,
)
from monitor.extensions.targets.period_averages import Averages, period_averages
from monitor.extensions.targets.regulators import (
    DAY,
    EPA,
    EU,
    HOUR,
    Level,
    LimitRule,
    PerformanceRule,
    TargetRange,
    pollutant_of,
    pollutants_of,
)

FEWEST: Final = 20
CAPTURE: Final = 0.9  # of the periods, for EU rules: 2008/50 annex I
_ADVISED: Final = {"epa": {DAY: 30, HOUR: 720}, "eu": {DAY: 40, HOUR: 40}}
_PERIODS: Final = {DAY: ("daily", "days"), HOUR: ("hourly", "hours")}
_SHOWN: Final = {"pm25": "PM2.5", "pm10": "PM10"}
_SHARES: Final = ("NRMSE", "CV", "W")


class Question(NamedTuple):
    """Whose rules a series is held against; ``limit_value`` and ``u_ref`` replace the rules' own.

    ``pollutant`` is what it measures, empty for what its names say.
    """

    rules: str
    pollutant: str = ""
    limit_value: float | None = None
    u_ref: float | None = None


class TargetFigure(NamedTuple):
    """A figure with its 95 % interval, and the range in which its target wants it."""

    target: TargetRange
    estimate: Estimate

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None if that is not sure."""
        low, high = self.target.at_least, self.target.at_most
        if self.estimate.lower >= low and self.estimate.upper <= high:
            return True
        return False if self.estimate.upper < low or self.estimate.lower > high else None


class Assessment(NamedTuple):
    """One series against the rules; without figures ``reason`` says why.

    ``limit`` is in ``unit``, that of the series, ``factor`` times that of the rules; it is NaN for
    EPA targets. ``u_ref`` was taken off the scatter. ``data`` are the averages themselves.
    ``is_assumed``: the series states no unit, so it was taken for that of the rules.
    """

    question: Question
    pollutant: str = ""
    unit: str = ""
    reason: str = ""
    figures: tuple[TargetFigure, ...] = ()
    averages: int = 0
    seconds: float = math.nan
    capture: float = math.nan
    is_assumed: bool = False
    factor: float = 0.0
    limit: float = math.nan
    u_ref: float = math.nan
    line: OrthogonalLine | None = None
    notes: tuple[str, ...] = ()
    data: Averages | None = None

    @property
    def sentence(self) -> str:
        """The result in words."""
        if self.reason:
            return self.reason
        text = _of_performance(self) if self.question.rules == "epa" else _of_levels(self)
        return "; ".join((text, *self.notes))


def assess(one: Columns, name: SeriesName, question: Question, *, timed: bool = True) -> Assessment:
    """Return how the only series of ``one`` compares with the rules."""
    pollutant = question.pollutant or pollutant_of(name)
    if pollutant not in pollutants_of(question.rules):
        return Assessment(question, pollutant, name.unit, _unknown(pollutant, name, question.rules))
    rule = EPA[pollutant] if question.rules == "epa" else EU[question.rules][pollutant]
    factor, refusal = _factor(rule.unit, name.unit)
    if refusal and (isinstance(rule, PerformanceRule) or question.limit_value is None):
        return Assessment(question, pollutant, name.unit, refusal)
    averages = period_averages(one, rule.seconds, timed=timed)
    basis = Assessment(
        question,
        pollutant,
        name.unit or rule.unit,
        averages=averages.sensor.size,
        seconds=rule.seconds,
        capture=averages.capture,
        is_assumed=not name.unit,
        factor=factor,
        data=averages,
    )
    if reason := _unusable(averages, rule.seconds):
        return basis._replace(reason=reason)
    if isinstance(rule, PerformanceRule):
        return _with_performance(basis, averages, rule.targets)
    return _with_levels(basis, averages, rule)


def _factor(unit: str, wanted: str) -> tuple[float, str]:
    """Return by how much to multiply numbers of the rules, or 0 and why there is no such factor."""
    try:
        return conversion(unit, wanted).scale, ""
    except Rejected as error:
        advice = "convert it at its source, or with eu rules give a limit value in its unit"
        return 0.0, f"the rules are in {unit}, the series is in {wanted}: {error.detail}; {advice}"


def _unknown(pollutant: str, name: SeriesName, rules: str) -> str:
    known = ", ".join(pollutants_of(rules))
    if not pollutant:
        names = f"neither {name.quantity} nor {name.sensor}"
        return f"{names} is a pollutant known by that name; these rules are for {known}"
    return f"these rules say nothing of {written_pollutant(pollutant)}, only of {known}"


def _unusable(averages: Averages, seconds: float) -> str:
    period, periods = _PERIODS[seconds]
    n = averages.sensor.size
    if n < FEWEST:
        return (
            f"has {count_of(n, f'complete {period} average')}; {FEWEST} are needed: compare it for "
            f"more {periods}, or keep more pairs in its window"
        )
    if not np.ptp(averages.reference) > 0.0:
        return "its reference never changed, so no line can be laid through the averages"
    if not np.ptp(averages.sensor) > 0.0:
        return "it never changed while its reference did, so no line can be laid through them"
    return ""


# -- EU -------------------------------------------------------------------------------------------


def _with_levels(basis: Assessment, averages: Averages, limit: LimitRule) -> Assessment:
    question, factor, x, y = basis.question, basis.factor, averages.reference, averages.sensor
    value = limit.value * factor if question.limit_value is None else question.limit_value
    u_ref = averages.u_ref if question.u_ref is None else question.u_ref
    if question.u_ref is None and u_ref == 0.0:
        u_ref = limit.u_ref * factor
    origin = MomentOrigin(float(x.mean()), float(y.mean()))
    rows, about = moment_rows(x, y, origin), (x.size, origin, value, u_ref)
    parts = parts_at_limit(rows.mean(axis=0), *about)
    if not math.isfinite(parts.bias):
        return basis._replace(reason="it does not follow its reference at all")
    of_means = partial(log_expanded, n=x.size, origin=origin, limit=value, u_ref=u_ref)
    w = Estimate(*np.exp(jackknifed(rows, of_means)[:, 0]).tolist())
    return basis._replace(
        figures=tuple(TargetFigure(_of_level(each), w) for each in limit.levels),
        limit=value,
        u_ref=u_ref,
        line=orthogonal_line(x, y),
        notes=tuple(_eu_notes(basis, averages, value, float(parts.scatter))),
    )


def _of_level(level: Level) -> TargetRange:
    return TargetRange(level.name, "W", at_most=level.at_most)


def _eu_notes(basis: Assessment, averages: Averages, value: float, scatter: float) -> Iterator[str]:
    low, high = float(averages.reference.min()), float(averages.reference.max())
    if not low <= value <= high:
        reach = f"{significant(low)} to {amount(high, basis.unit)}"
        yield f"extrapolated, because its references reach from {reach}"
    if scatter < 0.0:
        yield "it scatters less than the reference's uncertainty, which counts as no scatter"
    yield from _shortage(basis)
    if basis.capture < CAPTURE:
        yield f"{_percent(basis.capture)} of the {_PERIODS[basis.seconds][1]} are there, not 90 %"


def _shortage(basis: Assessment) -> Iterator[str]:
    if basis.is_assumed:
        yield f"taken as {basis.unit}, because its pairs state no unit"
    advised = _ADVISED["epa" if basis.question.rules == "epa" else "eu"][basis.seconds]
    if basis.averages < advised:
        period = _PERIODS[basis.seconds][0]
        yield f"{basis.averages} {period} averages, fewer than the {advised} that the rules ask for"


def _of_levels(of: Assessment) -> str:
    """Return "41 % (35 to 48 %) at the limit value of 200 ug/m3: class 2, ..."."""
    levels = [each for each in of.figures if each.target.figure == "W"]
    w = levels[0].estimate
    number = f"{_percent(w.value)} ({_bare(w.lower)} to {_percent(w.upper)})"
    at = f"{number} at the limit value of {amount(of.limit, of.unit, 3)}"
    sure = next((each for each in levels if each.is_met), None)
    likely = next((each for each in levels if each.is_met is not False), None)
    if likely is None:
        return f"{at}: meets no objective; {_needs(levels[-1])}"
    tighter = [each for each in levels if each.is_met is False]
    needed = f"; {_needs(tighter[-1])}" if tighter else ""
    if sure is likely:
        allowed = _percent(sure.target.at_most)
        return f"{at}: {sure.target.aspect}, which allows {allowed}{needed}"
    below = sure.target.aspect if sure else "none"
    return (
        f"{at}: not sure yet whether {likely.target.aspect}, which allows "
        f"{_percent(likely.target.at_most)}, or {below}{needed}"
    )


def _needs(figure: TargetFigure) -> str:
    name = figure.target.aspect
    verb = "need" if name.endswith("measurements") else "needs"
    return f"{name} {verb} {_percent(figure.target.at_most)}"


# -- EPA ------------------------------------------------------------------------------------------


def _with_performance(
    basis: Assessment, averages: Averages, targets: Sequence[TargetRange]
) -> Assessment:
    x, y = averages.reference, averages.sensor
    origin = MomentOrigin(float(x.mean()), float(y.mean()))
    scales = jackknifed(moment_rows(x, y, origin), partial(performance_scales, origin=origin))
    ends = plain_performance(scales.T).T
    known = {name: Estimate(*ends[:, at].tolist()) for at, name in enumerate(EPA_FIGURES)}
    figures = [
        TargetFigure(in_unit(each, basis.factor), known[each.figure])
        for each in targets
        if each.figure in known
    ]
    return basis._replace(figures=tuple(figures), notes=tuple(_shortage(basis)))


def in_unit(target: TargetRange, factor: float) -> TargetRange:
    """Return a target in the unit of the series."""
    if not target.unit:
        return target
    return target._replace(at_least=target.at_least * factor, at_most=target.at_most * factor)


def _of_performance(of: Assessment) -> str:
    """Return "meets 3 of 4 targets for PM2.5; misses linearity: R2 ..."."""
    by_aspect = aspects(of.figures)
    met = sum(each is True for each in by_aspect.values())
    text = f"meets {met} of {len(by_aspect)} targets for {written_pollutant(of.pollutant)}"
    missed = [name for name, is_met in by_aspect.items() if is_met is False]
    unsure = [name for name, is_met in by_aspect.items() if is_met is None]
    if missed:
        text += f"; misses {_listed(of, missed)}"
    return f"{text}; not sure yet of {_listed(of, unsure)}" if unsure else text


def aspects(figures: Sequence[TargetFigure]) -> Mapping[str, bool | None]:
    """Return whether each target is met, by its aspect; of alternatives one is enough."""
    outcomes: dict[str, bool | None] = {}
    for aspect, some in groupby(figures, key=lambda each: each.target.aspect):
        verdicts = [each.is_met for each in some]
        doubt = None if None in verdicts else False
        outcomes[aspect] = True if True in verdicts else doubt
    return outcomes


def _listed(of: Assessment, names: Sequence[str]) -> str:
    some = [each for each in of.figures if each.target.aspect in names]
    return ", ".join(
        f"{each.target.figure} {interval_text(each, of.unit)} for {range_text(each, of.unit)}"
        for each in some
    )


# -- words and documents --------------------------------------------------------------------------


def written_pollutant(pollutant: str) -> str:
    """Return a pollutant as people write it."""
    return _SHOWN.get(pollutant, pollutant.upper() if len(pollutant) < 4 else pollutant)


def _percent(share: float) -> str:
    return f"{_bare(share)} %"


def _bare(share: float) -> str:
    return significant(100.0 * share)


def _number(figure: TargetFigure, number: float) -> str:
    if figure.target.figure in _SHARES:
        return _percent(number)
    return significant(number)


def interval_text(figure: TargetFigure, unit: str) -> str:
    """Return a figure with its interval."""
    value, lower, upper = (_number(figure, each) for each in figure.estimate)
    return f"{value}{f' {unit}' if figure.target.unit else ''} ({lower} to {upper})"


def range_text(figure: TargetFigure, unit: str) -> str:
    """Return the range of a target to all its digits, with a unit if the figure has one."""
    share = figure.target.figure in _SHARES
    ends = (figure.target.at_least, figure.target.at_most)
    low, high = (f"{100.0 * end if share else end:g}" for end in ends)
    of = " %" if share else f" {unit}" if figure.target.unit else ""
    if not math.isfinite(figure.target.at_least):
        return f"at most {high}{of}"
    if not math.isfinite(figure.target.at_most):
        return f"at least {low}{of}"
    return f"{low} to {high}{of}"


class LineDocument(TypedDict):
    """The orthogonal regression y = a + b x with the standard uncertainties of a and b."""

    a: float
    b: float
    u_a: float
    u_b: float
    rss: float


class FigureDocument(TypedDict):
    """A figure with its 95 % interval beside its target."""

    figure: str
    target: Annotated[str, About("Figures of one target are alternatives: one is enough.")]
    value: Number
    lower: Number
    upper: Number
    at_least: Number
    at_most: Number
    met: Annotated[bool | None, About("Null: the interval is not all on one side.")]


class AssessmentDocument(TypedDict):
    """A series against the rules of a regulator."""

    rules: str
    pollutant: str | None
    sentence: Annotated[str, About("The result, or why there is none, in words.")]
    usable: Annotated[bool, About("Whether anything can be said.")]
    averages: Annotated[int, About("Averages that there are.")]
    hours: Annotated[Number, About("That each is over.")]
    capture: Annotated[Number, About("Share of the periods that have an average.")]
    limit_value: Annotated[Number, About("In the unit of the series.")]
    u_ref: Annotated[Number, About("Uncertainty of the reference, taken off the scatter.")]
    line: LineDocument | None
    figures: list[FigureDocument]


class TargetMembers(TypedDict, total=False):
    """The member; there with `scoring.targets`."""

    targets: Annotated[
        AssessmentDocument | None, About("As a series of `monitor targets --json` has it.")
    ]


def _line_document(line: OrthogonalLine) -> LineDocument:
    return LineDocument(a=line.a, b=line.b, u_a=line.u_a, u_b=line.u_b, rss=line.rss)


def assessment_document(of: Assessment) -> AssessmentDocument:
    """Return the result as plain values, for JSON."""
    line = of.line
    return AssessmentDocument(
        rules=of.question.rules,
        pollutant=of.pollutant or None,
        sentence=of.sentence,
        usable=not of.reason,
        averages=of.averages,
        hours=finite(of.seconds / HOUR),
        capture=finite(of.capture),
        limit_value=finite(of.limit),
        u_ref=finite(of.u_ref),
        line=None if line is None else _line_document(line),
        figures=[
            FigureDocument(
                figure=each.target.figure,
                target=each.target.aspect,
                value=finite(each.estimate.value),
                lower=finite(each.estimate.lower),
                upper=finite(each.estimate.upper),
                at_least=finite(each.target.at_least),
                at_most=finite(each.target.at_most),
                met=each.is_met,
            )
            for each in of.figures
        ],
    )
