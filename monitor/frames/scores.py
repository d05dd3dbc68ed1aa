"""Statistics and verdicts for a frame of pairs, and the comparison of two of its sensors.

docs/evidence/papers.md gives the source of every statistic, docs/metrics.md its name and which
direction is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, Final

import narwhals.stable.v1 as nw

from monitor.core.analysis.ranking import Profile
from monitor.core.analysis.side_by_side import MISS
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.scores.proper_scores import Density
from monitor.frames.pair_frames import PairColumns, pairs_of, refuse_share
from monitor.report.comparisons import Comparing, comparison_of
from monitor.report.recorded import of_pairs, with_covariates
from monitor.report.scored import Scored, in_file


class Scores:
    """The statistics and the verdict of each sensor: print the object, or use its attributes.

    ``series`` is a list of plain dictionaries, one for each sensor and quantity: ``n``,
    ``statistics`` (by name, None where undefined), ``intervals`` of ZMS and RCE, and the
    ``verdict`` with its sentence, estimate and remedy. ``incidents`` lists the incidents that the
    daemon would have raised (none without times), ``notes`` names the parts of the frame that were
    not used.
    """

    def __init__(self, scored: Scored, frame: Any) -> None:  # noqa: ANN401 - any frame
        self._scored: Final = scored
        self._space: Final = nw.get_native_namespace(frame)
        self.series: Final[list[dict[str, Any]]] = scored.series
        self.notes: Final = scored.recorded.notes

    @property
    def incidents(self) -> list[dict[str, Any]]:
        """The incidents that the daemon would have raised, in the order in which they began."""
        return self._scored.incidents if self._scored.recorded.timed else []

    @property
    def sentences(self) -> list[str]:
        """One sentence for each sensor: what is wrong with it, if anything."""
        return [f"{each['sensor']}: {each['verdict']['sentence']}" for each in self.series]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as ``monitor score --json`` prints it."""
        return self._scored.document()

    def to_frame(self) -> Any:  # noqa: ANN401 - a frame of the caller's library
        """Return a frame of the caller's library: one row per series, one column per statistic."""
        heads = ("sensor", "quantity", "n")
        columns: dict[str, list[Any]] = {
            head: [each[head] for each in self.series] for head in heads
        }
        for name in self.series[0]["statistics"]:
            columns[name] = [each["statistics"][name] for each in self.series]
        columns["fault"] = [each["verdict"]["fault"] or "" for each in self.series]
        columns["sentence"] = [each["verdict"]["sentence"] for each in self.series]
        for name in self.series[0]["statistics"]:
            columns[name] = [float("nan") if each is None else each for each in columns[name]]
        return nw.from_dict(columns, native_namespace=self._space).to_native()

    def __str__(self) -> str:
        return "\n".join((*self.notes, *self._scored.lines()))

    def __repr__(self) -> str:
        count = len(self.series)
        return f"<Scores of {count} {'series' if count != 1 else 'sensor'}; print() shows them>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def score(
    frame: Any,  # noqa: ANN401 - any frame
    *,
    value: str = "value",
    u: str | None = None,
    reference: str = "reference",
    lower: str | None = None,
    upper: str | None = None,
    p: str | None = None,
    alpha: str | None = None,
    u_reference: str | None = None,
    time: str | None = None,
    by: str | Sequence[str] | None = None,
    quantity: str | None = None,
    reference_id: str | None = None,
    reference_event: str | None = None,
    unit: str = "",
    level: float = 0.9,
    bca: bool = False,
    covariates: Sequence[str] = (),
) -> Scores:
    """Score the pairs of a frame, in which each row has a reading and its reference.

    All arguments except the last four name columns. Where one is not given, the column with the
    usual name is used if there is one (``u`` or ``sigma``, ``lower``, ``upper``, ``p``, ``alpha``,
    ``u_reference`` or ``reference_sigma``, ``time``, ``sensor``, ``quantity``, ``reference_id``,
    ``reference_event``).

    ``value`` and ``reference``: the reading and the reference, in the same unit (``unit``, which
    the sentences show; else that of a column with this name). ``u``: the stated standard
    uncertainty, or ``lower`` and ``upper``: the stated interval with coverage probability ``p``, or
    1 - ``alpha`` (``level`` if neither is stated; beside ``u`` such an interval does not count).
    ``u_reference``: standard uncertainty of the reference. ``time``: datetimes with a zone, numbers
    since 1970 (s, ms, us or ns, by their size), or RFC 3339 text; without times the result has no
    dates. ``by``: the columns that identify a sensor. ``reference_id``: what measured the
    reference, such as a station; ``reference_event``: the measurement itself, where sensors that
    met it have other times. ``bca``: BCa intervals (Pernot, arXiv 2402.10043) instead of those used
    live. ``covariates``: other numeric columns, ``hour`` (of day, UTC) and ``level``; for each,
    ``where`` in the result says in which part of its range a sensor is wrong.

    The numbers equal those of ``monitor score`` for the same rows, bit for bit. Raises FrameError
    (a ValueError) that names the column and the row and says what to do.
    """
    refuse_share("level", level)
    columns = PairColumns(
        *(value, reference, u, lower, upper, p, alpha, u_reference, time, by, quantity),
        reference_id=reference_id,
        reference_event=reference_event,
    )
    table = pairs_of(frame, columns, unit, in_file(covariates))
    recorded = with_covariates(of_pairs(table, SeriesRules(level=level)), table)
    return Scores(Scored(recorded, level, bca=bca, covariates=covariates), frame)


def compare(
    frame: Any,  # noqa: ANN401 - any frame
    *sensors: str,
    at: float | None = None,
    density: Density = "normal",
    profile: Profile = "balanced",
    level: float = 0.9,
    miss: float = MISS,
    **columns: Any,  # noqa: ANN401 - as of PairColumns
) -> dict[str, Any]:
    """Compare two sensors of a frame on their common events, or one sensor before and after.

    ``sensors``: two names; or one, whose pairs before ``at`` (s UTC) are compared with those from
    ``at`` on, or its first half with its second if ``at`` is None. Common events have the same time
    and reference (and ``reference_id``), or the same ``reference_event``. ``density`` is the
    distribution that a sensor is assumed to state, ``profile`` names the score that counts first,
    ``miss`` is the miss rate at which widths are compared; all other arguments name columns, as for
    :func:`score`.

    Returns the document that ``monitor compare --json`` prints: sentences, mean scores with
    permutation tests, and the characteristics curves (Navratil et al., arXiv 2106.00858). Raises
    CompareError where there is nothing to compare, and FrameError (a ValueError) for a frame that
    cannot be read.
    """
    refuse_share("level", level)
    refuse_share("miss", miss)
    recorded = of_pairs(pairs_of(frame, PairColumns(**columns)), SeriesRules(level=level))
    asked = Comparing(sensors, at=at, density=density, profile=profile, level=level, miss=miss)
    return comparison_of(recorded, asked)
