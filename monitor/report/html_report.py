"""A report of recorded pairs: one self-contained HTML page, printable and reproducible.

Rules of this file: the page uses the same functions as everything else; the same pairs, settings
and version give the same bytes except for the line with the date; every interval names method and
seed.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from markupsafe import Markup

from monitor import __version__
from monitor.core.analysis.adjustments import suggestions
from monitor.core.analysis.prequential import Trial, trials
from monitor.core.analysis.ranking import (
    Profile,
    Ranking,
    left_out_sentence,
    ranking,
    ranking_sentence,
    score_of,
)
from monitor.core.analysis.remarks import remarks
from monitor.core.columns import Columns
from monitor.core.diagnosis.fault_reports import FaultReport
from monitor.core.scores.intervals import (
    Interval,
    abc_rce,
    verdict,
    zms_interval,
)
from monitor.core.scores.proper_scores import Density
from monitor.core.scores.statistics import STATISTICS
from monitor.core.snapshot.details import Detail
from monitor.core.verdict import FAULT, IS_RIGHT, UNDECIDED
from monitor.core.verdict.sentences import day
from monitor.core.verdict.verdict import Estimate
from monitor.core.verdict.words import counted, estimated
from monitor.http.figures import (
    PICTURE,
    Figure,
    block_figure,
    figures,
    score_figures,
    zeta_figure,
)
from monitor.http.fleet_picture import dot, fleet_picture, spread_of
from monitor.http.page_files import inline_style, templates
from monitor.report.incidents import lasting
from monitor.report.recorded import Recorded, events_of
from monitor.report.scored import Scored, figure

SEED: Final = 1
_DRAWN_PAIRS: Final = 2000  # more would make a plot larger but not clearer
_NAN: Final = float("nan")
_U: Final = {"valid": "right", "invalid": "not right", "undecided": "perhaps right"}
_REMEDIES: Final = {
    "offset": "offset to subtract",
    "gain": "gain to divide by",
    "scale": "factor on u",
    "both": "factor on u once the offset is gone",
    "optimal": "factor on u that costs least",
    "conformal": "factor on u for the stated level",
    "addend": "to add to each half-width",
}


class Chapter(NamedTuple):
    """The report's content on one series."""

    name: str
    quantity: str
    unit: str
    pairs: int
    sentence: str
    advice: str
    incidents: tuple[str, ...]
    remarks: tuple[str, ...]
    intervals: tuple[tuple[str, str], ...]
    statistics: tuple[tuple[str, str, str, str, str], ...]
    judged: str
    remedies: tuple[tuple[str, str], ...]
    trials: list[Trial]
    figures: tuple[Figure, ...]
    drawn: int


class RankedQuantity(NamedTuple):
    """The ranking of the series of one quantity and unit, with its sentences.

    ``rows`` are the series compared, in the order of the table's arrays.
    """

    quantity: str
    unit: str
    table: Ranking
    rows: tuple[int, ...]
    said: str
    aside: str


class ReportSource(NamedTuple):
    """The source of the pairs and the options; all of it is printed.

    ``further`` are sentences of extensions on series, by their rows.
    """

    title: str
    level: float
    density: Density
    settings: Mapping[str, str] = {}
    profile: Profile = "balanced"
    covariates: tuple[str, ...] = ()
    further: Mapping[int, Sequence[str]] = {}


def report(recorded: Recorded, source: ReportSource, date: str) -> str:
    """Return the page; ``date`` is on one line of it and nowhere else."""
    scored = Scored(recorded, source.level, covariates=source.covariates)
    windows = scored.windows
    alike = _alike(recorded)
    tables = [_ranked(recorded, windows, some, source) for some in alike]
    rankings = [each for each in tables if each is not None]
    chapters = [_chapter(scored, row, source) for row in range(len(recorded.names))]
    return (
        templates()
        .get_template("report.html")
        .render(
            source=source,
            date=date,
            version=__version__,
            style=inline_style(),
            chapters=chapters,
            rankings=rankings,
            kinds=len(alike),
            drawings=[
                *_picture(scored),
                *_fleet_figures(recorded, windows, rankings, source),
            ],
            digest=hashlib.sha256(recorded.pairs.tobytes()).hexdigest(),
            seed=SEED,
            statistics=[(name, each.help, each.source) for name, each in STATISTICS.items()],
            notes=recorded.notes,
            total=int(windows.counts.sum()),
            text=figure,
        )
    )


def _chapter(scored: Scored, row: int, source: ReportSource) -> Chapter:
    recorded, judged = scored.recorded, scored.verdicts[row]
    name, one = recorded.names[row], scored.windows.take(np.array([row]))
    last = one.rows(slice(max(0, one.value.size - _DRAWN_PAIRS), None))
    key = name_of(name)
    mine = [each for each in scored.incidents if (each["sensor"], each["quantity"]) == key]
    detail = Detail(
        time=float(one.time[-1]),
        name=name,
        pairs=last,
        origins=(),
        total=one.value.size,
        events=(),
        fault_report=FaultReport(judged.fault, judged) if judged.fault else None,
        density=source.density,
        level=source.level,
        patience=_NAN,
    )
    leading = score_of(source.profile, source.density)
    return Chapter(
        name=name.sensor,
        quantity=name.quantity,
        unit=name.unit,
        pairs=one.value.size,
        sentence=judged.sentence,
        advice=judged.advice,
        incidents=tuple(_said(each) for each in mine),
        remarks=(
            *source.further.get(row, ()),
            *(f"By {each['covariate']}: it {each['sentence']}." for each in scored.where[row]),
            *remarks(one, np.random.default_rng(SEED), judged.error_model),
        ),
        intervals=tuple(
            (f"{what.upper()} of all pairs", _interval(each, row))
            for what, each in scored.intervals.items()
        ),
        statistics=tuple(
            (
                key,
                figure(float(scored.statistics[key][row])),
                figure(scored.statistics_of(row)[key]),
                each.help,
                each.source,
            )
            for key, each in STATISTICS.items()
        ),
        judged=_judged(scored, row),
        remedies=tuple(
            (_REMEDIES[what], "".join(estimated(Estimate(each.value, each.lower, each.upper))))
            for what, each in suggestions(one).items()
            if math.isfinite(each.value)
        ),
        trials=trials(one, source.density),
        figures=(
            *figures(detail, leading, begin=judged.begin_in(last.time), timed=recorded.timed),
            block_figure(one, leading, name.unit, timed=recorded.timed),
        ),
        drawn=last.value.size,
    )


def _judged(scored: Scored, row: int) -> str:
    """Return the words for the pairs that the verdict is from, empty if these are all."""
    if row not in scored.judged:
        return ""
    pairs, since = scored.judged[row][0], day(scored.verdicts[row].first)
    return f"last {counted(pairs)}{f', since {since}' if since else ''}"


def name_of(name: Any) -> tuple[str, str]:  # noqa: ANN401 - a series' name of any kind
    """Return (sensor, quantity)."""
    return name.sensor, name.quantity


def _said(alert: Mapping[str, Any]) -> str:
    text = f"{alert['sentence']} (alert {alert['alert']}, {lasting(alert)})"
    return f"{text}; not its own: {alert['explained']}" if alert["explained"] else text


def _interval(interval: Interval, row: int) -> str:
    if not math.isfinite(interval.lower[row]):
        return "too few pairs"
    ends = f"{figure(interval.lower[row])} to {figure(interval.upper[row])}"
    zeta = float(interval.zeta[row])
    return f"{ends}, zeta {figure(zeta)}: u is {_U[verdict(zeta)]}"


def _alike(recorded: Recorded) -> list[list[int]]:
    """Return the series of each quantity; apart by unit where they state several."""
    units: dict[str, set[str]] = defaultdict(set)
    for name in recorded.names:
        units[name.quantity] |= {name.unit} - {""}
    alike: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row, name in enumerate(recorded.names):
        alike[name.quantity, name.unit if len(units[name.quantity]) > 1 else ""].append(row)
    return [*alike.values()]


def _ranked(
    recorded: Recorded, windows: Columns, some: list[int], source: ReportSource
) -> RankedQuantity | None:
    """Return the ranking on common events, which share a reference; None if there are none."""
    sensors = [recorded.names[row].sensor for row in some]
    if len(some) < 2:
        return None
    table = ranking(
        windows.take(np.array(some)),
        events_of(recorded)[np.isin(windows.series, some)],
        seed=SEED,
        profile=source.profile,
        density=source.density,
    )
    if table is None:
        return None
    places = table.common.kept.tolist()
    return RankedQuantity(
        recorded.names[some[0]].quantity,
        recorded.names[some[0]].unit,
        table,
        tuple(some[place] for place in places),
        ranking_sentence(table, [sensors[place] for place in places]),
        left_out_sentence(table, sensors),
    )


def _fleet_figures(
    recorded: Recorded,
    windows: Columns,
    rankings: Sequence[RankedQuantity],
    source: ReportSource,
) -> list[Figure]:
    """Return scores against each other and the map of zeta, nothing for two series."""
    if len(recorded.names) < 3:
        return []
    names = [name.sensor for name in recorded.names]
    if len({name.quantity for name in recorded.names}) > 1:
        names = [f"{name.sensor} {name.quantity}" for name in recorded.names]
    scores: list[Figure] = []
    for ranked in rankings:
        means = {name: each.mean for name, each in ranked.table.scores.items()}
        compared = [names[row] for row in ranked.rows]
        if len(compared) > 2:
            scores += score_figures(means, source.density, compared)
    return [*scores, zeta_figure(zms_interval(windows).zeta, abc_rce(windows).zeta, names)]


_STATES: Final = {FAULT: "firing", IS_RIGHT: IS_RIGHT, UNDECIDED: UNDECIDED}


def _picture(scored: Scored) -> list[Figure]:
    """Return offset and spread of all series, nothing for two."""
    names, judged = scored.recorded.names, scored.verdicts
    if len(names) < 3:
        return []
    statistics = [scored.statistics_of(row) for row in range(len(names))]
    offset = np.array([each["z_mean"] for each in statistics])
    spread = spread_of(offset, np.array([each["zms"] for each in statistics]))
    shown = [
        dot(
            name,
            (_STATES[judged[row].state], judged[row].sentence),
            (float(offset[row]), float(spread[row])),
            f"#s{row + 1}",
        )
        for row, name in enumerate(names)
    ]
    drawn = Markup(fleet_picture(shown))  # noqa: S704 - it escapes its words
    return [Figure("Offset and spread in its own u.", PICTURE, drawn)]
