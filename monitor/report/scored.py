"""A recorded file scored: statistics, intervals and a verdict for each of its series.

Rules of this file: one result behind ``monitor score``, its JSON and :func:`monitor.score`; the
numbers come from the core. Expensive parts (verdicts, incidents, where along a covariate a series
is wrong) are computed on request. Covariates are requested by name: columns of a file of pairs, the
hour, the level.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from monitor.core.analysis.explained_by import Explanation, explained_by
from monitor.core.analysis.explained_words import explained_document, with_explanation
from monitor.core.analysis.prequential import advice_anew
from monitor.core.analysis.resampling import bca_rce, bca_zms
from monitor.core.analysis.where import BUILT_IN, Covariate, calibrated_where
from monitor.core.analysis.where_words import where_document
from monitor.core.columns import Columns
from monitor.core.diagnosis.fault_reports import last_pairs
from monitor.core.formatting import aligned, finite
from monitor.core.scores.intervals import Interval, abc_rce, verdict, zms_interval
from monitor.core.scores.proper_scores import Density, of_density
from monitor.core.scores.statistics import STATISTICS, compute
from monitor.core.verdict import Verdict, document
from monitor.core.verdict.sentences import day
from monitor.files.input_file import column_name
from monitor.report.incidents import Findings, dated_rules, findings_of, incident_document, lasting
from monitor.report.recorded import Recorded
from monitor.report.wrong_references import WrongReferences, wrong_references


def where_of(
    recorded: Recorded, windows: Columns, row: int, names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return where along each of ``names`` the series ``row`` is wrong.

    ``windows`` are all pairs of each series. A name is one of ``BUILT_IN``, which are made from the
    pairs, or one of the file's covariates; hours need times. Categories have no range.
    """
    if not names:
        return []
    one, unit, first = windows.take(np.array([row])), recorded.names[row].unit, windows.starts[row]
    columns = _covariates(recorded, slice(first, first + one.value.size), names)
    timed = one if recorded.timed else replace(one, time=np.full(one.time.size, np.nan))
    asked = (BUILT_IN[name](timed, unit) if name in BUILT_IN else columns[name] for name in names)
    ranges = (each for each in asked if not each.categories)
    share = recorded.rules[row].systematic.share_of(one.u, one.u_ref).max(keepdims=True)
    return [
        where_document(calibrated_where(one, each, asked=len(names), systematic=share), unit)
        for each in ranges
    ]


def _covariates(recorded: Recorded, rows: slice, names: Sequence[str]) -> dict[str, Covariate]:
    """Return those of ``names`` that are the file's covariates, of some of its pairs."""
    return {
        name: Covariate(
            name, recorded.covariates[name][rows], categories=recorded.categories.get(name, ())
        )
        for name in names
        if name not in BUILT_IN
    }


def covariates_of(text: str) -> tuple[str, ...]:
    """Return the names of covariates in an option's text, each once, as those of columns."""
    return tuple(dict.fromkeys(column_name(each) for each in text.split(",") if each.strip()))


def in_file(names: Sequence[str]) -> list[str]:
    """Return the names that a file must have a column for."""
    return [name for name in names if name not in BUILT_IN]


VERSION: Final = 2
SEED: Final = 20_240_210
_NAMED: Final = 5
_BIAS_MAX: Final = 0.1  # of the interval's width, from which the bootstrap's bias counts
REPLICATES: Final = 10_000
_HEADS: Final = (
    *("sensor", "quantity", "n", "bias", "CRPS", "/ expected", "ZMS", "95 % interval"),
    *("coverage", "information"),
)


class Scored:
    """Statistics of all pairs of each series, in the order of ``recorded.names``.

    ``level`` is the probability of intervals that are made from u; ``bca``: intervals of ZMS and
    RCE by the BCa bootstrap of independent pairs, instead of the formulas used live. Along
    ``covariates`` the result shows where a series is wrong.
    """

    def __init__(
        self,
        recorded: Recorded,
        level: float,
        *,
        bca: bool = False,
        covariates: Sequence[str] = (),
    ) -> None:
        self._covariates: Final = covariates
        self.recorded: Final = recorded
        self.windows: Final = recorded.columns(level)
        self.statistics: Final = compute(self.windows, STATISTICS)
        self.intervals: Final[dict[str, Interval]] = (
            {
                "zms": bca_zms(self.windows, seed=SEED, replicates=REPLICATES),
                "rce": bca_rce(self.windows, seed=SEED, replicates=REPLICATES),
            }
            if bca
            else {"zms": zms_interval(self.windows), "rce": abc_rce(self.windows)}
        )

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """The verdict on each series; its advice says if adjusting it anew and anew helps.

        A covariate that explains its errors is part of it.
        """
        return [self._advised(*each) for each in enumerate(self._findings.verdicts)]

    @cached_property
    def explained(self) -> dict[int, Explanation]:
        """What explains the errors of each series, where one of the file's covariates does.

        A wrong reference would give its sensors such errors too, so they have none.
        """
        rows = [row for row in range(len(self.recorded.names)) if not self.wrong.get(row)]
        explained = {row: self._explained_by(row) for row in rows if in_file(self._covariates)}
        return {row: each for row, each in explained.items() if each is not None}

    def _explained_by(self, row: int) -> Explanation | None:
        one = self.windows.take(np.array([row]))
        pairs = last_pairs(one, [dated_rules(self.recorded, row)])[0]
        first = int(self.windows.starts[row])
        rows = slice(first, first + one.value.size)
        covariates = _covariates(self.recorded, rows, self._covariates).values()
        return explained_by(pairs, [each.of_last(pairs.n) for each in covariates])

    def _advised(self, row: int, verdict: Verdict) -> Verdict:
        if row in self.explained:
            unit = self.recorded.names[row].unit
            return with_explanation(verdict, self.explained[row], unit)
        one = self.windows.take(np.array([row]))
        anew = advice_anew(one, verdict, self.recorded.names[row].unit)
        longer = f"{verdict.advice}; or {anew}"
        return verdict._replace(advice=longer) if anew and verdict.advice else verdict

    @cached_property
    def judged(self) -> dict[int, tuple[int, dict[str, float]]]:
        """How many pairs verdicts are from that are not from all pairs, and their statistics."""
        begins = {
            row: each.begin_in(self.windows.time[first : first + count])
            for row, (each, first, count) in enumerate(
                zip(self.verdicts, self.windows.starts, self.windows.counts, strict=True)
            )
        }
        later = {row: begin for row, begin in begins.items() if begin}
        if not later:
            return {}
        part = self.windows.ends(np.array([*later]), np.array([*later.values()]))
        columns = {key: each.tolist() for key, each in compute(part, STATISTICS).items()}
        return {
            row: (int(count), {key: each[at] for key, each in columns.items()})
            for at, (row, count) in enumerate(zip(later, part.counts, strict=True))
        }

    def statistics_of(self, row: int) -> dict[str, float]:
        """Return the statistics of the pairs that the verdict on a series is from."""
        if row in self.judged:
            return self.judged[row][1]
        return {key: float(each[row]) for key, each in self.statistics.items()}

    @cached_property
    def incidents(self) -> list[dict[str, Any]]:
        """The incidents that the daemon would have raised, in the order of their beginning."""
        return [incident_document(each, self.recorded) for each in self._findings.incidents]

    @cached_property
    def _findings(self) -> Findings:
        return findings_of(self.recorded, self.windows, self.wrong)

    @cached_property
    def wrong(self) -> WrongReferences:
        """When shared references were wrong, by the series that were right then."""
        return wrong_references(self.recorded, self.windows)

    @cached_property
    def where(self) -> list[list[dict[str, Any]]]:
        """Where along each covariate each series is wrong."""
        rows = range(len(self.recorded.names))
        return [where_of(self.recorded, self.windows, row, self._covariates) for row in rows]

    @property
    def series(self) -> list[dict[str, Any]]:
        """Each series as plain values, for JSON."""
        return [
            {
                "sensor": name.sensor,
                "quantity": name.quantity,
                "unit": name.unit,
                "n": int(self.windows.counts[row]),
                "verdict": document(self.verdicts[row], name.unit),
                **(self._along(row) if self._covariates else {}),
                "statistics": {key: finite(each[row]) for key, each in self.statistics.items()},
                "judged": {key: finite(each) for key, each in self.statistics_of(row).items()},
                "intervals": {
                    key: entry
                    for key, each in self.intervals.items()
                    if (entry := _interval(each, row)) is not None
                },
            }
            for row, name in enumerate(self.recorded.names)
        ]

    def _along(self, row: int) -> dict[str, Any]:
        of, unit = self.explained.get(row), self.recorded.names[row].unit
        document = None if of is None else explained_document(of, unit)
        return {"where": self.where[row], "explained_by": document}

    def document(self) -> dict[str, Any]:
        """Return everything as plain values: ``monitor score --json`` prints it."""
        document: dict[str, Any] = {"version": VERSION, "series": self.series}
        return document | {"alerts": self.incidents}

    def lines(self, density: Density = "normal") -> list[str]:
        """Return the table, verdicts and incidents that ``monitor score`` prints."""
        parts = (self._table(density), self._biases(), self._verdicts(), self._places())
        return [*(line for part in parts for line in part), *self._raised()]

    def _table(self, density: Density) -> list[str]:
        zms = self.intervals["zms"]
        rows: list[tuple[str, ...]] = [_HEADS]
        for row, name in enumerate(self.recorded.names):
            of_all = {key: float(each[row]) for key, each in self.statistics.items()}
            of_all |= {"zms_lower": float(zms.lower[row]), "zms_upper": float(zms.upper[row])}
            count = str(self.windows.counts[row])
            figures = _figures(of_all, density, name.unit)
            rows.append((name.sensor, name.quantity, count, *figures))
            if row in self.judged:
                pairs, of_last = self.judged[row]
                since = day(self.verdicts[row].first)
                last = f"  since {since}" if since else "  its last"
                rows.append((last, "", str(pairs), *_figures(of_last, density, name.unit)))
        return aligned(rows)

    def _biases(self) -> list[str]:
        """Return a line on the bias of each bootstrap, which must be small beside the interval."""
        lines = []
        for row, name in enumerate(self.recorded.names):
            for statistic, each in self.intervals.items():
                if each.bias is not None and math.isfinite(each.bias[row]):
                    share = abs(each.bias[row]) / (each.upper[row] - each.lower[row])
                    lines.append(
                        f"{name.sensor} {name.quantity}, {statistic.upper()}: b_BS "
                        f"{each.bias[row]:.2g}, {share:.1%} of its interval's width"
                        + (": too much, do not rely on the interval" if share > _BIAS_MAX else "")
                    )
        return ["", "bias of the bootstrap", *lines] if lines else []

    def _verdicts(self) -> list[str]:
        lines = ["", "verdicts"]
        for name, judged in zip(self.recorded.names, self.verdicts, strict=True):
            advice = f"; to fix it: {judged.advice}" if judged.advice else ""
            lines.append(f"{name.sensor} {name.quantity}: {judged.sentence}{advice}")
        return lines

    def _places(self) -> list[str]:
        lines = ["", "by covariate"] if any(self.where) else []
        for name, places in zip(self.recorded.names, self.where, strict=True):
            lines += [f"{name.sensor} {name.quantity}: {each['sentence']}" for each in places]
        return lines

    def _raised(self) -> list[str]:
        own = [each for each in self.incidents if not each["explained"]]
        lines = ["", "incidents the daemon would have raised"] if own else []
        lines += [f"{lasting(each)}: {each['sentence']} ({each['quantity']})" for each in own]
        return [*lines, *self._explained()]

    def _explained(self) -> list[str]:
        """Return a line for each wrong reference that explains alerts of some sensors."""
        explained: dict[str, dict[str, None]] = {}
        for each in self.incidents:
            if each["explained"]:
                explained.setdefault(each["explained"], {})[each["sensor"]] = None
        lines = [""] if explained else []
        for why, sensors in explained.items():
            named = ", ".join([*sensors][:_NAMED])
            more = f" and {len(sensors) - _NAMED} others" if len(sensors) > _NAMED else ""
            lines.append(f"alerts of {named}{more} would be held back: {why}")
        return lines


def _figures(statistics: Mapping[str, float], density: Density, unit: str) -> tuple[str, ...]:
    """Return the cells of the table under the heads from "bias" on."""
    crps = of_density("crps", density)
    return (
        f"{figure(statistics['bias'])} {unit}".strip(),
        figure(statistics[crps]),
        figure(statistics[f"{crps}_expected_ratio"]),
        figure(statistics["zms"]),
        f"[{figure(statistics['zms_lower'])}, {figure(statistics['zms_upper'])}]",
        figure(statistics["coverage"]),
        figure(statistics["auucc_partial_gain"]),
    )


def _interval(interval: Interval, row: int) -> dict[str, Any] | None:
    if not math.isfinite(interval.lower[row]):
        return None
    bias = {} if interval.bias is None else {"bias": finite(interval.bias[row])}
    return {
        "method": interval.method,
        "level": interval.level,
        "lower": finite(interval.lower[row]),
        "upper": finite(interval.upper[row]),
        **bias,
        "zeta": finite(interval.zeta[row]),
        "verdict": verdict(float(interval.zeta[row])),
        "replicates": interval.replicates,
        "seed": interval.seed,
    }


def figure(number: float) -> str:
    """Return a number with four digits, a dash where it is not defined."""
    return f"{number:.4g}" if math.isfinite(number) else "-"
