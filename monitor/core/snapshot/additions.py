"""Additions of extensions to a snapshot: numbers of series with their help, and own findings.

The house carries an addition by the name of its extension and does not look into it. An
:class:`Addition` is computed in the steps of a publication, from the same windows and verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from monitor.core.diagnosis.columns_of import SeriesColumns
from monitor.core.diagnosis.fault_reports import FaultReport
from monitor.core.model import Float, Int, Records
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import SeriesName
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.steps import Steps


class Press(NamedTuple):
    """A button: a press publishes this event, a native message, with the time of the press."""

    topic: str
    event: str
    note: str


class OwnFindings:
    """An extension's findings on all series; its own pages read them, the house asks for its words.

    Its methods say nothing unless they are overridden.
    """

    def document(self, now: Snapshot, row: int) -> Mapping[str, Any]:  # noqa: ARG002 - overridden
        """Return the keys that it adds to the JSON of a series."""
        return {}

    def fragments(self, now: Snapshot, row: int) -> tuple[str, str]:  # noqa: ARG002 - overridden
        """Return what it adds to the page of a series, as HTML: below the verdict, and further."""
        return "", ""

    def asks_reference(self, now: Snapshot, row: int) -> str:  # noqa: ARG002 - overridden
        """Return why a series needs a reference now, as what follows its name; empty if not."""
        return ""

    def topics(self, name: SeriesName) -> Mapping[str, str]:  # noqa: ARG002 - overridden
        """Return the topics of values that it publishes of a series, by the values' names.

        Each message is JSON with ``value``, in the unit of the series.
        """
        return {}

    def presses(self, name: SeriesName) -> Mapping[str, Press]:  # noqa: ARG002 - overridden
        """Return the buttons of a series by their names, of which an outlet may have no use."""
        return {}


class Remark(NamedTuple):
    """A clause that a verdict's sentence ends with, and advice in place of its own, if any."""

    clause: str
    advice: str = ""


class Added(NamedTuple):
    """One extension's words on all series; each of ``statistics`` has one number a series.

    ``helps`` explain those statistics that are its own; others replace the house's number of the
    same name. ``remarks`` become part of the verdicts on series that send, by their rows.
    """

    findings: OwnFindings
    statistics: Mapping[str, Float] = {}
    helps: Mapping[str, str] = {}
    remarks: Mapping[int, Remark] = {}


class FleetFacts(NamedTuple):
    """Names and settings of all series, and reports on those whose alert is pending or fires.

    ``events_of(row)`` are times at which the sensor of a series was adjusted, moved or replaced,
    ``history_of(row)`` all its standing pairs as rows of a window.
    """

    names: Sequence[SeriesName]
    rules: Sequence[SeriesRules]
    reports: Mapping[int, FaultReport]
    events_of: Callable[[int], Sequence[float]]
    history_of: Callable[[int], Records]


class Addition(Protocol):
    """The part of each snapshot that an extension computes."""

    @property
    def name(self) -> str:
        """The extension's name, under which the snapshot carries what it adds."""

    def steps(
        self, changed: Int, columns_of: SeriesColumns, facts: FleetFacts, snapshot: Snapshot
    ) -> Steps[Added | None]:
        """Return what is added to ``snapshot``, None for nothing; ``changed`` series have pairs."""


def with_addition(now: Snapshot, name: str, added: Added) -> Snapshot:
    """Return a snapshot that carries what the extension ``name`` adds."""
    now = _with_remarks(now, added.remarks) if added.remarks else now
    return replace(
        now,
        statistics={**now.statistics, **added.statistics},
        helps={**now.helps, **added.helps},
        additions={**now.additions, name: added.findings},
    )


def _with_remarks(now: Snapshot, remarks: Mapping[int, Remark]) -> Snapshot:
    sentences, advice, reports = [*now.sentences], [*now.advice], {**now.reports}
    for row, (clause, doing) in remarks.items():
        if row >= len(sentences) or now.withdrawn[row]:
            continue
        sentences[row] = f"{sentences[row]}; {clause}"
        advice[row] = doing or advice[row]
        if row in reports:
            verdict = reports[row].verdict
            text = f"{verdict.sentence}; {clause}"
            verdict = verdict._replace(sentence=text, advice=doing or verdict.advice)
            reports[row] = reports[row]._replace(verdict=verdict)
    return replace(now, sentences=tuple(sentences), advice=tuple(advice), reports=reports)
