"""The figures of the series whose settings ask for them, kept up to date with their windows.

Rules of this file: figures are of the pairs that the verdict is of, such as those since a repair,
but of the whole window where a verdict could be of no more: a month of hours is more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from markupsafe import Markup

from monitor.core.columns import Columns
from monitor.core.diagnosis.columns_of import SeriesColumns
from monitor.core.diagnosis.onsets import PAIRS_MAX
from monitor.core.model import Float, Int
from monitor.core.snapshot.additions import Added, FleetFacts, OwnFindings
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.snapshot.window_results import WindowResults
from monitor.core.steps import Steps
from monitor.extensions.targets.assessment import (
    Assessment,
    TargetMembers,
    aspects,
    assess,
    assessment_document,
)
from monitor.extensions.targets.recorded_targets import asked_of

_HELPS: Final = {
    "expanded_uncertainty_ratio": "Relative expanded uncertainty (k = 2) at the limit value, by "
    "`scoring.targets`.",
    "expanded_uncertainty_upper_ratio": "Upper end of its 95 % interval: what is certainly kept.",
    "targets_met_ratio": "Share of the targets of `scoring.targets` that are certainly met.",
}
METRICS: Final = {f"monitor_{name}": words for name, words in _HELPS.items()}
_SERIES_AT_ONCE: Final = 4  # a millisecond each


class _Findings(OwnFindings):
    def __init__(self, assessments: Mapping[int, Assessment]) -> None:
        self._assessments: Final = assessments

    def document(self, now: Snapshot, row: int) -> TargetMembers:
        """Return the key ``targets``, as a series of ``monitor targets --json`` has it."""
        shown = row in self._assessments and not now.withdrawn[row]
        return TargetMembers(targets=assessment_document(self._assessments[row]) if shown else None)

    def fragments(self, now: Snapshot, row: int) -> tuple[str, str]:
        """Return the sentence below the verdict."""
        if row not in self._assessments or now.withdrawn[row]:
            return "", ""
        of = self._assessments[row]
        words = Markup("<p>By the rules <code>{}</code>: {}.</p>")
        return words.format(of.question.rules, of.sentence), ""


class LiveTargets:
    """State: the assessment of each series that is asked for."""

    name: Final = "targets"

    def __init__(self) -> None:
        self._assessments: Final = WindowResults[Assessment]()

    def steps(
        self, changed: Int, columns_of: SeriesColumns, facts: FleetFacts, snapshot: Snapshot
    ) -> Steps[Added | None]:
        """Return the figures of all series, None if no settings ask for any."""
        asked = enumerate(asked_of(each) for each in facts.rules[: len(facts.names)])
        questions = {row: question for row, question in asked if question is not None}
        if not questions:
            return None

        def assessed(row: int, own: Columns) -> Assessment:
            timed = facts.rules[row].timed
            of = assess(own, facts.names[row], questions[row], timed=timed)
            return of._replace(data=None)

        judged = snapshot.window_pairs
        pairs = np.where(judged < PAIRS_MAX, judged, np.iinfo(np.int64).max)
        yield from self._assessments.steps(
            questions, changed, columns_of, pairs, assessed, _SERIES_AT_ONCE
        )
        findings = _Findings(self._assessments.of)
        return Added(findings, self._laid_out(len(facts.names)), _HELPS)

    def _laid_out(self, count: int) -> dict[str, Float]:
        columns = {name: np.full(count, np.nan) for name in _HELPS}
        for row, of in self._assessments.of.items():
            if not of.figures:
                continue
            met = [each is True for each in aspects(of.figures).values()]
            columns["targets_met_ratio"][row] = sum(met) / len(met)
            if of.question.rules != "epa":
                w = of.figures[0].estimate
                columns["expanded_uncertainty_ratio"][row] = w.value
                columns["expanded_uncertainty_upper_ratio"][row] = w.upper
        return columns
